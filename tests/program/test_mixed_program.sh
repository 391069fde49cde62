#!/usr/bin/env bash
# Labels of which one is a number and one a class: from init to training, measures of each, predictions, a served model, a report and an ONNX file.
#   test_mixed_program.sh VKTRAIN
set -uo pipefail
. "$(dirname "$0")/../support/refusals.sh"
fail() { echo "$test: FAILED: $*"; cat err; bad=$((bad + 1)); }
python3 -c '
import random
random.seed(3)
print("a,b,price,kind,size")
for _ in range(500):
    a, b = random.gauss(0, 1), random.gauss(0, 1)
    kind = ["red", "green", "blue"][0 if a + b > 0.5 else 1 if a - b > 0 else 2]
    print("%.4f,%.4f,%.2f,%s,%d" % (a, b, 100 + 20 * a - 5 * b + random.gauss(0, 1), kind, 1 if b > 0 else 10))' >homes.csv
works init homes.csv --label price,kind --set data.ignore=size -o homes.yaml
grep -q "tells the label" homes.yaml && fail "init looks at a column that is no label"
grep -q '^  classes: "kind" ' homes.yaml || fail "init sees which label is a class: $(cat homes.yaml)"
for how in '--label 2,3' '--set data.label=[price,kind]'; do # by position, and by the recipe's own option
    works init homes.csv $how --set data.ignore=size -o how.yaml --force
    grep -q '^  classes: "kind" ' how.yaml || fail "init $how sees which label is a class: $(cat how.yaml)"
done
# Labels are no inputs: a class of many texts is not embedded, one of sentences not read.
python3 -c 'print("a,price,city"); [print("%d,%d,city %d by the wide river here" % (i % 7, i * 3 % 101, i % 60)) for i in range(150)]' >cities.csv
works init cities.csv --label price,city -o cities.yaml
grep -q '^  classes: "city" ' cities.yaml && ! grep -qE '^  (embed|text|ignore):' cities.yaml || fail "labels are inputs of init's recipe: $(cat cities.yaml)"
works train homes.yaml --run begun --quiet --set train.steps=20 --set eval.every=20
cat >m.yaml <<'Y'
data: {source: csv, path: homes.csv, label: [price, kind], classes: [kind], ignore: [size], task: regress, valid_fraction: 0.2, test_fraction: 0.2}
model:
  - linear: 32
  - relu: {name: trunk}
  - linear: {name: cost}
  - linear: {name: which, from: trunk}
losses:
  - {on: cost, target: price}
  - {on: which, target: kind, weight: 0.5}
