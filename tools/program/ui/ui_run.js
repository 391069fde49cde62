/* One run while it grows: where it stands, its curves, what they say, what it wrote and confused.
 * Asks the server each second; what has not changed does not come again. */
import { api, command, count, field, go, make, nameOf, note, number, query, say } from "./ui.js";
import { figures, rowsOf } from "./ui_plot.js";

export const duration = s => s === null || s === undefined ? "–" : s < 60 ? s.toFixed(s < 10 ? 1 : 0) + " s" : s < 3600 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` : `${Math.floor(s / 3600)} h ${Math.round(s % 3600 / 60)} min`;
export const percent = v => (100 * v).toFixed(2) + "%";
export const value = (metric, v) => v === null || v === undefined ? "–" : metric === "accuracy" ? percent(v) : number(v);
export const stateOf = x => x.status === "killed" ? "killed: its process has ended" : x.status || "damaged";

/* Calls step() each `ms` while the page is seen, later where it fails or takes long (it has a thirtieth of the time at
 * most); at once when it is seen again. */
export function every(ms, step) {
  let timer = null, ended = false;
  const tick = async () => {
    clearTimeout(timer);
    let wait = ms;
    if (!document.hidden) {
      const began = performance.now();
      try { await step(); } catch (e) { wait = Math.max(ms, 3000); if (e.status === undefined) console.error(e); }
      wait = Math.min(Math.max(wait, 30 * (performance.now() - began)), 15000);
    }
    if (!ended) timer = setTimeout(tick, wait);
  };
  const seen = () => { if (!document.hidden && !ended) tick(); };
  document.addEventListener("visibilitychange", seen);
  tick();
  return () => { ended = true; clearTimeout(timer); document.removeEventListener("visibilitychange", seen); };
}

/* A button that asks the server, and says what came of it. */
export function asking(text, act, kind = "") {
  const b = make("button", { type: "button", className: kind }, text);
  b.onclick = async () => {
    b.disabled = true;
    try { await act(); } catch (e) { say(e.message); b.parentElement.after(note(e.message)); }
    b.disabled = false;
  };
  return b;
}

function confusion(text, split) {
  const rows = rowsOf(text);
  if (rows.length < 2 || rows[0].length > 41) return null;
  const head = make("tr", {}, ...rows[0].map((c, i) => make("th", { scope: "col", className: i ? "name" : "" }, c)));
  const body = rows.slice(1).map((row, r) => {
    const sum = row.slice(1).reduce((a, v) => a + +v, 0);
    return make("tr", {}, make("th", { scope: "row", className: "name" }, row[0]), ...row.slice(1).map((v, i) => {
      const cell = make("td", { className: "n " + (i === r ? "own" : "other") }, v === "0" ? "" : v);
      cell.style.setProperty("--v", (sum > 0 ? 100 * v / sum : 0) + "%");
      return cell;
    }));
  });
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Confusion matrix" },
    make("table", {}, make("caption", {}, `Confusion matrix of the ${split} set, best checkpoint: a row is a class, its columns what it was called`), make("thead", {}, head), make("tbody", {}, ...body)));
}

/* What a classifier was surest of and wrong about. */
function worst(text) {
  const rows = rowsOf(text), names = rows[0] || [];
  if (names[3] !== "correct") return null;
  const sure = r => Math.max(...r.slice(4).map(Number));
  const wrong = rows.slice(1).filter(r => r[3] === "0").sort((a, b) => sure(b) - sure(a)).slice(0, 12);
  if (!wrong.length) return make("p", {}, `All ${rows.length - 1} examples that were kept are right.`);
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Worst errors" },
    make("table", {}, make("caption", {}, `The ${wrong.length} worst errors among ${rows.length - 1} examples that were kept, the surest first`),
      make("thead", {}, make("tr", {}, ...["example", "it is", "it was called", "how sure"].map(t => make("th", { scope: "col" }, t)))),
      make("tbody", {}, ...wrong.map(r => make("tr", {}, make("td", { className: "n" }, r[0]), make("td", { className: "name" }, r[1]), make("td", { className: "name" }, r[2]), make("td", { className: "n" }, percent(sure(r))))))));
}

/* { element, close() } */
export function runView(run) {
  const heading = make("h2", { className: "name" }, nameOf(run)), facts = make("dl", { className: "facts" });
  const bar = make("progress", { "aria-label": "Steps done" }), buttons = make("div", { className: "row" });
  const plots = figures(), found = make("div"), sample = make("div"), written = make("input", { maxLength: 1000, autocomplete: "off" }), after = make("div"), by = make("div"), error = make("div");
  const noting = make("form", { className: "noting", hidden: true, "aria-label": "Note" }, make("div", { className: "fields one" }, field("note: why this run, what came of it", written)), make("div", { className: "row" }, make("button", {}, "Save the note")));
  written.oninput = () => { typed = true; };
  noting.onsubmit = async e => {
    e.preventDefault();
    for (const old of noting.querySelectorAll(".note,.command")) old.remove();
    try {
      noting.append(command((await api("/api/run/note", { run, note: written.value.trim() })).command));
      typed = false;
      say("The note is saved");
    } catch (x) { noting.append(note(x.message, "Not saved. ")); }
  };
  const element = make("section", { "aria-label": "The run " + nameOf(run), className: "run" }, heading, bar, facts, buttons, error, noting, found, plots.element, sample, after, by);
  let have = "", last = null, evaluated = "", shown = "", fresh = false, said = new Set(), findAt = 0, failed = false, finding = false, typed = false;

  const order = o => api("/api/run/order", { run, order: o });
  async function stop() {
    await order("stop");
    say("The run saves a checkpoint and stops");
  }
  async function resume() {
    await api("/api/start/train", { run, resume: true });
    say("The run goes on");
  }
  function showButtons(x, state) {
    const can = !x.alive && x.step < x.total && x.status !== "done";
    const all = x.alive ? [asking("Stop", stop), asking("Stop after the next evaluation", () => order("stop_after_evaluation")), asking("Save a checkpoint", () => order("checkpoint"))]
      : [can && asking("Resume", resume, "go"), make("button", { type: "button", onclick: () => go("use", { model: run }) }, "Use it"),
        make("button", { type: "button", onclick: () => go("train", { recipe: x.recipe || "" }) }, "Train again")];
    buttons.replaceChildren(...all.filter(Boolean), make("a", { href: "/api/report" + query({ path: run }), target: "_blank", rel: "noopener" }, "The full report"));
    last = state;
  }
  function fact(name, text) { return make("div", {}, make("dt", {}, name), make("dd", {}, text)); }
  function showFacts(j) {
    const x = j.info, l = j.reading ? null : j.last, e = j.reading ? null : j.evaluation; /* those of a part are old */
    const state = stateOf(x);
    bar.max = Math.max(x.total, 1);
    bar.value = l ? l.step : x.step;
    facts.replaceChildren(...[
      fact("state", state), fact("steps", `${count(l ? l.step : x.step)} of ${count(x.total)}`), j.reading && fact("curves", `reading … ${count(j.steps || 0)} steps so far`),
      x.alive && l && fact("time left, about", duration(l.left)), l && fact("training loss", number(l.loss)),
      e && fact(`${e.split}, step ${count(e.step)}`, `loss ${number(e.loss)}${e.accuracy !== null ? ", accuracy " + percent(e.accuracy) : ""}${e.mae !== null ? ", mae " + number(e.mae) : ""}`),
      x.best !== null && x.metric && fact("best " + x.metric, `${value(x.metric, x.best)}, step ${count(x.best_step)}`),
      x.test_accuracy !== null && fact("test accuracy", percent(x.test_accuracy)), x.baseline && fact(x.baseline, value(x.metric, x.baseline_metric)),
      (x.alive && l ? l.items_per_s : x.items_per_s) && fact("a second", count(Math.round(x.alive && l ? l.items_per_s : x.items_per_s))),
      x.seconds !== null && !x.alive && fact("time", duration(x.seconds)), x.device && fact("device", x.device),
    ].filter(Boolean));
    if (!typed) written.value = x.note || "";
    noting.hidden = false;
    error.replaceChildren(...(x.error ? [note(x.error, "It failed. ")] : []));
    if (last !== state) { if (last) say(`${nameOf(run)}: ${state}`); showButtons(x, state); return true; }
    return false;
  }
  async function showFindings() {
    const began = performance.now();
    let findings = null;
    finding = true;
    failed = false;
    try { findings = (await api("/api/run/findings" + query({ run }))).findings; } catch (e) {
      failed = e.status !== 422; /* 422: it can't be read, now and later */
      if (failed) evaluated = "";
      if (!found.textContent.includes(e.message)) found.replaceChildren(note(e.message, "No findings. "));
    }
    finding = false;
    findAt = performance.now() + Math.max(failed ? 3000 : 0, 30 * (performance.now() - began));
    if (!findings) return;
    for (const f of findings) if (!said.has(f.name)) { said.add(f.name); say("Finding: " + f.text); }
    found.replaceChildren(...findings.map(f => make("p", { className: "note" }, make("b", {}, f.name[0].toUpperCase() + f.name.slice(1).replaceAll("_", " ").replaceAll("-", " ") + ". "), f.text)));
  }
  async function showMore() {
    const m = await api("/api/run/more" + query({ run })), parts = [];
    if (m.confusion) parts.push(confusion(m.confusion, m.split));
    if (m.predictions) parts.push(worst(m.predictions));
    if (m.config) parts.push(make("details", {}, make("summary", {}, "The complete recipe"), make("pre", { tabIndex: 0 }, m.config)));
    after.replaceChildren(...parts.filter(Boolean));
  }
  async function tick() {
    let j;
    try { j = await api("/api/run" + query({ run, have, columns: 300 })); } catch (e) {
      if (e.status !== 404 || (last !== "waiting" && last !== "refused")) throw e;
      if (last === "waiting") facts.replaceChildren(fact("state", "ended before it was a run: the queue says why"));
      last = "refused";
      return;
    }
    if (j.waiting) {
      if (last !== "waiting") { last = "waiting"; facts.replaceChildren(fact("state", "in the queue, or about to begin")); }
      return;
    }
    fresh = showFacts(j) || fresh;
    const now = (j.have || "").split(":")[2] + stateOf(j.info);
    if (j.curves) plots.show(j.curves);
    if (j.have) have = j.have;
    if (j.sample) sample.replaceChildren(make("h3", {}, `What it wrote at step ${count(j.sample.step)}`), make("pre", { className: "quote", tabIndex: 0 }, j.sample.text));
    if (!by.firstChild && j.watch) by.replaceChildren(command(j.watch, "Watch by command"));
    if (j.reading) return;
    const ended = fresh || !j.info.alive;
    if (now !== evaluated && !finding && ((ended && !failed) || performance.now() > findAt)) { /* of a long run they take seconds */
      evaluated = now;
      showFindings();
    }
    if (now === shown || !ended) return;
    await showMore();
    shown = now;
    fresh = false;
  }
  return { element, close: every(1000, tick) };
}
