"""Clients of vktrain ui, mostly hostile, for tests/program/test_ui.sh: ui_clients.py PORT PID SAID ROOT OUTSIDE. SAID: what it printed."""
import json, os, re, shutil, struct, sys, threading, time, wave, zlib
sys.dont_write_bytecode = True
from http_asks import Server, expect, lap

port, pid, said, root, outside = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:6]
server = Server(port, pid, 60)
ask, memory = server.ask, server.memory


def post(path, object, **headers):
    return ask("POST", path, json.dumps(object), Content_Type="application/json", **headers)


def get(api, **query):
    return ask("GET", api + "?" + "&".join(f"{k}={quote(str(v))}" for k, v in query.items()))


def quote(v):
    return "".join(chr(b) if chr(b).isalnum() and b < 128 else f"%{b:02x}" for b in v.encode())


def links():
    return re.findall(r"token=([0-9a-f]{64})", open(said).read())


def children():
    return open(f"/proc/{pid}/task/{pid}/children").read().split()


def raw(data, wait=5):
    return server.raw(data, wait)[0]


gets = ["/ui.js", "/ui.css", "/page.css", "/api/roots", "/api/files?path=.", "/api/head?path=data/table.csv", "/api/options", "/nothing"]
posts = ["/api/look", "/api/folder", "/api/upload?to=.&name=x", "/api/recipe/save", "/api/recipe/check"]

# ---- without the link, nothing

first = links()[0]
expect("the page", ask("GET", "/"), 401, "needs its link")
for path in gets:
    assert "WWW-Authenticate" not in expect(path, ask("GET", path), 401)[2]  # the page wants a cookie
for path in posts: expect(path, post(path, {}), 401)
for bad in ("", "x", first[:-1], first[:-1] + ("0" if first[-1] != "0" else "1"), first + "0", first.upper() + "", "%00", first + "%00"):
    status = ask("GET", "/?token=" + bad)[0]
    if status not in (400, 401) and bad != first: sys.exit(f"a wrong token {bad!r}: {status}")
large = raw(b"POST /api/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000000\r\nContent-Type: application/octet-stream\r\n\r\n", 3)
if b" 401 " not in large[:40]: sys.exit(f"a large body of a stranger is read: {large[:200]}")
for site in ("cross-site", "same-site"): expect("the link from another page", ask("GET", "/?token=" + first, Sec_Fetch_Site=site), 403)
expect("the link by another name", ask("GET", "/?token=" + first, Host="rebound.example"), 403)

# ---- the link is good once

got = expect("the link", ask("GET", "/?token=" + first), 303)
set_cookie = got[2]["Set-Cookie"]
assert got[2]["Location"] == "/" and "HttpOnly" in set_cookie and "SameSite=Strict" in set_cookie, got[2]
expect("the link again", ask("GET", "/?token=" + first), 401)
mine = set_cookie.split(";")[0]
for i in range(50):
    if len(links()) == 2: break
    time.sleep(0.1)
second = ask("GET", "/?token=" + links()[1])
assert second[0] == 303 and second[2]["Set-Cookie"].split(";")[0] == mine
name, value = mine.split("=")
for bad in (name, name + "=", name + "=" + value[:-1], name + "=" + value + "0", name + "x=" + value, "x" + mine, name + "=" + "0" * 64, mine[:1]):
    expect("the cookie " + bad[:20], ask("GET", "/api/roots", Cookie=bad), 401)
expect("with another cookie", ask("GET", "/api/roots", Cookie="a=b; " + mine + "; c"), 200)
server.cookie = mine
page = expect("the page", ask("GET", "/"), 200, "<nav")
policy = page[2]["Content-Security-Policy"]
for part in ("default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"): assert part in policy, policy
assert "unsafe" not in policy and b"<script>" not in page[1] and b"style=" not in page[1] and page[2]["X-Frame-Options"] == "DENY"
assert not re.search(rb"https?://(?!www.w3.org/2000/svg)", b"".join(ask("GET", p)[1] for p in ("/", "/ui.js", "/ui_data.js", "/ui_recipe.js", "/ui.css")))
lap("the link and the cookie")

