#!/usr/bin/env bash
# A net that was trained before as a detector's and a U-Net's beginning: init --net finds its sizes and writes the recipe; training, rates by name, resume to
# the same bits, export with the file's own names, what does not fit. usage: test_backbone_program.sh PROGRAM
set -euo pipefail

. "$(dirname "$0")/../support/refusals.sh"
tools=$source/../tools/examples
wrong() { bad=$((bad + 1)); echo "$test: FAILED: $1"; cat out err; }
says() { grep -q -- "$1" out err || wrong "nothing says: $1"; }
has() { grep -q -- "$1" "$2" || { wrong "$2 lacks: $1"; cat "$2"; }; }
holds() { # holds FILE NAME: whether the safetensors file has the tensor
  python3 -c 'import json, struct, sys; d = open(sys.argv[1], "rb").read(); n = struct.unpack("<Q", d[:8])[0]; sys.exit(sys.argv[2] not in json.loads(d[8:8 + n]))' "$@" ||
    wrong "$1 lacks the tensor $2"
}
python3 "$tools/make_boxes.py" boxes 20 64 3
python3 "$tools/make_pictures.py" digits masks 10 32 3
python3 "$tools/make_pictures.py" cells cells 10 32 3
TOOLS=$tools python3 - <<'P'
import os, random, sys
sys.path.insert(0, os.environ["TOOLS"])
from make_pictures import write_png
random.seed(3)
for c in range(2): # stripes down, stripes across
    os.makedirs(f"pics/c{c}")
    for k in range(16):
        rows = [bytes(min(255, max(0, int(random.gauss(90 + 80 * (((y if c else x) // 4) % 2), 20)))) for x in range(32) for _ in range(3)) for y in range(32)]
        write_png(f"pics/c{c}/{k}.png", 32, 32, 3, rows)
P
cat >first.yaml <<'Y'
data: {source: images, path: pics, size: 32}
model:
  - conv: {out: 8, stride: 2}
  - batch_norm
  - relu
  - conv: {out: 8, stride: 2}
  - relu
  - conv: {out: 12, stride: 2}
  - relu
  - conv: {out: 16, stride: 2, name: deep}
  - relu
  - global_pool
  - linear
train: {steps: 20, batch: 8}
Y
works train first.yaml --run first --quiet
works export first -o net.onnx

# ---- boxes: cells of 8 and 16 pixels are the net's, those of 32 are made; pictures are larger than the file says
works init boxes --net net.onnx -o boxes.yaml
has 'strides: \[8, 16\] ' boxes.yaml
has 'conv: {out: 16, stride: 2, bias: false}' boxes.yaml
has 'relu: {name: more_32}' boxes.yaml
short=(--set train.batch=2 --set schedule.warmup=0 --set schedule.kind=constant --set eval.every=2)
works train boxes.yaml --explain
says '^ *[^ ]* *cut  *\[8, 8, 12\]'
works train boxes.yaml --run a --quiet "${short[@]}" --set train.steps=4
works train boxes.yaml --run b --quiet "${short[@]}" --set train.steps=2
works train boxes.yaml --run b --quiet "${short[@]}" --set train.steps=4 --resume
cmp -s a/checkpoints/step-00000004/model.safetensors b/checkpoints/step-00000004/model.safetensors || wrong "resumed to other bits"
works predict a boxes/images/0000.png --json
works export a -o a.safetensors
holds a.safetensors net.deep.weight # as the file's weights are called by their places, the net has a name
works export a -o a.onnx --nms 0.3
works inspect a.onnx
says 'float \[N, 64, 64, 3\]'
says 'found'
works train boxes.yaml --run frozen --quiet "${short[@]}" --set train.steps=2 --set 'train.freeze=net.deep.*'
works export frozen -o frozen.safetensors
works export first -o first.safetensors
python3 - <<'P' || wrong "what is frozen is the file's, and the rest is not"
import json, struct
def read(path, name):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    a, b = json.loads(data[8:8 + n])[name]["data_offsets"]
    return data[8 + n + a:8 + n + b]
same = {n: read("first.safetensors", n) == read("frozen.safetensors", "net." + n) for n in ("deep.weight", "0.weight")}
assert same == {"deep.weight": True, "0.weight": False}, same
P

# ---- masks and instances: a U-Net on it, and dilated convolutions, with and without it
works init masks --net net.onnx -o unet.yaml
has 'strides: \[2, 4, 8, 16\] ' unet.yaml
works train unet.yaml --run unet --quiet "${short[@]}" --set train.steps=2
works export unet -o unet.onnx
works inspect unet.onnx
works init masks --net net.onnx --head deeplab -o far.yaml
has 'strides: \[4, 16\] ' far.yaml
has 'dilation: 3' far.yaml
works train far.yaml --run far --quiet "${short[@]}" --set train.steps=2
works predict far masks/images --out painted
works init masks --head deeplab -o own.yaml
works train own.yaml --run own --quiet "${short[@]}" --set train.steps=2
works init cells --net net.onnx --task instances -o cells.yaml
works train cells.yaml --run cells-run --quiet "${short[@]}" --set train.steps=2

# ---- a net of six sizes: strides has five
works train first.yaml --run six-run --quiet --set train.steps=1 \
  --set 'model=[conv: 8, relu, conv: {out: 8, stride: 2}, relu, conv: {out: 8, stride: 2}, relu, conv: {out: 8, stride: 2}, relu, conv: {out: 8, stride: 2}, relu, conv: {out: 8, stride: 2}, relu, global_pool, linear]'
works export six-run -o six.onnx
works init masks --net six.onnx --set data.size=64 -o six.yaml
has 'strides: \[2, 4, 8, 16, 32\] ' six.yaml
works train six.yaml --explain

# ---- of classes a net is the whole model
works init pics --net net.onnx -o pics.yaml
has 'onnx: "net.onnx"' pics.yaml
part=$(printf '%0180d' 0)
mkdir -p $part/$part/$part
cp net.onnx $part/$part/$part/
works init pics --net $part/$part/$part/net.onnx -o long.yaml # a path is kept whole
has "onnx: \"$part/$part/$part/net.onnx\"" long.yaml

# ---- ResNet's weights: its layers by their names, and the weights that are there
python3 - <<'P'
import json, struct
names = {"conv1.weight": [64, 3, 7, 7]}
names.update({f"layer{s}.{b}.conv{k}.weight": [1] for s in (1, 2, 3, 4) for b in (0, 1) for k in (1, 2)})
names["layer1.0.conv2.weight"] = [64, 64, 3, 3]
head, at = {}, 0
for n, shape in names.items():
    size = 4
    for d in shape: size *= d
    head[n] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
    at += size
text = json.dumps(head).encode()
open("resnet.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(at))
P
works init boxes --net resnet.safetensors -o resnet.yaml
has 'init: "resnet.safetensors"' resnet.yaml
has 'basic_block: {name: layer4.1, out: 512}' resnet.yaml
has 'from: "layer2.1"' resnet.yaml
works train resnet.yaml --explain

# ---- what does not fit
works train first.yaml --run shallow-run --quiet --set train.steps=1 --set 'model=[conv: {out: 8, stride: 2}, relu, global_pool, linear]'
works export shallow-run -o shallow.onnx
refused 4 "'shallow.onnx': of pictures of 64x64 it has cells of 2 pixels, and the layers that follow need 8" init boxes --net shallow.onnx -o no.yaml
works train first.yaml --run gap-run --quiet --set train.steps=1 \
  --set 'model=[conv: {out: 8, stride: 2}, relu, conv: {out: 8, stride: 2}, relu, conv: {out: 8, stride: 2}, relu, max_pool, conv: {out: 8, stride: 2}, relu, global_pool, linear]'
works export gap-run -o gap.onnx
refused 4 "'gap.onnx': of pictures of 64x64 it has cells of 2, 4, 8, 32 pixels, and the layers that follow need 16" init boxes --net gap.onnx -o no.yaml
python3 "$tools/make_points.py" points 10 128 3
refused 4 "'shallow.onnx': of pictures of 128x128 it has cells of 2 pixels, and the layers that follow need some of 4 to 32" init points --net shallow.onnx -o no.yaml
refused 4 "'shallow.onnx': of pictures of 64x32 it has" init boxes --net shallow.onnx --set data.size=64x32 -o no.yaml
refused 4 "its tensors are not named as those of torchvision's ResNets" init boxes --net first.safetensors -o no.yaml
refused 2 "'nowhere.onnx' is no file, and none of small, medium and large" init boxes --net nowhere.onnx -o no.yaml
refused 2 "weights alone don't say what the net of classes is" init pics --net first.safetensors -o no.yaml
refused 2 '--head is for pictures with masks' init boxes --head deeplab -o no.yaml
sed 's/strides: \[8, 16\]/strides: [8, 32]/' boxes.yaml >wrong.yaml
refused 2 'needs 2 rows and 2 columns, 32 pixels a cell' train wrong.yaml --run no
[ $bad = 0 ] && echo "$test: $n calls"
exit $((bad > 0))
