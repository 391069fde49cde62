/* The part Studies: start one, see its trials and plots while it runs. */
import { api, choice, command, field, go, make, nameOf, note, number, query, say, tab } from "./ui.js";
import { duration, every } from "./ui_run.js";
import { queueView } from "./ui_train.js";

const kinds = [
  ["auto", "auto: all of it within a time"], ["lr", "lr: which learning rate"], ["folds", "folds: cross-validation"], ["data", "data: are more examples worth it"], ["search", "search: a space of options"],
  ["batch-size", "batch-size: throughput of each"], ["warmup", "warmup: the shortest that is stable"], ["clip", "clip: from the gradient norms"],
];
/* Which fields a kind has: its key, label, what is usual. */
const options = {
  auto: [["minutes", "minutes", "10"]], lr: [["points", "number of learning rates", "9"], ["from", "lowest", ""], ["to", "highest", ""], ["steps", "steps of each", ""]],
  folds: [["folds", "number of folds", "5"]], data: [["seeds", "seeds of each size", "3"], ["steps", "steps of each", ""]], search: [["space", "file with the space (YAML)", ""], ["trials", "trials", "20"], ["steps", "steps of each", ""]],
  "batch-size": [["from", "smallest", "8"], ["to", "largest", ""]], warmup: [], clip: [],
};
let form = null, ended = null;

function newForm() {
  const recipe = make("input", { list: "recipe-names-2", placeholder: "digits, or a file like mine.yaml", required: true, autocomplete: "off" }), names = make("datalist", { id: "recipe-names-2" });
  const more = make("div", { className: "fields" }), by = make("div"), out = make("div"), start = make("button", { className: "go" }, "Start");
  let kind = "auto", inputs = {};
  const body = () => ({ kind, recipe: recipe.value.trim(), ...Object.fromEntries(Object.entries(inputs).map(([k, i]) => [k, i.value.trim()]).filter(([, v]) => v)) });
  let timer = null;
  const showCommand = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      if (!recipe.value.trim()) { by.replaceChildren(); return; }
      try { by.replaceChildren(command((await api("/api/start/study", { ...body(), dry: true })).command)); } catch (e) { by.replaceChildren(note(e.message)); }
    }, 300);
  };
  const showFields = () => {
    inputs = {};
    more.replaceChildren(...options[kind].map(([key, label, usual]) => field(label, inputs[key] = make("input", { placeholder: usual, autocomplete: "off" }))));
    showCommand();
  };
  const element = make("form", { "aria-label": "A new study" }, make("div", { className: "fields" }, field("recipe", recipe), names, field("kind", choice(kinds, kind, v => { kind = v; showFields(); }))), more,
    make("div", { className: "row" }, start), out, by);
  element.oninput = showCommand;
  element.onsubmit = async e => {
    e.preventDefault();
    try { const j = await api("/api/start/study", body()); out.replaceChildren(); say("The study is in the queue"); go("studies", { study: j.folder }); } catch (x) { out.replaceChildren(note(x.message)); }
  };
  api("/api/recipes").then(j => names.append(...j.recipes.map(r => make("option", { value: r.name }, r.about))));
  showFields();
  return element;
}

/* One study: its trials, and its report, which is made again when a trial has ended. */
function oneStudy(study) {
  const facts = make("p", { role: "status" }, "It has not begun yet."), body = make("tbody"), frame = make("iframe", { title: "Plots and what they say: " + nameOf(study), className: "report" }), by = make("div");
  const head = make("tr", {}, ...["trial", "state", "set", "best", "time"].map(t => make("th", { scope: "col" }, t)));
  frame.hidden = true;
  let before = "", marks = "";
  const step = async () => {
    const j = await api("/api/study" + query({ study })), now = JSON.stringify(j);
    if (j.waiting) return;
    if (now === before) return;
    before = now;
    const done = j.trials.filter(t => t.state === "done").length;
    facts.textContent = `${j.kind}: ${done} of ${j.trials.length} trials are done; ${j.alive ? "it runs" : j.status || "ended"}${j.error ? ": " + j.error : ""}.` + (j.chosen && j.chosen.length ? " Chosen: " + j.chosen.map(c => c.join(" = ")).join(", ") + "." : "");
    body.replaceChildren(...j.trials.map(t => make("tr", {}, make("td", {}, make("a", { href: "#runs" + query({ run: study + "/" + t.name }) }, t.name)), make("td", {}, t.state || ""), make("td", { className: "long" }, (t.set || []).join(", ")),
      make("td", { className: "n" }, number(t.best)), make("td", { className: "n" }, duration(t.seconds)))));
    const mark = `${done} ${j.alive}`;
    if (mark !== marks && done) { frame.hidden = false; frame.src = "/api/report" + query({ path: study, at: mark }); }
    marks = mark;
    if (!by.firstChild) by.append(command(j.report));
  };
  const table = make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Trials" }, make("table", {}, make("thead", {}, head), body));
  return { element: make("section", { "aria-label": "The study " + nameOf(study) }, make("h2", { className: "name" }, nameOf(study)), facts, table, frame, by), step };
}

function list() {
  const body = make("tbody"), by = make("div"), head = make("tr", {}, ...["study", "kind", "recipe", "state", "trials", "best", "note"].map(t => make("th", { scope: "col" }, t)));
  let before = "";
  const step = async () => {
    const j = await api("/api/studies"), now = JSON.stringify(j);
    if (now === before) return;
    before = now;
    body.replaceChildren(...j.studies.map(s => make("tr", {}, make("td", {}, make("a", { href: "#studies" + query({ study: s.study }) }, nameOf(s.study))), ...[s.kind || "", nameOf(s.recipe || ""), s.status || "", `${s.done ?? 0} of ${s.trials ?? 0}`, `${s.metric || ""} ${number(s.best)}`, s.note || ""].map(c => make("td", {}, c)))));
    by.replaceChildren(command(j.command));
  };
  return { element: make("div", {}, make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Table of studies" }, make("table", {}, make("thead", {}, head), body)), by), step };
}

function open(panel, args) {
  close();
  if (!form) form = newForm();
  const queue = queueView(["study"]), main = args.study ? oneStudy(args.study) : list();
  panel.replaceChildren(make("h1", {}, "Studies"), ...(args.study ? [make("p", {}, make("a", { href: "#studies" }, "All studies, and a new one"))] : [form]), main.element, make("h2", {}, "Queue"), queue.element);
  const a = every(1500, queue.step), b = every(2000, main.step);
  ended = () => { a(); b(); };
}

function close() {
  if (ended) ended();
  ended = null;
}

tab("studies", { open, close });