# ---- with the cookie, but from elsewhere

for what in (dict(Host="rebound.example:80"), dict(Host="127.0.0.1.evil.example"), dict(Origin="http://evil.example"), dict(Origin="null"), dict(Origin=f"https://127.0.0.1:{port}"),
             dict(Origin="http://127.0.0.1:1"), dict(Sec_Fetch_Site="cross-site"), dict(Sec_Fetch_Site="same-site")):
    for path in ("/", "/api/roots"): expect(f"{path} {what}", ask("GET", path, **what), 403)
    expect(f"post {what}", post("/api/folder", {"path": "made-by-a-stranger"}, **what), 403)
for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
    expect("the type " + kind, ask("POST", "/api/folder", '{"path": "made-by-a-form"}', Content_Type=kind), 415)
    expect("the type " + kind, ask("POST", "/api/upload?to=.&name=by-a-form", "x", Content_Type=kind), 415)
expect("a get of a post", ask("GET", "/api/folder"), 405)
expect("a post of a get", post("/api/roots", {}), 405)
expect("another method", ask("DELETE", "/api/roots"), 405)
for bad in ("", "x", "[]", "{", '{"path": "a", "path": "b"}', '{"path": "a\\u0000b"}', "[" * 100000, '"x"', "null", b"\xff\xfe", '{"path": 5}', '{"path": null}', '{"path": ["a"]}'):
    expect(f"malformed {bad[:20]!r}", ask("POST", "/api/folder", bad, Content_Type="application/json"), 400)
expect("too large", ask("POST", "/api/folder", b"{" + b" " * (3 << 20) + b"}", Content_Type="application/json"), 413)
huge = raw(f"POST /api/upload?to=.&name=huge HTTP/1.1\r\nHost: localhost\r\nCookie: {mine}\r\nContent-Length: 999999999999\r\nContent-Type: application/octet-stream\r\n\r\n".encode(), 3)
assert b" 413 " in huge[:40], huge[:200]
lap("from elsewhere")

# ---- paths

here = os.path.realpath(root)
beyond = ["..", "../outside", "../outside/secret.csv", "/", "/etc", "/etc/passwd", "link", "link/secret.csv", here + "/../outside/secret.csv", "data/../../outside/secret.csv", "%2e%2e/outside",
          here + "x", here + "x/x.csv", "../rootx", "~", "/proc/self/environ", os.path.realpath(outside) + "/secret.csv"]
for path in beyond + ["", "a%00b", "%", "%zz", "x" * 5000, "nothing-here", "\\..\\x"]:
    for api in ("/api/files", "/api/head", "/api/file", "/api/recipe"):
        got = get(api, path=path)
        if got[0] not in (400, 403) or b"secret-of" in got[1] or b"root:" in got[1]: sys.exit(f"{api} {path!r}: {got[:2]}")
    for api, more in (("/api/look", {}), ("/api/recipe/save", {"text": "x", "over": True}), ("/api/folder", {})):
        if path in ("nothing-here", "~", "\\..\\x") and api != "/api/look": continue  # names that may be made, or not: below
        got = post(api, {"path": path, **more})
        if got[0] not in (400, 403): sys.exit(f"{api} {path!r}: {got[:2]}")
    got = ask("POST", f"/api/upload?to={quote(path)}&name=x.csv", "x", Content_Type="application/octet-stream")
    if got[0] not in (400, 403): sys.exit(f"upload to {path!r}: {got[:2]}")
for bad in ("../x", "/x", "a/../x", "a//x", ".x", "a/.x", "CON", "nul.csv", "nul .csv", "conin$", "a\\b", "a:b", "com\u00b9", "LPT\u00b3.txt", "a/com\u00b2 .csv", "x.", "a\nb", "y" * 300, "/".join("abcdefghij"), "", "link/x", "dangling.yaml/x"):
    got = ask("POST", f"/api/upload?to=.&name={quote(bad)}", "x", Content_Type="application/octet-stream")
    if got[0] not in (400, 403): sys.exit(f"the name {bad!r}: {got[:2]}")
