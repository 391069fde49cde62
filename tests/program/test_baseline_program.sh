#!/usr/bin/env bash
# The linear model beside a result: said at the end of train, in run.json, runs and reports; the same again, and none where it
# is not wanted. usage: test_baseline_program.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-baseline.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_baseline_program: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/run.json"))[sys.argv[2]])' "$1" "$2"; }

python3 - >line.csv <<'P'
import random
random.seed(3)
print("a,b,town,y")
for i in range(400):
    a, b, town = random.gauss(0, 1), random.gauss(0, 1), random.choice("xyz")
    print(f"{a:.4f},{b:.4f},{town},{2 * a - b + 'xyz'.index(town) + random.gauss(0, 0.5):.4f}")
P
"$program" init line.csv >log 2>&1 || fail "init"

# ---- a straight line after a few steps: the network is worse, and it is said everywhere
"$program" train line.yaml --set train.steps=20 --run short >log 2>&1 || fail "training"
grep -q 'baseline  *ridge regression: on [0-9]* \(valid\|test\) examples loss .* the network is worse (standard error' log || fail "no line at the end of train"
[ "$(field short baseline_verdict)" = worse ] || fail "the verdict: $(field short baseline_verdict)"
python3 - <<'P' || fail "run.json"
import json
r = json.load(open("short/run.json"))
assert abs(r["baseline_net"] - r["best_metric"]) < 1e-5 * r["best_metric"], (r["baseline_net"], r["best_metric"])
assert r["baseline_metric"] < r["baseline_net"] < 2 and 0.5 < r["baseline_constant"] < 2 and r["baseline_seconds"] < 1, r
assert r["baseline_test"] < r["baseline_test_net"], r
of = "test" if r["n_test"] >= 50 else "valid"
assert (r["baseline_split"], r["baseline_examples"]) == (of, r["n_" + of]), r
P
"$program" report short --no-png >log 2>&1 && grep -q '^finding baseline: the network is worse than a linear model' log || fail "the finding"
grep -q 'ridge regression: loss' short/report.html || fail "the report"
"$program" runs short >log 2>&1 && grep -q 'linear' log || fail "the column of runs"

# ---- the same again; none where it is not wanted, of trials and of language models
"$program" train line.yaml --set train.steps=20 --run again --quiet >log 2>&1 || fail "training again"
[ "$(field short baseline_metric)" = "$(field again baseline_metric)" ] || fail "not the same bits"
"$program" train line.yaml --set train.steps=20 --set eval.baseline=none --run without >log 2>&1 || fail "training without"
! grep -q 'baseline  ' log && [ "$(field without baseline)" = None ] || fail "eval.baseline=none"

# ---- starters: more columns than rows a linear model from zero, as good as ridge here; huber where labels lie far away
python3 - <<'P'
import random
random.seed(4)
g = lambda: random.gauss(0, 1)
w = [g() * (j % 10 == 0) for j in range(200)]
with open("wide.csv", "w") as f:
    print(",".join(f"x{j}" for j in range(200)) + ",y", file=f)
    for _ in range(150):
        x = [g() for _ in w]
        print(",".join(f"{v:.4f}" for v in x) + f",{sum(a * b for a, b in zip(w, x)) + g():.4f}", file=f)
with open("far.csv", "w") as f:
    print("a,b,y", file=f)
    for i in range(200):
        a, b = g(), g()
        print(f"{a:.4f},{b:.4f},{(a - b + 0.1 * g()) * (1e9 if i % 60 == 7 else 1):.4f}", file=f)
P
"$program" init wide.csv >log 2>&1 && "$program" train wide.yaml --set data.valid_fraction=0.3 --run wide --quiet >>log 2>&1 || fail "a wide table"
grep -q 'linear: {init: zeros}' wide.yaml && grep -q '^  weight_decay: 1 ' wide.yaml || fail "the starter of a wide table"
python3 - <<'P' || fail "a wide table: $(field wide baseline_net) against ridge's $(field wide baseline_metric)"
import json
r = json.load(open("wide/run.json"))
assert r["baseline_net"] < 1.15 * r["baseline_metric"] and r["baseline_net"] < 0.9 * r["baseline_constant"], r
P
"$program" init far.csv >log 2>&1 || fail "init of labels far away"
grep -q '^  kind: huber .* 4 labels lie far from all others' far.yaml || fail "huber is not written"

# ---- it says what it cost (not timed here: time depends on what else the machine does)
"$program" train digits --run cheap >log 2>&1 || fail "digits"
python3 - <<'P' || fail "what the baseline took: $(grep 'baseline  ' log)"
import json, re
assert 0 < float(re.search(r"baseline .* s, ([0-9.]+)% of the time", open("log").read())[1]) < 100
assert json.load(open("cheap/run.json"))["baseline_accuracy"] > 0.92
P

# ---- a run of a version that did not know eval.baseline goes on without a word, as one does that is now without it; not so another recipe
python3 - <<'P'
import glob, json, zlib
for path in glob.glob("short/checkpoints/step-*/state.json"):
    s = json.load(open(path))
    assert "baseline: auto" in s["config"], s["config"]
    s["config"] = "\n".join(l for l in s["config"].split("\n") if "baseline:" not in l)
    s["config_hash"] = "1" * 16
    del s["crc32"]
    body = json.dumps(s)[1:]
    open(path, "w").write('{"crc32": "%08x",%s' % (zlib.crc32(body.encode()), body))
P
for baseline in auto none; do
    "$program" train line.yaml --set train.steps=20 --set eval.baseline=$baseline --run short --resume >log 2>&1 || fail "resuming an older run"
    ! grep -q 'the recipe differs' log || fail "eval.baseline=$baseline is told as another recipe"
done
"$program" train line.yaml --set train.steps=20 --set optim.lr=0.5 --run short --resume >log 2>&1 || fail "resuming with another rate"
grep -q 'the recipe differs' log || fail "another rate is not told"
echo "test_baseline_program: passed"
