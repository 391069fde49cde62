"""The page and the server of Windows' program, under Wine, asked from outside: who may, which paths, what a page writes, a table's answers.
usage: page.py PROGRAM      in an empty folder; PROGRAM starts vktrain.exe under Wine"""
import http.client, json, os, pathlib, re, socket, subprocess, sys, time, urllib.parse
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/support"))
from ui_client import Refused, Ui

program = os.path.realpath(sys.argv[1])


def refused(status, text, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except Refused as e:
        assert e.status == status and text in e.message, (e.status, e.message, text)
    else:
        raise AssertionError(f"not refused: {arguments} {more}")


def status(port, method, path, body=None, **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, data


def strangers(port, path, cookie="x=y"):
    """The same for the page and for the server."""
    for why, headers in {"a rebound name": {"Host": "evil.example"}, "another site": {"Origin": "http://evil.example"}, "a fetch of another site": {"Sec_Fetch_Site": "cross-site"}}.items():
        got = status(port, "GET", path, Cookie=cookie, **headers)[0]
        assert got == 403, (why, got)


def paths(ui, outside):
    root = ui.get("/api/roots")["roots"][0]
    assert re.fullmatch(r"[A-Z]:/.*", root), root
    there = ui.get("/api/files", path=root)
    assert "parent" not in there and ("in", "folder") in [(e["name"], e["kind"]) for e in there["entries"]], there
    assert ui.get("/api/files", path=root + "/in")["parent"] == root == ui.get("/api/files", path=root.replace("/", "\\"))["path"]
    for path in ("..", "..\\", "in/../..", "in\\..\\..", outside, outside.replace("/", "\\"), "C:/windows/win.ini", "C:", "C:x", "Z:/etc/passwd", "/etc/passwd", "\\windows",
                 "//127.0.0.1/share", "\\\\127.0.0.1\\C$\\x", "\\\\?\\C:\\windows", "\\\\.\\C:", "//./NUL", "NUL", root + "/NUL", root + "x", "%00", "in%00", ""):
        refused(403, "path", ui.get, "/api/files", path=path)
    for name in ("con.yaml", "Com1", "lpt9.txt", "com¹", "LPT³.txt", "com² .x", "a:b", "in\\..\\..\\x", "in/../../x", ".x", "x.", "a|b", "\\\\127.0.0.1\\share\\x", "C:/x/y"):
        refused(403, "path", ui.post, "/api/folder", path=name)
    made = ui.post("/api/folder", path="in/ü 中")["path"]
    assert made == root + "/in/ü 中" and os.path.isdir("in/ü 中"), made
    ui.answer(*ui.raw("POST", "/api/upload?to=in&name=a/b.csv", b"x,y\n1,2\n", {"Content-Type": "application/octet-stream"}))
    assert open("in/a/b.csv").read() == "x,y\n1,2\n"
    assert ui.get("/api/head", path="in/a/b.csv")["text"] == "x,y\n1,2\n"
    # Names that differ by case alone are one here, whatever their letters: both are named, and nothing is written over.
    upload = lambda name, text: ui.answer(*ui.raw("POST", "/api/upload?to=in&name=" + urllib.parse.quote(name), text, {"Content-Type": "application/octet-stream"}))
    upload("a/\u00c4\u03a9.csv", b"x,y\n1,2\n")
    for name in ("A/c.csv", "a/B.csv", "a/\u00e4\u03c9.csv"): refused(409, "the same as", upload, name, b"lost")
    refused(409, "there is a file of this name already", upload, "a/b.csv", b"lost")
    assert open("in/a/b.csv").read() == open("in/a/\u00c4\u03a9.csv").read() == "x,y\n1,2\n" and sorted(os.listdir("in/a")) == ["b.csv", "\u00c4\u03a9.csv"]
    # What a recipe of a stranger names elsewhere the program itself does not open.
    for at in (outside + "/secret.csv", "../outside/secret.csv", "\\\\127.0.0.1\\share\\secret.csv"):
        open("bad.yaml", "w").write("data: {source: csv, path: '%s'}\nmodel: [linear]\n" % at)
        for path, more in (("/api/plan", {}), ("/api/start/train", {"run": "bad"})):
            try:
                got = ui.post(path, recipe="bad.yaml", **more)
                assert path != "/api/plan" and re.search("VKT_WITHIN|not permitted", ui.ended(got["id"])["error"]), (at, got, ui.jobs())
            except Refused as e:
                assert e.status in (403, 422) and re.search("outside|VKT_WITHIN|not permitted", e.message), (at, e.message)
    assert not os.path.exists("bad") or not os.listdir("bad")


def silent(ui):
    """A hundred connections that say nothing delay nobody."""
    many = [socket.create_connection(("127.0.0.1", ui.port)) for _ in range(100)]
    began = time.monotonic()
    for _ in range(20): ui.get("/api/roots")
    assert time.monotonic() - began < 4, f"20 answers took {time.monotonic() - began:.1f} s"
    for s in many: s.close()


def train(ui):
    """From a table to a run that answers, by what the page asks."""
    with open("in/t.csv", "w") as f:
        f.write("size,kind,price\n")
        for i in range(200): f.write(f"{i % 37},{'abc'[i % 3]},{2 * (i % 37) + 9 * (i % 3 == 1)}\n")
    seen = ui.post("/api/look", path="in/t.csv")
    open("in/t.yaml", "w").write(seen["recipe"])
    j = ui.ended(ui.post("/api/start/train", recipe="in/t.yaml", run="in/rün", set=["train.steps=60", "eval.every=30", "eval.baseline=none"])["id"], 300)
    assert j["rc"] == 0, (j, ui.get("/api/job", id=j["id"])["text"])
    assert json.load(open("in/rün/run.json"))["status"] == "done"
    facts = ui.post("/api/use/open", model="in/rün")
    row = json.dumps([{"size": 5, "kind": "b"}])
    got = ui.answer(*ui.raw("POST", "/predict", row, {"Content-Type": "application/octet-stream"}))["predictions"][0]["predicted"]
    ui.post("/api/use/close")
    return row, got, facts


def serve(row, want):
    with open("serve.said", "w") as said, open("serve.log", "w") as log:
        p = subprocess.Popen([program, "serve", "in/rün", "--port", "0"], stdout=said, stderr=log, stdin=subprocess.DEVNULL)
    try:
        for _ in range(600):
            port = re.search(r"127\.0\.0\.1:(\d+)", open("serve.said").read())
            if port or p.poll() is not None: break
            time.sleep(0.1)
        port = int(port.group(1))
        got = json.loads(status(port, "POST", "/predict", row, Content_Type="application/json")[1])["predictions"][0]["predicted"]
        assert got == want, (got, want)
        assert b"kind" in status(port, "GET", "/")[1]
        strangers(port, "/model")
        again = subprocess.run([program, "serve", "in/rün", "--port", str(port)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert again.returncode == 4 and "another program listens there" in again.stderr, again
    finally:
        p.kill()
        p.wait()


os.makedirs("root/in")
os.makedirs("outside")
open("outside/secret.csv", "w").write("x,y\n1,2\n")
os.chdir("root")
ui = Ui(program)
try:
    for path in ("/", "/?token=" + 64 * "0", "/api/roots"): assert status(ui.port, "GET", path)[0] == 401, path
    ui.enter()
    assert status(ui.port, "GET", ui.link[ui.link.index("/?"):])[0] == 401  # once
    strangers(ui.port, "/api/roots", ui.cookie)
    paths(ui, "Z:" + os.path.realpath("../outside"))
    silent(ui)
    row, got, facts = train(ui)
    assert facts["kind"] == "table", facts
    assert ui.close() == 130
finally:
    if ui.process.poll() is None: ui.kill()
serve(row, got)
assert os.listdir("../outside") == ["secret.csv"]
print("page: passed")
