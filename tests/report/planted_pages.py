"""Run folders, a study and benchmark files from formulas, the same on each machine: what golden pictures of pages are made of."""
import json, math, os, struct, zlib

CONFIG = """name: planted
data: {source: digits}
optim: {rule: adam, lr: %s}
schedule: {kind: cosine}
train: {steps: 300, batch: 64}
eval: {every: 30, batch: 256}
model: [flatten, {linear: %d}, relu, {dropout: 0.1}, linear]
"""
NAMES = "bread cheese olive onion pepper saffron tomato".split()


def write(path, value, lines=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f: f.write(value if isinstance(value, str) else "".join(json.dumps(v) + "\n" for v in value) if lines else json.dumps(value))


def picture(path, k):
    """16 x 16 grey pixels: rings around a place that k says."""
    chunk = lambda n, d: struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d))
    rows = b"".join(b"\0" + bytes(int(127 + 120 * math.sin(math.hypot(x - k, y - 8) * 1.3)) for x in range(16)) for y in range(16))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f: f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def errors(folder, names, rows):
    """The largest errors and doubtful labels as a run's end writes them: of pictures, or rows of a table with eight columns."""
    head, lines = "index,where,target,predicted,p(predicted),p(target),picture", []
    if rows: head += ",width,height,colour <of it>,note,a,b,c,d"
    for k in range(9):
        place = f"line {17 * k + 3}" if rows else f"data/spices/{names[k % 7]}/a-picture-with-a-long-name-{k}.png"
        lines.append(f"{k},{place},{names[k % len(names)]},{names[(k + 3) % len(names)]},{.98 - .03 * k:.4g},{.0004 * (k + 1):.4g},"
                     + ("" if rows else f"valid-errors/example-{k}.png") + (f",{k * .37:.4g},{-k},red & <b>white</b>,{'a sentence with many words ' * 3},1,2,3,4" if rows else ""))
        if not rows: picture(f"{folder}/valid-errors/example-{k}.png", k)
    write(f"{folder}/valid-errors.csv", "\n".join([head, *lines]) + "\n")
    write(f"{folder}/valid-doubtful.csv", "\n".join([head, *lines[:3]]) + "\n")


def run(folder, lr=0.003, width=64, floor=0.2, note="planted"):
    wave = lambda s, k: math.sin(12.9898 * s + k) * math.cos(4.1414 * s * k)
    train, evals, n = [], [], len(NAMES)
    for s in range(1, 301):
        train.append({"kind": "train", "step": s, "loss": 1.9 * math.exp(-s / 40) + floor + .04 * wave(s, 1), "accuracy": 1 - .8 * math.exp(-s / 30) + .01 * wave(s, 2) - .02,
                      "grad_norm": math.exp(1 - s / 150 + .4 * wave(s, 3)), "clip": 1, "lr": lr * (1 + math.cos(math.pi * s / 300)) / 2, "input_wait": 1e-5, "seconds": s * .002})
        if s % 30 == 0:
            right = [19 if s < 120 else 20 - k % 2 for k in range(n)]
            evals.append({"kind": "eval", "step": s, "split": "valid", "loss": 1.2 * math.exp(-s / 50) + floor + .02, "accuracy": sum(right) / (20 * n), "balanced_accuracy": sum(right) / (20 * n),
                          "macro_f1": sum(right) / (20 * n), "seconds": .01, "n": 20 * n, "class_n": [20] * n, "class_correct": right, "class_predicted": right})
            rows = ["index,target,predicted,correct," + ",".join(f"p({c})" for c in NAMES)]
            for i in range(12):
                t, p = i % n, (i * 5 + 1) % n if i * 25 > s else i % n
                rows.append(f"{i},{NAMES[t]},{NAMES[p]},{int(t == p)}," + ",".join("0.94" if k == p else "0.01" for k in range(n)))
            write(f"{folder}/predictions/step-{s:08d}.csv", "\n".join(rows) + "\n")
    lines = sorted(train + evals, key=lambda r: (r["step"], r["kind"] == "eval"))
    write(f"{folder}/metrics.jsonl", lines, True)
    write(f"{folder}/confusion-valid.csv", "target \\ predicted," + ",".join(NAMES) + "\n" + "".join(
        f"{a}," + ",".join(str(20 - i % 2 if i == k else int(k == (i + 2) % n and i % 2)) for k in range(n)) + "\n" for i, a in enumerate(NAMES)))
    errors(folder, NAMES, False)
    best = evals[-1]
    write(f"{folder}/run.json", {"format": "vktrain run", "version": "0.2.0", "name": "planted", "note": note, "status": "done", "started": "2026-01-02T03:04:05Z",
          "finished": "2026-01-02T03:04:06Z", "command": "vktrain train planted.yaml", "source": "planted.yaml", "device": "a device", "driver": "a driver 1.2.3",
          "data": "140 spices of 7 classes", "seed": 1, "n_params": 26122, "n_train": 1400, "n_valid": 140, "n_test": 140, "n_judged": 140, "n_doubtful": 3, "judged_wrong": .05, "surest_wrong": 0.0, "surest_quarter_wrong": 0.0, "step": 300, "total": 300, "metric": "loss",
          "best_metric": best["loss"], "best_step": 300, "valid_loss": best["loss"], "valid_accuracy": .95, "test_loss": best["loss"] + .01, "test_accuracy": .94,
          "items_per_s": 32000.0, "seconds": .6, "config": CONFIG % (lr, width)})


