#!/usr/bin/env bash
# vktrain predict reads tables a part at a time: files, standard input cut anywhere, JSON lines, gzip; what is wrong is said
# with its line in the whole.   test_predict.sh VKTRAIN
set -uo pipefail
. "$(dirname "$0")/../support/refusals.sh"
fail() { echo "$test: FAILED: $*"; cat log; bad=$((bad + 1)); }
bad=0
python3 -c '
import json, random
random.seed(5)
quote = lambda s: chr(34) + s.replace(chr(34), 2 * chr(34)) + chr(34)
comma = lambda v: ("%.2f" % v).replace(".", ",")
rows = [(["K\u00f6ln", "Aachen; West", "say \"hi\"\nor not"][random.randrange(2 if i < 10 else 3)], random.gauss(9, 3), "%d.11.2026" % (1 + i % 28)) for i in range(120)]
text = lambda rows: "".join("%s;%s;%s\n" % (quote(c), comma(p), d) for c, p, d in rows)
open("train.csv", "w").write("city;price;day;buy\n" + "".join("%s;%s;%s;%s\n" % (quote(c), comma(p), d, "yes" if p > 9 else "no") for c, p, d in rows))
open("new.csv", "w").write("city;price;day\n" + text(rows[:40]))
open("new.jsonl", "w").write("\n".join(json.dumps({"price": round(p, 2), "day": d, "city": c}) for c, p, d in rows[:40]))
open("far.csv", "w").write("city;price;day\n" + text(rows[:3] * 14000 + [("Bonn", 1, "31.2.2026")]))'
works init train.csv -o t.yaml
works train t.yaml --set train.steps=4 --run t --quiet
pred() { "$program" predict t "$@" --csv 2>log | cut -d, -f2-; }
pred new.csv >whole
[ "$(wc -l <whole)" = 41 ] && [ "$(tail -1 whole | cut -d, -f1)" = 39 ] || fail "a row for each"
gzip -k new.csv; pred new.csv.gz | cmp - whole || fail "gzip"
pred new.jsonl | cmp - whole || fail "JSON lines"
pred - <new.jsonl | cmp - whole || fail "JSON lines from standard input"
for cut in 9 700; do # in the header; in a row
  { head -c $cut new.csv; sleep 0.3; tail -c +$((cut + 1)) new.csv; } | pred - | cmp - whole || fail "standard input cut after $cut bytes"
done
{ head -4 new.csv; sleep 0.3; tail -n +5 new.csv | sed '3s/;[0-9,]*;/;tall;/'; } | pred - >some
grep -q "'standard input' line 7: 'tall' in column 'price'" log || fail "the line in the whole"
pred far.csv >some # more than a part
grep -q "'far.csv' line $(wc -l <far.csv): '31.2.2026' in column 'day'" log || fail "the line of a later part"
[ "$(wc -l <some)" -gt 30000 ] || fail "what came before the error"
printf '{"city": "Bonn", "price": 1.5, "day": "1.11.2026", "size": 3}\n\n{"city": "Bonn", "price": [1]}\n' >odd.jsonl
refused 4 "line 3: 'price' must be a text, a number" predict t odd.jsonl
head -1 odd.jsonl >one.jsonl; works predict t one.jsonl
"$program" predict t one.jsonl >log 2>&1
grep -q "line 1: 'size' is not a column of the training data" log && grep -q "column 'city' has 'Bonn'" log || fail "what is not known is said"
grep -q 'there is no' log && fail "no key is absent in line 1"
printf '{"city": "Ulm", "price": null, "day": null}\n{"city": "Ulm", "price": 2}\n{"price": 2}\n' >few.jsonl
works train t.yaml --set train.steps=1 --set data.missing=mean --run mean --quiet
"$program" predict mean few.jsonl >some 2>log || fail "absent keys are blanks"
[ "$(grep -c 'there is no' log)" = 1 ] && grep -q "line 2: there is no 'day', a column of the training data" log || fail "an absent key is said once, null is not"
printf '{"city": "Bonn"\n' >torn.jsonl
refused 4 "line 1 is not a JSON object" predict t torn.jsonl
printf 'city;price;day\n"K;1;1.11.2026\n' >open.csv
refused 4 "line 2: a quote opened here is never closed" predict t open.csv
: >none.csv; refused 4 "'none.csv' is empty" predict t none.csv
"$program" predict t - --csv <none.csv >log 2>&1; grep -q "'standard input' is empty" log || fail "nothing on standard input"

# ---- the five likeliest; test-time augmentation
python3 -c '
import os, random, struct
random.seed(2)
def bmp(path, rows):
    size = len(rows)
    data = b"".join(bytes(v for p in row for v in p[::-1]) for row in rows[::-1])
    open(path, "wb").write(b"BM" + struct.pack("<IHHI", 54 + len(data), 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, size, size, 1, 24, 0, len(data), 0, 0, 0, 0) + data)
for c in range(7):
    os.makedirs("pics/c%d" % c)
    for i in range(8):
        rows = [[[random.randrange(256) for _ in range(3)] for _ in range(8)] for _ in range(8)]
        bmp("pics/c%d/%d.bmp" % (c, i), rows)
