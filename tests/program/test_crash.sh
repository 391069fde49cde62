#!/usr/bin/env bash
# Killed at any moment, a run resumes to the same bits. kill -9 at random times, SIGINT and SIGTERM, a full
# disk, a read-only folder. usage: test_crash.sh PROGRAM [KILLS [SEED]]; VKT_DEVICE chooses the device.
set -euo pipefail

program=$(realpath "${1:?the program}")
kills=${2:-12}
seed=${3:-$(date +%s)}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-crash.XXXXXX")
mounted=
cleanup()
{
    [ -z "$mounted" ] || umount "$mounted" || true
    rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
echo "test_crash: seed $seed (test_crash.sh PROGRAM $kills $seed repeats the times)"
RANDOM=$((seed % 32768))

fail()
{
    echo "test_crash: FAILED: $*" >&2
    [ ! -s log ] || sed 's/^/  log: /' log >&2
    exit 1
}

steps=200
# In the background its process id is the program's: a pipe or redirection outside would put a shell between.
train_seen()
{
    local run=("$program" train digits --quiet --set eval.every=5 --set train.steps=$steps "$@")
    if [ "$BASHPID" = $$ ]; then "${run[@]}"; else exec "${run[@]}"; fi
}
train()
{
    train_seen "$@" >>log 2>&1
}

# Every step once, in order, the concluding evaluation once; every evaluation once.
check_metrics()
{
    awk -v steps=$steps -v who="$1" '
        { split($0, a, "\"step\":"); step = a[2] + 0 }
        /^{"kind":"train"/ { n++; if (step != n) { print who ": training row " n " is step " step; bad = 1 } }
        /^{"kind":"eval"/ { if (seen[step " " ($0 ~ /"split":"test"/)]++) { print who ": two evaluations of one kind at step " step; bad = 1 } ; evals++ }
        !/}$/ { print who ": half a line: " $0; bad = 1 }
        END { if (n != steps) { print who ": " n " training rows, not " steps; bad = 1 }
              if (evals != steps / 5 + 1) { print who ": " evals " evaluations, not " steps / 5 + 1; bad = 1 }
              exit bad }' "$1/metrics.jsonl" || fail "metrics of $1"
    [ "$(grep -c '^train,' "$1/metrics.csv")" = $steps ] || fail "metrics.csv of $1"
}

last=checkpoints/step-00000$steps
# same RUN: it ended as the straight run did, and left nothing over.
same()
{
    local f
    for f in model.safetensors optimizer.safetensors; do
        cmp "straight/$last/$f" "$1/$last/$f" || fail "$1 differs from the straight run in $f"
    done
    [ "$(readlink straight/best)" = "$(readlink "$1/best")" ] || fail "$1: best is $(readlink "$1/best"), not $(readlink straight/best)"
    [ "$(ls straight/checkpoints)" = "$(ls -A "$1/checkpoints")" ] || fail "$1 has other checkpoints: $(ls -A "$1/checkpoints" | tr '\n' ' ')"
    check_metrics "$1"
    grep -q '"status": "done"' "$1/run.json" || fail "$1/run.json is not done"
}

began=$(date +%s%N)
train --run straight || fail "the straight run"
took_ms=$((($(date +%s%N) - began) / 1000000))
check_metrics straight
# The comparison can fail: another seed gives other bits.
train --run other --set seed=2 || fail "a run with another seed"
! cmp -s "straight/$last/model.safetensors" "other/$last/model.safetensors" || fail "another seed gives the same weights: this test sees nothing"
rm -rf other

# ---- kill -9

killed=0
round=0
while [ $killed -lt "$kills" ]; do
    round=$((round + 1))
    run=killed-$round
    flag=
    while :; do
        : >log
        pause=$((RANDOM * took_ms * 6 / 10 / 32768))
        train_seen --run $run $flag >>log 2>&1 &
        pid=$!
        sleep "$(printf '%d.%03d' $((pause / 1000)) $((pause % 1000)))"
        kill -9 $pid 2>/dev/null || true
        rc=0
        { wait $pid || rc=$?; } 2>/dev/null
        if [ $rc = 0 ]; then break; fi
        [ $rc = 137 ] || fail "run $run: exit $rc, neither done nor killed"
        killed=$((killed + 1))
        at=$(ls $run/checkpoints 2>/dev/null | tail -1 || true)
        echo "test_crash: $run killed after $pause ms (${at:-no checkpoint})"
        # Whatever the moment, what is there can be used, if anything is.
        if [ -n "$at" ]; then "$program" eval $run --quiet >>log 2>&1 || fail "eval of $run after a kill: exit $?"; fi
        flag=
        if [ -e $run ]; then flag=--resume; fi
    done
    same $run
done
echo "test_crash: $killed kills in $round runs, each ended as the straight run did"

# ---- signals

for signal in INT TERM HUP; do
    : >log
    train_seen --run sig-$signal >>log 2>&1 &
    pid=$!
    for _ in $(seq 1 600); do
        [ "$(grep -c train sig-$signal/metrics.jsonl 2>/dev/null || true)" -ge 7 ] 2>/dev/null && break # no file yet: no number
        sleep 0.01
    done
    rc=0
    kill -$signal $pid || fail "the run ended before SIG$signal"
    wait $pid || rc=$?
    [ $rc = 130 ] || fail "SIG$signal: exit $rc, not 130"
    grep -q '"status": "interrupted"' sig-$signal/run.json || fail "SIG$signal: run.json is not interrupted"
    [ ! -e sig-$signal/$last ] || fail "SIG$signal came after the end"
    train --run sig-$signal --resume || fail "resuming after SIG$signal: exit $?"
    same sig-$signal
done
echo "test_crash: SIGINT, SIGTERM and SIGHUP: exit 130, resumed to the same bits"

# Twice: at once, and what it says of checkpoints is true of a run that has none.
: >log
train_seen --run sig-twice --set train.steps=100000 --set eval.every=100000 >>log 2>&1 &
pid=$!
for _ in $(seq 1 600); do [ -s sig-twice/metrics.jsonl ] && break; sleep 0.01; done
rc=0
kill -STOP $pid; kill -INT $pid; kill -TERM $pid; kill -CONT $pid # both wait for it
wait $pid || rc=$?
[ $rc = 130 ] || fail "two signals: exit $rc, not 130"
! grep -q '"status": "interrupted"' sig-twice/run.json || fail "after two signals the step was finished and a checkpoint saved"
grep -q 'stopped at once; the checkpoints that there are, if any, are complete' log || fail "a second signal does not stop at once"

# ---- resuming what is done changes nothing
: >log
train --run straight --resume || fail "resuming a finished run: exit $?"
cp -r straight again
same again

# one_error RC TEXT CMD...: the command ends with RC and one error line that has TEXT.
one_error()
{
    local want=$1 text=$2 rc=0
    shift 2
    "$@" >out 2>err || rc=$?
    cp err log
    [ $rc = "$want" ] || fail "exit $rc, not $want: $*"
    [ "$(grep -c 'error:' err)" = 1 ] || fail "not one error line: $*"
    grep 'error:' err | grep -q -- "$text" || fail "the error lacks '$text': $*"
}

# ---- a limit on the size of files: an error of the write, not a signal that ends the process (a CPU driver's memory is a file, too)
head -c 30000 "$program" | tr -c a-z ' ' >novel.txt
(ulimit -f 16; one_error 4 'File too large' "$program" pack novel.txt --tokenizer bytes --out packed --quiet) || exit 1 # KiB
[ ! -e packed ] || fail "a limit on files left half a pack"

# ---- a full disk, a read-only folder
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=1200k vkt-crash small 2>/dev/null; then
    mounted=$work/small
    one_error 4 'No space left' train_seen --run small/run
    [ -n "$(ls small/run/checkpoints)" ] || fail "a full disk left no checkpoint"
    [ "$(ls -A small/run/checkpoints)" = "$(ls small/run/checkpoints)" ] || fail "a full disk left rests of a checkpoint"
    for c in small/run/checkpoints/*; do "$program" eval "$c" --quiet >>log 2>&1 || fail "eval of $c after a full disk"; done
    # Full for the smallest file too.
    dd if=/dev/zero of=small/filler bs=1k 2>/dev/null || true
    one_error 4 'No space left\|disk full' train_seen --run small/run --resume
    one_error 4 'No space left\|disk full' train_seen --run small/second
    for c in small/run/checkpoints/*; do "$program" eval "$c" --quiet >>log 2>&1 || fail "eval of $c on a full disk"; done
    rm small/filler
    rm -rf small/second
    mount -o remount,size=64m small
    train --run small/run --resume || fail "resuming with room again: exit $?"
    cp -r small/run roomy
    same roomy
    echo "test_crash: full disk: exit 4, checkpoints whole, resumed to the same bits"
    mount -o remount,ro small
    one_error 4 'Read-only' train_seen --run small/run --resume --set train.steps=210
    one_error 4 'Read-only' train_seen --run small/new
    "$program" eval small/run --quiet >>log 2>&1 || fail "eval of a read-only run"
    echo "test_crash: read-only folder: exit 4, the run can be read"
    umount small
    mounted=
else
    echo "test_crash: SKIPPED: a full disk (needs root and mount)"
    if [ "$(id -u)" != 0 ]; then
        chmod 555 small
        one_error 4 'denied' train_seen --run small/new
        echo "test_crash: read-only folder: exit 4"
    else
        echo "test_crash: SKIPPED: a read-only folder (root writes everywhere, and mount is not allowed)"
    fi
fi
echo "test_crash: passed"
