#!/usr/bin/env bash
# tools/gpu-check with a program that hangs, crashes or vanishes in its place: each part ends within its limit, what it wrote before is
# kept, the others run, and the exit code says that something failed; what a machine lacks is one line. usage: test_gpu_check.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-gpu-check.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
export TMPDIR=$work
mkdir -p pack/bin pack/lib pack/tests pack/pictures path
cp -r "$root/tools/gpu-check" "$root/tools/visit" "$root/tools/compare" pack/
# Neither this machine's PyTorch nor its tests.
printf '#!/bin/sh\nexit 1\n' >path/python3
printf '#!/bin/sh\necho "a test ran, with $VKT_TEST_DIR, libraries from ${LD_LIBRARY_PATH-nowhere else}"\n' >pack/bin/test_stub
chmod +x path/python3 pack/bin/test_stub
bad=0 n=0
fail() { echo "test_gpu_check: FAILED: $mode: $1"; sed 's/^/  > /' said; bad=$((bad + 1)); }
has() { grep -q -- "$1" "${2:-said}" || fail "no '$1' in ${2:-what it said}"; }
one_line() { [ "$(wc -l <said)" = 1 ] || fail 'not one line'; has "$1"; }

# check MODE SECONDS STAGE: a vktrain that behaves as MODE says in "bench --key" and is well elsewhere.
check()
{
    mode="$1, $3"
    cat >pack/bin/vktrain <<EOF
#!/bin/bash
case "\$* " in
    *tune\ --help*) echo '  --list' ;;
    *tune\ --list*)
        printf 'NT 4096 x 4096 x 4096, bf16 to bf16\n  kernel ms TFLOP/s\n  matrix2.128x256 0.3 450.5 3%% 168\n  matrix2.64x64 0.1 900 400%% - wrong\n  matrix.128x128 0.4 300 3%% -\n'
        printf 'NT 8192 x 768 x 3072, bf16 to bf16\n  matrix2.128x128 0.1 999 3%% -\n'; exit ;;
esac
case "\$* " in *--list*) printf 'ops\tmatmul NT M 4096 N 4096 K 4096\n'; exit ;; *--json*) ;; *) echo "vktrain \$*" ;; esac
echo '{
  "step_median_ms": 3,
  "kernels": [] }'
case "\$* " in 'bench --key '* | 'doctor --op '*) ;; *) exit 0 ;; esac
file=; while [ \$# -gt 0 ]; do [ "\$1" != --json ] || file=\$2; shift; done
[ -z "\$file" ] || printf '{\n "name": "matmul NT M 4096 N 4096 K 4096",\n "unit": "us",\n "value": 3000,\n "gflops": 45000,\n "refused": null\n }\n' >"\$file"
case $1 in
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
    rm -rf out there
    local began=$SECONDS
    rc=0; PATH=$work/path:$PATH GPU_CHECK_SECONDS=$2 timeout 120 pack/gpu-check --visit "$3" --out out >said 2>&1 || rc=$?
    [ $((SECONDS - began)) -le $(($2 + 12)) ] || fail "took $((SECONDS - began)) s of $2"
    has "results in /"
    mkdir there && tar -C there -xzf "out/visit-$3.tgz" || fail "no archive"
    [ "$(ls out | wc -l)" = 2 ] || fail "other files than the archive and the summary"
    [ "$(wc -l <"out/summary-$3.txt")" -le 110 ] || fail "a summary of more than 110 lines"
    cmp -s "out/summary-$3.txt" "there/$3/summary.txt" || fail "another summary in the archive"
    case $1/$3 in
        vanishes/*) ;;
        */first)
            has '^ 3 fastest matrix2, 4096 bf16 .* 450 TF  *predicted 450 ' there/first/summary.txt
            has '^ 3 fastest matrix, 4096 bf16 .* 300 TF  *predicted 380 ' there/first/summary.txt ;;
        */second)
            has '^ 4 product 4096, fp32, NT .* 45 TF  *predicted 40 ' there/second/summary.txt ;;
    esac
    case $1 in
        well | vanishes) ;;
        *)
            [ $rc = 1 ] || fail "exit $rc"
            [ "$(grep -c '^FAIL' said)" = 1 ] || fail "other parts failed, too"
            has '^ok    resnet20-bf16 '
            ;;
    esac
}

