#!/usr/bin/env bash
# Masks through the program: init says what it saw, train, eval, predict, export, resume to the same bits, 16 bits, bad input.
# usage: test_masks_program.sh PROGRAM
set -euo pipefail
program=$(realpath "${1:?the program}")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-segment.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_masks_program: FAILED: $*" >&2; exit 1; }
vktrain() { "$program" "$@"; }
export NO_COLOR=1
python3 "$root/tools/examples/make_pictures.py" digits set 24 24 3

# init: what it saw, and a recipe that is complete.
vktrain init set -o set.yaml >said 2>log || { cat log; fail "init"; }
grep -q '^set.yaml: masks, 20 training examples, 2 classes of pixels$' said || { cat said; fail "what init says"; }
grep -q '^pixels of the training masks: 0 [0-9.]*%, 1 [0-9.]*%$' said || fail "the classes' shares"
for line in 'source: masks' 'task: segment' 'size: 24 ' 'kind: dice_ce' 'concat: \[full, to_full\]' 'conv: {out: 2, kernel: 1}'; do
  grep -q "$line" set.yaml || { cat set.yaml; fail "the recipe lacks $line"; }
done

# A net of few channels learns it within seconds; the best by mean IoU is kept.
sed -i 's/out: 128/out: 16/; s/out: 64/out: 16/; s/out: 32/out: 16/' set.yaml
short="--set train.steps=24 --set schedule.warmup=0 --set schedule.kind=constant --set eval.every=12 --set train.batch=4"
vktrain train set.yaml --run a $short >log 2>&1 || { cat log; fail "train"; }
grep -q 'mean_iou' log || fail "the measure is not shown"
python3 - <<'P' || fail "metrics"
import json
rows = [json.loads(l) for l in open("a/metrics.jsonl")]
evals = [r for r in rows if r["kind"] == "eval" and r["split"] == "valid"]
assert len(evals) >= 2 and all(0 < e["mean_iou"] <= 1 for e in evals), evals
last = evals[-1]
n, c, p = last["class_n"], last["class_correct"], last["class_predicted"]
assert sum(n) == last["n"] == sum(p) and last["n"] % (24 * 24) == 0, last
iou = [c[k] / (n[k] + p[k] - c[k]) for k in range(2)]
assert abs(sum(iou) / 2 - last["mean_iou"]) < 1e-7, (iou, last)
assert abs(sum(2 * c[k] / (n[k] + p[k]) for k in range(2)) / 2 - last["macro_f1"]) < 1e-7
run = json.load(open("a/run.json"))
assert run["config"]["checkpoint.metric"] == "mean_iou" if "checkpoint.metric" in run.get("config", {}) else True
P

# Interrupted and resumed: the same bits.
vktrain train set.yaml --run b $short --set train.steps=12 >log 2>&1 || { cat log; fail "the first half"; }
vktrain train set.yaml --run b $short --resume >log 2>&1 || { cat log; fail "resume"; }
cmp a/checkpoints/step-00000024/model.safetensors b/checkpoints/step-00000024/model.safetensors || fail "resumed to other bits"

# Two micro-batches of a batch are the same mathematics; 16 bits train as well.
few="$short --set train.steps=2 --set eval.every=2 --set loss.class_weight=balanced"
vktrain train set.yaml --run whole $few --set model.1.virtual_batch=2 --set model.5.virtual_batch=2 >log 2>&1 || { cat log; fail "a batch"; }
vktrain train set.yaml --run d $few --set train.precision=bf16 --set loss.kind=focal >log 2>&1 || { cat log; fail "bf16"; }

# Pairs of pictures: what it begins with is the picture enlarged, and it gets better.
python3 "$root/tools/examples/make_pictures.py" small pairs 16 24 3
vktrain init pairs -o pairs.yaml >said 2>log || { cat log; fail "init of pairs"; }
grep -q '^pairs.yaml: pairs, 13 training examples, each with another picture of 24x24$' said || { cat said; fail "what init says of pairs"; }
vktrain train pairs.yaml --run p --set train.steps=40 --set train.batch=4 --set eval.every=1000 --set schedule.kind=constant --set schedule.warmup=0 >log 2>&1 ||
  { cat log; fail "train of pairs"; }
