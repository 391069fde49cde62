#!/usr/bin/env bash
# tools/gpu-check with a program that hangs, crashes or vanishes in its place: each part ends within its limit, what it wrote before is
# kept, the others run, and the exit code says that something failed. usage: test_gpu_check.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-gpu-check.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p pack/bin pack/lib path
cp "$root/tools/gpu-check" pack/
# Neither this machine's PyTorch nor its tests.
printf '#!/bin/sh\nexit 1\n' >path/python3
printf '#!/bin/sh\necho "a test ran"\n' >pack/bin/test_stub
chmod +x path/python3 pack/bin/test_stub
bad=0 n=0
fail() { echo "test_gpu_check: FAILED: $mode: $1"; sed 's/^/  > /' said; bad=$((bad + 1)); }
has() { grep -q -- "$1" "${2:-said}" || fail "no '$1' in ${2:-what it said}"; }

# check MODE SECONDS: a vktrain that behaves as MODE says in "bench --only ceilings" and is well elsewhere.
check()
{
    mode=$1
    cat >pack/bin/vktrain <<EOF
#!/bin/bash
echo "vktrain \$*"
case "\$* " in *'--only ceilings '*) ;; *) exit 0 ;; esac
echo '{"row": 1}' >"\${*: -1}"
case $mode in
    hangs) sleep 1000 & wait ;;
    deaf) trap '' TERM INT HUP; while :; do sleep 1; done ;;
    segfault) kill -SEGV \$\$ ;;
    killed) kill -KILL \$\$ ;;
    fails) echo 'vktrain: error: device lost' >&2; exit 6 ;;
    vanishes) rm "\$0" ;;
esac
EOF
    chmod +x pack/bin/vktrain
    n=$((n + 1))
    rm -rf out
    local began=$SECONDS
    rc=0; PATH=$work/path:$PATH GPU_CHECK_SECONDS=$2 timeout 120 pack/gpu-check --ten-minutes --out out >said 2>&1 || rc=$?
    [ $((SECONDS - began)) -le $(($2 + 12)) ] || fail "took $((SECONDS - began)) s of $2"
    has 'results in /'
    has 'vktrain devices' out/devices.txt
    has '"row": 1' out/ceilings.json
    has 'vktrain bench --only ceilings' out/ceilings.txt
    if [ "$mode" != well ] && [ "$mode" != vanishes ]; then
        [ $rc = 1 ] || fail "exit $rc"
        [ "$(grep -c '^FAIL' said)" = 1 ] || fail "other parts failed, too"
    fi
    [ "$mode" = vanishes ] || { has 'vktrain bench --op' out/rows.txt; has '^ok    doctor '; }
    has '^ok    test_stub '
    has 'a test ran' out/test_stub.txt
}

check well 600; [ $rc = 0 ] || fail "exit $rc"
check hangs 30; has '^FAIL  ceilings: not done in 3 s, what it wrote is in .*/out/ceilings.txt'
check deaf 30; has '^FAIL  ceilings: not done in 3 s'
check segfault 600; has '^FAIL  ceilings (exit 139, '
check killed 600; has '^FAIL  ceilings (exit 137, killed, '
check fails 600; has '^FAIL  ceilings (exit 6, '; has 'device lost'
check vanishes 600; [ $rc = 1 ] || fail "exit $rc"; has '^FAIL  doctor (exit 127, '

# The program is not there at all; a folder that can't be made.
mode=absent; rm -f pack/bin/vktrain; n=$((n + 2))
rc=0; VKT_BUILD=$work/none pack/gpu-check --out out >said 2>&1 || rc=$?
[ $rc = 2 ] || fail "exit $rc"
has 'no vktrain in'
mode='no folder'; printf '#!/bin/sh\n' >pack/bin/vktrain; chmod +x pack/bin/vktrain; : >file
rc=0; pack/gpu-check --out file/out >said 2>&1 || rc=$?
[ $rc = 2 ] || fail "exit $rc"
[ "$(wc -l <said)" = 1 ] || fail 'more than a line'

echo "test_gpu_check: $n cases, $bad failed"
[ $bad = 0 ]
