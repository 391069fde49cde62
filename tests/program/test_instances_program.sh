#!/usr/bin/env bash
# Instances through the program: init says what it saw and asks where masks may be classes; train, resume to the same bits, eval, predict, export,
# bad input. usage: test_instances_program.sh PROGRAM
set -euo pipefail
program=$(realpath "${1:?the program}")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-instances.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_instances_program: FAILED: $*" >&2; exit 1; }
vktrain() { "$program" "$@"; }
export NO_COLOR=1
python3 "$root/tools/examples/make_pictures.py" cells set 24 32 3

# init: what it saw, and a recipe that is complete.
vktrain init set -o set.yaml >said 2>log || { cat log; fail "init"; }
grep -q '^set.yaml: instances, 20 training examples, each pixel of an instance or of none$' said || { cat said; fail "what init says"; }
grep -q '^[0-9]* instances on 24 pictures, of [0-9]* to [0-9]* pixels, [0-9]* on average$' said || { cat said; fail "how many there are"; }
for line in 'source: instances' 'task: instances' 'size: 32 ' 'flip_vertical: 0.5' 'out: 4, kernel: 1, init: zeros'; do
  grep -q "$line" set.yaml || { cat set.yaml; fail "the recipe lacks $line"; }
done
vktrain init set --json >said 2>log && grep -q '"task": *"instances"' said || { cat said log; fail "init --json"; }

# Masks in `masks`: of 16 bits they are instances; of 8 bits that count, either; classes stay classes.
mkdir deep narrow classes && cp -r set/images deep/images && cp -r set/images narrow/images && cp -r set/images classes/images
cp -r set/instances deep/masks && mkdir narrow/masks classes/masks
python3 - "$root" <<'P'
import glob, os, struct, sys, zlib
sys.path.insert(0, sys.argv[1] + "/tools/examples")
from make_pictures import write_png
for path in glob.glob("set/instances/*.png"):
    b = open(path, "rb").read()
    rows = zlib.decompress(b[b.index(b"IDAT") + 4:b.index(b"IEND") - 8])
    rows = [struct.unpack(">32H", rows[65 * y + 1:65 * y + 65]) for y in range(32)]
    write_png("narrow/masks/" + os.path.basename(path), 32, 32, 1, rows)
    write_png("classes/masks/" + os.path.basename(path), 32, 32, 1, [[v > 0 for v in r] for r in rows])
P
vktrain init deep -o deep.yaml >said 2>log && grep -q '^deep.yaml: instances, ' said || { cat said log; fail "masks of 16 bits"; }
vktrain init classes -o classes.yaml >said 2>log && grep -q '^classes.yaml: masks, .* 2 classes of pixels' said || { cat said log; fail "masks of classes"; }
if vktrain init narrow -o narrow.yaml >said 2>log; then fail "masks that may be either were taken"; fi
grep -q "may be instances or classes of pixels: say --task instances or --task segment" log || { cat log; fail "the question"; }
vktrain init narrow --task instances -o narrow.yaml >said 2>log && grep -q '^narrow.yaml: instances, ' said || { cat said log; fail "--task instances"; }
vktrain init narrow --task segment -o segment.yaml >said 2>log && grep -q '^segment.yaml: masks, ' said || { cat said log; fail "--task segment"; }
vktrain inspect set.yaml --augment sheet.png >said 2>log && [ -s sheet.png ] || { cat log; fail "inspect --augment"; }

# A small net, and few steps; the best is kept by the measure, resumed to the same bits.
python3 - <<'P'
import re
text = open("set.yaml").read()
net = "  - conv: {out: 8}\n  - relu\n  - conv: {out: 4, kernel: 1, init: zeros}\n"
open("set.yaml", "w").write(re.sub(r"model:.*?(?=optim:)", "model:\n" + net, text, flags=re.S))
P
short="--set train.steps=8 --set schedule.warmup=0 --set schedule.kind=constant --set eval.every=4 --set train.batch=4"
vktrain train set.yaml --run a $short >log 2>&1 || { cat log; fail "train"; }
grep -q ' instance_ap50 ' log || { cat log; fail "the measure is not shown"; }
vktrain train set.yaml --run b $short --set train.steps=4 >log 2>&1 || { cat log; fail "the first half"; }
vktrain train set.yaml --run b $short --resume >log 2>&1 || { cat log; fail "resume"; }
cmp a/checkpoints/step-00000008/model.safetensors b/checkpoints/step-00000008/model.safetensors || fail "resumed to other bits"

# The same instances as COCO's runs: init says what they may be, and training gives the same bits; a model of masks is judged by them.
mkdir coco && cp -r set/images coco/images
python3 - <<'P'
import glob, json, os, struct, zlib
o = {"images": [], "annotations": [], "categories": [{"id": 1, "name": "cell"}]}
for i, path in enumerate(sorted(glob.glob("set/instances/*.png"))):
    b = open(path, "rb").read()
    rows = zlib.decompress(b[b.index(b"IDAT") + 4:b.index(b"IEND") - 8])
    rows = [struct.unpack(">32H", rows[65 * y + 1:65 * y + 65]) for y in range(32)]
    o["images"].append({"id": i, "file_name": os.path.basename(path), "width": 32, "height": 32})
    for k in sorted({v for row in rows for v in row} - {0}):
        runs, on = [0], False
        for x in range(32):
            for y in range(32):
                if (rows[y][x] == k) != on:
                    on = not on
                    runs.append(0)
                runs[-1] += 1
        o["annotations"].append({"image_id": i, "category_id": 1, "segmentation": {"size": [32, 32], "counts": runs}, "bbox": [0, 0, 9, 9]})
