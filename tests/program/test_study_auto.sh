#!/usr/bin/env bash
# `vktrain study auto`: the stages in their order and the least of each, killed and resumed without repeating a
# finished trial, to a run that can be used; commands that a study prints train what was tried.
# usage: test_study_auto.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-auto.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_study_auto: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
refused()
{
    local text=$1 rc=0
    shift
    "$program" "$@" >out 2>log || rc=$?
    [ $rc = 2 ] || fail "exit $rc, not 2: $*"
    grep 'error:' log | grep -q -- "$text" || fail "the error lacks '$text': $*"
}

# Two columns that say the class, with noise; patience and dropout, as init writes them.
python3 - <<'P'
import random
random.seed(5)
with open("t.csv", "w") as f:
    f.write("a,b,class\n")
    for i in range(300):
        c = i % 3
        f.write(f"{random.gauss(c, .5):.3f},{random.gauss(-c, .5):.3f},{'xyz'[c]}\n")
P
cat >t.yaml <<'Y'
data: {source: csv, path: t.csv, label: class, valid_fraction: 0.3}
model: [{linear: 8}, relu, {dropout: 0.1}, linear]
optim: {rule: adamw, lr: 0.003}
train: {steps: 60, batch: 16, patience: 2}
eval: {every: 20}
Y

refused "--minutes is '0', must be a number above 0" study auto t.yaml --minutes 0
refused '--minutes is for auto, not lr' study lr t.yaml --minutes 3
refused '--trials is for search, not auto' study auto t.yaml --trials 3

"$program" study auto t.yaml --minutes 1 --dry-run >out 2>log || fail "the plan"
grep -q '^6 trials, and as many more as fit into the time' out && [ "$(grep -c ' sweep ' out)" = 5 ] || fail "the plan: $(cat out)"

# With no time at all the study takes one look, and names each stage that there was no time for.
"$program" study auto t.yaml --minutes 0.001 --study none --quiet >out 2>log || fail "no time: exit $?"
python3 - <<'P' >log 2>&1 || fail "no time"
import json
s = json.load(open("none/study.json"))
assert [t["group"] for t in s["trials"]] == ["first"], s["trials"]
assert s["best_run"] == "none/trial-0000" and s["advice"][0].startswith("use the run none/trial-0000"), s["advice"]
assert "no fresh seeds were tried" in s["advice"][0] and sum("there was no time" in a for a in s["advice"]) == 4, s["advice"]
P

# Killed in the middle, a study goes on where it was; it keeps to its time, but for the end of one trial.
minutes=1
auto=(study auto t.yaml --minutes $minutes --set seed=3 --study auto)
"$program" "${auto[@]}" --quiet >out 2>log &
pid=$!
for ((i = 0; i < 2400; i++)); do # a busy machine takes its time
    ! grep -q '"done"' auto/study.json 2>/dev/null || break
    sleep 0.05
done
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
grep -q '"done"' auto/study.json || fail "no trial ended before it was killed"
cp auto/study.json killed.json
refused 'was started with other options' study auto t.yaml --minutes 2 --set seed=3 --study auto --resume
"$program" "${auto[@]}" --resume --quiet >out 2>log || fail "resuming: exit $?"
MINUTES=$minutes python3 - <<'P' >log 2>&1 || fail "the stages"
import json, os, re
old, s = json.load(open("killed.json")), json.load(open("auto/study.json"))
trials = s["trials"]
groups = [t["group"] for t in trials]
print(groups, s["advice"], s["rows"])
seconds = [t["seconds"] for t in trials]
assert sum(seconds) < 60 * float(os.environ["MINUTES"]) + max(seconds), seconds
stages = {"first": 1, "sweep": 2, "search": 3, "candidate": 4, "recipe": 4, "final": 5}  # a seed after the other
assert [stages[g] for g in groups] == sorted(stages[g] for g in groups), groups
ended = [t for t in old["trials"] if t["state"] == "done"]
assert ended and ended == trials[:len(ended)], "a finished trial was run again"
assert [a[:2] for a in s["advice"] if a[0].isdigit() and a[1] == "."] == ["1.", "2.", "3.", "4.", "5."]
assert not any(re.search(r"\b(nan|inf)\b", a) for a in s["advice"]), s["advice"]
assert s["advice"][0].startswith("use the run auto/trial-00") and s["best_run"] in s["advice"][0]
rates = [round(float(t["set"][0].split("=")[1]) / 0.003, 2) for t in trials if t["group"] == "sweep"]
assert rates[:3] == [0.33, 1, 3] or rates[:5] == [0.1, 0.33, 1, 3, 10] or not rates, rates
# The recipe at the best rate is a candidate that has been tried: only the run to be used may repeat a trial.
tried = [json.dumps(sorted(t["set"])) for t in trials if t["group"] in ("sweep", "search")]
assert len(set(tried)) == len(tried), tried
found = [t for t in trials if t["group"] == "search"]
assert all(any(x.startswith(k) for x in t["set"]) for t in found for k in ("model.2.p=", "model.0.out=")), found
new = {g: [t["set"][-3] for t in trials if t["group"] == g] for g in ("candidate", "recipe")}
assert set(new["candidate"]) == set(new["recipe"]) and new["recipe"][:1] in ([], ["seed=104"]), new
used = next(t for t in trials if t["name"] == os.path.basename(s["best_run"]))
# Of 81 examples: (p (1 - p) / n)^(1/2), with two of each kind added to p.
p = (used["best"] * 81 + 2) / 85
assert f"(standard error {(p * (1 - p) / 81) ** .5:.2g})" in s["advice"][0], s["advice"][0]
last = trials[-1]
assert last["group"] != "final" or "baseline" in json.load(open(f"auto/{last['name']}/run.json")) or last["name"] not in s["best_run"]
# What was tried is what the command trains: the study's settings, and no patience.
assert "--set seed=3" in s["command"] and "--set train.patience=0" in s["command"], s["command"]
P