vktrain eval p --split test --json >eval.json 2>log || { cat log; fail "eval of pairs"; }
vktrain predict p pairs/before/0000.png --out large >said 2>log || { cat log; fail "predict of pairs"; }
python3 - "$root" <<'P' || fail "pairs"
import json, struct, subprocess, sys
e = json.load(open("eval.json"))
cubic = float(subprocess.run([sys.executable, sys.argv[1] + "/tools/compare/bicubic.py", "pairs"], capture_output=True, text=True, check=True).stdout.split()[3])
assert e["psnr"] > cubic - 1 and 0.5 < e["ssim"] < 1 and e["accuracy"] is None, (e, cubic)
assert struct.unpack(">IIBB", open("large/0000.png", "rb").read()[16:26]) == (24, 24, 8, 0)
P

# eval: of the split, and of the folder itself; predict: the picture's size, the masks' numbers.
vktrain eval a --split test --json >eval.json 2>log || { cat log; fail "eval"; }
vktrain eval a --data set --json >all.json 2>log || { cat log; fail "eval --data"; }
vktrain predict a set/images/0000.png set/images/0001.png --out masks --json >said 2>log || { cat log; fail "predict"; }
python3 - <<'P' || fail "eval and predict"
import json, struct, zlib
e, a = json.load(open("eval.json")), json.load(open("all.json"))
assert e["n"] == 2 * 24 * 24 and a["n"] == 24 * 24 * 24, (e["n"], a["n"])
assert 0 < e["mean_iou"] < 1 and len(e["classes"]) == 2 and abs(sum(c["iou"] for c in e["classes"]) / 2 - e["mean_iou"]) < 1e-6
def pixels(path):
    b = open(path, "rb").read()
    w, h, bits, kind = struct.unpack(">IIBB", b[16:26])
    at, data = 8, b""
    while at < len(b):
        n, = struct.unpack(">I", b[at:at + 4])
        if b[at + 4:at + 8] == b"IDAT": data += b[at + 8:at + 8 + n]
        at += n + 12
    return w, h, kind, zlib.decompress(data)
w, h, kind, raw = pixels("masks/0000.png")
assert (w, h, kind) == (24, 24, 0), (w, h, kind)
said = [json.loads(l) for l in open("said")]
assert len(said) == 2
assert pixels("masks/0001-overlay.png")[2] == 2
P
vktrain inspect set.yaml --augment sheet.png >log 2>&1 || { cat log; fail "inspect --augment"; }
vktrain inspect set >said 2>log || { cat log; fail "inspect"; }
grep -q 'pixels of the training masks' said || fail "inspect says no shares"
vktrain export a -o a.onnx >log 2>&1 || { cat log; fail "export"; }
vktrain inspect a.onnx >said 2>log || { cat log; fail "inspect of the export"; }

# What can't be: named.
no() { if vktrain "${@:2}" >log 2>&1; then fail "taken: ${*:2}"; fi; grep -q "$1" log || { cat log; fail "not said: $1"; }; }
no "data.source: masks go together" train set.yaml --run x --set data.task=classify
no "dice and dice_ce are for data.task: segment" train digits --run x --set loss.kind=dice
no "psnr is not measured with data.task: segment" train set.yaml --run x --set checkpoint.metric=psnr
no "but the data's targets are \[24, 24, 2\]" train set.yaml --run x --set 'model=[{conv: {out: 3, kernel: 1}}]'
no "data.augment.mixup is for classes of pictures" train set.yaml --run x --set data.augment.mixup=0.2
no "data.augment.mosaic is for boxes" train set.yaml --run x --set data.augment.mosaic=0.5
no "out is for models of masks" predict "$(vktrain train digits --set train.steps=2 --run dig >/dev/null 2>&1; echo dig)" set/images/0000.png --out y
no "test-time augmentation" eval a --tta flips
no "curves of pixels" eval a --curves z
no "does not support pictures" eval a --predictions z.csv
rm set/masks/000[0-4].png
vktrain train set.yaml --run e $short --set train.steps=2 >log 2>&1 || { cat log; fail "five masks are missing"; }
grep -q "skipped: 5 pictures of 'set' have no mask" log || { cat log; fail "missing masks are not counted"; }
no "0000.png' has no mask of the same name" train set.yaml --run x --set data.bad_files=stop
echo "test_masks_program: masks from init to export"
