"""The page of vktrain ui in a browser, by mouse and by keyboard alone: ui_browser.py SAID ROOT [FOLDER]. SAID: what the program printed; FOLDER: for
screenshots. With VKT_AXE=axe.min.js (npm's axe-core) accessibility is checked, too."""
import math, os, re, struct, sys, time, wave, zipfile, zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
import golden_page
from browser import Browser

said, root, shots = sys.argv[1], os.path.realpath(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
began = time.time()
b = Browser()
axe = open(os.environ["VKT_AXE"]).read() if os.environ.get("VKT_AXE") else None
GOLDEN = (("table", "data?path=data/table.csv", "$('.columns')"), ("pictures", "data?path=data/pictures", "$('.thumbs img')"), ("chat", "data?path=data/chat.jsonl", "$('.talk')"),
          ("recipe", "recipe", "$('textarea') && $('textarea').value.includes('digits')"), ("train", "train", "$('form')"), ("runs", "runs", "$('p', 'no runs that fit')"),
          ("studies", "studies", "$('form')"), ("use", "use", "$('h1', 'Use')"), ("bench", "bench", "$('h1')"))
HELP = "window.$ = (css, text) => [...document.querySelectorAll(css)].find(e => e.offsetParent && (text === undefined || (e.textContent + ' ' + (e.ariaLabel || '')).includes(text)));"


def lap(what):
    print(f"{time.time() - began:6.1f} s  {what}", flush=True)


def run(script): return b.run(HELP + "{" + script + "}")


def wait(what, script, seconds=40):
    end = time.time() + seconds
    while time.time() < end:
        if run(f"!!({script})"): return
        time.sleep(0.05)
    sys.exit(f"{what}: not so after {seconds} s: {script}\n{run('document.body.innerText')[-1500:]}")


def size(width, dark=False):
    b("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500)
    b("Emulation.setEmulatedMedia", media="screen", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])


def click(css, text=None):
    """By the mouse, where the element is on the screen."""
    find = f"$({css!r}" + (f", {text!r})" if text else ")")
    wait(f"{css} {text} is there", f"!!{find}")
    x, y, hit = run(f"const e = {find}; e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2, h = document.elementFromPoint(x, y); [x, y, e.contains(h) || h.contains(e)]")
    if not hit: sys.exit(f"{css} {text} is covered")
    for kind in ("mousePressed", "mouseReleased"): b("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def tab_to(what, test, most=200):
    """By the key Tab, until the focused element is it."""
    for _ in range(most):
        b.key("Tab")
        if run(f"const e = document.activeElement, t = e.textContent + ' ' + (e.ariaLabel || ''); {test}"): return
    sys.exit(f"Tab does not reach {what}")


def look(name):
    """Nothing is wider than the screen, axe has no findings, nothing was said in the console."""
    wait("it is quiet", "!document.querySelector('[aria-busy=true]')")
    for width in (390, 1200, 2560):
        size(width, width == 390)
        wide = run("document.documentElement.scrollWidth - innerWidth")
        if wide > 0: sys.exit(f"{name} at {width} px is {wide} px too wide")
        if shots: open(f"{shots}/{name}-{width}.png", "wb").write(b.picture())
        if axe and width < 2000:
            run(axe + ";1")
            found = run("axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.target.join(' ') + ' ' + n.failureSummary).join(' | ')))")
            if found: sys.exit(f"{name} at {width} px, axe: {found}")
    size(1200)
    if b.complaints(): sys.exit(f"{name}: the console says {b.complaints()}")


def hash_is(part): wait(f"the part {part}", f"location.hash.startsWith('#{part}')")


# Names that are HTML, right to left, or no UTF-8; and a zip.
evil = "<img src=x onerror=alert(1)>"
for i, name in enumerate((evil, "\u05d7\u05ea\u05d5\u05dc", "caf\u00e9")):
    os.makedirs(f"{root}/odd/{name}", exist_ok=True)
    for k in range(8): os.link(f"{root}/data/pictures/{'red' if i else 'green'}/{k}.png", f"{root}/odd/{name}/{k}.png")
with wave.open(f"{root}/data/tone.wav", "wb") as w:
    w.setnchannels(1), w.setsampwidth(2), w.setframerate(44100)
    w.writeframes(struct.pack("<441h", *(int(9000 * math.sin(2 * math.pi * i / 441)) for i in range(441))) * 9000)
with open(f"{root}/data/big.csv", "w") as f: f.write("a,b,c\n" + "".join(f"{i},{i % 7},x{i % 5}\n" for i in range(100000)) * 40)
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(120):
    os.makedirs(f"{root}/large/{'ab'[i % 2]}", exist_ok=True)
    line = b"\0" + bytes(x * (i + 1) % 251 for x in range(9000))
    with open(f"{root}/large/{'ab'[i % 2]}/{i}.png", "wb") as f: f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 3000, 3000, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(line * 3000, 1)) + chunk(b"IEND", b""))
