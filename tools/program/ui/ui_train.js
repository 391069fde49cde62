/* The part Train: a recipe, a device, what it will need; the queue; the run that is watched. */
import { api, choice, command, field, go, make, nameOf, note, number, query, say, share, tab, waiting } from "./ui.js";
import { asking, duration, every, runView } from "./ui_run.js";

let form = null, view = null, endPolls = null;

/* What the recipe needs before it starts: peak memory, steps, the whole plan. */
function planView(j) {
  const peak = /peak device memory +([\d.]+ MiB)(?: of ([\d.]+) MiB)?/.exec(j.plan), total = /^ +total +(\d+)/m.exec(j.plan), steps = /^ +steps: (\d+)/m.exec(j.configuration);
  const fact = (name, text) => make("div", {}, make("dt", {}, name), make("dd", {}, text));
  return make("div", {}, make("dl", { className: "facts" }, ...[peak && fact("device memory at most", peak[1] + (peak[2] ? ` of ${number(+peak[2] / 1024)} GiB` : "")),
    total && fact("parameters", (+total[1]).toLocaleString("en")), steps && fact("steps", (+steps[1]).toLocaleString("en"))].filter(Boolean)),
    make("details", {}, make("summary", {}, "The plan of a step"), make("pre", { tabIndex: 0 }, j.plan)));
}

/* The form keeps what was typed while other parts are shown. */
function newForm() {
  const names = make("datalist", { id: "recipe-names" }), recipe = make("input", { list: "recipe-names", placeholder: "digits, or a file like mine.yaml", required: true, autocomplete: "off" });
  const device = make("select", {}, make("option", { value: "" }, "the best one")), run = make("input", { placeholder: "runs/NAME-DATE", autocomplete: "off" }), remark = make("input", { placeholder: "why this run", autocomplete: "off" });
  const sets = make("textarea", { rows: 3, placeholder: "optim.lr=0.003\ntrain.steps=2000", spellcheck: false });
  const out = make("div"), by = make("div"), start = make("button", { className: "go", type: "submit" }, "Start");
  const body = () => ({ recipe: recipe.value.trim(), set: sets.value.split("\n").map(s => s.trim()).filter(Boolean), ...(device.value ? { device: device.value } : {}) });
  const whole = () => ({ ...body(), ...(run.value.trim() ? { run: run.value.trim() } : {}), ...(remark.value.trim() ? { note: remark.value.trim() } : {}) });
  async function plan() {
    const wait = waiting("The plan is made …");
    out.replaceChildren(wait.element);
    try { out.replaceChildren(planView(await api("/api/plan", body(), wait))); say("The plan is there"); }
    catch (e) { failed(e); }
  }
  async function measure() {
    const wait = waiting("Twenty steps are made, and thrown away …");
    out.replaceChildren(wait.element);
    try {
      const [p, j] = [await api("/api/measure", body(), wait), await api("/api/plan", body(), wait)], steps = /^ +steps: (\d+)/m.exec(j.configuration);
      const text = `A step takes ${number(p.step_ms)} ms on ${p.device}${steps ? `: ${(+steps[1]).toLocaleString("en")} steps take about ${duration(p.step_ms / 1000 * +steps[1])}, and evaluations a little more` : ""}.`;
      out.replaceChildren(make("p", {}, text), planView(j));
      say(text);
    } catch (e) { failed(e); }
  }
  const failed = e => { by.replaceChildren(); out.replaceChildren(note(e.message)); }; /* the message stands once */
  let timer = null;
  const showCommand = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      out.replaceChildren();
      if (!recipe.value.trim()) { by.replaceChildren(); return; }
      try { by.replaceChildren(command((await api("/api/start/train", { ...whole(), dry: true })).command)); } catch (e) { by.replaceChildren(note(e.message)); }
    }, 300);
  };
  const element = make("form", { "aria-label": "A new run" }, make("div", { className: "fields" }, field("recipe", recipe), names, field("device", device), field("run folder", run), field("note", remark)),
    make("label", { className: "small" }, "options that differ from the recipe, one a line", make("br"), sets),
    make("div", { className: "row" }, start, make("button", { type: "button", onclick: plan }, "Show the plan"), make("button", { type: "button", onclick: measure }, "Measure the time")), out, by);
  sets.classList.add("wide-field");
  element.oninput = showCommand;
  element.onsubmit = async e => {
    e.preventDefault();
    start.disabled = true;
    try {
      const j = await api("/api/start/train", whole());
      say("The run is in the queue");
      run.value = "";
      out.replaceChildren();
      go("train", { run: j.folder });
    } catch (x) { failed(x); }
    start.disabled = false;
  };
  api("/api/recipes").then(j => names.append(...j.recipes.map(r => make("option", { value: r.name }, r.about))));
  api("/api/devices").then(j => device.append(...j.devices.filter(d => d.usable).map(d => make("option", { value: d.uuid }, d.name)))).catch(() => {});
  /* Another recipe does not have the options of the one before. */
  const set = name => {
    if (recipe.value && recipe.value !== name) sets.value = "";
    recipe.value = name;
    showCommand();
  };
  return { element, set };
}

