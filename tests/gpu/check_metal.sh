#!/usr/bin/env bash
# Every shader as a Mac gets it: SPIRV-Cross, which MoltenVK is made on, turns each into Metal's language without an error. Not those of
# matrix units, as MoltenVK has no cooperative matrices. What Apple's compiler makes of the result is not seen here.
# Left out with one line where spirv-cross is not there.   check_metal.sh SPV_DIR
set -euo pipefail
spv=$1
command -v spirv-cross >/dev/null || { echo "check_metal: left out: spirv-cross is not there (spirv-cross, Debian's name)"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0
for shader in "$spv"/*.spv; do
  name=$(basename "$shader" .spv)
  # Metal 2.3: macOS 11, the oldest with Vulkan 1.3 by MoltenVK; 64-bit addresses in buffers need it.
  if ! spirv-cross --msl --msl-version 20300 --output "$tmp/out.metal" "$shader" 2>"$tmp/err"; then
    echo "check_metal: FAILED: $name: $(tail -n 1 "$tmp/err")"
    bad=$((bad + 1))
  elif ! grep -q '^kernel void main0(' "$tmp/out.metal"; then
    echo "check_metal: FAILED: $name: no kernel in what came out"
    bad=$((bad + 1))
  fi
  n=$((n + 1))
done
[ $n -gt 50 ] || { echo "check_metal: FAILED: only $n shaders in $spv"; exit 1; }
[ $bad = 0 ] || exit 1
echo "$n shaders are Metal's"
