#!/usr/bin/env bash
# Pretrained vision models against PyTorch: weights at random under torchvision's or timm's names (tools/golden/golden_resnet.py, golden_vision.py)
# begin a run of the shipped recipe with other classes, which trains two steps; the weights are those of the file but for the head, and what
# `vktrain predict`, and ONNX Runtime with what `vktrain export` writes, give on pictures is what PyTorch gives with the run's weights and the
# constants that its pixels get. Run by hand where the lab is.
# usage: check_pretrained.sh PROGRAM [DRIVER [MODEL...]]
set -euo pipefail
program=$(realpath "${1:?the program}") driver=${2:-mesa25}
models=("${@:3}"); [ ${#models[@]} -gt 0 ] || models=(resnet18 resnet34 resnet50 vit-tiny vit-small convnext-tiny mobilenet-v3-small)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-pretrained.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >models.py <<P
import sys
sys.path.insert(0, "$here/../golden")
import golden_resnet, golden_vision
def make(name, **k):
    return golden_vision.MODELS[name](**k) if name in golden_vision.MODELS else golden_resnet.ResNet(*golden_resnet.MODELS[name], **k)
P
"$lab/in-testing" python3 - "$work" "${models[@]}" <<'P'
import os, sys
os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
import numpy as np, torch
from PIL import Image
from models import make
from safetensors.torch import save_file
torch.manual_seed(3)
for name in sys.argv[2:]:
    model = make(name)
    for k, v in model.state_dict().items():
        if k.endswith("running_mean"): v.normal_(0, 0.1)
        elif k.endswith("running_var"): v.uniform_(0.5, 2)
        elif "tracked" in k: pass
        elif v.dim() == 1 and k.endswith("weight"): v.uniform_(0.5, 1)
        elif k.endswith("layer_scale"): v.uniform_(0.1, 0.3)
        elif v.dim() == 4 and name.startswith("mobilenet"): v.normal_(0, (3 / v[0].numel()) ** 0.5)  # so that pictures still differ at the end
        elif k in ("cls_token", "pos_embed"): v.normal_(0, 0.5)
    save_file(model.state_dict(), f"{name}.safetensors")
rng = np.random.default_rng(1)
for size in 64, 224:
    for c in "abc":
        os.makedirs(f"pictures{size}/{c}")
        for i in range(12 if size == 64 else 4):
            Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8)).save(f"pictures{size}/{c}/{i}.png")
P
for m in "${models[@]}"; do
  size=64; case $m in vit*) size=224 ;; esac
  "$lab/with-driver" "$driver" "$program" train "$m" --set data.path=pictures$size --set data.size=$size --set data.valid_fraction=0.34 --set data.test_fraction=0 --set data.augment.resized_crop=0 --set "init=$m.safetensors" \
    --set optim.lr=0 --set optim.weight_decay=0 --set train.steps=2 --set schedule.warmup=0 --set train.batch=8 --set eval.every=2 \
    --run "run-$m" >out 2>log || { cat log; exit 1; }
  grep -o 'training starts with.*' log
  case $m in vit*) want=symmetric ;; *) want=imagenet ;; esac
  grep -q "data.standardize: $want" log
  "$lab/with-driver" "$driver" "$program" predict "run-$m" pictures$size --csv >"$m.csv" 2>>log
  "$lab/with-driver" "$driver" "$program" export "run-$m" -o "$m.onnx" >>log 2>&1 || { cat log; exit 1; }
done
# Debian's onnx and ONNX Runtime register their schemas twice, and say so at length.
"$lab/in-testing" python3 - "$work" "${models[@]}" <<'P' 2>stderr || { grep -v '^Schema error\|^$' stderr; exit 1; }
import csv, os, sys
os.chdir(sys.argv[1])
sys.path.insert(0, sys.argv[1])
import numpy as np, onnxruntime, torch
from PIL import Image
from models import make
from safetensors.torch import load_file
for name in sys.argv[2:]:
    mean, std = ([0.5] * 3, [0.5] * 3) if name.startswith("vit") else ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    first, last = load_file(f"{name}.safetensors"), load_file(f"run-{name}/best/model.safetensors")
    assert set(first) == set(last), set(first) ^ set(last)
    head = max(k for k in first if k.endswith("weight") and first[k].shape[:1] == (1000,))[:-len("weight")]
    for k in first:  # two steps at rate 0 move the running averages alone
        if not k.startswith(head) and "running" not in k and "tracked" not in k: assert torch.equal(first[k], last[k]), k
    model = make(name, classes=3)
    model.load_state_dict(last)
    model.double().eval()
    onnx = onnxruntime.InferenceSession(f"{name}.onnx")
    worst, other, spread, rows = 0, 0, [], list(csv.DictReader(open(f"{name}.csv")))
    for row in rows:
        x = (np.asarray(Image.open(row["input"]).convert("RGB")) / 255 - mean) / std
        p = torch.softmax(model(torch.tensor(x.transpose(2, 0, 1)[None])), 1)[0].detach().numpy()
        spread.append(p)
        worst = max(worst, max(abs(p[i] - float(row[f"p({c})"])) for i, c in enumerate("abc")))
        other = max(other, abs(onnx.run(["probabilities"], {"input": x[None].astype(np.float32)})[0][0] - p).max())
    spread = np.ptp(spread, axis=0).max()
    print(f"{name}: {len(first)} tensors, {len(rows)} pictures, probabilities within {worst:.1e} of PyTorch's, ONNX Runtime's within {other:.1e} "
          f"(pictures differ by {spread:.1e})")
    assert rows and worst < 1e-4 and other < 1e-4 and spread > 100 * worst
P
