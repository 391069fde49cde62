#!/usr/bin/env bash
# The program as scripts see it: exit codes, messages, outputs.   test_cli.sh VKTRAIN
set -uo pipefail
vktrain=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
unset VKT_DEVICE NO_COLOR
n=0 failed=0

# run ARGS...: output to $tmp/out and $tmp/err, exit code to $rc
run() { "$vktrain" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; rc=$?; last="vktrain $*"; }
problem() { failed=$((failed + 1)); echo "FAIL  $last: $1"; sed 's/^/      out: /' "$tmp/out" | head -20; sed 's/^/      err: /' "$tmp/err" | head -20; }
code() { n=$((n + 1)); [ "$rc" = "$1" ] || problem "exit code $rc, expected $1"; }
out() { n=$((n + 1)); grep -qE -- "$1" "$tmp/out" || problem "stdout lacks '$1'"; }
err() { n=$((n + 1)); grep -qE -- "$1" "$tmp/err" || problem "stderr lacks '$1'"; }
silent() { n=$((n + 1)); [ ! -s "$tmp/$1" ] || problem "std$1 is not empty"; }
check() { n=$((n + 1)); last=$1; shift; "$@" >"$tmp/check" 2>&1 || { failed=$((failed + 1)); echo "FAIL  $last"; sed "s/^/      /" "$tmp/check" | head -20; }; }
json() { check "$last gives JSON" python3 -c 'import json,sys; [json.loads(l) for l in ([open(sys.argv[1]).read()] if sys.argv[2]=="whole" else open(sys.argv[1]))]' "$1" "$2"; }

# ---- usage: no device is touched
run; code 2; err 'vktrain devices|devices  '
run --version; code 0; out '^vktrain [0-9]+\.[0-9]+\.[0-9]+$'; silent err
run --version --verbose; code 0; out '^commit +[0-9a-f]{7}'; out '^built by +(gcc|clang) [0-9.]+.* for Linux'; out '^shaders by +[a-z]'
out '^C libraries +libyaml [0-9.]+, jansson [0-9.]+, PCRE2 [0-9.]+, zlib [0-9.]+, utf8proc [0-9.]+$'; out '^system +.*Linux [0-9]'; out '^Vulkan loader +1\.[0-9]+\.[0-9]+$'
out '^device 0 +.* \([0-9a-f]{4,}:[0-9a-f]{4,}, .*, Vulkan 1\.'
run --version --verbos; code 2; err '--verbose alone'
run --help; code 0; out 'exit codes'; silent err
run trian digits; code 2; err "unknown command 'trian'; did you mean 'train'\?"; silent out
run --device cpu train; code 2; err 'the command comes first'
run help nothing-like-it; code 2; err 'unknown command'
run train; code 2; err 'vktrain train RECIPE'
run train a b; code 2; err "unexpected argument 'b'"
run train digits --resum; code 2; err "unknown option '--resum'; did you mean '--resume'\?"
run train digits --set; code 2; err '--set needs a value'
run train digits --quiet=1; code 2; err 'takes no value'
run train digits --resume; code 2; err '--resume needs --run'
run train digits --stpes 5; code 2; err "unknown option '--stpes'; did you mean '--set train.steps=..'\?"
run serve x --port 99999; code 2; err "serve: --port is 99999, must be from 0 to 65535"
run train digitz; code 2; err "did you mean 'digits'"
run train digits --set optim.lrr=1; code 2; err "did you mean 'optim.lr'"
run train digits --set optim.lr=minus; code 2; err 'optim.lr'
run train digits --set train.steps=-5; code 2; err 'train.steps'
run train nowhere/recipe.yaml; code 4; err 'nowhere/recipe.yaml'
printf 'data:\n  source: digits\nmodel: [linear\n' >broken.yaml
run train broken.yaml; code 2; err 'broken.yaml'
printf 'data:\n  source: digits\noptim:\n  learning_rate: 1\nmodel:\n  - linear\n' >unknown.yaml
run train unknown.yaml; code 2; err 'unknown.yaml:4'
run eval; code 2
run eval nowhere; code 4; err 'nowhere'
run eval x --split tset; code 2; err 'train\|valid\|test'
run eval x --batch many; code 2; err 'whole number'
run eval x --validate=all; code 2; err "--validate is 'all', must be gpu or nothing"
run eval nowhere --validate gpu; code 4; err 'nowhere'
run eval gpu --validate; code 4; err "'gpu'"
run predict; code 2
run predict x y --json --csv; code 2; err "can't be used together"
run runs nowhere; code 4
run runs; code 0; err 'no runs yet'
run runs --json; code 0; json "$tmp/out" whole
run inspect nowhere; code 4; err 'nowhere'
run profile; code 2; err 'vktrain profile RECIPE'
run profile digits --steps 0; code 2; err '--steps must be at least 1'
run profile digits --steps few; code 2; err 'whole number'
run profile digits -p x; code 2; err "unknown option '-p'"
run profile digits -o; code 2; err '-o needs a value'
run profile digitz; code 2; err "did you mean 'digits'"
run profile digits --set optim.lrr=1; code 2; err "did you mean 'optim.lr'"
run profile nowhere/recipe.yaml; code 4; err 'nowhere/recipe.yaml'
run profile digits -o nowhere/trace.json; code 4; err 'nowhere/trace.json'; silent out
run profile digits -o .; code 4
run recipes; code 0; out '^digits +'
run recipes digits; code 0; out '^model:'
run recipes digit; code 2; err "did you mean 'digits'"

