#!/usr/bin/env bash
# Exported ONNX models against ONNX Runtime: four networks that between them have every layer of images, of vectors, of graphs and of sequences are
# trained a little on pictures made here, exported, and must give what `vktrain predict` gives. Run by hand where the lab is.
# usage: check_onnx.sh PROGRAM [DRIVER]
set -euo pipefail
program=$(realpath "${1:?the program}") driver=${2:-mesa25}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-onnx.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
"$lab/in-testing" python3 - <<'P'
import csv
import numpy as np
import pathlib
from PIL import Image
rng = np.random.default_rng(1)
for c in range(3):
    pathlib.Path(f"pictures/{c}").mkdir(parents=True)
    for i in range(40):
        Image.fromarray(rng.integers(c * 20, 256 - c * 30, (12, 10, 3), dtype=np.uint8)).save(f"pictures/{c}/{i}.png")
for name, n in ("rows.csv", 300), ("new.csv", 50):
    with open(name, "w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["town", "a", "kind", "y"])
        for i in range(n):
            town, kind, a = int(rng.integers(20)), int(rng.integers(40)), float(rng.normal())
            out.writerow(["new" if n == 50 and i == 7 else f"t{town}", f"{a:.3f}", f"k{kind}", "pq"[town % 2 + kind % 2 + a > 1]])
P
data='data: {source: images, path: pictures, valid_fraction: 0.2, test_fraction: 0.2}
train: {steps: 20, batch: 16}
optim: {rule: adam, lr: 0.003}'
cat >image.yaml <<Y
$data
model:
  - pad: {size: 1, top: 0}
  - conv: {out: 6, kernel: 3, width: 5, pad: 1}
  - layernorm
  - gelu
  - conv: {kernel: 5, groups: 6, dilation: 2}
  - group_norm: 3
  - silu
  - residual: {body: [{conv: {bias: false}}, batch_norm, gelu_erf]}
  - avg_pool
  - basic_block: {out: 8, stride: 2}
  - wide_block: {out: 8}
  - bottleneck: {out: 16}
  - max_pool: {size: 3, stride: 2, pad: 1}
  - global_pool
  - rmsnorm
  - linear
Y
cat >vector.yaml <<Y
$data
model:
  - flatten
  - linear: {out: 24, bias: false}
  - batch_norm
  - tanh
  - residual: [layernorm, {linear: 24}, sigmoid]
  - dropout: 0.2
  - repeat: {n: 2, body: [{linear: 16}, relu]}
  - linear
Y
cat >graph.yaml <<Y
$data
model:
  - conv: {out: 8, name: wide}
  - max_pool
  - conv: {out: 16, name: low}
  - conv_transpose: {out: 8, kernel: 3, pad: 1, output_pad: 1, groups: 2, name: up}
  - upsample: {from: low, mode: bilinear, name: smooth}
  - upsample: {from: low, size: [12, 10], mode: bilinear, align_corners: true, name: corners}
  - upsample: {from: low, name: near}
  - concat: [wide, up, smooth, corners, near]
  - squeeze_excite: {gate: hardsigmoid, activation: silu, name: excited}
  - conv: {out: 4, kernel: 1, name: few}
  - slice: {axis: 1, first: 1, step: 3, name: part}
  - permute: {order: [2, 1, 0], from: part, name: turned}
  - reshape: {shape: [0, 12], name: rows}
  - global_pool: {from: excited, name: means}
  - slice: {count: 12, name: first}
  - mul: {from: [rows, first], name: scaled}
  - add: [scaled, scaled, rows]
  - flatten
  - linear: {out: 16, name: b}
  - squeeze_excite: {from: wide}
  - global_pool: {name: g}
  - linear: {out: 16, name: a}
  - add: [a, b]
  - linear
Y
cat >sequence.yaml <<Y
$data
model:
  - reshape: {shape: [12, 0], name: rows}
  - gru: {out: 12, bidirectional: true, layers: 2, name: memory}
  - lstm: {out: 10, from: rows, bias: false, name: asks}
  - cross_attention: {from: [asks, memory], heads: 2, name: parts}
  - cross_attention: {from: [memory, parts], heads: 6, bias: false, name: fused}
  - concat: {from: [fused, asks], axis: 1}
  - lstm: {out: 7, bidirectional: true, last: true}
  - linear
Y
cat >rows.yaml <<Y
data: {source: csv, path: rows.csv, embed: "town, kind", valid_fraction: 0.2, test_fraction: 0}
train: {steps: 60, batch: 16}
optim: {rule: adam, lr: 0.01}
model:
  - embed: {width: 5, init_scale: 20}
  - linear: 16
  - relu
  - linear
Y
bad=0
for name in image vector graph sequence; do
    "$lab/with-driver" "$driver" "$program" train $name.yaml --run $name --quiet >log 2>&1 || { cat log; exit 1; }
    "$lab/with-driver" "$driver" "$program" export $name -o $name.onnx --quiet >log 2>&1 || { cat log; exit 1; }
    "$lab/with-driver" "$driver" "$program" predict $name pictures --csv >$name.csv 2>log
    # Both sides round sums of some hundred terms, a dozen layers deep: probabilities agree to a hundredth of a percent.
    # Debian's onnx and ONNX Runtime register their schemas twice, and say so at length.
    "$lab/in-testing" python3 - $name <<'P' 2>stderr || { bad=1; grep -v '^Schema error\|^$' stderr || true; }
import csv, json, sys
import numpy as np
import onnx
import onnxruntime
from PIL import Image
name = sys.argv[1]
model = onnx.load(name + ".onnx")
onnx.checker.check_model(model, full_check=True)
schema = json.loads({p.key: p.value for p in model.metadata_props}["vktrain.schema"])
rows = list(csv.DictReader(open(name + ".csv")))
x = np.stack([np.asarray(Image.open(r["input"]), dtype=np.float32) / 255 for r in rows])
x = (x - np.array(schema["pixel_mean"])) / np.array(schema["pixel_std"])
got = onnxruntime.InferenceSession(name + ".onnx").run(["probabilities"], {"input": x.astype(np.float32)})[0]
want = np.array([[float(r[f"p({c})"]) for c in schema["classes"]] for r in rows])
worst = float(np.abs(got - want).max())
ok = len(rows) == 120 and worst < 1e-4 and float(np.ptp(want, axis=0).max()) > 0.01
print(("ok   " if ok else "FAIL ") + f"{name}: {len(rows)} pictures, probabilities within {worst:.2g}, "
      f"nodes {' '.join(sorted({n.op_type for n in model.graph.node}))}")
sys.exit(not ok)
P
done
# Rows of numbers and of columns that are embedded, one of them with a value that training did not see.
"$lab/with-driver" "$driver" "$program" train rows.yaml --run rows --quiet >log 2>&1 || { cat log; exit 1; }
"$lab/with-driver" "$driver" "$program" export rows -o rows.onnx --quiet >log 2>&1 || { cat log; exit 1; }
"$lab/with-driver" "$driver" "$program" predict rows new.csv --csv >rows-out.csv 2>log
"$lab/in-testing" python3 - <<'P' 2>stderr || { bad=1; grep -v '^Schema error\|^$' stderr || true; }
import csv, json, sys
import numpy as np
import onnx
import onnxruntime
model = onnx.load("rows.onnx")
onnx.checker.check_model(model, full_check=True)
schema = json.loads({p.key: p.value for p in model.metadata_props}["vktrain.schema"])
columns, first, x = {c["name"]: c for c in schema["table"]["columns"]}, 0, []
new = list(csv.DictReader(open("new.csv")))
x.append([(float(r["a"]) - columns["a"]["mean"]) / columns["a"]["std"] for r in new])
for name in ("town", "kind"):
    all = columns[name]["categories"]
    x.append([first + all.index(r[name]) if r[name] in all else -1 for r in new])
    first += len(all)
x = np.array(x, dtype=np.float32).T
got = onnxruntime.InferenceSession("rows.onnx").run(["probabilities"], {"input": x})[0]
want = np.array([[float(r[f"p({c})"]) for c in schema["classes"]] for r in csv.DictReader(open("rows-out.csv"))])
worst = float(np.abs(got - want).max())
ok = len(want) == 50 and x[:, 1:].min() == -1 and worst < 1e-4 and float(np.ptp(want, axis=0).max()) > 0.1
print(("ok   " if ok else "FAIL ") + f"rows: {len(want)} rows, probabilities within {worst:.2g}, "
      f"nodes {' '.join(sorted({n.op_type for n in model.graph.node}))}")
sys.exit(not ok)
P
exit $bad
