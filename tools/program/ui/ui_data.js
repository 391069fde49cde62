/* The part Data: choose a file or folder, or drop one; what `vktrain init` sees in it, in words and
 * pictures; corrections by choices; the recipe beside it. */
import { make, svg, api, query, tab, go, say, note, remark, command, field, choice, bytes, count, number, nameOf, plain, waiting } from "./ui.js";
import { editor, saving } from "./ui_recipe.js";
import { dropZone } from "./ui_drop.js";

const LISTED = 300;
let roots = null, round = 0, looking = null;

/* ---- the file browser ---- */

const join = (folder, name) => (folder === "/" ? "" : folder) + "/" + name;
const data = ["folder", "table", "lines of JSON", "text", "picture", "arrays", "file"];

function crumbs(path) {
  const root = roots.roots.find(r => path === r || path.startsWith(r + "/")) || roots.roots[0];
  const parts = path.slice(root.length).split("/").filter(Boolean), list = make("nav", { className: "crumbs", "aria-label": "Folders above" });
  let at = root;
  const step = (text, to, last) => {
    if (last) return make("b", { className: "name" }, plain(text));
    const b = make("button", { type: "button", className: "plain name" }, plain(text));
    b.onclick = () => go("data", { dir: to });
    return b;
  };
  list.append(step(root, root, !parts.length));
  parts.forEach((p, i) => { at = join(at, p); list.append(" / ", step(p, at, i === parts.length - 1)); });
  return list;
}

function preview(at, entry, place) {
  const url = "/api/file" + query({ path: at }), close = make("button", { type: "button" }, "Close");
  close.onclick = () => place.replaceChildren();
  const what = entry.kind === "picture" ? make("img", { src: url, alt: entry.name }) : make("audio", { src: url, controls: true, "aria-label": entry.name });
  place.replaceChildren(make("h2", { className: "name" }, entry.name), what, make("div", { className: "row" }, close));
}

function row(folder, e, place) {
  const at = join(folder, e.name), open = make("button", { type: "button", className: "plain name" }, plain(e.name));
  const look = make("button", { type: "button", "aria-label": "Look at " + plain(e.name) }, "Look");
  open.onclick = () => {
    if (e.kind === "run") go("runs", { run: at });
    else if (e.folder) go("data", { dir: at });
    else if (e.kind === "recipe") go("recipe", { path: at });
    else if (e.kind === "picture" || e.kind === "sound") preview(at, e, place);
    else go("data", { path: at });
  };
  look.onclick = () => go("data", { path: at });
  return make("tr", {}, make("td", {}, open), make("td", {}, e.kind), make("td", { className: "n" }, e.folder ? "" : bytes(e.bytes)), make("td", {}, data.includes(e.kind) ? look : ""));
}

