#!/usr/bin/env bash
# A net of an ONNX file through the program: `init: net.onnx` and `vktrain init --set init=net.onnx`, a new last layer where the
# classes differ, weights that stay, rates by name, and a file that is not the one that the run began with. usage:
# test_onnx_program.sh PROGRAM
set -euo pipefail

. "$(dirname "$0")/../support/refusals.sh"

says() { grep -q -- "$1" out err || { bad=$((bad + 1)); echo "$test: FAILED: nothing says: $1"; cat out err; }; }
same() { # same WANT NAME A B: whether the tensor is the same in two safetensors files
  python3 - "$@" <<'P' || { bad=$((bad + 1)); echo "$test: FAILED: $2 must be $1 in $3 and $4"; }
import json, struct, sys
def read(path, name):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    a, b = json.loads(data[8:8 + n])[name]["data_offsets"]
    return data[8 + n + a:8 + n + b]
want, name, a, b = sys.argv[1:]
sys.exit((read(a, name) == read(b, name)) != (want == "same"))
P
}
python3 - <<'P'
import os, random, struct, zlib
random.seed(3)
def chunk(t, d): return struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
for c in range(3): # what is checkered more is another class
    os.makedirs(f"pics/c{c}")
    for k in range(30):
        rows = [[min(255, max(0, int(random.gauss(60 + 60 * c * ((x // 4 + y // 4) % 2), 20)))) for x in range(12)] for y in range(12)]
        with open(f"pics/c{c}/{k}.png", "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 12, 12, 8, 0, 0, 0, 0)) +
                    chunk(b"IDAT", zlib.compress(b"".join(b"\0" + bytes(r) for r in rows))) + chunk(b"IEND", b""))
P
cp -r pics shots
printf 'data: {source: digits}\nmodel: [flatten, linear: 32, relu, linear]\ntrain: {steps: 40, batch: 64}\n' >first.yaml
printf 'data: {source: digits}\ninit: net.onnx\ntrain: {steps: 4, batch: 64}\neval: {every: 4}\n' >tune.yaml
works train first.yaml --run first --quiet
works export first -o net.onnx
works export first -o first.safetensors

# ---- as many classes: the net as it is; others: it ends before its last layer
works train tune.yaml --run tuned --quiet
works export tuned -o tuned.safetensors
same other 1.weight first.safetensors tuned.safetensors
works init pics --set init=net.onnx -o pics.yaml
says 'has 10 outputs, the data have 3'
says 'size: 8x8, as'
works train pics.yaml --run pics --quiet --set train.steps=150 --set train.batch=16 --set optim.lr=0.003
grep -q 'test .*acc \(9[0-9]\|100\)' out || { bad=$((bad + 1)); echo "$test: FAILED: the new end learns nothing"; cat out; }
works init digits --set init=net.onnx -o digits.yaml
[ "$(grep -c 'cut:\|head:' digits.yaml)" = 0 ] || { bad=$((bad + 1)); echo "$test: FAILED: as many classes need no new end"; }
refused 2 "'net.onnx' is a model, and the recipe has one: leave" train first.yaml --run r0 --set init=net.onnx

# ---- weights that stay, and rates by name
works train tune.yaml --run frozen --quiet --set 'train.freeze=1.*'
works export frozen -o frozen.safetensors
same same 1.weight first.safetensors frozen.safetensors
same other 3.weight first.safetensors frozen.safetensors
works train tune.yaml --run groups --quiet --set 'optim.groups=[{pattern: "1.*", lr_scale: 0}]'
works export groups -o groups.safetensors
same same 1.weight frozen.safetensors groups.safetensors
same same 3.weight frozen.safetensors groups.safetensors

# ---- adapters: the file is the base, which stays; resumed to the same bits; merged and apart are the same
printf 'data: {source: digits}\ninit: net.onnx\nlora: {rank: 2}\ntrain: {steps: 4, batch: 64}\neval: {every: 2}\noptim: {lr: 0.01}\n' >lora.yaml
works train lora.yaml --run lora --quiet
grep -o 'test  *loss [0-9.]*' out >whole
works eval lora
grep -q "loss $(grep -o '[0-9.]*$' whole)" out || { bad=$((bad + 1)); echo "$test: FAILED: merged it is another net"; cat whole out; }
works train lora.yaml --run half --quiet --set train.steps=2
works train lora.yaml --run half --quiet --resume --set train.steps=4
cmp -s lora/checkpoints/step-00000004/model.safetensors half/checkpoints/step-00000004/model.safetensors ||
  { bad=$((bad + 1)); echo "$test: FAILED: a resumed adapter has other bits"; }
works export lora -o lora.safetensors
same other 1.weight first.safetensors lora.safetensors
same same 1.bias first.safetensors lora.safetensors
works export lora -o lora.onnx
works train tune.yaml --run back --quiet --set init=lora.onnx --set optim.lr=0
works export back -o back.safetensors
same same 1.weight lora.safetensors back.safetensors
works export lora --adapter adapter
grep -q '"target_modules": \[' adapter/adapter_config.json || { bad=$((bad + 1)); echo "$test: FAILED: an adapter without layers"; }
works train lora.yaml --run dora --quiet --set lora.dora=true --set 'lora.targets=[3]' --set lora.base=q8_0
works eval dora
works train pics.yaml --run ends --quiet --set data.path=shots --set lora.rank=2 --set train.steps=2
works export ends -o ends.safetensors
same same 1.bias first.safetensors ends.safetensors
refused 2 "no linear layer is called 'fc'; the layers are 1, 3 or all-linear" train lora.yaml --run r0 --set 'lora.targets=[fc]'
refused 2 'lora.from: not for the net of an ONNX file' train lora.yaml --run r0 --set lora.from=adapter
refused 2 'beside an ONNX file `init` is no base of adapters' train first.yaml --run r0 --set init=lora --set lora.rank=2 \
  --set 'model={onnx: net.onnx}'

# ---- a text encoder: mask and kinds follow from the column of text, and padding counts for nothing
cp "$(dirname "$0")/../golden/onnx/encoder/model.onnx" encoder.onnx
python3 - <<'P'
import random
random.seed(2)
with open("texts.csv", "w") as f:
    f.write("text,label\n")
    for _ in range(300):
        c = random.randrange(3)
        f.write("".join(random.choice("abcdefghijklmno"[c * 5:c * 5 + 5]) for _ in range(random.randrange(4, 12))) + "," + "xyz"[c] + "\n")
P
printf 'data: {source: csv, path: texts.csv, label: label, text: [text], vocab: 300, context: 12}\nmodel: {onnx: encoder.onnx}\n' >texts.yaml
printf 'train: {steps: 80, batch: 16}\noptim: {lr: 0.03}\n' >>texts.yaml
works inspect encoder.onnx
says 'attention_mask *int64 \[N, T\]: 1, and 0 where a text is padded'
works inspect "$source/golden/onnx/several/model.onnx" # one of two weights of 4 numbers
says 'ONNX, 6 tensors, 28 numbers to be trained'
works inspect "$source/golden/onnx/node_gemm_all_attributes/model.onnx"
says 'a *float \[4, 3\]: needs a number: inputs'
says 'c *float \[1, 5\]: the example'
says 'inputs: "NAME=NUMBER, .."'
works train texts.yaml --run texts --quiet
grep -q 'test .*acc \(9[0-9]\|100\)' out || { bad=$((bad + 1)); echo "$test: FAILED: the encoder learns nothing"; cat out; }
cp out short
works train texts.yaml --run longer --quiet --set data.context=40
[ "$(grep -o 'test  *loss [0-9.]*' short)" = "$(grep -o 'test  *loss [0-9.]*' out)" ] ||
  { bad=$((bad + 1)); echo "$test: FAILED: padding changes the result"; cat short out; }
works export texts -o texts.onnx
python3 - <<'P'
import json, os
os.mkdir("bytes")
held = [*range(33, 127), *range(161, 173), *range(174, 256)]
letters = {b: chr(b) for b in held} | {b: chr(256 + k) for k, b in enumerate(b for b in range(256) if b not in held)}
json.dump({letters[b]: b for b in range(256)}, open("bytes/vocab.json", "w"))
open("bytes/merges.txt", "w").write("#version: 0.2\n")
P
sed 's/vocab: 300/tokenizer: bytes, added_tokens: [<x>]/; s/^model.*/init: encoder.onnx/' texts.yaml >added.yaml
works train added.yaml --run added --quiet --set train.steps=2 --set lora.rank=2
works export added --adapter added_adapter
says 'the tokenizer with data.added_tokens is not written'
[ -f added_adapter/adapter_config.json ] && ! [ -e added_adapter/generation_config.json ] ||
  { bad=$((bad + 1)); echo "$test: FAILED: what of a net beside its adapter"; ls added_adapter; }
refused 2 'has 300 rows, and the tokenizer 400 tokens' train texts.yaml --run r0 --set data.vocab=400
refused 2 "inputs: the net has no input as in 'nobody=1'" train texts.yaml --run r0 --set 'model={onnx: encoder.onnx, inputs: "nobody=1"}'

# ---- the file is the run's: not overwritten, not another
refused 2 "'net.onnx' is the file of the run's net, which the run needs as it is" export tuned -o net.onnx
works export tuned -o other.onnx
cp net.onnx kept.onnx
cp other.onnx net.onnx
refused 4 "'net.onnx' has changed since" train tune.yaml --run tuned --resume --set train.steps=8
refused 2 "'net.onnx' is not the file that the run began with" eval tuned
cp kept.onnx net.onnx
works train tune.yaml --run tuned --resume --quiet --set train.steps=8
works eval tuned

echo "$test: $n calls, $bad failed"
[ $bad = 0 ]
