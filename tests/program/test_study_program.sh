#!/usr/bin/env bash
# Studies through the program: killed at any moment they resume without repeating a finished trial and end as a
# straight one; a second process is refused; another recipe, kind or space is refused. usage: test_study_program.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
kills=${2:-6}
seed=${3:-$(date +%s)}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-study.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
echo "test_study_program: seed $seed"
RANDOM=$((seed % 32768))
fail() { echo "test_study_program: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }

# refused RC TEXT ARGS...
refused()
{
    local want=$1 text=$2 rc=0
    shift 2
    "$program" "$@" >out 2>log || rc=$?
    [ $rc = "$want" ] || fail "exit $rc, not $want: $*"
    [ "$(grep -c 'error:' log)" = 1 ] || fail "not one error line: $*"
    grep 'error:' log | grep -q -- "$text" || fail "the error lacks '$text': $*"
}

cat >space.yaml <<'Y'
optim.lr: {log: [0.0005, 0.05]}
optim.rule: [adam, nesterov]
Y
search=(study search digits --space space.yaml --trials 4 --steps 60 --seeds 1 --set eval.every=5)

# ---- usage
refused 2 "not one of auto, lr, warmup, clip, batch-size, search, folds, data; did you mean 'warmup'" study warmpu digits
refused 2 '--space FILE is missing' study search digits
refused 4 "nowhere.yaml" study search digits --space nowhere.yaml
refused 2 'resume needs --study' study lr digits --resume
for count in seeds points; do refused 2 "--$count is 0, must be at least 1" study lr digits --$count 0; done
for count in folds repeats; do refused 2 "--$count is 0, must be at least 1" study folds digits --$count 0; done
refused 2 "no study in 'none' to resume" study lr digits --study none --resume
refused 2 'not a valid range' study lr digits --from 0.1 --to 0.01 --study none
printf '%s\n' 'data: {source: digits}' 'model: [{linear: 8}, linear]' 'optim: {lr: 0.1}' 'train: {steps: 20, batch: 64}' >no-flatten.yaml
for kind in lr warmup clip; do # the recipe's fault says nothing of rates
    refused 2 'put `- flatten` before it' study $kind no-flatten.yaml --study of-$kind
    rm -r of-$kind
done
rm no-flatten.yaml
refused 2 "can't be used together" study lr digits --device 0 --devices 0,0 --study none
refused 2 'between two commas' study lr digits --devices 0, --study none
refused 3 "'no such device' fits no device" study lr digits --devices '0,no such device' --study none
refused 3 "'no such device' fits no device" study lr digits --set 'device=no such device' --study none
refused 2 'at least 3' study lr digits --points 2 --study none
refused 2 'must be a number' study lr digits --from fast
refused 2 "did you mean 'optim.lr'" study lr digits --set optim.lrr=1
refused 2 "is not one of auto, accuracy, .*roc_auc, .*loss, mae, rmse, r2" study lr digits --set checkpoint.metric=f1
echo 'optim.lr: {log: [0, 1]}' >zero.yaml
refused 2 "zero.yaml:1: optim.lr: a logarithmic range can't begin at 0" study search digits --space zero.yaml --study none
[ ! -e runs ] && [ ! -e none ] || fail "a refused study left a folder"

refused 2 'at least 50' study lr digits --ramp --steps 20 --study none
refused 2 '--from must be above 0' study lr digits --ramp --from 1 --to 0.1 --study none

# ---- a dry run writes nothing
"$program" "${search[@]}" --dry-run >out 2>log || fail "dry run"
grep -q '^trial-0003 ' out && grep -q '^4 trials, and at most 2 more' out || fail "the plan: $(cat out)"
[ "$(ls)" = "$(printf 'log\nout\nspace.yaml\nzero.yaml')" ] || fail "a dry run left something: $(ls)"

# ---- the batch size is not for a search, and accumulation is said to buy no speed
echo 'train.batch: [32, 64]' >batch.yaml
"$program" study search digits --space batch.yaml --trials 2 --steps 20 --dry-run >out 2>log && grep -q 'warning: .*the space has the batch size in it.*study batch-size' log || fail "a batch size in a space"
"$program" train digits --quiet --set train.accumulate=4 --set train.steps=2 --set eval.every=2 --run accumulated >out 2>log || fail "training with accumulation"
cat out log | grep -q '4 batches of 64 an update: the noise of a batch of 256, and no more throughput' || fail "what accumulation does not buy"
rm -r batch.yaml accumulated

# ---- killed at random moments, two trials at a time: then as a straight one, one at a time
"$program" "${search[@]}" --study straight --json >straight.out 2>log || fail "a straight study"
finished()
{
    python3 -c 'import json,sys
try: s = json.load(open(sys.argv[1] + "/study.json"))
except FileNotFoundError: sys.exit()
for t in s["trials"]:
    if t["state"] == "done":
        print(t["name"], json.load(open(sys.argv[1] + "/" + t["name"] + "/run.json"))["finished"], t["best"])' "$1"
}
# ---- a best trial whose training came apart is said to be one
echo 'optim.lr: {log: [0.5, 4]}' >high.yaml
"$program" study search digits --space high.yaml --trials 4 --steps 100 --seeds 1 --set optim.rule=momentum --set eval.every=10 \
    --study high --quiet >out 2>log || fail "a search of rates that are too high: exit $?"
grep -q 'training loss of trial-000[0-9] rises by' out || fail "no word of the best trial's rising loss"
rm -r high high.yaml

resume=()
for ((i = 0; i < kills; i++)); do
    "$program" "${search[@]}" --devices 0,0 --study killed ${resume[@]+"${resume[@]}"} --quiet >log 2>&1 &
    pid=$!
    sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    [ ! -e killed/study.json ] || resume=(--resume)
    finished killed >now
    [ ! -s before ] || ! grep -vxFf now before >log || fail "a finished trial was run again"
    cp now before
done
[ ${#resume[@]} -gt 0 ] || resume=()
mkdir -p killed
touch killed/study.json.tmp999999999-0 # as of a process killed while it wrote
"$program" "${search[@]}" --devices 0,0 --study killed ${resume[@]+"${resume[@]}"} --json >killed.out 2>log || fail "resuming: exit $?"
[ ! -e killed/study.json.tmp999999999-0 ] || fail "what a killed study left half written stays"
finished killed >now
[ ! -s before ] || ! grep -vxFf now before >log || fail "a finished trial was run again at the end"
python3 - straight.out killed.out >log <<'P' || fail "the killed study ended differently"
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
for j in a, b:
    j.pop("study")
    for t in j["trials"]:
        for k in ("items_per_s", "step_ms", "seconds"): t.pop(k)
print(a, b, sep="\n")
sys.exit(a != b)
P
echo "test_study_program: killed $kills times: finished trials kept, the same result"

# ---- the same folder for something else
refused 2 'already holds a study' "${search[@]}" --study straight
refused 2 'is a study of another recipe' "${search[@]}" --set seed=5 --study straight --resume
refused 2 'of kind search, not lr' study lr digits --study straight --resume
echo 'optim.lr: {log: [0.001, 0.05]}' >other.yaml
refused 2 'of another space' study search digits --space other.yaml --trials 4 --steps 60 --seeds 1 --set eval.every=5 --study straight --resume
refused 2 'with other options' study search digits --space space.yaml --trials 4 --steps 60 --seeds 2 --set eval.every=5 --study straight --resume
refused 2 'has 4 trials of its search already' study search digits --space space.yaml --trials 3 --steps 60 --seeds 1 --set eval.every=5 --study straight --resume

# ---- the table of runs has a row for a study, its trials where they are asked for
"$program" runs . >out 2>log && grep -qE '^\./straight +search +digits +digits +6 of 6 +done' out && grep -q '^  .*study search digits .*--study straight' out && ! grep -q trial-0000 out && grep -q 'runs --trials' out ||
    fail "studies in the table of runs: $(cat out log)"
for asked in ". --trials" ". --sort -best" ". --csv" straight; do
    # shellcheck disable=SC2086
    "$program" runs $asked >out 2>log && grep -q 'straight/trial-0000' out || fail "trials in runs $asked: $(cat out log)"
done

# ---- the table of studies, for programs and for documents
"$program" runs . --studies --csv >studies.csv 2>log && "$program" runs . --studies --json >studies.json 2>>log && "$program" runs . --studies --markdown >studies.md 2>>log ||
    fail "runs --studies: $(cat log)"
python3 - >log 2>&1 <<'P' || fail "runs --studies as CSV, JSON and markdown"
import csv, json
rows, objects = list(csv.DictReader(open("studies.csv"))), json.load(open("studies.json"))["studies"]
assert [r["study"] for r in rows] == [o["study"] for o in objects] and len(rows) >= 2
for row, o in zip(rows, objects):
    print(row, o)
    assert set(row) == set(o) and all(float(row[k]) == o[k] if isinstance(o[k], (int, float)) else row[k] == (o[k] or "") for k in o if k != "best")
    assert abs(float(row["best"]) - o["best"]) < 1e-8 * abs(o["best"])
lines = open("studies.md").read().splitlines()
assert len(lines) == 2 + len(rows) and {line.replace("\\|", "").count("|") for line in lines} == {10}, lines
assert all(r["study"] in line and r["command"].replace("|", "\\|") in line for r, line in zip(rows, lines[2:])), lines
P
refused 2 'not to that of --studies' runs . --studies --show optim.lr
refused 2 'name trials of the studies' runs . --studies --compare

# ---- more trials of the same search: the first ones are kept, the next points of the sequence come; resumed again, nothing is left to do
cp -r straight more
finished more >before
for again in 1 2; do
    "$program" study search digits --space space.yaml --trials 6 --steps 60 --seeds 1 --set eval.every=5 --study more --resume --quiet >out 2>log || fail "extending a search"
    finished more >now
    ! grep -vxFf now before >log || fail "extending a search ran a finished trial again"
    cp now before
done
"$program" study search digits --space space.yaml --trials 6 --steps 60 --seeds 1 --set eval.every=5 --dry-run >plan 2>log || fail "the plan of six trials"
python3 - >log 2>&1 <<'P' || fail "the extended search"
import json
s = json.load(open("more/study.json"))
points = [" ".join(t["set"]) for t in s["trials"] if t["group"] == "search"]
plan = [" ".join(line.split()[2:]) for line in open("plan") if line.startswith("trial-")]
print(points, plan)
assert points == plan and len(points) == 6 and len(s["rows"]) == 6 and s["status"] == "done"
# The recipe is compared again only on what it was not compared on before, and so is a candidate that is still the best.
groups, sets = [t["group"] for t in s["trials"]], [(t["group"], *t["set"]) for t in s["trials"]]
assert groups[:8] == ["search"] * 4 + ["recipe", "candidate"] + ["search"] * 2 and groups[8:] in ([], ["candidate"]), groups
assert len(set(sets)) == len(sets), sets
assert "--resume" not in s["study_command"] and "--resume" in s["resumed_with"]
P
# of an older version, which lacked options whose value is found when the recipe is complete
cp -r straight older
sed -i -E 's/  kind: cross_entropy\\n(  [a-z]+: [0-9.e-]+\\n)+//' older/study.json # what the version before the losses' options did not write
! cmp -s straight/study.json older/study.json || fail "the older study is not older"
"$program" "${search[@]}" --study older --resume --quiet >out 2>log || fail "resuming a study of an older version"
cp -r straight broken
echo '{' >broken/study.json
refused 4 'damaged' "${search[@]}" --study broken --resume

# ---- for the last phase a model goes on from any search, and hopeless trials are pruned; resumed, the same
refused 2 'prune is for search, not lr' study lr digits --prune --study none
refused 2 'trials is for search, not folds' study folds digits --trials 3 --study none
refused 2 'from is for lr and batch-size, not clip' study clip digits --from 0.1 --study none
refused 2 "must be one of halton|gp|tpe" "${search[@]}" --sampler tpee --study none
refused 2 'lower eval.every' study search digits --space space.yaml --steps 60 --set eval.every=60 --prune --study none
echo 'optim.lr: {log: [1.0e-6, 0.1]}' >rates.yaml # losses; the lower half learns nothing in so few steps
"$program" study search digits --space rates.yaml --steps 40 --seeds 1 --set eval.every=20 --trials 12 --sampler gp --study process --quiet >out 2>log || fail "a search by a Gaussian process"
python3 - process/study.json <<'P' || fail "the process' points are no better than the sequence's"
import json, statistics, sys
best = [t["best"] for t in json.load(open(sys.argv[1]))["trials"] if t["group"] == "search"]
assert len(best) == 12 and statistics.median(best[4:]) < statistics.median(best[:4]), best
P
cat >roles.yaml <<'Y'
optim.rule: {choice: [adam, nesterov], role: scientific}
optim.lr:
  - {log: [0.0005, 0.05], when: {optim.rule: adam}}
  - {log: [0.001, 10], when: {optim.rule: nesterov}}
optim.beta2: {fixed: 0.99}
Y
roles=(study search digits --space roles.yaml --steps 60 --seeds 1 --set eval.every=2)
"$program" "${roles[@]}" --trials 4 --study model --quiet >out 2>log || fail "a search with roles"
! grep -q 'values of optim.rule fairly' out || { cp out log; fail "a fair comparison is called unfair"; }
grep -q 'optim.rule  *adam  *2 ' out && grep -q 'optim.rule  *nesterov  *2 ' out || { cp out log; fail "the scientific metaparameter is not shown"; }
finished model >before
for again in 1 2; do
    "$program" "${roles[@]}" --trials 12 --sampler gp --prune --study model --resume --quiet >out 2>log || fail "a model's points after a search"
    finished model >now
    ! grep -vxFf now before >log || fail "a finished trial was run again for the model"
    cp now before
    cp model/study.json json-$again
done
python3 - >log 2>&1 <<'P' || fail "the model's search"
import json
a, b = (json.load(open(f"json-{i}")) for i in (1, 2))
points = [t for t in a["trials"] if t["group"] == "search"]
print([(t["state"], t["steps"], t.get("rungs"), t["set"]) for t in points])
assert a["trials"] == b["trials"] and a["rows"] == b["rows"] and a["metaparameters"] == b["metaparameters"]
assert len(points) == 12 and all("optim.beta2=0.99" in t["set"] for t in points)
pruned = [t for t in points if t["state"] == "pruned"]
assert pruned and all(t["steps"] < 60 and "is not among the best" in t["why"] for t in pruned)
key = {(e["key"], e["when"]): e for e in a["metaparameters"]}
rule, fixed = key["optim.rule", None], key["optim.beta2", None]
assert rule["role"] == "scientific" and rule["isolated"] and fixed["role"] == "fixed" and fixed["importance"] is None
assert sum(p["trials"] for p in rule["parts"]) == 12 and 0 <= rule["importance"] <= 1
assert key["optim.lr", "optim.rule=nesterov"]["high"] == 10 and a["columns"][1:3] == ["optim.rule", "optim.lr"]
P
tr -s ' \n' ' ' <out | grep -q 'trials were pruned: the search took' || { cp out log; fail "pruned trials are not told"; }
tr -s ' \n' ' ' <out | grep -q 'to compare values of optim.rule fairly search with --sampler halton and without --prune' || { cp out log; fail "a comparison that is not fair"; }
"$program" report model >out 2>log || fail "the report of a pruned search"

# ---- a best rate at the range's end says so, and where to go on
"$program" study lr digits --from 1e-6 --to 1e-5 --points 3 --steps 30 --seeds 1 --study low >out 2>log || fail "a study of low rates"
tr -s '\n ' ' ' <out | grep -q 'lr\* is at the end of the range: continue the sweep with --from 1.78e-05 --to 0.000533' || { cp out log; fail "a best rate at the range's end is not said"; }

# ---- two processes on one study; an interrupt
"$program" study search digits --space space.yaml --trials 40 --seeds 1 --devices 0,0 --study two >first 2>&1 &
pid=$!
for ((i = 0; i < 100; i++)); do [ ! -e two/study.json ] || break; sleep 0.1; done
refused 2 'another process works on the study' study search digits --space space.yaml --trials 40 --seeds 1 --study two --resume
kill -INT $pid
rc=0
wait $pid || rc=$?
[ $rc = 130 ] || { cp first log; fail "SIGINT: exit $rc"; }
grep -q 'resume' first || { cp first log; fail "an interrupted study does not say how to go on"; }
[ "$(python3 -c 'import json; print(json.load(open("two/study.json"))["status"])')" = interrupted ] || fail "status after SIGINT"
grep -q '"state": "interrupted"' two/study.json && ! grep -q '"state": "running"' two/study.json || fail "the trial that was interrupted"
! grep -l '"status": "running"' two/trial-*/run.json >log || fail "a trial was not ended cleanly"

# ---- a ramp: one run, read, and compared on a fresh seed
"$program" study lr digits --ramp --steps 100 --seeds 1 --study ramp --quiet >out 2>log || fail "a ramp"
grep -q 'loss falls fastest  *0\.' out && tr -s ' \n' ' ' <out | grep -q 'sweep real runs around it' || { cp out log; fail "the ramp's reading"; }
refused 2 'with other options' study lr digits --steps 100 --seeds 1 --study ramp --resume
"$program" report ramp >out 2>log && [ -s ramp/report-ramp.png ] || fail "the ramp's picture"

# ---- the commands that a study prints run when they are pasted, whatever the files are called
"$program" recipes digits >"it's a recipe.yaml"
"$program" study lr "it's a recipe.yaml" --ramp --steps 60 --seeds 1 --study "the 'ramp' of it" --quiet >out 2>log || fail "a ramp of a recipe with a quote in its name"
vktrain() { "$program" "$@" --quiet; }
sed -n '/^next$/,$s/^  vktrain/vktrain/p' out >commands
[ "$(wc -l <commands)" = 2 ] || { cp out log; fail "the commands to go on with"; }
while read -r command; do
    eval "$command" >out 2>log || fail "pasted, this does not run: $command"
done <commands
[ -s "the 'ramp' of it/report.html" ] || fail "the pasted command wrote no report"

# ---- a warmup: the headline is a setting, or to keep the recipe's; the table has all trials
"$program" study warmup digits --set optim.rule=momentum --set optim.lr=0.03 --set train.steps=60 --set schedule.kind=constant --unstable-lr 0.05 --factor 1.5 --seeds 1 \
    --study warm --quiet >out 2>log || fail "a study of warmup"
python3 - >log 2>&1 <<'P' || { cat out >>log; fail "the study of warmup"; }
import json
s = json.load(open("warm/study.json"))
print(s["advice"], s["rows"])
assert [r[0] for r in s["rows"]] == [t["name"] for t in s["trials"]] and len(s["rows"]) >= 7, s["rows"]
assert s["rows"][0][-1] == s["rows"][1][-1] == "stable" and s["rows"][1][1] == "warmup"
assert "optim.lr=" in s["advice"][0] and "with schedule.warmup=6" in s["advice"][0] and (s["apply"] == [] or s["apply"][1] == "schedule.warmup=6"), s["apply"]
assert any("6 steps are the shortest warmup that is stable at 0.075" in a for a in s["advice"])
P

# ---- the rate that is unstable is looked for; thresholds are tried; a target is reached in a number of steps
"$program" study warmup digits --set optim.rule=momentum --set optim.lr=0.5 --set train.steps=20 --set schedule.kind=constant --seeds 1 --study unstable --quiet >out 2>log || fail "an unstable rate"
[ "$(grep -c . out)" -gt 8 ] && grep -q '"status": "done"' unstable/study.json || fail "what an unstable rate says"
"$program" study clip digits --set train.steps=10 --seeds 1 --study clipped --quiet >out 2>log || fail "a study of clipping"
grep -q 'optim.clip' out && grep -q '"status": "done"' clipped/study.json || fail "what a study of clipping says"
"$program" study batch-size digits --from 1024 --to 1024 --steps 20 --steps-to 0.2 --study target --quiet >out 2>log || fail "steps to a target"
tr -s ' \n' ' ' <out | grep -q 'batch size 1024.* the target' || { cp out log; fail "what is said of a target"; }

# ---- batch sizes: where throughput does not double the profiler says why
"$program" study batch-size digits --from 512 --to 1024 --study sizes --quiet >out 2>log || fail "batch sizes"
grep -q 'what limits batch size\|doubles with the batch size up to 1024' out || { cp out log; fail "no bottleneck is named"; }

tr -s ' \n' ' ' <out | grep -q 'measure again when the model' || { cp out log; fail "what the sizes hold for"; }
refused 2 'the recipe has changed since .*measure again' study batch-size digits --from 512 --to 1024 --study sizes --set model.1.out=8 --resume

# ---- folds: each example that is not tested on is validated once; a clearly worse recipe is seen to be
refused 2 'data.folds=3 is what this study sets itself' study folds digits --set data.folds=3 --study folds
refused 2 'at least 2 folds' study folds digits --folds 1 --study folds
"$program" study folds digits --folds 3 --steps 40 --set eval.every=20 --against optim.lr=0.0000001 --study folds --quiet >out 2>log || fail "folds"
tr -s ' \n' ' ' <out | grep -q 'keep the recipe, not optim.lr=0.0000001: loss worse by .* 3 runs, 3 folds' || { cp out log; fail "what folds says"; }
"$program" study folds digits --folds 2 --repeats 2 --steps 2 --set seed=7 --study repeats --quiet >out 2>log || fail "folds, repeated"
python3 - <<'P' || fail "each round of folds has a seed of its own"
import json
sets = [t["set"] for t in json.load(open("repeats/study.json"))["trials"]]
seed = [next(s for s in x if s.startswith("seed=")) for x in sets]
assert seed == ["seed=7", "seed=7", "seed=8", "seed=8"], sets
P

# Labels: each fold's network judges the examples of its fold; a tenth of the labels are changed, and the test set is not looked at.
refused 2 '\-\-labels is for folds' study lr digits --labels --study labels
python3 - <<'P'
import random
random.seed(4)
centre = [[random.gauss(0, 1) for _ in range(8)] for _ in range(3)]
with open("flipped.csv", "w") as f, open("flipped.truth", "w") as t:
    print(",".join(f"x{i}" for i in range(8)) + ",class", file=f)
    for i in range(900):
        c = i % 3
        l = (c + random.randrange(1, 3)) % 3 if random.random() < 0.1 else c
        print(",".join(f"{m + random.gauss(0, .8):.4f}" for m in centre[c]) + "," + "abc"[l], file=f)
        if l != c: print(f"line {i + 2}", file=t)
P
printf 'name: flipped\ndata: {source: csv, path: flipped.csv, label: class}\nmodel: [linear: 16, relu, linear]\noptim: {rule: adam, lr: 0.005}\ntrain: {steps: 200, batch: 32}\neval: {every: 20}\n' >flipped.yaml
"$program" study folds flipped.yaml --folds 3 --labels --study labels --quiet >out 2>log || fail "folds with labels"
tr -s ' \n' ' ' <out | grep -q 'labels are contradicted by the network of a fold that was not trained on them: labels/doubtful.csv' || { cp out log; fail "what folds say of labels"; }
python3 - <<'P' || fail "the labels of all folds"
import csv, json
truth, rows = set(open("flipped.truth").read().split("\n")) - {""}, list(csv.DictReader(open("labels/doubtful.csv")))
right = [r["where"] in truth for r in rows]
print(len(truth), len(rows), sum(right), sum(right[:30]))
assert {r["fold"] for r in rows} == {"0", "1", "2"} and len({r["where"] for r in rows}) == len(rows)
assert sum(right) > 0.6 * len(rows) and sum(right) > 0.5 * len(truth) and sum(right[:30]) >= 27
ahead = [float(r["p(predicted)"]) - float(r["p(target)"]) for r in rows]
assert ahead == sorted(ahead, reverse=True) and all("x7" in r for r in rows)
assert all(json.load(open(f"labels/trial-{i:04d}/run.json"))["test_loss"] is None for i in range(3))
P

# ---- data: the same validation examples, an eighth to all of the others, which seeds draw
refused 2 'data.train_seed=3 is what this study sets itself' study data digits --set data.train_seed=3 --study data
refused 2 'shows no noise' study data digits --seeds 1 --study data
refused 2 'is for tables and pictures' study data char-gpt --study data
"$program" study data digits --seeds 2 --steps 20 --set eval.every=10 --study data --json >out 2>log || fail "data"
python3 - <<'P' || fail "the sizes of a study of data"
import json
j, runs = json.load(open("out")), [json.load(open(f"data/trial-{i:04d}/run.json")) for i in range(8)]
assert abs(runs[0]["n_train"] * 8 - runs[7]["n_train"]) <= 40 and runs[7]["n_train"] == int(j["rows"][3][0]), [r["n_train"] for r in runs]
assert [r["n_train"] for r in runs] == sorted(r["n_train"] for r in runs) and len({r["n_valid"] for r in runs}) == 1 and len({r["n_test"] for r in runs}) == 1
assert len({tuple(sorted(t["set"])) for t in j["trials"]}) == 8 and j["kind"] == "data" and len(j["rows"]) == 4 and j["advice"]
P
"$program" report data --no-png >log 2>&1 && grep -q 'Learning curve by the size of the data' data/report.html || fail "the page of a study of data"
"$program" study data digits --seeds 3 --steps 20 --set eval.every=10 --study data --resume >out 2>log && fail "another number of seeds is another study"
"$program" study data digits --seeds 2 --steps 20 --set eval.every=10 --study data --resume >out 2>log || fail "data, resumed"
[ "$(grep -c '(kept)' out)" = 8 ] || fail "a resumed study of data runs trials again"

# ---- the trials are runs like any other
"$program" runs straight >out 2>log || fail "runs of a study"
[ "$(grep -c 'straight/trial-' out)" = 6 ] || fail "runs lists $(grep -c trial- out) trials"
echo "test_study_program: passed"
