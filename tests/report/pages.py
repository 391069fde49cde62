"""Pages in a browser: their layout and looks are those of tests/golden/pages, at three widths, light and dark; nothing stands outside, nothing is shrunk; each switch
works by keyboard; 100 runs load in time; and axe finds nothing, where it is (VKT_AXE=axe.min.js, from npm's axe-core).  usage: pages.py PROGRAM [--update]
Letters are those of src/formats/font on every machine. Golden are boxes of elements (a tolerance for other versions of the browser) and pictures a twelfth as large."""
import base64, glob, json, os, pathlib, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import browser, golden_page, planted_pages

root = pathlib.Path(__file__).resolve().parents[2]
golden, program, update = root / "tests/golden/pages", os.path.abspath(sys.argv[1]), "--update" in sys.argv
WIDTHS, LIMIT_MS = (1280, 768, 390), 2000
bad = []


def say(ok, what):
    if not ok: bad.append(what)
    return ok


def report(*arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode: sys.exit(f"pages: FAILED: {' '.join(arguments)}: {done.stderr}")


BOXES = """[...document.querySelectorAll('h1,h2,.facts div,.note,figure,.scroll,details,main>p,main>ul')].map(e => { const r = e.getBoundingClientRect();
return [e.tagName.toLowerCase() + (e.className ? '.' + e.className : ''), r.x, r.y + scrollY, r.width, r.height].map(v => typeof v == 'number' ? Math.round(v) : v); })"""
# What is wrong with a layout, whatever the golden one is.
SOUND = """(() => { const bad = [], w = innerWidth;
if (document.documentElement.scrollWidth > w) bad.push('the page is wider than its window');
for (const f of document.querySelectorAll('figure.bars')) { const box = f.getBoundingClientRect(), title = f.querySelector('figcaption').textContent;
  for (const e of f.querySelectorAll('.who,.track,.value,.ticks span')) { const r = e.getBoundingClientRect();
    if (r.width && (r.left < box.left - 2 || r.right > box.right + 2 || e.scrollWidth > e.clientWidth + 2 && !e.matches('.ticks span'))) bad.push(title + ": '" + e.textContent + "' stands outside"); } }
for (const f of document.querySelectorAll('figure:not(.bars)')) { const seen = [...f.querySelectorAll('svg')].filter(s => s.parentNode.offsetParent), title = f.querySelector('title').textContent;
  if (seen.length != 1) { bad.push(title + ': not one drawing is shown'); continue; }
  const box = seen[0].getBoundingClientRect(), scale = box.width / seen[0].viewBox.baseVal.width;
  if (scale < .84) bad.push(title + ': drawn ' + scale.toFixed(2) + ' times as large');
  for (const t of seen[0].querySelectorAll('text')) { const r = t.getBoundingClientRect();
    if (r.left < box.left - 2 || r.right > box.right + 4 || r.top < box.top - 2 || r.bottom > box.bottom + 2) bad.push(title + ": '" + t.textContent + "' stands outside"); } }
for (const e of document.querySelectorAll('h1,h2,p,li,dd,.note')) if (e.scrollWidth > e.clientWidth + 2) bad.push('cut: ' + e.textContent.slice(0, 60));
return bad; })()"""


def call(function, *arguments):
    return golden_page.call(b, function, *arguments)


def check_boxes(name, width, boxes, known):
    key = f"{name}-{width}"
    if update: return known.__setitem__(key, boxes)
    want = known.get(key, [])
    if not say([x[0] for x in boxes] == [x[0] for x in want], f"{key}: other elements than in boxes.json: {len(boxes)}, not {len(want)}"): return
    for got, old in zip(boxes, want):
        room = 6 + .02 * old[2]  # what other letters and buttons of a browser's version add up to
        if not say(all(abs(g - o) <= r for g, o, r in zip(got[1:], old[1:], (4, room, 6, 6 + .04 * old[4]))), f"{key}: {got[0]} is at x, y, w, h {got[1:]}, was at {old[1:]}"): return


def check_picture(key, full):
    differs = golden_page.picture_differs(b, golden / f"{key}.png", full, update)
    say(not differs, differs)


def check_page(name, path, known):
    for width in WIDTHS:
        for dark in (False, True):
            b.open(path, width, dark=dark)
            say(b.run(golden_page.PIN), f"{name}: the letters were not taken")
            if not dark:
                check_boxes(name, width, b.run(BOXES), known)
                for what in b.run(SOUND): say(False, f"{name} at {width} pixels: {what}")
            check_picture(f"{name}-{width}-{'dark' if dark else 'light'}", b.picture())
        say(not b.complaints(), f"{name}: the browser complains: {b.complaints()}")


def check_switches(path):
    for width in WIDTHS:
        b.open(path, width)
        b.run((root / "tests/report/page_checks.js").read_text())
        held = b.run("document.getElementById('out').textContent")
        say(held == "all held" and not b.complaints(), f"the page's script at {width} pixels: {held}; {b.complaints()}")


def check_keyboard(path):
    """Tab reaches every switch, in a page of a person who has no pointer, and each does what it says."""
    b.open(path, 1280)
    focused = "document.activeElement && document.activeElement != document.body ? (window.at = document.activeElement, all.indexOf(at)) : -1"
    n = b.run("window.all = [...document.querySelectorAll('button:not(:disabled),input,svg.plot,summary,.scroll')].filter(e => e.getClientRects().length), all.length")
    seen = set()
    for _ in range(n + 5):
        b.key("Tab")
        at = b.run(focused)
        if at in seen and at >= 0: break
        seen.add(at)
        if at < 0: continue
        kind = b.run("at.tagName")
        if kind == "BUTTON":
            was = b.run("at.getAttribute('aria-pressed')")
            b.key(" ", " ")
            say(b.run("at.getAttribute('aria-pressed')") != was, "the space bar does not press " + str(b.run("at.getAttribute('aria-label')")))
            b.key(" ", " ")
        if kind == "svg":
            b.key("ArrowRight")
            say(b.run("!at.closest('figure').querySelector('.tip').hidden"), "an arrow shows no value in " + str(b.run("at.querySelector('title').textContent")))
        if kind == "INPUT":
            b.key("ArrowRight")
            say(b.run("+at.value > 2 && /2.5%/.test(at.parentNode.textContent)"), "an arrow does not move the smoothing")
        if kind == "SUMMARY":
            b.key("Enter", "\r")
            say(b.run("at.parentNode.open"), "Enter does not open " + str(b.run("at.textContent")))
    missed = [i for i in range(n) if i not in seen]
    say(not missed, f"Tab does not reach {len(missed)} of {n} switches: " + str([b.run(f"all[{i}].outerHTML.slice(0, 80)") for i in missed[:3]]))
    say(n > 10, "a page of a run has more switches")


def check_large(path):
    """A page of 40 classes and all curves is sound, and each cell of its matrix is named where the pointer is."""
    for width in WIDTHS:
        b.open(path, width)
        for what in b.run(SOUND): say(False, f"a large page at {width} pixels: {what}")
    say(b.run("document.querySelectorAll('figure').length") == 10, "a large page has not ten plots")
    name = "(row, cell) => { const c = document.querySelectorAll('table:has(td.own) tbody tr')[row].cells[cell]; c.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})); return c.title; }"
    cells = [b.run(f"({name})({row}, {cell})") for row, cell in ((0, 1), (1, 4))]
    say(cells == ["17 of 20 of class species-av-a are called species-av-a", "none of class species-aw-a is called species-ay-a"], f"cells of the matrix are called {cells}")
    told = b.run("[...document.querySelectorAll('svg.plot')].filter(s => s.parentNode.offsetParent).map(s => { s.focus(); s.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true})); "
                 "return s.querySelector('text').textContent + ': ' + s.closest('figure').querySelector('.tip').textContent; })")
    say(not [t for t in told if t.endswith(": ")], f"plots of a large page tell no value in their middle: {told}")
    say([t.count("species") for t in told if t.startswith("ROC curve: ")] == [8], f"a ROC curve's middle does not tell all classes: {told}")
    say(b.run("(s => { s.focus(); for (const k of ['ArrowRight', '+']) s.dispatchEvent(new KeyboardEvent('keydown', {key: k, bubbles: true})); return +s.closest('figure').querySelector('.t').textContent.match(/[0-9]+/g).map(Number).filter(v => v > 999).length; })"
              "([...document.querySelectorAll('svg.plot')].find(s => s.parentNode.offsetParent)) >= 2"), "a large page's steps are not those of the run")


def check_errors(path, large):
    """Pictures of the largest errors are shown from within the page, with what they are in words; rows show six of their columns, escaped."""
    b.open(path, 390)
    shown = b.run("[...document.querySelectorAll('.shots img')].map(i => [i.naturalWidth, i.alt, i.src.slice(0, 22)])")
    say(len(shown) == 12 and all(w == 16 and src == "data:image/png;base64," for w, _, src in shown), f"pictures of errors: {shown[:2]}, {len(shown)}")
    say(shown[:1] and shown[0][1] == "bread, taken for onion" and shown[9][1] == "labelled bread, likelier onion", f"pictures are called {[s[1] for s in shown[:1]]}")
    b.open(large, 390)
    told = b.run("[...document.querySelectorAll('table')].filter(t => t.caption && t.caption.textContent == 'The largest errors').map(t => [t.rows.length, t.rows[0].cells.length, t.rows[2].cells[7].textContent])")
    say(told == [[10, 11, "red & <b>white</b>"]], f"the table of errors: {told}")


def check_without_script(path):
    """A page without its script is the same but for the switches: as many drawings with their lines, no empty place."""
    b.open(path, 768, script=False)
    bare = b.picture()
    b.open(path, 768)
    say(len(bare) > .7 * len(b.picture()), "without its script a page shows less")
    say(b.run("[...document.querySelectorAll('svg.plot .m')].every(m => m.children.length)"), "a drawing without a line")


def axe():
    places = [os.environ.get("VKT_AXE", "")]
    if shutil.which("npm") and not places[0]:
        places.append(subprocess.run(["npm", "root", "-g"], capture_output=True, text=True).stdout.strip() + "/axe-core/axe.min.js")
    return next((open(p).read() for p in places if os.path.isfile(p)), None)


def check_axe(name, path, script):
    for width in (1280, 390):
        for dark in (False, True):
            b.open(path, width, dark=dark)
            b.run(script + ";1")
            found = b.run("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ': ' + v.nodes.length + ', ' + v.nodes[0].html.slice(0, 120)))")
            for what in found: say(False, f"{name} at {width} pixels: axe: {what}")


if not browser.find():
    print("pages: SKIPPED: no chromium here")
    sys.exit(0)
work = tempfile.mkdtemp(prefix="vkt-pages.")
os.chdir(work)
planted_pages.run("runs/first")
planted_pages.run("runs/wider", width=128, floor=.15, note="a wider layer")
planted_pages.run("runs/slow-with-a-long-name-that-a-legend-must-cut", lr=.0003, floor=.6)
planted_pages.large("large")
planted_pages.study("study")
planted_pages.machines("files")
report("report", "runs/first", "--no-png", "-o", "run.html")
report("report", "large", "--no-png", "-o", "large.html")
report("report", "study", "--no-png", "-o", "study.html")
report("report", *sorted(glob.glob("runs/*")), "--no-png", "-o", "compare.html")
report("bench", "table", "files", "--html", "machines.html")
for i in range(100): shutil.copytree("runs/first", f"many/{i:02d}")
report("report", *sorted(glob.glob("many/*")), "--no-png", "-o", "many.html")
try:
    b = browser.Browser()
except (OSError, RuntimeError) as e:
    print(f"pages: SKIPPED: the browser does not run here ({e})")
    sys.exit(0)
try:
    golden.mkdir(exist_ok=True)
    boxes = golden / "boxes.json"
    known = json.loads(boxes.read_text()) if boxes.exists() and not update else {}
    b("Page.setBypassCSP", enabled=True)  # for the test's font alone
    for name in ("run", "study", "compare", "machines"): check_page(name, name + ".html", known)
    b("Page.setBypassCSP", enabled=False)
    if update: boxes.write_text("{\n" + ",\n".join(f'"{k}": {json.dumps(v, separators=(",", ":"))}' for k, v in known.items()) + "\n}\n")
    check_switches("run.html")
    check_keyboard("run.html")
    check_keyboard("study.html")
    check_without_script("run.html")
    check_errors("run.html", "large.html")
    check_large("large.html")
    for name in ("run", "large"): say(os.path.getsize(name + ".html") < 260000, f"a {name} page has {os.path.getsize(name + '.html')} bytes")
    say(os.path.getsize("many.html") < 5000000, f"a page of 100 runs has {os.path.getsize('many.html')} bytes")
    took = min(b.open("many.html") for _ in range(3))
    busy = os.getloadavg()[0] > os.cpu_count()
    say(1000 * took < LIMIT_MS or busy, f"a page of 100 runs took {1000 * took:.0f} ms")
    print(f"pages: a run's page has {os.path.getsize('run.html')} bytes, a large one {os.path.getsize('large.html')}; of 100 runs {os.path.getsize('many.html')}, loaded and drawn in {1000 * took:.0f} ms{' beside other work' if busy else ''}")
    script = axe()
    for name in ("run", "large", "study", "compare", "machines", "many"):
        if script: check_axe(name, name + ".html", script)
    if not script: print("pages: SKIPPED: axe (npm install -g axe-core, or VKT_AXE=axe.min.js)")
finally:
    b.close()
    os.chdir("/")
    shutil.rmtree(work, ignore_errors=True)
for what in bad: print("pages: FAILED:", what, file=sys.stderr)
print("pages: made anew" if update else "pages: passed" if not bad else f"pages: {len(bad)} failed")
sys.exit(bool(bad))
