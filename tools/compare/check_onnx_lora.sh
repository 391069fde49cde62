#!/usr/bin/env bash
# Adapters on nets of ONNX files against PyTorch: three steps of SGD on a net that has linear layers in every form that exporters write them
# in (Gemm both ways, MatMul, MatMul of a Transpose) give PyTorch's adapters, with LoRA and DoRA; and ONNX Runtime gives of the merged file
# what `vktrain predict` gives of the run. Run by hand where the lab is.
# usage: check_onnx_lora.sh PROGRAM
set -euo pipefail
program=$(realpath "${1:?the program}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-onnx-lora.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >net.py <<'P'
import math
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
SIZES = [(6, 8), (8, 7), (7, 9), (9, 1)]
WEIGHTS = {  # module: the weight's name, and whether it lies [in, out]
    "a": ("a.weight", False), "body.b": ("onnx::MatMul_7", True), "body.c": ("body.c.weight", False), "out": ("out", True)}
ROW = np.array([0.5, -1.25, 0.75, 2.0, -0.5, 1.5], np.float32)
rng = np.random.default_rng(3)
VALUES = {n: (rng.normal(size=(i, o) if first else (o, i)) / math.sqrt(i)).astype(np.float32)
          for (n, first), (i, o) in zip(WEIGHTS.values(), SIZES)}
VALUES["a.bias"] = rng.normal(size=8).astype(np.float32)

def write():
    a, b, c, out = (n for n, _ in WEIGHTS.values())
    node = helper.make_node
    nodes = [node("Gemm", ["x", a, "a.bias"], ["h1"], "a", transB=1), node("Tanh", ["h1"], ["t1"], "t"),
             node("MatMul", ["t1", b], ["h2"], "/body/b/MatMul"), node("Tanh", ["h2"], ["t2"], "u"),
             node("Transpose", [c], ["cT"], "/body/c/Transpose", perm=[1, 0]), node("MatMul", ["t2", "cT"], ["h3"], "/body/c/MatMul"),
             node("Tanh", ["h3"], ["t3"], "v"), node("Gemm", ["t3", out], ["y"], "last", alpha=0.5)]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 1])],
                              [numpy_helper.from_array(v, k) for k, v in VALUES.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "net.onnx")
    np.save("X.npy", np.repeat(ROW[None], 100, 0))
    np.save("y.npy", np.zeros((100, 1), np.float32))
P
"$lab/in-testing" python3 -c 'import net; net.write()'
mkdir rows
mv X.npy y.npy rows
for kind in lora dora; do
  [ $kind = dora ] && dora=true || dora=false
  cat >$kind.yaml <<Y
data: {source: npy, path: rows, task: regress, standardize: none}
model: {onnx: net.onnx}
lora: {rank: 2, alpha: 3, dora: $dora}
optim: {rule: sgd, momentum: 0, weight_decay: 0}
train: {batch: 8}
Y
  "$program" train $kind.yaml --run ${kind}0 --quiet --set train.steps=1 --set optim.lr=0 >log 2>&1 || { cat log; exit 1; }
  "$program" train $kind.yaml --run ${kind}3 --quiet --set train.steps=3 --set optim.lr=0.05 >log 2>&1 || { cat log; exit 1; }
  for n in 0 3; do "$program" export $kind$n --adapter $kind$n-adapter >/dev/null; done
  "$program" export ${kind}3 -o $kind.onnx >/dev/null
  "$program" predict ${kind}3 rows/X.npy >$kind.csv
done
"$lab/in-testing" python3 - 2>errors <<'P' || { tail -3 errors; exit 1; }
import json
import numpy as np
import onnxruntime
import torch
from safetensors.numpy import load_file
from net import ROW, VALUES, WEIGHTS

def adapters(folder):
    with open(f"{folder}/adapter_config.json", encoding="utf-8") as f:
        assert json.load(f)["target_modules"] == list(WEIGHTS), folder
    return {k.removeprefix("base_model.model."): v for k, v in load_file(f"{folder}/adapter_model.safetensors").items()}

def forward(parts, x, dora):
    for k, (module, (name, first)) in enumerate(WEIGHTS.items()):
        w = torch.tensor(VALUES[name], dtype=torch.float64)
        w = (w.T if first else w) + 1.5 * parts[f"{module}.lora_B.weight"] @ parts[f"{module}.lora_A.weight"]
        if dora:
            w = w * (parts[f"{module}.lora_magnitude_vector"] / w.norm(dim=1).detach())[:, None]
        x = x @ w.T + (torch.tensor(VALUES["a.bias"], dtype=torch.float64) if k == 0 else 0)
        x = torch.tanh(x) if k < 3 else 0.5 * x
    return x

for kind in "lora", "dora":
    begin, end = adapters(f"{kind}0-adapter"), adapters(f"{kind}3-adapter")
    parts = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True) for k, v in begin.items()}
    x = torch.tensor(ROW[None], dtype=torch.float64)
    for _ in range(3):
        grads = torch.autograd.grad((forward(parts, x, kind == "dora") ** 2).mean(), list(parts.values()))
        with torch.no_grad():
            for p, d in zip(parts.values(), grads):
                p -= 0.05 * d
    moved = {k: np.abs(end[k] - begin[k]).max() for k in end}
    worst = max(np.abs(end[k] - p.detach().numpy()).max() / np.abs(end[k]).max() for k, p in parts.items())
    print(f"{kind}: {len(end)} tensors differ from PyTorch's by {worst:.1e} of their largest; they moved by {min(moved.values()):.1e} to {max(moved.values()):.1e}")
    mine = float(open(f"{kind}.csv", encoding="utf-8").readline().split()[-1])
    theirs = float(onnxruntime.InferenceSession(f"{kind}.onnx").run(None, {"x": ROW[None]})[0].item())
    want = float(forward(parts, x, kind == "dora").item())
    print(f"{kind}: predict {mine:.7f}, ONNX Runtime {theirs:.7f}, PyTorch {want:.7f}")
    assert worst < 1e-5 and min(moved.values()) > 1e-5 and abs(mine - theirs) < 1e-5 and abs(want - theirs) < 1e-5
P
