#!/usr/bin/env bash
# Models that can't be exported, read, or gone on with, and options that nothing can be made of, through the program: each one error
# line that says what, where and what to do, and the exit code of its kind. usage: test_model_refusals.sh PROGRAM
set -euo pipefail

. "$(dirname "$0")/../support/refusals.sh"

python3 - <<'P'
with open("novel.txt", "w") as f: f.writelines(f"It is a truth universally acknowledged, {i}.\n" for i in range(60))
with open("sentences.csv", "w") as f: f.write("w,y\n"); f.writelines(f"It is {'a truth' if i % 2 else 'no lie'} {i},{i % 2}\n" for i in range(60))
P
cat >gpt.yaml <<'Y'
name: gpt
data: {source: text, path: novel.txt, context: 8}
model: [{transformer: {layers: 1, heads: 2, width: 32, names: llama, positions: rope, norm: rmsnorm, activation: swiglu, bias: false, tie: true}}]
train: {steps: 2, batch: 2}
eval: {every: 2, batch: 8}
Y
works train gpt.yaml --run gpt --quiet
works export gpt --hf hf
works export gpt --gguf m.gguf
cat >lora.yaml <<'Y'
name: lora
data: {source: text, path: novel.txt, context: 8}
init: hf
lora: {rank: 2}
train: {steps: 2, batch: 2}
eval: {every: 2, batch: 8}
Y
works train lora.yaml --run lora --quiet
works train lora.yaml --run dora --quiet --set lora.dora=true
works train lora.yaml --run ranks --quiet --set 'lora.rank_pattern={q_proj: 4}'
works export lora --adapter peft
cp -r hf whole

