"use strict";
const facts = JSON.parse(document.getElementById("facts").textContent);
const make = (tag, more, ...inner) => {
  const e = Object.assign(document.createElement(tag), more);
  e.append(...inner);
  return e;
};
const ask = document.getElementById("ask");
const result = make("div", { role: "status" });
const percent = p => (100 * p).toFixed(p > 0.0995 || p === 0 ? 1 : 2) + "%";

/* A class, a number, a list of labels, or numbers by name. */
function lines(predicted) {
  const text = v => typeof v === "number" ? String(+v.toPrecision(6)) : String(v);
  if (Array.isArray(predicted)) return [predicted.join(", ") || "none of the labels"];
  if (typeof predicted !== "object" || predicted === null) return [text(predicted)];
  return Object.entries(predicted).map(([name, v]) => name + ": " + text(v));
}

/* The first prediction of an answer, or what is wrong. */
function show(answer) {
  result.replaceChildren();
  if (answer.error) {
    result.append(make("p", { className: "note" }, make("b", {}, "Not answered. "), answer.error.message));
    return;
  }
  for (const w of answer.warnings || []) result.append(make("p", { className: "note" }, make("b", {}, "Note "), w));
  const first = answer.predictions[0];
  if (first.boxes) return boxes(first);
  if (first.points) return points(first);
  for (const line of lines(first.predicted)) result.append(make("p", { className: "answer" }, line));
  if (!first.classes) return;
  const bars = make("ul", { className: "bars" });
  for (const c of first.classes) {
    const bar = make("i");
    bar.style.width = 100 * c.p + "%";
    bars.append(make("li", {}, make("b", {}, (c.label ? c.label + ": " : "") + c.class), bar, make("span", {}, percent(c.p))));
  }
  result.append(bars);
}

