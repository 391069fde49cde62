/* Curves as SVG: lines over steps, with their numbers as text beside them. Values come thinned from
 * the server. */
import { make, number, svg } from "./ui.js";

const WIDTH = 640, HEIGHT = 300, LEFT = 62, RIGHT = 22, TOP = 12, BOTTOM = 30;

function ticks(low, high, room) {
  const want = (high - low) / Math.max(room, 1), e = 10 ** Math.floor(Math.log10(want)), m = want / e;
  const step = e * (m <= 1 ? 1 : m <= 2 ? 2 : m <= 5 ? 5 : 10), all = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step && all.length < 20; i++) all.push(+(i * step).toPrecision(12));
  return all;
}

const finite = v => v !== null && Number.isFinite(v);

/* A moving average as wide as a fiftieth of the points. */
function smooth(y) {
  const keep = 1 - 1 / Math.max(y.length / 50, 1);
  let sum = 0, weight = 0;
  return y.map(v => {
    if (!finite(v)) return v;
    sum = keep * sum + (1 - keep) * v;
    weight = keep * weight + 1 - keep;
    return sum / weight;
  });
}

/* "training: from 2.3 to 0.41, at step 600; valid: ..." */
function words(curve) {
  return curve.series.map(s => {
    const y = s.y.filter(finite), end = s.x[s.x.length - 1];
    return `${s.name}: ${y.length > 1 ? `from ${number(y[0])} to ` : ""}${number(y[y.length - 1])} at step ${end}, lowest ${number(Math.min(...y))}, highest ${number(Math.max(...y))}`;
  }).join("; ");
}

function draw(figure, curve, log) {
  const lines = curve.series.map((s, k) => ({ ...s, color: (s.color ?? k) % 8, raw: s.y.length > 60 && !s.plain }));
  const ok = v => finite(v) && (!log || v > 0), at = log ? Math.log10 : v => v;
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const s of lines) s.y.forEach((v, i) => {
    if (!ok(v)) return;
    x0 = Math.min(x0, s.x[i]); x1 = Math.max(x1, s.x[i]); y0 = Math.min(y0, at(v)); y1 = Math.max(y1, at(v));
  });
  const plot = svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${curve.title}. ${words(curve)}` });
  if (x0 > x1) { figure.append(plot); return; }
  if (x1 === x0) x0 -= 0.5, x1 += 0.5; /* a single point stands in the middle */
  const pad = y1 > y0 ? 0.04 * (y1 - y0) : Math.abs(y1) * 0.05 || 1;
  y0 -= pad; y1 += pad;
  const px = v => LEFT + (v - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT), py = v => HEIGHT - BOTTOM - (at(v) - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM);
  const label = (x, y, anchor, text) => plot.append(svg("text", { x, y, "text-anchor": anchor, "font-size": 12 }, text));
  const rule = (d, kind) => plot.append(svg("path", { class: kind, d, "stroke-width": 1 }));
  const ys = log ? ticks(y0, y1, 5).map(v => 10 ** v) : ticks(y0, y1, 6);
  for (const v of ys) { rule(`M${LEFT} ${py(v)}H${WIDTH - RIGHT}`, "grid"); label(LEFT - 6, py(v) + 4, "end", number(v)); }
  for (const v of ticks(x0, x1, 7)) if (Number.isInteger(v)) { rule(`M${px(v)} ${TOP}V${HEIGHT - BOTTOM}`, "grid"); label(px(v), HEIGHT - BOTTOM + 16, "middle", v >= 1e6 ? v / 1e6 + "M" : v >= 1e4 ? v / 1e3 + "k" : v); }
  rule(`M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`, "axis");
  for (const s of lines) {
    const path = (y, faint) => {
      let d = "", pen = false;
      y.forEach((v, i) => { if (ok(v)) d += (pen ? "L" : "M") + px(s.x[i]).toFixed(1) + " " + py(v).toFixed(1), pen = true; });
      plot.append(svg("path", { class: `s${s.color}${faint ? " faint" : ""}`, d, "stroke-width": faint ? 1 : 2 }));
    };
    if (s.raw) path(s.y, true);
    path(s.raw ? smooth(s.y) : s.y, false);
    if (s.y.length < 60) s.y.forEach((v, i) => { if (ok(v)) plot.append(svg("circle", { class: "f" + s.color, cx: px(s.x[i]), cy: py(v), r: 2.5 })); });
  }
  figure.append(plot);
  figure.append(make("ul", { className: "legend" }, ...lines.map(s => {
    const mark = svg("svg", { class: "mark", viewBox: "0 0 14 8", "aria-hidden": "true" }, svg("path", { class: "s" + s.color, d: "M0 4H14", "stroke-width": 3 }));
    return make("li", {}, mark, make("span", { className: "name" }, s.name), " ", number(s.y.filter(finite).pop()));
  })));
}

/* A figure that can be drawn again with other values: { element, show(curve) }. */
export function figure(title) {
  const inner = make("div"), button = make("button", { type: "button", "aria-pressed": "false" }, "log");
  let last = null, log = false;
  const again = () => { inner.replaceChildren(); if (last) draw(inner, last, log); };
  button.setAttribute("aria-label", "log scale: " + title);
  button.onclick = () => { log = !log; button.setAttribute("aria-pressed", String(log)); again(); };
  const element = make("figure", {}, make("figcaption", {}, title, " ", button), inner);
  return { element, show(curve) { last = curve; again(); } };
}

/* Figures of a list of curves, which come and go by their keys: { element, show(curves) }. */
export function figures() {
  const element = make("div", { className: "plots" }), all = new Map();
  return { element, show(curves) {
    for (const c of curves) {
      if (!all.has(c.key)) { const f = figure(c.title); all.set(c.key, f); element.append(f.element); }
      all.get(c.key).show(c);
    }
  } };
}

/* The rows of a CSV text. */
export function rowsOf(text) {
  const rows = [[]];
  let cell = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) { if (c === '"' && text[i + 1] === '"') cell += c, i++; else if (c === '"') quoted = false; else cell += c; }
    else if (c === '"') quoted = true;
    else if (c === ",") rows[rows.length - 1].push(cell), cell = "";
    else if (c === "\n") { rows[rows.length - 1].push(cell.replace(/\r$/, "")); cell = ""; rows.push([]); }
    else cell += c;
  }
  if (cell || rows[rows.length - 1].length) rows[rows.length - 1].push(cell);
  return rows.filter(r => r.length);
}