with zipfile.ZipFile("photos.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for kind in ("red", "green"):
        for k in range(10): z.write(f"{root}/data/pictures/{kind}/{k}.png", f"photos/{kind}/{k} \u00e4%.png")
    z.writestr("photos/.hidden", "x")
    z.writestr("__MACOSX/x", "x")

try:
    size(1200)
    link = re.findall(r"http://\S+token=\S+", open(said).read())[-1]
    b("Page.navigate", url=link)
    wait("the page is there", "!!$('.files')")
    paint = run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    weight = run("performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).reduce((n, e) => n + e.encodedBodySize, 0)")
    lap(f"first paint after {paint:.0f} ms, {weight / 1000:.0f} KB")
    assert 10000 < weight < 400000 and not run("document.cookie") and "token" not in run("location.href")
    look("files")

    # By mouse: from the start to a recipe that can be trained in three clicks.
    click(".files button", "data")
    click("button", "Look at pictures")
    wait("what it holds", "$('section').innerText.includes('one of 2 classes') && document.querySelectorAll('.thumbs img').length > 10")
    wait("the pictures are drawn", "[...document.querySelectorAll('.thumbs img')].slice(0, 4).every(i => i.naturalWidth === 8)")
    wait("the recipe is checked", "$('textarea').getAttribute('aria-invalid') === 'false'")
    look("pictures")
    click("button", "Save and train")
    hash_is("train?recipe=")
    text = open(f"{root}/pictures.yaml").read()
    assert 'path: "data/pictures"' in text and run("location.hash").endswith("pictures.yaml"), text
    run("history.back()")
    wait("the data again", "!!$('.thumbs img')")
    lap("pictures to a recipe by mouse")

    # A mistake stands at its line; help and completion of the key at the cursor.
    click("textarea")
    run("const t = $('textarea'); t.setSelectionRange(t.value.indexOf('optim:') + 7, t.value.indexOf('optim:') + 7)")
    b("Input.insertText", text="  cli\n")
    b.key("ArrowLeft")
    wait("its line is marked", "document.querySelector('.editor b') && $('.note').textContent.includes('Line')")
    wait("it is offered", "!!$('.offer button')")
    click("button", "Save and train")
    wait("a recipe with a mistake is not trained", "$('.note', 'has a mistake') && document.activeElement.tagName === 'TEXTAREA' && !location.hash.includes('train')")
    b("Input.dispatchKeyEvent", type="rawKeyDown", key=" ", code="Space", windowsVirtualKeyCode=32, modifiers=2)
    wait("it is completed", "$('textarea').value.includes('optim:\\n  clip: ')")
    b("Input.insertText", text="1")
    wait("it is a recipe", "$('textarea').getAttribute('aria-invalid') === 'false' && !$('.note')")
    b.key("ArrowLeft")
    wait("its help", "$('.editor').parentNode.textContent.includes('optim.clip: ')")
    click("button", "Save")
    wait("it asks first", "$('.note', 'Not saved')")
    click("label", "replace the file")
    click("button", "Save")
    wait("it is saved", "$('p', 'Saved.')")
    assert "  clip: 1" in open(f"{root}/pictures.yaml").read()
    b.events.clear()  # of the refusal
    lap("a mistake, completion, saving")

    # By keyboard alone: a table whose label was guessed wrong.
    b("Page.navigate", url=link.split("?")[0] + "#data")
    wait("the files", "!!$('.files button')")
    tab_to("the folder", "t.startsWith('data') && e.tagName === 'BUTTON'")
    b.key("Enter", "\r")
    wait("the table is there", "!!$('button', 'Look at table.csv')")
    tab_to("the table", "t.includes('Look at table.csv')")
    b.key("Enter", "\r")
    wait("its columns", "document.querySelectorAll('.columns .hist').length === 1 && $('section').innerText.includes('a number is predicted: price')")
    look("table")
    tab_to("the use of kind", "t.includes('Use of kind')")
    b.key("w", "w")
    wait("another label", "$('section').innerText.includes('one of 3 classes is predicted: kind') && $('textarea').value.includes('label: kind')")
    assert run("document.activeElement.ariaLabel") == "Use of kind", run("document.activeElement.outerHTML")
    wait("the command", "$('.command code').textContent === \"vktrain init data/table.csv --set 'data.ignore=[]' --set data.label=kind\"")
    tab_to("the file's name", "e.tagName === 'INPUT' && e.value.endsWith('table.yaml')")
    tab_to("Save", "e.tagName === 'BUTTON' && t.trim() === 'Save'")
    b.key("Enter", "\r")
    wait("saved", "$('p', 'Saved.')")
    assert "label: kind" in open(f"{root}/table.yaml").read()
    lap("a table by keyboard")

    # Names are text, whatever they are; conversations are drawn.
    click("nav a", "Data")
    wait("the files", "!!$('.files button', 'odd')")
    click(".files button", "odd")
    wait("the folder", "$('.crumbs b').textContent === 'odd'")
    click("button", "Look at this folder")
    wait("the classes", "document.querySelectorAll('.thumbs img').length > 10")
    assert run("[...document.querySelectorAll('tbody th')].map(e => e.textContent)") == sorted([evil, "caf\u00e9", "\u05d7\u05ea\u05d5\u05dc"]), run("document.body.innerText")
    assert run("document.querySelectorAll('th img, span img').length") == 0
    look("odd")
    b("Page.navigate", url=link.split("?")[0] + "#data?path=data/chat.jsonl")
    wait("a conversation", "document.querySelectorAll('.talk .assistant').length >= 3 && $('.talk').innerText.includes('hi <b>')")
    look("chat")
    b("Page.navigate", url=link.split("?")[0] + "#recipe")
    wait("a built-in recipe", "$('textarea') && $('textarea').value.includes('digits')")
    look("recipe")
    lap("names, conversations")

    # A sound is played, from anywhere in it.
    b("Page.navigate", url=link.split("?")[0] + "#data?dir=data")
    wait("the sound", "!!$('.files button', 'tone.wav')")
    click(".files button", "tone.wav")
    wait("it can be played", "document.querySelector('audio[controls]') && document.querySelector('audio').readyState >= 2")
    assert abs(run("document.querySelector('audio').duration") - 90) < 0.01
    run("const a = document.querySelector('audio'); a.muted = true; a.currentTime = 80; 0")
    wait("it is heard from there", "document.querySelector('audio').readyState >= 2 && !document.querySelector('audio').seeking && document.querySelector('audio').currentTime === 80")
    run("document.querySelector('audio').play(); 0")
    wait("it plays", "document.querySelector('audio').currentTime > 80.2")
    look("sound")
    lap("a sound")

    # What takes long says how far it is, and can be stopped.
    b("Page.navigate", url=link.split("?")[0] + "#data?path=large")
    wait("how far it is", "$('.waiting progress') && $('.waiting progress').value > 0 && /[0-9]+%, about [0-9]+ s left reading /.test($('.waiting').textContent)")
    look_while = [run(f"document.documentElement.scrollWidth - innerWidth") for w in (390, 1200) if not size(w)]
    assert max(look_while) <= 0, look_while
    click(".waiting button", "Stop")
    wait("it has stopped", "$('.note', 'It was stopped.') && !$('.waiting')")
    wait("so it can be chosen again", "!document.querySelector('[aria-busy=true]')")
    b("Page.navigate", url=link.split("?")[0] + "#data?path=data/big.csv")
    wait("it looks", "$('.waiting', 'Looking') && $('.waiting button', 'Stop')")
    click(".waiting button", "Stop")
    wait("it has stopped", "$('.note', 'It was stopped.') && !$('.waiting')")
    wait("so it can be chosen again", "!document.querySelector('[aria-busy=true]')")
    os.remove(f"{root}/data/big.csv")
    b.events.clear()
    lap("a look is stopped")

    # A zip is unpacked by the browser and copied file by file.
    b("Page.navigate", url=link.split("?")[0] + "#data")
    wait("the place to drop", "!!$('.drop input')")
    node = b("DOM.querySelector", nodeId=b("DOM.getDocument")["root"]["nodeId"], selector=".drop input")["nodeId"]
    # Stop ends the file that is on its way, too.
    run("""window.real = window.fetch;
        window.fetch = (path, how) => path.startsWith('/api/upload') ? new Promise((done, fail) => how.signal && how.signal.addEventListener('abort', () => fail(how.signal.reason))) : window.real(path, how); 0""")
    b("DOM.setFileInputFiles", nodeId=node, files=[f"{root}/data/pictures/red/{k}.png" for k in (0, 1)])
    wait("it copies", "$('.drop .waiting', 'Copying 1 of 2')")
    click(".drop .waiting button", "Stop")
    wait("the copy has stopped", "$('.drop .note', 'What was copied so far is in') && !$('.drop .waiting')")
    run("window.fetch = window.real; 0")
    os.rmdir(f"{root}/dropped")
    b("DOM.setFileInputFiles", nodeId=node, files=[os.path.abspath("photos.zip")])
    wait("it is shown", "document.querySelectorAll('.thumbs img').length > 10")
    wait("the pictures are drawn", "[...document.querySelectorAll('.thumbs img')].slice(0, 4).every(i => i.naturalWidth === 8)")
    assert sorted(os.listdir(f"{root}/photos")) == ["green", "red"] and open(f"{root}/photos/red/3 \u00e4%.png", "rb").read() == open(f"{root}/data/pictures/red/3.png", "rb").read()
    if b.complaints(): sys.exit(f"the console says {b.complaints()}")
    lap("a zip")

    # What they look like: tests/golden/ui, written again with VKT_UPDATE=1.
    b("Page.setBypassCSP", enabled=True)  # for the test's font alone
    golden, wrong = golden_page.root / "tests/golden/ui", []
    for name, at, there in GOLDEN:
        b("Page.navigate", url="about:blank")
        b("Page.navigate", url=link.split("?")[0] + "#" + at)
        wait(name, there)
        wait("it is quiet", "!document.querySelector('[aria-busy=true],.waiting') && [...document.images].every(i => i.complete)")
        assert b.run(golden_page.PIN), "the letters were not taken"
        run(f"""const here = {root!r}, w = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), at = [];
            while (w.nextNode()) at.push(w.currentNode);
            for (const t of at) t.textContent = t.textContent.replaceAll(here, '/home/me/photos');
            for (const i of document.querySelectorAll('input')) if (i.value.startsWith(here)) i.value = i.value.replace(here, '/home/me/photos');""")
        for width, dark in ((390, False), (1200, False), (1200, True), (2560, True)):
            size(width, dark)
            b.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
            wrong.append(golden_page.picture_differs(b, golden / f"{name}-{width}-{'dark' if dark else 'light'}.png", b.picture(), os.environ.get("VKT_UPDATE")))
        size(1200)
    wrong = [w for w in wrong if w]
    if wrong: sys.exit("golden pages: " + "; ".join(wrong))
    lap("golden pages")
finally:
    b.close()
