#!/usr/bin/env bash
# Commands whose memory must not grow with what they read, or by no more than what is kept of it, by their peak. usage: test_constant_memory.sh PROGRAM
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 - "$program" <<'P'
import json, pathlib, subprocess, sys

measure = """import resource, subprocess, sys
r = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(r.returncode)"""

def require(what, most, *words):  # MiB of one command, which a process of its own measures
    mib = float(subprocess.run([sys.executable, "-c", measure, sys.argv[1], *words], check=True, stdout=subprocess.PIPE).stdout)
    print(f"test_constant_memory: {what}: {mib:.0f} of at most {most} MiB")
    assert mib <= most, what

line = "the quick brown foxes jump over so many lazy dogs, and so on, "
with open("long.txt", "w") as f:  # 27 MB, one document
    for i in range(200000): f.write(f"{i} {line}{line}\n")
with open("long.jsonl", "w") as f:
    for i in range(200000): f.write(json.dumps({"text": f"{i} {line}{line}"}) + "\n")
require("a text packed as bytes", 32, "pack", "long.txt", "--tokenizer", "bytes", "--out", "a")
require("JSON lines packed as bytes", 32, "pack", "long.jsonl", "--tokenizer", "bytes", "--out", "b")

# 88 bytes a step, and two or three numbers of it at a time.
pathlib.Path("run").mkdir()
pathlib.Path("run/run.json").write_text(json.dumps({"format": "vktrain run", "status": "done", "step": 250000, "total": 250000}))
with open("run/metrics.jsonl", "w") as f:
    for i in range(1, 250001):
        f.write(f'{{"kind":"train","step":{i},"loss":{1 + i % 7}.5,"accuracy":0.{i % 9},"grad_norm":1.25,"clip":1,"lr":0.003,"items_per_s":9000,"seconds":{i}.5}}\n')
require("a report of 250,000 steps", 48, "report", "run", "-o", "run.html")

# A run that diverged early: the gap, however long, is one point of each curve, in memory and in the page.
pathlib.Path("gap").mkdir()
pathlib.Path("gap/run.json").write_text(pathlib.Path("run/run.json").read_text())
with open("gap/metrics.jsonl", "w") as f:
    for i in range(1, 250001):
        n = f'{1 + i % 7}.5' if i < 1000 else "null"
        f.write(f'{{"kind":"train","step":{i},"loss":{n},"accuracy":{n},"grad_norm":{n},"clip":1,"lr":0.003,"items_per_s":9000,"seconds":{i}.5}}\n')
require("a report of 250,000 steps, most without a loss", 48, "report", "gap", "-o", "gap.html")
whole, gap = (pathlib.Path(name).stat().st_size for name in ("run.html", "gap.html"))
assert gap < whole, (gap, whole)
P
echo "test_constant_memory: ok"
