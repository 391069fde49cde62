/* The part Use: a trained model answers here, by the same code as `vktrain serve`; export. */
import { api, choice, command, field, make, nameOf, note, number, query, remark, say, send, svg, tab, waiting } from "./ui.js";
import { asking, every, percent } from "./ui_run.js";
import { queueView } from "./ui_train.js";

let ended = null, pasted = null;

/* A class, a number, a list of labels, or numbers by name. */
function lines(predicted) {
  const text = v => typeof v === "number" ? String(+v.toPrecision(6)) : String(v);
  if (Array.isArray(predicted)) return [predicted.join(", ") || "none of the labels"];
  if (typeof predicted !== "object" || predicted === null) return [text(predicted)];
  return Object.entries(predicted).map(([name, v]) => name + ": " + text(v));
}

/* What was found, over the picture that was asked about and as a table: shapes to draw, the table's heading and, in the same order, rows of
   [name, number of its colour, score, where]. */
function showFound(place, answer, picture, text, shapes, head, rows) {
  const { width, height } = answer.predictions[0];
  const over = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  over.append(...shapes);
  for (const old of picture.parentElement.querySelectorAll("svg")) old.remove();
  picture.after(over);
  const row = ([name, colour, score, where]) => make("tr", {}, make("td", {}, make("i", { className: "mark", style: `background:var(--s${colour});display:inline-block` }), " ", make("span", { className: "name" }, name)), make("td", { className: "n" }, percent(score)), make("td", { className: "n" }, where));
  place.replaceChildren(...(answer.warnings || []).map(w => remark(w)), make("p", { className: "answer" }, text));
  if (rows.length) place.append(make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "What was found" }, make("table", {}, make("thead", {}, make("tr", {}, ...head.map(t => make("th", { scope: "col" }, t)))), make("tbody", {}, ...rows.map(row)))));
  say(text + " " + rows.map(r => r[0]).join(", "));
}

function showBoxes(place, answer, picture) {
  const { boxes, width, height } = answer.predictions[0], classes = [...new Set(boxes.map(b => b.class))], colour = b => classes.indexOf(b.class) % 8;
  const text = boxes.length ? `${boxes.length} ${boxes.length === 1 ? "object" : "objects"} on a picture of ${width} × ${height} pixels.` : "No object was found.";
  const shape = b => { const [x0, y0, x1, y1] = b.box; return svg("rect", { x: x0, y: y0, width: x1 - x0, height: y1 - y0, class: "s" + colour(b) }); };
  showFound(place, answer, picture, text, boxes.map(shape), ["class", "score", "left, top, right, bottom"], boxes.map(b => [b.class, colour(b), b.score, b.box.map(v => Math.round(v)).join(", ")]));
}

function showPoints(place, answer, picture) {
  const { points, limbs = [], width, height } = answer.predictions[0], r = Math.max(width, height) / 80;
  const at = new Map(points.map((p, i) => [p.point, { ...p, colour: i % 8 }]));
  const lines = limbs.map(two => two.map(name => at.get(name))).map(([a, b]) => svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: "s" + b.colour }));
  const text = `${points.length} ${points.length === 1 ? "point" : "points"} on a picture of ${width} × ${height} pixels.`;
  showFound(place, answer, picture, text, [...lines, ...points.map((p, i) => svg("circle", { cx: p.x, cy: p.y, r, class: "s" + i % 8 }))], ["point", "score", "x, y"], points.map((p, i) => [p.point, i % 8, p.score, [p.x, p.y].map(v => v.toFixed(1)).join(", ")]));
}

function show(place, answer, picture) {
  const first = answer.predictions[0];
  if (first.boxes) return showBoxes(place, answer, picture);
  if (first.points) return showPoints(place, answer, picture);
  const words = lines(first.predicted);
  place.replaceChildren(...(answer.warnings || []).map(w => remark(w)), ...words.map(w => make("p", { className: "answer name" }, w)));
  if (first.classes) place.append(make("ul", { className: "bars" }, ...first.classes.map(c => {
    const bar = make("i");
    bar.style.width = 100 * c.p + "%";
    return make("li", {}, make("b", { className: "name" }, (c.label ? c.label + ": " : "") + c.class), bar, make("span", {}, percent(c.p)));
  })));
  say("Answer: " + words.join("; "));
}

