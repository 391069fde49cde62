#!/usr/bin/env bash
# The table of runs: filters, order, formats, comparing, the recipe's commit; 2,000 runs. usage: test_runs.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-runs.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_runs: FAILED: $*" >&2; sed 's/^/  log: /' log | tail -20 >&2; exit 1; }
runs() { "$program" runs "$@" >log 2>&1 || fail "runs $*"; }
has() { grep -q -- "$1" log || fail "lacks '$1'"; }
refused()
{
    local want=$1 text=$2 rc=0
    shift 2
    "$program" runs "$@" >out 2>log || rc=$?
    [ $rc = "$want" ] || fail "exit $rc, not $want: $*"
    [ "$(grep -c 'error:' log)" = 1 ] && grep 'error:' log | grep -q -- "$text" || fail "the error lacks '$text': $*"
}

"$program" train digits --quiet --set train.steps=20 --run runs/a >log 2>&1 || fail "training"
# ---- resuming keeps what the run began with, again and again, but for what is given anew
"$program" train digits --quiet --set train.steps=4 --set 'note=it'\''s mine' --set optim.lr=0.01 --run kept >log 2>&1 || fail "a run with values"
for steps in 6 8; do
    "$program" train digits --run kept --resume --set train.steps=$steps >log 2>&1 || fail "resuming with values"
    grep -q 'began with --set optim.lr=0.01, which is kept' log && ! grep -q 'began with --set train.steps' log || fail "which values are kept"
    "$program" runs kept --show optim.lr --show note --json >log 2>&1
    grep -q '"optim.lr": "0.01"' log && grep -q "\"note\": \"it's mine\"" log && grep -q "\"total\": $steps" log || fail "the values of a resumed run"
done
# ---- a note that is changed stays, also when the run goes on, and takes no part of another
runs kept --note 'the labels were mended: ü'
"$program" train digits --run kept --resume --set train.steps=10 >log 2>&1 || fail "resuming with a note"
runs kept --json; has '"note": "the labels were mended: ü"'; has '"total": 10'
[ "$(cat kept/note.txt)" = 'the labels were mended: ü' ] || fail "note.txt"
# ---- a note that is given on resuming counts, also one that the run has had before; nobody changes it later
for note in third "it's mine"; do
    runs kept --note second
    "$program" train digits --run kept --resume --set "note=$note" >log 2>&1 || fail "resuming with another note"
    runs kept --json; has "\"note\": \"$note\""; [ ! -e kept/note.txt ] || fail "note.txt is left"
    "$program" train digits --run kept --resume >log 2>&1 || fail "resuming once more"
    runs kept --json; has "\"note\": \"$note\""
done
"$program" init digits -o own.yaml --set note=fourth >log 2>&1 || fail "init"
"$program" train own.yaml --quiet --set train.steps=2 --run edited >log 2>&1 || fail "a recipe with a note"
runs edited --note second
sed -i 's/^note: *fourth/note: fifth/' own.yaml
"$program" train own.yaml --quiet --run edited --resume --set train.steps=3 >log 2>&1 || fail "resuming with another recipe"
runs edited --json; has '"note": "fifth"'
runs kept --note x; grep -qx 'kept: the note is changed' log || fail "what --note says"
runs kept --note x --quiet; [ ! -s log ] || fail "--note --quiet"
runs kept --note ''; grep -qx 'kept: the note is empty from now on' log || fail "what an empty --note says"
runs kept --json; has '"note": ""'
for flag in --json --csv --markdown --compare --studies --trials '--filter status=done' '--sort best' '--show note'; do
    refused 2 "leave out ${flag%% *}" kept --note lost $flag
done
[ -z "$(cat kept/note.txt)" ] || fail "a refused --note"
refused 2 'changes the note of one run' --note x
refused 2 'changes the note of one run' kept runs/a --note x
refused 2 'no run.s folder' runs --note x
refused 2 'one line of UTF-8' kept --note "$(printf 'a\nb')"
[ ! -e runs/note.txt ] || fail "a note beside the runs"
for b in b:0.1:200:0.01 c:0.5:30:0.003 d:null:0:0.003; do
    IFS=: read -r name best step lr <<<"$b"
    mkdir "runs/$name"
    python3 - "$name" "$best" "$step" "$lr" <<'P'
import json, sys
name, best, step, lr = sys.argv[1:]
j = json.load(open("runs/a/run.json"))
j.update(name="digits|" + name, best_metric=json.loads(best), step=int(step), status="done" if step != "0" else "failed",
         error=None if step != "0" else "numeric", config=j["config"].replace("lr: 0.003", "lr: " + lr))
json.dump(j, open("runs/" + name + "/run.json", "w"))
P
done