optim: {rule: adam, lr: 0.01}
train: {steps: 200, batch: 32}
eval: {every: 50}
Y
works train m.yaml --explain
grep -q 'which *0.5 *kind' out || fail "--explain lists the losses"
works train m.yaml --run m --quiet
# Classes by position: the kind of an entry follows from the data, in the recipe that the run keeps, too.
works train m.yaml --run placed --quiet --set 'data.label=[2, 3]' --set 'data.classes=[3]'
cmp m/best/model.safetensors placed/best/model.safetensors || fail "a class by position trains as by name"
works eval placed --split test --json
python3 -c 'import json; t = json.load(open("out"))["targets"]; assert t[1]["accuracy"] > 0.85, t' || fail "a run of a class by position is evaluated"
works train m.yaml --run placed --resume --quiet --set 'data.label=[2, 3]' --set 'data.classes=[3]' --set train.steps=250
# A kind that follows counts where an output has two losses, too: in their names, and as one of two.
placed="--quiet --set data.label=[2,3] --set data.classes=[3] --set train.steps=2 --set eval.every=1"
cost="{on: cost, target: price}, {on: which, target: kind}"
works train m.yaml --run two $placed --set "losses=[$cost, {on: which, target: kind, kind: focal}]"
grep -q '"which.cross_entropy":.*"which.focal":' two/metrics.jsonl || { head -3 two/metrics.jsonl; fail "an entry has the name of its kind"; }
works train m.yaml --explain $placed --set "losses=[$cost, {on: which, target: kind, kind: focal}]"
grep -q 'which.cross_entropy *1 *kind' out || fail "--explain has the name of its kind"
refused 2 "'which': kind mse is for numbers, and 'kind' is a class" train m.yaml $placed --set "losses=[$cost, {on: which, target: kind, kind: mse}]"
refused 2 "two entries are cross_entropy of 'which'" train m.yaml $placed --set "losses=[$cost, {on: which, target: kind, kind: cross_entropy}]"
works eval m --split test --json --predictions test.csv
python3 - <<'P' || fail "each label is measured as what it is"
import csv, json, math
e, rows = json.load(open("out")), list(csv.DictReader(open("test.csv")))
price, kind = e["targets"]
assert (price["name"], kind["name"]) == ("price", "kind") and price["r2"] > 0.9 and kind["accuracy"] > 0.85, e
right = [r["target(kind)"] == r["predicted(kind)"] for r in rows]
assert abs(kind["accuracy"] - sum(right) / len(right)) < 1e-9 and e["accuracy"] == kind["accuracy"], (kind, sum(right))
names = [c for c in rows[0] if c.startswith("p(")]
assert names == ["p(kind=%s)" % k for k in ("blue", "green", "red")], names
assert all(abs(sum(float(r[c]) for c in names) - 1) < 1e-5 for r in rows)
assert all(r["predicted(kind)"] == max(names, key=lambda c: float(r[c]))[7:-1] for r in rows)
# The losses by their formulas: cross-entropy, and the squared error in deviations of the training prices.
ce = -sum(math.log(float(r["p(kind=%s)" % r["target(kind)"]])) for r in rows) / len(rows)
error = sum((float(r["target(price)"]) - float(r["predicted(price)"])) ** 2 for r in rows) / len(rows)
assert abs(price["rmse"] - error ** 0.5) < 1e-4 * price["rmse"], (price, error)
cost, which = (l["loss"] for l in e["losses"])
assert abs(which - ce) < 1e-4 * ce, (which, ce)
assert abs(e["loss"] - cost - 0.5 * which) < 1e-5, e
prices = [float(r["price"]) for r in csv.DictReader(open("homes.csv"))]
mean = sum(prices) / len(prices)
assert 0.5 < cost * sum((p - mean) ** 2 for p in prices) / len(prices) / error < 2, (cost, error)
P
works eval m --split test
grep -q '^kind .*%' out || fail "a table of both"
# One last layer of all outputs, without `losses`: the sum of both.
sed '/^losses/,/^optim/{/^optim/!d}; s/.*name: cost.*//; s/.*name: which.*/  - linear/' m.yaml >one.yaml
works train one.yaml --run one --quiet --set checkpoint.metric=accuracy
works eval one --split test --json
python3 -c '
import json
price, kind = json.load(open("out"))["targets"]
assert price["r2"] > 0.9 and kind["accuracy"] > 0.85, (price, kind)' || fail "one layer learns both"
# Predictions: text, JSON, CSV; a resumed run has the same bits.
head -4 homes.csv | cut -d, -f1,2 >new.csv
works predict m new.csv
grep -q 'price 1*[0-9.]*  kind [a-z]* [0-9.]*%' out || fail "predictions as text: $(cat out)"
works predict m new.csv --json
cp out want.json
works predict m new.csv --csv
python3 - <<'P' || fail "predictions as JSON and CSV are the same"
import csv, json
said, rows = [json.loads(l) for l in open("want.json")], list(csv.DictReader(open("out")))
assert list(rows[0]) == ["input", "index", "price", "kind", "p(kind=blue)", "p(kind=green)", "p(kind=red)"], list(rows[0])
for s, r in zip(said, rows):
    assert s["predicted"]["kind"] == r["kind"] and abs(s["predicted"]["price"] - float(r["price"])) < 1e-3, (s, r)
    first = s["classes"][0]
    assert first["label"] == "kind" and first["class"] == r["kind"] and abs(first["p"] - float(r["p(kind=%s)" % r["kind"]])) < 1e-5, (s, r)
P
works train m.yaml --run half --quiet --set train.steps=100
works train m.yaml --run half --resume --set train.steps=200 --quiet
cmp m/best/model.safetensors half/best/model.safetensors || fail "a resumed run"
if "$program" --version --verbose | grep -q 'HTTP: libmicrohttpd'; then
    "$program" serve m --port 0 >address 2>log & server=$!
    for _ in $(seq 300); do grep -qs answers address && break; sleep 0.1; done
    python3 - "$(sed -n 's#^\(http://127.0.0.1:[0-9]*\)/.*#\1#p' address)" <<'P' || fail "serve answers as predict: $(cat address log)"
import csv, json, sys, urllib.request
rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(open("new.csv"))]
ask = urllib.request.Request(sys.argv[1] + "/predict", json.dumps(rows).encode(), {"Content-Type": "application/json"})
said = json.load(urllib.request.urlopen(ask, timeout=60))["predictions"]
want = [json.loads(l) for l in open("want.json")]
assert [s["predicted"]["kind"] for s in said] == [w["predicted"]["kind"] for w in want], said
P
    kill -INT "$server"
    wait "$server"
fi
works report m
grep -q 'price: predicted and target' m/report.html || fail "the report draws the number"
grep -q 'kind: predicted and target' m/report.html && fail "the report draws a class as a number"
# The ONNX file: its prediction has the price in its units and the probabilities, also where the price is learned as a logarithm.
works train m.yaml --run logs --quiet --set data.target=log --set train.steps=100
for run in m logs; do
    works predict $run new.csv --csv
    cp out $run.csv
    works export $run -o $run.onnx