/* An answer to anything but the last question is late: it is not shown. */
let asked = 0;
async function ask(place, blob, picture) {
  const mine = ++asked;
  try {
    const answer = await send("/predict", blob);
    if (mine === asked) show(place, answer, picture);
  } catch (e) { if (mine === asked) place.replaceChildren(note(e.message, "Not answered. ")); }
}

function pictures(facts, place) {
  const [h, w, c] = facts.input_shape;
  const file = make("input", { type: "file", accept: "image/*" }), seen = make("img", { alt: "The picture that was asked about", hidden: true, className: "asked" });
  const drop = make("label", { className: "drop" }, make("span", { className: "over-picture" }, seen), make("span", {}, `Drop a picture here, paste it, or choose a file. The model sees it as ${w} × ${h} pixels, ${c === 3 ? "in colour" : "grey"}. `), file);
  const take = f => {
    if (!f) return;
    URL.revokeObjectURL(seen.src);
    seen.src = URL.createObjectURL(f);
    seen.hidden = false;
    for (const old of drop.querySelectorAll("svg")) old.remove();
    ask(place, f, seen);
  };
  file.onchange = () => take(file.files[0]);
  drop.ondragover = e => { e.preventDefault(); drop.classList.add("over"); };
  drop.ondragleave = () => drop.classList.remove("over");
  drop.ondrop = e => { e.preventDefault(); drop.classList.remove("over"); take(e.dataTransfer.files[0]); };
  pasted = e => take(e.clipboardData.files[0]);
  return drop;
}

function cell(c) {
  if (c.values && c.values.length <= 200) return choice([["", ""], ...c.values], "");
  if (c.values) return make("input", { placeholder: c.values[0] });
  if (c.sentence) return make("textarea", { rows: 3 });
  if (c.date) return make("input", { placeholder: "a date" });
  return make("input", { inputMode: "decimal", placeholder: c.usual == null ? "" : number(c.usual) });
}

/* What stands in a field; null: nothing. What is no number where one is wanted the server says. */
function valueOf(c, text) {
  if (text === "") return null;
  if (c.values || c.date || c.sentence) return text;
  const n = Number(text.replace(",", "."));
  return Number.isFinite(n) ? n : text;
}

function row(facts, place) {
  const cells = facts.columns.map(cell), form = make("form", { "aria-label": "A row" }, make("p", { className: "small" }, "A field that is left empty is a missing value."),
    make("div", { className: "fields" }, ...facts.columns.map((c, i) => field(c.name, cells[i]))), make("button", { className: "go" }, "Predict"));
  form.onsubmit = e => {
    e.preventDefault();
    const v = facts.columns.map((c, i) => valueOf(c, cells[i].value));
    ask(place, new Blob([JSON.stringify([facts.named ? Object.fromEntries(facts.columns.map((c, i) => [c.name, v[i]])) : v])]));
  };
  return form;
}

/* Yields an answer part by part while the model writes it. */
async function* parts(path, body) {
  const got = await fetch(path, { method: "POST", body: JSON.stringify({ ...body, stream: true }), headers: { "Content-Type": "application/json" } });
  if (!got.ok) throw new Error((await got.json()).error.message);
  const reader = got.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = "";;) {
    const { done, value } = await reader.read();
    if (done) return;
    const all = (text + value).split("\n\n");
    text = all.pop();
    for (const line of all) if (line !== "data: [DONE]") yield JSON.parse(line.slice(6)).choices[0];
  }
}

function talk(facts) {
  const said = [], log = make("div", { className: "talk", "aria-live": "polite", role: "log" });
  const box = make("textarea", { rows: 3, "aria-label": "Message", placeholder: facts.chat ? "Write to the model; Enter sends" : "A text that the model goes on with; Enter sends" });
  const warmth = make("input", { type: "number", min: 0, max: 5, step: 0.1, value: 0.7 }), most = make("input", { type: "number", min: 1, value: 256 });
  const go = make("button", { className: "go" }, "Send"), fresh = make("button", { type: "button" }, "New conversation");
  const form = make("form", { "aria-label": "Conversation" }, box, make("div", { className: "fields" }, field("temperature", warmth), field("tokens at most", most)), make("div", { className: "row" }, go, fresh));
  box.classList.add("wide-field");
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
      for await (const c of parts(facts.chat ? "/v1/chat/completions" : "/v1/completions", facts.chat ? { messages: said, ...how } : { prompt: text, ...how })) answer.append((facts.chat ? c.delta.content : c.text) || "");
      said.push({ role: "assistant", content: answer.textContent });
    } catch (x) {
      said.pop();
      answer.replaceWith(note(x.message, "Not answered. "));
    }
    go.disabled = fresh.disabled = false;
  };
  return make("div", {}, log, form);
}

