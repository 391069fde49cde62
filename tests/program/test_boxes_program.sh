#!/usr/bin/env bash
# Boxes through the program: init says what it saw, train, eval, predict, export, resume to the same bits, bad input.
# usage: test_boxes_program.sh PROGRAM
set -euo pipefail
program=$(realpath "${1:?the program}")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-boxes.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_boxes_program: FAILED: $*" >&2; exit 1; }
vktrain() { "$program" "$@"; }
export NO_COLOR=1
python3 "$root/tools/examples/make_boxes.py" set 20 64 3

# init: what it saw, and a recipe that is complete.
vktrain init set -o set.yaml >said 2>log || { cat log; fail "init"; }
grep -q '^set.yaml: boxes, 16 training examples, boxes of 8 classes$' said || { cat said; fail "what init says"; }
grep -q '^boxes of the training pictures: disc [0-9]*, square [0-9]*' said || fail "how many boxes each class has"
for line in 'source: boxes' 'task: detect' 'size: 64 ' 'mosaic: 0.5 ' 'reshape: {shape: \[64, 12\], name: found_8}' 'concat: {from: \[found_8, found_16, found_32\], axis: 0}'; do
  grep -q "$line" set.yaml || { cat set.yaml; fail "the recipe lacks $line"; }
done

vktrain init set --json >said 2>log && grep -q '"task": *"detect"' said || { cat said log; fail "init --json"; }

# Three sizes: small is the default, all are complete, and other data has none.
vktrain init set --net small -o small.yaml >/dev/null 2>&1 && diff <(tail -n +11 set.yaml) <(tail -n +11 small.yaml) || fail "small is not the default"
for net in medium:96 large:128; do
  vktrain init set --net ${net%:*} -o net.yaml --force >said 2>log || { cat log; fail "init --net ${net%:*}"; }
  grep -q "to_32}" net.yaml && grep -q "out: ${net#*:}, from: to_8, bias" net.yaml || { cat net.yaml; fail "the ${net%:*} net"; }
done
grep -c basic_block net.yaml | grep -qx 6 || fail "the large net has two blocks a size"
if vktrain init digits --net large -o no.yaml >said 2>log; then fail "--net of digits"; fi
grep -q 'error: init: --net is for pictures with boxes' log || { cat log; fail "what --net of digits says"; }

# The same boxes as a table: the same recipe.
mkdir table && cp -r set/images table/images
python3 - <<'P'
import csv, glob, os
names = open("set/data.yaml").read().split("names:")[1]
names = [w.strip(" []\n-") for w in (names.split(",") if "," in names else names.strip().split("\n"))]
names = [n.split(":")[-1].strip() for n in names]
out = csv.writer(open("table/boxes.csv", "w"))
out.writerow(["filename", "class", "x", "y", "width", "height", "note"])
for path in sorted(glob.glob("set/images/*.png")):
    stem = os.path.basename(path)[:-4]
    lines = open(f"set/labels/{stem}.txt").read().split("\n") if os.path.exists(f"set/labels/{stem}.txt") else []
    for c, x, y, w, h in (l.split() for l in lines if l):
        x, y, w, h = (64 * float(v) for v in (x, y, w, h))
        out.writerow([stem + ".png", names[int(c)], x - w / 2, y - h / 2, w, h, "-"])
    if not any(lines): out.writerow([stem + ".png"] + [""] * 6)
P
vktrain init table -o table.yaml >said 2>log || { cat log; fail "init of a table"; }
grep -q '^table.yaml: boxes, 16 training examples, boxes of' said || { cat said; fail "what init says of a table"; }

