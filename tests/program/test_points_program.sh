#!/usr/bin/env bash
# Points through the program: init says what it saw, train, eval, predict, serve, export, resume to the same bits, bad input; and a picture by
# tiles. usage: test_points_program.sh PROGRAM
set -euo pipefail
program=$(realpath "${1:?the program}")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-points.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_points_program: FAILED: $*" >&2; exit 1; }
vktrain() { "$program" "$@"; }
export NO_COLOR=1
python3 "$root/tools/examples/make_points.py" set 24 32 3
python3 "$root/tools/examples/make_points.py" many 8 48 3 coco

# init: what it saw, and a recipe that is complete.
vktrain init set -o set.yaml >said 2>log || { cat log; fail "init"; }
grep -q '^set.yaml: points, 20 training examples, 5 points on each$' said || { cat said; fail "what init says"; }
grep -q '^points of the training examples: head [0-9]*, left_hand [0-9]*' said || fail "how many points there are"
grep -q '^a mirror exchanges left_hand and right_hand, left_foot and right_foot$' said || fail "what a mirror exchanges"
for line in 'source: points' 'task: points' 'size: 32 ' 'flip: 0.5' 'out: 5, kernel: 1, init: zeros'; do
  grep -q "$line" set.yaml || { cat set.yaml; fail "the recipe lacks $line"; }
done
vktrain init set --json >said 2>log && grep -q '"task": *"points"' said || { cat said log; fail "init --json"; }
vktrain init many -o many.yaml >said 2>log || { cat log; fail "init of COCO's keypoints"; }
grep -q '^many.yaml: points, [0-9]* training examples, 5 points on each$' said || { cat said; fail "what init says of COCO"; }

# A small net, and few steps; the best by similarity is kept.
python3 - <<'P'
import re
for name in ("set", "many"):
    text = open(name + ".yaml").read()
    net = "  - conv: {out: 8, stride: 2}\n  - relu\n  - conv: {out: 8}\n  - relu\n  - conv: {out: 5, kernel: 1, init: zeros}\n"
    open(name + ".yaml", "w").write(re.sub(r"model:.*?(?=optim:)", "model:\n" + net, text, flags=re.S))
P
short="--set train.steps=8 --set schedule.warmup=0 --set schedule.kind=constant --set eval.every=4 --set train.batch=4"
vktrain train set.yaml --run a $short >log 2>&1 || { cat log; fail "train"; }
grep -q ' oks_ap ' log || { cat log; fail "the measure is not shown"; }
vktrain train set.yaml --run b $short --set train.steps=4 >log 2>&1 || { cat log; fail "the first half"; }
vktrain train set.yaml --run b $short --resume >log 2>&1 || { cat log; fail "resume"; }
cmp a/checkpoints/step-00000008/model.safetensors b/checkpoints/step-00000008/model.safetensors || fail "resumed to other bits"
vktrain train many.yaml --run c $short >log 2>&1 || { cat log; fail "train on COCO's keypoints"; }

