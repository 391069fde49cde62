#!/usr/bin/env bash
# comm with two to four ranks: sums, gathers, a rank that fails, texts that differ, a rank that is stopped.
# usage: test_ranks.sh TEST_COMM BENCH_SUMS
set -euo pipefail
program=$1 sums=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0
say() { printf 'test_ranks: %s\n' "$*" >&2; bad=1; }

launch() { # launch RANKS WORD [PROGRAM]: its output is in the folder, its exit code in $code
  local program=${3:-$program}
  code=0
  if mpirun --version 2>&1 | grep -q 'Open MPI'; then
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 150 mpirun --oversubscribe -n "$1" "$program" "$2" \
      >"$folder/out" 2>"$folder/err" || code=$?
  else
    timeout 150 mpiexec -n "$1" "$program" "$2" >"$folder/out" 2>"$folder/err" || code=$?
  fi
}

for n in 2 3 4; do
  launch $n all
  [ $code = 0 ] || { say "$n ranks: exit code $code"; cat "$folder/err" >&2; }
done

launch 2 3 "$sums" # three pairs
[ $code = 0 ] && grep -q '^vktrain .* 2 ranks, 40 MB: .* of MPI.s median' "$folder/out" || { say "bench_sums: $code"; cat "$folder/err" >&2; }

launch 3 fails
[ $code = 9 ] || say "a rank that fails: exit code $code, not that of VKT_E_FORMAT"
grep -q 'rank 2 (.*): planted' "$folder/err" || { say "rank 0 does not say which rank failed"; cat "$folder/err" >&2; }

launch 3 alike
[ $code = 1 ] && ! grep -q 'rank . (.*): found by all' "$folder/err" || { say "what all ranks find: $code"; cat "$folder/err" >&2; }

launch 2 differs
[ $code = 1 ] || say "texts that differ: exit code $code"
grep -q "rank 1 (.*): its recipe is not that of rank 0: 'lr: 2' here, 'lr: 1' there" "$folder/err" || { say "no word of what differs"; cat "$folder/err" >&2; }

# A rank that is stopped: found after 20 s, and all end by themselves. How long that takes beside other programs is theirs, too.
launch 3 hangs & job=$!
for _ in $(seq 100); do
  pid=$(sed -n 's/^pid //p' "$folder/out" 2>/dev/null || true)
  [ -z "$pid" ] || break
  sleep 0.1
done
start=$SECONDS
kill -STOP "$pid"
wait $job || true
[ $((SECONDS - start)) -lt 120 ] || say "a rank that is stopped is found after $((SECONDS - start)) s"
grep -q 'rank 1 (.*) has not answered for 20 s' "$folder/err" || { say "no word of the rank that is stopped"; cat "$folder/err" >&2; }

[ $bad = 0 ] && echo "test_ranks: ok"
exit $bad