check well 330 second; [ $rc = 0 ] || fail "exit $rc"; has '^left  torch: no python3 with PyTorch'
check hangs 30 second; has '^FAIL  key: not done in 9 s, what it wrote is in .*/out/visit-second.tgz:second/key.txt'
check deaf 30 second; has '^FAIL  key: not done in 9 s'
check segfault 330 second; has '^FAIL  key (exit 139, '
check killed 330 second; has '^FAIL  key (exit 137, killed, '
check fails 330 second; has '^FAIL  key (exit 6, '; has 'device lost'
check vanishes 330 second; [ $rc = 1 ] || fail "exit $rc"; has '^FAIL  resnet20 (exit 127, '
check well 290 first; [ $rc = 0 ] || fail "exit $rc"; has '^== gpt2-table: step 3 ms' out/summary-first.txt
# GPT-2's step before all other steps, what is right before it.
[ "$(sed -n 's/^ok    \([a-z0-9-]*\) .*/\1/p' said | tr '\n' ' ')" = 'facts devices device-profile doctor-products candidates gpt2-table digits char-gpt candidates-nn candidates-tn attention-5 attention-6 attention-7 train-digits doctor ' ] || fail 'another order'
check well 110 third; [ $rc = 0 ] || fail "exit $rc"; has "a test ran, with $work/pack/tests, libraries from nowhere else" there/third/test_stub.txt

# The plain run: each part's output in a file of its own.
mode=plain; n=$((n + 1)); rm -rf out
rc=0; PATH=$work/path:$PATH timeout 120 pack/gpu-check --quick --out out >said 2>&1 || rc=$?
[ $rc = 0 ] || fail "exit $rc"
has 'vktrain devices' out/devices.txt; has '^ok    bench-tuned '; has 'a test ran' out/test_stub.txt

# What is not there, or can't be: a line, and nothing else is tried.
refused() { # refused MODE CODE TEXT ARGUMENTS...
    mode=$1 n=$((n + 1)); local code=$2 text=$3; shift 3
    rc=0; timeout 60 "$@" >said 2>&1 || rc=$?
    [ $rc = "$code" ] || fail "exit $rc"
    one_line "$text"
}
printf '#!/bin/sh\necho "vktrain: error: no Vulkan loader (libvulkan) found; install it" >&2\nexit 3\n' >pack/bin/vktrain
refused 'no loader' 3 'no device: no Vulkan loader' pack/gpu-check --visit first --out out
printf '#!/bin/sh\necho "vktrain: error: no Vulkan driver found" >&2\nexit 3\n' >pack/bin/vktrain
refused 'no driver' 3 'no device: no Vulkan driver' pack/gpu-check --out out
printf '#!/bin/sh\necho "vktrain $*"\n' >pack/bin/vktrain
refused 'unknown stage' 2 "no stage is called 'fourth'" pack/gpu-check --visit fourth
refused 'no pack' 2 "can't read none.tar.xz" pack/gpu-check --from none.tar.xz
printf 'no archive' >bad.tar.xz
refused 'a broken pack' 2 "bad.tar.xz can't be unpacked" pack/gpu-check --from bad.tar.xz --visit first
: >file
refused 'no folder' 2 "can't make the folder file/out" pack/gpu-check --out file/out
refused 'the old option' 2 'unknown option' pack/gpu-check --ten-minutes
if unshare -rm true 2>/dev/null; then
    # A disk without room, and a home folder that can't be written.
    mkdir full
    refused 'full disk' 2 "can't write in .*/full: is the disk full" \
        unshare -rm sh -c "mount -t tmpfs -o size=4k tmpfs full && head -c 4096 /dev/zero >full/x; exec pack/gpu-check --out full"
    mode='read-only home'; n=$((n + 1)); mkdir -p home; rm -rf out
    rc=0; PATH=$work/path:$PATH timeout 60 unshare -rm sh -c "mount -t tmpfs -o ro tmpfs home && unset XDG_CACHE_HOME && HOME=$work/home exec pack/gpu-check --out out" >said 2>&1 || rc=$?
    [ $rc = 0 ] || fail "exit $rc"
    [ "$(grep -c "^note  the home folder can't be written" said)" = 1 ] || fail 'no note of the caches'
fi
mode=absent; rm -f pack/bin/vktrain
refused absent 2 'no vktrain in' env VKT_BUILD="$work/none" pack/gpu-check --out out

echo "test_gpu_check: $n cases, $bad failed"
[ $bad = 0 ]
