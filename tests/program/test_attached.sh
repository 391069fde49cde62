#!/usr/bin/env bash
# tools/build/verify-attached, which .github's workflow runs on an issue's text: it downloads attachments and nothing else, and says which
# files are refused. usage: test_attached.sh VKTRAIN
set -euo pipefail
vktrain=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-attached-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
bad=0 n=0
printf '#!/bin/sh\necho "$1" >>"%s/asked"\ncase $1 in */gone*) exit 1 ;; *v01*) cp "%s/tests/files/v0.1/bench.json" "$2" ;; *) echo nothing >"$2" ;; esac\n' \
    "$work" "$root" >fetch
chmod +x fetch
# case TEXT WANT...: the answer to the issue's text has these lines in it
check()
{
    local text=$1
    n=$((n + 1))
    shift
    : >asked
    printf '%s' "$text" | FETCH="$work/fetch" "$root/tools/build/verify-attached" "$vktrain" >said || { echo "exit code"; bad=$((bad + 1)); }
    for want; do
        grep -qF -- "$want" said || { echo "test_attached: FAILED: no '$want' in:"; cat said; bad=$((bad + 1)); }
    done
}
at=https://github.com/user-attachments/files
check 'nothing here' 'No file is attached'
[ ! -s asked ] || bad=$((bad + 1))
check "see [v01.json]($at/123/v01.json) and $at/123/v01.json" '    1-v01.json: refused' 'it has no digest'
[ "$(wc -l <asked)" = 1 ] || { echo "test_attached: FAILED: downloaded twice"; bad=$((bad + 1)); }
check "$at/1/other.txt" "other.txt': line 1"
check "$at/1/gone.json" '`gone.json` could not be downloaded'
check "$at/1/gone.json $at/2/v01.json" '`gone.json` could not be downloaded' '    2-v01.json: refused'
! grep -qE '^ {0,3}[-*+>]|^ {0,3}[0-9]+[.)]' said || { echo "test_attached: FAILED: a list, in which what is indented is Markdown:"; cat said; bad=$((bad + 1)); }
[ -z "$(grep -A1 gone said | tail -1)" ] || { echo "test_attached: FAILED: no blank line after what is missing"; bad=$((bad + 1)); }
check "https://example.org/a.json $at/x/a.json \$(touch hurt) \`touch hurt\` $at/1/a;touch hurt" '1-a'
[ ! -e hurt ] && ! grep -q example asked || { echo "test_attached: FAILED: the text was run, or another address was asked"; bad=$((bad + 1)); }
check "$(for i in 1 2 3 4 5 6 7; do echo "$at/$i/v01.json"; done)" '5-v01.json'
[ "$(wc -l <asked)" = 5 ] || { echo "test_attached: FAILED: more than five"; bad=$((bad + 1)); }
echo "test_attached: $n cases, $bad failed"
[ $bad = 0 ]
