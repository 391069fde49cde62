"""The page of vktrain ui over runs, in a browser: start, watch, stop, close the browser, reopen, resume by the keyboard, compare, ask by a dropped
picture. usage: ui_runs_browser.py PROGRAM FOLDER-WITH-pictures [SHOTS]. VKT_AXE=axe.min.js checks accessibility, too."""
import json, os, re, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
from browser import Browser
from ui_client import Ui

program, root, shots = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
axe = open(os.environ["VKT_AXE"]).read() if os.environ.get("VKT_AXE") else None
FIND = "window.$ = (css, text) => [...document.querySelectorAll(css)].find(e => e.offsetParent && (text === undefined || (e.textContent + ' ' + (e.ariaLabel || '')).includes(text)));"
os.chdir(root)
open("p.yaml", "w").write("name: p\ndata: {source: images, path: pictures}\nmodel: [{conv: 4}, relu, flatten, linear]\ntrain: {steps: 400, batch: 8}\noptim: {lr: 0.01}\neval: {every: 100, baseline: none}\n")
ui = Ui(program)
b = None


def run(script): return b.run(FIND + "{" + script + "}")


def wait(what, script, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if run(f"!!({script})"): return
        time.sleep(0.1)
    raise SystemExit(f"{what}: not so after {seconds} s: {script}\n{run('document.body.innerText')[-2000:]}")


def size(width, dark=False):
    b("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    b("Emulation.setEmulatedMedia", media="screen", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])


def enter(link):
    """A browser of its own, by this link."""
    global b
    b = Browser()
    size(1200)
    b("Page.navigate", url=link)
    wait("the page is there", "$('nav a', 'Train') && $('.files')")
    b.events.clear()


def click(css, text=None):
    find = f"$({css!r}" + (f", {text!r})" if text else ")")
    wait(f"{css} {text} is there", find)
    x, y = run(f"const e = {find}; e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(); [r.x + r.width / 2, r.y + r.height / 2]")
    for kind in ("mousePressed", "mouseReleased"): b("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def tab_to(what, test, most=150):
    for _ in range(most):
        b.key("Tab")
        if run(f"const e = document.activeElement, t = e.textContent + ' ' + (e.ariaLabel || ''); {test}"): return
    raise SystemExit(f"Tab does not reach {what}")


def look(name):
    for width in (390, 1200, 2560):
        size(width, width == 390)
        wide = run("document.documentElement.scrollWidth - innerWidth")
        if wide > 0: raise SystemExit(f"{name} at {width} px is {wide} px too wide")
        if shots: open(f"{shots}/{name}-{width}.png", "wb").write(b.picture())
        if axe and width < 2000:
            run(axe + ";1")
            found = run("axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | ')))")
            if found: raise SystemExit(f"{name} at {width} px, axe: {found}")
    size(1200)
    if b.complaints(): raise SystemExit(f"{name}: the console says {b.complaints()}")


def fact(name): return f"([...document.querySelectorAll('.facts div')].find(d => d.firstChild.textContent === {name!r}) || {{lastChild: {{textContent: ''}}}}).lastChild.textContent"


def steps(): return int(run(fact("steps")).split(" of")[0].replace(",", ""))


try:
    # Start, watch, stop.
    enter(ui.link)
    click("nav a", "Train")
    click("form input[list=recipe-names]")
    b("Input.insertText", text="p.yaml")
    click("textarea")
    b("Input.insertText", text="train.steps=50000\neval.every=100")
    wait("its command", "$('.command code', 'vktrain train p.yaml --set train.steps=50000 --set eval.every=100 --run runs/p-')")
    click("button", "Show the plan")
    wait("its plan", "$('.facts', 'device memory at most')")
    click("button.go", "Start")
    wait("its curves", "$('figure figcaption', 'Loss') && document.querySelector('svg.plot').getAttribute('aria-label').startsWith('Loss. training')")
    before = steps()
    wait("they grow", f"parseInt({fact('steps')}.replace(',', '')) > {before}")
    assert run(fact("state")) == "running"
    look("train")
    click(".run button", "Stop")
    wait("it has stopped", f"{fact('state')} === 'interrupted'")
    stopped = steps()
    name = run("$('.run h2').textContent")
    wait("the queue says so", "$('td b', 'stopped')")

    # Its note is changed; the command shows it.
    click(".noting input")
    b("Input.insertText", text="stopped <b>early</b>")
    time.sleep(2.5)
    assert run("$('.noting input').value") == "stopped <b>early</b>"  # what is typed stays while the run is asked for
    click(".noting button", "Save the note")
    wait("the note's command", f"$('.noting code', \"vktrain runs runs/{name} --note 'stopped <b>early</b>'\")")
    assert "stopped <b>early</b>" in subprocess.run([program, "runs", f"runs/{name}", "--json"], capture_output=True, text=True).stdout
    b.close()

    # Another browser, later: goes on by the keyboard alone.
    link = None
    while not link: link = re.search(r"http://\S+token=\S+", ui.process.stdout.readline())
    enter(link.group(0))
    tab_to("Runs", "e.tagName === 'A' && t.startsWith('Runs')")
    b.key("Enter", "\r")
    wait("the table", f"$('td a', {name!r})")
    assert run("$('td.long').textContent") == "stopped <b>early</b>"
    tab_to("the run", f"e.tagName === 'A' && t.includes({name!r})")
    b.key("Enter", "\r")
    wait("the run", f"$('.run h2', {name!r}) && $('.run button', 'Resume')")
    look("run")
    tab_to("Resume", "e.tagName === 'BUTTON' && t.startsWith('Resume')")
    b.key("Enter", "\r")
    wait("it goes on", f"{fact('state')} === 'running' && parseInt({fact('steps')}.replace(',', '')) > {stopped}")
    tab_to("Stop", "e.tagName === 'BUTTON' && t.trim() === 'Stop'")
    b.key("Enter", "\r")
    wait("it has stopped again", f"{fact('state')} === 'interrupted'")

    # One that ends; then both side by side.
    click("nav a", "Train")
    click("form input[list=recipe-names]")
    b("Input.insertText", text="p.yaml")
    click("button.go", "Start")
    wait("it is done", f"{fact('state')} === 'done'")
    wait("what it confused", "$('caption', 'Confusion matrix')")
    look("done")
    click("nav a", "Runs")
    wait("both", "document.querySelectorAll('#tab-runs tbody tr').length === 2")
    look("runs")
    for box in run("[...document.querySelectorAll('#tab-runs tbody input')].map(e => e.ariaLabel)"): click("#tab-runs tbody input", box)
    click("button", "Compare 2 runs")
    wait("what differs", "$('caption', 'Options that differ') && $('tr.differs th', 'train.steps') && document.querySelectorAll('svg.plot').length > 3")
    look("compare")

    # It answers a dropped picture, as the command does.
    run("history.back()")
    wait("the table again", "$('#tab-runs tbody tr')")

    # While a run is read in parts the page says so, and asks for no findings; a refusal of them is shown, and they are asked for again.
    run("""window.real = window.fetch, window.parts = 3, window.asked = 0, window.early = false;
      const as = (j, status) => new Response(JSON.stringify(j), {status, headers: {'Content-Type': 'application/json'}});
      window.fetch = async (path, how) => {
        if (path.startsWith('/api/run/findings')) {
          window.early = window.early || window.parts > 0;
          if (!window.asked++) return as({error: {message: 'too much is asked'}}, 503);
        }
        const got = await window.real(path, how);
        if (!path.startsWith('/api/run?') || !window.parts) return got;
        window.parts--;
        const j = await got.json();
        j.reading = true;
        if (j.last) j.last.step = 7;
        return as(j, 200);
      }; 0""")
    click("#tab-runs tbody a")
    here = lambda name: fact(name).replace(".facts", "#tab-runs .facts")
    wait("it is read", f"{here('curves')}.includes('reading') && {here('training loss')} === '' && !{here('steps')}.startsWith('7 ')")
    wait("the refusal", "$('.run .note', 'too much is asked')")
    assert not run("window.early")
    wait("they are asked for again", "window.asked === 2 && !$('.run .note', 'too much is asked')")
    assert run(here("curves")) == "" != run(here("training loss"))
    run("window.fetch = window.real; 0")
    click("button", "Use it")
    wait("it is open", "$('label.drop')")
    run("""fetch('/api/file?path=pictures/red/3.png').then(r => r.blob()).then(blob => {
      const t = new DataTransfer();
      t.items.add(new File([blob], '3.png', {type: 'image/png'}));
      $('label.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: t, bubbles: true, cancelable: true}));
    })""")
    wait("its answer", "$('.answer')")
    said = run("$('.answer').textContent")
    model = run("new URLSearchParams(location.hash.split('?')[1]).get('model')")
    out = subprocess.run([program, "predict", model, "pictures/red/3.png", "--json"], capture_output=True, text=True).stdout
    assert json.loads(out.splitlines()[0])["predicted"] == said == "red", (out, said)
    look("use")
    late = run("""(async () => {
      const real = window.fetch, waits = [], pause = () => new Promise(done => setTimeout(done, 100));
      window.fetch = (path, how) => how && how.body instanceof Blob
        ? new Promise(done => waits.push(word => done(new Response(JSON.stringify({predictions: [{predicted: word}]}), {headers: {'Content-Type': 'application/json'}})))) : real(path, how);
      for (const name of ['a.png', 'b.png']) {
        const t = new DataTransfer();
        t.items.add(new File(['x'], name, {type: 'image/png'}));
        $('label.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: t, bubbles: true, cancelable: true}));
      }
      waits[1]('second'); await pause();
      waits[0]('first'); await pause();
      window.fetch = real;
      return $('.answer').textContent;
    })()""")
    assert late == "second", late  # an answer to an earlier picture is not shown
    for part in ("Studies", "Benchmark"):
        click("nav a", part)
        time.sleep(0.5)
        look(part)

    # A name that is HTML stays text.
    os.rename("runs", "<img src=x onerror=alert(1)>")
    click("nav a", "Runs")
    wait("the table", "document.querySelectorAll('#tab-runs tbody tr').length === 2")
    assert not run("document.querySelector('img[src=x]')")

    # The server ends: the page says so.
    ui.process.kill()
    wait("it is said", "$('#lost', 'does not answer')")
finally:
    if b: b.close()
    ui.kill()
    for folder in ("runs", "<img src=x onerror=alert(1)>"):  # what it has started outlives it
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            subprocess.run([program, "watch", f"{folder}/{name}", "--stop-now"], capture_output=True)
print("ui_runs_browser: passed")
