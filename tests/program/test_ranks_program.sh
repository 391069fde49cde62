#!/usr/bin/env bash
# Training with several ranks by the program: the losses are those of one rank, the same ranks give the same bits, also over an
# interruption; another number of ranks goes on; what can't be is refused in one line.
# usage: test_ranks_program.sh PROGRAM [FAULTS_DIR]     FAULTS_DIR: has the layer that makes calls of Vulkan fail
set -Eeuo pipefail
program=$1 faults=${2:-} source=$(realpath "$(dirname "$0")/../..")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
bad=0
say() { printf 'test_ranks_program: FAILED: %s\n' "$*" >&2; bad=1; }
trap 'say "line $LINENO: $BASH_COMMAND"' ERR # which set -e ends the test for

cat >mlp.yaml <<'YAML'
name: mlp
data: {source: digits, valid_fraction: 0.1}
model: [flatten, linear: 24, relu, dropout: 0.2, linear]
loss: {class_weight: balanced}
optim: {rule: adamw, lr: 0.003, clip: 0.5}
train: {steps: 40, batch: 25}
eval: {every: 20}
YAML
cat >mixed.yaml <<'YAML'
name: mixed
data: {source: idx, path: pictures, valid_fraction: 0.2, augment: {mixup: 0.4, crop_padding: 1}}
model: [flatten, linear: 800, relu, linear: 800, relu, linear] # of two buckets, one of two pieces
train: {steps: 20, batch: 13, accumulate: 2}
eval: {every: 20}
checkpoint: {metric: roc_auc}
YAML
python3 - <<'PY'
import os, struct
os.mkdir("pictures")
for name, n in (("train", 200), ("t10k", 40)):
    pixels = bytes((i * 37 + k * (i % 10 + 3) * 11) % 251 for i in range(n) for k in range(64))
    open(f"pictures/{name}-images-idx3-ubyte", "wb").write(struct.pack(">4I", 0x803, n, 8, 8) + pixels)
    open(f"pictures/{name}-labels-idx1-ubyte", "wb").write(struct.pack(">2I", 0x801, n) + bytes(i % 10 for i in range(n)))
PY
cat >norm.yaml <<'YAML'
name: norm
data: {source: idx, path: pictures, valid_fraction: 0.2}
model: [conv: {out: 4, stride: 2, bias: false}, batch_norm, relu, flatten, linear: {out: 8, bias: false}, batch_norm, relu, linear]
optim: {rule: adamw, lr: 0.002}
train: {steps: 12, batch: 13, batch_norm_sync: true}
eval: {every: 6}
YAML
cat >graph.yaml <<'YAML'
name: graph
data: {source: idx, path: pictures, valid_fraction: 0.2}
model:
  - conv: {out: 4, name: wide}
  - max_pool
  - conv: {out: 6, name: low}
  - conv_transpose: {out: 4, name: up}
  - concat: {from: [wide, up], name: both}
  - squeeze_excite
  - global_pool
  - linear
train: {steps: 12, batch: 13}
eval: {every: 6}
YAML
cat >text.yaml <<'YAML'
name: text
data: {source: novel, tokenizer: chars, context: 16}
model: [transformer: {layers: 1, heads: 2, width: 16, dropout: 0.1}]
train: {steps: 15, batch: 7}
eval: {every: 15, sample: 40}
samples: {count: 0}
YAML

