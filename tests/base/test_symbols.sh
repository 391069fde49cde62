#!/usr/bin/env bash
# The library's contract by name: what include/vktrain declares with VKT_API is what the library defines. Every name begins with vkt_, none
# with vkt__; a shared library exports nothing else.   test_symbols.sh LIBRARY...
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C

"$root/tools/build/public-names" >"$tmp/declared"
[ -s "$tmp/declared" ] || { echo "no name is declared"; exit 1; }
for library; do
  case $library in
    *.so*) nm -D --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/all" ;;
    # In a static library private functions are seen, too, volk's table of Vulkan's and what clang counts coverage with.
    *) nm -g --defined-only "$library" | awk 'NF == 3 && $3 !~ /^_?(vkt__|vk[A-Z]|volk[A-Z]|__cov|__llvm|__prof)/ { sub(/^_/, "", $3); print $3 }' | sort -u >"$tmp/all" ;;
  esac
  if grep -v '^vkt_[a-z0-9]' "$tmp/all" >"$tmp/wrong"; then
    echo "the library shows names that do not begin with vkt_:"; head "$tmp/wrong"; exit 1
  fi
  diff "$tmp/declared" "$tmp/all" || { echo "names declared with VKT_API (<) and those that ${library##*/} defines (>) differ: does the file of the first include its header?"; exit 1; }
done
echo "$(wc -l <"$tmp/declared") public functions"
