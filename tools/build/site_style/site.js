// The search: pages whose text has every word that was typed, those with the words in their title first.
const box = document.getElementById("search"), found = document.getElementById("found"), up = document.currentScript.dataset.up;
box.form.addEventListener("submit", e => e.preventDefault());
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.replaceChildren();
  found.hidden = !words.length;
  if (!words.length) return;
  const score = p => words.reduce((s, w) => s + 10 * p.title.toLowerCase().includes(w) + Math.min(5, p.text.toLowerCase().split(w).length - 1), 0);
  const hits = PAGES.filter(p => words.every(w => (p.title + " " + p.text).toLowerCase().includes(w))).sort((a, b) => score(b) - score(a)).slice(0, 12);
  for (const p of hits) {
    const at = Math.max(0, p.text.toLowerCase().indexOf(words[0])), li = document.createElement("li"), a = document.createElement("a"), small = document.createElement("small");
    a.href = up + "/" + p.at;
    a.textContent = p.title;
    small.textContent = "… " + p.text.slice(Math.max(0, at - 60), at + 120) + " …";
    li.append(a, small);
    found.append(li);
  }
  if (!hits.length) found.append(Object.assign(document.createElement("li"), { textContent: "No page has these words." }));
});
