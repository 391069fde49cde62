#!/usr/bin/env bash
# init and watch: a starter recipe that trains; a run in progress drawn, saved and ended on request, in a terminal of
# any width. usage: test_watch.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-watch.XXXXXX")
pid= live= watcher=
trap 'kill -9 $pid $live $watcher 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_watch: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
refused()
{
    local want=$1 text=$2 rc=0
    shift 2
    "$program" "$@" >out 2>log </dev/null || rc=$?
    [ $rc = "$want" ] || fail "exit $rc, not $want: $*"
    [ "$(grep -c 'error:' log)" = 1 ] && grep 'error:' log | grep -q -- "$text" || fail "the error lacks '$text': $*"
}

# ---- init
"$program" init digits >log 2>&1 || fail "init digits"
"$program" train digits.yaml --quiet --set train.steps=20 --run first >log 2>&1 || fail "the starter recipe does not train"
refused 2 "'digits.yaml' already exists" init digits
"$program" init digits --force >log 2>&1 || fail "--force"
refused 2 'DATA is missing' init
refused 4 "no file or folder 'nowhere.csv'" init nowhere.csv
printf 'x,y\n' >$'caf\xe9.csv'
refused 4 "the name 'caf" init $'caf\xe9.csv' -o latin.yaml
refused 4 "init=bsae: no such file or folder" init digits --set init=bsae -o base.yaml
mkdir nothing
refused 4 'nothing' init nothing
python3 -c '
import random
random.seed(1)
kinds = ["red", "green # x"]
print("a,b,kind")
for i in range(200): print("%.3f,%.3f,%s" % (random.random(), random.random(), kinds[i % 2]))' >colours.csv
"$program" init colours.csv -o - >log 2>&1 && grep -q 'source: csv' log && ! grep -q 'task: regress' log || fail "a CSV of classes"
"$program" init colours.csv --label a -o numbers.yaml >log 2>&1 && grep -q 'task: regress' numbers.yaml || fail "a number to predict"
"$program" train numbers.yaml --quiet --set train.steps=5 --run numbers >log 2>&1 || fail "the recipe of a number does not train"
# Early stopping: with a rate of 0 nothing gets better after the first evaluation, at step 5.
"$program" train numbers.yaml --set optim.lr=0 --set train.steps=500 --set eval.every=5 --set train.patience=2 --run patience >log 2>&1 &&
    grep -q 'no better loss in 2 evaluations, the best was at step 5: training ends at step 15 of 500' log &&
    grep -q 'done after 15 steps' log && grep -q '"status": "done"' patience/run.json || fail "early stopping"
# A table as spreadsheets write it: init says how it is read, and train again.
python3 -c '
import random
random.seed(3)
print(";preis;tag;farbe;kind")
for i in range(200):
    v = random.random() * 4000
    price = "" if i == 7 else "{:,.2f}".format(v).translate(str.maketrans(",.", ".,")) + " €"
    print("%d;%s;%02d.11.2026;%s;%s" % (i + 1, price, 1 + i % 28, "rot" if i % 3 else "NA", "ja" if v > 2000 else "nein"))' >preise.csv
"$program" init preise.csv >log 2>&1 && grep -q "label: 'kind' (the last column; --label takes another)" log &&
    grep -q "column 0, which has no name, is left out: it counts the rows" log &&
    grep -q "column 'preis': numbers as '.*€', read as 1.234,5: .*; 1 of 200 cells are blank: the mean stands there" log &&
    grep -q "column 'tag': dates or times as '01.11.2026', read as day.month.year" log &&
    grep -q "column 'farbe': 67 of 200 cells are blank: a category of their own" log &&
    grep -q '^  ignore: "0"$' preise.yaml && grep -q '^  missing: mean ' preise.yaml || fail "a table of a spreadsheet"
"$program" train preise.yaml --set train.steps=5 --run preise >log 2>&1 && grep -q "column 'preis': numbers as" log ||
    fail "train does not say how it reads a table"
printf 'preis|tag|farbe\n"1.500,00 €"|01.11.2026|lila\n' >neu.csv
"$program" predict preise neu.csv >log 2>&1 && grep -q "read with the delimiter '|', not ';'" log &&
    grep -q "column 'farbe' has 'lila' in 1 of 1 rows, which training did not see" log || fail "predict on another file"
