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
printf '{"city": "Bonn"\n' >torn.jsonl
refused 4 "line 1 is not a JSON object" predict t torn.jsonl
printf 'city;price;day\n"K;1;1.11.2026\n' >open.csv
refused 4 "line 2: a quote opened here is never closed" predict t open.csv
: >none.csv; refused 4 "'none.csv' is empty" predict t none.csv
"$program" predict t - --csv <none.csv >log 2>&1; grep -q "'standard input' is empty" log || fail "nothing on standard input"
exit $((bad > 0))