# eval of a folder; predict in pixels of each picture, and its rows as data again; COCO's in pixels of the whole picture.
vktrain eval a --data set >all 2>log || { cat log; fail "eval --data"; }
vktrain eval a --data set --json >all.json 2>log || { cat log; fail "eval --json"; }
grep -q 'OKS-AP .*PCK@0.1 .*mean error .* pixels' all && grep -q '^point .*there .*right .*PCK .*mean error' all || { cat all; fail "what eval prints"; }
vktrain predict a set/images/0000.png set/images/0001.png --out found --json >said 2>log || { cat log; fail "predict"; }
vktrain predict a set/images/0000.png --json --score 0.9999 >none 2>log || { cat log; fail "predict --score"; }
mkdir again && cp -r set/images again/images
vktrain predict a set/images --csv >again/points.csv 2>log || { cat log; fail "predict --csv"; }
sed -i 's|set/images/||' again/points.csv
vktrain init again -o again.yaml >out 2>log && grep -q '^again.yaml: points, 20 training examples, 5 points' out || { cat out log; fail "what predict --csv writes is no data"; }
vktrain predict c many/annotations/person_keypoints.json --json --out limbs >many.said 2>log || { cat log; fail "predict of COCO's keypoints"; }
python3 - <<'P' || fail "eval and predict"
import json
for c in json.load(open("all.json"))["classes"]: assert abs(c["pck"] - c["correct"] / c["n"]) < 1e-6 and c["mean_error"] > 0 and c["precision"] is c["recall"] is c["f1"] is None, c
evals = [r for r in map(json.loads, open("a/metrics.jsonl")) if r["kind"] == "eval" and r["split"] == "valid"]
assert len(evals) >= 2 and all(0 <= e["oks_ap"] <= 1 and 0 <= e["pck"] <= 1 and e["point_error"] > 0 for e in evals), evals
said = [json.loads(l) for l in open("said")]
assert [[p["point"] for p in s["points"]] for s in said] == [["head", "left_hand", "right_hand", "left_foot", "right_foot"]] * 2, said
assert all(0 <= p[k] <= 32 for s in said for p in s["points"] for k in "xy")
assert json.load(open("none"))["points"] == []
assert "limbs" not in said[0]  # a table has none
coco, found = json.load(open("many/annotations/person_keypoints.json")), [json.loads(l) for l in open("many.said")]
people = [a for a in coco["annotations"] if a["num_keypoints"]]
assert len(found) == len(people)
assert all(f["limbs"] == [["head", k] for k in ("left_hand", "right_hand", "left_foot", "right_foot")] for f in found), found[0]
for a, f in zip(people, found):  # each lies in its own box, a quarter larger, or at its points
    x, y, w, h = a["bbox"]
    assert all(x - .3 * w - 1 <= p["x"] <= x + 1.3 * w + 1 and y - .3 * h - 1 <= p["y"] <= y + 1.3 * h + 1 for p in f["points"]), (a, f)
P
[ -e found/0001.png ] || fail "what predict draws"
"$program" serve a --port 0 >address 2>log & pid=$!
for _ in $(seq 100); do grep -q '^http' address && break; sleep 0.2; done
python3 - "$(sed -n 's/^\(http[^ ]*\).*/\1/p' address)" <<'P' || { cat log; fail "serve"; }
import json, sys, urllib.request
said = json.loads(open("said").readlines()[1])
got = json.load(urllib.request.urlopen(sys.argv[1] + "predict", open("set/images/0001.png", "rb").read()))["predictions"]
assert got == [{"width": 32, "height": 32, "points": said["points"]}], (got, said)
assert json.load(urllib.request.urlopen(sys.argv[1] + "model"))["task"] == "points"
open("page.html", "wb").write(urllib.request.urlopen(sys.argv[1]).read())
P
kill -INT $pid; wait $pid || true
python3 - "$root/tests/report" <<'P' || fail "the page draws no points"
import sys
sys.path.insert(0, sys.argv[1])
import browser
if not browser.find(): sys.exit(print("test_points_program: no browser: the page was not looked at"))
b = browser.Browser()
try:
    b.open("page.html")
    drawn = b.run('''(async () => {
      window.fetch = async () => ({json: async () => ({predictions: [{width: 32, height: 32, points: [{point: "head", score: 1, x: 8, y: 4}, {point: "left_hand", score: 0.5, x: 20, y: 9}], limbs: [["head", "left_hand"]]}]})});
      await post("a", "image/png");
      return [...document.querySelectorAll(".over-picture circle")].map(c => c.getAttribute("cx")).join() + " " + ["x1", "y1", "x2", "y2"].map(k => document.querySelector(".over-picture line").getAttribute(k)) + " " + document.querySelectorAll("tbody tr").length;
    })()''')
finally: b.close()
assert drawn == "8,20 8,4,20,9 2", drawn
P
vktrain inspect set.yaml --augment sheet.png >log 2>&1 && [ -e sheet.png ] || { cat log; fail "inspect --augment"; }
vktrain inspect set >said 2>log || { cat log; fail "inspect"; }
grep -q 'points by name' said || fail "inspect names no points"
vktrain report a -o a.html >log 2>&1 || { cat log; fail "report"; }
grep -q 'Points: average precision by similarity' a.html || fail "the report's curves"
vktrain export a -o a.onnx >log 2>&1 && vktrain inspect a.onnx >said 2>log || { cat log; fail "export"; }
grep -aq value a.onnx && ! grep -aq probabilities a.onnx || fail "the export's output"