up = lambda name, body="x": ask("POST", f"/api/upload?to=.&name={quote(name)}", body, Content_Type="application/octet-stream")
expect("an upload", up("in/a b/x.csv", "a,b\n1,2\n"), 200)
assert open(root + "/in/a b/x.csv").read() == "a,b\n1,2\n"
expect("twice", up("in/a b/x.csv"), 409, "already")
expect("a folder in a file", up("in/a b/x.csv/y"), 403)
# A link is no name that differs by case.
os.symlink("x.csv", root + "/in/a b/Link.csv"), os.symlink("a b", root + "/in/there"), os.symlink("X.CSV", root + "/in/a b/dangling.csv")
expect("a file that is a link", up("in/a b/Link.csv"), 409, "there is a file of this name already")
expect("a folder that is a link", up("in/there/y.csv"), 403, "a folder of the name can't be made")
for made_here in ("a b/Link.csv", "there", "a b/dangling.csv"): os.unlink(f"{root}/in/{made_here}")
expect("a recipe by another end", post("/api/recipe/save", {"path": "evil.sh", "text": "x"}), 400, ".yaml")
expect("a recipe through a link", post("/api/recipe/save", {"path": "dangling.yaml", "text": "x", "over": True}), 200)  # takes the link's place
assert not os.path.islink(root + "/dangling.yaml") and os.listdir(outside) == ["secret.csv"]
odd = [e["name"] for e in json.loads(expect("the folder", get("/api/files", path="."), 200)[1])["entries"]]
assert "odd%FF%25.csv" in odd and "data" in odd, odd
expect("a name that is no UTF-8", get("/api/head", path="odd%FF%25.csv"), 200, "a,b")
expect("a picture", get("/api/file", path="data/pictures/red/0.png"), 200, "PNG")
expect("no picture", get("/api/file", path="data/table.csv"), 415)
expect("a name that is none of a device", up("in/com\u00b9x.csv"), 200)
# A sound is given in parts, so that one can listen from anywhere in it.
with wave.open(root + "/in/long.wav", "wb") as w:
    w.setnchannels(2), w.setsampwidth(2), w.setframerate(44100)
    w.writeframes(os.urandom(1 << 20) * 40)
sound, size = open(root + "/in/long.wav", "rb").read(), 44 + (40 << 20)
expect("it is too large to be whole", get("/api/file", path="in/long.wav"), 413)
for text, first, n in (("bytes=0-", 0, 4 << 20), ("bytes=0-0", 0, 1), ("bytes=44-143", 44, 100), (f"bytes={size - 10}-", size - 10, 10), ("bytes=-7", size - 7, 7), (f"bytes={size - 3}-{size + 9}", size - 3, 3), ("bytes=5-99999999999", 5, 4 << 20)):
    got = ask("GET", "/api/file?path=in/long.wav", Range=text)
    assert got[0] == 206 and got[1] == sound[first:first + n], (text, got[0], len(got[1]))
    assert got[2]["Content-Range"] == f"bytes {first}-{first + n - 1}/{size}" and got[2]["Content-Type"] == "audio/wav" and got[2]["Content-Length"] == str(n), (text, str(got[2]))
    assert "default-src 'none'" in got[2]["Content-Security-Policy"] and got[2]["X-Content-Type-Options"] == "nosniff"
for text in (f"bytes={size}-", f"bytes={size + 5}-{size + 9}", "bytes=-0"):
    got = expect(text, ask("GET", "/api/file?path=in/long.wav", Range=text), 416)
    assert got[2]["Content-Range"] == f"bytes */{size}"
for text in ("bytes=9-2", "bytes=", "bytes=-", "bytes=1-2,5-6", "bytes=x-", "lines=0-1", "bytes=99999999999999999999-", "bytes=0-99999999999999999999", "bytes=0x0-1"):  # none that is known: the whole is meant
    expect(text, ask("GET", "/api/file?path=in/long.wav", Range=text), 413)
expect("a range of what is no sound", ask("GET", "/api/file?path=data/table.csv", Range="bytes=0-9"), 415)
expect("a range of what is outside", ask("GET", "/api/file?path=../outside/secret.csv", Range="bytes=0-9"), 403)
os.remove(root + "/in/long.wav")
lap("paths")

