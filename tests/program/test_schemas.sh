#!/usr/bin/env bash
# What the program writes is what tools/schemas says: runs, metrics, studies, benchmark files; and files of many machines
# make one table. usage: test_schemas.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}") source=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-schemas.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_schemas: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
fits() { python3 "$source/tests/support/check_schema.py" "$source/tools/schemas/$1.schema.json" "${@:2}" >log 2>&1; }

"$program" train digits --quiet --set train.steps=40 --run run >log 2>&1 || fail "training"
seq 200 | awk 'BEGIN { print "a,b" } { print $1 * 37 % 101 "," $1 * 37 % 101 * 2.5 }' >t.csv
"$program" init t.csv --label b --task regress -o t.yaml >log 2>&1 && "$program" train t.yaml --quiet --set train.steps=20 --run numbers >log 2>&1 ||
    fail "training on numbers"
"$program" study lr digits --quiet --steps 20 --points 3 --seeds 1 --study study >log 2>&1 || fail "the study"
echo 'optim.lr: [0.01, 900]' >space.yaml # the second diverges
"$program" study search digits --quiet --space space.yaml --set optim.rule=momentum --trials 3 --steps 20 --seeds 1 --study search >log 2>&1 || fail "a search"
"$program" bench --once --only ceilings --json bench.json >log 2>&1 || fail "the benchmark"
fits run run/run.json numbers/run.json study/trial-*/run.json || fail "run.json"
fits metrics run/metrics.jsonl numbers/metrics.jsonl study/trial-*/metrics.jsonl || fail "metrics.jsonl"
fits study study/study.json search/study.json && grep -q '"metaparameters"' search/study.json || fail "study.json"
sed '0,/"rise": [0-9.]*/s//"rise": "inf"/' study/study.json >bad.json
fits study bad.json || fail "a trial that diverged"
fits bench bench.json || fail "a benchmark file"
"$program" bench --once --host --json host.json >log 2>&1 && fits bench host.json || fail "a benchmark file of the host"
python3 - <<'P' # a row that grows as 1.5, one of a file that does not say how
import json
b = json.load(open("host.json"))
b["results"][0]["growth"] = 1.5
json.dump(b, open("grows.json", "w"))
for r in b["results"]: del r["growth"]
json.dump(b, open("old.json", "w"))
P
"$program" bench compare grows.json old.json >out 2>log && grep -q 'look at and open a table, 100 rows .* 1\.50 .* - ' out || fail "growth: $(cat out)"
mkdir grows && cp grows.json grows && "$program" bench table grows --html grown >out 2>log && grep -q 'growth 1\.50, compared with 25 rows' grown/device-*.html &&
    grep -q '^.*look at and open a table, 100 rows.*,ms,lower,.*,1,1\.5$' grown/results.csv || fail "growth in pages: $(ls grown; head -3 grown/results.csv)"

# ---- the check can fail
sed 's/"kind":"eval"/"kind":"other"/' run/metrics.jsonl >bad.jsonl
! fits metrics bad.jsonl && grep -q "'other' is none of" log || fail "a wrong word"
sed 's/"step":3,/"stop":3,/' run/metrics.jsonl >bad.jsonl
! fits metrics bad.jsonl && grep -q 'step: is missing' log && grep -q 'stop: the schema does not have it' log || fail "a wrong name"
sed 's/"best_low"/"best_lower"/' search/study.json >bad.json
! fits study bad.json && grep -q 'best_low: is missing' log || fail "a part of a metaparameter"
sed 's/"runs": [0-9]*/"runs": -1/' bench.json >bad.json
! fits bench bad.json && grep -q 'runs: -1 is below 0' log || fail "a wrong number"