# ---- help lists every flag, and every command is in the overview
declare -A flags=(
  [devices]="--json --device --cap" [doctor]="--all --op --compile --list --device --cap --validate --no-cache" [recipes]=""
  [train]="--set --run --resume --explain --device-profile --device --cap --validate --no-cache"
  [eval]="--split --json --predictions --data --batch --device --cap" [predict]="--json --csv --top --device --cap"
  [inspect]="" [runs]="--filter --sort --show --compare --csv --json --markdown"
  [profile]="-o --steps --top --set --json --device --cap --validate --no-cache"
  [manual]=""
  [watch]="--once --every --stop-after-evaluation --stop-now --checkpoint-now" [init]="-o --force --label --task --set"
  [report]="-o --no-png"
  [study]="--study --resume --dry-run --set --steps --seeds --space --trials --devices --ramp --json --device --cap"
  [tune]="--device --cap --no-cache --no-tune --tune-seconds --list --json --type --out --layout"
)
for c in "${!flags[@]}"; do
  run "$c" --help; code 0; silent err
  check "help of $c stands beside its options, not in a column at the edge" test "$(sed -n '/^options/,$p' "$tmp/out" | grep -cE '^ {41}')" = 0
  for f in ${flags[$c]} --quiet --verbose --help; do out "^  $f( |\$)"; done
  cp "$tmp/out" "$tmp/by-flag"
  run help "$c"; code 0
  check "help $c is $c --help" cmp "$tmp/out" "$tmp/by-flag"
  run --help; out "^  $c "
done
run train --help; out '^  optim\.lr +'; out '^  train\.steps +'; out 'help cap'
check "the names of --cap are in help cap alone" test "$(grep -c '^  subgroup' "$tmp/out")" = 0
run help cap; code 0; silent err; out '^  subgroup +lanes of a subgroup'; out '^  memory +bytes of device memory'

# ---- text
printf 'one fish two fish red fish blue fish' >fish.txt
run tokenize --text 'a b' --ids; code 0; out '^97 32 98$'
run tokenize --train 260 --out fish.json fish.txt; code 0; out 'fish.json: 260 tokens'
run tokenize --tokenizer fish.json fish.txt; code 0; out "' fi'"
run pack fish.txt --tokenizer fish.json --out fish; code 0; out '1 documents'
run inspect fish/shard-00000.tok fish.json; code 0; out 'a shard of'; out 'document end'
run inspect fish; code 0; out 'a shard of'

# A small language model: trained, resumed to the same bits, evaluated, exported, begun with again.
cat >gpt.yaml <<'YAML'
data: {source: text, path: fish, context: 8, valid_fraction: 0.3, test_fraction: 0}
model:
  - transformer: {layers: 1, heads: 2, width: 16}