ranks() { # ranks N WORD...: vktrain WORD... with N ranks; its exit code in $code, what it says in out and err
  local n=$1 launcher=(); shift
  [ "$n" = 1 ] || launcher=(mpirun --oversubscribe -n "$n")
  code=0
  timeout 400 ${launcher[@]+"${launcher[@]}"} "$program" "$@" >out 2>err </dev/null || code=$?
}
runs() { # runs N RUN WORD...: the same, and it has to end well
  local n=$1 run=$2; shift 2
  ranks "$n" train "$@" --run "$run"
  [ $code = 0 ] || { say "$run: exit code $code"; tail -n 5 err out >&2; }
}
within() { # within SECONDS COMMAND...: the command succeeds before then. Several tests may share this machine's processors
  local until=$((SECONDS + $1)); shift
  while ! "$@"; do [ $SECONDS -lt $until ] || return 1; sleep 0.1; done
}
# pgrep may miss a process while processes come and go: asked until it sees all of them.
children() { mapfile -t processes < <(pgrep -P "$1"); [ ${#processes[@]} = "$2" ]; } # children PARENT COUNT: into processes
near() { # near A B LIMIT KEY...: the numbers of two runs differ by less, relative
  python3 - "$@" <<'PY' || say "$2 is not near $1"
import json, sys
def numbers(run):
    rows = [json.loads(l) for l in open(run + "/metrics.jsonl")]
    return {(r["kind"], r.get("split"), r["step"], k): r[k] for r in rows for k in sys.argv[4:] if k in r}
a, b = numbers(sys.argv[1]), numbers(sys.argv[2])
worst = max((abs(a[k] - b[k]) / max(abs(a[k]), 1e-9), k) for k in a)
print(sys.argv[2], "differs from", sys.argv[1], "by at most", worst)
sys.exit(a.keys() != b.keys() or not worst[0] < float(sys.argv[3]))
PY
}
sent() { sed -n 's/.*this rank sent \([0-9.]*\) KiB a step.*/\1/p' err | head -n 1; }
same() { cmp -s "$1/checkpoints/$3/model.safetensors" "$2/checkpoints/$3/model.safetensors" || say "$1 and $2: other bits at $3"; }

for recipe in mlp mixed norm graph text; do
  runs 1 $recipe-1 $recipe.yaml
  runs 3 $recipe-3 $recipe.yaml
  [ $recipe != mlp ] || f32=$(sent)
  # Of a few examples, a rounding may change who is before whom.
  exact="accuracy roc_auc"
  [ $recipe != norm ] || exact=
  # shellcheck disable=SC2086
  near $recipe-1 $recipe-3 1e-4 loss grad_norm $exact
done

runs 3 again mlp.yaml
same mlp-3 again step-00000040
runs 3 halved mlp.yaml --set train.steps=20
runs 3 halved mlp.yaml --resume --set train.steps=40
same mlp-3 halved step-00000040
runs 3 graph-halved graph.yaml --set train.steps=6
runs 3 graph-halved graph.yaml --resume --set train.steps=12
same graph-3 graph-halved step-00000012
[ "$(find again -name 'events*' | wc -l)" = 1 ] || say "more than one rank has written"

# What the exchange took is in the run's record, in the table of runs and in the report.
"$program" runs . --filter run~mixed- --json >out 2>err || say "runs: $(cat err)"
"$program" report mixed-3 >>err 2>&1 || say "report: $(cat err)"
python3 - <<'PY' || say "the exchange is not in the record"
import json
one, three = (json.load(open(f"mixed-{n}/run.json")) for n in (1, 3))
assert one["exchange_share"] is None and one["exchange_bytes"] == 0, one
assert 0 < three["exchange_share"] < 1 and 0 <= three["exchange_overlap"] <= 1 and three["exchange_bytes"] > 1e6, three
rows = {r["run"].split("/")[-1]: r for r in json.load(open("out"))["runs"]}
assert rows["mixed-3"]["ranks"] == 3 and rows["mixed-3"]["exchange_share"] > 0 and rows["mixed-1"]["ranks"] == 1, rows
page = open("mixed-3/report.html").read()
assert "3; the exchange took" in page
PY

# Each rank with a part of the optimizer's state: the same training, also over an interruption; checkpoints are the same files.
files_near() { # files_near A B LIMIT FILE...: tensors of the same names, and numbers that differ by less, relative to a tensor's largest
  python3 - "$@" <<'PY' || say "$2 is not near $1"
import array, json, struct, sys
def tensors(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    return {k: array.array("f", raw[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]])
            for k, v in json.loads(raw[8:8 + n]).items() if k != "__metadata__" and v["dtype"] == "F32"}
for f in sys.argv[4:]:
    a, b = (tensors(f"{d}/{f}.safetensors") for d in sys.argv[1:3])
    assert a.keys() == b.keys() and a, (a.keys(), b.keys())
    far = {k: max(abs(x - y) for x, y in zip(a[k], b[k])) / (max(map(abs, a[k])) or 1) for k in a}
    assert max(far.values()) < float(sys.argv[3]), far
PY
}
runs 3 shard mlp.yaml --set optim.shard=true --set train.ema=0.9
runs 3 no-shard mlp.yaml --set train.ema=0.9
near no-shard shard 1e-4 loss grad_norm accuracy
files_near no-shard/checkpoints/step-00000040 shard/checkpoints/step-00000040 1e-5 model optimizer
# A rule that looks at whole tensors: each rank has them whole.
for rule in lamb muon adafactor; do
  for n in 1 3; do runs $n $rule-$n mlp.yaml --set optim.rule=$rule --set optim.weight_decay=0.01; done
  near $rule-1 $rule-3 1e-4 loss grad_norm accuracy
  files_near $rule-1/checkpoints/step-00000040 $rule-3/checkpoints/step-00000040 1e-4 model optimizer
done
runs 3 shard-halved mlp.yaml --set optim.shard=true --set train.ema=0.9 --set train.steps=20
runs 3 shard-halved mlp.yaml --set optim.shard=true --set train.ema=0.9 --set train.steps=40 --resume
same shard shard-halved step-00000040
cmp -s shard/checkpoints/step-00000040/optimizer.safetensors shard-halved/checkpoints/step-00000040/optimizer.safetensors || say "the halved run has other moments"
runs 1 shard-halved mlp.yaml --set train.ema=0.9 --set train.steps=45 --resume
planned() { sed -n 's/.* \([0-9.]*\) KiB planned.*/\1/p' out; }
runs 2 16-whole norm.yaml --set train.precision=bf16 --set optim.rule=rmsprop --set train.batch_norm_sync=false
whole=$(planned)
runs 2 16-shard norm.yaml --set train.precision=bf16 --set optim.rule=rmsprop --set train.batch_norm_sync=false --set optim.shard=true
files_near 16-whole/checkpoints/step-00000012 16-shard/checkpoints/step-00000012 1e-2 model optimizer
python3 -c "import sys; sys.exit(not float(sys.argv[1]) > float(sys.argv[2]))" "$whole" "$(planned)" || say "parts of the moments take as much memory: $whole and $(planned) KiB"

# Local steps with outer ones between them: with plain steps of either kind nearly the same training, the same bits twice, its
# momentum in the checkpoint; what can't be combined is refused.
plain=(--set optim.rule=sgd --set optim.lr=0.03 --set optim.clip=0)
runs 1 plain mlp.yaml "${plain[@]}"
runs 3 local mlp.yaml "${plain[@]}" --set 'train.balance=[3, 1, 1]' --set train.sync.every=10 --set train.sync.lr=1 --set train.sync.momentum=0
python3 - plain local <<'PY' || say "local steps go elsewhere"
import json, sys
a, b = ([r["loss"] for r in map(json.loads, open(d + "/metrics.jsonl")) if r["kind"] == "eval"] for d in sys.argv[1:])
print("one rank", a, "local steps", b)
assert len(a) == len(b) == 3 and all(abs(x - y) < 0.02 * x for x, y in zip(a, b))
PY
runs 2 outer mlp.yaml --set train.sync.every=5
runs 2 outer-again mlp.yaml --set train.sync.every=5
same outer outer-again step-00000040
grep -qa outer.1.weight outer/checkpoints/step-00000040/optimizer.safetensors || say "the outer momentum is not in the checkpoint"
runs 2 outer mlp.yaml --set train.sync.every=5 --set train.steps=50 --resume
grep -q "train.sync: every rank goes on with rank 0's moments" err || say "no word of the moments"
for wrong in "eval.every=12:12 is no multiple of train.sync.every = 5" "optim.shard=true:can't be combined with optim.shard" "train.ema=0.9:can't be combined with train.ema"; do
  ranks 2 train mlp.yaml --run no --set train.sync.every=5 --set "${wrong%%:*}"
  [ $code = 2 ] && grep -q "${wrong#*:}" err || { say "train.sync.every=5 with ${wrong%%:*}: $code"; cat err >&2; }
done

# Gradients in bf16: nearly the same training for half the bytes, also with parts of the state; the same bits twice.
runs 3 bf16 mlp.yaml --set train.compress=bf16 --set train.steps=20
half=$(sent)
runs 3 bf16 mlp.yaml --set train.compress=bf16 --set train.steps=40 --resume
near mlp-3 bf16 0.02 loss
grep -q 'train.compress: what rounding had left' err || say "no word of what rounding had left"
python3 -c "import sys; a, b = map(float, sys.argv[1:]); sys.exit(not 0.48 < a / b < 0.52)" "$half" "$f32" || say "bf16 sends $half KiB a step for $f32"
for run in bf16-parts bf16-twice; do runs 3 $run mixed.yaml --set train.compress=bf16 --set optim.shard=true; done
near mixed-3 bf16-parts 0.02 loss
same bf16-parts bf16-twice step-00000020
for wrong in "train.sync.every=5:can't be combined with train.sync.every" "train.precision=fp16:can't be combined with train.precision fp16"; do
  ranks 2 train mlp.yaml --run no --set train.compress=bf16 --set "${wrong%%:*}"
  [ $code = 2 ] && grep -q "${wrong#*:}" err || { say "train.compress=bf16 with ${wrong%%:*}: $code"; cat err >&2; }
done

# Unequal parts are the same training. Measured ones are kept by a run that is resumed.
runs 3 uneven mlp.yaml --set 'train.balance=[3, 1, 1]'
near mlp-1 uneven 1e-4 loss grad_norm accuracy
grep -q 'rank 0 (.*): 15 of 25 examples' err || { say "no word of the parts"; cat err >&2; }
runs 2 measured mlp.yaml --set train.balance=measured --set train.steps=10
sed -i 's/"shares": \("[^"]*"\|null\)/"shares": "4,1"/' measured/run.json # null: equal ones
runs 2 measured mlp.yaml --set train.balance=measured --set train.steps=20 --resume
grep -q 'rank 0 (.*): 20 of 25 examples' err && grep -q '"shares": *"4,1"' measured/run.json || { say "measured parts are not kept"; cat err >&2; }
# Ranks whose times drift apart get other parts, with which all is built anew: the same training, also of parts of the moments.
VKT_TEST_RANK_MS='1e5,1e5,1e5;1e5,4e5,1e5' runs 3 drift mlp.yaml --set train.balance=measured --set optim.shard=true --set train.ema=0.9
near no-shard drift 1e-4 loss grad_norm accuracy
files_near no-shard/checkpoints/step-00000040 drift/checkpoints/step-00000040 1e-5 model optimizer
grep -q "times have drifted: .* 4e+05 ms on rank 1, .*; from step 21 on the ranks have 12, 2, 11 of 25 examples" err &&
  grep -q '"shares": *"12,2,11"' drift/run.json || { say "no other parts for ranks that drift"; cat err >&2; }
# A second measurement, with other parts, tells what a step of rank 1 takes whatever its part is: 1.07e6 ms, and 2.67e5 for each example.
VKT_TEST_RANK_MS='1e5,4e5,1e5;1e5,8e5,1e5' runs 3 fixed mlp.yaml --set train.balance=measured --set train.steps=4
grep -q '"shares": *"12,1,12"' fixed/run.json || { say "what a step takes whatever its part is does not count"; cat err >&2; }
for wrong in "[2, 1]:has 2 shares, and there are 3 ranks" "fast:'fast' is neither equal, measured nor a list" "[100, 1, 1]:leaves rank 1 none of a batch of 25"; do
  ranks 3 train mlp.yaml --run no --set "train.balance=${wrong%%:*}"
  [ $code = 2 ] && [ "$(grep -c 'error:' err)" = 1 ] && grep -q "${wrong#*:}" err || { say "train.balance=${wrong%%:*}: $code"; cat err >&2; }
done

# By one command, without a word about MPI; then a rank is killed.
runs 1 devices mlp.yaml --devices 0,0,0
same mlp-3 devices step-00000040
code=0
"$program" train mlp.yaml --set train.steps=100000 --set eval.every=50 --set train.log_every=1 --devices 0,0 --run killed >out 2>err </dev/null & job=$!
two_checkpoints() { [ "$(find killed/checkpoints -name state.json 2>/dev/null | wc -l)" -ge 2 ]; }
within 300 two_checkpoints || { say "no two checkpoints after 300 s"; tail -n 5 err out >&2; }
within 60 children $job 1 || say "the program has ${#processes[@]} launchers"
launcher=${processes[0]}
within 60 children "$launcher" 2 || say "the launcher has ${#processes[@]} ranks"
kill -KILL "${processes[-1]}" || say "there is no rank to kill"
start=$SECONDS
wait $job || code=$?
ended=$((SECONDS - start))
# The launcher may end before the ranks that it has ended. Those are zombies of process 1 then, for as long as that likes.
gone() { local p s; for p in "${processes[@]}"; do s=$(ps -o stat= -p "$p") && [ "${s:0:1}" != Z ] && return 1; done; return 0; }
within 120 gone || { say "ranks are left behind"; ps -o pid,ppid,stat,args -p "${processes[*]}" >&2; }
[ $code = 1 ] && [ $ended -lt 120 ] || { say "a rank that is killed: exit code $code after $ended s"; cat err >&2; }
grep -q 'rank . (.*) is gone' err || { say "no word of the rank that was killed"; cat err >&2; }
at=0$(find killed/checkpoints -name state.json | sort | tail -n 1 | grep -o '[0-9]*/state' | grep -o '^[0-9]*')
runs 1 killed mlp.yaml --resume --set eval.every=50 --set train.steps=$((10#$at + 50))
grep -q 'the run was on 2 ranks and goes on with 1: not bit for bit' err || say "no word of the other number of ranks"

# Interrupted by one rank, and gone on with.
code=0
mpirun --oversubscribe -n 3 "$program" train mlp.yaml --set train.steps=100000 --set eval.every=100000 --set train.log_every=1 --run stopped >out 2>err </dev/null & job=$!
within 300 grep -q '^step' out || { say "no step after 300 s"; tail -n 5 err out >&2; }
within 60 children $job 3 || say "mpirun has ${#processes[@]} ranks"
kill -INT "${processes[-1]}" || say "there is no rank to interrupt"
wait $job || code=$?
[ $code = 130 ] || { say "SIGINT on a rank: exit code $code"; tail -n 5 err out >&2; }
at=$(ls stopped/checkpoints)
[ -f "stopped/checkpoints/$at/state.json" ] || say "SIGINT on a rank leaves no checkpoint"
runs 2 stopped mlp.yaml --resume --set eval.every=100000 --set train.steps=$((10#${at#step-} + 20))

ranks 3 train mlp.yaml --run no --set train.batch=2
[ $code = 2 ] && [ "$(grep -c 'error:' err)" = 1 ] && grep -q 'less than one example for each of 3 ranks' err || { say "a batch of less than a row a rank: $code"; cat err >&2; }
ranks 2 train mlp.yaml --run mlp-1
[ $code = 2 ] && [ "$(grep -c 'error:' err)" = 1 ] || { say "a folder that holds a run: $code"; cat err >&2; }
# How training scales: measured, and predicted for other links, less on slower ones and with more devices.
code=0
mpirun --oversubscribe -n 3 "$program" bench --scaling ranks mlp.yaml --once --json ranks.json >out 2>err </dev/null || code=$?
[ $code = 0 ] && grep -q '^predicted, not measured' out || { say "bench --scaling ranks: $code"; cat err >&2; }
python3 "$source/tests/support/check_schema.py" "$source/tools/schemas/ranks.schema.json" ranks.json >&2 || say "ranks.json is not as its schema"
python3 - <<'PY' || say "bench --scaling ranks says what can't be"
import json
r = json.load(open("ranks.json"))
assert [p["ranks"] for p in r["points"]] == [1, 2, 3] and r["points"][0]["efficiency"] == 1 and r["points"][0]["bytes"] == 0, r
assert r["points"][2]["bytes"] > r["points"][1]["bytes"] > 0 and all(p["ms"] > 0 for p in r["points"]), r
for p in r["points"]:  # two messages to each other rank, and the bytes, by the line
    messages, bytes = 2 * (p["ranks"] - 1), 2 * r["gradient_bytes"] * (p["ranks"] - 1) / p["ranks"]
    model = 1e-3 * r["alpha_us"] * messages + (1e-6 * bytes / r["gbytes_per_s"] if r["gbytes_per_s"] else 0)
    assert abs(p["exchange_model_ms"] - model) <= 1e-6 * model, (p, model)
rows = [[p["efficiency"] for p in l["predicted"]] for l in r["links"]]
assert all(0 < b <= a < 1 for row in rows for a, b in zip(row, row[1:])), rows
assert all(a < b for one, two in zip(rows, rows[1:]) for a, b in zip(one, two)), rows
PY
# Where the time of a step goes: of each rank, in one trace.
code=0
mpirun --oversubscribe -n 2 "$program" profile mlp.yaml --steps 6 --json -o trace.json >out 2>err </dev/null || code=$?
[ $code = 0 ] || { say "profile: $code"; cat err >&2; }
python3 - <<'PY' || say "a profile of two ranks says what can't be"
import json
p, trace = json.load(open("out")), json.load(open("trace.json"))
assert [r["examples"] for r in p["ranks"]] == [12, 13] and all(r["bytes"] > 1000 and r["exchange_ms"] > 0 for r in p["ranks"]), p["ranks"]
assert abs(p["busy"] + p["idle_input"] + p["idle_host"] + p["idle_exchange"] - 1) < 1e-3 and p["idle_exchange"] >= 0, p
names = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"}
assert [names[i].split(":")[0] for i in (1, 2, 3, 4)] == ["rank 0, host", "rank 0, device", "rank 1, host", "rank 1, device"], names
for rank in (0, 1):
    mine = [e for e in trace["traceEvents"] if e["pid"] in (2 * rank + 1, 2 * rank + 2)]
    waits = [e for e in mine if e["name"] == "exchange, device waits"]
    assert 2 <= len({e["args"]["step"] for e in waits}) <= 7 and len({e["tid"] for e in waits}) == 1, waits
    arrows = [e for e in mine if e["ph"] in "sf"]
    assert arrows and all(e["id"] >> 32 == rank for e in arrows), arrows
assert min(e["ts"] for e in trace["traceEvents"] if "ts" in e) >= 0 and trace["otherData"]["ranks"] == 2
PY
# Numbers, a threshold, and a frozen base that is kept packed: the same of two ranks as of one.
printf 'a,b\n' >numbers.csv
for i in $(seq 400); do printf '%d,%d\n' $((i * 7 % 50)) $((i % 4 == 0)); done >>numbers.csv
printf 'name: numbers\ndata: {source: csv, path: numbers.csv, label: b, valid_fraction: 0.4}\nmodel: [linear]\ntrain: {steps: 5, batch: 4}\neval: {batch: 4}\n' >numbers.yaml
for n in 1 2; do
  runs $n regress-$n numbers.yaml --set data.task=regress
  runs $n threshold-$n numbers.yaml --set calibration.threshold=f1
done
near regress-1 regress-2 1e-4 loss mae rmse
near threshold-1 threshold-2 1e-4 loss accuracy macro_f1
# Masks: a mean over the pixels that count, and Dice of each picture, whoever has it.
python3 "$source/tools/examples/make_pictures.py" digits masks 12 24 3
printf 'name: masks\ndata: {source: masks, path: masks, valid_fraction: 0.3, augment: {flip: 0.5, crop_padding: 2}}\nmodel: [conv: 4, relu, conv: {out: 2, kernel: 1}]\nloss: {kind: dice_ce, class_weight: balanced}\ntrain: {steps: 3, batch: 4}\neval: {every: 3, batch: 4}\n' >masks.yaml
for n in 1 2; do runs $n masks-$n masks.yaml; done
near masks-1 masks-2 1e-4 loss accuracy mean_iou
# Boxes: those found by all ranks are ranked together.
python3 "$source/tools/examples/make_boxes.py" boxes 12 32 3
printf 'name: boxes\ndata: {source: boxes, path: boxes, valid_fraction: 0.4}\nmodel:\n' >boxes.yaml
printf '  - conv: {out: 4, stride: 2}\n  - relu: {name: at_%d}\n' 2 4 8 16 32 >>boxes.yaml
for s in 8 16 32; do
  printf '  - conv: {out: 12, kernel: 1, from: at_%d}\n  - reshape: {shape: [%d, 12], name: found_%d}\n' $s $((32 / s * (32 / s))) $s >>boxes.yaml
done
printf '  - concat: {from: [found_8, found_16, found_32], axis: 0}\ntrain: {steps: 30, batch: 4}\neval: {every: 30, batch: 4}\noptim: {lr: 0.01}\n' >>boxes.yaml
for n in 1 2; do runs $n boxes-$n boxes.yaml; done
near boxes-1 boxes-2 1e-3 loss map map50
# Points and instances of three ranks, in two parts a step: losses, gradients and what is found are those of one rank.
python3 "$source/tools/examples/make_points.py" points 24 32 3
python3 "$source/tools/examples/make_pictures.py" cells cells 24 32 3
for of in points instances; do
  path=points out=5 stride=2
  [ $of = points ] || { path=cells; out=4; stride=1; }
  printf 'name: %s\ndata: {source: %s, path: %s, valid_fraction: 0.4, augment: {crop_padding: 2}}\n' $of $of $path >$of.yaml
  printf 'model: [conv: {out: 8, stride: %d}, relu, conv: {out: %d, kernel: 3}]\n' $stride $out >>$of.yaml
  printf 'train: {steps: 10, batch: 7, accumulate: 2}\neval: {every: 5, batch: 7}\noptim: {lr: 0.01}\n' >>$of.yaml
  for n in 1 3; do runs $n $of-$n $of.yaml; done
done
near points-1 points-3 1e-4 loss grad_norm oks_ap pck point_error
near instances-1 instances-3 1e-4 loss grad_norm instance_ap50
sed 's/context: 16/context: 16, valid_fraction: 0.1/; s/^model: .*/model: [transformer: {layers: 1, heads: 2, width: 32, names: llama, positions: rope, norm: rmsnorm, activation: swiglu, bias: false, tie: true}]/' text.yaml >base.yaml
runs 1 base base.yaml --set train.steps=2 --set eval.every=2
"$program" export base --hf hf >out 2>err || say "export: $(cat err)"
printf 'name: lora\ndata: {source: novel, context: 16}\ninit: hf\nlora: {rank: 2, base: q8_0}\ntrain: {steps: 6, batch: 6}\neval: {every: 6, sample: 40}\nsamples: {count: 0}\n' >lora.yaml
for n in 1 2; do runs $n lora-$n lora.yaml; done
near lora-1 lora-2 1e-4 loss
ranks 1 bench --scaling ranks mlp.yaml
[ $code = 2 ] && grep -q 'for 2 to 64 ranks, and this is 1' err || { say "bench --scaling ranks alone: $code"; cat err >&2; }

code=0
mpirun --oversubscribe -n 2 "$program" eval none >out 2>err </dev/null || code=$?
[ $code = 2 ] && [ "$(grep -c 'start eval without mpirun' err)" = 1 ] || { say "eval as two processes: $code"; cat err >&2; }
code=0
mpirun --oversubscribe -n 1 "$program" train mlp.yaml --run no : -n 1 "$program" train mlp.yaml --run no --set optim.lr=0.1 >out 2>err </dev/null || code=$?
[ $code = 2 ] && grep -q "rank 1 (.*): its recipe is not that of rank 0: 'lr: 0.1.*' here, 'lr: 0.003.*' there" err || { say "recipes that differ: $code"; cat err >&2; }

# What one rank lacks ends all, in one line that says which, and leaves nobody behind.
nobody() { ! pgrep -f "$program train .* --run $folder/no" >/dev/null; }
refused() { # refused CODE TEXT: what was just tried
  [ $code = "$1" ] && [ "$(grep -c 'error:' err)" = 1 ] && grep -q "error: $2" err && ! grep -q 'stopping:' err || { say "not refused by '$2': $code"; cat err >&2; }
  within 60 nobody || say "ranks are left behind: $2"
}
apart() { # apart PROGRAM...: of two ranks the second in the folder 'apart'
  code=0
  mpirun --oversubscribe -n 1 "$@" : -n 1 -wdir "$folder/apart" "$@" >out 2>err </dev/null || code=$?
}
mkdir apart
printf 'a,b\n' >table.csv
for i in $(seq 60); do printf '%d,%s\n' $((i * 7 % 50)) $((i % 2)); done >>table.csv
printf 'name: table\ndata: {source: csv, path: table.csv, label: b, valid_fraction: 0.2}\nmodel: [linear]\ntrain: {steps: 5, batch: 4}\n' | tee apart/table.yaml >table.yaml
apart "$program" train table.yaml --run "$folder/no"
refused 4 "rank 1 (.*): can't open 'table.csv'"
sed 's/^7,1/8,1/' table.csv >apart/table.csv
apart "$program" train table.yaml --run "$folder/no"
refused 2 "rank 1 (.*): its data is not that of rank 0"
ranks 1 train mlp.yaml --devices 0,0,no-such-device --run "$folder/no"
refused 3 "rank 2 (.*): --device 'no-such-device' fits no device; the devices are 0: "
sed 's/batch: 25/batch: 2/' mlp.yaml >small.yaml
ranks 3 train small.yaml --run "$folder/no"
refused 2 "train.batch 2 has less than one example for each of 3 ranks"
if [ -n "$faults" ]; then # found by all, and rank 0 comes to it after the others have said so
  LD_PRELOAD="$faults/liblate.so" ranks 3 train small.yaml --run "$folder/no"
  refused 2 "train.batch 2 has less than one example for each of 3 ranks"
fi
ranks 3 bench --scaling ranks small.yaml
refused 2 "train.batch 2 has less than one example for each of 3 ranks"
ranks 3 train mlp.yaml --set devices=0,0 --run "$folder/no"
refused 2 "devices '0,0' are 2: there are 3 ranks in all, and 3 on this host"
ranks 1 train mlp.yaml --set devices=0,0 --run "$folder/no"
refused 2 "devices '0,0' are several, and this is one rank: start it with --devices, or by mpirun"
ranks 1 train mlp.yaml --devices 0,0 --run /proc/no
refused 4 "can't create folder '/proc/no'"
code=0
env PMI_RANK=0 PMI_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$program" train mlp.yaml --run "$folder/no" >out 2>err </dev/null || code=$?
refused 3 "the launcher has started 2 ranks (.*), but .* finds 1"
# A rank that loses its device, before the first step or after it, ends all with its code and name.
cat >lossy <<'SH'
#!/bin/sh
if [ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-}}" = 1 ]; then export VK_LAYER_PATH="$faults" VK_INSTANCE_LAYERS=VK_LAYER_VKT_fault VKFAULT_STICKY=1 VKFAULT="$1"; fi
shift
exec "$@"
SH
chmod +x lossy
for fault in ${faults:+vkAllocateMemory:3 vkQueueSubmit2:200}; do
  code=0
  faults=$faults timeout 400 mpirun --oversubscribe -n 2 ./lossy "$fault:DEVICE_LOST" "$program" train mlp.yaml --no-cache --set train.steps=120 --run "lost-$fault" >out 2>err </dev/null || code=$?
  refused 6 "rank 1 (.*): ${fault%%:*}: device lost"
done
[ -z "$faults" ] || runs 1 "lost-$fault" mlp.yaml --set train.steps=120 --resume
# The rank of the least memory is the measure of all, and is named.
code=0
wide=(train mlp.yaml --set train.batch=512 --set 'model=[flatten, linear: 400, relu, linear]' --set train.steps=2 --set eval.every=2 --run large)
mpirun --oversubscribe -n 1 "$program" "${wide[@]}" --cap memory=1600000 : -n 1 "$program" "${wide[@]}" >out 2>err </dev/null || code=$?
[ $code = 0 ] && grep -q 'rank 0 (.*) has the least memory' err && grep -q 'rank 1 (.*): 128 of 256 examples' err || { say "a rank of little memory: $code"; cat err >&2; }
[ ! -e no ] || say "what was refused has left a folder"

[ $bad = 0 ] && echo "test_ranks_program: ok"
exit $bad