done
python3 - <<'P' || fail "the ONNX file computes what predict says"
try:
    import numpy as np, onnxruntime as ort
except ImportError:
    print("test_mixed_program: no onnxruntime: the ONNX file was not computed")
    raise SystemExit(0)
import csv
x = np.array([[float(v) for v in r.values()] for r in csv.DictReader(open("new.csv"))])
all_ = list(csv.DictReader(open("homes.csv")))
for run in ("m", "logs"):
    s = ort.InferenceSession(run + ".onnx", providers=["CPUExecutionProvider"])
    import json
    schema = json.loads(s.get_modelmeta().custom_metadata_map["vktrain.schema"])
    z = (x - [c["mean"] for c in schema["table"]["columns"]]) / [c["std"] for c in schema["table"]["columns"]]
    got = s.run(["prediction"], {"input": z.astype(np.float32)})[0]
    want = np.array([[float(v) for k, v in r.items() if k == "price" or k[0] == "p"] for r in csv.DictReader(open(run + ".csv"))])
    assert np.allclose(got, want, rtol=1e-4), (run, got, want)
P
# Numbers as classes, and two labels of classes.
works train m.yaml --run codes --quiet --set 'data.label=[size, kind]' --set 'data.classes=[size, kind]' --set data.ignore=price --set 'model=[linear]' --set 'losses=[]' --set train.steps=100
works eval codes --split test --json
python3 -c '
import json
e = json.load(open("out"))
kind, size = e["targets"] # in the order of the columns
assert size["accuracy"] > 0.9 and abs(e["accuracy"] - (size["accuracy"] + kind["accuracy"]) / 2) < 1e-9 and e["mae"] is None, e' || fail "labels that are all classes"
# Inputs so far away that no probability is a number: eval and predict warn of classes, too.
works train m.yaml --run raw --quiet --set 'data.label=[size, kind]' --set 'data.classes=[size, kind]' --set data.ignore=price --set data.standardize=none --set 'model=[{linear: 32}, relu, linear]' --set 'losses=[]' --set train.steps=20
printf 'a,b,price,kind,size\n3e38,3e38,1,red,1\n0.1,0,1,red,1\n' >beyond.csv
for command in 'eval raw --data beyond.csv' 'predict raw beyond.csv'; do
    works $command
    grep -q '1 of 2 predictions have no finite value' err || fail "$command tells that a label of classes has no finite value"
done
# What can't be.
printf 'a,b,price,kind,size\n1,2,3,pink,1\n' >pink.csv
refused 4 "pink.csv' line 2: 'pink' in column 'kind' is not among its 3 classes of the training data" eval m --data pink.csv
refused 4 "'red' in column 'kind' is not a number: .*; a label of classes is named in data.classes" train m.yaml --set data.classes= --set 'losses=[]' --set 'model=[linear]'
refused 2 "data.classes: column 0 of 'homes.csv' is none of data.label's" train m.yaml --set data.classes=a
refused 2 "data.classes is for several labels" train m.yaml --set data.label=kind
refused 2 "data.classes: only for data.task: regress" train m.yaml --set data.task=classify
refused 2 "'which': kind mse is for numbers, and 'kind' is a class" train m.yaml --set 'losses=[{on: cost, target: price}, {on: which, target: kind, kind: mse}]'
refused 2 "'cost': kind cross_entropy is for classes, and 'price' is a number" train m.yaml --set 'losses=[{on: cost, target: price, kind: cross_entropy}, {on: which, target: kind}]'
refused 2 "'which': target 'price, kind' has classes and numbers: an entry for each" train m.yaml --set 'losses=[{on: cost, target: price}, {on: which, target: [price, kind]}]'
refused 2 "'both': kind focal is for classes, and this entry is of numbers too: name its target" train m.yaml --set 'model=[linear: {name: both}]' --set 'losses=[{on: both, kind: focal}]'
works train m.yaml --run huber --quiet --set train.steps=2 --set 'model=[linear: {name: both}]' --set 'losses=[{on: both, kind: huber}]'
refused 2 "no entry is of the target 'kind'" train m.yaml --set 'losses=[{on: which, target: price}]'
python3 -c 'print("a,b,price,kind,size"); [print("%d,1,%d,%s,0" % (i, i, "xy"[i % 2])) for i in range(1200)]' >many.csv
refused 4 "label column 'price' of data.classes has 1200 different values, more than 1000: is it a number" train m.yaml --set data.classes=price,kind --set data.path=many.csv
sed 's/\(.*,.*,\)\([0-9]*,[xy]\)/\1no\2/' many.csv >names.csv
refused 4 "label column 'price' of data.classes has 1200 different values, more than 1000: leave it out of data.label, or put rare ones together" train m.yaml --set data.classes=price,kind --set data.path=names.csv
[ "$bad" = 0 ]