# ---- long work says how far it is, and what is too much is cut

os.makedirs(root + "/in/large/a"), os.makedirs(root + "/in/large/b")
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(60):
    line = b"\0" + bytes(x * (i + 1) % 251 for x in range(9000))
    open(f"{root}/in/large/{'ab'[i % 2]}/{i}.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 3000, 3000, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(line * 3000, 1)) + chunk(b"IEND", b""))
answers, shares = [], []
t = threading.Thread(target=lambda: answers.append(ask("POST", "/api/look?ask=mine", json.dumps({"path": "in/large"}), Content_Type="application/json")))
t.start()
while t.is_alive():
    far = json.loads(expect("how far", get("/api/asked", ask="mine"), 200)[1])
    if far and far not in shares: shares.append(far)
    assert json.loads(get("/api/asked", ask="another")[1]) == json.loads(get("/api/asked", ask="")[1]) == {}
    time.sleep(0.1)
t.join()
expect("the look", answers[0], 200, "classes")
assert shares and all(0 < f["share"] < 1 and f["text"].startswith("reading ") and f["left"].endswith(" s") for f in shares), shares
assert get("/api/asked", ask="mine")[1] == b"{}"
shutil.rmtree(root + "/in/large")
with open(root + "/in/wide.csv", "w") as f:  # init says each value, in all 18 MB
    f.write("a,label\n" + "".join(f"{chr(97 + i % 24) * 750000},{i % 2}\n" for i in range(72)))
expect("an answer that is too much", post("/api/look", {"path": "in/wide.csv"}), 413, "vktrain init said more than 16 MiB, the page's limit")
os.remove(root + "/in/wide.csv")
lap("progress, an answer that is too much")

# ---- recipes

recipe = json.loads(expect("look", post("/api/look", {"path": "data/table.csv"}), 200)[1])["recipe"]
check = lambda text: json.loads(expect("check", post("/api/recipe/check", {"text": text}), 200)[1])
assert check(recipe) == {"fine": True}, check(recipe)
wrong = check(recipe.replace("lr: ", "lrr: "))
assert wrong["line"] == 1 + recipe[:recipe.index("  lr: ")].count("\n") and "did you mean 'optim.lr'" in wrong["why"], wrong
out = check(recipe.replace('path: "data/table.csv"', f'path: "{os.path.realpath(outside)}/secret.csv"'))
assert not out["fine"] and "outside the folders" in out["why"] and recipe.split("\n")[out["line"] - 1].strip().startswith("path:"), out
expect("a recipe is saved", post("/api/recipe/save", {"path": "t.yaml", "text": recipe}), 200, "vktrain train t.yaml")
expect("not over another", post("/api/recipe/save", {"path": "t.yaml", "text": recipe}), 409)
assert json.loads(get("/api/recipe", path="t.yaml")[1])["text"] == recipe == open(root + "/t.yaml").read()
for bad in ("data.path=/etc/passwd", "data.test_path=x", "data.tokenizer=/etc/passwd", "init=/etc", "data.labels=x", "model=x", "data.pathology=1", 5, "data.size"):
    expect(f"set {bad}", post("/api/look", {"path": "data/table.csv", "set": [bad]}), 400, "can't be set")
expect("a model elsewhere", post("/api/look", {"path": "data/table.csv", "init": "/etc/passwd"}), 403)
expect("a wrong value", post("/api/look", {"path": "data/table.csv", "set": ["data.label=nothing"]}), 422, "nothing")
kind = json.loads(expect("corrected", post("/api/look", {"path": "data/table.csv", "set": ["data.label=kind", "data.ignore=[price]"]}), 200)[1])
assert kind["task"] == "classify" and [c["as"] for c in kind["columns"]] == ["number", "label", "left out"], kind["columns"]
# Files outside the roots that recipes, options, runs or models name are read neither by the page nor by its children.
secret = os.path.realpath(outside) + "/secret.csv"
open(root + "/out.yaml", "w").write(recipe.replace('path: "data/table.csv"', f'path: "{secret}"'))
open(root + "/onnx.yaml", "w").write("data: {source: digits}\nmodel: {onnx: " + secret + "}\n")
for api, more in (("/api/start/train", {}), ("/api/start/study", {"kind": "lr"}), ("/api/plan", {}), ("/api/measure", {})):
    expect("a recipe of elsewhere by " + api, post(api, {"recipe": "out.yaml", **more}), 422, "outside the folders")
    expect("a model of elsewhere by " + api, post(api, {"recipe": "onnx.yaml", **more}), 422, "VKT_WITHIN")
expect("an option of elsewhere", post("/api/plan", {"recipe": "t.yaml", "set": [f"data.path={secret}"]}), 422, "not permitted")
os.makedirs(root + "/in/pipes/labels")
os.mkfifo(root + "/in/pipes/run.json"), os.mkfifo(root + "/in/pipes/study.json"), os.mkfifo(root + "/in/pipes/f.gguf")
expect("a run that is a pipe", post("/api/start/train", {"resume": True, "run": "in/pipes"}), 404, "no run.json")
expect("a study that is a pipe", get("/api/study", study="in/pipes"), 404)
assert post("/api/use/open", {"model": "in/pipes/f.gguf"})[0] in (400, 422)
expect("a long note", post("/api/start/train", {"recipe": "t.yaml", "note": "x" * 1001}), 400, "at most 1000 bytes")
os.rmdir(root + "/runs")
os.symlink(os.path.realpath(outside), root + "/runs")
assert "/runs" not in json.loads(expect("runs that lead out", post("/api/start/train", {"recipe": "t.yaml", "dry": True}), 200)[1])["command"]
for made_here in ("runs", "out.yaml", "onnx.yaml"): os.unlink(f"{root}/{made_here}")
expect("a body of GET", ask("GET", "/", "x" * 70000, Cookie="x=1"), 413)
table = json.loads(expect("options", ask("GET", "/api/options"), 200)[1])
assert any(o["name"] == "optim.lr" and o["help"] for o in table["options"]) and any(l["name"] == "relu" for l in table["layers"])
lap("recipes")

# ---- a long run: its curves come in parts, findings and report from another process; meanwhile the page is answered

def meanwhile(what, *request):
    """A slow request in a thread: its answer, how many others were answered until then, the slowest of them, and the request's own time."""
    got = []
    t = threading.Thread(target=lambda: got.append(ask(*request)))
    n, worst, began = 0, 0, time.time()
    t.start()
    while t.is_alive():
        start = time.time()
        expect("beside " + what, ask("GET", "/ui.css"), 200)
        n, worst = n + 1, max(worst, time.time() - start)
    t.join()
    lap(f"{what}: {n} others were answered, the slowest in {1000 * worst:.0f} ms")
    return got[0], n, worst, time.time() - began


os.makedirs(root + "/in/long")
with open(root + "/in/long/metrics.jsonl", "w") as f:
    for i in range(1, 200001): f.write('{"kind":"train","step":%d,"loss":%.4f,"accuracy":0.5,"grad_norm":0.25,"clip":1,"lr":0.001,"items_per_s":1000,"seconds":%.2f}\n' % (i, 1 + 1 / i, i / 100))
json.dump({"format": "vktrain run", "name": "long", "note": "of the recipe", "status": "done", "step": 200000, "total": 200000}, open(root + "/in/long/run.json", "w"))
listed = json.loads(expect("the runs", get("/api/runs", again=1), 200)[1])  # beside a link that leads out
assert os.path.islink(root + "/link") and {r["run"] for r in listed["runs"]} == {here + "/in/long", here + "/in/pipes"} and "wrong" not in listed, listed
read, said = 0, []
while read < 200000:
    j = json.loads(expect("the long run", get("/api/run", run="in/long", columns=100), 200)[1])
    said.append(j["steps"])
    assert j["steps"] == 200000 or j["reading"], j.keys()
    assert j["steps"] >= read, said
    read = j["steps"]
assert said[0] < 100000 and len(said) > 2 and "reading" not in json.loads(get("/api/run", run="in/long", columns=0)[1]), said
for what, path, text in (("findings", "/api/run/findings?run=in/long", b'"findings"'), ("a report", "/api/report?path=in/long", b"<svg")):
    got, n, worst, took = meanwhile(what, "GET", path)
    assert got[0] == 200 and text in got[1], got[:2]
    assert n >= 5, f"{what}: {n} others were answered meanwhile"
    assert took < 1 or worst < took / 2, f"{what} took {took:.2f} s, and another request meanwhile {worst:.2f} s"
lap("a long run")

# ---- a run's note

shutil.rmtree(root + "/in/pipes")

note = lambda run, text: post("/api/run/note", {"run": run, "note": text})
got = expect("a note", note("in/long", "it's \u00fc"), 200)
assert json.loads(got[1])["command"] == "vktrain runs in/long --note 'it'\\''s \u00fc'", got[1]
assert open(root + "/in/long/note.txt").read() == "it's \u00fc\n"
assert json.loads(get("/api/run", run="in/long", columns=0)[1])["info"]["note"] == "it's \u00fc"
for bad in ("two\nlines", "x" * 1001, "a\u0007b"): expect("a bad note", note("in/long", bad), 422, "one line")
expect("a note of no run", note("data", "x"), 422, "no run's folder")
for path in ("../outside", "link", "/etc", os.path.realpath(outside)): expect("a note outside", note(path, "x"), 403)
expect("no note", post("/api/run/note", {"run": "in/long"}), 400)
assert json.loads(get("/api/run", run="in/long", columns=0)[1])["info"]["note"] == "it's \u00fc"
os.symlink(os.path.realpath(outside) + "/note", root + "/in/long/note.txt.1"), os.rename(root + "/in/long/note.txt.1", root + "/in/long/note.txt")
expect("a note through a link", note("in/long", "x"), 200)  # takes the link's place
assert os.listdir(outside) == ["secret.csv"] and not os.path.islink(root + "/in/long/note.txt")
shutil.rmtree(root + "/in/long")

# ---- a client that goes takes its child process along; slow ones do not stop others; nothing grows

s = server.connect()
with open(root + "/big.csv", "w") as f: f.write("a,b,c\n" + "".join(f"{i},{i % 7},x{i % 5}\n" for i in range(100000)) * 12)  # takes seconds
body = json.dumps({"path": "big.csv"}).encode()
s.sendall(f"POST /api/look HTTP/1.1\r\nHost: localhost\r\nCookie: {mine}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
for _ in range(40):
    if children(): break
    time.sleep(0.05)
assert len(children()) == 1
slow = [server.connect() for _ in range(200)]
for x in slow: x.sendall(b"POST /api/look HTTP/1.1\r\nHost: localhost\r\nContent-Le")
start = time.time()
expect("beside slow ones", ask("GET", "/api/roots"), 200)
assert time.time() - start < 5
assert len(children()) == 1, "the file is too small to test this"
silent = [server.connect() for _ in range(100)]  # who says nothing delays nobody
start = time.time()
for i in range(20): expect("beside silent ones", ask("GET", "/ui.js"), 200)
beside = time.time() - start
for x in silent: x.close()
assert len(children()) == 1, f"a slow look ended before 20 other answers, which took {beside:.2f} s"
s.close()
for _ in range(15):
    if not children(): break
    time.sleep(0.1)
assert not children(), f"child processes are left: {children()}"
for x in slow: x.close()
before = memory()
for i in range(400):
    post("/api/recipe/check", {"text": recipe.replace("relu", "relo" if i % 2 else "relu")})
    get("/api/files", path="data")
    ask("GET", "/ui.js", Cookie="x=" + "y" * 3000)
    if i % 2: ask("GET", "/api/options")
# AddressSanitizer keeps what was freed.
assert memory() < before + 8192 or b"asan" in open(f"/proc/{pid}/maps", "rb").read(), f"memory grew from {before} to {memory()} KiB"
lap("child processes, slow ones, memory")
made = {"data", "link", "dangling.yaml", "pipe.csv", "in", "t.yaml", os.fsdecode(b"odd\xff%.csv")}
os.remove(root + "/big.csv")
assert set(os.listdir(root)) == made, os.listdir(root)
