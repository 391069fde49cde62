#!/usr/bin/env bash
# Data that can't be learned from or predicted, and runs that can't be gone on with, through the program: each one error line that
# says what, where and what to do, and the exit code of its kind. usage: test_data_refusals.sh PROGRAM
set -euo pipefail

. "$(dirname "$0")/../support/refusals.sh"

python3 - <<'P'
import json, pathlib, struct, zlib

def put(name, data):
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)

def npy(name, shape, kind, data, version=1):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, tuple(shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    put(name, b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(head)) + head.encode() + data)

def png(name, w, h, value):
    chunk = lambda c, data: struct.pack(">I", len(data)) + c + data + struct.pack(">I", zlib.crc32(c + data))
    rows = b"".join(b"\0" + bytes((x * y * value) % 251 for x in range(w)) for y in range(h)) if w < 100 else (b"\0" + bytes(w)) * h
    put(name, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

# texts
put("d/" * 66 + "a.txt", "It is a truth")
put("turns.jsonl", json.dumps({"messages": [{"role": "user", "content": "a"}] * 10001}))
put("blank.jsonl", '{"text": ""}\n{"text": ""}\n')
put("llmc.bin", struct.pack("<256i", 20240520, 9, 4, *[0] * 253) + bytes(8))
put("run-on.txt", "a" * 2000000)
put("latin1.jinja", b"{{ '\xe9' }}")
put("short.txt", "to be, or not to be: that is the question " * 40)
put("chats.jsonl", "".join(json.dumps({"messages": [{"role": "user", "content": f"{i}?"}, {"role": "assistant", "content": "Yes."}]}) + "\n" for i in range(8)))
put("gpt2-list/vocab.json", "[]")
put("gpt2-list/merges.txt", "a b\n")
put("gpt2-latin1/vocab.json", json.dumps({"a": 0}))
put("gpt2-latin1/merges.txt", b"#version: 0.2\n\xe9 b\n")
# tables
n = range(60)
put("one-group.csv", "x,g,y\n" + "".join(f"{i},p,{i % 2}\n" for i in n))
put("many-sets.csv", "x,y\n" + "".join(f"{i},a{i}|b{i}\n" for i in n))
put("no-sets.csv", "x,y\n" + "".join(f"{i},\n" for i in n))
put("words.csv", "x,w,y\n" + "".join(f"{i},word {i},{i % 2}\n" for i in range(3000)))
put("large.csv", "x,y\n" + "".join(f"{i},{'-' if i % 2 else ''}1.7e308\n" for i in n))
put("plain.csv", "".join(f"{i},{i * 7 % 13},{i % 2}\n" for i in n))
put("kinds.csv", "x,k,y\n" + "".join(f"{i},{'pq'[i % 2]},{i % 2}\n" for i in n))
put("two.csv", "x,y,z\n" + "".join(f"{i},{2 * i},{3 * i}\n" for i in n))
put("four.csv", "".join(f"{i},{i // 6},{i * 7 % 13},{i % 2}\n" for i in n))
put("rows.jsonl", '{"a": 1}\n')
put("open.csv", '1,2,0\n2,"' + "a" * 70000000)
# arrays: X [n, 2] f32, y [n] i64
npy("a/X.npy", (60, 2), "<f4", struct.pack("<120f", *[(k * 7) % 13 for k in range(120)]))
npy("a/y.npy", (60,), "<i8", struct.pack("<60q", *[k % 2 for k in n]))
npy("other/X.npy", (4, 2), "<f4", struct.pack("<8f", *range(8)))
npy("other/y.npy", (4,), "<i8", struct.pack("<4q", 0, 1, 7, 1))
npy("far/X.npy", (2, 2), "<f8", struct.pack("<4d", 1, 2, 1e300, 3))
npy("wide/X.npy", (2, 3), "<f4", bytes(24))
npy("one-y/X.npy", (4, 1), "<f4", bytes(16))
npy("one-y/y.npy", (4,), "<i8", bytes(32))
npy("new.npy", (2, 2), "<f4", bytes(16), version=9)
for name, c, h in (("grey", 1, 6), ("pairs", 2, 6), ("taller", 1, 7)):
    npy(name + "/X.npy", (40, h, 5, c), "|u1", bytes((k * 31) % 251 for k in range(40 * h * 5 * c)))
    npy(name + "/y.npy", (40,), "<i8", struct.pack("<40q", *[k % 2 for k in range(40)]))
# pictures
for i in range(8): png(f"pictures/{'ab'[i % 2]}/{i}.png", 8, 8, i + 1)
for i in range(4): png(f"huge/{'ab'[i % 2]}/{i}.png", 1200, 4, 0)
for i in range(4): png(f"deep/{'ab'[i % 2]}/" + "d/" * 33 + f"{i}.png", 8, 8, 0)
put("broken/labels.csv", "file,label\n" + "".join(f"{i}.png,a|b\n" for i in range(4)))
for i in range(4): put(f"broken/{i}.png", b"\x89PNG\r\n\x1a\n")
def hollow(name): # whole, but its pixels are no zlib data
    chunk = lambda c, data: struct.pack(">I", len(data)) + c + data + struct.pack(">I", zlib.crc32(c + data))
    put(name, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + chunk(b"IDAT", b"no zlib data") + chunk(b"IEND", b""))
for i in range(8): hollow(f"hollow/{'ab'[i % 2]}/{i}.png")
npy("tall/X.npy", (40, 16385, 1, 1), "|u1", bytes((k * 31) % 251 for k in range(40 * 16385)))
npy("tall/y.npy", (40,), "<i8", struct.pack("<40q", *[k % 2 for k in range(40)]))
put("both.csv", "file,p,q\n" + "".join(f"{'ab'[i % 2]}/{i}.png,{i},{i * i}\n" for i in range(8)))
put("numbers.csv", "file,label\n" + "".join(f"{'ab'[i % 2]}/{i}.png,{'-' if i % 2 else ''}1.7e308\n" for i in range(8)))
# tokenizers: GPT-2's of the bytes of UTF-8, without merges and with one; SentencePiece's
held = [*range(33, 127), *range(161, 173), *range(174, 256)]
letters = {b: chr(b) for b in held} | {b: chr(256 + k) for k, b in enumerate(b for b in range(256) if b not in held)}
utf8 = {letters[b]: k for k, b in enumerate(b for b in range(245) if b not in (0xC0, 0xC1))}
for name, more, merges in (("utf8", {}, ""), ("merged", {"ab": len(utf8)}, "a b\n")):
    put(name + "/vocab.json", json.dumps(utf8 | more))
    put(name + "/merges.txt", "#version: 0.2\n" + merges)
put("two-bytes/vocab.json", json.dumps({"a": 0, "b": 1}))
put("two-bytes/merges.txt", "#version: 0.2\n")
put("ff.txt", b"abc \xff d")
spm = {"added_tokens": [], "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
       "model": {"type": "BPE", "byte_fallback": True, "unk_token": "<unk>", "merges": [], "vocab": {"<unk>": 0, "a": 1, "<0x00>": 2}}}
put("fallback.json", json.dumps(spm))
spm["added_tokens"] = [{"id": 258, "content": "<x>", "special": False, "normalized": True, "lstrip": False, "rstrip": False, "single_word": False}]
spm["model"]["vocab"] = {"<unk>": 0, "a": 1} | {f"<0x{k:02X}>": 2 + k for k in range(256)}
put("normalized.json", json.dumps(spm))
# recipes
put("keys.yaml", "".join(f"k{i}: 1\n" for i in range(300)))
put("values.yaml", "model: [" + "relu, " * 20100 + "relu]\n")
P

# ---- texts and tokenizers
refused 4 'more than 64 folders deep' pack d --out r0
refused 4 "'turns.jsonl' line 1: it has more than 10000 turns" pack turns.jsonl --out r0
refused 4 'the given files hold no text' pack blank.jsonl --out r0
text=(train digits --set data.source=text --set data.context=4 --run r0)
refused 4 "'llmc.bin': llm.c's shards of version 9 are not read" "${text[@]}" --set data.path=llmc.bin
refused 4 'a piece of 2000000 bytes without white space: this is not text' tokenize --train 300 run-on.txt --out r0
works tokenize --quiet --train 260 --out tok.json short.txt
mkdir set-list set-jinja
cp tok.json set-list/tokenizer.json
cp tok.json set-jinja/tokenizer.json
echo '[]' >set-list/tokenizer_config.json
cp latin1.jinja set-jinja/chat_template.jinja
refused 4 "'set-list/tokenizer_config.json' is not a JSON object" tokenize --tokenizer set-list --text a
refused 4 "'set-jinja/chat_template.jinja' is not UTF-8" tokenize --tokenizer set-jinja --text a
refused 4 "'latin1.jinja' is not UTF-8" "${text[@]}" --set data.path=chats.jsonl --set data.chat_template=latin1.jinja
refused 4 "is not a JSON object of tokens and ids" tokenize --tokenizer gpt2-list --text a
refused 4 "line 2 of the merges of .* is not UTF-8" tokenize --tokenizer gpt2-latin1 --text a
python3 - <<'P'
import json
t = json.load(open("tok.json"))
split = lambda regex: {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated"}
t["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split("(?:a+)+b"), {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]}
json.dump(t, open("slow.json", "w"))
P
refused 4 'the splitting pattern gave up' tokenize --tokenizer slow.json --text "$(printf 'a%.0s' {1..40})cb"
refused 4 "the text has byte 0xFF, which is not UTF-8 and which the vocabulary of 'utf8/vocab.json' lacks" tokenize --tokenizer utf8 ff.txt
refused 4 "the text has byte 0xFF, which is not UTF-8 and which the vocabulary of 'merged/vocab.json' lacks" tokenize --tokenizer merged ff.txt
refused 4 "'two-bytes/vocab.json': the vocabulary lacks byte 0x00, so that not all text can be encoded" tokenize --tokenizer two-bytes --text a
refused 4 "'fallback.json': the vocabulary lacks the token <0x01>" tokenize --tokenizer fallback.json --text a
refused 4 "'normalized.json': beside byte_fallback an added token with 'normalized' is not supported" tokenize --tokenizer normalized.json --text a

# ---- tables and arrays
csv=(train digits --set data.source=csv --set loss.label_smoothing=0 --run r0 --quiet)
refused 2 'data.group: its 1 different values leave no test example' "${csv[@]}" --set data.path=one-group.csv --set data.group=g --set data.valid_fraction=0 --set data.test_fraction=0.3
refused 2 'data.group: its 1 different values leave no training example' "${csv[@]}" --set data.path=one-group.csv --set data.group=g --set data.valid_fraction=0 --set data.test_fraction=0.9
refused 2 "data.group: '0,1' is not one column of 'four.csv'" "${csv[@]}" --set data.path=four.csv --set data.group=0,1
refused 2 "data.group: '9' is not a column of 'plain.csv', which has no header line: give positions, from 0" "${csv[@]}" --set data.path=plain.csv --set data.group=9
refused 2 "data.group: 'k2' is not a column of 'kinds.csv'; did you mean 'k'?" "${csv[@]}" --set data.path=kinds.csv --set data.group=k2
refused 2 "data.label 'quite other' is not a column of 'kinds.csv': its columns are 'x', 'k', 'y'" "${csv[@]}" --set data.path=kinds.csv --set "data.label=quite other"
refused 4 "can't open 'absent.csv': No such file or directory (data.path of --set data.path)" "${csv[@]}" --set data.path=absent.csv
printf 'data: {source: csv, label: y,\n  path: absent.csv}\nmodel: [linear]\n' >absent.yaml
refused 4 "can't open 'absent.csv': No such file or directory (data.path of absent.yaml:2)" train absent.yaml --run r0 --quiet
refused 4 'no example has a label: there is nothing to learn' "${csv[@]}" --set data.path=no-sets.csv --set data.task=multilabel
refused 4 "different labels in .* examples: too many to learn; is data.separator '|' right" "${csv[@]}" --set data.path=many-sets.csv --set data.task=multilabel
refused 4 "text column 'w' has .* different values, more than .*: name it in data.embed" "${csv[@]}" --set data.path=words.csv
refused 4 "the targets in column 'y' are too large to standardise: rescale them" "${csv[@]}" --set data.path=large.csv --set data.task=regress
refused 4 "'new.npy' has version 9.0 of NumPy's format; 1.0 to 3.0 can be read" "${csv[@]}" --set data.source=npy --set data.path=new.npy
trained() { # trained RUN SETTING...: a short run
    works train digits --quiet --run "$1" --set loss.label_smoothing=0 --set train.steps=2 --set train.batch=8 --set eval.every=2 "${@:2}"
}
trained of-plain --set 'model=[linear]' --set data.source=csv --set data.path=plain.csv
trained of-kinds --set 'model=[linear]' --set data.source=csv --set data.path=kinds.csv
trained of-two --set 'model=[linear]' --set data.source=csv --set data.path=two.csv --set data.task=regress --set data.label=y,z
trained of-arrays --set 'model=[linear]' --set data.source=npy --set data.path=a
trained of-grey --set data.source=npy --set data.path=grey
refused 4 "'rows.jsonl' is JSON lines, which name columns, but the training data had no column names: give CSV" predict of-plain rows.jsonl
refused 4 "'open.csv' line .*: a row of more than 64 MiB" predict of-plain open.csv
refused 4 "row 2: y is 7, which is not among the 2 classes of the training data" eval of-arrays --data other
refused 4 "row 1: .* holds 1e+300, which is too far from the training data's mean" predict of-arrays far
refused 4 'X must be \[n, 2\], as the model was trained on' predict of-arrays wide
refused 4 "holds numbers, but the model's column 'k' is text: give it as CSV" predict of-kinds other
refused 2 'has one y for each row, but the model has 2 outputs: give X alone, or CSV' eval of-two --data one-y
rm open.csv
n=$((n + 1)) rc=0
gzip -c plain.csv | "$program" predict of-plain - >out 2>err || rc=$?
if [ $rc != 4 ] || [ "$(grep -c error: err)" != 1 ] || ! grep -q 'standard input is compressed: unpack it first (zcat FILE.gz | ...)' err; then
    echo "$test: FAILED: compressed rows on standard input: exit $rc"; sed 's/^/  > /' err; bad=$((bad + 1))
fi
n=$((n + 1)) rc=0
"$program" predict of-plain - >out 2>err <. || rc=$?
if [ $rc != 4 ] || ! grep -q "error: can't read 'standard input': Is a directory" err; then
    echo "$test: FAILED: a folder on standard input: exit $rc"; sed 's/^/  > /' err; bad=$((bad + 1))
fi

# ---- pictures
images=(train digits --set data.source=images --set loss.label_smoothing=0 --run r0)
refused 4 'has images of 7x5x1, not the model.s 6x5x1: resize them' predict of-grey taller
refused 2 "'npy pairs.* has images of 2 channels, neither grey nor colour" train digits --set data.source=npy --set data.path=pairs --set data.augment.rotate=10 --set train.batch=8 --run r0
refused 4 'data.standardize: imagenet needs RGB pictures, these are grey: set data.color: rgb' "${images[@]}" --set data.path=pictures --set data.standardize=imagenet --set data.valid_fraction=0.25 --set data.test_fraction=0
refused 2 'error: --set data.standardize: imagenet is only for RGB images' "${csv[@]}" --set data.path=plain.csv --set data.standardize=imagenet
refused 2 "'huge' has pictures of 1200x4: set data.size to the size of the model's input" "${images[@]}" --set data.path=huge
refused 4 'lies more than 32 folders deep: move it up' "${images[@]}" --set data.path=deep
refused 4 "'plain.csv' is not a folder: give the folder of the pictures" "${images[@]}" --set data.path=plain.csv --set data.labels=broken/labels.csv
refused 4 'no row has a picture to train on that can be read' "${images[@]}" --set data.path=broken --set data.labels=broken/labels.csv --set data.task=multilabel
refused 4 "the numbers of 'label' are too large to standardise: rescale them" "${images[@]}" --set data.path=pictures --set data.labels=numbers.csv --set data.task=regress
hollow=(--set data.bad_files=skip --set data.valid_fraction=0.25 --set data.test_fraction=0)
refused 4 'no training picture can be read: is the folder intact?' "${images[@]}" --set data.path=hollow "${hollow[@]}"
printf 'name: h\ndata: {source: images, path: hollow, standardize: symmetric}\nmodel: [flatten, linear]\n' >hollow.yaml
refused 4 'no image can be read: nothing was packed' pack hollow.yaml "${hollow[@]}" --out h.pack
[ ! -e h.pack ] || { echo "$test: FAILED: a refused pack left a file"; bad=$((bad + 1)); }
trained of-tall --set 'model=[flatten, linear]' --set data.source=npy --set data.path=tall
refused 4 "'pictures/a/0.png' is a picture, but the model's 1x16385 inputs are too many for one: use IDX" predict of-tall pictures/a/0.png
few=(--set data.source=images --set data.path=pictures --set data.labels=both.csv --set data.task=regress --set data.valid_fraction=0.25 --set data.test_fraction=0)
trained of-both --set 'model=[flatten, linear]' "${few[@]}" --set data.label=p,q --set train.batch=2 --set data.augment.resized_crop=0.5
printf 'name: p\ndata: {source: images, path: pictures}\nmodel: [flatten, linear]\n' >one.yaml
works pack one.yaml "${few[@]}" --set data.label=p --out one.pack
refused 4 "'one.pack' lacks the number 'q', which the model predicts" eval of-both --data one.pack
mkdir named && cp -r pictures named/train && cp -r pictures named/valid
refused 2 "data.folds: 'named' says itself what is for validation" "${images[@]}" --set data.path=named --set data.folds=3 --set data.fold=0
trained of-pictures --set 'model=[flatten, linear]' --set data.source=images --set data.path=pictures --set train.batch=2 --set data.valid_fraction=0.25 --set data.test_fraction=0
refused 2 "a model of pictures can't read standard input; only rows of a table" predict of-pictures -
mkdir nothing
refused 4 "'nothing' has no picture" eval of-pictures --data nothing
truncate -s 300M big.png
refused 4 "'big.png' has more bytes than the" predict of-pictures big.png
rm big.png
mkfifo pipe.png
refused 4 "'pipe.png' is a pipe or a device, not a file" predict of-pictures pipe.png

# ---- evaluations and runs
refused 2 'the test split has no examples' eval of-pictures --split test
refused 2 'test-time augmentation (--tta) is for models of pictures' eval of-plain --tta flips
refused 2 'the run was trained without data.augment, which makes the views: use --tta flips' eval of-pictures --tta 4 --split valid
refused 2 "eval: --tta is '5000', must be flips or a number from 2 to 64" eval of-pictures --tta 5000
trained of-text --set 'model=[{transformer: {layers: 1, heads: 1, width: 8}}]' --set data.source=text --set data.path=short.txt --set data.context=8 --set train.batch=2 --set eval.batch=2
refused 2 'predictions does not support language models' eval of-text --predictions p.csv
trained of-digits
refused 2 'the run is at step 2, past the 1 of train.steps' train digits --quiet --run of-digits --resume --set loss.label_smoothing=0 --set train.batch=8 --set eval.every=2 --set train.steps=1
refused 2 'loss.class_weight has 3 numbers, but the data has 10 classes' train digits --set 'loss.class_weight=[1, 2, 3]' --run r0
refused 2 'calibration.threshold is for two classes and for several labels, but the data has 10 classes' train digits --set calibration.threshold=f1 --run r0

# ---- recipes
refused 2 'keys.yaml:257: too many keys' train keys.yaml
refused 2 'values.yaml:1: too many values' train values.yaml
[ ! -e r0 ] || { echo "$test: FAILED: a refused command left r0"; bad=$((bad + 1)); }

conclude
