#!/usr/bin/env python3
"""The peers of `vktrain bench --host`: the same work in pandas, PyTorch and Python's own modules, medians of five in ms.
usage: host_peers.py [--quick] (what is not installed is left out, and said)"""
import json, pathlib, random, statistics, sys, tempfile, time

quick = "--quick" in sys.argv[1:]
rows, runs, steps, megabytes = (20000, 500, 20000, 8) if quick else (500000, 10000, 1000000, 256)


def measure(name, n, of, work):
    work()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    median = statistics.median(times)
    print(f"{name}, {n} {of}: {1e3 * median:.1f} ms, {n / median:.4g} items/s")


def table(folder):
    try:
        import pandas
    except ImportError:
        return print("table: pandas is not installed: left out")
    path, draw = folder / "t.csv", random.Random(1)
    with open(path, "w") as f:
        f.write(",".join(f"x{k}" for k in range(11)) + ",label\n")
        for _ in range(rows):
            x = [draw.randint(-100000, 100000) / 1e4 for _ in range(11)]
            f.write(",".join(map(str, x)) + (",ab\n" if x[0] + x[1] * x[2] > 0 else ",cd\n"))
    measure("pandas.read_csv", rows, "rows", lambda: pandas.read_csv(path))


def lists(folder):
    text = json.dumps({"name": "bench", "status": "done", "config": "seed: 1", **{f"key{i}": i / 7 for i in range(40)}})
    for i in range(runs):
        (folder / f"run-{i}").mkdir()
        (folder / f"run-{i}" / "run.json").write_text(text)
    measure("json.load of each run", runs, "runs",
            lambda: [json.loads((d / "run.json").read_text()) for d in folder.iterdir() if d.is_dir()])
    path = folder / "metrics.jsonl"
    with open(path, "w") as f:
        for i in range(1, steps + 1):
            f.write(f'{{"kind":"train","step":{i},"loss":{i % 7}.{i:09},"grad_norm":1.25,"clip":1,"lr":0.003,"input_wait":0,'
                    f'"seconds":{i}.5}}\n')

    def read():
        with open(path) as f:
            return sum(json.loads(line)["loss"] for line in f)
    measure("json.loads of each line", steps, "steps", read)


def checkpoint(folder):
    try:
        import os
        import torch
        from safetensors.torch import save_file
    except ImportError:
        return print("checkpoint: torch and safetensors are not installed: left out")
    weights = {"w": torch.zeros(megabytes << 18)}

    def save():
        save_file(weights, folder / "w.safetensors")
        with open(folder / "w.safetensors", "rb+") as f:
            os.fsync(f.fileno())
    measure("safetensors' save_file and fsync", megabytes, "MiB", save)


for part in (table, lists, checkpoint):
    with tempfile.TemporaryDirectory() as folder:
        part(pathlib.Path(folder))