run=$(python3 -c 'import json; print(json.load(open("auto/study.json"))["best_run"])')
for use in "eval $run" "export $run" "serve $run" "report auto"; do grep -q "^  vktrain $use" out || fail "next lacks '$use': $(cat out)"; done
"$program" eval "$run" --split valid >out 2>log || fail "the run can't be used"
"$program" report auto --no-png -o auto.html >out 2>log && grep -q 'fresh seeds' auto.html && grep -q 'width and regularisation' auto.html || fail "the report"
"$program" runs . --studies >out 2>log && grep -q 'auto' out || fail "the table of studies"

# The clock is what the trials say: one that was interrupted after an hour leaves no time, not for itself either.
cp -r auto hour
python3 - <<'P'
import json
s = json.load(open("hour/study.json"))
first = s["trials"][:2]
first[-1].update(seconds=3600, state="interrupted")
s["trials"] = first
s["folder"] = "hour"
json.dump(s, open("hour/study.json", "w"))
P
rm -rf hour/trial-000[1-9] hour/trial-00[1-9]?
"$program" study auto t.yaml --minutes $minutes --set seed=3 --study hour --resume --quiet >out 2>log || fail "an hour: exit $?"
python3 - <<'P' >log 2>&1 || fail "an hour"
import json
s = json.load(open("hour/study.json"))
print(s["advice"], [(t["group"], t["state"], t["seconds"]) for t in s["trials"]])
assert all(t["state"] == "cut" for t in s["trials"][1:]) and s["trials"][1]["seconds"] == 3600 and sum(t["seconds"] for t in s["trials"][2:]) == 0, "trials were begun when the time was over"
assert any("more than the 60 s asked for" in a for a in s["advice"])
P

# A trial that takes longer than was thought is ended in time: the first look claims that steps are free.
long=(study auto t.yaml --minutes 0.1 --set train.steps=2000000 --set eval.every=1000 --study long)
"$program" "${long[@]}" --quiet >out 2>log &
pid=$!
for ((i = 0; i < 2400; i++)); do
    ! grep -q '"done"' long/study.json 2>/dev/null || break
    sleep 0.05
done
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
python3 - <<'P'
import json
s = json.load(open("long/study.json"))
s["trials"] = s["trials"][:1]
s["trials"][0].update(seconds=0.01, step_ms=1e-7)
json.dump(s, open("long/study.json", "w"))
P
rm -rf long/trial-000[1-9]
"$program" "${long[@]}" --resume --quiet >out 2>log || fail "a long trial: exit $?"
python3 - <<'P' >log 2>&1 || fail "a long trial"
import json
t = json.load(open("long/study.json"))["trials"]
print([(x["group"], x["state"], x["steps"], x["seconds"]) for x in t])
assert t[1]["group"] == "first" and t[1]["steps"] < 2000000 and t[1]["seconds"] < 60, t[1]
assert t[1]["state"] == "cut" and t[1]["why"].startswith(f"the time ended it at step {t[1]['steps']} of "), t[1]
P

# ---- advice and commands carry the study's own settings
"$program" study lr t.yaml --ramp --steps 50 --set optim.rule=momentum --study ramp --quiet >out 2>log || fail "a ramp: exit $?"
tr -d '\n' <out | tr -s ' ' >line
grep -q 'vktrain study lr t.yaml --set optim.rule=momentum --steps 50 --from' line || fail "the advice lost --set: $(cat out)"

