#!/usr/bin/env bash
# What is wrong with pictures, their folders and the commands on them, through the program.
# usage: test_bad_pictures.sh PROGRAM
set -euo pipefail
. "$(dirname "$0")/../support/refusals.sh"

# pictures FOLDER CLASS N: N different 8x8 grey PNGs.
cat >make.py <<'P'
import pathlib, struct, sys, zlib
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
def png(w, h, rows, extra=b""):
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 0, 0, 0, 0)) + extra +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1], sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(int(sys.argv[3])):
        seed = sum(sys.argv[2].encode()) + i
        rows = b"".join(b"\0" + bytes((seed * (x + 3) + y * 29) % 256 for x in range(8)) for y in range(8))
        (folder / f"{i:02d}.png").write_bytes(png(8, 8, rows))
P
pictures() { python3 make.py "$@"; }
cat >r.yaml <<'Y'
name: pictures
data: { source: images, path: good, valid_fraction: 0.2, test_fraction: 0.2 }
model: [ flatten, linear ]
train: { steps: 4, batch: 4 }
eval: { every: 4 }
Y
train=(train r.yaml --quiet)

# ---- folders
pictures good 'two words' 12
pictures good 'größe' 12
pictures good '日本 🙂' 12
works "${train[@]}" --run of-good
works predict of-good "good/日本 🙂/03.png" 'good/two words/'
grep -q '日本 🙂/03.png' out && grep -q 'two words/11.png' out || { echo "$test: FAILED: predict changes names"; bad=$((bad + 1)); }
refused 4 "can't open 'none': No such file" "${train[@]}" --set data.path=none --run r0
pictures one only 9
refused 4 "'one'.*only one class, 'only'\|'one'.*one class" "${train[@]}" --set data.path=one --run r0
cp -r good empty-class && mkdir empty-class/nobody
refused 4 "'nobody'.*no picture\|no picture.*'nobody'" "${train[@]}" --set data.path=empty-class --run r0
mkdir nothing
refused 4 "'nothing'" "${train[@]}" --set data.path=nothing --run r0
cp -r good loops && ln -s .. 'loops/größe/up' && ln -s loop loops/loop && ln -s nowhere.png 'loops/größe/dangling.png'
works "${train[@]}" --set data.path=loops --run of-loops
says 'link'

