#!/usr/bin/env bash
# Reports through the program: a page that needs nothing from outside, a finding and none on a healthy run, many
# runs, bad input (in a browser: test_pages). usage: test_report.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
source=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-report.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_report: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
train() { "$program" train digits --quiet "$@" >log 2>&1 || fail "training: $*"; }
report() { "$program" report "$@" >log 2>&1 || fail "report: $*"; }
refused()
{
    local want=$1 text=$2 rc=0
    shift 2
    "$program" "$@" >out 2>log || rc=$?
    [ $rc = "$want" ] || fail "exit $rc, not $want: $*"
    [ "$(grep -c 'error:' log)" = 1 ] && grep 'error:' log | grep -q -- "$text" || fail "the error lacks '$text': $*"
}

# page FILE: whole, valid as XML but for HTML's void elements, nothing from outside, one script and the values it shows
page()
{
    python3 - "$1" >log 2>&1 <<'P' || fail "the page $1"
import html.parser, json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
open_tags, void, scripts, values = [], {"meta", "br"}, 0, 0
class Check(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        global scripts
        assert tag not in ("link", "img", "iframe"), tag
        if tag == "script" and ("type", "application/json") not in attrs: scripts += 1
        if tag == "script": assert attrs in ([], [("type", "application/json")]), attrs
        for k, v in attrs: assert k not in ("src", "href") and not k.startswith("on"), (tag, k, v)
        if tag == "path": assert re.fullmatch(r"[-MLlmz0-9. ]*", dict(attrs)["d"]), attrs
        if tag not in void: open_tags.append(tag)
    def handle_startendtag(self, tag, attrs): self.handle_starttag(tag, attrs); open_tags.pop()
    def handle_endtag(self, tag): assert open_tags.pop() == tag, tag
Check().feed(text)
for figure in re.findall(r"<figure>.*?</figure>", text, re.S):
    plot = json.loads(re.search(r'json">(.*?)</script>', figure, re.S)[1])
    values += sum(len(s["y"]) for s in plot["s"])
    for s in plot["s"]: assert "b" in s or len(s["x"]) == len(s["y"]) + (s["m"] == "h"), plot["y"]
    assert plot["x"] and plot["y"] and figure.count('class="t"') == figure.count('class="m"') == 2, plot
assert scripts == 1 and values > 0, (scripts, values)
inside = re.sub(r"<pre>.*?</pre>|<td[^>]*>.*?</td>|http-equiv", "", text, flags=re.S)
assert not open_tags and "http" not in inside and not re.search(r"url\((?!#)", inside) and "default-src 'none'" in text
assert "prefers-color-scheme" in text and 'role="img"' in text
P
}

# ---- colours
python3 "$source/tests/report/colours.py" "$source/src/report/page.css" "$source/src/report/plot_png.c" >log 2>&1 || fail "colours"

# ---- one run, and it is healthy
train --run healthy
report healthy
page healthy/report.html
grep -q 'Nothing to worry about' healthy/report.html || fail "findings on a healthy run: $(grep -o 'class="note"><b>[^<]*' healthy/report.html)"
grep -q 'Confusion matrix of the valid set' healthy/report.html || fail "no confusion matrix"
[ "$(grep -c '<figure' healthy/report.html)" = 9 ] && [ "$(grep -c '<svg' healthy/report.html)" = 18 ] || fail "plots of a run"
[ -s healthy/report-roc.png ] && [ -s healthy/report-precision-recall.png ] && [ -s healthy/report-reliability.png ] || fail "pictures of classes' curves"
python3 - <<'P' || fail "curves are not those of the run's tables"
import csv, json, re
page, rows = open("healthy/report.html").read(), list(csv.DictReader(open("healthy/valid-ranking.csv")))
plots = [json.loads(re.search(r'json">(.*?)</script>', f, re.S)[1]) for f in re.findall(r"<figure>.*?</figure>", page, re.S)]
find = lambda y: next(p for p in plots if p["y"] == y)
names = sorted({r["class"] for r in rows})
assert len(names) == 8, names  # of ten digits those that are ranked worst
for plot, x, y in (find("true positive rate"), "false_positive_rate", "recall"), (find("precision"), "recall", "precision"):
    curves = [s for s in plot["s"] if s.get("n") in names]
    assert len(curves) == 8, (len(curves), plot["s"][0].keys())
    for s in curves:
        of = [r for r in rows if r["class"] == s["n"]]
        assert abs(s["y"][-1] - float(of[-1][y])) < 1e-4 and abs(s["x"][-1] - float(of[-1][x])) < 1e-4 and len(s["y"]) >= 2, s
assert sum(int(r["examples"]) for r in csv.DictReader(open("healthy/valid-reliability.csv"))) == json.load(open("healthy/run.json"))["n_valid"]
P
for name in loss metric lr gradient-norm gradient-histogram throughput; do
    python3 -c 'import struct,sys; d=open(sys.argv[1],"rb").read(); assert d[:8]==b"\x89PNG\r\n\x1a\n" and struct.unpack(">II",d[16:24])==(1280,640)' \
        "healthy/report-$name.png" || fail "picture $name"
done

# ---- a metric that counts classes alike
train --run by-class --set checkpoint.metric=macro_f1 --set train.steps=60
report by-class --no-png
grep -q 'balanced accuracy 0\.[0-9]*, macro F1 0\.' by-class/report.html && grep -q '>macro_f1<' by-class/report.html || fail "the metrics of classes"

# ---- a finding (test_planted.sh has them all)
train --run clipped --set optim.clip=0.02
report clipped --no-png
grep -q 'Clipped too often' clipped/report.html && grep -q '^finding clipped: ' log || fail "clipping too often is not found"
# the findings alone, by the same names, and no page
sed -n 's/^finding \([a-z_-]*\):.*/\1/p' log >names
rm clipped/report.html
"$program" report clipped --json >found.json 2>log || fail "report --json"
python3 -c 'import json; f = json.load(open("found.json"))["findings"]; assert [x["name"] for x in f] == open("names").read().split() and all(len(x["text"]) > 20 for x in f)' 2>log || fail "findings as JSON"
[ ! -e clipped/report.html ] || fail "report --json has written a page"
refused 2 'name one run, without -o' report clipped healthy --json
refused 2 'name one run, without -o' report clipped --json -o x.html
[ ! -e x.html ] || fail "report --json -o has written a page"
[ ! -e clipped/report-loss.png ] || fail "--no-png wrote a picture"

# ---- a damaged line, names that would break a page
cp -r healthy damaged
sed -i '5s/.*/{"kind":"train","step":5,"lo/' damaged/metrics.jsonl
python3 - <<'P'
import json
j = json.load(open("damaged/run.json")); j["note"] = '<script>alert("x")</script> & "quotes"'
json.dump(j, open("damaged/run.json", "w"))
P
mkdir -p damaged/samples
printf 'prompt\n<script>alert("sample")</script>\n' >damaged/samples/step-00000005.txt
report damaged
! grep -q '<script>alert' damaged/report.html || fail "a text of the run is part of the page"
grep -q 'damaged line' log && grep -q '1 damaged lines of metrics.jsonl were left out, the first is line 5' damaged/report.html || fail "a damaged line"
page damaged/report.html
refused 4 "no folder 'nowhere': .vktrain runs. lists the runs" report nowhere
mkdir empty
refused 2 'neither a run' report empty
cp -r healthy broken && echo '{' >broken/run.json
refused 4 'damaged' report broken
refused 2 'RUN|STUDY' report

# ---- runs that select by other metrics and have other data: an axis for each metric, what differs is said, findings of each
cp -r healthy a-name-that-is-much-too-long-for-the-legend-of-a-plot-and-for-a-cell-of-a-table
python3 - <<'P'
import json
path = "by-class/run.json"; j = json.load(open(path)); j["data"] = "other data"; j["n_train"] = 77
json.dump(j, open(path, "w"))
P
report healthy by-class clipped a-name-* -o compare.html --no-png
page compare.html
python3 - <<'P' >log 2>&1 || fail "the axes of several runs"
import json, re
names = [json.loads(t)["y"] for t in re.findall(r'json">(.*?)</script>', open("compare.html").read(), re.S)]
assert names == ["training loss", "validation loss", "accuracy", "macro_f1"], names
P
grep -q 'The data differ' compare.html && grep -q 'by-class has other data (77,' compare.html || fail "that data differ is not said"
grep -q '<td>clipped</td><td>Clipped too often</td>' compare.html || fail "findings of each run"
grep -q '>\.\.\.[^<]*cell-of-a-table</text>' compare.html || fail "a long name in a legend"
grep -q '<caption>What differs in the recipes</caption>' compare.html && grep -q '<td>optim.clip</td><td[^>]*>0</td><td[^>]*>0</td><td[^>]*>0.02</td>' compare.html || fail "options that differ"
grep -q 'Nothing to worry about in</b> healthy' compare.html || fail "healthy runs have no sentence"
cp -r healthy wider && sed -i 's/out: 128/out: 64/' wider/run.json
report healthy wider -o compare.html --no-png
grep -q '<td>model.1.out (linear)</td><td[^>]*>128</td><td[^>]*>64</td>' compare.html || fail "models that differ"
report healthy clipped -o compare.html --no-png
! grep -q 'The data differ' compare.html || fail "the same data differ"

# ---- a study, and a hundred runs at once
"$program" study lr digits --steps 60 --points 3 --seeds 1 --study study --quiet >log 2>&1 || fail "the study"
report study
page study/report.html
grep -q '<th scope="col" class="n">optim.lr</th>' study/report.html && ! grep -q 'optim.lr=[0-9.]* seed=' study/report.html || fail "settings of trials are no columns"
echo 'optim.lr: {log: [0.0005, 0.05]}' >space.yaml
"$program" study search digits --trials 8 --seeds 1 --set train.steps=20 --study search --quiet --space space.yaml >log 2>&1 || fail "a search"
report search --no-png
page search/report.html
python3 - <<'P' >log 2>&1 || fail "the curves of a search"
import json, re
plots = [json.loads(t) for t in re.findall(r'json">(.*?)</script>', open("search/report.html").read(), re.S)]
curves = next(p["s"] for p in plots if len(p["s"]) == 8)
assert sum(s["c"] < 0 and "n" not in s for s in curves) == 3 and sum(s["c"] >= 0 and "n" in s for s in curves) == 5, [s["c"] for s in curves]
P
python3 - <<'P' >log 2>&1 || fail "the isolation plot of a search"
import json, re
figures = re.findall(r"<figure>.*?</figure>", open("search/report.html").read(), re.S)
plots = {re.search("<title>(.*?)</title>", f)[1].split(":")[0]: json.loads(re.search(r'json">(.*?)</script>', f, re.S)[1]) for f in figures}
parts = [q for q in json.load(open("search/study.json"))["metaparameters"][0]["parts"] if q["best"] is not None]
one = next(p for p in plots.values() if len(p["s"]) == 2 and p["s"][0].get("n") == "80% of resamplings")
spread, best = one["s"]
print(list(plots), one, parts)
near = lambda a, b: abs(a - b) < 1e-4 * abs(b)
assert one["lx"] == 1 and one["x"] == "optim.lr" and len(parts) > 2 and len(best["y"]) == len(best["l"]) == len(parts)
for i, q in enumerate(parts):
    assert near(best["y"][i], q["best"]) and near(spread["y"][3 * i], q["best_low"]) and near(spread["y"][3 * i + 1], q["best_high"]), (i, q)
assert all(v is None for v in spread["y"][2::3])
P
cp -r search scaled
python3 - scaled/study.json <<'P'
import json, sys
j = json.load(open(sys.argv[1]))
j["metaparameters"][0]["scale"] = "linear"
j["trials"][0]["best"] = 1e6  # one that diverged
json.dump(j, open(sys.argv[1], "w"))
P
report scaled
[ -s scaled/report-isolated-optim.lr.png ] || fail "no picture of an isolated metaparameter"
page scaled/report.html
grep -q '{"lx":0,"ly":1,"x":"optim.lr","y":"best validation loss"' scaled/report.html || fail "a linear scale of the space, and a loss that hides the others"
for name in final-loss axis-optim.lr trials; do [ -s study/report-$name.png ] || fail "no picture $name of the study"; done
grep -q 'Final training loss by learning rate' study/report.html && grep -q 'loss around lr' study/report.html || fail "the plots of a study of rates"
grep -q 'Recommendation' study/report.html || grep -q 'lr\*' study/report.html || fail "the study's answer"
for ((i = 0; i < 100; i++)); do cp -r healthy "many-$i"; done
report many-* -o many.html --no-png
page many.html
size=$(stat -c %s many.html)
[ "$size" -lt 5000000 ] || fail "a report over 100 runs has $size bytes"
echo "test_report: 100 runs are $size bytes"

echo "test_report: passed"
