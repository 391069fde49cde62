/* The frame of the page: which part is shown, requests, and what the parts share. A part is a file
 * of its own that calls tab(). Texts of the data become text nodes, never HTML. */

/* An element: make("p", { className: "small" }, "text", child). Keys with a hyphen are attributes. */
export function make(tag, more = {}, ...inner) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(more)) {
    if (k.includes("-") || k === "role" || k === "for" || k === "list") e.setAttribute(k, v);
    else e[k] = v;
  }
  e.append(...inner.filter(x => x !== null && x !== undefined && x !== false));
  return e;
}

export function svg(tag, more = {}, ...inner) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(more)) e.setAttribute(k, v);
  e.append(...inner);
  return e;
}

export const query = o => "?" + Object.entries(o).map(([k, v]) => k + "=" + encodeURIComponent(v)).join("&");
export const count = n => n.toLocaleString("en");
export function bytes(n) {
  if (n === 1) return "1 byte";
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < 4) n /= 1024, i++;
  return (i && n < 10 ? n.toFixed(1) : String(Math.round(n))) + " " + units[i];
}
export const number = v => v === null || v === undefined ? "–" : Math.abs(v) >= 1e6 || (v && Math.abs(v) < 1e-3) ? v.toExponential(2) : String(+v.toPrecision(4));
/* As people read a path: the server writes % as %25, since it writes bytes that are no text as %XX. */
export const plain = path => path.replaceAll("%25", "%");
export const nameOf = path => path.split("/").pop() || path;

/* ---- requests ---- */

const lost = document.getElementById("lost");
export class Refused extends Error { constructor(status, message) { super(message); this.status = status; } }

async function answer(got) {
  const type = got.headers.get("Content-Type") || "";
  const body = type.startsWith("application/json") ? await got.json() : null;
  if (got.ok && body) return body;
  const why = got.status === 401 ? "This page has no access any more: open the newest link that vktrain ui has printed in its terminal."
    : body && body.error ? body.error.message : "the server answered with status " + got.status;
  if (got.status === 401) lost.textContent = why, lost.hidden = false;
  throw new Refused(got.status, why);
}

async function ask(path, how) {
  try {
    const got = await fetch(path, how);
    lost.hidden = true;
    return await answer(got);
  } catch (e) {
    if (e instanceof Refused) throw e;
    if (how.signal && how.signal.aborted) throw new Refused(-1, "It was stopped.");
    lost.textContent = "The server does not answer. Is vktrain ui still running? The page goes on when it answers.";
    lost.hidden = false;
    throw new Refused(0, "the server does not answer");
  }
}

/* GET, or POST of an object as JSON. Throws Refused, whose message is for people. With what waiting() gave, its Stop ends
 * what the server does for it, and it shows how far that is. */
export function api(path, object, wait = {}) {
  const { signal, word } = wait, to = word ? path + (path.includes("?") ? "&" : "?") + "ask=" + word : path;
  return ask(to, object === undefined ? { signal } : { method: "POST", body: JSON.stringify(object), headers: { "Content-Type": "application/json" }, signal });
}
export const send = (path, blob, signal) => ask(path, { method: "POST", body: blob, headers: { "Content-Type": "application/octet-stream" }, signal });

/* ---- what parts show ---- */

const said = document.getElementById("said");
/* Told to screen readers; what is seen changes beside it. */
export function say(text) { said.textContent = text; }

export function note(text, title = "Not done. ") { return make("p", { className: "note", role: "alert" }, make("b", {}, title), text); }

/* How far work has come, as a bar, and how long the rest will take, where the server knows: { text, share, left }. */
export function share(p) {
  const percent = Math.floor(100 * p.share);
  return make("span", { className: "share" }, make("progress", { max: 1, value: p.share, "aria-label": "Done so far" }), make("span", { className: "small" }, ` ${percent}%${p.left ? `, about ${p.left.trim()} left` : ""}`));
}

/* What takes long: its text, which show() changes, the seconds so far, how far it is, and a button that stops it as end() does. */
export function waiting(text, stopped = () => {}) {
  const control = new AbortController(), began = performance.now(), what = make("span", {}, text), soFar = make("span", { className: "small", "aria-hidden": "true" }), far = make("span"), stop = make("button", { type: "button" }, "Stop");
  const word = [...crypto.getRandomValues(new Uint8Array(8))].map(b => b.toString(16).padStart(2, "0")).join("");
  stop.onclick = () => { control.abort(); stopped(); };
  const element = make("div", { className: "row waiting" }, what, far, soFar, stop);
  const timer = setInterval(async () => {
    if (!element.isConnected) { clearInterval(timer); return; }
    soFar.textContent = Math.round((performance.now() - began) / 1000) + " s";
    try {
      const got = await fetch("/api/asked" + query({ ask: word })), p = got.ok ? await got.json() : {};
      if (p.share !== undefined) far.replaceChildren(share(p), make("span", { className: "small" }, " " + p.text.split(":")[0]));
    } catch (e) { /* the request itself will say so */ }
  }, 1000);
  return { element, signal: control.signal, word, end: () => control.abort(), show: t => { what.textContent = t; } };
}

/* What may be as it is. */
export function remark(text, title = "Note. ") { return make("p", { className: "note calm", role: "status" }, make("b", {}, title), text); }

/* The command that does the same, with a button that copies it. */
export function command(text, label = "The same by command") {
  const button = make("button", { type: "button" }, "Copy"), code = make("code", {}, text);
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch (e) {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    say("The command is copied");
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  return make("div", { className: "command", role: "group", "aria-label": label }, code, button);
}

/* A field with its label above it. */
export function field(label, input, help) {
  return make("label", {}, label, input, help ? make("span", { className: "small" }, help) : null);
}

export function choice(values, chosen, onchange) {
  const e = make("select", {}, ...values.map(v => {
    const [value, text] = Array.isArray(v) ? v : [v, v];
    return make("option", { value, selected: value === chosen }, text);
  }));
  if (onchange) e.onchange = () => onchange(e.value);
  return e;
}

/* ---- parts ---- */

const tabs = new Map();
let shown = null;

/* open(panel, args): called each time the part is shown, args from the address (#NAME?key=value).
 * close(): when another is. */
export function tab(name, part) {
  tabs.set(name, part);
  if (here().name === name) show();
}

function here() {
  const [name, args] = location.hash.slice(1).split("?");
  return { name: name && name !== "main" ? name : "data", args: Object.fromEntries(new URLSearchParams(args || "")) };
}

export function go(name, args = {}) {
  const to = "#" + name + (Object.keys(args).length ? query(args) : "");
  if (location.hash === to) show();
  else location.hash = to;
}

function show() {
  const { name, args } = here(), panel = document.getElementById("tab-" + name);
  if (!panel) return;
  if (shown && shown !== name && tabs.get(shown) && tabs.get(shown).close) tabs.get(shown).close();
  for (const s of document.querySelectorAll("main > section")) s.hidden = s !== panel;
  for (const a of document.querySelectorAll("nav a")) {
    if (a.hash === "#" + (name === "recipe" ? "data" : name)) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  document.title = panel.getAttribute("aria-label") + " · vktrain";
  const other = shown !== null && shown !== name;
  shown = name;
  if (tabs.has(name)) tabs.get(name).open(panel, args);
  if (other) document.getElementById("main").focus();
}

addEventListener("hashchange", () => { if (location.hash !== "#main") show(); });
show();