# ---- init: a folder of pictures is pictures, whatever is wrong with it
cp -r good sizes && python3 -c '
from make import png
open("sizes/größe/tall.png", "wb").write(png(8, 9, b"".join(b"\0" + bytes(range(8)) for y in range(9))))'
works init sizes -o sizes.yaml
works inspect sizes
grep -q 'a folder of pictures, .*, 8x8x' out || { echo "$test: FAILED: inspect sizes"; bad=$((bad + 1)); }
grep -q '^  size: 8  ' sizes.yaml && grep -q 'conv:' sizes.yaml && ! grep -q tokenizer sizes.yaml || { echo "$test: FAILED: init sizes"; bad=$((bad + 1)); }
works init sizes --set data.size=4x6 --set train.steps=7 --set data.augment.contrast=0.2 -o set.yaml
grep -q '^  size: 4x6$' set.yaml && grep -q '^  steps: 7$' set.yaml && grep -q '^    contrast: 0.2$' set.yaml || { echo "$test: FAILED: init --set"; bad=$((bad + 1)); }
refused 2 "data.sizes: unknown key.*'data.size'" init sizes --set data.sizes=4 -o x.yaml
refused 2 'the model is the starter' init sizes --set model.0=4 -o x.yaml
refused 4 "'nobody'.*no picture" init empty-class -o x.yaml
mkdir loose && cp good/größe/*.png loose
refused 4 'holds 12 pictures but no class folder' init loose -o x.yaml
mkdir -p torn/a torn/b && for i in a b; do head -c 60 'good/größe/00.png' >torn/$i/1.png; done
refused 4 "class 'a' has no picture that can be read" init torn -o x.yaml
cp -r good single && mkdir single/few && cp 'good/größe/00.png' single/few
works init single -o single.yaml
says "class 'few' has only one picture"

# ---- init --net: weights that are no ResNet's
python3 "$source/../tools/examples/make_pictures.py" digits masks 10 32 3
cat >resnet.py <<'P'
# resnet.py FILE [NAME=SHAPE]...: the least that counts as ResNet-18's weights, and these tensors
import json, struct, sys
tensors = {"conv1.weight": [64, 3, 7, 7]}
tensors.update({f"layer{s}.{b}.conv{k}.weight": [1] for s in (1, 2, 3, 4) for b in (0, 1) for k in (1, 2)})
tensors["layer1.0.conv2.weight"] = [64, 64, 3, 3]
tensors.update((name, json.loads(shape)) for name, shape in (a.split("=") for a in sys.argv[2:]))
head, at = {}, 0
for name, shape in tensors.items():
    size = 4
    for d in shape: size *= d
    head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
    at += size
text = json.dumps(head).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + bytes(at))
P
resnet() { python3 resnet.py "$@"; }
resnet r18.safetensors 'layer1.-5.x=[1]' 'layer1. 7.x=[1]'
works init masks --net r18.safetensors --set data.color=rgb -o r18.yaml
[ "$(grep -c basic_block r18.yaml)" = 8 ] || { echo "$test: FAILED: a block is counted that has no number"; bad=$((bad + 1)); }
refused 4 "'r18.safetensors': it takes pictures of 3 channels, the data's have 1: --set data.color=rgb" init masks --net r18.safetensors --set data.color=grey -o x.yaml
refused 2 'data.size: 100x100: both sides must be multiples of 32' init masks --net r18.safetensors --set data.size=100 -o x.yaml
refused 2 'data.size: 64x80: both sides must be multiples of 32' init masks --head deeplab --set data.size=64x80 -o x.yaml
resnet odd.safetensors 'layer1.3.conv1.weight=[1]'
refused 4 "its tensors are not named as those of torchvision's ResNets" init masks --net odd.safetensors -o x.yaml
for tensor in layer1.999.conv1.weight=[1] layer1.64.conv1.weight=[1] layer2.0.se.fc1.weight=[1] layer1.0.conv2.weight=[128,4,3,3]; do
  resnet odd.safetensors "$tensor"
  refused 4 "its tensor '${tensor%=*}' is none of torchvision's ResNet" init masks --net odd.safetensors -o x.yaml
done
[ ! -e x.yaml ] || { echo "$test: FAILED: a refused init left a recipe"; bad=$((bad + 1)); }

# ---- files: by default counted and left out, each with its reason; or refused
cp -r good mixed
: >'mixed/größe/a.png'
echo 'I am a text' >'mixed/größe/b.png'
head -c 60 'good/größe/00.png' >'mixed/größe/c.png'
echo 'readme' >mixed/notes.txt
printf 'GIF89a' >'mixed/größe/d.gif'
works "${train[@]}" --set data.path=mixed --run of-mixed
says "skipped: 'mixed/größe/a.png' is empty" "skipped: 'mixed/größe/b.png' is not a PNG, JPEG, BMP, GIF or WebP" "'mixed/größe/c.png' is cut short" "skipped: 4 of 40"
refused 4 "'mixed/größe/a.png' is empty: get it again" "${train[@]}" --set data.path=mixed --set data.bad_files=stop --run r0
refused 4 "'mixed/größe/b.png' is not a PNG, JPEG, BMP, GIF or WebP picture" predict of-good 'mixed/größe/b.png'
tail -c +3 "$source/fuzz/seeds/data/animated.gif" >'two words.gif'
works predict of-good 'two words.gif'
tail -c +3 "$source/fuzz/seeds/data/lossy.webp" >lossy.webp
mkdir nowebp && for f in libwebp.so.7 libwebp.so.6; do echo 'no library' >nowebp/$f; done
(
    export LD_LIBRARY_PATH=$PWD/nowebp
    refused 4 "'lossy.webp' is a WebP picture, for which libwebp is needed: install it (libwebp7" predict of-good lossy.webp
    echo "$n $bad" >counts
)
read -r n bad <counts
if ldconfig -p | grep 'libwebp\.so\.[67]' >/dev/null; then works predict of-good lossy.webp; fi
refused 4 "'mixed/größe/c.png' is cut short" predict of-good 'mixed/größe/c.png'
# A picture by itself must be read, one of a folder may be left out, whichever comes first.
works predict of-good 'good/größe/00.png' 'mixed/größe/'
says "skipped: 'mixed/größe/a.png' is empty"
# By the header, before anything is decoded: few bytes that promise gigabytes.
python3 - <<'P'
from make import png
open("wide.png", "wb").write(png(30000, 8, b"\0" * 30001 * 8))
open("bomb.png", "wb").write(png(16000, 16000, b"\0" * 1000))
open("short.png", "wb").write(png(8000, 8000, b"\0" * 1000))
P
refused 4 "'wide.png' is 30000x8 pixels.*make it smaller" predict of-good wide.png
refused 4 "'bomb.png' is 16000x16000 pixels.*make it smaller" predict of-good bomb.png
refused 4 "'short.png'" predict of-good short.png
for f in wide bomb; do
    rm -rf "$f" && cp -r good $f && cp $f.png "$f/größe/"
    works "${train[@]}" --set data.path=$f --run of-$f
    says "skipped: '$f/größe/$f.png' is"
done
# Rules of picture.c: of an animation the still picture, CMYK as RGB.
base64 -d >cmyk.jpg <<'J'
/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAoHB4jHhkoIyEjLSsoMDxkQTw3Nzx7WF1JZJGAmZaPgIyKoLTmw6Cq2q2KjMj/y9ru9f///5vB////+v/m/f/4
/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAUE/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAA4EQwBNAFkASwAAPwBlATLv/9k=
J
python3 - <<'P'
from make import chunk, png
still = b"".join(b"\0" + bytes(8) for _ in range(8))
open("still.png", "wb").write(png(8, 8, still))
open("animated.png", "wb").write(png(8, 8, still, chunk(b"acTL", bytes([0, 0, 0, 2, 0, 0, 0, 0]))))
P
works predict of-good cmyk.jpg
works predict of-good still.png animated.png
[ "$(cut -d' ' -f3- out | sort -u | wc -l)" = 1 ] || { echo "$test: FAILED: an animated PNG is not its still picture"; cat out; bad=$((bad + 1)); }
works inspect r.yaml --augment sheet.png

# ---- a file that vanishes while training: decoded again and again where memory may not hold the pictures
cp -r good going
"$program" "${train[@]}" --set data.path=going --set data.keep=0 --set train.steps=200000 --set eval.every=100000 --run of-going >out 2>err </dev/null &
pid=$!
for _ in $(seq 200); do [ -s of-going/run.json ] && break; sleep 0.05; done
sleep 0.3
rm -r going
n=$((n + 1)) rc=0
wait $pid || rc=$?
if [ $rc != 4 ] || [ "$(grep -c 'error:' err)" != 1 ] || ! grep -q "error: none of the 4 examples of a batch can be read: .*No such file" err; then
    echo "$test: FAILED: pictures that vanish while training: exit $rc, must be 4"
    sed 's/^/  > /' err
    bad=$((bad + 1))
fi

# The same of validation pictures: one that is alone in the last batch of an evaluation is left out, like others; all are not.
gone() { # gone CODE TEXT FILE...: these vanish before the evaluation
  rm -rf held held.run && mkdir held && cp -r good held/train && cp -r good held/valid
  "$program" "${train[@]}" --set data.path=held --set data.keep=0 --set train.steps=4000 --set eval.every=4000 --set eval.batch=5 --run held.run >out 2>err </dev/null &
  pid=$!
  for _ in $(seq 200); do [ -s held.run/run.json ] && break; sleep 0.05; done
  rm -r "${@:3}"
  n=$((n + 1)) rc=0
  wait $pid || rc=$?
  [ $rc = "$1" ] && grep -q "$2" err || { echo "$test: FAILED: ${*:3} gone: exit $rc, must be $1, with '$2'"; sed 's/^/  > /' err; bad=$((bad + 1)); }
}
gone 0 'skipped: .*11.png' "held/valid/日本 🙂/11.png"
gone 4 'error: none of the .* can be read: is the data still there?' held/valid

# ---- pictures that open and can't be decoded are no examples: 24 of 36 are left to be counted
cp -r good undecodable
python3 - <<'P'
import pathlib, struct
from make import chunk
head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
for folder in pathlib.Path("undecodable").iterdir():
    for i in 0, 3, 5, 7: (folder / f"{i:02d}.png").write_bytes(head + chunk(b"IDAT", b"\xff" * 40) + chunk(b"IEND", b""))
P
works "${train[@]}" --set data.path=undecodable --set data.keep=0 --run of-undecodable
says 'skipped: .*bad zlib header'
counted=0
for split in train valid test; do
    works eval of-undecodable --split $split --predictions p.csv
    k=$(sed -n "s/^$split: \([0-9]*\) examples.*/\1/p" out)
    [ "$(wc -l <p.csv)" = $((k + 1)) ] || { echo "$test: FAILED: $k examples of $split, $(wc -l <p.csv) lines of predictions"; bad=$((bad + 1)); }
    counted=$((counted + k))