# safetensors FOLDER WHAT: another model.safetensors: huge: a weight of 1e30; head, other: a second table, the same or not
cat >edit.py <<'P'
import json, struct, sys
folder, what = sys.argv[1:]
path = folder + "/model.safetensors"
data = open(path, "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head, body = json.loads(data[8:8 + n]), bytearray(data[8 + n:])
if what == "huge": body[-4:] = struct.pack("<f", 1e30)
else:
    t = head["model.embed_tokens.weight"]
    own = bytearray(body[t["data_offsets"][0]:t["data_offsets"][1]])
    if what == "other": own[0] ^= 1
    head["lm_head.weight"] = {**t, "data_offsets": [len(body), len(body) + len(own)]}
    body += own
head.pop("__metadata__", None) # the sums
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open(path, "wb").write(struct.pack("<Q", len(text)) + text + body)
P
# gguf FILE OLD NEW: m.gguf with other bytes, as long
gguf() { python3 -c 'import sys
data, old, new = open("m.gguf", "rb").read(), *(eval("b\"" + s + "\"") for s in sys.argv[2:])
assert data.count(old) and len(old) == len(new), data.count(old)
open(sys.argv[1], "wb").write(data.replace(old, new, 1))' "$@"; }

# ---- exports
refused 2 'export: give only one of -o, --hf, --gguf and --adapter; --type is for --hf and --gguf (q8_0, q4_0 and q4_k only for --gguf)' export gpt --hf r0 --type q8_0
cp -r whole huge && python3 edit.py huge huge
refused 2 'has values too large for f16: export as bf16 or f32' export huge --hf r0 --type f16
refused 2 "llama.cpp has no such things as DoRA, biases and whole modules: merge it into the model with --gguf" export dora --adapter r0.gguf
refused 2 'llama.cpp has no ranks and alphas by layer: merge it into the model with --gguf' export ranks --adapter r0.gguf
refused 2 "'gpt' trained no adapter: set lora.rank, or export the whole model with" export gpt --adapter r0
works train gpt.yaml --run words --quiet --set data.tokenizer="$source/golden/words-bert.json"
refused 2 'GGUF is not written with a tokenizer of kind wordpiece: --hf writes a folder' export words --gguf r0.gguf
works init sentences.csv -o sentences.yaml --set data.text=w
works train sentences.yaml --run sentences --quiet --set train.steps=2 --set train.batch=4 --set eval.every=2
refused 4 "column 'w' holds sentences, and ONNX has no place for their tokenizer: export to .safetensors" export sentences -o r0.onnx
refused 2 "this model can't be written for transformers: it is not one .transformer.; GPT-2's and Llama's architectures can" export sentences --hf r0

# ---- folders and files of models
mkdir bare && cp whole/config.json whole/model.safetensors bare
refused 4 "'bare' has no tokenizer: neither tokenizer.json nor vocab.json" generate bare
printf 'name: s\ndata: {source: csv, path: sentences.csv, label: y, text: w}\ninit: bare\ntrain: {batch: 4}\n' >bare.yaml
refused 2 "data.tokenizer: is missing: 'bare' has none of its own" train bare.yaml --run r0
cp -r whole head && python3 edit.py head head
works generate head --tokens 2
cp -r whole other && python3 edit.py other other
refused 4 "'other.*lm_head.weight" generate other
gguf arch.gguf 'general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama' 'general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0lxama'
refused 4 "'arch.gguf': architecture 'lxama' is not supported" generate arch.gguf
gguf table.gguf token_embd.weight tokex_embd.weight
refused 4 "'table.gguf' has no tensor 'token_embd.weight'" generate table.gguf
gguf heads.gguf 'attention.head_count\x04\0\0\0\x02\0\0\0' 'attention.head_count\x04\0\0\0\x05\0\0\0'
refused 4 "'heads.gguf'" generate heads.gguf
# The file begins with one key more, and ends with as much as its weights may have moved by.
python3 - <<'P'
import struct
data = open("m.gguf", "rb").read()
for key, kind, value in (("general.type", 8, struct.pack("<Q", 7) + b"adapter"), ("split.count", 4, struct.pack("<I", 3))):
    more = struct.pack("<Q", len(key)) + key.encode() + struct.pack("<I", kind) + value
    with open(key + ".gguf", "wb") as f: f.write(data[:16] + struct.pack("<Q", struct.unpack("<Q", data[16:24])[0] + 1) + more + data[24:] + bytes(32))
P
refused 4 "'general.type.gguf' is no whole model, as its general.type says; adapters are read from PEFT's folders" generate general.type.gguf
refused 4 "'split.count.gguf' is one of 3 parts: put them together by .llama-gguf-split --merge" generate split.count.gguf
refused 2 'lora.base: file is for an .init. that is a GGUF file' train lora.yaml --set lora.base=file --run r0
refused 2 "data.context: 99 is more than the model's 8 positions" train lora.yaml --set data.context=99 --run r0
echo '{"prompt": "It is", "choices": ["a", "b"], "answer": 0}' >tasks.jsonl
refused 2 "'sentences/best' is no language model: it has no context to set" eval sentences --tasks tasks.jsonl --context 4
refused 2 "a context of 1000 is too long: 'gpt/best' has 8 positions" eval gpt --tasks tasks.jsonl --context 1000
refused 2 "the prompt has 25 tokens, the model's context is 8: shorten it" generate gpt --prompt 'It is a truth universally'
refused 2 'the prompt has [0-9]* tokens, the model.s context is 8' generate gpt --chat --system 'Be brief.' --prompt 'It is'
refused 2 'the message is not UTF-8' generate gpt --chat --prompt "$(printf '\377')"
refused 4 'the model is not a language model: it has no tokenizer' generate sentences

# ---- adapters
refused 4 "'novel.txt' is no file of JSON lines (.jsonl), which preferences are read from" train lora.yaml --set loss.kind=dpo --run r0
refused 2 "lora.from: 'hf' is not the folder of an adapter: it has no adapter_config.json" train gpt.yaml --set lora.from=hf --run r0
refused 2 "lora.rslora is not what the adapter 'peft' has: leave it out with lora.from" train lora.yaml --set lora.from=peft --set lora.rslora=true --run r0
refused 2 "lora.dora is not what the adapter 'peft' has: leave it out with lora.from" train lora.yaml --set lora.from=peft --set lora.dora=true --run r0
refused 2 "'peft' has rank 2 and alpha 4, the recipe rank 3 and alpha 6: leave both out" train lora.yaml --set lora.from=peft --set lora.rank=3 --run r0
sed 's/^lora:.*/lora: {from: peft, alpha: 3}/' lora.yaml >from.yaml
refused 2 "from.yaml:4: lora.alpha: is the adapter's own with lora.from: leave it out" train from.yaml --run r0
cp -r peft lost && sed -i 's/"base_model_name_or_path": *"[^"]*"/"base_model_name_or_path": "gone"/' lost/adapter_config.json
printf 'name: l\ndata: {source: text, path: novel.txt, context: 8}\nlora: {from: lost}\ntrain: {steps: 2, batch: 2}\n' >lost.yaml
refused 2 "lora.from: the adapter's base 'gone' is not here: set .init. to its folder" train lost.yaml --run r0
# Of several files, which an index names.
cp -r whole sharded && mv sharded/model.safetensors sharded/part.safetensors
cat >index.py <<'P'
import json, struct, sys
data = open("sharded/part.safetensors", "rb").read()
names = [n for n in json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]]) if n != "__metadata__"] + sys.argv[1:]
json.dump({"weight_map": {n: "part.safetensors" for n in names}}, open("sharded/model.safetensors.index.json", "w"))
P
python3 index.py
works train lora.yaml --set init=sharded --run of-shards --quiet
for to in model.safetensors nowhere; do # a link to itself, and one that leads nowhere, as a damaged cache of Hugging Face has them
  cp -r sharded linked; rm linked/model.safetensors.index.json; ln -s $to linked/model.safetensors
  refused 4 "can't open 'linked/model.safetensors'" train lora.yaml --set init=linked --run of-linked --quiet
  rm linked/model.safetensors; ln -s model.safetensors.index.json linked/model.safetensors.index.json
  refused 4 "'linked/model.safetensors.index.json'" train lora.yaml --set init=linked --run of-linked --quiet
  rm -r linked