function files(got, place) {
  const body = make("tbody", {}), more = make("p", { className: "small" });
  const table = make("table", { className: "files" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Name"), make("th", { scope: "col" }, "Kind"), make("th", { scope: "col", className: "n" }, "Size"), make("th", { scope: "col" }, make("span", { className: "unseen" }, "Look")))), body);
  const filter = make("input", { type: "search", placeholder: "part of a name" });
  function fill() {
    const fit = got.entries.filter(e => e.name.toLowerCase().includes(filter.value.toLowerCase()));
    body.replaceChildren(...fit.slice(0, LISTED).map(e => row(got.path, e, place)));
    const left = fit.length - LISTED + got.left_out;
    more.textContent = left > 0 ? count(Math.max(0, fit.length - LISTED) + got.left_out) + " more are not shown: type a part of the name." : fit.length ? "" : "Nothing is here.";
  }
  filter.oninput = fill;
  fill();
  return make("div", {}, got.entries.length > 20 ? make("div", { className: "fields" }, field("Show only", filter)) : null, make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Files" }, table), more);
}

function builtins() {
  const list = make("p", {}, "Or begin with data that is built in: ");
  [["digits", "handwritten digits"], ["novel", "a novel, for a language model"]].forEach(([name, text], i) => {
    const b = make("button", { type: "button" }, name + " (" + text + ")");
    b.onclick = () => go("data", { builtin: name });
    list.append(i ? " " : "", b);
  });
  return list;
}

async function browse(panel, dir) {
  const got = await api("/api/files" + query({ path: dir })), place = make("div", {});
  const look = make("button", { type: "button", className: "go" }, "Look at this folder");
  look.onclick = () => go("data", { path: got.path });
  panel.replaceChildren(make("h1", {}, "Data"),
    make("p", {}, "Choose what the network shall learn from: a table, a folder of pictures with a folder for each class or with boxes or masks, or texts. Look shows what it holds and writes a recipe."));
  if (roots.roots.length > 1) panel.append(make("div", { className: "fields" }, field("Folder of --root", choice(roots.roots, roots.roots.find(r => (got.path + "/").startsWith(r === "/" ? r : r + "/")), r => go("data", { dir: r })))));
  panel.append(crumbs(got.path), make("div", { className: "row" }, look), files(got, place), place, dropZone(got.path, at => go("data", at)), builtins());
}

/* ---- what was seen ---- */

const facts = list => make("dl", { className: "facts" }, ...list.filter(x => x[1] !== null).map(([k, v]) => make("div", {}, make("dt", {}, k), make("dd", {}, v))));

function histogram(h, name) {
  const most = Math.max(1, ...h.counts), n = h.counts.length;
  const text = `${name}: from ${number(h.low)} to ${number(h.high)}`;
  return svg("svg", { class: "hist", viewBox: `0 0 ${n * 5} 32`, preserveAspectRatio: "none", role: "img", "aria-label": text }, ...h.counts.map((c, i) => svg("rect", { x: i * 5, y: 32 - 31 * c / most, width: 4.2, height: 31 * c / most })));
}

function bars(list, key, of) {
  const most = Math.max(1, ...list.map(x => x.count));
  return list.map(x => {
    const bar = make("span", { className: "bar" });
    bar.style.width = (60 * x.count / most).toFixed(1) + "px";
    return make("div", {}, bar, " ", make("span", { className: "name" }, x[key]), make("span", { className: "small" }, " " + count(x.count)));
  });
}

function shape(c) {
  if (c.histogram) return make("div", {}, histogram(c.histogram, c.name || "column"), make("span", { className: "small" }, number(c.low) + " to " + number(c.high)));
  if (!c.values) return c.n_values ? count(c.n_values) + " different values" : "";
  const shown = c.values.slice().sort((a, b) => b.count - a.count).slice(0, 5), left = c.n_values - shown.length;
  return make("div", {}, ...bars(shown, "value"), left > 0 ? make("span", { className: "small" }, `and ${count(left)} values more`) : null);
}

const roles = { number: "input", values: "input", label: "label", "left out": "ignore", vector: "embed", sentences: "text" };

/* A column's name as an option takes it, else its place. */
const word = (c, i) => c.name && /^[A-Za-z_][\w-]*$/.test(c.name) ? c.name : String(i);

function columns(got, correct) {
  const list = got.columns.map(c => roles[c.as] || "input");
  function change(i, role) {
    list[i] = role;
    if (role === "label" || role === "text") list.forEach((r, k) => { if (k !== i && r === role) list[k] = "input"; });
    const named = of => "[" + got.columns.map((c, k) => list[k] === of ? word(c, k) : null).filter(x => x !== null).join(", ") + "]";
    const set = { "data.ignore": named("ignore"), "data.embed": list.includes("embed") ? named("embed") : null };
    const label = list.indexOf("label"), text = list.indexOf("text");
    set["data.label"] = label >= 0 ? word(got.columns[label], label) : null;
    set["data.text"] = text >= 0 ? word(got.columns[text], text) : null;
    if (role === "label") set["data.task"] = null;
    correct(set);
  }
  const rows = got.columns.map((c, i) => {
    const name = c.name || "column " + i;
    const all = [["input", "an input, as " + (c.kind === "number" ? "a number" : c.kind === "date" ? "a date" : "its values")], ["label", "what is predicted"], ["ignore", "left out"]];
    if (c.kind === "text") all.push(["embed", "an input, a vector learned for each value"], ["text", "sentences, the only input"]);
    const pick = choice(all, list[i], role => change(i, role));
    pick.setAttribute("aria-label", "Use of " + name);
    pick.dataset.key = "column" + i;
    return make("tr", {}, make("th", { scope: "row", className: "name" }, name), make("td", {}, pick), make("td", {}, c.kind + (c.form ? ", written " + c.form : "")), make("td", { className: "v" }, shape(c)), make("td", { className: "n" }, c.blank ? count(c.blank) : ""));
  });
  const head = ["Column", "Use", "Read as", "Values", "Blank"].map(h => make("th", { scope: "col", className: h === "Blank" ? "n" : "" }, h));
  return make("div", {}, make("h2", {}, "Columns"), got.n_columns > got.columns.length ? make("p", {}, `The first ${count(got.columns.length)} of ${count(got.n_columns)} columns.`) : null,
    make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Columns" }, make("table", { className: "columns" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))));
}

function classes(got) {
  const most = Math.max(1, ...got.classes.map(c => c.train)), shown = got.classes.slice(0, 40);
  const rows = shown.map(c => {
    const bar = make("span", { className: "bar" });
    bar.style.width = (120 * c.train / most).toFixed(1) + "px";
    return make("tr", {}, make("th", { scope: "row", className: "name" }, c.name), make("td", {}, bar), ...["train", "valid", "test"].map(s => make("td", { className: "n" }, count(c[s]))));
  });
  const head = make("tr", {}, make("th", { scope: "col" }, "Class"), make("th", { scope: "col" }, make("span", { className: "unseen" }, "Share")), ...["Train", "Validation", "Test"].map(t => make("th", { scope: "col", className: "n" }, t)));
  return make("div", {}, make("h2", {}, got.task === "segment" ? "Pixels of each class" : "Classes"), make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Classes" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))),
    got.outputs > shown.length ? make("p", { className: "small" }, `and ${count(got.outputs - shown.length)} classes more`) : null);
}

function pictures(got) {
  const list = got.pictures.map(p => {
    const path = p.path.replaceAll("%", "%25").replace(/\\x([0-9a-f]{2})/g, "%$1");
    const img = make("img", { src: "/api/file" + query({ path: /^([A-Z]:)?\//.test(path) ? path : roots.here + "/" + path }), alt: p.class ? "of class " + p.class : nameOf(p.path), loading: "lazy" });
    return make("li", {}, img, make("span", {}, p.class || nameOf(p.path)));
  });
  return list.length ? make("div", {}, make("h2", {}, "Some of the pictures"), make("ul", { className: "thumbs" }, ...list)) : null;
}

/* The conversation in a line of JSON; null: it holds none. */
function conversation(line) {
  const role = r => r === "assistant" || r === "gpt" ? "assistant" : "user";
  const messages = line.messages || line.conversations || (line.prompt !== undefined ? [{ role: "user", content: line.prompt }, { role: "assistant", content: line.completion ?? line.chosen ?? "" }] : null);
  if (!Array.isArray(messages)) return null;
  return make("div", { className: "talk" }, ...messages.slice(0, 12).map(m => make("div", { className: role(m.role || m.from) }, make("b", {}, (m.role || m.from || "?") + ": "), String(m.content ?? m.value ?? ""))));
}

async function talks(path) {
  if (!path || !/\.jsonl$/.test(path)) return null;
  const head = await api("/api/head" + query({ path })), out = [];
  for (const line of head.text.split("\n").slice(0, 3)) {
    try {
      const one = conversation(JSON.parse(line));
      if (one) out.push(one);
    } catch (e) { /* a line that is cut, or none of JSON: init says what is wrong with it */ }
  }
  return out.length ? make("div", {}, make("h2", {}, "The first conversations"), ...out) : null;
}

const texts = got => make("div", {}, make("h2", {}, "Some of the text"), ...got.texts.map(t => make("pre", { className: "quote", dir: "auto" }, t)));

/* ---- corrections ---- */

function corrections(got, state, correct) {
  const fields = [], known = key => state.set[key] || "";
  const add = (label, input, key, help) => { input.dataset.key = key; fields.push(field(label, input, help)); };
  const pick = (key, label, values, now) => add(label, choice(values, now, v => correct({ [key]: v || null })), key);
  const amount = (key, label, fallback, help) => {
    const e = make("input", { inputMode: "decimal", value: known(key) || fallback });
    e.onchange = () => correct({ [key]: e.value.trim() || null });
    add(label, e, key, help);
  };
  if (got.columns || got.kind === "table") pick("data.task", "What is predicted", [["", known("data.task") ? "as found" : "as found: " + got.task], ["classify", "one of several classes"], ["regress", "a number"], ["multilabel", "any of several labels"]], known("data.task"));
  else if (got.kind === "pictures" && !["segment", "picture", "detect", "points"].includes(got.task)) pick("data.task", "What is predicted", [["", known("data.task") ? "as found" : "as found: " + got.task], ["classify", "one class"], ["multilabel", "any of several labels"]], known("data.task"));
  if (got.kind === "pictures") {
    amount("data.size", "Size of the pictures in pixels", got.input_shape.slice(0, 2).join("x"), "one number, or HEIGHTxWIDTH");
    pick("data.color", "Colours", [["", "as found"], ["grey", "grey"], ["rgb", "colour"]], known("data.color"));
    if (!["detect", "points"].includes(got.task)) pick("data.fit", "A picture of another shape is", [["", "stretched"], ["crop", "cropped"]], known("data.fit"));
  }
  if (got.kind === "text") amount("data.context", "Tokens of an example", String(got.context));
  if (got.columns && got.columns.some(c => c.blank)) pick("data.missing", "Blank cells", [["", "as found"], ["mean", "get the usual value"], ["drop", "their rows are left out"], ["error", "are an error"]], known("data.missing"));
  if (got.kind !== "table") {
    const e = make("input", { value: state.init || "", spellcheck: false });
    e.onchange = () => { state.init = e.value.trim() || null; correct({}); };
    add("Model to begin with", e, "init", got.kind === "text" ? "a model's folder, a GGUF file or a run; empty: a new one" : "an ONNX file or a run; empty: a new one");
  }
  amount("data.valid_fraction", "Share for validation", "0.1", "not trained on: it judges what you tune");
  amount("data.test_fraction", "Share for the test", "0.1", "looked at once, at the end");
  return make("div", {}, make("h2", {}, "Corrections"), make("p", { className: "small" }, "A choice looks again; the recipe beside it follows."), make("div", { className: "fields" }, ...fields));
}

const shell = w => /^[\w@%+=:,./-]+$/.test(w) ? w : "'" + w.replaceAll("'", "'\\''") + "'";

function asCommand(state, got) {
  const short = p => p.startsWith(roots.here + "/") ? p.slice(roots.here.length + 1) : p;
  const words = ["vktrain", "init", state.builtin || plain(short(state.path))];
  for (const [k, v] of Object.entries(state.set)) words.push("--set", k + "=" + v);
  if (state.init) words.push("--set", "init=" + short(state.init));
  return words.map(shell).join(" ");
}

/* ---- looking ---- */

function sentence(got) {
  const aim = { classify: got.kind === "text" ? "the next token is predicted" : "one of " + count(got.outputs) + " classes is predicted", regress: got.outputs > 1 ? got.outputs + " numbers are predicted" : "a number is predicted", multilabel: "any of " + count(got.outputs) + " labels are predicted", segment: "a class of each pixel is predicted", detect: "boxes around objects of " + count(got.outputs) + " classes are predicted", points: "the places of " + count(got.outputs) + " points are predicted", picture: "another picture is predicted" }[got.task];
  return `It is read as ${got.source_help}; ${aim}` + (got.label ? `: ${got.label}, ${got.why}.` : ".");
}

async function results(got, state, correct) {
  const s = got.splits, out = make("div", {});
  out.append(make("p", {}, sentence(got)));
  out.append(facts([["training examples", count(s.train)], ["validation", count(s.valid)], ["test", count(s.test)],
    ["rows", got.n_rows === undefined ? null : count(got.n_rows)],
    ["size", got.kind === "pictures" ? got.input_shape.slice(0, 2).reverse().join(" × ") + (got.input_shape[2] === 3 ? ", colour" : got.input_shape[2] === 1 ? ", grey" : "") : null],
    ["vocabulary", got.vocabulary === undefined ? null : count(got.vocabulary) + " tokens"],
    ["could not be read", got.dropped ? count(got.dropped) : null]]));
  for (const n of got.warnings) out.append(note(n, "Look at this. "));
  for (const n of got.notes) out.append(remark(n));
  const talk = got.kind === "text" ? await talks(state.path) : null;
  if (got.pictures) out.append(pictures(got) || "");
  if (got.target) out.append(make("h2", {}, "What is predicted"), histogram(got.target, got.label || "label"), make("p", { className: "small" }, number(got.target.low) + " to " + number(got.target.high)));
  if (got.columns) out.append(columns(got, correct));
  if (got.classes && got.kind !== "text") out.append(classes(got));
  if (talk) out.append(talk);
  else if (got.texts) out.append(texts(got));
  out.append(corrections(got, state, correct), command(asCommand(state, got)));
  return out;
}

/* One look after the other: a correction asks again, and the newest answer counts. */
async function look(panel, args) {
  const state = { path: args.path, builtin: args.builtin, init: args.init || null, set: {} }, mine = ++round;
  const back = make("button", { type: "button" }, "Choose other data"), name = args.builtin || plain(nameOf(args.path));
  back.onclick = () => go("data", { dir: args.path ? args.path.replace(/[^/]*$/, "") : roots.roots[0] });
  const seen = make("div", { "aria-busy": "true" }), right = make("div", {});
  const edit = editor();
  let save = null, asked = 0, wait = null;
  panel.replaceChildren(make("div", { className: "row" }, make("h1", { className: "name" }, name), back), make("div", { className: "two" }, make("div", {}, seen), right));

  async function ask() {
    const turn = ++asked, body = { set: Object.entries(state.set).map(([k, v]) => k + "=" + v) };
    for (const k of ["path", "builtin", "init"]) if (state[k]) body[k] = state[k];
    seen.setAttribute("aria-busy", "true");
    if (wait) wait.end(), wait.element.remove();
    looking = wait = waiting("Looking …");
    seen.prepend(wait.element);
    try {
      const got = await api("/api/look", body, wait);
      const shown = turn === asked ? await results(got, state, correct) : null;
      if (turn !== asked || mine !== round) return;
      const focused = document.activeElement && document.activeElement.dataset.key;
      seen.replaceChildren(shown);
      if (focused) (seen.querySelector(`[data-key="${CSS.escape(focused)}"]`) || seen).focus();
      await recipe(got);
      say("Looked: " + sentence(got));
    } catch (e) {
      if (turn !== asked || mine !== round) return;
      for (const old of seen.querySelectorAll(".note.error")) old.remove();
      const wrong = note(e.message, "Not read. ");
      wrong.classList.add("error");
      wait.element.remove();
      seen.prepend(wrong);
    } finally {
      if (turn === asked) seen.setAttribute("aria-busy", "false");
    }
  }

  function correct(set) {
    for (const [k, v] of Object.entries(set)) {
      if (v === null) delete state.set[k];
      else state.set[k] = v;
    }
    ask();
  }

  async function recipe(got) {
    if (!save) {
      save = saving(edit, (roots.inside ? roots.here : roots.roots[0]) + "/" + got.file.replaceAll("%", "%25"));
      right.replaceChildren(make("h2", {}, "The recipe"), edit.element, save.element);
    }
    if (!edit.edited) return edit.set(got.recipe);
    const take = make("button", { type: "button" }, "Take the new recipe");
    const offer = make("div", { className: "row", role: "status" }, "The recipe was changed by hand. ", take);
    take.onclick = () => { offer.remove(); edit.set(got.recipe); };
    for (const old of right.querySelectorAll(".row[role=status]")) old.remove();
    right.insertBefore(offer, edit.element);
  }
  await ask();
}

async function open(panel, args) {
  const mine = ++round;
  try {
    if (!roots) roots = await api("/api/roots");
    if (mine !== round) return;
    if (args.path || args.builtin) await look(panel, args);
    else await browse(panel, args.dir || roots.roots[0]);
  } catch (e) {
    panel.replaceChildren(make("h1", {}, "Data"), note(e.message, "Not shown. "));
  }
}

tab("data", { open, close() { round++; if (looking) looking.end(); } });
