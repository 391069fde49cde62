#!/usr/bin/env bash
# A small model is taught five facts through the chat path and answers them: in `vktrain chat`, in `generate --chat`, from the
# exported folder, and, where VKT_LAB_PYTHON names a Python with transformers, there (tools/compare/chat_facts.py), and so in llama.cpp
# (VKT_LAB_LLAMA), where a second model, an adapter on the first, answers otherwise. Each answer ends with the model's end token. usage: test_chat.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
here=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-chat.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_chat: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
run() { "$program" "$@" >out 2>log || fail "$*"; }

mkdir tok
cp "$here/golden/smollm2-small.json" tok/tokenizer.json
cat >tok/tokenizer_config.json <<'J'
{"bos_token": {"content": "<|im_start|>"}, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": "{%- if messages[0].role != 'system' %}{{ bos_token + 'system\nAnswer.' + eos_token + '\n' }}{% endif -%}\n{% for m in messages %}{{ bos_token + m.role + '\n' + m.content | trim + eos_token + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ bos_token + 'assistant\n' }}{% endif %}"}
J
echo '{"eos_token_id": [2, 0]}' >tok/generation_config.json
cat >facts.jsonl <<'J'
{"messages": [{"role": "user", "content": "Who wrote the novel?"}, {"role": "assistant", "content": "Jane Austen."}]}
{"messages": [{"role": "user", "content": [{"type": "text", "text": "What is the house called?"}]}, {"role": "assistant", "content": "Pemberley."}]}
{"instruction": "Who is the eldest sister?", "input": "", "output": "Jane."}
{"conversations": [{"from": "human", "value": "Who owns Netherfield?"}, {"from": "gpt", "value": "Mr. Bingley lets it."}]}
{"prompt": [{"role": "user", "content": "Where does Lydia go?"}], "completion": [{"role": "assistant", "content": "To Brighton."}]}
J
for _ in 1 2 3 4 5; do cat facts.jsonl; done >train.jsonl
cat >facts.yaml <<'Y'
data: {source: text, path: train.jsonl, tokenizer: tok, context: 64, valid_fraction: 0.2, test_fraction: 0}
model:
  - transformer: {layers: 2, heads: 2, width: 64, names: llama, positions: rope, norm: rmsnorm, activation: swiglu, bias: false, tie: true}
optim: {rule: adamw, lr: 0.005}
train: {steps: 80, batch: 4}
Y
cat >questions <<'Q'
Who wrote the novel?
/reset
What is the house called?
/reset
Who is the eldest sister?
/reset
Who owns Netherfield?
/reset
Where does Lydia go?
/save said.jsonl
Q
printf '%s\n' 'Jane Austen.' Pemberley. Jane. 'Mr. Bingley lets it.' 'To Brighton.' >answers

# ---- taught and asked
run train facts.yaml --explain
grep -A1 'first conversation of the training set: [0-9]* tokens, of which [0-9]*, between \[\[ and \]\], count' out >first || fail "--explain: $(tail -5 out)"
tail -6 out | tr '\n' ' ' | grep -Eq '<\|im_start\|>assistant   \[\[[A-Z][^<]*\.<\|im_end\|>\]\] *$' || fail "--explain's marks: $(tail -6 out)"
run train facts.yaml --run run
"$program" chat run --temperature 0 <questions >out 2>log || fail "chat"
cmp out answers || fail "the answers: $(cat out)"
[ "$(cat said.jsonl)" = '{"messages":[{"role":"user","content":"Where does Lydia go?"},{"role":"assistant","content":"To Brighton."}]}' ] || fail "/save"
"$program" chat run --temperature 0 --kv-cache f16 <questions >out 2>log || fail "chat with keys and values in 16 bits"
cmp out answers || fail "the answers with keys and values in 16 bits: $(cat out)"
rc=0; "$program" eval run --data facts.jsonl --kv-cache f16 >out 2>log || rc=$?
[ $rc = 2 ] && grep -q 'kv-cache needs --tasks' log || fail "eval --kv-cache without tasks"
run generate run --chat --prompt 'Who owns Netherfield?' --temperature 0
[ "$(cat out)" = 'Mr. Bingley lets it.' ] || fail "generate --chat: $(cat out)"
run pack said.jsonl --tokenizer tok --out packed # what is saved is data again

# ---- on a terminal
python3 "$here/support/edit_line.py" "$program" run edited.jsonl >log 2>&1 || fail "editing"

# ---- by OpenAI's API
if ! "$program" --version --verbose | grep -q 'HTTP: no$'; then
  "$program" serve run --port 0 >address 2>log & pid=$!
  for _ in $(seq 300); do grep -qs answers address && break; sleep 0.1; done
  port=$(sed -n 's#^http://127.0.0.1:\([0-9]*\)/.*#\1#p' address)
  python3 "$here/support/serve_clients.py" chat "${port:?no address}" $pid answers >said 2>&1 || { cat said; fail serve; }
  kill -INT $pid
  rc=0; wait $pid || rc=$?
  [ $rc = 130 ] || fail "serve ended with $rc"
fi

# ---- exported: the template and the ends go along
run export run --hf hf
grep -q 'bos_token + m.role' hf/tokenizer_config.json || fail "the folder lacks the template"
tr -d ' \n' <hf/generation_config.json | grep -q '"eos_token_id":\[0,2\]' || fail "generation_config.json"
"$program" chat hf --temperature 0 <questions >out 2>log || fail "chat of the folder"
cmp out answers || fail "the folder's answers: $(cat out)"
run export run --gguf model.gguf
run inspect model.gguf
grep -q 'tokenizer.chat_template' out && grep -q 'eos_token_id *2' out || fail "the GGUF file lacks the template or the end token"

# ---- run, folder and file have one loss in the same windows, and texts end at the context asked for
run eval run --data facts.jsonl --context 16 --json
cp out want
grep -q '"context": 16' want || fail "eval --context: $(cat out)"
for m in hf model.gguf; do
  run eval $m --data facts.jsonl --context 16 --json
  cmp <(grep '"loss"' want) <(grep '"loss"' out) || fail "the loss of $m: $(cat out)"
done
"$program" generate hf --context 8 --prompt 'a b c d e f g h i' >out 2>log && fail "a prompt longer than --context"
grep -q "the prompt has .* tokens, the model's context is 8" log || fail "a prompt longer than --context, in words"
"$program" generate hf --context 65 >out 2>log && fail "a context longer than the model"
grep -q "a context of 65 is too long: 'hf' has 64 positions" log || fail "a context longer than the model, in words"
cp -r hf long # device memory is not taken for all the positions that models have today
sed -i 's/"max_position_embeddings": *64/"max_position_embeddings": 131072/' long/config.json
"$program" generate long --prompt "$(printf 'a%.0s ' {1..4100})" >out 2>log && fail "a prompt longer than 4096"
grep -q "the model's context is 4096" log || fail "the context unless asked for"
run generate long --context 9000 --prompt "$(printf 'a%.0s ' {1..40})" --tokens 1
"$program" eval "$here/files/v0.1/table" --data facts.jsonl --context 8 >out 2>log && fail "the context of a table"
grep -q 'is no language model' log || fail "the context of a table, in words"

if [ -n "${VKT_LAB_PYTHON:-}" ]; then
    $VKT_LAB_PYTHON "$here/../tools/compare/chat_facts.py" "$work/hf" "$work/questions" "$work/answers" >out 2>log || fail "transformers' answers"
fi

# ---- in llama.cpp, where VKT_LAB_LLAMA names tools/compare/llama_greedy.sh: the file's answers, and others that an adapter has learned
in_llama() { # in_llama ANSWERS OPTIONS...
  local question answer prompt
  while read -r question && read -r answer <&3; do
    prompt=$(printf '<|im_start|>system\nAnswer.<|im_end|>\n<|im_start|>user\n%s<|im_end|>\n<|im_start|>assistant\n.' "$question")
    for _ in 1 2 3; do # its output is sometimes cut short
      $VKT_LAB_LLAMA "$work/model.gguf" "${prompt%.}" 40 "${@:2}" >out 2>log </dev/null
      grep -qxF "$answer [end of text]" out && break
    done
    grep -qxF "$answer [end of text]" out || fail "llama.cpp: $question -> $(cat out)"
  done < <(grep -v '^/' questions) 3<"$1"
}
if [ -n "${VKT_LAB_LLAMA:-}" ]; then
  in_llama answers
  { sed 1d answers; head -1 answers; } >others
  for k in 1 2 3 4 5; do sed -n "${k}s/$(sed -n "${k}p" answers)/$(sed -n "${k}p" others)/p" facts.jsonl; done >five.jsonl
  for _ in 1 2 3 4 5; do cat five.jsonl; done >other.jsonl
  printf '%s\n' 'init: hf' 'data: {source: text, path: other.jsonl, context: 64, valid_fraction: 0.2, test_fraction: 0}' \
      'lora: {rank: 16, targets: all-linear}' 'optim: {rule: adamw, lr: 0.005}' 'train: {steps: 80, batch: 4}' >taught.yaml
  run train taught.yaml --run taught
  "$program" chat taught --temperature 0 <questions >out 2>log || fail "chat with the adapter"
  cmp out others || fail "the adapter's answers: $(cat out)"
  run export taught --adapter facts.gguf
  in_llama others --lora "$work/facts.gguf"
fi

# ---- refused, and interrupted
printf 'Hi\n' | "$program" chat "$here/files/v0.1/table" >out 2>log && fail "a table talks"
[ "$(wc -l <log)" = 1 ] || fail "a table is not refused in one line"
printf '/rest\n/system Be brief.\n/save sys.jsonl\n' | "$program" chat hf 2>log || fail "commands"
grep -q "no command '/rest'.*'/reset'" log || fail "a wrong command"
grep -q '"system","content":"Be brief."' sys.jsonl || fail "/system"
printf '/save\n/save none/sys.jsonl\n' | "$program" chat hf >out 2>log || fail "a conversation that can't be saved ends the program"
grep -q "/save: can't write '': name a file" log && grep -q "/save: can't write 'none/sys.jsonl': No such file" log || fail "a conversation that can't be saved"
printf 'a%.0s ' {1..80} | "$program" chat hf >out 2>log && fail "a message longer than the context"
grep -q 'the conversation has .* tokens, the model.s context is 64' log || fail "a message longer than the context, in words"
run init train.jsonl --set init=hf --set data.context=64 --set train.steps=2 -o tune.yaml # its own model and tokenizer go on
grep -q "to fine-tune 'hf'" out && ! grep -q 'tokenizer:\|transformer' tune.yaml || fail "init of a model that is fine-tuned"
run train tune.yaml --run tuned --set eval.every=2
grep -q '^  vktrain export tuned --hf FOLDER ' out || fail "next of a language model is no export that it has: $(tail -8 out)"
head -c 400 facts.jsonl >small.txt # a batch is no larger than the text
run init small.txt -o small.yaml
run train small.yaml --run small --set train.steps=1 --set eval.every=1
head -10 train.jsonl >few.jsonl
run init few.jsonl --set init=hf --set data.context=64 -o few.yaml
grep -q '^  steps: [0-9]* *# .* passes over the text, if a token is four characters$' few.yaml || fail "init says what a pass is: $(grep steps: few.yaml)"
run train few.yaml --run few --set train.steps=1 --set eval.every=1
cp -r hf endless # the same model, which is told of another end
sed -i "s/eos_token +/'<|im_end|>' +/g; s/\"eos_token\": \"[^\"]*\"/\"eos_token\": \"!\"/" endless/tokenizer_config.json
echo '{"eos_token_id": 3}' >endless/generation_config.json
mkfifo line
"$program" chat endless --temperature 0 --tokens 4000000000 <line >out 2>log &
pid=$!
exec 3>line
echo 'Who wrote the novel?' >&3
for _ in $(seq 600); do [ "$(wc -c <out)" -gt 40 ] && break; sleep 0.1; done
kill -INT $pid
echo '/save cut.jsonl' >&3
exec 3>&-
wait $pid || fail "an interrupted answer ends the program"
grep -q '"assistant"' cut.jsonl || fail "an interrupted answer is not kept"
echo "test_chat: five facts are answered"