bmp("seen.bmp", rows); bmp("mirror.bmp", [r[::-1] for r in rows])'
refused 4 'trained on a table: give its 3 columns as CSV' predict t seen.bmp # a date is one of them
printf 'name: p\ndata: {source: images, path: pics, valid_fraction: 0.2, augment: {crop_padding: 2}}\nmodel: [{conv: 4}, relu, flatten, linear]\ntrain: {steps: 8, batch: 8}\noptim: {lr: 0.02}\n' >p.yaml
works train p.yaml --run p --quiet
for t in '' '--tta flips' '--tta 5'; do
  "$program" eval p --split train --json --predictions "of${t// /}.csv" --force $t >"of${t// /}.json" 2>log || fail "eval $t"
  "$program" predict p seen.bmp mirror.bmp --csv $t >"seen${t// /}.csv" 2>log || fail "predict $t"
done
python3 -c '
import csv, json, math
p = lambda name: [[float(v) for k, v in r.items() if k.startswith("p(")] for r in csv.DictReader(open(name))]
seen, mirror = p("seen.csv")
both = p("seen--ttaflips.csv")
assert all(abs((a + b) / 2 - c) < 2e-6 for a, b, c in zip(seen, mirror, both[0])) and seen != mirror, (seen, mirror, both)
assert all(abs(a - b) < 2e-6 for a, b in zip(*both))
assert all(abs(sum(r) - 1) < 1e-5 for r in p("seen--tta5.csv")) and p("seen--tta5.csv")[0] != seen
for name in ("of", "of--ttaflips", "of--tta5"):
    rows, got = list(csv.DictReader(open(name + ".csv"))), json.load(open(name + ".json"))
    scores, targets = p(name + ".csv"), [r["target"] for r in rows]
    names = [k[2:-1] for k in rows[0] if k.startswith("p(")]
    five = sum(names.index(t) in sorted(range(7), key=lambda k: -s[k])[:5] for s, t in zip(scores, targets)) / len(rows)
    loss = sum(-math.log(s[names.index(t)]) for s, t in zip(scores, targets)) / len(rows)
    assert abs(five - got["top5_accuracy"]) < 1e-9 and 0 < five < 1 and len(rows) == got["n"] > 30, (five, got["top5_accuracy"], len(rows))
    assert abs(loss - got["loss"]) < 1e-3, (name, loss, got["loss"])' >said 2>&1 || { cat said; fail "top-5 and --tta"; }
refused 2 "is for models of pictures" predict t new.csv --tta flips
refused 2 "tta is '1', must be flips or a number from 2" eval p --tta 1
sed 's/, augment: {crop_padding: 2}//' p.yaml >q.yaml; works train q.yaml --set train.steps=1 --run q --quiet
refused 2 "use --tta flips" eval q --tta 4
# a column of sentences: recognised, trained on, predicted from CSV and JSON lines
python3 -c '
import csv, random
random.seed(3)
things = {"food": "soup bread cheese apple salad", "tools": "hammer saw drill wrench pliers", "sky": "cloud moon star comet sun"}
w = csv.writer(open("said.csv", "w"))
w.writerow(["id", "says", "kind"])
for i in range(240):
    k = random.choice(sorted(things))
    w.writerow([i * 7, "I saw the %s, and then %s %d times" % (*random.sample(things[k].split(), 2), i), k])'
works init said.csv -o said.yaml
grep -q '^  text: "says"' said.yaml && grep -q '  - sentence:' said.yaml || fail "sentences are not recognised"
works train said.yaml --set train.steps=60 --set eval.every=30 --set optim.lr=0.01 --set schedule.warmup=0 --run words --quiet
works train said.yaml --set model.0.layers=1 --set train.steps=2 --run blocks --quiet # a transformer before the mean
printf 'says\n"We ate soup, and then cheese"\nthe hammer and a saw\n' >says.csv
printf '{"says": "We ate soup, and then cheese"}\n{"says": "the hammer and a saw"}\n' >says.jsonl
"$program" predict words says.csv --csv 2>log | cut -d, -f2- >whole
"$program" predict words says.jsonl --csv 2>log | cut -d, -f2- | cmp - whole || fail "sentences as JSON lines"
printf 'says\n"WE ATE SOUP, and then Cheese"\nThe HAMMER and a saw\n' >shout.csv
grep -q '^  lowercase: true' said.yaml && "$program" predict words shout.csv --csv 2>log | cut -d, -f2- | cmp - whole || fail "capitals are other words"
[ "$(sed 1d whole | cut -d, -f2 | tr '\n' ' ')" = "food tools " ] || { cat whole; fail "what sentences are about"; }
# many texts: no small letters are written, which were measured on few
python3 -c 'print("says,kind"); [print("I saw the %s and then %s %d times,%s" % (*("soup bread" if i % 2 else "cloud moon").split(), i, "food sky".split()[i % 2])) for i in range(25000)]' >many.csv
works init many.csv -o many.yaml
grep -q '^      layers: 4' many.yaml && ! grep -q lowercase many.yaml || fail "the starter of many texts"
refused 4 "column 'says' holds sentences, and ONNX has no place for their tokenizer" export words -o words.onnx
refused 2 "data.embed: not with data.text" train said.yaml --set data.embed=id
refused 2 "and data.text name the column" train t.yaml --set data.embed=city --set 'model=[{sentence: {layers: 1, heads: 1, width: 8}}, linear]'
exit $((bad > 0))
