/* The part Recipe, and the editor that Data has, too: line numbers, errors at their line as one
 * types, help and completion of keys from the program's tables. */
import { make, api, query, tab, go, say, note, command, field, choice, Refused } from "./ui.js";

let tables = null;
async function options() {
  if (!tables) {
    tables = await api("/api/options");
    tables.byName = new Map(tables.options.map(o => [o.name, o]));
    tables.byLayer = new Map(tables.layers.map(l => [l.name, l]));
  }
  return tables;
}

/* ---- where the cursor is ---- */

/* The keys above a line, by indentation: "data.augment.", and the line's own word. */
function place(lines, at) {
  const own = lines[at] || "", match = own.match(/^(\s*(?:- )?\s*)([\w.]*)/);
  let depth = match[1].length, path = [];
  for (let i = at - 1; i >= 0 && depth > 0; i--) {
    const m = lines[i].match(/^(\s*(?:- )?)([\w]+):/);
    if (m && m[1].length < depth) path.unshift(m[2]), depth = m[1].length;
  }
  return { above: path, word: match[2], from: match[1].length };
}

/* What can stand there: [name, help]. */
function known(t, p) {
  const top = p.above[0];
  if (top === "model") {
    const layer = t.byLayer.get(p.above[p.above.length - 1]);
    const own = layer ? layer.options.map(o => [o.name, o.help]) : [];
    return own.concat(t.layers.map(l => [l.name, l.help]));
  }
  const prefix = p.above.length ? p.above.join(".") + "." : "", seen = new Map();
  for (const o of t.options) {
    if (!o.name.startsWith(prefix)) continue;
    const rest = o.name.slice(prefix.length), word = rest.split(".")[0];
    if (!seen.has(word)) seen.set(word, rest === word ? describe(o) : "a section");
  }
  if (!prefix) seen.set("model", "the list of layers");
  return [...seen];
}

function describe(o) {
  const more = [o.range, o.unit].filter(Boolean).join(" ");
  return o.help + (more ? " (" + more + ")" : "") + (o.fallback ? ". Default: " + o.fallback : "");
}

/* ---- the editor ---- */