done
[ $counted = 24 ] || { echo "$test: FAILED: $counted examples are counted, not the 24 that can be decoded"; bad=$((bad + 1)); }

# ---- CIFAR
mkdir cifar
record() { printf "\\$(printf %03o $(($1 % 10)))"; head -c 3072 "$program"; }
for f in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do for i in $(seq 20); do record "$i"; done >cifar/$f.bin; done
cifar=("${train[@]}" --set data.source=cifar --set data.path=cifar)
works "${cifar[@]}" --run of-cifar
truncate -s -100 cifar/data_batch_3.bin
refused 4 "data_batch_3.bin.*3073" "${cifar[@]}" --run r0
: >cifar/data_batch_3.bin
refused 4 'data_batch_3.bin' "${cifar[@]}" --run r0
rm cifar/data_batch_3.bin cifar/test_batch.bin
refused 4 'batch' "${cifar[@]}" --run r0

# ---- labels in a CSV
labels=("${train[@]}" --set data.path=good --set data.labels=l.csv)
for i in 00 01 02 03 04 05; do printf 'größe/%s.png,a\ntwo words/%s.png,b\n' $i $i; done >l.csv
works "${labels[@]}" --run of-labels
cp l.csv all.csv
echo 'größe/06.png' >>l.csv
refused 4 'l.csv.*13' "${labels[@]}" --run r0
(cat all.csv; echo 'größe/06.png,a,tset') >l.csv
refused 4 'l.csv' "${labels[@]}" --run r0
: >l.csv
refused 4 'l.csv' "${labels[@]}" --run r0
refused 4 'none.csv' "${labels[@]}" --set data.labels=none.csv --run r0