grep -q 'points are off by .* of the longer side' a.html && [ -n "$(ls a/*-errors/*.png)" ] || fail "the worst examples"

# What can't be: named.
no() { if vktrain "${@:2}" >log 2>&1; then fail "taken: ${*:2}"; fi; grep -q -- "$1" log || { cat log; fail "not said: $1"; }; }
no "data.source: points go together" train set.yaml --run x --set data.task=classify
no "data.task: points has points, and no other task has" train digits --run x --set loss.kind=points
no "accuracy is not measured with data.task: points" train set.yaml --run x --set checkpoint.metric=accuracy
no "pck is not measured with this data.task" train digits --run x --set checkpoint.metric=pck
no "but the data's targets are \[16, 16, 5\]" train set.yaml --run x --set 'model=[{conv: {out: 3, kernel: 1}}]'
no "data.augment.mixup" train set.yaml --run x --set data.augment.mixup=0.2
no "multiples of 8" train set.yaml --run x --set data.size=36
no "only for data.source: points" train digits --run x --set data.flip_pairs=a:b
no "only for data.source: points" train digits --run x --set data.limbs=a:b
no "data.limbs: 'head:nobody' is no pair" train set.yaml --run x --set data.limbs=head:nobody
no "'head:nobody' is no pair" train set.yaml --run x --set data.flip_pairs=head:nobody
no "test-time augmentation" eval a --tta flips
no "does not support pictures" eval a --predictions z.csv
no "there is no confusion matrix of points" eval a --confusion z
no "not for points" train set.yaml --run x --set data.fit=crop
no "--tiles is for models of masks and pictures" predict a set/images/0000.png --tiles 8
sed 's/left_/near_/g; s/right_/far_/g' set/points.csv >set/other.csv && mv set/points.csv set/kept
no "set data.flip_pairs" train set.yaml --run x
vktrain train set.yaml --run d $short --set data.flip_pairs="near_hand:far_hand, near_foot:far_foot" >log 2>&1 || { cat log; fail "flip_pairs"; }
no "has other points than the model" eval a --data set

