#!/usr/bin/env bash
# `init: RUN` takes weights by the names of columns, values, classes and targets, wherever they stand; new ones begin as
# without it, and what has no name to go by is refused.   test_init_names.sh VKTRAIN
set -uo pipefail
. "$(dirname "$0")/../support/refusals.sh"
fail() { echo "$test: FAILED: $*"; cat log; bad=$((bad + 1)); }
bad=0
cat >make.py <<'P'
import random, sys
random.seed(1)
rows = []
for i in range(96):
    a, b, day, city = random.gauss(0, 1), random.gauss(0, 1), "2024-%02d-%02d" % (1 + i % 12, 1 + i % 28), random.choice(["Bonn", "Köln", "Ulm"])
    rows.append(dict(a=a, b=b, day=day, city=city, cls=["ant", "bee", "cow"][i % 3], u=a + b, v=a - b))
def write(name, columns, rename={}):
    with open(name, "w") as f:
        f.write(",".join(rename.get(c, c) for c in columns) + "\n")
        for r in rows:
            f.write(",".join(rename.get(str(r[c]), str(r[c])) for c in columns) + "\n")
write("first.csv", ["a", "b", "day", "city", "cls"])
write("moved.csv", ["city", "b", "day", "a", "cls"])
write("renamed.csv", ["city", "b", "day", "a", "cls"], {"ant": "zebra", "Bonn": "Zell", "b": "z"})
write("numbers.csv", ["a", "b", "u", "v"])
write("other.csv", ["b", "a", "v", "u"])
P
python3 make.py
cat >t.yaml <<'Y'
data: {source: csv, path: first.csv, valid_fraction: 0.25, test_fraction: 0}
model: [batch_norm, {linear: 8}, relu, linear]
optim: {rule: adam, lr: 0.05}
train: {steps: 20, batch: 24}
eval: {every: 20}
calibration: {temperature: false, threshold: none}
Y
# weights A B TENSOR ROWS COLUMNS: the tensor of run A at those places is run B's, from its first row and column on; -1: any but A's
cat >weights.py <<'P'
import glob, json, struct, sys
def read(run, name):
    data = open(sorted(glob.glob(run + "/checkpoints/*/model.safetensors"))[-1], "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    t = json.loads(data[8:8 + n])[name]
    lo, hi = (8 + n + k for k in t["data_offsets"])
    v, shape = struct.unpack("<%df" % ((hi - lo) // 4), data[lo:hi]), t["shape"] + [1]
    return [list(v[r * shape[1]:(r + 1) * shape[1]]) for r in range(shape[0])]
a, b = read(sys.argv[1], sys.argv[3]), read(sys.argv[2], sys.argv[3])
rows, columns = ([int(k) for k in text.split(",")] for text in sys.argv[4:6])
if rows == [-2]: rows = list(range(len(a)))
if columns == [-2]: columns = list(range(len(a[0])))
assert len(rows) == len(b) and len(columns) == len(b[0]), (len(b), len(b[0]))
for i, r in enumerate(rows):
    for k, c in enumerate(columns):
        if r >= 0 and c >= 0:
            assert b[i][k] == a[r][c], (sys.argv[3], i, k)
        elif sys.argv[3].endswith("weight") and len(b[0]) > 1:
            assert all(b[i][k] != x for row in a for x in row), (sys.argv[3], i, k)
P
same() { python3 weights.py "$@" >log 2>&1 || fail "weights of $2: ${*:3}"; }
begin() { "$program" train t.yaml --set "init=$1" --set optim.lr=0 --set train.steps=1 --set eval.every=1 --run "$2" "${@:3}" >out 2>log || fail "$*"; }
works train t.yaml --run A --quiet
begin A B
grep -q 'by name' log && fail "what stands in its place was moved"
same A B 1.weight -2 -2
# inputs of first.csv: a, b, year, month, day, weekday, Bonn, Köln, Ulm; of moved.csv Bonn, Köln, Ulm, b, year, month, day, weekday, a
begin A C --set data.path=moved.csv
grep -q "9 of 9 inputs are matched by name" log || fail "what was matched is not said"
same A C 1.weight -2 6,7,8,1,2,3,4,5,0
same A C 0.weight 6,7,8,1,2,3,4,5,0 0
same A C 3.weight -2 -2
begin A D --set data.path=renamed.csv # Köln, Ulm, Zell, z, year, ..; bee, cow, zebra
grep -q "7 of 9 inputs are matched by name, 2 new start at random, such as 'city = Zell', 2 of the run are not used, such as 'b'; 2 of 3 classes are matched by name, 1 new starts at random, 'zebra', 1 of the run is not used, 'ant'" log || fail "what is new is not said"
same A D 1.weight -2 7,8,-1,-1,2,3,4,5,0
same A D 3.weight 1,2,-1 -2
same A D 3.bias 1,2,-1 0
begin "$(ls -d A/checkpoints/*)/model.safetensors" E --set data.path=moved.csv
same A E 1.weight -2 6,7,8,1,2,3,4,5,0
works export A -o a.safetensors
begin a.safetensors E2 --set data.path=moved.csv
same A E2 1.weight -2 6,7,8,1,2,3,4,5,0
# In a graph any layer may read the inputs, and several may make the outputs: nothing is moved by guessing.
sed 's/^model:.*/model: [{linear: {out: 8, name: a}}, {linear: {out: 8, from: input, name: b}}, {add: [a, b]}, relu, {linear: {name: head}}]/' t.yaml >graph.yaml
works train graph.yaml --run graph --quiet
"$program" train graph.yaml --set init=graph --set optim.lr=0 --set train.steps=1 --set eval.every=1 --run graph-2 >out 2>log || fail "a graph from itself"
same graph graph-2 b.weight -2 -2
refused 4 "'graph' was trained with other columns, or in another order, and this model's layers can't be matched by name" train graph.yaml --set init=graph --set data.path=moved.csv --run graph-4
sed 's/relu, {linear: {name: head}}/{linear: {out: 3, name: c}}, {linear: {out: 3, name: d, from: a}}, {add: [c, d]}/' graph.yaml >two.yaml
works train two.yaml --run T --quiet
sed 's/,ant$/,zebra/' first.csv >zebra.csv
refused 4 "'T' was trained with other classes, or in another order (as 'zebra')" train two.yaml --set init=T --set data.path=zebra.csv --run two-2
"$program" train graph.yaml --set init=graph --set optim.lr=0 --set train.steps=1 --set eval.every=1 --set data.path=zebra.csv --run graph-3 >out 2>log || fail "a graph with one layer of outputs"
same graph graph-3 head.weight 1,2,-1 -2
# embedded columns and their values
sed -i 's/^model:.*/model: [{embed: 4}, {linear: 8}, relu, linear]/; s/test_fraction: 0/test_fraction: 0, embed: city/' t.yaml
works train t.yaml --run F --quiet
begin F G --set data.path=renamed.csv # a, b, year, month, day, weekday, 4 of city; z, year, ..., a, city
same F G 0.weight 1,2,-1 -2
same F G 1.weight -2 -1,2,3,4,5,0,6,7,8,9
# a head of its own layer alone; targets
sed -i 's/^model:.*/model: [linear]/; s/, embed: city//' t.yaml
works train t.yaml --run H --quiet
begin H I --set data.path=renamed.csv
same H I 0.weight 1,2,-1 7,8,-1,-1,2,3,4,5,0
works train t.yaml --set data.path=numbers.csv --set data.task=regress --set data.label=u,v --run J --quiet
begin J K --set data.path=other.csv --set data.task=regress --set data.label=v,u
same J K 0.weight 1,0 1,0
# no names to go by
sed -i 's/^model:.*/model: [{residual: [{linear: 9}]}, relu, linear]/' t.yaml
works train t.yaml --run L --quiet
refused 4 "'L' was trained with other columns, or in another order, and this model's layers can't be matched by name" train t.yaml --set init=L --set data.path=moved.csv --run M
begin L N
# classes of texts, by the transformer's own layer
awk -F, 'NR == 1 { print "text,cls"; next } { print "seen in " $4 " on " $3 "," $5 }' first.csv >texts.csv
sed 's/,ant$/,zebra/' texts.csv >texts-2.csv
cat >t.yaml <<'Y'
data: {source: csv, path: texts.csv, label: cls, text: text, tokenizer: bytes, context: 32, valid_fraction: 0.25, test_fraction: 0}
model: [{transformer: {layers: 1, heads: 2, width: 8, positions: rope, norm: rmsnorm, activation: swiglu, score: true}}]
optim: {rule: adam, lr: 0.01}
train: {steps: 4, batch: 24}
eval: {every: 4}
calibration: {temperature: false, threshold: none}
Y
works train t.yaml --run O --quiet
begin O P --set data.path=texts-2.csv # bee, cow, zebra
same O P score.weight 1,2,-1 -2
exit $((bad > 0))
