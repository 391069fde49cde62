/* Files, folders and zips that are dropped on the page or chosen: copied into a folder within the
 * roots, file by file. A zip is unpacked by the browser, so that the server reads none. */
import { make, send, api, query, say, note, count, bytes, plain, waiting } from "./ui.js";

const MOST_FILES = 20000, MOST_BYTES = 256 * 2 ** 20, MOST_ALL = 4 * 2 ** 30;

/* ---- what was dropped: [{ name: "folder/file", blob() }] ---- */

const entries = reader => new Promise((done, fail) => reader.readEntries(done, fail));
const stopped = (signal, to) => { if (signal.aborted) throw new Error("It was stopped." + (to ? " What was copied so far is in " + plain(to) + "." : "")); };
async function walk(entry, above, out, signal) {
  stopped(signal);
  if (out.length > MOST_FILES) throw new Error("more than " + count(MOST_FILES) + " files");
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    out.push({ name: above + entry.name, size: file.size, blob: async () => file });
    return;
  }
  const reader = entry.createReader();
  for (let got = await entries(reader); got.length; got = await entries(reader))
    for (const e of got) await walk(e, above + entry.name + "/", out, signal);
}

/* The members of a zip, by its directory at the end: stored or deflated ones. */
async function unzip(file, signal) {
  const tail = new DataView(await file.slice(Math.max(0, file.size - 66000)).arrayBuffer());
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error(file.name + " is no zip, or its end is missing");
  const n = tail.getUint16(end + 10, true), size = tail.getUint32(end + 12, true), from = tail.getUint32(end + 16, true);
  if (n === 0xffff || from === 0xffffffff) throw new Error(file.name + " is a zip of more than 65,535 files or 4 GiB: unpack it first");
  if (from + size > file.size) throw new Error(file.name + " is damaged");
  const view = new DataView(await file.slice(from, from + size).arrayBuffer()), out = [];
  stopped(signal);
  for (let i = 0, at = 0; i < n; i++) {
    if (at + 46 > view.byteLength || view.getUint32(at, true) !== 0x02014b50) throw new Error(file.name + " is damaged");
    const method = view.getUint16(at + 10, true), packed = view.getUint32(at + 20, true), plain = view.getUint32(at + 24, true);
    const k = view.getUint16(at + 28, true), more = view.getUint16(at + 30, true) + view.getUint16(at + 32, true), local = view.getUint32(at + 42, true);
    if (at + 46 + k > view.byteLength) throw new Error(file.name + " is damaged");
    const name = new TextDecoder().decode(new Uint8Array(view.buffer, at + 46, k));
    at += 46 + k + more;
    if (name.endsWith("/") || name.startsWith("__MACOSX/")) continue;
    out.push({ name, size: plain, blob: () => member(file, local, packed, plain, method, name, signal) });
  }
  return out;
}

async function member(file, local, packed, plain, method, name, signal) {
  const head = new DataView(await file.slice(local, local + 30).arrayBuffer());
  const data = file.slice(local + 30 + head.getUint16(26, true) + head.getUint16(28, true)).slice(0, packed);
  if (method === 0) return data;
  if (method !== 8) throw new Error(name + " is packed in a way that browsers do not know");
  const reader = data.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader(), parts = [];
  for (let n = 0; ;) { /* no more than its directory says */
    const { done, value } = await reader.read();
    if (done) break;
    stopped(signal);
    n += value.length;
    if (n > plain) throw new Error(name + " is larger than the zip says");
    parts.push(value);
  }
  return new Blob(parts);
}

/* ---- copying ---- */

/* A name as the API takes it. */
const text = name => name.replaceAll("%", "%25");
const stem = name => name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_ -]/gu, "_").replace(/^[ .]+|[ .]+$/g, "") || "data";

async function fresh(dir, name) {
  for (let i = 1; i < 100; i++) {
    try {
      return (await api("/api/folder", { path: dir + "/" + text(i > 1 ? name + "-" + i : name) })).path;
    } catch (e) {
      if (e.status !== 409) throw e;
    }
  }
  throw new Error("there are many folders of the name " + name);
}

/* Copies all; gives the arguments of the part Data that show it. */
async function copy(dir, files, name, tell, signal) {
  const all = files.reduce((n, f) => n + f.size, 0), one = files.length === 1 && !files[0].name.includes("/");
  if (!files.length) throw new Error("there are no files in it");
  if (files.length > MOST_FILES) throw new Error("more than " + count(MOST_FILES) + " files: copy them into the folder yourself");
  if (all > MOST_ALL) throw new Error(bytes(all) + " are much: copy them into the folder yourself");
  const big = files.find(f => f.size > MOST_BYTES);
  if (big) throw new Error(big.name + " has " + bytes(big.size) + ": copy it into the folder yourself");
  /* all in one folder: its name is enough */
  const top = files[0].name.split("/")[0] + "/", same = files.every(f => f.name.startsWith(top) && f.name.length > top.length);
  stopped(signal);
  const to = one ? dir : await fresh(dir, same ? stem(top.slice(0, -1)) : name);
  let last = null, i = 0;
  for (const f of files) {
    stopped(signal, to);
    if (i++ % 20 === 0) tell(`Copying ${count(i)} of ${count(files.length)} files …`);
    const rest = same && !one ? f.name.slice(top.length) : f.name;
    if (rest.split("/").some(p => p.startsWith("."))) continue; /* .DS_Store and the like */
    try { last = await send("/api/upload" + query({ to, name: text(rest) }), await f.blob(), signal); } catch (e) { stopped(signal, to); throw e; }
  }
  stopped(signal, to);
  return { path: one ? last.path : to };
}

async function taken(list, entriesOf, signal) {
  const out = [];
  if (entriesOf.length) for (const e of entriesOf) await walk(e, "", out, signal);
  else for (const f of list) out.push({ name: f.webkitRelativePath || f.name, size: f.size, blob: async () => f });
  if (out.length !== 1 || !/\.zip$/i.test(out[0].name)) return { files: out, name: "dropped" };
  const zip = await out[0].blob();
  return { files: await unzip(zip, signal), name: stem(zip.name) };
}

/* The place to drop files on; done(args): they are there. */
export function dropZone(dir, done) {
  const file = make("input", { type: "file", multiple: true }), folder = make("input", { type: "file" }), out = make("div", { role: "status" });
  folder.webkitdirectory = true;
  async function take(list, entriesOf = []) {
    const wait = waiting("Reading …");
    out.replaceChildren(wait.element);
    try {
      const got = await taken([...list], entriesOf, wait.signal);
      const at = await copy(dir, got.files, got.name, wait.show, wait.signal);
      say("Copied");
      done(at);
    } catch (e) {
      out.replaceChildren(note(e.message, "Not copied. "));
    }
  }
  file.onchange = () => take(file.files);
  folder.onchange = () => take(folder.files);
  const zone = make("div", { className: "drop" }, make("p", {}, "Drop a file, a folder or a zip here: it is copied into this folder."),
    make("div", { className: "fields" }, make("label", {}, "Files or a zip", file), make("label", {}, "A folder", folder)), out);
  zone.ondragover = e => { e.preventDefault(); zone.classList.add("over"); };
  zone.ondragleave = () => zone.classList.remove("over");
  zone.ondrop = e => {
    e.preventDefault();
    zone.classList.remove("over");
    const items = [...e.dataTransfer.items].map(i => i.webkitGetAsEntry && i.webkitGetAsEntry()).filter(Boolean);
    take(e.dataTransfer.files, items);
  };
  return zone;
}
