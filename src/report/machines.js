/* What a page of many machines does when asked: shows some of the devices, kept in the page's address, and compares
 * two of them. Without this script all devices stand in all charts. */
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent), box = document.getElementById('pick'), devices = data.devices;
const make = (tag, to, text) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; to.append(e); return e; };
const wanted = new URLSearchParams(location.hash.slice(1)), selects = {};
const kinds = [['vendor', 'vendor'], ['type', 'class'], ['system', 'system'], ['driver', 'driver'], ['precision', 'precision']];

function choice(to, name, label, texts, values = texts) {
  const s = make('select', make('label', to, label));
  texts.forEach((t, i) => { make('option', s, t).value = values[i]; });
  if (wanted.has(name)) s.value = wanted.get(name);
  if (s.selectedIndex < 0) s.selectedIndex = 0;
  s.addEventListener('change', show);
  return selects[name] = s;
}

/* In the address stands what differs from all. */
function keep() {
  const q = new URLSearchParams();
  for (const name in selects) if (selects[name].value) q.set(name, selects[name].value);
  history.replaceState(null, '', q.size ? '#' + q : location.pathname + location.search);
}

function show() {
  const is = (name, v) => !selects[name] || !selects[name].value || selects[name].value == v;
  const seen = devices.map(d => kinds.slice(0, 4).every(([k]) => is(k, d[k])));
  let n = 0;
  for (const f of document.querySelectorAll('main > .charts .bars, details .bars')) {
    let left = 0;
    for (const li of f.querySelectorAll('li')) { li.hidden = !seen[li.dataset.m]; left += !li.hidden; }
    f.hidden = !left || !(is('precision', f.dataset.p) || !f.dataset.p);
    n += !f.hidden;
  }
  told.textContent = `${seen.filter(Boolean).length} of ${devices.length} devices, ${n} charts`;
  compare();
  keep();
}

/* How many times faster the second device is, by row: the largest difference first. */
function compare() {
  beside.replaceChildren();
  if (!selects.a || !selects.a.value || !selects.b.value) return;
  const a = +selects.a.value, b = +selects.b.value, rows = [];
  for (const r of data.rows) {
    const of = d => (r.values.find(v => v[0] == d) || [])[1], x = of(a), y = of(b);
    if (x > 0 && y > 0) rows.push({ r, x, y, times: r.higher ? y / x : x / y });
  }
  make('p', beside, rows.length ? `${devices[b].name} beside ${devices[a].name}: ${rows.length} rows that both have. Above 1 the second is faster.`
    : 'The two have no row in common.');
  if (!rows.length) return;
  rows.sort((p, q) => q.times - p.times);
  const scroll = make('div', beside), table = make('table', scroll);
  scroll.className = 'scroll'; scroll.tabIndex = 0; scroll.setAttribute('role', 'region'); scroll.setAttribute('aria-label', 'comparison of two devices');
  const head = make('tr', make('thead', table)), body = make('tbody', table);
  for (const t of ['row', 'unit', 'first', 'second', 'times as fast']) make('th', head, t).scope = 'col';
  for (const { r, x, y, times } of rows) {
    const tr = make('tr', body), cell = (t, n) => { const td = make('td', tr, t); if (n) td.className = 'n'; };
    cell(r.row); cell(r.unit); cell(String(+x.toPrecision(4)), 1); cell(String(+y.toPrecision(4)), 1); cell(times.toFixed(2) + ' x', 1);
  }
}

const some = make('div', box), told = make('p', box);
some.className = 'pick';
told.setAttribute('role', 'status');
for (const [name, label] of kinds) {
  const all = [...new Set(name == 'precision' ? [...document.querySelectorAll('.bars')].map(f => f.dataset.p).filter(Boolean) : devices.map(d => d[name]))].sort();
  if (all.length > 1) choice(some, name, label, ['all', ...all], ['', ...all]);
}
const beside = document.createElement('div');
if (devices.length > 1) {
  const two = make('div', box), names = ['none', ...devices.map(d => d.name)], at = ['', ...devices.map((_, i) => String(i))];
  two.className = 'pick';
  choice(two, 'a', 'compare', names, at);
  choice(two, 'b', 'with', names, at);
}
box.append(beside);
show();
})();