# ---- files of many machines
mkdir files
cp "$source/tools/results/steps-lavapipe-25.0-8ffd17f.json" files/first.json # version 1, without a score
cp bench.json files/second.json
echo '{' >files/damaged.json
"$program" bench table files --html page.html >out 2>log || fail "bench table"
grep -q 'files without a score' out && grep -q '1 of 2 files were made with --once' log && grep -q '^score version 1' out && grep -q 'left out: .*damaged.json' log || fail "the table: $(cat out)"
grep -q '<h2>Score version 1</h2>' page.html && grep -q '<h2>Files without a score</h2>' page.html || fail "the page"
# a folder: a page a device, a picture a chart, all values; what an earlier call wrote is replaced, other files are not touched
python3 - <<'P' # a flagged result counts nowhere
import json
b = json.load(open("files/second.json"))
b["results"][1]["flag"] = "too good"
json.dump(b, open("files/second.json", "w"))
P
"$program" bench table files --html site >out 2>log && grep -q 'written: site/index.html' out || fail "a site: $(cat log)"
[ "$(ls site/device-*.html | wc -l)" = 2 ] && ls site/chart-1.png site/results.json >/dev/null || fail "files of a site: $(ls site)"
python3 - <<'P' || fail "values of a site"
import csv, json, re
page, rows = open("site/index.html").read(), list(csv.DictReader(open("site/results.csv")))
data = json.load(open("site/results.json"))
assert data == json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
assert len(rows) == sum(len(r["values"]) for r in data["rows"]) > 10
one = json.load(open("files/second.json"))
value = {(r["group"], r["name"]): r["value"] for r in one["results"] if not r["refused"] and not r["flag"]}
mine = {(r["group"], r["row"]): float(r["value"]) for r in rows if r["commit"] == one["info"]["commit"]}
assert mine and all(abs(value[k] - v) < 1e-5 * v for k, v in mine.items()), mine
assert set(value) == set(mine), set(value) ^ set(mine)
for chart in re.findall(r'<figure class="bars".*?</figure>', page, re.S):  # the best stands first
    v = [float(x) for x in re.findall(r'class="value">([^<]*)<', chart)]
    assert v == sorted(v, reverse="more is better" in chart), chart
P
touch site/mine.txt site/device-9-old.html site/device-notes.html
"$program" bench table files --html site >out 2>log && [ -e site/mine.txt ] && [ -e site/device-notes.html ] && [ ! -e site/device-9-old.html ] || fail "a site again"
mkdir other && touch other/thesis.txt
! "$program" bench table files --html other >out 2>log && grep -q 'no site of' log && [ "$(ls other)" = thesis.txt ] || fail "a folder of other files"

# ---- whether a file can be believed
! "$program" bench verify files/first.json >out 2>&1 && grep -q 'it has no digest' out || fail "verify: no digest"
sed 's/"device": "/"device": "RTX /' bench.json >edited.json
! "$program" bench verify edited.json >out 2>&1 && grep -q 'changed after it was written' out || fail "verify: an edited file"
! "$program" bench verify bench.json >out 2>&1 && grep -q 'made with --once' out && ! grep -q digest out || fail "verify: once: $(cat out)"
! "$program" bench verify >out 2>log && grep -q 'give files or folders' log || fail "verify nothing"

# scores of two versions are two tables, and what is special in Markdown stays in its cell
python3 - <<'P'
import json
b = json.load(open("files/second.json"))
for version, name in ((2, "later"), (2, "latest")):
    b["score"]["version"] = version
    b["info"]["device"] = "a|b " + name
    json.dump(b, open(f"files/{name}.json", "w"))
P
"$program" bench table files >out 2>log && [ "$(grep -c '^score version [12]$' out)" = 2 ] || fail "two versions: $(cat out)"
"$program" bench table files --markdown >out 2>log && [ "$(grep -c '^| a\\|b late' out)" = 2 ] || fail "a bar in a name: $(cat out)"
"$program" bench table files --markdown >out 2>log && grep -q '^| device | driver |' out || fail "--markdown"
! "$program" bench table files --quick >out 2>log && grep -q 'give one folder' log || fail "options that table does not have"
! "$program" bench table nowhere >out 2>log && grep -q 'nowhere' log || fail "no folder"
echo "test_schemas: passed"