/* ---- the queue ---- */

const when = t => t ? new Date(1000 * t).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }) : "";
const ends = { 0: "done", 1: "failed", 2: "refused", 3: "no device", 4: "data or file error", 5: "out of memory", 6: "device lost", 130: "stopped", 137: "killed" };
export const stateOfJob = j => j.state === "running" && j.stopping ? "stopping" : j.state !== "ended" ? j.state : j.rc === undefined ? "ended" : ends[j.rc] || `ended with ${j.rc}`;

function jobRow(j, far) {
  const row = make("tr");
  const open = j.folder && j.kind === "train" ? make("a", { href: "#train" + query({ run: j.folder }) }, nameOf(j.folder))
    : j.folder ? make("a", { href: "#studies" + query({ study: j.folder }) }, nameOf(j.folder)) : make("span", { className: "name" }, j.file ? nameOf(j.file) : j.kind);
  const buttons = make("td", { className: "row" });
  if (j.state === "queued") buttons.append(asking("Take out", () => api("/api/job/stop", { id: j.id })));
  if (j.state === "running") buttons.append(asking(j.stopping ? "End at once" : "Stop", () => api("/api/job/stop", { id: j.id })));
  buttons.append(asking("Output", async () => {
    const said = await api("/api/job" + query({ id: j.id })), next = row.nextElementSibling;
    if (next && next.classList.contains("said")) next.remove();
    else row.after(make("tr", { className: "said" }, make("td", { colSpan: 4 }, make("pre", { tabIndex: 0 }, said.text || "It has printed nothing."))));
  }));
  if (j.state !== "running") buttons.append(asking("Forget", () => api("/api/job/forget", { id: j.id })));
  for (const b of buttons.querySelectorAll("button")) b.setAttribute("aria-label", `${b.textContent}: ${j.folder ? nameOf(j.folder) : j.kind}`);
  row.append(make("td", {}, open), make("td", {}, make("b", {}, stateOfJob(j)), far, j.error && j.rc !== 130 ? make("div", { className: "small wide" }, j.error) : null), make("td", {}, when(j.ended || j.started || j.queued)), buttons);
  return row;
}

/* { element, step() }: rows are made again only where something has changed, so that the focus stays. */
export function queueView(kinds) {
  const body = make("tbody"), nothing = make("p", { className: "small" }, "The queue is empty.");
  const table = make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Queue" }, make("table", {}, make("thead", {}, make("tr", {}, ...["what", "state", "time", "actions"].map(t => make("th", { scope: "col" }, t)))), body));
  let before = "", far = new Map();
  const step = async () => {
    const jobs = (await api("/api/jobs")).jobs.filter(j => !kinds || kinds.includes(j.kind)), now = JSON.stringify(jobs, (k, v) => k === "progress" ? undefined : v);
    if (now !== before) far = new Map(jobs.map(j => [j.id, make("div")]));
    for (const j of jobs) far.get(j.id).replaceChildren(...(j.progress ? [share(j.progress)] : []));
    if (now === before) return;
    before = now;
    const at = document.activeElement, kept = body.contains(at) ? at.getAttribute("aria-label") : null;
    body.replaceChildren(...jobs.map(j => jobRow(j, far.get(j.id))));
    table.hidden = !jobs.length;
    nothing.hidden = jobs.length > 0;
    if (kept) { const b = [...body.querySelectorAll("button")].find(x => x.getAttribute("aria-label").split(": ")[1] === kept.split(": ")[1]); if (b) b.focus(); }
  };
  return { element: make("div", {}, nothing, table), step };
}

function open(panel, args) {
  if (!form) form = newForm();
  if (args.recipe) form.set(args.recipe);
  if (endPolls) close();
  const queue = queueView(), place = make("div");
  if (args.run) { view = runView(args.run); place.replaceChildren(view.element); }
  panel.replaceChildren(make("h1", {}, "Train"), ...(args.run ? [place, make("h2", {}, "Another run"), form.element] : [form.element]), make("h2", {}, "Queue"), queue.element);
  endPolls = every(1000, queue.step);
}

function close() {
  if (endPolls) endPolls();
  if (view) view.close();
  endPolls = view = null;
}

tab("train", { open, close });