def large(folder):
    """A run that fills a page: 6,000 steps, 40 classes of long names, all curves of a classifier, importance."""
    run(folder)
    wave = lambda s, k: math.sin(12.9898 * s + k) * math.cos(4.1414 * s * k)
    names, lines, steps, about = [f"species-{a}{b}-{a}" for a in "abcdefgh" for b in "vwxyz"], [], 6000, json.load(open(f"{folder}/run.json"))
    write(f"{folder}/run.json", {**about, "step": steps, "total": steps, "config": about["config"].replace("lr: 0.003", "lr: 0.003, clip: 1").replace("steps: 300", f"steps: {steps}")})
    errors(folder, names, True)
    for s in range(1, steps + 1):
        lines.append({"kind": "train", "step": s, "loss": round(1.9 * math.exp(-s / 1500) + .3 + .1 * wave(s, 1), 6), "accuracy": round(.9 + .05 * wave(s, 2), 6),
                      "grad_norm": round(math.exp(.4 * wave(s, 3)), 6), "clip": min(1, round(1 + .1 * wave(s, 4), 4)), "lr": round(.0015 * (1 + math.cos(math.pi * s / steps)), 9),
                      "input_wait": 1e-5, "seconds": s * .002, "items_per_s": round(32000 * (1 + .2 * wave(s, 5)), 1)})
        if s % 60 == 0:
            right = [20 - (k + s) % 3 for k in range(40)]
            lines.append({"kind": "eval", "step": s, "split": "valid", "loss": 1.2 * math.exp(-s / 1500) + .4, "accuracy": sum(right) / 800, "seconds": .01, "n": 800,
                          "class_n": [20] * 40, "class_correct": right, "class_predicted": right})
        if s % 500 == 0:
            write(f"{folder}/predictions/step-{s:08d}.csv", "index,target,predicted,correct," + ",".join(f"p({c})" for c in names) + "\n" + "".join(
                f"{i},{names[i]},{names[(i + (i * 300 > s)) % 40]},{int(i * 300 <= s)}," + ",".join(["0.025"] * 40) + "\n" for i in range(32)))
    write(f"{folder}/metrics.jsonl", lines, True)
    write(f"{folder}/confusion-valid.csv", "target \\ predicted," + ",".join(names) + "\n" + "".join(
        f"{a}," + ",".join(str(17 if i == k else int((i * 7 + k * 3) % 13 == 0)) for k in range(40)) + "\n" for i, a in enumerate(names)))
    ranking = "class,positives,examples,threshold,recall,false_positive_rate,precision\n"
    for k, name in enumerate(names[:8]):
        for i in range(1, 401):  # 80 of a class among 3200
            right = round(80 * (i / 400) ** (.2 + .05 * k)) if k else min(i, 80)  # the first class is ranked without a mistake
            wrong = round(3120 * (i / 400) ** (2 + k / 4)) if k else max(i - 80, 0) * 3120 // 320
            ranking += f"{name},80,3200,{1 - i / 400:.6f},{right / 80:.6f},{wrong / 3120:.6f},{right / max(right + wrong, 1):.6f}\n"
    write(f"{folder}/valid-ranking.csv", ranking)
    write(f"{folder}/valid-reliability.csv", "from,to,examples,confidence,accuracy,calibrated_examples,calibrated_confidence,calibrated_accuracy\n" + "".join(
        f"{i / 15},{(i + 1) / 15},{50 + i},{(i + .4) / 15:.6f},{(i + 1) / 16:.6f},{50 + i},{(i + .6) / 15:.6f},{(i + .9) / 16:.6f}\n" for i in range(15)))
    write(f"{folder}/valid-importance.csv", "column,shuffles,examples,loss_rise,loss_rise_std,accuracy_fall,accuracy_fall_std\n" + "".join(
        f"measurement_{i},5,800,{1 / (i + 1):.6f},{.01:.6f},{.2 / (i + 1):.6f},{.005:.6f}\n" for i in range(40)))