# A net of a few convolutions, and of few steps; the best by mAP is kept.
python3 - <<'P'
import re
text = open("set.yaml").read()
net = "".join("  - conv: {out: 8, stride: 2}\n  - relu: {name: at_%d}\n" % s for s in (2, 4, 8, 16, 32))
net += "".join("  - conv: {out: 12, kernel: 1, from: at_%d}\n  - reshape: {shape: [%d, 12], name: found_%d}\n" % (s, (64 // s) ** 2, s) for s in (8, 16, 32))
open("set.yaml", "w").write(re.sub(r"model:.*?(?=  - concat)", "model:\n" + net, text, flags=re.S))
P
short="--set train.steps=8 --set schedule.warmup=0 --set schedule.kind=constant --set eval.every=4 --set train.batch=4"
vktrain train set.yaml --run a $short >log 2>&1 || { cat log; fail "train"; }
grep -q ' map ' log || { cat log; fail "the measure is not shown"; }
vktrain train set.yaml --run b $short --set train.steps=4 >log 2>&1 || { cat log; fail "the first half"; }
vktrain train set.yaml --run b $short --resume >log 2>&1 || { cat log; fail "resume"; }
cmp a/checkpoints/step-00000008/model.safetensors b/checkpoints/step-00000008/model.safetensors || fail "resumed to other bits"

# eval of the split and of the folder; predict in pixels of each picture, whatever its size; the export.
vktrain eval a --data set >all 2>log || { cat log; fail "eval --data"; }
vktrain predict a set/images/0000.png set/images/0001.png --out found --json >said 2>log || { cat log; fail "predict"; }
python3 - <<'P' || fail "eval and predict"
import json
rows = [json.loads(l) for l in open("a/metrics.jsonl")]
evals = [r for r in rows if r["kind"] == "eval" and r["split"] == "valid"]
assert len(evals) >= 2 and all(0 <= e["map"] <= e["map50"] <= 1 for e in evals), evals
said = [json.loads(l) for l in open("said")]
assert len(said) == 2 and all(isinstance(s["boxes"], list) for s in said), said
P
vktrain predict a set/images/0001.png --json --score 0.02 >many 2>log && vktrain predict a set/images/0001.png --json --score 0.9999 >none 2>log || { cat log; fail "predict --score"; }
python3 - <<'P' || fail "scores"
import json
many, none, usual = (json.loads(open(f).readlines()[-1])["boxes"] for f in ("many", "none", "said"))
assert len(many) > len(usual) and not none and many[:len(usual)] == usual, (many, none, usual)
P
"$program" serve a --port 0 >address 2>log & pid=$!
for _ in $(seq 100); do grep -q '^http' address && break; sleep 0.2; done
python3 - "$(sed -n 's/^\(http[^ ]*\).*/\1/p' address)" <<'P' || { cat log; fail "serve"; }
import json, sys, urllib.request
said = json.loads(open("said").readlines()[1])
got = json.load(urllib.request.urlopen(sys.argv[1] + "predict", open("set/images/0001.png", "rb").read()))["predictions"]
assert got == [{"width": 64, "height": 64, "boxes": said["boxes"]}], (got, said)
assert json.load(urllib.request.urlopen(sys.argv[1] + "model"))["task"] == "detect"
open("page.html", "wb").write(urllib.request.urlopen(sys.argv[1]).read())
P
kill -INT $pid; wait $pid || true
# Its page, where there is a browser: the answer to an earlier picture comes late and is not drawn over a later one.
python3 - "$root/tests/report" <<'P' || fail "the page draws boxes of an earlier picture"
import sys
sys.path.insert(0, sys.argv[1])
import browser
if not browser.find(): sys.exit(print("test_boxes_program: no browser: the page was not looked at"))
b = browser.Browser()
try:
    b.open("page.html")
    drawn = b.run('''(async () => {
      const waits = [], box = {class: "a", score: 0.5, box: [1, 1, 9, 9]};
      const of = n => ({predictions: [{width: 64, height: 64, boxes: Array(n).fill(box)}]});
      window.fetch = () => new Promise(done => waits.push(n => done({json: async () => of(n)})));
      const asked = [post("a", "image/png"), post("b", "image/png")];
      waits[1](2); await asked[1];
      waits[0](3); await asked[0];
      const late = document.querySelectorAll("rect").length, next = post("c", "image/png");
      waits[2](1); await next;
      return [late, document.querySelectorAll("rect").length, document.querySelectorAll(".over-picture svg").length];
    })()''')
finally: b.close()
assert drawn == [2, 1, 1], drawn
P
grep -q '^class .*boxes .*found .*precision .*recall .*AP 0.50 ' all || { cat all; fail "the table of classes"; }
[ -e found/0001.txt ] && [ -e found/0001.png ] || fail "what predict writes"
vktrain inspect set.yaml --augment sheet.png >log 2>&1 || { cat log; fail "inspect --augment"; }
python3 - <<'P' || fail "no box is drawn on the sheet"
import struct, zlib
data, at, packed = open("sheet.png", "rb").read(), 8, b""
while at < len(data):
    n, kind = struct.unpack(">I4s", data[at:at + 8])
    packed += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
    at += n + 12
wide, high = struct.unpack(">II", data[16:24])
rows, before, pixels = zlib.decompress(packed), bytes(3 * wide + 3), b""
for y in range(high):  # each row by its filter
    how, line, at = rows[y * (3 * wide + 1)], bytearray(3), y * (3 * wide + 1) + 1
    for x, v in enumerate(rows[at:at + 3 * wide]):
        a, b, c = line[x], before[x + 3], before[x]
        near = min((a, b, c), key=lambda p: abs(a + b - c - p))
        line.append((v + (0, a, b, (a + b) // 2, near)[how]) & 255)
    before, pixels = line, pixels + bytes(line[3:])
assert pixels.count(bytes([255, 230, 0])) > 1000
P
vktrain inspect set >said 2>log || { cat log; fail "inspect"; }
grep -q 'boxes by class' said || fail "inspect says no classes"
vktrain report a -o a.html >log 2>&1 || { cat log; fail "report"; }
grep -q 'Mean average precision of boxes' a.html && grep -q '>crescent<' a.html && ! grep -q 'cross-entropy' a.html || fail "the report's curves and names of classes"
vktrain export a -o a.onnx >log 2>&1 || { cat log; fail "export"; }
vktrain export a -o nms.onnx --nms 0.3 >log 2>&1 || { cat log; fail "export --nms"; }
for word in boxes scores; do grep -aq "$word" a.onnx || fail "the export has no $word"; done
grep -aq NonMaxSuppression nms.onnx && grep -aq found nms.onnx && ! grep -aq NonMaxSuppression a.onnx || fail "--nms"
vktrain inspect a.onnx >said 2>log || { cat log; fail "inspect of the export"; }

# What can't be: named.
no() { if vktrain "${@:2}" >log 2>&1; then fail "taken: ${*:2}"; fi; grep -q "$1" log || { cat log; fail "not said: $1"; }; }
no "data.source: boxes go together" train set.yaml --run x --set data.task=classify
no "data.task: detect has detect, and no other task has" train digits --run x --set loss.kind=detect
no "accuracy is not measured with data.task: detect" train set.yaml --run x --set checkpoint.metric=accuracy
no "map is not measured with this data.task" train digits --run x --set checkpoint.metric=map
no "but the data's targets are \[84, 12\]" train set.yaml --run x --set 'model=[{conv: {out: 3, kernel: 1}}]'
no "data.augment.cutmix" train set.yaml --run x --set data.augment.cutmix=0.2
no "score is 2, must be above 0" predict a set/images/0001.png --score 2
no "is no .onnx file" export a -o a.safetensors --nms 0.3
no "least score is 2" export a -o b.onnx --nms 2
no "multiples of 32" train set.yaml --run x --set data.size=72
no "test-time augmentation" eval a --tta flips
no "curves of boxes" eval a --curves z
no "does not support pictures" eval a --predictions z.csv
printf '9 0.5 0.5 0.1 0.1\n' >set/labels/0004.txt
no "a box of class 9, but 8 classes are named" train set.yaml --run x --set data.bad_files=stop
no "error: .*a box of class 9" init set --set data.source=boxes --set data.bad_files=stop -o x.yaml
vktrain init set -o x.yaml >said 2>log && grep -q 'boxes, 1[0-9] training examples' said || { cat said log; fail "one mistake hides a set of boxes"; }
for i in 0005 0006 0007 0008; do cp set/labels/0004.txt set/labels/$i.txt; done
vktrain init set -o x.yaml --force >said 2>log || true
grep -q 'skipped: 5 pictures in all' log || { cat log; fail "how many pictures are left out"; }
before=$(cat set/images/0001.png set/labels/0001.txt | cksum)
no "is the folder of 'set/images/0001.png': its files could be overwritten" predict a set/images/0001.png --out set/images
no "could be overwritten" predict a set/images/0001.png --out set/labels/../images
[ "$(cat set/images/0001.png set/labels/0001.txt | cksum)" = "$before" ] || fail "predict wrote over the pictures"
echo "test_boxes_program: boxes from init to export"
