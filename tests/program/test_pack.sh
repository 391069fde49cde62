#!/usr/bin/env bash
# What tools/gpu-check packs runs on a bare Ubuntu 24.04 (libc, the Vulkan loader, Mesa, no more), under another path and as another user: the
# stages of a visit on tiny models, a training step, three tests, the summary. It is one file under 40 MB. Needs root, xz and debootstrap or the
# root that tools/build/ubuntu-root left; else it is skipped (77). usage: test_pack.sh BUILD [STAGE...]; by default all three stages
set -euo pipefail
build=$(cd "$1" && pwd); shift
root=$(cd "$(dirname "$0")/../.." && pwd)
skip() { echo "test_pack: skipped: $1"; exit 77; }
command -v xz >/dev/null || skip "no xz"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || skip "only root can make a root of its own"
bare=$("$root/tools/build/ubuntu-root" noble) || skip "no root of Ubuntu 24.04 to be had"
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-pack.XXXXXX")
trap 'rm -rf "$work"' EXIT
bad=0 n=0
fail() { echo "test_pack: FAILED: $1"; [ ! -e "$work/said" ] || sed 's/^/  > /' "$work/said"; bad=$((bad + 1)); }
has() { n=$((n + 1)); grep -q -- "$1" "${2:-$work/said}" || fail "no '$1' in ${2:-what it said}"; }

pack=$work/visit.tar.xz
VKT_BUILD=$build "$root/tools/gpu-check" --pack "$pack" >"$work/said" 2>&1 || { fail "no pack"; exit 1; }
cat "$work/said"
[ "$(stat -c %s "$pack")" -lt 40000000 ] || fail "more than 40 MB"

# The bare root with the pack in it, made in a namespace of mounts that goes with the command; nothing of this machine is seen but /dev and /proc.
cat >"$work/in-root" <<'E_IN'
set -e
bare=$1 pack=$2 results=$3; shift 3
w=$(mktemp -d)
mount -t tmpfs tmpfs "$w"
mkdir "$w/up" "$w/work" "$w/root"
mount -t overlay overlay -o "lowerdir=$bare,upperdir=$w/up,workdir=$w/work" "$w/root"
mount -t proc proc "$w/root/proc"
mount --rbind /dev "$w/root/dev"
mount -t tmpfs tmpfs "$w/root/tmp" && chmod 1777 "$w/root/tmp"
mkdir "$w/root/some where" "$w/root/results"
tar -C "$w/root/some where" -xJf "$pack"
chown -R 1234:1234 "$w/root/some where"
mount --bind "$results" "$w/root/results"
rc=0
chroot "$w/root" env -i PATH=/usr/bin:/bin HOME=/nowhere LP_NUM_THREADS=2 ${LP_NATIVE_VECTOR_WIDTH:+LP_NATIVE_VECTOR_WIDTH=$LP_NATIVE_VECTOR_WIDTH} \
  setpriv --reuid=1234 --regid=1234 --clear-groups "$@" || rc=$?
exit $rc
E_IN
mkdir "$work/results" && chmod 777 "$work/results"
bare() { unshare -m bash "$work/in-root" "$bare" "$pack" "$work/results" "$@" >"$work/said" 2>&1; }

# Its libraries are beside it: nothing is missing, and no environment says where they are.
n=$((n + 1))
bare sh -c 'for f in "/some where"/vktrain-visit/bin/*; do ldd "$f"; done' || fail "ldd"
! grep 'not found' "$work/said" || fail "libraries that are not packed"
began=$SECONDS
for stage in "${@:-first second third}"; do
  # shellcheck disable=SC2086
  for s in $stage; do
    n=$((n + 1))
    bare '/some where/vktrain-visit/gpu-check' --visit "$s" --rehearse --out /results || { fail "stage $s: exit $?"; continue; }
    [ "$(wc -l <"$work/results/summary-$s.txt")" -le 110 ] || fail "a summary of more than 110 lines"
    case $s in
      first) has '^\* 0: llvmpipe'; has '^ok    gpt2-tuned'; has '^ 6 GPT-2 step, tuned .* ms .*predicted 52 .*PyTorch .*(27)' ;;
      second) has '^ok    key'; has '^matmul bf16 NN M 1024 N 384 K 96, bias, gelu, to bf16 .* us '; has '^ok    resnet20 ' ;;
      third) has '^ok    test_curve'; has '^ok    test_gpu'; has '^ok    test_optim_gpu' ;;
    esac
    has "^$s/summary.txt" <(tar -tzf "$work/results/visit-$s.tgz")
  done
done
echo "stages took $((SECONDS - began)) s"
[ $((SECONDS - began)) -lt 360 ] || echo "test_pack: note: more than 6 minutes"

# A machine without a loader, and one without a driver: a line.
for lacking in 'usr/lib/x86_64-linux-gnu/libvulkan.so.1' 'usr/share/vulkan/icd.d'; do
  n=$((n + 1)) rc=0
  unshare -m bash -c 'mount -t tmpfs tmpfs /mnt; mkdir /mnt/up /mnt/work /mnt/root; mount -t overlay overlay -o "lowerdir=$1,upperdir=/mnt/up,workdir=/mnt/work" /mnt/root; rm -rf /mnt/root/$2; shift 2
    exec bash "$0" /mnt/root "$@"' "$work/in-root" "$bare" "$lacking" "$pack" "$work/results" '/some where/vktrain-visit/gpu-check' --visit first --out /results >"$work/said" 2>&1 || rc=$?
  [ $rc = 3 ] && [ "$(wc -l <"$work/said")" = 1 ] || fail "without $lacking: exit $rc"
  has '^gpu-check: no device: no Vulkan \(loader\|driver\)'
done

echo "test_pack: $n cases, $bad failed"
[ $bad = 0 ]
