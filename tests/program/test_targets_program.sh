#!/usr/bin/env bash
# A target that is learned as its logarithm: measures, baseline, predictions, resume, evaluation of files and an ONNX file in its own units.
#   test_targets_program.sh VKTRAIN
set -uo pipefail
. "$(dirname "$0")/../support/refusals.sh"
fail() { echo "$test: FAILED: $*"; cat err; bad=$((bad + 1)); }
python3 -c '
import math, random
random.seed(5)
print("a,b,price")
for _ in range(400):
    a, b = random.gauss(0, 1), random.gauss(0, 1)
    print("%.4f,%.4f,%.2f" % (a, b, math.exp(8 + 1.5 * a - b + 0.1 * random.gauss(0, 1))))' >prices.csv
works init prices.csv -o prices.yaml
grep -q '^  target: log  ' prices.yaml || fail "init takes the logarithm of a skewed target"
python3 -c '
import json, sys
print("name: p\ndata: {source: csv, path: prices.csv, label: price, task: regress, target: log, valid_fraction: 0.2, test_fraction: 0.2}\nmodel: [linear: 16, relu, linear]\noptim: {rule: adam, lr: 0.01}\ntrain: {steps: 200, batch: 32}\neval: {every: 50}\ncheckpoint: {metric: r2}")' >p.yaml
works train p.yaml --explain
grep -q "learned as its logarithm" out err || fail "--explain says what is predicted"
works train p.yaml --run all --quiet
works train p.yaml --run plain --quiet --set data.target=plain
works eval all --json --split test --predictions test.csv
python3 -c '
import csv, json, math
e, rows = json.load(open("out")), list(csv.DictReader(open("test.csv")))
y, p = ([float(r[k]) for r in rows] for k in ("target", "predicted"))
given = {float(r["price"]) for r in csv.DictReader(open("prices.csv"))}
assert all(min(abs(v - g) for g in given) < 1e-6 * v for v in y), "targets are as the file has them"
mean = sum(y) / len(y)
r2 = 1 - sum((a - b) ** 2 for a, b in zip(y, p)) / sum((a - mean) ** 2 for a in y)
assert abs(e["r2"] - r2) < 1e-3 * abs(r2) and r2 > 0.8, (e["r2"], r2)
assert abs(e["mae"] - sum(abs(a - b) for a, b in zip(y, p)) / len(y)) < 1e-3 * e["mae"], e
assert all(v > 0 for v in p) and sum(abs(math.log(a / b)) for a, b in zip(y, p)) / len(y) < 0.3' || fail "measures and predictions are in the units of the file"
python3 -c '
import json
a, b = (json.load(open(f"{r}/run.json"))["baseline_metric"] for r in ("all", "plain"))
assert a > b + 0.1, (a, b)' || fail "the baseline learns the logarithm, and its R2 is of prices"
head -5 prices.csv | cut -d, -f1,2 >new.csv
works predict all new.csv --csv
python3 -c '
import csv, math
want = [float(r["price"]) for r in csv.DictReader(open("prices.csv"))][:4]
got = [float(r["predicted"]) for r in csv.DictReader(open("out"))]
assert len(got) == 4 and all(abs(math.log(a / b)) < 1 for a, b in zip(want, got)), (want, got)' || fail "predict gives prices"
# A served model gives the same prices.
if "$program" --version --verbose | grep -q 'HTTP: libmicrohttpd'; then
    works predict all new.csv --csv
    cp out want.csv
    "$program" serve all --port 0 >address 2>log & server=$!
    for _ in $(seq 300); do grep -qs answers address && break; sleep 0.1; done
    python3 - "$(sed -n 's#^\(http://127.0.0.1:[0-9]*\)/.*#\1#p' address)" <<'P' || fail "serve gives prices: $(cat address log)"
import csv, json, sys, urllib.request
rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(open("new.csv"))]
ask = urllib.request.Request(sys.argv[1] + "/predict", json.dumps(rows).encode(), {"Content-Type": "application/json"})
said = json.load(urllib.request.urlopen(ask, timeout=60))
want = [float(r["predicted"]) for r in csv.DictReader(open("want.csv"))]
got = [r["predicted"] for r in (said["predictions"] if isinstance(said, dict) else said)]
assert len(got) == 4 and all(abs(a - b) < 1e-4 * b for a, b in zip(want, got)), (want, said)
P
    kill -INT "$server"
    wait "$server"
fi
# Two ranks learn the same prices, and what they measure is in units of the file.
if "$program" --version --verbose | grep -q 'MPI: mpi'; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    works train p.yaml --run ranks --quiet --devices 0,0
    works eval all --json --split test
    cp out one.json
    works eval ranks --json --split test
    python3 - <<'P' || fail "two ranks measure as one"
import json
one, two = json.load(open("one.json")), json.load(open("out"))
runs = [json.load(open(f"{r}/run.json")) for r in ("all", "ranks")]
for k in ("r2", "mae", "rmse"):
    assert abs(one[k] - two[k]) < 1e-3 * abs(one[k]), (k, one[k], two[k])