def study(folder):
    trials, rows = [], []
    for i in range(12):
        lr, decay, rule = .0005 * 10 ** (i / 6), 1e-5 * 7 ** ((i * 5) % 12 / 3), "adamw" if i % 3 else "sgd"
        best = .15 + .3 * abs(math.log10(lr / .008)) + (.2 if rule == "sgd" else 0)
        trials.append({"name": f"trial-{i:04d}", "group": "search", "state": "infeasible" if i == 11 else "pruned" if i in (0, 3) else "done", "steps": 300, "best_step": 300,
                       "set": [f"optim.lr={lr:.4g}", f"optim.weight_decay={decay:.4g}", f"optim.rule={rule}"], "best": None if i == 11 else best, "first_loss": 2.0, "final_loss": best,
                       "why": "at step 100 its best loss, 0.9, is not among the best 2 of 4 trials there" if i in (0, 3) else "diverged" if i == 11 else None,
                       "rise": 0.0, "clipped": 0.0, "items_per_s": 32000.0, "step_ms": 2.0, "seconds": .6, "device_bytes": 1000, "to_target": 0})
        rows.append([f"trial-{i:04d}", f"{lr:.4g}", f"{decay:.4g}", rule, f"{best:.4g}" if i < 11 else "-", "300", "stable" if i < 11 else "diverged"])
        if i < 11: run(f"{folder}/trial-{i:04d}", lr, 64, best)
    write(f"{folder}/study.json", {"format": "vktrain study", "version": "0.2.0", "kind": "search", "name": "planted", "note": "", "recipe": "planted.yaml",
          "study_command": "vktrain study search planted.yaml --trials 12", "started": "2026-01-02T03:04:05Z", "status": "done", "metric": "loss", "metric_sign": -1, "seed": 0,
          "steps": 300, "space": "optim.lr: {log: [0.0005, 0.05]}\n", "set": [], "config": CONFIG % (.003, 64), "trials": trials, "columns": ["trial", "optim.lr",
          "optim.weight_decay", "optim.rule", "best valid loss", "at step", "training"], "rows": rows, "apply": [], "playbook": "Quasi-random search covers the space evenly.",
          "advice": ["use optim.lr=0.007339 of trial-0007: better than the recipe on validation", "try `vktrain study lr planted.yaml` next",
                     "what limits it: kernels: 40% of a step; the host: 20%; waiting: 40%"], "command": "vktrain train planted.yaml --set optim.lr=0.007339"})


def machines(folder):
    for i, (device, score) in enumerate([("Radeon of a test", 812.5), ("Arc of a test", 640.25), ("llvmpipe of a test", 9.5), ("without a score", None)]):
        for k in range(2 if i == 1 else 1):
            info = {"device": device, "type": "gpu", "driver": f"driver {i}.2.3", "api": "1.4.305", "caps": "", "version": "0.2.0", "commit": f"{i}aa75f4f0000", "host": "8 CPUs",
                    "power": "mains", "date": "2026-01-02T03:04:05Z", "clock": "device", "settings": "full", "ids": f"100{i}:73a{i}", "os": "Linux 6.1", "cpu": "a CPU of 8 cores",
                    "memory": "32 GiB", "clocks": "unknown", "limits": "unknown", "shader_compiler": "glslc"}
            def row(group, name, unit, better, value, **more):
                none = dict.fromkeys(("gpu_value", "gflops", "gbps", "percent", "error", "items_per_s", "host_us", "kernels_ms", "energy_j"))
                return {"group": group, "name": name, "unit": unit, "better": better, "runs": 9, "value": value, "min": .9 * value, "max": 1.2 * value, "q1": .95 * value, "q3": 1.1 * value, "note": "", **none, **more}
            slow = (1, 1.7, 90, 4)[i]
            rows = [row("ceilings", "copy 64 MiB", "GB/s", "higher", 400.0 / slow + k), row("steps", "MLP of a test, adam", "ms", "lower", .3 * slow + k, items_per_s=128000 / (.3 * slow + k), energy_j=.2),
                    row("steps", "GPT of a test, bf16", "ms", "lower", 7.5 * slow), row("ops", "matmul of a test", "us", "lower", 90 * slow, error=.5, percent=70 / slow ** .3),
                    row("ops", "add of a test", "us", "lower", 9 * slow, error=.5, percent=82.5)]
            write(f"{folder}/{i}-{k}.json", {"vktrain_bench": 2 if score else 1, "info": info, "results": rows, "left_out": [],
                                             **({"score": {"version": 1, "value": score + k}} if score else {})})
