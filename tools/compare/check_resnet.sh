#!/usr/bin/env bash
# Pretrained ResNets against PyTorch: weights at random under torchvision's names (tools/golden/golden_resnet.py) begin a run of the shipped
# recipe with other classes, which trains two steps; the weights are those of the file but for the head, and what `vktrain predict` gives on
# pictures is what PyTorch gives with the run's weights and ImageNet's mean and deviation. Run by hand where the lab is.
# usage: check_resnet.sh PROGRAM [DRIVER [MODEL...]]
set -euo pipefail
program=$(realpath "${1:?the program}") driver=${2:-mesa25}
models=("${@:3}"); [ ${#models[@]} -gt 0 ] || models=(resnet18 resnet34 resnet50)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-resnet.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
"$lab/in-testing" python3 - "$here/../golden" "$work" "${models[@]}" <<'P'
import os, sys
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[2])
import numpy as np, torch
from PIL import Image
from safetensors.torch import save_file
from golden_resnet import MODELS, ResNet
torch.manual_seed(3)
for name in sys.argv[3:]:
    model = ResNet(*MODELS[name])
    for k, v in model.state_dict().items():
        if k.endswith("running_mean"): v.normal_(0, 0.1)
        if k.endswith("running_var"): v.uniform_(0.5, 2)
        if "bn" in k and k.endswith("weight"): v.uniform_(0.5, 1)
    save_file(model.state_dict(), f"{name}.safetensors")
rng = np.random.default_rng(1)
for c in "abc":
    os.makedirs(f"pictures/{c}")
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(f"pictures/{c}/{i}.png")
P
for m in "${models[@]}"; do
  "$lab/with-driver" "$driver" "$program" train "$m" --set data.path=pictures --set data.size=64 --set data.augment.resized_crop=0 --set "init=$m.safetensors" \
    --set optim.lr=0 --set optim.weight_decay=0 --set train.steps=2 --set schedule.warmup=0 --set train.batch=8 --set eval.every=2 \
    --run "run-$m" >out 2>log || { cat log; exit 1; }
  grep -o 'training starts with.*' log
  grep -q 'data.standardize: imagenet' log
  "$lab/with-driver" "$driver" "$program" predict "run-$m" pictures --csv >"$m.csv" 2>>log
done
"$lab/in-testing" python3 - "$here/../golden" "$work" "${models[@]}" <<'P'
import csv, os, sys
sys.path.insert(0, sys.argv[1])
os.chdir(sys.argv[2])
import numpy as np, torch
from PIL import Image
from safetensors.torch import load_file
from golden_resnet import MODELS, ResNet
mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
for name in sys.argv[3:]:
    first, last = load_file(f"{name}.safetensors"), load_file(f"run-{name}/best/model.safetensors")
    assert set(first) == set(last), set(first) ^ set(last)
    for k in first:  # two steps at rate 0 move the running averages alone
        if not k.startswith("fc.") and "running" not in k and "tracked" not in k: assert torch.equal(first[k], last[k]), k
    model = ResNet(*MODELS[name], classes=3)
    model.load_state_dict(last)
    model.double().eval()
    worst = 0
    for row in csv.DictReader(open(f"{name}.csv")):
        x = (np.asarray(Image.open(row["input"]).convert("RGB")) / 255 - mean) / std
        p = torch.softmax(model(torch.tensor(x.transpose(2, 0, 1)[None])), 1)[0].detach().numpy()
        worst = max(worst, max(abs(p[i] - float(row[f"p({c})"])) for i, c in enumerate("abc")))
    print(f"{name}: {len(first)} tensors, probabilities within {worst:.1e} of PyTorch's")
    assert worst < 1e-4
P