# ---- the first look has its share of the time: the steps of a trial are timed though evaluations come often
"$program" study auto t.yaml --minutes 0.1 --set train.steps=20000 --set eval.every=1 --study share --quiet >out 2>log || fail "share: exit $?"
python3 -c '
import json
t = [x for x in json.load(open("share/study.json"))["trials"] if x["group"] == "first"]
assert sum(x["steps"] for x in t) < 10000, [(x["steps"], x["seconds"]) for x in t]' || fail "the first look took all of the steps"

# ---- a batch size says what it was measured for, and training says so where that has changed
"$program" study batch-size t.yaml --from 8 --to 64 --study sizes-for --quiet >out 2>log || fail "sizes: exit $?"
tr -d '\n' <out | tr -s ' ' | grep -q 'train.batch_for in the recipe makes' || fail "what a size was measured for: $(cat out)"
"$program" train t.yaml --set train.steps=5 --set train.batch_for=sgd/7/8 --run other --quiet >out 2>log
grep -q 'what was measured is sgd/7/8 .*, and this run is [a-z]*/[0-9]*/[0-9]*: ' log || fail "another model: $(cat log)"
now=$(sed -n 's/.*this run is \([a-z]*\/[0-9]*\/[0-9]*\):.*/\1/p' log)
"$program" train t.yaml --set train.steps=5 --set "train.batch_for=$now" --run same --quiet >out 2>log
! grep -q 'what was measured' log || fail "the same model: $(cat log)"
size=${now##*/}
"$program" study batch-size t.yaml --set "train.batch_for=sgd/7/$size" --from "$size" --to "$size" --study renewed --quiet >out 2>log || fail "renewed: exit $?"
tr -d '\n' <out | tr -s ' ' | grep -q "train.batch_for=$now" || fail "the recipe's own size, measured again: $(cat out)"

# ---- a target that every size reaches at once tells nothing of sizes; a size that is fixed is not tuned
"$program" study batch-size t.yaml --from 16 --to 16 --steps-to 0.05 --steps 50 --study sizes --quiet >out 2>log || fail "sizes: exit $?"
grep -q 'the target is too easy to tell batch sizes apart' out && ! grep -q 'no longer falls' out || fail "a target that is too easy: $(cat out)"
! grep -q 'raise train.batch' out || fail "advice to raise what was just measured"
printf '%s\n' 'train.batch: {fixed: 16}' 'optim.lr: {log: [0.001, 0.01]}' >fixed.yaml
"$program" study search t.yaml --space fixed.yaml --trials 2 --steps 20 --dry-run >out 2>log && ! grep -q 'batch size in it' log || fail "a fixed batch size is warned of"

# ---- the starter of a small table decays more than that of a larger one; next of a first look is to tune it, of a tuned run to use it
# A language model is no ONNX file: the folder is named that can be written.
for i in $(seq 60); do printf 'ab ab abc %s.\n' $i; done >t.txt
printf 'data: {source: text, path: t.txt, tokenizer: bytes, context: 8}\nmodel: [{transformer: {layers: 1, heads: 1, width: 8}}]\ntrain: {steps: 20, batch: 4}\neval: {every: 10}\n' >text.yaml
"$program" study auto text.yaml --minutes 0.001 --study text --quiet >out 2>log || fail "a text: exit $?"
grep -q '^  vktrain export text/trial-[0-9]* --hf FOLDER$' out && "$program" export "$(sed -n 's/^  vktrain export \([^ ]*\) .*/\1/p' out)" --hf hf >out 2>log || fail "next of a text: $(cat out)"

"$program" init t.csv -o small.yaml >out 2>log && grep -q 'vktrain study auto small.yaml' out || fail "next of init: $(cat out)"
grep -q '^  - members:' small.yaml && grep -q '^  weight_decay: 0.3 ' small.yaml && ! grep -q patience small.yaml || fail "the starter of 300 rows"
python3 -c '
head, *rows = open("t.csv").read().split()
print(head, *rows * 5, sep="\n")' >large.csv
"$program" init large.csv -o large.yaml >out 2>log && grep -q '^  weight_decay: 0.1 ' large.yaml || fail "the starter of 1,500 rows"
"$program" train small.yaml --run small >out 2>log && grep -q '^  vktrain study auto small.yaml --minutes [0-9]* ' out || fail "next of a first look: $(cat out)"
"$program" train small.yaml --set optim.lr=0.002 --run tuned >out 2>log && ! grep -q 'study auto' out && grep -q '^  vktrain export tuned' out || fail "next of a tuned run: $(cat out)"
echo "test_study_auto: ok"
