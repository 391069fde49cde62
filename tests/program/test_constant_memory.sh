#!/usr/bin/env bash
# Commands whose memory must not grow with what they read, by their peak. usage: test_constant_memory.sh PROGRAM
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 - "$program" <<'P'
import json, subprocess, sys

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
P
echo "test_constant_memory: ok"
