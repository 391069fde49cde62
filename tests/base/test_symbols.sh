#!/usr/bin/env bash
# The library's contract by name: what include/vktrain declares is what the library defines and what tests/golden/symbols.txt
# lists, so that a function that appears, goes or is renamed is a line of a reviewed diff. Every name begins with vkt_, none with
# vkt__; a shared library exports nothing else.   test_symbols.sh LIBRARY   (VKT_TEST_UPDATE=1 rewrites the list)
set -euo pipefail
library=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
golden=$root/tests/golden/symbols.txt
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C

case $library in
  *.so*) nm -D --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort -u >"$tmp/all" ;;
  # In a static library private functions are seen, too, volk's table of Vulkan's and what clang counts coverage with.
  *) nm -g --defined-only "$library" | awk 'NF == 3 && $3 !~ /^_?(vkt__|vk[A-Z]|volk[A-Z]|__cov|__llvm|__prof)/ { sub(/^_/, "", $3); print $3 }' | sort -u >"$tmp/all" ;;
esac
if grep -v '^vkt_[a-z0-9]' "$tmp/all" >"$tmp/wrong"; then
  echo "the library shows names that do not begin with vkt_:"; head "$tmp/wrong"; exit 1
fi
# Declared: VKT_API, then the first name before a parenthesis.
tr '\n' ' ' <<<"$(sed 's,/\*.*\*/,,' "$root"/include/vktrain/*.h)" | grep -oE 'VKT_API [^;{]*;' |
  grep -oE 'vkt_[a-z0-9_]+\(' | sed 's/(//' | sort -u >"$tmp/declared"
if [ "${VKT_TEST_UPDATE:-0}" = 1 ]; then cp "$tmp/all" "$golden"; fi
diff "$golden" "$tmp/all" || { echo "the library's names differ from tests/golden/symbols.txt (<: the list)"; exit 1; }
diff "$tmp/declared" "$tmp/all" || { echo "names declared with VKT_API (<) and defined (>) differ"; exit 1; }
echo "$(wc -l <"$tmp/all") public functions"