runs
[ "$(grep -c '^runs/' log)" = 5 ] || fail "four runs and an error line"
runs --sort best
[ "$(grep -o '^runs/[a-d] ' log | tr -d '\n')" = 'runs/b runs/c runs/a runs/d ' ] || fail "order by best; what has none comes last"
runs --sort -best
[ "$(grep -o '^runs/[a-d] ' log | tr -d '\n')" = 'runs/a runs/c runs/b runs/d ' ] || fail "falling order"
runs --filter 'optim.lr>=0.01' --show optim.lr
[ "$(grep -c '^runs/' log)" = 1 ] && has '0\.01$' || fail "filter by an option"
runs --filter status=done --filter 'best<1' --filter name~digits --filter run!=runs/c
[ "$(grep -c '^runs/' log)" = 2 ] || fail "four filters"
runs --filter status=lost; has 'no runs that fit'
# a configuration that another program wrote: values are shown as this one writes them
mkdir runs/e
python3 - <<'P'
import json
j = json.load(open("runs/a/run.json"))
j.update(started="1999-01-01T00:00:00Z", config=j["config"].replace("lr: 0.003", "lr: 0.00300").replace("decay_all: false", "decay_all: no"))
json.dump(j, open("runs/e/run.json", "w"))
P
runs --filter run=runs/e --show optim.lr --show optim.decay_all
has ' 0\.003  *false$'
rm -r runs/e
runs --markdown --show optim.rule; has '^| run | name '; has 'digits\\|b'
runs --csv --show optim.lr
python3 -c 'import csv; r = list(csv.DictReader(open("log"))); assert len(r) == 4 and r[1]["optim.lr"] and "commit" in r[0], r' || fail "CSV"
runs --json
python3 -c 'import json; r = json.load(open("log"))["runs"]; assert len(r) == 4 and any(x["best"] is None for x in r) and "recipe" in r[0]' || fail "JSON"
runs runs/a runs/b --compare; has '^optim.lr  *0.003  *0.01'
! grep -q '^optim.rule' log || fail "an option that is the same"
! grep -q '^model' log && has '^parameters  *26122  *26122' || fail "a model that is the same"
cp -r runs/a wide && sed -i 's/out: 128/out: 64/; s/dropout: {p: 0.1}/gelu/' wide/run.json
runs runs/a wide --compare; has '^model.1.out (linear)  *128  *64' && has '^model.3: dropout  *p: 0.1  *-' && has '^model.3: gelu  *-  *yes' || fail "how models differ"
rm -r wide
refused 2 "did you mean 'best'" --sort bst
refused 2 "did you mean 'optim.lr'" --filter optm.lr=1
refused 2 'KEY=VALUE is expected' --filter nothing
refused 2 'KEY=VALUE is expected' --filter =1
refused 2 'two to six runs' runs/a --compare
refused 2 'only one of' --csv --json
refused 4 'nowhere' nowhere
# ---- what a run.json or a class name holds is text, on a terminal and in a spreadsheet
cp -r runs/a runs/e
python3 - <<'P'
import json
j = json.load(open("runs/e/run.json"))
j.update(name="\x1b]0;gone\x07", note="=1+1", device="\u009b31m")
json.dump(j, open("runs/e/run.json", "w"))
P
clean() { if LC_ALL=C grep -q "$(printf '\033\|\007\|\302\233')" log; then fail "$1: a terminal's commands"; fi; }
for form in --csv --markdown "" ; do runs runs/e $form; clean "runs $form"; done
runs runs/e --csv
grep -q "\"'=1+1\"" log || fail "runs --csv: a formula"
rm -r runs/e
{ echo a,y; for i in $(seq 1 40); do printf '%s,%s\n' "$i" "$([ $((i % 2)) = 0 ] && printf '\033[31mred' || echo '=2+2')"; done; } >t.csv
printf 'name: t\ndata: { source: csv, path: t.csv, valid_fraction: 0.2 }\nmodel: [ linear ]\ntrain: { steps: 2, batch: 8 }\n' >t.yaml
"$program" train t.yaml --quiet --run runs/t >log 2>&1 || fail "training on t.csv"
for form in --csv ''; do "$program" predict runs/t t.csv $form >log 2>&1 || fail "predict $form"; clean "predict $form"; done
"$program" predict runs/t t.csv --csv >log
grep -q "'=2+2" log || fail "predict --csv: a formula"
rm -r runs/t
echo '{' >runs/d/run.json
runs; has 'damaged'
runs --filter status!=done --json