/* What was found, drawn over the picture: [tag, attributes, number of its colour]. */
function drawOver(found, shapes) {
  const seen = ask.querySelector("img"), draw = (tag, more) => { const e = document.createElementNS("http://www.w3.org/2000/svg", tag); for (const k in more) e.setAttribute(k, more[k]); return e; };
  const over = draw("svg", { viewBox: `0 0 ${found.width} ${found.height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const old of seen.parentElement.querySelectorAll("svg")) old.remove();
  for (const [tag, more, colour] of shapes) over.append(draw(tag, { ...more, class: "s" + colour }));
  seen.after(over);
}

/* Points over the picture, a small ring each, the lines of their limbs, and the points as a table. */
function points(found) {
  const r = Math.max(found.width, found.height) / 80, at = Object.fromEntries(found.points.map((p, i) => [p.point, { ...p, colour: i % 8 }]));
  const limbs = (found.limbs || []).map(([a, b]) => ["line", { x1: at[a].x, y1: at[a].y, x2: at[b].x, y2: at[b].y }, at[b].colour]);
  drawOver(found, [...limbs, ...found.points.map((p, i) => ["circle", { cx: p.x, cy: p.y, r }, i % 8])]);
  result.append(make("p", { className: "answer" }, `${found.points.length} ${found.points.length === 1 ? "point" : "points"}`));
  const head = make("tr", {}, ...["point", "score", "x, y"].map(t => make("th", { scope: "col" }, t)));
  const row = (p, i) => make("tr", {}, make("td", { style: `border-inline-start:6px solid var(--s${i % 8});padding-inline-start:.5rem` }, p.point), make("td", {}, percent(p.score)), make("td", {}, [p.x, p.y].map(v => v.toFixed(1)).join(", ")));
  if (found.points.length) result.append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...found.points.map(row))));
}

/* A detector's boxes over the picture, and the same as a table. */
function boxes(found) {
  const classes = [...new Set(found.boxes.map(b => b.class))], colour = b => classes.indexOf(b.class) % 8;
  drawOver(found, found.boxes.map(b => ["rect", { x: b.box[0], y: b.box[1], width: b.box[2] - b.box[0], height: b.box[3] - b.box[1] }, colour(b)]));
  result.append(make("p", { className: "answer" }, found.boxes.length ? `${found.boxes.length} ${found.boxes.length === 1 ? "object" : "objects"}` : "No object was found"));
  if (!found.boxes.length) return;
  const head = make("tr", {}, ...["class", "score", "left, top, right, bottom"].map(t => make("th", { scope: "col" }, t)));
  const row = b => make("tr", {}, make("td", { style: `border-inline-start:6px solid var(--s${colour(b)});padding-inline-start:.5rem` }, b.class), make("td", {}, percent(b.score)), make("td", {}, b.box.map(v => Math.round(v)).join(", ")));
  result.append(make("table", {}, make("thead", {}, head), make("tbody", {}, ...found.boxes.map(row))));
}

/* An answer to anything but the last question is late: it is not shown. */
let asked = 0;
async function post(body, type) {
  const mine = ++asked;
  let answer;
  try {
    const got = await fetch("/predict", { method: "POST", body, headers: { "Content-Type": type } });
    answer = await got.json();
  } catch (e) {
    answer = { error: { message: "The server does not answer: " + e.message } };
  }
  if (mine === asked) show(answer);
}

function pictures() {
  const [h, w, c] = facts.input_shape;
  const file = make("input", { type: "file", accept: "image/png,image/jpeg,image/bmp" });
  const seen = make("img", { alt: "", hidden: true });
  const drop = make("label", { className: "drop" }, make("span", { className: "over-picture" }, seen), `Drop a picture here, paste it, or choose a file. The model sees it as ${w} × ${h} pixels, ${c === 3 ? "in colour" : "grey"}.`, file);
  const take = f => {
    if (!f) return;
    URL.revokeObjectURL(seen.src);
    seen.src = URL.createObjectURL(f);
    seen.hidden = false;
    for (const old of drop.querySelectorAll("svg")) old.remove();
    post(f, f.type || "application/octet-stream");
  };
  file.onchange = () => take(file.files[0]);
  drop.ondragover = e => { e.preventDefault(); drop.classList.add("over"); };
  drop.ondragleave = () => drop.classList.remove("over");
  drop.ondrop = e => { e.preventDefault(); drop.classList.remove("over"); take(e.dataTransfer.files[0]); };
  document.addEventListener("paste", e => take(e.clipboardData.files[0]));
  ask.append(drop, result);
}

function field(c) {
  if (c.values && c.values.length <= 200) return make("select", {}, make("option", { value: "" }, ""), ...c.values.map(v => make("option", { value: v }, v)));
  if (c.values) return make("input", { placeholder: c.values[0] });
  if (c.sentence) return make("textarea", { rows: 3 });
  if (c.date) return make("input", { placeholder: "a date" });
  return make("input", { inputMode: "decimal", placeholder: c.usual == null ? "" : String(+c.usual.toPrecision(4)) });
}

/* What stands in a field; null: nothing, or no number where the column has such (said by the server). */
function value(c, text) {
  if (text === "") return null;
  if (c.values || c.date || c.sentence) return text;
  const n = Number(text.replace(",", "."));
  return Number.isFinite(n) ? n : text;
}

function table() {
  const fields = facts.columns.map(field);
  const form = make("form", {}, make("div", { className: "form" }, ...facts.columns.map((c, i) => make("label", {}, c.name, fields[i]))),
    make("button", { className: "go" }, "Predict"));
  form.onsubmit = e => {
    e.preventDefault();
    const v = facts.columns.map((c, i) => value(c, fields[i].value));
    const row = facts.named ? Object.fromEntries(facts.columns.map((c, i) => [c.name, v[i]])) : v;
    post(JSON.stringify([row]), "application/json");
  };
  ask.append(make("p", {}, "A field that is left empty is a missing value."), form, result);
}

/* The parts of a stream of an answer, one after the other. */
async function* parts(path, body) {
  const got = await fetch(path, { method: "POST", body: JSON.stringify({ ...body, stream: true }), headers: { "Content-Type": "application/json" } });
  if (!got.ok) throw new Error((await got.json()).error.message);
  const reader = got.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (text + value).split("\n\n");
    text = lines.pop();
    for (const line of lines) if (line !== "data: [DONE]") yield JSON.parse(line.slice(6)).choices[0];
  }
}

function talk() {
  const said = [], log = make("div", { className: "talk", ariaLive: "polite" });
  const box = make("textarea", { ariaLabel: "Message", placeholder: facts.chat ? "Write to the model; Enter sends" : "A text that the model goes on with; Enter sends" });
  const warmth = make("input", { type: "number", min: 0, max: 5, step: 0.1, value: 0.7 }), most = make("input", { type: "number", min: 1, value: 256 });
  const go = make("button", { className: "go" }, "Send"), fresh = make("button", { className: "go", type: "button" }, "New conversation");
  const form = make("form", {}, box, make("div", { className: "form" }, make("label", {}, "temperature", warmth), make("label", {}, "tokens at most", most)), go, " ", fresh);
  fresh.onclick = () => { said.length = 0; log.replaceChildren(); };
  box.onkeydown = e => { if (e.key === "Enter" && !e.shiftKey) { e.preventDefault(); form.requestSubmit(); } };
  form.onsubmit = async e => {
    e.preventDefault();
    const text = box.value, answer = make("div", { className: "assistant" });
    if (!text || go.disabled) return;
    log.append(make("div", { className: "user" }, text), answer);
    box.value = "";
    go.disabled = fresh.disabled = true;
    said.push({ role: "user", content: text });
    const how = { temperature: +warmth.value, max_tokens: +most.value };
    try {
      const path = facts.chat ? "/v1/chat/completions" : "/v1/completions";
      for await (const c of parts(path, facts.chat ? { messages: said, ...how } : { prompt: text, ...how })) answer.append((facts.chat ? c.delta.content : c.text) || "");
      said.push({ role: "assistant", content: answer.textContent });
    } catch (x) {
      said.pop();
      answer.replaceWith(make("p", { className: "note" }, make("b", {}, "Not answered. "), x.message));
    }
    go.disabled = fresh.disabled = false;
  };
  ask.append(log, form);
}

({ pictures, table, text: talk })[facts.kind]();