json.dump(o, open("coco/cells.json", "w"))
P
vktrain init coco -o boxes.yaml >said 2>log && grep -q '^boxes.yaml: boxes, ' said && grep -q 'outlines, too: --task instances learns these' said || { cat said log; fail "init of outlines"; }
vktrain init coco --task instances -o coco.yaml >said 2>log && grep -q '^coco.yaml: instances, 20 training examples' said || { cat said log; fail "init of outlines as instances"; }
vktrain train set.yaml --run outlined $short --set data.path=coco >log 2>&1 || { cat log; fail "train on outlines"; }
cmp a/checkpoints/step-00000008/model.safetensors outlined/checkpoints/step-00000008/model.safetensors || fail "outlines train to other bits than masks"
vktrain eval a --data coco >said 2>log && grep -q '^coco: 24 pictures' said || { cat said log; fail "eval of outlines"; }

# eval of a folder, whatever its masks' folder is called; predict at the pictures' own size.
for folder in set deep narrow; do
  vktrain eval a --data $folder --json >$folder.json 2>log || { cat log; fail "eval of $folder"; }
  cmp <(grep -v '"data"' set.json) <(grep -v '"data"' $folder.json) || fail "eval of $folder differs"
done
vktrain eval a --data set >all 2>log && grep -q 'TP / (TP + FP + FN) at IoU 0.50' all && grep -q '^class .*instances .*found' all || { cat all log; fail "what eval prints"; }
vktrain predict a set/images/0000.png set/images/0001.png --out found --json >said 2>log || { cat log; fail "predict"; }
python3 - <<'P' || fail "predictions"
import json, struct, zlib
e = json.load(open("set.json"))
c = e["classes"][0]
assert e["n"] == 24 and c["name"] == "instance" and 0 <= e["instance_ap50"] <= 1, e
b = open("found/0000.png", "rb").read()
assert struct.unpack(">IIBB", b[16:26]) == (32, 32, 16, 0), b[16:26]
assert struct.unpack(">I", b[29:33])[0] == zlib.crc32(b[12:29])
at = b.index(b"IDAT")
rows = zlib.decompress(b[at + 4:at + 4 + struct.unpack(">I", b[at - 4:at])[0]])
assert len(rows) == 32 * 65
assert struct.unpack(">IIBB", open("found/0000-overlay.png", "rb").read()[16:26]) == (32, 32, 8, 2)
P
vktrain export a -o a.onnx >said 2>log || { cat log; fail "export"; }
vktrain report a >said 2>log || { cat log; fail "report"; }

# What can't be done is refused by name; what can't be used is left out or refused.
says() { local rc=0; "${@:2}" >log 2>&1 || rc=$?; [ $rc -ne 0 ] && grep -q -- "$1" log || { cat log; fail "no refusal: $1"; }; }
says '--tiles is not for instances' vktrain predict a set/images/0000.png --tiles 8 --out tiles
says '--score is for models of boxes' vktrain predict a set/images/0000.png --score 0.5
says 'instances and data.source: instances go together' vktrain train digits --run c --set data.task=instances
says 'instance_ap50 and loss are' vktrain train set.yaml --run c --set checkpoint.metric=accuracy
says 'no other task has' vktrain train set.yaml --run c --set loss.kind=mse
cp set/images/0000.png narrow/masks/0000.png && cp found/0000-overlay.png narrow/masks/0001.png
python3 - "$root" <<'P'
import sys
sys.path.insert(0, sys.argv[1] + "/tools/examples")
from make_pictures import write_png
write_png("narrow/masks/0002.png", 8, 8, 1, [bytes(8)] * 8)
P
vktrain init narrow --task instances -o again.yaml >said 2>log || { cat log; fail "init with bad masks"; }
grep -q "0001.png' is a mask of colours" log && grep -q "0002.png' is a mask of 8x8 pixels" log || { cat log; fail "bad masks"; }
grep -q 'in 1 masks pixels of one number lie apart' said || { cat said; fail "parted numbers"; }
says 'is a mask of colours' vktrain train again.yaml --run c --set data.bad_files=stop
mkdir empty && cp -r set/images empty/images && mkdir empty/instances
python3 - "$root" <<'P'
import os, sys
sys.path.insert(0, sys.argv[1] + "/tools/examples")
from make_pictures import write_png
for name in os.listdir("empty/images"): write_png("empty/instances/" + name, 32, 32, 1, [bytes(32)] * 32)
P
says 'have no instance: all of their pixels are 0' vktrain init empty -o empty.yaml
echo "test_instances_program: passed"
