/* The part Benchmark: measure this machine, see it beside others, find the file to send. */
import { api, choice, command, field, make, note, number, query, say, tab } from "./ui.js";
import { every } from "./ui_run.js";
import { queueView } from "./ui_train.js";

const sizes = [["quick", "quick: under a minute on two CPU cores"], ["key", "key: the rows that decide, 90 s on a GPU"], ["full", "full: everything, the file to send"]];
let ended = null;

function open(panel) {
  close();
  const by = make("div"), out = make("div"), others = make("input", { value: "benchmarks", autocomplete: "off" }), place = make("div"), queue = queueView(["bench"]);
  let size = "quick";
  const showCommand = async () => { try { by.replaceChildren(command((await api("/api/start/bench", { size, dry: true })).command)); } catch (e) { by.replaceChildren(note(e.message)); } };
  const start = make("button", { className: "go" }, "Measure"), form = make("form", { "aria-label": "A new benchmark" }, make("div", { className: "fields" }, field("how much", choice(sizes, size, v => { size = v; showCommand(); }))), make("div", { className: "row" }, start), out, by);
  form.onsubmit = async e => {
    e.preventDefault();
    try { await api("/api/start/bench", { size }); out.replaceChildren(); say("The benchmark is in the queue"); } catch (x) { out.replaceChildren(note(x.message)); }
  };
  async function machines() {
    const folder = others.value.trim();
    try {
      const j = await api("/api/machines" + query({ folder })), frame = make("iframe", { title: "All machines", className: "report", src: "/api/machines/page" + query({ folder }) });
      place.replaceChildren(make("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Machines" }, make("table", {}, make("caption", {}, "Medians over the files of each machine"),
        make("thead", {}, make("tr", {}, ...["device", "driver", "files", ...j.columns].map(c => make("th", { scope: "col" }, c)))),
        make("tbody", {}, ...j.machines.map(m => make("tr", {}, make("td", {}, m.device), make("td", {}, m.driver), make("td", { className: "n" }, m.files), ...m.values.map(v => make("td", { className: "n" }, number(v)))))))), frame, command(j.command));
      say("The machines are there");
    } catch (e) { place.replaceChildren(note(e.message)); }
  }
  const look = make("form", { "aria-label": "Machines" }, make("div", { className: "fields" }, field("folder with the files of this machine and of others", others)), make("div", { className: "row" }, make("button", {}, "Show the machines")));
  look.onsubmit = e => { e.preventDefault(); machines(); };
  panel.replaceChildren(make("h1", {}, "Benchmark"), make("p", { className: "small" }, "Nothing else should use the device meanwhile. A file of the full benchmark can be sent as an issue of the project, and stands beside others then."), form, make("h2", {}, "Queue"), queue.element, make("h2", {}, "Machines"), look, place);
  showCommand();
  ended = every(1500, queue.step);
}

function close() {
  if (ended) ended();
  ended = null;
}

tab("bench", { open, close });