# A picture larger than the model's, by tiles: as the net, which sees two pixels around each, gives it for any part.
python3 - "$root/tools/examples" <<'P'
import os, random, sys
sys.path.insert(0, sys.argv[1])
from make_pictures import write_png
rnd = random.Random(5)
noise = lambda w, h: [bytes(min(max(128 + 60 * ((x // 7 + y // 5) % 2) + rnd.randrange(-30, 30), 0), 255) for x in range(w)) for y in range(h)]
for d in ("pairs/before", "pairs/after", "cells/images", "cells/masks", "big"): os.makedirs(d)
for i in range(8):
    p = noise(32, 32)
    write_png(f"pairs/before/{i}.png", 32, 32, 1, p), write_png(f"pairs/after/{i}.png", 32, 32, 1, [bytes(255 - v // 2 for v in r) for r in p])
    write_png(f"cells/images/{i}.png", 32, 32, 1, p), write_png(f"cells/masks/{i}.png", 32, 32, 1, [bytes(v > 150 for v in r) for r in p])
p = noise(101, 75)
write_png("big/all.png", 101, 75, 1, p), write_png("big/small.png", 20, 17, 1, [r[:20] for r in p[:17]])
for k, (x, y) in enumerate(((0, 0), (69, 43), (17, 9), (40, 30), (33, 43))):
    write_png(f"big/part{k}.png", 32, 32, 1, [r[x:x + 32] for r in p[y:y + 32]])
P
for of in pairs cells; do
  vktrain init $of -o $of.yaml >log 2>&1 || { cat log; fail "init $of"; }
  last=$([ $of = pairs ] && echo 1 || echo 2)
  vktrain train $of.yaml --run $of-run $short --set "model=[{conv: {out: 8}}, relu, {conv: {out: $last}}]" >log 2>&1 || { cat log; fail "train $of"; }
  vktrain predict $of-run big/part*.png --out $of-parts >log 2>&1 || { cat log; fail "predict $of"; }
  for n in 8 12 16; do vktrain predict $of-run big/all.png big/small.png --out $of-$n --tiles $n >said 2>log || { cat log; fail "tiles of $of"; }; done
  ! grep -q 'resized' log || { cat log; fail "a picture by tiles is said to be resized"; }
done
grep -q '^big/all.png .*%' said || { cat said; fail "shares of the pixels by tiles"; }
python3 - <<'P' || fail "tiles"
import struct, zlib
def read(path):
    data, at, packed = open(path, "rb").read(), 8, b""
    wide, high = struct.unpack(">II", data[16:24])
    assert data[24:26] == b"\x08\x00"
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + n] if kind == b"IDAT" else b""
        at += n + 12
    rows, before, out = zlib.decompress(packed), bytes(wide + 1), []
    for y in range(high):
        how, line = rows[y * (wide + 1)], bytearray(1)
        for x, v in enumerate(rows[y * (wide + 1) + 1:(y + 1) * (wide + 1)]):
            a, b, c = line[x], before[x + 1], before[x]
            near = min((a, b, c), key=lambda p: abs(a + b - c - p))
            line.append((v + (0, a, b, (a + b) // 2, near)[how]) & 255)
        before = line
        out.append(bytes(line[1:]))
    return out
for of, off in (("pairs", 1), ("cells", 0)):
    tiled = [read(f"{of}-{n}/all.png") for n in (8, 12, 16)]
    assert [len(t) for t in tiled] == [75] * 3 and len(tiled[0][0]) == 101
    assert len(read(f"{of}-8/small.png")) == 17
    far = lambda u, v: abs(u - v) > off
    assert not sum(far(u, v) for t in tiled[1:] for r, s in zip(tiled[0], t) for u, v in zip(r, s)), of
    edge = 0
    for k, (x, y) in enumerate(((0, 0), (69, 43), (17, 9), (40, 30), (33, 43))):
        part = read(f"{of}-parts/part{k}.png")
        for j in range(32):
            for i in range(32):
                differs = far(part[j][i], tiled[0][y + j][x + i])
                assert not differs or not (2 <= i < 30 and 2 <= j < 30), (of, k, i, j)
                edge += differs
    assert edge > 0 or of == "cells"  # at its own edge a part lacks what is around it
P
# eval by tiles: of pictures of the model's size the same as without; of larger ones at their size.
for of in pairs cells; do
  vktrain eval $of-run --data $of --json >one 2>log && vktrain eval $of-run --data $of --json --tiles 8 >two 2>log || { cat log; fail "eval --tiles of $of"; }
  python3 - $of <<'P' || fail "eval by tiles of $of"
import json, sys
one, two = (json.load(open(f)) for f in ("one", "two"))
assert one["n"] == two["n"], (one["n"], two["n"])
for k in ("loss", "mean_iou", "psnr", "ssim", "accuracy"):
    if k == "loss" and sys.argv[1] == "pairs":  # its kind is the recipe's, at the model's size
        assert one[k] > 0 and two[k] is None
        continue
    assert one[k] == two[k] or abs(one[k] - two[k]) < 1e-5 * max(1, abs(one[k])), (k, one[k], two[k])
P
done
mkdir -p wide/images wide/masks && cp big/all.png wide/images/0.png && cp cells-8/all.png wide/masks/0.png && cp cells/images/0.png wide/images/1.png && cp cells-parts/part0.png wide/masks/1.png
vktrain eval cells-run --data wide --tiles 8 >said 2>log || { cat log; fail "eval --tiles of larger pictures"; }
grep -q '^wide: 8,599 pixels' said || { cat said; fail "the pixels that eval counts"; }
# A picture that can't be read is left out; where nothing counts no number is made up.
cp -r wide bad && head -c 100 wide/images/1.png >bad/images/1.png
vktrain eval cells-run --data bad --tiles 8 >said 2>log && grep -q 'skipped: .*1.png' log && grep -q '^bad: 7,575 pixels' said || { cat said log; fail "eval --tiles of a damaged picture"; }
mkdir -p void/images void/masks && cp cells/images/[01].png void/images
python3 - "$root/tools/examples" <<'P'
import sys
sys.path.insert(0, sys.argv[1])
from make_pictures import write_png
for i in range(2): write_png(f"void/masks/{i}.png", 32, 32, 1, [bytes([255] * 32)] * 32)
P
no "all pixels of the test masks are of the class" eval cells-run --data void --tiles 8
no "tiles of 32x32 overlap by 8 to 16 pixels" predict cells-run big/all.png --tiles 17
echo "test_points_program: points from init to export, pictures by tiles"
