/* The part Runs: the table of all runs, one of them, two to six side by side. */
import { api, command, count, field, go, make, nameOf, note, number, query, say, tab } from "./ui.js";
import { figures } from "./ui_plot.js";
import { every, runView, stateOf, value } from "./ui_run.js";

const PAGE = 100;
const columns = [["run", "run"], ["status", "state"], ["step", "steps"], ["metric", "metric"], ["best", "best"], ["test_accuracy", "test"], ["device", "device"], ["started", "started (UTC)"], ["note", "note"]];
let state = { sort: "-started", filter: "", from: 0, trials: false }, chosen = new Set(), ended = null, view = null;

function test(x) {
  return x.test_accuracy !== null ? value("accuracy", x.test_accuracy) : x.test_mae !== null ? "mae " + number(x.test_mae) : x.test_loss !== null ? "loss " + number(x.test_loss) : "–";
}

function row(x, changed) {
  const box = make("input", { type: "checkbox", checked: chosen.has(x.run), "aria-label": "Compare " + nameOf(x.run) });
  box.onchange = () => { if (box.checked) chosen.add(x.run); else chosen.delete(x.run); changed(); };
  const cells = [make("a", { href: "#runs" + query({ run: x.run }) }, make("span", { className: "name" }, nameOf(x.run))), stateOf(x), `${count(x.step)} of ${count(x.total)}`, x.metric || "–", value(x.metric, x.best), test(x), x.device || "–",
    (x.started || "–").replace("T", " ").slice(0, 16), x.note || ""];
  return make("tr", {}, make("td", {}, box), ...cells.map((c, i) => make("td", { className: i === 4 || i === 2 || i === 5 ? "n" : i === 8 ? "long" : "", title: i === 0 ? x.run : "" }, c)));
}

function table(panel) {
  const body = make("tbody"), head = make("tr", {}, make("th", { scope: "col" }, make("span", { className: "unseen" }, "compare")));
  const filter = make("input", { value: state.filter, placeholder: "digits status=done optim.lr>0.001", autocomplete: "off", spellcheck: false }), trials = make("input", { type: "checkbox", checked: state.trials });
  const told = make("p", { className: "small", role: "status" }), by = make("div"), pages = make("div", { className: "row" }), wrong = make("div");
  const compare = make("button", { className: "go", type: "button", disabled: true }, "Compare");
  const changed = () => { compare.disabled = chosen.size < 2 || chosen.size > 6; compare.textContent = chosen.size ? `Compare ${chosen.size} runs` : "Compare"; };
  compare.onclick = () => go("runs", { compare: JSON.stringify([...chosen]) });
  filter.classList.add("wide-field");
  let before = "";
  async function show(again) {
    let j;
    try {
      j = await api("/api/runs" + query({ sort: state.sort, filter: state.filter, from: state.from, n: PAGE, trials: state.trials ? 1 : 0, again: again ? 1 : 0 }));
    } catch (e) { wrong.replaceChildren(note(e.message)); throw e; }
    wrong.replaceChildren(...(j.wrong ? [note(j.wrong, "Runs may be missing. ")] : []));
    const now = JSON.stringify(j);
    if (now === before) return;
    before = now;
    const kept = body.contains(document.activeElement) ? [...body.querySelectorAll("a,input")].indexOf(document.activeElement) : -1;
    body.replaceChildren(...j.runs.map(x => row(x, changed)));
    if (kept >= 0) { const all = body.querySelectorAll("a,input"); if (all[kept]) all[kept].focus(); }
    told.textContent = j.all ? `${count(j.from + 1)} to ${count(j.from + j.runs.length)} of ${count(j.all)} runs` : "There are no runs that fit.";
    by.replaceChildren(command(j.command));
    pages.replaceChildren(...(j.all > PAGE ? [make("button", { type: "button", disabled: !state.from, onclick: () => { state.from = Math.max(0, state.from - PAGE); show(); } }, "Earlier"),
      make("button", { type: "button", disabled: j.from + j.runs.length >= j.all, onclick: () => { state.from += PAGE; show(); } }, "Further")] : []));
  }
  for (const [key, title] of columns) {
    const b = make("button", { type: "button", className: "plain" }, title), th = make("th", { scope: "col" }, b);
    const mark = () => th.setAttribute("aria-sort", state.sort === key ? "ascending" : state.sort === "-" + key ? "descending" : "none");
    b.onclick = () => { state.sort = state.sort === "-" + key ? key : "-" + key; state.from = 0; for (const m of marks) m(); show(); };
    marks.push(mark);
    mark();
    head.append(th);
  }
  let timer = null;
  filter.oninput = () => { clearTimeout(timer); timer = setTimeout(() => { state.filter = filter.value.trim(); state.from = 0; show().catch(() => {}); }, 300); };
  trials.onchange = () => { state.trials = trials.checked; state.from = 0; show().catch(() => {}); };
  changed();
  panel.replaceChildren(make("h1", {}, "Runs"), make("label", { className: "small" }, "show only: words, or KEY=VALUE with = != < > <= >= ~", filter),
    make("div", { className: "row" }, make("label", {}, trials, " trials of studies, too"), compare), wrong, told,
    make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Table of runs" }, make("table", {}, make("thead", {}, head), body)), pages, by);
  ended = every(5000, show);
}
let marks = [];

/* ---- side by side ---- */

function grid(title, runs, rows) {
  return make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": title }, make("table", {}, make("caption", {}, title),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "of the run"), ...runs.map(r => make("th", { scope: "col", className: "name" }, nameOf(r))))),
    make("tbody", {}, ...rows.map(r => make("tr", { className: r.differs ? "differs" : "" }, make("th", { scope: "row" }, r.key), ...r.values.map(v => make("td", { className: "v" }, v === "" ? "–" : isFinite(v) && !Number.isInteger(+v) ? number(+v) : v)))))));
}

async function compareView(panel, list) {
  const place = make("div"), plots = figures();
  panel.replaceChildren(make("h1", {}, "Runs side by side"), make("p", {}, make("a", { href: "#runs" }, "All runs")), place);
  try {
    const j = await api("/api/compare", { runs: list });
    place.append(grid("Results", j.runs, j.scores), j.options.length ? grid("Options that differ", j.runs, j.options) : make("p", {}, "Their recipes are the same."), plots.element, command(j.command));
    const all = new Map();
    for (const [color, run] of j.runs.entries()) {
      const r = await api("/api/run" + query({ run, columns: 200 }));
      for (const c of r.curves || []) for (const s of c.series) {
        const key = c.key + " " + s.name;
        if (!all.has(key)) all.set(key, { key, title: `${c.title}, ${s.name}`, series: [] });
        all.get(key).series.push({ ...s, name: nameOf(run), plain: true, color });
      }
    }
    plots.show([...all.values()]);
    say("The comparison is there");
  } catch (e) { place.append(note(e.message)); }
}

function open(panel, args) {
  close();
  marks = [];
  if (args.run) {
    view = runView(args.run);
    panel.replaceChildren(make("h1", {}, "Run"), make("p", {}, make("a", { href: "#runs" }, "All runs")), view.element);
  } else if (args.compare) {
    let list = [];
    try { list = JSON.parse(args.compare); } catch (e) { say("The address is damaged"); }
    compareView(panel, list);
  } else {
    table(panel);
  }
}

function close() {
  if (ended) ended();
  if (view) view.close();
  ended = view = null;
}

tab("runs", { open, close });