python3 -c '
import random
random.seed(2)
print("".join(random.choice(["the cat ", "sat on ", "a mat. "]) for i in range(2000)))' >letters.txt
# A table in a .txt; --task, --label and data.source decide how a file is read, whatever its name.
tr ';' '|' <preise.csv >preise.txt
"$program" init preise.txt -o of-txt.yaml >log 2>&1 && grep -q 'source: csv' of-txt.yaml &&
    grep -q 'read as a table, as its lines are rows: --task text reads it as a text' log || fail "a table in a .txt"
"$program" init preise.txt --task text -o - >log 2>&1 && grep -q 'source: text' log || fail "--task text of a table"
printf 'a\tb\n' >pairs.txt && for i in {1..60}; do printf 'dog\tHund\ncat\tKatze\n'; done >>pairs.txt
for given in "--label b" "--task classify" "--set data.source=csv"; do
  "$program" init pairs.txt $given -o - >log 2>&1 && grep -q 'source: csv' log || fail "init $given"
done
"$program" init letters.txt >log 2>&1 && grep -q 'tokenizer: chars' letters.yaml && grep -q 'transformer:' letters.yaml || fail "a text"
"$program" train letters.yaml --quiet --set train.steps=3 --set eval.every=3 --run letters >log 2>&1 || fail "the recipe of a text does not train"
mkdir texts && cp letters.txt texts/a.txt
for i in {1..20}; do cp letters.txt texts/$i.txt; done
"$program" init texts -o - >log 2>&1 && grep -q 'source: text' log || fail "a folder of texts"
printf '\377\376\200 %.0s' {1..400} >odd && "$program" init odd --task text -o - >log 2>&1 && grep -q 'tokenizer: bytes' log || fail "what is not UTF-8"
# Accuracy chooses the checkpoint of a table where validation is large enough to tell, else the loss.
python3 -c '
import random
random.seed(5)
for n in 3000, 4200:
    with open("rows%d.csv" % n, "w") as f:
        f.write("a,b,kind\n")
        for i in range(n): f.write("%.3f,%.3f,%s\n" % (random.random(), random.random(), "xy"[i % 2]))'
"$program" init rows3000.csv >log 2>&1 && grep -q '^  metric: loss  .*# 270 validation examples' rows3000.yaml || fail "270 rows choose by loss"
"$program" init rows4200.csv >log 2>&1 && ! grep -q '^  metric' rows4200.yaml || fail "378 rows choose by accuracy"
refused 4 "letters.txt/x" init letters.txt/x
refused 4 "can't create 'nowhere/x.yaml': " init digits -o nowhere/x.yaml

# ---- a run in progress
steps=4000000
start()
{
    "$program" train digits --quiet --run "$1" --set train.steps=$steps --set eval.every=20000 --set eval.predictions=0 >train.log 2>&1 &
    pid=$!
    for ((i = 0; i < 200; i++)); do [ ! -s "$1/metrics.jsonl" ] || return 0; sleep 0.1; done
    cp train.log log; fail "the run does not begin"
}
ended()
{
    local rc=0
    wait $pid || rc=$?
    pid=
    [ $rc = 130 ] || { cp train.log log; fail "the run ended with $rc, not 130"; }
    [ "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1] + "/run.json"))["status"])' "$1")" = interrupted ] || fail "status of $1"
}
start run
"$program" watch run --once >log 2>&1 || fail "watch --once"
grep -q '^run: running' log && grep -q '^step [0-9]*/4000000  loss' log || fail "the picture"
"$program" watch run --checkpoint-now >log 2>&1 || fail "--checkpoint-now"
for ((i = 0; i < 100; i++)); do [ -z "$(ls run/checkpoints 2>/dev/null)" ] || break; sleep 0.1; done
[ -n "$(ls run/checkpoints)" ] || fail "no checkpoint was saved on request"
[ ! -e run/control ] || fail "the order was not taken away"