# ---- packs
refused 2 '--out PATH is missing' pack r.yaml
works pack r.yaml --out p.pack
packed=("${train[@]}" --set data.source=packed --set data.path=p.pack)
works "${packed[@]}" --run of-pack
works inspect p.pack
grep -q 'a pack of images, 8x8x1' out && grep -q '日本 🙂 ' out || { echo "$test: FAILED: inspect of a pack"; cat out; bad=$((bad + 1)); }
works eval of-good --data p.pack
grep -q '^p.pack: 6 examples\|^test: 6 examples\|6 examples' out || { echo "$test: FAILED: eval on a pack"; cat out; bad=$((bad + 1)); }
works pack r.yaml --out 9x9.pack --set data.size=9
refused 4 "'9x9.pack' has images of 9x9x1, not the model's 8x8x1" eval of-good --data 9x9.pack
truncate -s -50 p.pack
refused 4 "'p.pack'" eval of-good --data p.pack
refused 4 "'p.pack'" inspect p.pack
refused 4 "'p.pack'" "${packed[@]}" --run r0
echo 'no pack' >p.pack
refused 4 "'p.pack'" "${packed[@]}" --run r0
refused 4 'none.pack' "${packed[@]}" --set data.path=none.pack --run r0
refused 2 'images' pack digits --out d.pack --set data.source=csv --set data.path=all.csv
refused 4 'nowhere' pack r.yaml --out nowhere/p.pack

# ---- export, contact sheet, confusion matrix
refused 2 'm.pb.*\.onnx' export of-good -o m.pb
refused 4 'nowhere' export of-good -o nowhere/m.onnx
works export of-good -o m.onnx
cat >gpt.yaml <<'Y'
data: { source: text, path: l.txt, context: 8, valid_fraction: 0.3, test_fraction: 0 }
model: [ { transformer: { layers: 1, heads: 2, width: 16 } } ]
train: { steps: 1, batch: 1 }
Y
for i in $(seq 40); do echo "line $i"; done >l.txt
works train gpt.yaml --quiet --run of-text
refused 2 "'of-text' is a language model, which the ONNX export does not support" export of-text -o t.onnx
[ ! -e t.onnx ] || { echo "$test: FAILED: a refused export left a file"; bad=$((bad + 1)); }
refused 2 'augment takes one recipe' inspect r.yaml r.yaml --augment s.png
refused 2 'set is for it' inspect r.yaml --set data.path=good
refused 2 "'r.yaml' is a recipe: .vktrain train r.yaml --explain. .*--augment" inspect r.yaml
mkdir -p many/one && cp of-good/run.json many/one/
refused 4 "'many': holds runs: .vktrain runs 'many'. lists them" inspect many
refused 4 'nowhere' inspect r.yaml --augment nowhere/s.png
refused 2 'images\|pictures' inspect digits --augment s.png --set data.source=csv --set data.path=all.csv
seq 60 | sed 's/.*/&,&/' >table.csv
works eval of-good --split train --confusion c --predictions p.csv
python3 - <<'P' || { echo "$test: FAILED: the confusion matrix is not that of the predictions, a row a target"; bad=$((bad + 1)); }
import csv
rows, names = list(csv.DictReader(open("p.csv"))), next(csv.reader(open("c.csv")))[1:]
for row in csv.reader(list(open("c.csv"))[1:]):
    want = [sum(r["target"] == row[0] and r["predicted"] == name for r in rows) for name in names]
    if list(map(int, row[1:])) != want: raise SystemExit(f"{row}, must be {want}")
P
refused 4 'nowhere' eval of-good --confusion nowhere/c.csv
works "${train[@]}" --set data.source=csv --set data.path=table.csv --set data.task=regress --run of-table
refused 2 'no confusion matrix' eval of-table --confusion t
refused 2 'no curves of numbers' eval of-table --curves t
refused 2 'no importance of columns' eval of-good --importance t.csv
refused 2 'no confusion matrix' eval of-text --split valid --confusion t
[ ! -e r0 ] || { echo "$test: FAILED: a refused run left a folder"; bad=$((bad + 1)); }
conclude