let n_editors = 0;
/* { element, text, set(text), check(), edited, fine, mended(): called whenever it is fine } */
export function editor(onchange = () => {}) {
  const id = "editor" + n_editors++;
  const gutter = make("pre", { "aria-hidden": "true" });
  const area = make("textarea", { id, spellcheck: false, autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Recipe", "aria-describedby": id + "e " + id + "h" });
  const box = make("div", { className: "editor" }, gutter, area);
  const wrong = make("p", { id: id + "e", className: "note", hidden: true });
  const status = make("p", { className: "unseen", role: "status" });
  const help = make("p", { id: id + "h", className: "small" }, "Help of the key at the cursor stands here. Ctrl+Space completes it.");
  const offers = make("ul", { className: "offer", "aria-label": "Completions" });
  const element = make("div", {}, box, wrong, status, help, offers);
  const self = { element, edited: false, fine: false, mended() {}, area };
  let timer = 0, bad = 0, asked = 0, before = "";

  function number() {
    const n = area.value.split("\n").length;
    gutter.replaceChildren();
    for (let i = 1; i <= n; i++) gutter.append(i === bad ? make("b", {}, i + " ●") : String(i), "\n");
    gutter.scrollTop = area.scrollTop;
  }

  async function check() {
    const mine = ++asked;
    try {
      const got = await api("/api/recipe/check", { text: area.value });
      if (mine !== asked) return;
      self.fine = got.fine;
      bad = got.fine ? 0 : got.line;
      wrong.hidden = got.fine;
      wrong.replaceChildren(...(got.fine ? [] : [make("b", {}, bad ? "Line " + bad + ": " : "Not a recipe yet: "), got.why]));
      area.setAttribute("aria-invalid", String(!got.fine));
      box.classList.toggle("bad", !got.fine);
      const now = got.fine ? "The recipe is fine" : wrong.textContent;
      if (now !== before) status.textContent = before = now;
      number();
      if (got.fine) self.mended();
      onchange(self);
    } catch (e) {
      self.fine = e.status === 0;
    }
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(check, 350);
  }

  async function explain() {
    const t = await options(), lines = area.value.split("\n"), at = area.value.slice(0, area.selectionStart).split("\n").length - 1;
    const p = place(lines, at), all = known(t, p), exact = all.find(x => x[0] === p.word);
    help.replaceChildren();
    if (exact) help.append(make("b", {}, [...p.above, p.word].join(".")), ": " + exact[1]);
    else if (p.above.length) help.append("In ", make("b", {}, p.above.join(".")), ": " + all.slice(0, 40).map(x => x[0]).join(", "));
    else help.append("Ctrl+Space completes the key at the cursor.");
    const fit = p.word && !exact ? all.filter(x => x[0].startsWith(p.word)).slice(0, 8) : [];
    offers.replaceChildren(...fit.map(([name, text]) => {
      const b = make("button", { type: "button", title: text }, name);
      b.onclick = () => complete(p, at, name);
      return make("li", {}, b);
    }));
    return { p, at, fit };
  }

  function complete(p, at, name) {
    const lines = area.value.split("\n");
    const start = lines.slice(0, at).join("\n").length + (at ? 1 : 0) + p.from;
    area.focus();
    area.setSelectionRange(start, start + p.word.length);
    const text = name + (p.above[0] === "model" ? "" : ": ");
    if (!document.execCommand("insertText", false, text)) area.setRangeText(text, start, start + p.word.length, "end"), typed();
  }

  function typed() {
    self.edited = true;
    bad = 0;
    number();
    later();
  }
  area.oninput = () => { typed(); explain(); };
  area.onscroll = () => { gutter.scrollTop = area.scrollTop; };
  area.onclick = area.onkeyup = explain;
  area.onkeydown = async e => {
    if (e.key !== " " || !e.ctrlKey) return;
    e.preventDefault();
    const { p, at, fit } = await explain();
    if (fit.length === 1) complete(p, at, fit[0][0]);
    else if (fit.length) offers.querySelector("button").focus();
  };
  offers.onkeydown = e => { if (e.key === "Escape") area.focus(); };

  Object.defineProperty(self, "text", { get: () => area.value });
  self.check = check;
  self.set = text => {
    area.value = text;
    area.setSelectionRange(0, 0);
    area.scrollTop = 0;
    self.edited = false;
    bad = 0;
    number();
    return check();
  };
  return self;
}

/* ---- saving ---- */

/* The row that saves an editor's text; path: where, as the API has it. */
export function saving(edit, path) {
  const where = make("input", { value: path, size: 40, spellcheck: false });
  const save = make("button", { type: "button" }, "Save"), train = make("button", { type: "button", className: "go" }, "Save and train");
  const over = make("input", { type: "checkbox" }), replace = make("label", { hidden: true }, over, " replace the file that is there");
  const out = make("div", {});
  let saved = null;
  async function store() {
    out.replaceChildren();
    try {
      const got = await api("/api/recipe/save", { path: where.value, text: edit.text, over: over.checked || saved === where.value });
      saved = where.value = got.path;
      edit.edited = false;
      replace.hidden = true;
      out.replaceChildren(make("p", { role: "status" }, edit.fine ? "Saved." : "Saved, with the mistake that is marked."), command(got.command, "The command that trains it"));
      return got.path;
    } catch (e) {
      replace.hidden = e.status !== 409;
      out.replaceChildren(note(e.message, "Not saved. "));
      return null;
    }
  }
  save.onclick = store;
  train.onclick = async () => {
    await edit.check();
    if (!edit.fine) {
      const wrong = note("The recipe has a mistake, which is named below it.", "Not saved. ");
      edit.mended = () => wrong.remove();
      out.replaceChildren(wrong);
      return edit.area.focus();
    }
    const at = await store();
    if (at) go("train", { recipe: at });
  };
  const element = make("div", {}, make("div", { className: "fields one" }, field("File of the recipe", where)), make("div", { className: "row" }, save, train, replace), out);
  return { element, where, known(p) { saved = p; } };
}

/* ---- the part ---- */

/* #recipe?path=FILE, or ?builtin=NAME. */
async function open(panel, args) {
  const edit = editor(), title = make("h1", {}, "Recipe");
  panel.replaceChildren(title);
  try {
    const t = await options();
    if (!args.path && !args.builtin) args = { builtin: t.recipes[0].name };
    const roots = await api("/api/roots");
    const got = args.path ? await api("/api/recipe" + query({ path: args.path })) : null;
    const built = got ? null : t.recipes.find(x => x.name === args.builtin);
    if (!got && !built) throw new Refused(404, "there is no built-in recipe of this name");
    const save = saving(edit, got ? got.path : (roots.inside ? roots.here : roots.roots[0]) + "/" + built.name + ".yaml");
    if (got) save.known(got.path);
    title.textContent = got ? "Recipe " + got.path.split("/").pop() : "The built-in recipe " + built.name;
    const pick = choice([["", "this one"], ...t.recipes.map(x => [x.name, x.name + ": " + x.help])], built ? built.name : "", name => { if (name) go("recipe", { builtin: name }); });
    panel.append(make("div", { className: "fields" }, field("Begin with a built-in recipe", pick)), edit.element, save.element);
    if (got) panel.append(command(got.command));
    await edit.set(got ? got.text : built.text);
    say(title.textContent);
  } catch (e) {
    panel.append(note(e.message, "Not opened. "));
  }
}

tab("recipe", { open });