# The page of a run, begun before it: it reloads itself while the run goes on, and not when it has ended.
"$program" watch live --html >page.log 2>&1 &
watcher=$!
sleep 0.2
"$program" train digits --quiet --run live --set train.steps=2000000 --set eval.every=20000 --set eval.predictions=0 >live.log 2>&1 &
live=$!
for ((i = 0; i < 200; i++)); do ! grep -q 'http-equiv="refresh"' live/report.html 2>/dev/null || break; sleep 0.1; done
grep -q 'http-equiv="refresh"' live/report.html && grep -q 'waiting for the run to begin' page.log || { cp page.log log; fail "the page of a run in progress"; }
kill -9 $live && wait $live 2>/dev/null || true
live=
wait $watcher || { cp page.log log; fail "watch --html"; }
watcher=
! grep -q 'http-equiv="refresh"' live/report.html && grep -q 'the run has ended' page.log || { cp page.log log; fail "the last page"; }

# In a terminal: 20 columns, then 100; keys; put back as it was.
python3 - "$program" >log 2>&1 <<'P' || fail "watch in a terminal"
import fcntl, os, pty, re, select, struct, sys, termios, time
def size(fd, cols, rows): fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.environ["LC_ALL"] = "C.UTF-8"
    os.execv(sys.argv[1], ["vktrain", "watch", "run"])
size(fd, 20, 12)
def read(seconds):
    out, end = b"", time.time() + seconds
    while time.time() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try: chunk = os.read(fd, 65536)
            except OSError: break
            if not chunk: break
            out += chunk
    return out.decode("utf-8", "replace")
def widest(text): return max(len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", l)) for l in text.replace("\r", "").split("\n"))
before = termios.tcgetattr(fd)[3]
narrow = read(2.5)
assert not termios.tcgetattr(fd)[3] & termios.ECHO
assert "run: running" in narrow, narrow
last = narrow.split("\x1b[H")[-1]
assert widest(last) <= 20, (widest(last), last)
size(fd, 100, 40)
wide = read(2.5).split("\x1b[H")[-1]
assert 60 < widest(wide) <= 100, (widest(wide), wide)
os.write(fd, b"s")
asked = read(2)
assert "will stop after its next evaluation" in asked, asked
os.write(fd, b"q")
rest = read(2)
assert "\x1b[?25h" in rest
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
P
ended run
"$program" watch run --once >log 2>&1 && grep -q '^run: interrupted' log || fail "watch after the end"
python3 - <<'P' || { cat log; fail "the curve is a mean of losses"; }
import json
losses = [json.loads(l).get("loss") for l in open("run/metrics.jsonl") if '"step"' in l]
losses = [v for v in losses if isinstance(v, float)]
lines = open("log").read().split("\n")
top = float(lines[next(i for i, l in enumerate(lines) if l.startswith("loss: training")) + 1].split()[0])
assert len(losses) > 1000 and top <= max(losses) * 1.01, (len(losses), top, max(losses))
P
refused 2 'no run is in progress' watch run --stop-after-evaluation
refused 2 'no run is in progress' watch run --stop-now
refused 2 'exclude each other' watch run --stop-now --stop-after-evaluation
refused 2 'needs a terminal' watch run
refused 2 'exclude each other' watch run --html --once
refused 4 'nowhere' watch nowhere --once
refused 2 'at least 1' watch run --every 0

# ---- stopped at once: with a checkpoint of the last step, and long before the next evaluation
start now
"$program" watch now --stop-now >log 2>&1 || fail "--stop-now"
ended now
python3 - <<'P' || fail "--stop-now saves the last step"
import json, os
run = json.load(open("now/run.json"))
assert run["step"] % 20000, run["step"]
assert os.path.isdir("now/checkpoints/step-%08d" % run["step"]), os.listdir("now/checkpoints")
P

# ---- what is no order is thrown away; a killed run is said to be one
start killed
echo 'rm -rf /' >killed/control
for ((i = 0; i < 50; i++)); do [ -e killed/control ] || break; sleep 0.1; done
[ ! -e killed/control ] || fail "an odd order stays"
kill -9 $pid
wait $pid 2>/dev/null || true
pid=
grep -q 'held an unknown request' train.log || { cp train.log log; fail "an odd order is not said"; }
"$program" watch killed --once >log 2>&1 && grep -q 'killed (its process has ended)' log || fail "a killed run"
echo "test_watch: passed"
