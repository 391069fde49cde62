#!/usr/bin/env bash
# The whole guide, shortened: init, train, the studies, reports; what it recommends is measured at its end and must be
# at least as good as the starter recipe. usage: test_guide.sh PROGRAM
set -euo pipefail

program=$(realpath "${1:?the program}")
guide=$(realpath "$(dirname "$0")/../../tools/guide")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-guide.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "test_guide: FAILED: $*" >&2; tail -40 log >&2; exit 1; }
"$guide" --short --program "$program" work >log 2>&1 || fail "exit $?"
for page in runs/first runs/chosen studies/lr studies/search; do
    [ -s "work/$page/report.html" ] || fail "no report of $page"
done
[ "$(grep -c '^starter: \|^chosen: ' log)" = 2 ] || fail "the comparison at the end"
grep '^starter: \|^chosen: \|^settings: \|^done in' log
rc=0
"$guide" --program "$program" work >log 2>&1 || rc=$?
[ $rc = 2 ] && grep -q 'already exists' log || fail "a folder that is there"
rc=0
"$guide" --program "$program" --steps few other >log 2>&1 || rc=$?
[ $rc = 2 ] && grep -q 'a whole number' log && [ ! -e other ] || fail "a budget that is no number"
echo "test_guide: passed"