for k in ("baseline_metric", "baseline_net", "best_metric"):
    a, b = (r[k] for r in runs)
    assert abs(a - b) < 1e-3 * abs(a), (k, a, b)
P
fi
# In two halves the same bits.
works train p.yaml --run half --quiet --set train.steps=100
works train p.yaml --run half --resume --set train.steps=200 --quiet
cmp all/best/model.safetensors half/best/model.safetensors || fail "a resumed run"
# Inputs far away: exp overflows, and it is said how often.
printf 'a,b,price\n1e6,-1e6,5\n0,0,7\n' >far.csv
for command in 'eval all --data far.csv' 'predict all far.csv'; do
    works $command
    grep -q '1 of 2 predictions have no finite value (data.target: log)' err || fail "$command says that exp overflowed"
done
printf 'a,b,price\n0.5,0.1,0\n' >zero.csv
refused 4 "zero.csv' line 2: label 'price' is 0, but data.target is for numbers above 0; log1p takes 0, too" eval all --data zero.csv
refused 2 "data.target: only for data.task: regress" train p.yaml --set data.task=classify
refused 2 "data.target" train p.yaml --set data.target=sqrt
works export all -o all.onnx
python3 - <<'P' || fail "the ONNX file has the exponential and the units"
b = open("all.onnx", "rb").read()
assert b"prediction" in b and b"Exp" in b and b'"target": "log"' in b.replace(b'":"', b'": "'), "names"
P
# What the file computes, read back as a net that ends at a value of it: with a rate of 0 it predicts that, standardised.
computes() { # FILE VALUE PREDICTED [RECIPE]: VALUE of FILE is PREDICTED; a value of that name of ours has another name then
    sed -e "s/^model: .*/model: [{onnx: {file: $1, cut: $2}}]/; s/target: log1*p*/target: plain/; s/lr: 0.01/lr: 0/" "${4:-p.yaml}" >net.yaml
    rm -rf net
    works train net.yaml --run net --quiet --set train.steps=1 --set eval.every=1
    works predict net new.csv --csv
    cp out got.csv
    works export net -o net.onnx
    python3 - "$3" <<'P' || fail "$2 of $1"
import csv, re, sys
schema = open("net.onnx", "rb").read()
assert schema.count(b"vktrain.schema") == 1, "one key twice"
schema = schema[schema.rindex(b"vktrain.schema"):].decode("latin1")
mean, scale = (float(re.search('"target_%s": ([-0-9.e+]+)' % k, schema)[1]) for k in ("mean", "scale"))
got, want = ([float(r["predicted"]) for r in csv.DictReader(open(p))] for p in ("got.csv", sys.argv[1]))
assert len(got) == 4 and all(abs((g - mean) / scale - w) < 1e-4 * abs(w) for g, w in zip(got, want)), (mean, scale, got, want)
P
}
works predict all new.csv --csv
cp out all.csv
computes all.onnx prediction all.csv
grep -q "has a value 'prediction' of its own, which stays: the output that is added is 'prediction_2'" err || fail "one name twice"
works train p.yaml --run one --quiet --set data.target=log1p
works predict one new.csv --csv
cp out one.csv
works export one -o one.onnx
computes one.onnx prediction one.csv
# Near 0 the exponential less 1 cancels nothing.
python3 -c '
import csv
rows = list(csv.DictReader(open("prices.csv")))
tiny, even = open("tiny.csv", "w"), open("even.csv", "w") # even: a mean near 0, beside which small numbers keep their digits
for f in (tiny, even): print("a,b,price", file=f)
for i, r in enumerate(rows):
    print("%s,%s,%.6e" % (r["a"], r["b"], 1e-9 * float(r["price"])), file=tiny)
    print("%s,%s,%d" % (r["a"], r["b"], 1 - i % 2 * 2), file=even)'
sed 's/prices.csv/even.csv/' p.yaml >even.yaml
sed 's/prices.csv/tiny.csv/; s/target: log/target: log1p/' p.yaml >tiny.yaml
works train tiny.yaml --run tiny --quiet
works predict tiny new.csv --csv
cp out tiny-predicted.csv
works export tiny -o tiny.onnx
computes tiny.onnx prediction tiny-predicted.csv even.yaml
# A net of a file that is exported whole has the output, too.
sed 's/prediction/predictiox/g' all.onnx >bare.onnx
sed 's/^model: .*/model: [{onnx: bare.onnx}]/' p.yaml >bare.yaml
works train bare.yaml --run bare --quiet --set train.steps=20
works predict bare new.csv --csv
cp out bare.csv
works export bare -o whole.onnx
computes whole.onnx prediction bare.csv
works train p.yaml --run again --set init=all --set data.target=plain --set train.steps=1
grep -q "was trained with another data.target" err || fail "init: RUN says that the output is of other numbers"
[ "$bad" = 0 ]
