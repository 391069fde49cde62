# shellcheck shell=bash
# Sourced by tests of what users get wrong: runs the program in an empty folder and holds what it says against the rule:
# one error line that says what, where and what to do, and the exit code of that kind of error. $1: the program.
program=$(realpath "${1:?the program}")
source=$(realpath "$(dirname "$0")/..")
test=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-bad.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
n=0
bad=0

# refused RC TEXT ARGS...: exits with RC; one line "vktrain: error: ..." on stderr that has TEXT (a basic regular
# expression), nothing after it, no line over 400 characters; no backtrace, no signal.
refused()
{
    local want=$1 text=$2 rc=0 lines
    shift 2
    n=$((n + 1))
    timeout 120 "$program" "$@" >out 2>err </dev/null || rc=$?
    lines=$(grep -c 'error:' err || true)
    if [ $rc = "$want" ] && [ "$lines" = 1 ] && grep 'error:' err | grep -q -- "$text" && ! grep -q '.\{400\}' err &&
        ! grep -qi 'internal error\|sanitizer' err; then
        return 0
    fi
    bad=$((bad + 1))
    echo "$test: FAILED: vktrain $*"
    echo "  exit $rc, must be $want; $lines error lines, must be 1; it must say: $text"
    sed 's/^/  > /' err
}
# works ARGS...: the counterpart, without which a refusal of everything would pass: exits with 0 and has no error line.
works()
{
    local rc=0
    n=$((n + 1))
    timeout 300 "$program" "$@" >out 2>err </dev/null || rc=$?
    [ $rc = 0 ] && ! grep -q 'error:' err && return 0
    bad=$((bad + 1))
    echo "$test: FAILED: vktrain $*: exit $rc, must work without an error line"
    sed 's/^/  > /' err
}
bytes() { printf "$@"; }
# says TEXT...: each stands in what the last command wrote on stderr.
says()
{
    local text
    for text; do
        n=$((n + 1))
        grep -q -- "$text" err && continue
        bad=$((bad + 1))
        echo "$test: FAILED: stderr lacks: $text"
        sed 's/^/  > /' err
    done
}
conclude()
{
    echo "$test: $n cases, $bad failed"
    [ $bad = 0 ]
}