/* ---- export ---- */

const formats = [
  ["onnx", "ONNX: for ONNX Runtime, web browsers, other languages", facts => facts.kind !== "text"],
  ["safetensors", "safetensors: the weights, for Python and other programs", facts => facts.kind !== "text"],
  ["hf", "Hugging Face folder: for transformers, and to train it further", facts => facts.kind === "text"],
  ["gguf", "GGUF, 16 bits: for llama.cpp, Ollama and LM Studio", facts => facts.kind === "text"],
  ["gguf-q8", "GGUF, 8 bits: half as large, nearly the same answers", facts => facts.kind === "text"],
  ["gguf-q4", "GGUF, 4 bits: a quarter as large, for small machines", facts => facts.kind === "text"],
];

function exporting(facts) {
  const fits = formats.filter(f => f[2](facts)), by = make("div"), place = make("div");
  let chosen = fits[0][0];
  const show = async () => {
    try { by.replaceChildren(command((await api("/api/start/export", { model: facts.path, format: chosen, dry: true })).command)); } catch (e) { by.replaceChildren(note(e.message)); }
  };
  const select = choice(fits.map(f => [f[0], f[1]]), chosen, v => { chosen = v; show(); });
  show();
  return make("section", { "aria-label": "Export" }, make("h2", {}, "Export"), make("div", { className: "fields one" }, field("format, and what it is for", select)),
    make("div", { className: "row" }, asking("Export", async () => { await api("/api/start/export", { model: facts.path, format: chosen }); say("The export has begun"); }, "go")), by, place);
}

/* ---- the part ---- */

async function open(panel, args) {
  close();
  const names = make("datalist", { id: "model-names" }), model = make("input", { list: "model-names", value: args.model || "", placeholder: "a run, checkpoint, folder or GGUF file", required: true, autocomplete: "off" });
  const go = make("button", { className: "go" }, "Open"), shut = asking("Close it", async () => { await api("/api/use/close", {}); place.replaceChildren(); say("The model is closed"); }), place = make("div"), queue = queueView(["export"]);
  const form = make("form", { "aria-label": "Which model" }, make("div", { className: "fields one" }, field("model", model), names), make("div", { className: "row" }, go, shut));
  async function load() {
    go.disabled = true;
    place.replaceChildren(waiting("The model is being opened; the first time that takes a while …", () => api("/api/use/close", {}).catch(() => {})).element);
    say("The model is being opened");
    try {
      const facts = await api("/api/use/open", { model: model.value.trim() }), answer = make("div", { role: "status" });
      const about = facts.kind === "text" ? `A language model${facts.chat ? " with a chat template" : ""}, texts of ${facts.context} tokens at most.`
        : facts.kind === "table" ? `A model of rows with ${facts.columns.length} columns${facts.classes ? ` and ${facts.classes.length} classes` : ""}.` : `A model of pictures${facts.classes ? ` with ${facts.classes.length} classes` : ""}.`;
      place.replaceChildren(make("h2", { className: "name" }, nameOf(facts.path)), make("p", {}, about), { pictures, table: row, text: talk }[facts.kind](facts, answer), answer, command(facts.command), exporting(facts));
      say("The model is open");
    } catch (e) { place.replaceChildren(note(e.message)); }
    go.disabled = false;
  }
  form.onsubmit = e => { e.preventDefault(); load(); };
  panel.replaceChildren(make("h1", {}, "Use"), form, place, make("h2", {}, "Exports"), queue.element);
  ended = every(1500, queue.step);
  api("/api/runs" + query({ filter: "step>0", n: 50 })).then(j => names.append(...j.runs.map(r => make("option", { value: r.run })))).catch(() => {});
  if (args.model) await load();
}

function close() {
  if (ended) ended();
  ended = pasted = null;
}

document.addEventListener("paste", e => { if (pasted && e.clipboardData.files.length) pasted(e); });
tab("use", { open, close });
