/* What a page's plots do when asked: show values, zoom, switch to a log scale, smooth. Without this script they stand
 * as they were drawn. Each figure has its drawing (plot_svg.c) and its values (plot_json.c); what changes is drawn
 * again into the groups t (ticks) and m (marks) of the drawing that is visible. */
'use strict';
(() => {
const plots = [], keys = 'drag or + − to zoom, double click or 0 for the whole, ← → for values';
const make = (tag, to, text) => { const e = document.createElement(tag); if (text) e.textContent = text; to.append(e); return e; };
const num = v => { const m = Math.abs(v);
  return m >= 1e6 && m < 1e15 && v % 1e5 == 0 ? v / 1e6 + 'M' : m >= 1e4 && m < 1e6 && v % 100 == 0 ? v / 1e3 + 'k' : String(+v.toPrecision(4)); };
const place = (a, v) => a.from + (a.to - a.from) * (a.log ? Math.log(v / a.low) / Math.log(a.high / a.low) : (v - a.low) / (a.high - a.low));
const value = (a, at, u = (at - a.from) / (a.to - a.from)) => a.log ? a.low * (a.high / a.low) ** u : a.low + u * (a.high - a.low);
const shown = (v, log) => v !== null && isFinite(v) && (!log || v > 0);

/* As plot.c places them. */
function ticks(a, room) {
  const out = [], length = Math.abs(a.to - a.from), decades = Math.log10(a.high / a.low);
  const even = () => { const want = (a.high - a.low) * room / length, e = 10 ** Math.floor(Math.log10(want)), m = want / e,
      step = e * (m <= 1.0001 ? 1 : m <= 2.0001 ? 2 : m <= 5.0001 ? 5 : 10), all = [];
    for (let i = Math.ceil(a.low / step - 1e-9); i * step <= a.high + 1e-9 * step && all.length < 64; i++) all.push(+(i * step).toPrecision(12));
    return all; };
  if (!a.log) return even();
  const every = Math.max(Math.ceil(decades * room / length), 1);
  for (let e = Math.floor(Math.log10(a.low)); e <= Math.ceil(Math.log10(a.high)); e++)
    for (const k of [1, 2, 5]) { const v = +(k + 'e' + e);
      if ((k == 1 ? e % every == 0 : decades < 2 || length / decades > 3.3 * room) && v >= a.low * .9999 && v <= a.high * 1.0001) out.push(v); }
  return out.length < 3 && decades < 2 ? even() : out;
}

/* The moving average that is as wide as `share` of the run, of points that may be unevenly far apart. */
function smooth(x, y, share) {
  let sum = 0, weight = 0; const by = Math.min(...x.slice(1).map((v, i) => v - x[i]).filter(d => d > 0)),
    alpha = 1 / Math.max((x[x.length - 1] - x[0]) / by * share, 1);
  return y.map((v, i) => { if (v !== null) { const keep = (1 - alpha) ** Math.max(i ? (x[i] - x[i - 1]) / by : 1, 1);
      sum = keep * sum + (1 - keep) * v; weight = keep * weight + 1 - keep; }
    return weight > 0 ? sum / weight : null; });
}

/* Range of y over what is seen of x, with room around it. */
function fit(p, x) {
  let low = Infinity, high = -Infinity;
  for (const s of p.d.s) for (const v of [s.y, s.z || []]) v.forEach((y, i) => {
    if (shown(y, p.ly) && (p.d.k || s.x[i] >= x.low && s.x[i] <= x.high)) { low = Math.min(low, y); high = Math.max(high, y); } });
  if (low > high) return p.ly ? [1, 10] : [0, 1];
  const bars = p.d.s.some(s => s.m == 'h');
  if (p.ly) { const pad = Math.max((high / low) ** .04, 1.02); return [low / pad, high * pad]; }
  if (bars) low = Math.min(low, 0);
  const pad = high > low ? .04 * (high - low) : Math.abs(high) * .05 || 1;
  return [bars && low == 0 ? 0 : low - pad, high + pad];
}

/* Values are written once: what is not in a confusion matrix has no name in the page. */
for (const e of new Set([...document.querySelectorAll('td.own')].map(e => e.closest('table')))) e.addEventListener('pointerover', o => {
  const c = o.target.closest('td'); if (c && !c.title) c.title = `none of class ${c.parentNode.cells[0].textContent} is called ${e.tHead.rows[0].cells[c.cellIndex].textContent}`; });

const visible = p => p.svgs.find(s => s.parentNode.offsetParent) || p.svgs[0];
function axes(p, svg) {
  const b = svg.dataset.box.split(' ').map(Number), a = svg.dataset.axes.split(' ').map(Number);
  const x = { low: a[0], high: a[1], from: b[0], to: b[2], log: !!p.d.lx }, y = { low: a[2], high: a[3], from: b[1], to: b[3], log: !!p.ly };
  if (p.zoom) [x.low, x.high] = p.zoom;
  if (p.changed) [y.low, y.high] = fit(p, x);
  return [x, y];
}

function draw(p) {
  const svg = visible(p), [x, y] = axes(p, svg), ns = svg.namespaceURI, t = svg.querySelector('.t'), m = svg.querySelector('.m');
  const put = (to, tag, at, text) => { const e = document.createElementNS(ns, tag); for (const k in at) e.setAttribute(k, at[k]);
    if (text) e.textContent = text; to.append(e); return e; };
  const label = (to, x, y, anchor, text) => put(to, 'text', { x, y, 'font-size': 11, 'text-anchor': anchor }, text);
  const rule = (to, d, c) => put(to, 'path', { class: c, d, 'stroke-width': 1 });
  t.textContent = m.textContent = '';
  for (const v of ticks(y, 30)) { const at = place(y, v); rule(t, `M${x.from} ${at}H${x.to}`, 'grid'); label(t, x.from - 7, at + 4, 'end', num(v)); }
  if (p.d.k) p.d.k.forEach((v, i) => label(t, place(x, i), y.from + 16, 'middle', v));
  else for (const v of ticks(x, 74)) { const at = place(x, v); rule(t, `M${at} ${y.from}V${y.to}`, 'grid'); label(t, at, y.from + 16, 'middle', num(v)); }
  const id = 'c' + plots.indexOf(p) + p.svgs.indexOf(svg), clip = put(m, 'clipPath', { id });
  put(clip, 'rect', { x: x.from, y: y.to - 2, width: x.to - x.from, height: y.from - y.to + 2 });
  const area = put(m, 'g', { 'clip-path': `url(#${id})` }), behind = s => s.f || s.c < 0 || s.m == 'b';
  for (const s of [...p.d.s].sort((a, b) => !behind(a) - !behind(b))) {
    const faint = s.f || s.m == 'b' ? ' faint' : '', stroke = (s.c < 0 ? 'axis' : 's' + s.c) + faint, fill = (s.c < 0 ? 'axis' : 'f' + s.c) + faint;
    const ok = i => shown(s.y[i], p.ly) && shown(s.x[i], p.d.lx), at = (v, i) => `${place(x, s.x[i]).toFixed(1)} ${place(y, v).toFixed(1)}`;
    if (s.m == 'l') { let d = ''; s.y.forEach((v, i) => { if (ok(i)) d += (i && ok(i - 1) ? 'L' : 'M') + at(v, i); });
      put(area, 'path', { class: stroke, d, 'stroke-width': s.f || s.c < 0 ? 1 : 1.8 }); }
    else if (s.m == 'b') { const all = s.y.map((v, i) => i).filter(ok);
      put(area, 'path', { class: fill, d: 'M' + [...all.map(i => at(s.y[i], i)), ...all.reverse().map(i => at(s.z[i], i))].join('L') + 'z' }); }
    else if (s.m == 'h') s.y.forEach((v, i) => { const l = place(x, s.x[i]), r = place(x, s.x[i + 1]), top = place(y, v);
      put(area, 'path', { class: fill, d: `M${l + .5} ${y.from}V${top}H${r - .5}V${y.from}z` }); });
    else s.y.forEach((v, i) => { if (!ok(i)) return; const cx = place(x, s.x[i]), cy = place(y, v);
      const e = s.m == 'x' ? put(area, 'path', { class: stroke, d: `M${cx - 4} ${cy - 4}l8 8m0 -8l-8 8`, 'stroke-width': 2 }) : put(area, 'circle', { class: fill, cx, cy, r: 3.5 });
      if (s.l) put(e, 'title', {}, s.l[i]); });
  }
  p.d.r.forEach(([v, vertical, text], i) => { const a = vertical ? x : y, at = place(a, v); if (!(v >= a.low && v <= a.high)) return;
    const right = at < (x.from + x.to) / 2;
    rule(m, vertical ? `M${at} ${y.from}V${y.to}` : `M${x.from} ${at}H${x.to}`, 'axis');
    if (vertical) label(m, at + (right ? 4 : -4), y.to + 11 + 13 * (i % 3), right ? 'start' : 'end', text); else label(m, x.to - 4, at - 4, 'end', text); });
  for (const e of svg.querySelectorAll('text[transform]')) e.textContent = p.d.y + (p.ly ? ' (log scale)' : '');
  if (p.whole) p.whole.disabled = !p.zoom;
}

/* Zooming along the steps moves all plots that have them. */
function zoom(p, range) {
  for (const q of plots) if (q == p || q.group == p.group && q.d.x == p.d.x && p.d.x == 'step') {
    q.zoom = range; q.changed = range || q.ly != q.d.ly; hide(q); draw(q); }
}

function hide(p) { p.tip.hidden = true; p.svgs.forEach(s => s.querySelectorAll('.guide').forEach(g => g.remove())); p.at = null; }

/* Values where x is `at`: of lines the nearest ones, of dots the nearest dot, of bars the one that holds it. */
function tell(p, at, py) {
  const svg = visible(p), [x, y] = axes(p, svg), rows = []; let cx = null, near = 1e9;
  for (const s of p.d.s) {
    if (s.m == 'h') { const i = s.y.findIndex((v, i) => at >= s.x[i] && at < s.x[i + 1]);
      if (i >= 0) { cx = (s.x[i] + s.x[i + 1]) / 2; rows.push([s, `${num(s.x[i])} to ${num(s.x[i + 1])}`, num(s.y[i])]); } continue; }
    if (p.dots && 'lb'.includes(s.m) || s.c < 0) continue;
    let best = -1, d = 1e9;
    s.x.forEach((v, i) => { if (!shown(s.y[i], p.ly) || i >= s.y.length) return;
      const e = Math.hypot(place(x, v) - place(x, at), p.dots && py !== undefined ? place(y, s.y[i]) - py : 0); if (e < d) { d = e; best = i; } });
    if (best < 0 || (p.dots ? d >= near : d > 40)) continue;
    if (p.dots) rows.length = 0;
    if (d < near) { near = d; cx = s.x[best]; }
    rows.push([s, s.l ? s.l[best] : s.n || p.d.y, num(s.y[best]) + (s.z ? ' to ' + num(s.z[best]) : '')]);
  }
  hide(p);
  if (!rows.length) return;
  p.at = cx; p.tip.hidden = false; p.tip.textContent = '';
  make('b', p.tip, p.d.k ? p.d.k[cx] : `${p.d.x} ${num(cx)}`);
  for (const [s, name, v] of rows.slice(0, 12)) { const r = make('div', p.tip), n = make('span', r), i = make('i', n); i.style.background = `var(--s${s.c})`; n.append(name); make('span', r, v); }
  const g = document.createElementNS(svg.namespaceURI, 'path'), px = place(x, cx);
  g.setAttribute('class', 'guide'); g.setAttribute('d', `M${px} ${y.from}V${y.to}`); svg.append(g);
  const left = px > (x.from + x.to) / 2; p.tip.style.left = left ? '4.6rem' : 'auto'; p.tip.style.right = left ? 'auto' : '1.4rem';
}

function listen(p, svg) {
  let from = null, box = null;
  const where = e => { const r = svg.getBoundingClientRect(), k = svg.viewBox.baseVal.width / r.width; return [(e.clientX - r.left) * k, (e.clientY - r.top) * k]; };
  const inside = (v, a) => Math.min(Math.max(v, a.from), a.to);
  svg.tabIndex = 0;
  svg.addEventListener('pointerdown', e => { const [x] = axes(p, svg), [px] = where(e); if (!p.d.k && !e.button && px >= x.from - 4) { from = inside(px, x); svg.setPointerCapture(e.pointerId); } });
  svg.addEventListener('pointermove', e => { const [px, py] = where(e), [x, y] = axes(p, svg);
    if (from !== null && Math.abs(px - from) > 4) { hide(p); box = box || svg.appendChild(document.createElementNS(svg.namespaceURI, 'rect'));
      const to = inside(px, x); for (const [k, v] of Object.entries({ class: 'drag', x: Math.min(from, to), width: Math.abs(to - from), y: y.to, height: y.from - y.to })) box.setAttribute(k, v); }
    else if (px >= x.from - 4 && px <= x.to + 4) tell(p, value(x, px), py); else hide(p); });
  const end = e => { const [x] = axes(p, svg), to = inside(where(e)[0], x); if (box) box.remove();
    if (box && e.type == 'pointerup' && Math.abs(to - from) > 6) zoom(p, [value(x, Math.min(from, to)), value(x, Math.max(from, to))]); from = box = null; };
  svg.addEventListener('pointerup', end); svg.addEventListener('pointercancel', end);
  svg.addEventListener('pointerleave', () => { if (from === null) hide(p); });
  svg.addEventListener('blur', () => hide(p));
  svg.addEventListener('dblclick', () => zoom(p, null));
  svg.addEventListener('keydown', e => { const [x] = axes(p, svg), at = place(x, p.at === null ? value(x, (x.from + x.to) / 2) : p.at), k = e.key, way = k == 'ArrowRight' ? 1 : -1;
    if (k == 'ArrowLeft' || k == 'ArrowRight') { const was = p.at; for (let d = p.at === null ? 0 : 1, px; px = at + way * d, px >= x.from && px <= x.to && (p.at === was || d == 0); d += 2) { tell(p, value(x, px)); if (!d) break; } }
    else if ('+=-'.includes(k) && !p.d.k) { const f = k == '-' ? 1 : .25, h = (x.to - x.from) * f, lo = k == '-' ? inside(at - h, { from: x.from - h / 2, to: x.to }) : at - h;
      const whole = svg.dataset.axes.split(' ').map(Number), a = Math.max(value(x, k == '-' ? x.from - (x.to - x.from) / 2 : Math.max(lo, x.from)), whole[0]), b = Math.min(value(x, k == '-' ? x.to + (x.to - x.from) / 2 : Math.min(at + h, x.to)), whole[1]);
      zoom(p, a <= whole[0] && b >= whole[1] ? null : [a, b]); }
    else if (k == '0' || k == 'Escape') { zoom(p, null); hide(p); }
    else return;
    e.preventDefault(); });
}

for (const figure of document.querySelectorAll('figure')) {
  const p = { d: JSON.parse(figure.querySelector('script').textContent), svgs: [...figure.querySelectorAll('svg')], group: figure.parentNode, zoom: null, changed: false, at: null };
  for (const s of p.d.s) if ('b' in s) { const n = s.y.length + (s.m == 'h'), first = s.x[0]; s.x = Array.from({ length: n }, (_, i) => first + i * s.b); }
    else if (s.d) { let at = 0; s.x = s.x.map(v => at += v); }
  p.ly = p.d.ly; p.dots = p.d.s.some(s => s.m == 'd' || s.m == 'x');
  p.tip = make('div', figure); p.tip.className = 'tip'; p.tip.hidden = true; p.tip.setAttribute('role', 'status');
  const tools = make('div', figure), title = p.svgs[0].querySelector('title').textContent; tools.className = 'tools';
  if (p.d.s.some(s => s.m != 'h') && !p.d.s.some(s => s.m == 'h') && p.d.s.some(s => s.y.some(v => v > 0))) {
    const log = make('button', tools, 'log y'); log.type = 'button'; log.setAttribute('aria-pressed', !!p.ly); log.setAttribute('aria-label', 'log y: ' + title);
    log.onclick = () => { p.ly = p.ly ? 0 : 1; p.changed = true; log.setAttribute('aria-pressed', !!p.ly); hide(p); draw(p); }; }
  if (!p.d.k) { p.whole = make('button', tools, 'whole'); p.whole.type = 'button'; p.whole.disabled = true; p.whole.setAttribute('aria-label', 'whole: ' + title); p.whole.onclick = () => zoom(p, null); }
  p.svgs.forEach(s => listen(p, s));
  plots.push(p);
}

for (const group of document.querySelectorAll('.plots')) {
  const of = plots.filter(p => p.group == group), smoothed = of.filter(p => p.d.s.some(s => s.s)), tools = document.createElement('div');
  if (!of.length) continue;
  tools.className = 'tools'; group.prepend(tools);
  if (smoothed.length) { const label = make('label', tools, 'smoothing '), range = make('input', label), says = make('output', label, ' 2% of the run');
    Object.assign(range, { type: 'range', min: 0, max: 20, value: 2, step: .5 });
    range.oninput = () => { says.textContent = ` ${range.value}% of the run`;
      for (const p of smoothed) { p.d.s.forEach((s, i) => { if (!s.s || !p.d.s[i - 1]) return; s.was = s.was || s.y; s.wasx = s.wasx || s.x; const raw = p.d.s[i - 1];
          if (+range.value == 2) { s.x = s.wasx; s.y = s.was; } else { s.x = raw.x; s.y = smooth(raw.x, raw.y, range.value / 100); } });
        hide(p); draw(p); } }; }
  make('span', tools, keys);
}
const isWide = () => innerWidth > 520 && (innerWidth < 680 || innerWidth > 880); /* page.css */
let wide = isWide();
addEventListener('resize', () => { if (wide != isWide()) { wide = !wide; for (const p of plots) if (p.changed || p.zoom) draw(p); } });
})();