# ---- a recipe in a git checkout: its commit, and what was not committed
if command -v git >/dev/null; then
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
    mkdir -p repo/deep
    "$program" recipes digits >repo/deep/mine.yaml
    (cd repo && git init -q && git add -A && git -c user.name=t -c user.email=t@t commit -qm one)
    head=$(git -C repo rev-parse HEAD)
    tracked() { python3 -c 'import json,sys; j = json.load(open(sys.argv[1] + "/run.json")); print(j["commit"], repr(j["changes"]))' "$1"; }
    train() { "$program" train "$1" --quiet --set train.steps=2 --run "$2" >log 2>&1 || fail "training $1"; }
    train repo/deep/mine.yaml clean
    [ "$(tracked clean)" = "$head ''" ] || fail "a clean checkout: $(tracked clean)"
    git -C repo pack-refs --all
    echo '# changed' >>repo/deep/mine.yaml
    (cd repo/deep && train mine.yaml "$work/dirty")
    [ "$(tracked dirty)" = "$head ' M deep/mine.yaml\n'" ] || fail "a change: $(tracked dirty)"
    grep -q '^+# changed' dirty/uncommitted.diff && [ ! -e clean/uncommitted.diff ] || fail "the changes are no diff in the run's folder"
    git -C repo worktree add -q ../linked
    train linked/deep/mine.yaml linked-run
    [ "$(tracked linked-run)" = "$head ''" ] || fail "a linked worktree: $(tracked linked-run)"
    # Programs that the checkout's settings name are not run: filters are what git can't be told to leave out.
    (cd repo && git config diff.external "touch $work/ran; false" && git config core.fsmonitor "touch $work/ran; false")
    (cd repo/deep && train mine.yaml "$work/external") && grep -q '^+# changed' external/uncommitted.diff || fail "a diff where an external one is set"
    (cd repo && git config filter.evil.clean "touch $work/ran; cat" && echo '* filter=evil' >.git/info/attributes && touch deep/mine.yaml)
    (cd repo/deep && train mine.yaml "$work/filter")
    [ "$(tracked filter)" = "$head None" ] && [ ! -e filter/uncommitted.diff ] || fail "a checkout with a filter: $(tracked filter)"
    [ ! -e ran ] || fail "a program of the checkout's settings ran"
    # What .git says is data: no path out of it, no nonsense taken for a commit.
    echo 'ref: refs/../../../secret' >repo/.git/HEAD
    train repo/deep/mine.yaml odd
    [ "$(tracked odd)" = "None None" ] || fail "an odd HEAD: $(tracked odd)"
    train digits built-in
    [ "$(tracked built-in)" = "None None" ] || fail "a built-in recipe lies in no checkout"
fi

# ---- 2,000 runs
mkdir many
python3 - <<'P'
import os
text = open("runs/b/run.json").read()
for i in range(2000):
    os.mkdir(f"many/{i}")
    open(f"many/{i}/run.json", "w").write(text)
P
start=$(date +%s%N)
runs many
echo "test_runs: 2,000 runs listed in $((($(date +%s%N) - start) / 1000000)) ms"
[ "$(grep -c '^many/' log)" = 2000 ] || fail "not 2,000 runs"
# ---- on a terminal what has no room is left out, in order, and said; in a pipe nothing is
on_terminal()
{
    python3 - "$1" "$program" runs runs >log <<'P'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
try:
    while piece := os.read(fd, 4096): text += piece
except OSError: pass
print(text.decode().replace("\r", ""), end="")
os._exit(os.waitpid(pid, 0)[1] != 0)
P
}
runs runs && has '^run .* device .*started (UTC)$' && ! grep -q 'left out' log || fail "columns are missing in a pipe"
on_terminal 200 && has 'started (UTC)' && ! grep -q 'left out' log || fail "a wide terminal"
on_terminal 80 && has 'left out, as the terminal is narrow: linear, device' && has 'name .*status' || fail "80 columns"
awk '/^runs.[a-d] / && length > 80 { exit 1 }' log || fail "a line of more than 80 columns"
on_terminal 24 && has 'left out, as the terminal is narrow: name, status, steps, metric, linear, device, started (UTC)' || fail "24 columns"

# ---- several threads read them: the same list each time, from deeper folders too
mkdir -p many/deep/er && mv many/1??? many/deep/er
runs many --csv && cp log first
runs many --csv && cmp -s first log || fail "the order differs from time to time"
[ "$(grep -c '^many/deep/er/1[0-9]*,' log)" = 1000 ] && [ "$(grep -c '^many/' log)" = 2000 ] || fail "runs in deeper folders"
# ---- a folder that can't be read hides its own runs alone, and is named; root may read all
mkdir -p shut/in
cp -r runs/a shut/open && cp -r runs/a shut/in/of-another && cp -r runs/a shut/too
chmod 0 shut/in shut/too
cp "$program" vktrain && chmod 755 . vktrain && chmod -R a+rX shut/open && chmod 755 shut
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=1234 --regid=1234 --clear-groups)
if [ "$(id -u)" != 0 ] || "${as[@]}" ./vktrain --version >/dev/null 2>&1; then
    "${as[@]}" ./vktrain runs shut --csv >out 2>log || fail "the runs of a folder with some that are shut"
    [ "$(cut -d, -f1 out | tail -n +2)" = shut/open ] || fail "the runs that can be read"
    has "warning: .*'shut/in/run.json': Permission denied, nor 1 folder more; runs in them are not listed"
    ! "${as[@]}" ./vktrain runs shut/too >out 2>log && grep -q 'error: .*Permission denied' log || fail "the folder that is named can't be read"
else
    echo "test_runs: no setpriv here: what can't be read was not tested"
fi
chmod 700 shut/in shut/too
echo "test_runs: passed"