done
python3 index.py model.none.weight
refused 4 "'sharded': the model that config.json describes has no tensor 'model.none.weight'" train lora.yaml --set init=sharded --run r0
works train lora.yaml --set init=peft --run of-peft --quiet
cp huge/model.safetensors hf
refused 4 "the weights of 'hf' have changed since '.*' was trained on them" train lora.yaml --run lora --resume --quiet --set train.steps=4
refused 4 "the weights of 'hf' have changed since\|'hf'" eval lora
cp whole/model.safetensors hf
works train lora.yaml --run lora --resume --quiet --set train.steps=4

# ---- options, paths and reports
long=$(printf 'x%.0s' {1..1100})
refused 2 'schedule.milestones: a list of steps is expected, as \[1000, 2000\]' train digits --set schedule.milestones=3 --run r0
refused 2 'the path of the run folder is too long' train digits --quiet --set train.steps=1 --set eval.every=1 --run "$long"
refused 2 'is too long' train digits --cap "$long=1" --run r0
refused 2 "the path 'x*...' is too long" report "$long"
printf 'name: x\ndata: {source: digits}\nmodel: [{relu: 3}, linear]\n' >bare-value.yaml
refused 2 "bare-value.yaml:3: .*relu.* takes no" train bare-value.yaml --run r0
refused 2 '--set model.0: relu takes no bare value' train digits --set 'model=[relu, linear]' --set model.0=3 --run r0
mkdir study
echo '{' >study/study.json
refused 4 "'study/study.json' is damaged or was not written by vktrain" report study
[ ! -e r0 ] && [ ! -e r0.gguf ] && [ ! -e r0.onnx ] || { echo "$test: FAILED: a refused command left something"; bad=$((bad + 1)); }

conclude
