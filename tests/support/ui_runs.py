"""vktrain ui as a program asks it: the queue, runs that go on after a stop and after the page's own end, curves, comparison, predictions.
usage: ui_runs.py PROGRAM FOLDER"""
import glob, json, os, shutil, signal, subprocess, sys, threading, time
from ui_client import Refused, Ui

program, work = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
QUOTED = '"note=so o"' if os.environ.get("VKT_STOP") else "'note=so o'"  # on Windows
SETS = ["train.steps=900", "eval.every=300", "eval.predictions=4", "eval.baseline=none"]


def refused(status, text, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except Refused as e:
        assert e.status == status and text in e.message, (e.status, e.message, text)
    else:
        raise AssertionError(f"not refused: {arguments} {more}")


def run_command(*arguments):
    got = subprocess.run([program, *arguments], capture_output=True, text=True)
    return got.returncode, got.stdout, got.stderr


def steps_of(ui, run): return ui.get("/api/run", run=run).get("steps", 0)


def checkpoint(run, step): return open(f"{run.removeprefix('Z:')}/checkpoints/step-{step:08d}/model.safetensors", "rb").read()


def what_fails(ui):
    open("bad.yaml", "w").write("data: {source: digits}\nmodel: [{liner: 4}]\n")
    refused(422, "'linear'", ui.post, "/api/start/train", recipe="bad.yaml")
    open("bad.yaml", "w").write("data: {source: csv, path: gone.csv}\nmodel: [linear]\n")
    j = ui.ended(ui.post("/api/start/train", recipe="bad.yaml")["id"])
    assert j["rc"] == 4 and "gone.csv" in j["error"], j
    assert "gone.csv" in ui.get("/api/job", id=j["id"])["text"]
    ui.post("/api/job/forget", id=j["id"])
    assert not ui.jobs()
    for recipe in ("/etc/passwd", "../x.yaml", "nowhere.yaml", "-h"): refused(403, "recipe", ui.post, "/api/start/train", recipe=recipe)
    refused(403, "run", ui.post, "/api/start/train", recipe="digits", run="/tmp/elsewhere")
    for value in ("--device", "x", ["a=b"]): refused(400, "KEY=VALUE", ui.post, "/api/start/train", recipe="digits", set=[value])
    refused(400, "device", ui.post, "/api/start/train", recipe="digits", device="--help")
    refused(400, "kind", ui.post, "/api/start/study", recipe="digits", kind="rm")
    refused(400, "format", ui.post, "/api/start/export", model="bad.yaml", format="exe")
    assert not ui.jobs()


def plan(ui):
    j = ui.post("/api/plan", recipe="digits", set=["train.batch=32"])
    assert "peak device memory" in j["plan"] and "  batch: 32" in j["configuration"], j
    refused(422, "train.batch", ui.post, "/api/plan", recipe="digits", set=["train.batch=0"])
    said = ui.post("/api/start/train", recipe="digits", set=["train.steps=9"], note="so o", run="here", dry=True)
    assert said == {"command": f"vktrain train digits --set train.steps=9 --set {QUOTED} --run here"}, said
    assert not ui.jobs()


def stop_and_resume(ui):
    """Stopped by the page in the middle and gone on with: the bits of the command line's straight run."""
    first = ui.post("/api/start/train", recipe="digits", set=SETS, run="stopped")
    second = ui.post("/api/start/train", recipe="digits", set=SETS, run="waits")
    refused(409, "already", ui.post, "/api/start/train", recipe="digits", run="waits")
    run = first["folder"]
    ui.until("its first steps", lambda: steps_of(ui, run) > 20)
    far = ui.until("how far it is", lambda: (ui.job(first["id"]) or {}).get("progress"))
    assert 0 < far["share"] < 1 and far["text"].startswith("step ") and far["left"], far
    for line in ("data.train_fraction 0.5: 500 of 1000 training examples are used", "'dir': 3 of 800 pictures may be transparent", "step 12/40 of another kind", "[12/40", "12 of 40 fp32 products run"):
        with open(glob.glob(os.path.join(os.environ["VKT_CACHE"], "ui", "*", f"{first['id']}.log"))[0], "a") as log: log.write(f"vktrain: {line}\n")
        far = ui.job(first["id"])["progress"]
        assert far["text"].startswith("step ") and far["left"], (line, far)
    assert ui.job(second["id"])["state"] == "queued" and ui.get("/api/run", run=second["folder"]) == {"waiting": True}
    ui.post("/api/job/stop", id=second["id"])
    assert ui.job(second["id"])["state"] == "ended" and not os.path.exists("waits")
    ui.post("/api/job/stop", id=first["id"])
    j = ui.ended(first["id"])
    info = ui.get("/api/run", run=run)["info"]
    assert j["rc"] == 130 and info["status"] == "interrupted" and 20 < info["step"] < 900 and not info["alive"], (j, info)
    checkpoint(run, info["step"])  # the stop has saved it
    refused(409, "there is a run", ui.post, "/api/start/train", recipe="digits", run="stopped")
    again = ui.post("/api/start/train", run=run, resume=True)
    assert again["command"] == "vktrain train digits --run stopped --resume", again
    assert ui.ended(again["id"])["rc"] == 0
    rc, _, err = run_command("train", "digits", *(w for s in SETS for w in ("--set", s)), "--run", "straight", "--quiet")
    assert rc == 0, err
    assert checkpoint("stopped", 900) == checkpoint("straight", 900), "a run that the page stopped and resumed has other bits"


def outlives(ui):
    """The page's program is killed: the run goes on, and the next one finds it and the queue."""
    long = [s for s in SETS if "steps" not in s and "every" not in s] + ["train.steps=2000000", "eval.every=500000"]
    first = ui.post("/api/start/train", recipe="digits", set=long, run="long")
    second = ui.post("/api/start/train", recipe="bad.yaml")
    ui.until("its first steps", lambda: steps_of(ui, first["folder"]) > 5)
    ui.kill()
    ui = Ui(program).enter()
    before = steps_of(ui, first["folder"])
    assert ui.job(first["id"])["state"] == "running" and ui.job(second["id"])["state"] == "queued", ui.jobs()
    ui.until("more steps", lambda: steps_of(ui, first["folder"]) > before)
    other = Ui(program).enter()  # a second page over the same folder does not touch the queue
    refused(409, "another vktrain ui", other.post, "/api/start/train", recipe="digits")
    assert other.close() == 130
    ui.post("/api/job/stop", id=first["id"])
    j = ui.ended(first["id"])
    assert ui.get("/api/run", run=first["folder"])["info"]["status"] == "interrupted" and j["rc"] == 130, j
    assert ui.ended(second["id"])["rc"] == 4  # what waited has begun
    return ui


def command_lines_own(ui):
    """A run of the command line is shown as running, and can be stopped from the page."""
    child = subprocess.Popen([program, "train", "digits", "--run", "own", "--quiet", "--set", "train.steps=2000000", "--set", "eval.every=500000"], stderr=subprocess.DEVNULL)
    shown = lambda: next((x for x in ui.get("/api/runs", filter="own", again=1)["runs"] if x["alive"]), None)
    run = ui.until("the other run", shown)["run"]
    ui.until("its first steps", lambda: steps_of(ui, run) > 5)
    refused(409, "in progress", ui.post, "/api/start/train", run=run, resume=True)
    refused(400, "order", ui.post, "/api/run/order", run=run, order="kill")
    ui.post("/api/run/order", run=run, order="stop")
    assert child.wait(60) == 130
    refused(409, "not in progress", ui.post, "/api/run/order", run=run, order="stop")


def table(ui):
    names = lambda **q: [os.path.basename(x["run"]) for x in ui.get("/api/runs", again=1, **q)["runs"]]
    assert set(names()) == {"stopped", "straight", "long", "own"}, names()
    assert names(filter="status=done", sort="run") == ["stopped", "straight"] == names(filter="step>=900 step<=900", sort="run")
    assert names(sort="-run") == sorted(names(), reverse=True)
    assert names(filter="strai") == ["straight"] and ui.get("/api/runs", filter="strai", n=0)["all"] == 1
    refused(400, "neither a field", ui.get, "/api/runs", filter="nonsense=1")
    refused(400, "neither a field", ui.get, "/api/runs", sort="nonsense")
    j = ui.post("/api/compare", runs=["straight", "own"])
    differ = {o["key"]: o["values"] for o in j["options"]}
    assert differ["train.steps"] == ["900", "2000000"] and "optim.lr" not in differ, differ
    assert j["command"] == "vktrain runs straight own --compare", j["command"]
    refused(400, "two to six", ui.post, "/api/compare", runs=["straight"])
    refused(404, "", ui.post, "/api/compare", runs=["straight", "bad.yaml"])


def one_run(ui):
    j = ui.get("/api/run", run="straight")
    loss = next(c for c in j["curves"] if c["key"] == "loss")
    assert [s["name"] for s in loss["series"]] == ["training", "valid", "test"], loss["series"]
    assert loss["series"][1]["x"] == [300, 600, 900]
    assert "curves" not in ui.get("/api/run", run="straight", have=j["have"], columns=100)  # nothing is new: nothing is sent
    found = ui.get("/api/run/findings", run="straight")["findings"]
    _, out, _ = run_command("report", "straight", "-o", "straight.html")
    page = open("straight.html").read()
    assert all(f["text"].split("'")[0].split("<")[0][:40] in page for f in found), found
    more = ui.get("/api/run/more", run="straight")
    assert more["confusion"].startswith("target") and more["predictions"].startswith("index") and "steps: 900" in more["config"]
    status, kind, data = ui.raw("GET", "/api/report?path=straight")
    assert status == 200 and kind.startswith("text/html") and b"Findings" in data and not os.path.exists("straight/report.html")


def thinned(ui):
    """A hundred thousand steps: some hundred numbers, the one spike among them; and broken lines do no harm."""
    shutil.copytree("straight", "large")
    with open("large/metrics.jsonl", "w") as f:
        for i in range(1, 100001): f.write('{"kind": "train", "step": %d, "loss": %s, "lr": 0.1}\n' % (i, 9.5 if i == 54321 else "null" if i % 1000 == 0 else 1 / i))
    ui.until("it is read to its end", lambda: "reading" not in ui.get("/api/run", run="large", columns=0))
    j = ui.get("/api/run", run="large", columns=100)
    line = next(c for c in j["curves"] if c["key"] == "loss")["series"][0]
    assert j["steps"] == 100000 and 100 <= len(line["x"]) <= 300, len(line["x"])
    assert line["y"][line["x"].index(54321)] == 9.5 and line["x"] == sorted(set(line["x"])) and line["x"][0] == 1 and line["x"][-1] == 99999
    began = time.process_time()
    for _ in range(5): ui.get("/api/run", run="large", have=j["have"])
    with open("large/metrics.jsonl", "a") as f: f.write('{"kind": "train", "step": 100001, "loss": 0.25, "lr": 0.1}\n')
    grown = ui.get("/api/run", run="large", have=j["have"], columns=100)
    assert grown["steps"] == 100001 and next(c for c in grown["curves"] if c["key"] == "loss")["series"][0]["y"][-1] == 0.25
    shutil.rmtree("large")
    refused(404, "", ui.get, "/api/run", run="large")
    # A file of a stranger's, whose steps go to and fro: as few numbers, and the server lives.
    shutil.copytree("straight", "fro")
    with open("fro/metrics.jsonl", "w") as f:
        for i in range(20000): f.write('{"kind": "train", "step": %d, "loss": %g, "lr": 0.1}\n' % (1 + 99999 * (i % 2), i % 7))
        f.write('{"kind": "train", "step": 100000, "loss": 1, "lr": 0.1}\n')
    ui.until("it is read to its end", lambda: "reading" not in ui.get("/api/run", run="fro", columns=0))
    for columns in (1, 100, 2000):
        line = next(c for c in ui.get("/api/run", run="fro", columns=columns)["curves"] if c["key"] == "loss")["series"][0]
        assert 2 <= len(line["x"]) <= 3 * columns, (columns, len(line["x"]))
    shutil.rmtree("fro")


def predictions(ui):
    refused(409, "no model", lambda: ui.answer(*ui.raw("POST", "/predict", b"[]", {"Content-Type": "application/octet-stream"})))
    facts = ui.post("/api/use/open", model="straight")
    assert facts["kind"] == "table" and len(facts["columns"]) == 64 and facts["command"] == "vktrain serve straight", facts
    row = [(7 * i) % 17 for i in range(64)]
    open("row.csv", "w").write(",".join(map(str, row)) + "\n")
    got = ui.answer(*ui.raw("POST", "/predict", json.dumps([row]), {"Content-Type": "application/octet-stream"}))["predictions"][0]
    rc, out, err = run_command("predict", "straight", "row.csv", "--json", "--top", "5")
    want = json.loads(out.splitlines()[0]) if not out.lstrip().startswith("[") else json.loads(out)[0]
    assert got["predicted"] == want["predicted"] and [c["class"] for c in got["classes"]] == [c["class"] for c in want["classes"]], (got, want)
    refused(409, "no language model", ui.post, "/v1/chat/completions", messages=[])
    refused(422, "", ui.post, "/api/use/open", model="bad.yaml")
    refused(409, "no model", lambda: ui.answer(*ui.raw("POST", "/predict", b"[]", {"Content-Type": "application/octet-stream"})))
    j = ui.ended(ui.post("/api/start/export", model="straight", format="onnx")["id"])
    assert j["rc"] == 0 and os.path.getsize("straight.onnx") > 1000, j


def opening(ui):
    """While a model is opened the page is answered, another is refused, and it can be closed before it is open."""
    def start(model):
        got = []
        t = threading.Thread(target=lambda: got.append(ui.raw("POST", "/api/use/open", json.dumps({"model": model}), {"Content-Type": "application/json"})))
        t.start()
        return t, got
    def under_way(model, other):
        """The thread that opens it; again, where the other one came first, or the model was open already."""
        for _ in range(50):
            t, got = start(model)
            time.sleep(0.02)
            said = ui.raw("POST", "/api/use/open", json.dumps({"model": other}), {"Content-Type": "application/json"})
            if said[0] == 409: return t, got, said
            t.join()
            ui.post("/api/use/close")
        raise AssertionError(f"{other} was not refused while {model} was opened: {said}")
    t, got, said = under_way("straight", "stopped")
    n = 0
    while t.is_alive() and n < 20:
        ui.get("/api/roots")
        n += 1
    t.join()
    assert b"is being opened" in said[2] and got[0][0] == 200 and json.loads(got[0][2])["path"].endswith("straight"), (got, said)
    assert n >= 3, n
    ui.post("/api/use/close")
    t, got, said = under_way("stopped", "straight")
    ui.post("/api/use/close")
    facts = ui.post("/api/use/open", model="straight")  # waits for the end of what was closed, then it is opened
    t.join()
    assert facts["path"].endswith("straight") and got[0][0] in (200, 409), (facts, got)
    row = ui.answer(*ui.raw("POST", "/predict", json.dumps([[0] * 64]), {"Content-Type": "application/octet-stream"}))
    assert len(row["predictions"]) == 1
    ui.post("/api/use/close")
    refused(409, "no model", lambda: ui.answer(*ui.raw("POST", "/predict", b"[]", {"Content-Type": "application/octet-stream"})))


def texts(ui):
    """A language model is trained, shows what it writes, and goes on with a text, whole and in parts."""
    open("t.txt", "w").write("the cat sat on the mat. " * 200)
    open("t.yaml", "w").write("name: t\ndata: {source: text, path: t.txt, tokenizer: bytes, context: 32}\nmodel: [{transformer: {layers: 1, width: 32, heads: 2}}]\n"
                              "train: {steps: 10, batch: 4}\neval: {every: 10}\nsamples: {tokens: 8}\n")
    j = ui.ended(ui.post("/api/start/train", recipe="t.yaml", run="lm")["id"])
    assert j["rc"] == 0 and ui.get("/api/run", run="lm")["sample"]["step"] == 10, j
    facts = ui.post("/api/use/open", model="lm")
    assert facts["kind"] == "text" and not facts["chat"], facts
    ask = {"prompt": "the c", "max_tokens": 5, "temperature": 0}
    whole = ui.post("/v1/completions", **ask)["choices"][0]["text"]
    _, kind, data = ui.raw("POST", "/v1/completions", json.dumps({**ask, "stream": True}), {"Content-Type": "application/json"})
    parts = [json.loads(line[6:])["choices"][0]["text"] for line in data.decode().split("\n\n") if line.startswith("data: {")]
    assert kind.startswith("text/event-stream") and "".join(parts) == whole and data.endswith(b"data: [DONE]\n\n"), (whole, data)
    refused(409, "no model of pictures", lambda: ui.answer(*ui.raw("POST", "/predict", b"[]", {"Content-Type": "application/octet-stream"})))
    ui.post("/api/use/close")
    refused(409, "no language model", ui.post, "/v1/completions", **ask)


def aside(ui):
    """While thousands of runs are read other requests are answered; a folder of many is refused as a run at once."""
    text = open("straight/run.json").read()
    for i in range(4000):
        os.makedirs(f"crowd/{i}")
        open(f"crowd/{i}/run.json", "w").write(text)
    n = 0
    for _ in range(20):  # a machine may be so fast, or so busy, that it takes some tries
        got = []
        t = threading.Thread(target=lambda: got.append(ui.get("/api/runs", again=1, filter="crowd", n=3)))
        t.start()
        while t.is_alive():
            ui.get("/api/roots")
            n += t.is_alive()
        t.join()
        assert got[0]["all"] == 4000 and len(got[0]["runs"]) == 3, got
        if n >= 10: break
    assert n >= 10, n
    several = [threading.Thread(target=lambda i=i: got.append(ui.get("/api/runs", sort="-best" if i % 2 else "run", **{"from": 3999, "n": 9}))) for i in range(8)]
    for t in several: t.start()
    for t in several: t.join()
    assert len(got) == 9 and all(len(g["runs"]) == min(9, g["all"] - 3999) for g in got[1:]), got
    refused(404, "no run", ui.get, "/api/run", run="crowd")
    refused(404, "no run any more", ui.post, "/api/compare", runs=["straight", "crowd"])
    shutil.rmtree("crowd")
    ui.get("/api/runs", again=1)


def studies(ui):
    """A study in the queue tells its share; the list has it."""
    j = ui.post("/api/start/study", recipe="digits", kind="lr", points="3", steps="300")
    shares = set()
    def ended():
        now = ui.job(j["id"])
        if "progress" in now: shares.add(now["progress"]["share"])
        return now["state"] == "ended"
    ui.until("the study's end", ended)
    assert any(0 < s < 1 for s in shares), shares
    assert ui.job(j["id"])["rc"] == 0
    assert "progress" not in ui.job(j["id"])
    one = ui.get("/api/studies")["studies"]
    assert [s["share"] for s in one] == [1] and one[0]["ended"] == one[0]["trials"] >= 3, one


def what_is_missing():
    """Folders of --root that are gone are named, each of them, and the runs of the rest are listed."""
    os.mkdir("gone"), os.mkdir("lost")
    ui = Ui(program, "--root", ".", "--root", "gone", "--root", "lost").enter()
    assert "wrong" not in ui.get("/api/runs", again=1)
    os.rmdir("gone"), os.rmdir("lost")
    j = ui.get("/api/runs", again=1)
    assert j["all"] > 3 and "gone" in j["wrong"] and "; " in j["wrong"] and "lost" in j["wrong"], j
    assert ui.close() == 130


def ending():
    """A server that ends answers requests whose child still runs with 503; the next server removes the pages that old children left."""
    cache = os.path.join(os.environ["VKT_CACHE"], "ui")
    old, new, own = (os.path.join(cache, name) for name in ("report-1-2.html.tmp3-4", "report-1-3.html", "queue-of-mine"))
    for path in (old, new, own): open(path, "w").close()
    for path in (old, own): os.utime(path, (1e9, 1e9))
    ui = Ui(program).enter()
    assert [os.path.exists(path) for path in (old, new, own)] == [False, True, True], os.listdir(cache)
    with open("big.csv", "w") as f: f.write("a,b,c\n" + "".join(f"{i},{i % 7},x{i % 5}\n" for i in range(100000)) * 40)
    got, children = [], f"/proc/{ui.process.pid}/task/{ui.process.pid}/children"
    t = threading.Thread(target=lambda: got.append(ui.raw("POST", "/api/look", json.dumps({"path": "big.csv"}), {"Content-Type": "application/json"})))
    t.start()
    if "VKT_STOP" in os.environ: time.sleep(2)  # Wine's children are no children here
    else: ui.until("it looks", lambda: open(children).read().split())
    assert ui.close() == 130
    t.join()
    assert got[0][0] == 503 and b"the server is ending" in got[0][2], got


ui = Ui(program).enter()
try:
    what_fails(ui)
    plan(ui)
    stop_and_resume(ui)
    ui = outlives(ui)
    command_lines_own(ui)
    table(ui)
    one_run(ui)
    thinned(ui)
    predictions(ui)
    opening(ui)
    texts(ui)
    aside(ui)
    studies(ui)
    assert ui.close() == 130
    what_is_missing()
    ending()
except BaseException:
    if ui.process.poll() is None:
        for j in ui.jobs():
            if j["state"] == "running": ui.post("/api/job/stop", id=j["id"])
        ui.close()
    sys.stderr.write(open("ui.log").read()[-2000:])
    raise
print("test_ui_runs: passed")