train: {steps: 4, batch: 1}
eval: {every: 2, batch: 2}
YAML
run train gpt.yaml --run gpt --quiet; code 0
cp -r gpt gpt2; rm -r gpt2/checkpoints/step-00000004
run train gpt.yaml --run gpt2 --resume --quiet; code 0
check "a resumed run of text ends in the same bits" cmp {gpt,gpt2}/checkpoints/step-00000004/model.safetensors
run eval gpt --data fish.txt; code 0; out 'tokens in windows of 8, loss .*perplexity .*bits per byte'
run eval gpt --data fish.txt --json; code 0; out '"bits_per_byte": [0-9]'; json out whole
loss=$(sed -n 's/.*"loss": //p' out)
run predict gpt fish.txt; code 2; err 'is a language model: use'
run export gpt --hf hf; code 0
check "export writes a folder" test -s hf/config.json -a -s hf/model.safetensors -a -s hf/tokenizer.json
run export gpt --hf hf; code 2; err 'already exists'
run export gpt --hf hf --force; code 0
run eval hf; code 2; err 'has no data of its own: give a text with --data'
run eval hf --data fish.txt --batch 2 --json; code 0; out "\"loss\": $loss"
run generate hf --prompt 'a' --tokens 2; code 0
run inspect hf; code 0; out 'a Hugging Face model'; out 'n_head +2'; out 'a tokenizer'; out 'wte.weight *F32'
mkdir evil; printf '{"model_type": "x\\u001b[31m\\u009b5n"}' >evil/config.json
run inspect evil; code 4; out 'x\\x1b\[31m\\xc2\\x9b5n'
run generate evil --prompt a; code 4; err "architecture 'x.x1b\[31m"
printf '{"weight_map": {"a": "../gpt.safetensors"}}' >evil/model.safetensors.index.json
run inspect evil; code 4; err 'outside the folder'
run export gpt --hf hf16 --type bf16; code 0
check "config.json says the type" grep -q '"dtype": "bfloat16"' hf16/config.json
run inspect hf16/model.safetensors; code 0; out 'wte.weight *BF16'
run export gpt --hf gpt-hf-q --type q8_0; code 2; err 'only for --gguf'
run export gpt -o gpt.safetensors; code 0
run inspect gpt.safetensors; code 0; out 'wte.weight *F32'
sed '/^model/,/transformer/d; s/train:.*/train: {steps: 1, batch: 1}/; s/every: 2, //' gpt.yaml >tuned.yaml
printf 'init: hf\noptim: {lr: 1.0e-30}\n' >>tuned.yaml
run train tuned.yaml --run tuned --quiet; code 0
run eval tuned --data fish.txt --json; code 0; out "\"loss\": $loss"
run train tuned.yaml --set data.context=9 --run r9; code 2; err "data.context: 9 is more than the model's 8 positions"
run train tuned.yaml --set data.tokenizer=bytes --set data.path=fish.txt --run r9; code 0
run train tuned.yaml --set data.tokenizer=bytes --set data.path=fish.txt --set data.vocab=100 --run r9; code 2
cp -r hf cut; truncate -s 200 cut/model.safetensors
run train tuned.yaml --set init=cut --run r11; code 4; err "cut/model.safetensors.*cut short"
check "refused weights leave no run folder" test ! -e r11
sed -i 's/"gpt2"/"bloom"/' hf/config.json
run train tuned.yaml --run r10; code 4; err "architecture 'bloom' is not supported; gpt2, llama"
# ---- the manual and the completions
run manual; code 2
run manual tcsh; code 2; err 'not one of man, bash, zsh, fish, markdown'
run manual man; code 0; out '^\.SS vktrain train RECIPE'; out '^\\fBoptim\.lr'; silent err
cp "$tmp/out" vktrain.1
command -v man >/dev/null && check "man finds nothing to warn of" sh -c 'LC_ALL=C.UTF-8 man --warnings -l vktrain.1 2>&1 >/dev/null | (! grep .)'
run manual bash; code 0; cp "$tmp/out" complete.bash
check "bash completes commands, kinds, options, choices" bash -c 'compopt() { :; }; source ./complete.bash
  try() { COMP_WORDS=("${@:2}"); COMP_CWORD=$(($# - 2)); _vktrain; [ "${COMPREPLY[*]}" = "$1" ] || { echo "${*:2}: ${COMPREPLY[*]}"; exit 1; }; }
  try "study" vktrain stu && try "warmup" vktrain study w && try "optim.lr=" vktrain train --set optim.l && try "train valid test" vktrain eval --split "" && try "--resume" vktrain train --resu'
run manual zsh; code 0; out '^#compdef vktrain'; cp "$tmp/out" _vktrain
run train --help; code 0; out '^those that matter first$'; out '^checkpoint$'; check "each option once" test "$(grep -cE '^  optim.lr ' "$tmp/out")" = 1
run manual fish; code 0; out "^complete -c vktrain -n '__fish_seen_subcommand_from train' -l set -r -a '.* optim.lr="
out "seen_subcommand_from eval' -l split -x -a 'train valid test' -d"; cp "$tmp/out" vktrain.fish
if command -v fish >/dev/null; then check "fish reads its completion" fish -n vktrain.fish; fi
if command -v zsh >/dev/null; then check "zsh reads its completion" zsh -n _vktrain; fi

# ---- inspect
printf 'a;b,c\n1,2.5\n3,NA\n' >t.csv
run inspect t.csv; code 0; out 'CSV, 2 rows of 2 columns, with a header'
printf '\357\273\277a|b\n1|x\n2|y\n' >bar.csv; run inspect bar.csv; code 0; out '2 rows of 2 columns, with a header line, .\|. between'; out '0  a  '
# As training reads it: numbers and dates by their form, a header over texts alone, line ends in quotes and old ones.
printf 'Ort;Preis;Am;Notiz\nKöln;"1.234,5";01.02.2024;"a\nb"\nBonn;2,5;28.02.2024;c\n' >de.csv
run inspect de.csv; code 0; out '2 rows of 4 columns, with a header'; out '1  Preis  number, as 1.234,5 .* 2.5 *1234.5$'; out '2  Am .*date, as day.month.year'
printf 'a,y\rp,u\rq,v\r' >mac.csv; run inspect mac.csv; code 0; out '2 rows of 2 columns, with a header'
printf 'PK\003\004\024\000\000\000' >sheet.csv; run inspect sheet.csv; code 4; err "'sheet.csv' is a ZIP archive"
printf '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n' >one.jsonl
run inspect one.jsonl; code 0; out 'one.jsonl: text, .* bytes'
printf 'It is a truth\n' >short.txt; run inspect short.txt; code 0; out 'short.txt: text, .* 15 bytes'
printf '1,2\n1,2,3\n' >bad.csv
run inspect bad.csv; code 4; err 'line 2'
printf '\0\0\010\001\0\0\0\003abc' >t.idx
run inspect t.idx; code 0; out 'IDX, uint8 \[3\]'
gzip -k t.idx; run inspect t.idx.gz; code 0; out 'IDX, uint8 \[3\]'
printf '\0\0\010\001\0\0\0\004abc' >short.idx
run inspect short.idx; code 4; err 'promises 4'
printf '\020\0\0\0\0\0\0\0{"a":{"dtype":1}' >bad.safetensors
run inspect bad.safetensors; code 4
mkdir empty; run inspect empty; code 4; err 'run.json'

# ---- devices
run devices; have_device=$rc
run devices --device 'no such device'; code 3
run devices --json; json "$tmp/out" whole
cp "$tmp/out" here.json
gpus=$root/tests/files/devices
run train digits --explain --device-profile "$gpus/rx-6600.json"; code 0; out 'kernel tiled\.[0-9x]* \([0-9]* x 32 lanes\)'
run train digits --explain --device-profile "$gpus/iris-xe.json"; code 0; out 'kernel tiled\.[0-9x]* \([0-9]* x 8 lanes\)'
run train digits --explain --set loss.kind=focal --set loss.label_smoothing=0; code 0; out ' focal_bwd '
run train digits --device-profile "$gpus/rx-6600.json"; code 2; err 'needs --explain'
run train digits --explain --device 0 --device-profile "$gpus/rx-6600.json"; code 2; err "can't be used together"
run train digits --explain --device-profile nowhere.json; code 4; err 'nowhere.json'
run train digits --explain --device-profile "$root/README.md"; code 4
sed 's/"subgroup": 32/"subgroup": 0/' "$gpus/rx-6600.json" >lie.json
run train digits --explain --device-profile lie.json; code 4; err "'subgroup' must be a whole number from 1 to 128"
run doctor --list; code 0; out "^matmul\$"
run doctor --compile --op fill; code 0; out "nothing was run"
run doctor --op fil; code 2; err "did you mean .fill."
run doctor --cap nonsense=1; code 2
run doctor --device 'no such device'; code 3
VK_DRIVER_FILES=/nowhere VK_ICD_FILENAMES=/nowhere run devices; code 3
VK_DRIVER_FILES=/nowhere VK_ICD_FILENAMES=/nowhere run bench --key --list; code 0; silent err; out '^steps.GPT-2 124M, 8 x 1024 tokens, bf16$'
run bench --list --quick; code 2; err 'only with --key'
run bench --key --op add; code 2; err "none of the key rows is of the op 'add'"
if [ "$have_device" != 0 ]; then
  echo "no usable device: what needs one is skipped"
  # ---- gpu-check: what hangs is ended at its limit, what is no time for is left out
mkdir stub && printf '#!/bin/sh\ncase $1 in devices) echo "* a device" ;; bench) echo begun; exec sleep 60 ;; esac\n' >stub/vktrain && chmod +x stub/vktrain
GPU_CHECK_SECONDS=4 VKT_BUILD=stub "$root/tools/gpu-check" --visit third --out checked >"$tmp/out" 2>"$tmp/err"; rc=$?; last="gpu-check --visit third"
code 1; silent err; out '^FAIL  memory: not done in [234] s'; out '^left  doctor: no time'
check "what a part wrote before its limit is kept" bash -c 'tar -xzOf checked/visit-third.tgz third/memory.txt | grep -q begun'

echo "test_cli: $n checks, $failed failed"
  [ $failed = 0 ]; exit
fi
run doctor --op fill,sum_rows,softmax_xent; code 0; out 'healthy'
run tune 9x8; code 2; err "no recipe '9x8'"
run tune 9x8x7; code 0
run tune --list --type bf16 --out bf16 --layout NN 9x8x7; code 0; out '^NN 9 x 8 x 7, bf16 to bf16'; out '^  naive|^  pairs|^  rows|^  tiled'; out 'built-in choice: '
run tune --list --json --layout TN 9x8x7 8x8x8; code 0; out '"share_of_tolerance": 0'; out '"layout": "TN"'
check "--list --json prints JSON alone" python3 -c 'import json, sys; p = json.load(open(sys.argv[1]))["products"]; sys.exit(len(p) != 2 or not p[0]["kernels"])' "$tmp/out"
run tune --type f16 --out bf16 9x8x7; code 2; err 'tune: --out must be f32 or as --type'
run tune --list; code 2; err 'tune: --list needs products'
run tune --json 9x8x7; code 2; err 'tune: --json needs --list'
run tune --cap kernel=matmul=naiv 9x8x7; code 2; err "no matmul kernel 'naiv' .*did you mean 'naive'"
run train digits --set train.steps=1 --run held --cap kernel=matmul=naive --explain; code 0; out 'kernel naive'
VKT_KERNEL=matmul=naive run train digits --set train.steps=1 --run held --explain; code 0; out 'kernel naive'
run train digits --run held --cap kernel=naive; code 2; err 'a kernel is held as matmul=NAME'
run train digits --run held --tune-seconds -1; code 2; err 'train: --tune-seconds is -1, must be 0 or more'

# ---- profile
run profile digits --device 'no such device' -o none.json; code 3; check "a refused profile leaves no trace" test ! -e none.json
run profile digits --steps 5 -o p.json; code 0; out '^op +result +of +count'; out '^((input|host|launch|memory|compute)-bound|unclear): '; out '^  what to do: '
out '^  kernels +[0-9.]+ '; out '^trace: p.json'; json p.json whole
check "a profile makes no run" test ! -e runs
cp p.json before.json
run profile digits --steps 3 --quiet --json -o /dev/null; code 0; silent err; json "$tmp/out" whole
check "/dev/null is left alone" test -c /dev/null
run profile digits --steps 3 --cap timestamps=0 -o p.json; code 0; out 'has no timestamps'; json p.json whole
check "a new trace replaces the old" bash -c '! cmp -s p.json before.json'

# ---- train, eval, predict, runs, inspect
run train digits --set train.steps=3 --set data.test_fraction=0 --set data.valid_fraction=0.2 --run "apart/no test"; code 0
out "vktrain eval 'apart/no test' --split"; check "no test set, no advice to use it" bash -c "! grep -q 'split test' '$tmp/out'"
printf 'x,y\n' >given.csv; for i in $(seq 40); do echo "$i,$((i % 4 * 1358)).5"; done >>given.csv; echo "41,0" >>given.csv
printf 'name: given\ndata: {source: csv, path: given.csv, task: regress}\nmodel: [linear]\ntrain: {steps: 9, batch: 8}\n' >given.yaml
run train given.yaml --run apart/given; code 0
run eval apart/given --split train --predictions given-p.csv; code 0
check "targets are those of the data" bash -c "cut -d, -f2 given-p.csv | sed 1d | sort -u | tr '\n' ' ' | grep -Eq '^(0 )?0.5 1358.5 2716.5 4074.5 \$'"
rm -r apart
run train digits --explain --device-profile here.json; code 0; out 'kernel '
run train digits --explain; code 0; out 'train:'; check "--explain makes no run" test ! -e runs
run train digits --set train.steps=60 --set eval.every=20 --run "runs/first run"; code 0
out '^step +60/60 +loss '; out '^eval +20 '; out '\* best so far'; out '^done after 60 steps'; out '^  test  +loss'
out "vktrain eval 'runs/first run' --split test"
check "plain lines: no escape sequence off a terminal" bash -c "! grep -q $'\033' '$tmp/out'"
for f in run.json metrics.jsonl checkpoints/step-00000060/model.safetensors checkpoints/step-00000060/state.json best; do
  check "the run has $f" test -e "runs/first run/$f"
done
run train digits --set train.steps=60 --run "runs/first run"; code 2; err 'already holds a run'
run train digits --quiet --set train.steps=7 --set eval.every=3 --run runs/seven; code 0
check "the last step is evaluated" test "$(grep '"valid"' runs/seven/metrics.jsonl | grep -o '"step":[0-9]*' | sort -u | paste -sd' ')" = '"step":3 "step":6 "step":7'
check "the last step has a checkpoint" test -e runs/seven/checkpoints/step-00000007
rm -r runs/seven
run train digits --quiet --set train.steps=20 --run runs/quiet; code 0
check "--quiet: no progress lines" bash -c "! grep -q '^step' '$tmp/out'"
run eval "runs/first run"; code 0; out '^test: 3[0-9]+ examples, loss .*accuracy'
run eval "runs/first run" --split valid --json --predictions p.csv; code 0; json "$tmp/out" whole
check "predictions have a line an example" test "$(wc -l <p.csv)" -gt 100
# What vktrain wrote it may write again; another file is not overwritten unasked.
run eval "runs/first run" --predictions p.csv --confusion conf; code 0
run eval "runs/first run" --predictions p.csv --confusion conf; code 0
run eval "runs/first run" --curves c; code 0; run eval "runs/first run" --curves c; code 0
check "points of curves by falling threshold" awk -F, 'NR > 1 && $1 == c && $4 >= t { bad = 1 } { c = $1; t = $4 } END { exit bad || NR < 100 }' c-ranking.csv
run export "runs/first run" -o m.onnx; code 0; run export "runs/first run" -o m.onnx; code 0
run report "runs/first run" -o r.html; code 0; run report "runs/first run" -o r.html; code 0
echo mine | tee m.onnx p.csv conf.png c-reliability.csv r.html t.json b.json tok.json >/dev/null
run export "runs/first run" -o m.onnx; code 2; err "export: 'm.onnx' exists, and vktrain did not write it: --force overwrites it"
run eval "runs/first run" --predictions p.csv; code 2; err "'p.csv' exists"
run eval "runs/first run" --confusion conf; code 2; err "'conf.png' exists"
run eval "runs/first run" --curves c; code 2; err "'c-reliability.csv' exists"
run report "runs/first run" -o r.html; code 2; err "'r.html' exists"
run profile digits -o t.json; code 2; err "'t.json' exists"
run bench --json b.json; code 2; err "'b.json' exists"
run tokenize --train 300 --out tok.json p.csv; code 2; err "'tok.json' exists"
check "what was refused is as it was" test "$(cat m.onnx p.csv conf.png r.html t.json b.json tok.json | sort -u)" = mine
run eval "runs/first run" --predictions p.csv --force; code 0
check "--force overwrites" test "$(wc -l <p.csv)" -gt 100
printf '0%.0s,' {1..63} >one.csv; printf '0\n' >>one.csv; cat one.csv one.csv >two.csv
run predict "runs/first run" two.csv; code 0; out '^two.csv\[1\]  [0-9] [0-9.]+%'
run predict "runs/first run" two.csv --json --top 2; code 0; json "$tmp/out" lines
run predict "runs/first run" two.csv --csv; code 0; out '^input,index,predicted,p\(0\)'
run predict "runs/first run" nowhere.csv; code 4; err 'nowhere.csv'
run runs; code 0; out 'first run +digits +done +60/60 +(accuracy|loss)'
run runs --csv; code 0; check "a line a run" test "$(wc -l <"$tmp/out")" = 3
run runs --json; code 0; json "$tmp/out" whole; out '"test_mae": null'
run inspect "runs/first run"; code 0; out 'done'
run inspect "runs/first run/best"; code 0; out 'safetensors'
awk '/^```yaml/ { on = ++n == 1; next } /^```/ { on = 0 } on' "$root/docs/tutorials/table.md" >readme.yaml
{ echo 'acid,sugar,kind,quality'
  for i in $(seq 400); do echo "$((i * 37 % 100)),$((i * 91 % 83)),$([ $((i % 3)) = 0 ] && echo red || echo white),$([ $((i * 37 % 100)) -gt 50 ] && echo good || echo poor)"; done
} >wine.csv
run train readme.yaml --set train.steps=100 --run runs/wine; code 0; out 'test  +loss'
run predict runs/wine wine.csv; code 0; out '^wine.csv\[399\]  (good|poor) '
# In another folder the data is found where the run read it; where it is neither here nor there, both places are named.
mkdir -p elsewhere; cd elsewhere
run eval ../runs/wine; code 0; err "'wine.csv' is not here: '/.*/wine.csv' is used, where the run read it"; cp "$tmp/out" ../there
run train ../readme.yaml --set train.steps=110 --run ../runs/wine --resume; code 0; err "is used, where the run read it"
cd ..; mv wine.csv wine2.csv
run eval runs/wine; code 4; err "can't open 'wine.csv'"; cd elsewhere
run eval ../runs/wine; code 4; err "'wine.csv' is not here, nor is '/.*/wine.csv', where the run read it"
cd ..; mv wine2.csv wine.csv
run train readme.yaml --set train.steps=40 --set data.task=regress --set data.label=acid --run runs/acid; code 0
out '^eval .* mae [0-9]'; out '^  test  +loss .* mae [0-9.]+  rmse [0-9.]+  R2 -?[0-9]'
run runs; code 0; out 'runs/acid .* mae [0-9]'
run eval runs/acid; code 0; out 'mean absolute error [0-9.]+, RMSE [0-9.]+, R2 '
# What eval says is what its predictions give, to the digits written, whatever the batch and its padding.
for b in 7 64; do
  run eval runs/acid --batch $b --json --predictions acid.csv; code 0
  awk -F, 'FILENAME == ARGV[1] { if (FNR > 1) { n++; e += ($3 - $2)^2; a += $3 > $2 ? $3 - $2 : $2 - $3; s += $2; q += $2 * $2 } next }
    { split($0, f, /[:,] */); gsub(/[ "]/, "", f[1]); v[f[1]] = f[2] }
    function far(x, y) { return (x > y ? x - y : y - x) > 1e-5 * (1 + (y > 0 ? y : -y)) }
    END { if (!n || far(v["mae"], a / n) || far(v["rmse"], sqrt(e / n)) || far(v["r2"], 1 - e / (q - s * s / n))) exit 1 }' \
    acid.csv "$tmp/out" || problem "mae, rmse and r2 of a batch of $b are not those of the predictions"
done
run train readme.yaml --set train.steps=40 --set data.task=regress --set data.label=acid --set checkpoint.metric=r2 --run runs/r2; code 0
out '^eval .* r2 -?[0-9]'; out '^  best +valid r2 -?[0-9.]+ at step'
run eval runs/wine --json; code 0; cp "$tmp/out" auc; out '"roc_auc": (1\.0|0\.[0-9]+),'; out '"average_precision": (1\.0|0\.[0-9]+),'
run eval runs/wine --json --batch 7; code 0; [ "$(grep -E 'roc_auc|average' auc)" = "$(grep -E 'roc_auc|average' "$tmp/out")" ] || problem "ROC-AUC of another batch size"
run train readme.yaml --set train.steps=40 --set checkpoint.metric=roc_auc --run runs/auc; code 0
out '^eval .* roc_auc (1|0\.[0-9]+)'; out '^  test .* roc_auc (1|0\.[0-9]+)'
run train digits --device 'no such device'; code 3
run train digits --cap memory=1048576 --set train.batch=1023 --run runs/big; code 5; err 'optimizer moments'
run train digits --set optim.rule=sgd --set optim.lr=10000 --quiet --run runs/nan; code 1; err 'NaN or Inf'
run runs; code 0; out 'runs/nan +digits +failed'
echo '{' >runs/quiet/run.json
run runs; code 0; out 'damaged'

# ---- a language model
run train char-gpt --set train.steps=3 --set schedule.warmup=0 --set eval.sample=20 --set samples.tokens=8 --quiet --run runs/gpt; code 0
check "a sample at the evaluation" test -s runs/gpt/samples/step-00000003.txt
run watch runs/gpt --once; code 0; out '^sample of step 3: '
run report runs/gpt -o gpt.html; code 0; check "the report shows samples" grep -q 'Samples over time' gpt.html
run generate runs/gpt --prompt 'It is' --tokens 100 --temperature 0; code 0; out '^It is'; cp "$tmp/out" greedy
run generate runs/gpt --prompt 'It is' --tokens 100 --temperature 0; code 0; check "greedy text repeats" cmp greedy "$tmp/out"
run generate runs/gpt --prompt 'It is' --tokens 100 --temperature 0 --stop "$(cut -c 6-12 greedy | head -1)"; code 0
check "a stop string ends the text" test "$(wc -c <"$tmp/out")" -lt "$(wc -c <greedy)"
run generate runs/gpt --temperature hot; code 2; err 'temperature'; silent out
run generate runs/gpt --prompt "$(printf 'x%.0s' {1..65})"; code 2; err 'the prompt has 65 tokens'; silent out
run generate "runs/first run"; code 4; silent out

# ---- interrupted, resumed
"$vktrain" train digits --set train.steps=200000 --run runs/long >"$tmp/out" 2>"$tmp/err" </dev/null & pid=$!
for _ in $(seq 100); do [ -s runs/long/metrics.jsonl ] && break; sleep 0.1; done
sleep 1; kill -INT $pid; wait $pid; rc=$?; last="train, interrupted"
code 130; err 'stopping: finishing the step'; out '^interrupted after'; out 'vktrain train digits --set train.steps=200000 --run runs/long --resume'
step=$(python3 -c 'import json; print(json.load(open("runs/long/run.json"))["step"])')
check "interrupted run left a checkpoint" test -e "$(printf 'runs/long/checkpoints/step-%08d/state.json' "$step")"
run train digits --set train.steps=$((step + 20)) --run runs/long --resume; code 0; err "resuming .* at step $step"; out '^done after'
run train digits --run runs/nowhere --resume; code 2; err 'no run'
"$vktrain" bench --only ceilings --json i.json >"$tmp/out" 2>"$tmp/err" </dev/null & pid=$!
for _ in $(seq 300); do [ -s i.json ] && break; sleep 0.1; done
kill -INT $pid; wait $pid; rc=$?; last="bench, interrupted"
code 130; err 'stopping: finishing this measurement'; out '^copy '; out 'items: stopped before them'
check "interrupted bench left its file" grep -q '"name": *"copy' i.json

echo "test_cli: $n checks, $failed failed"
[ $failed = 0 ]
