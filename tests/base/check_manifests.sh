#!/usr/bin/env bash
# The manifests' templates, filled in for files that stand beside them, are what package managers read (tools/build/check-manifests);
# a wrong sum, a place that was not filled in and a field that is missing are mistakes.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
check=$root/tools/build/check-manifests
fail() { echo "check_manifests: FAILED: $*"; exit 1; }
cd "$tmp"
echo sources >vktrain-1.2.3.tar.gz
echo headers >stb-headers.tar.gz
echo windows >vktrain-1.2.3-windows-x86_64.zip
sum() { sha256sum "$1" | cut -d' ' -f1; }
for template in "$root"/tools/build/release/*.in; do
  sed "s,@VERSION@,1.2.3,g; s,@URL@,https://example.invalid/vktrain,g; s,@SOURCE@,vktrain-1.2.3.tar.gz,g; s,@WINDOWS@,vktrain-1.2.3-windows-x86_64.zip,g
    s,@SOURCE_SHA256@,$(sum vktrain-1.2.3.tar.gz),g; s,@STB_SHA256@,$(sum stb-headers.tar.gz),g; s,@WINDOWS_SHA256@,$(sum vktrain-1.2.3-windows-x86_64.zip),g" \
    "$template" >"$(basename "$template" .in)"
done
"$check" . || fail "the templates"
refused() { # refused FILE SED
  cp "$1" kept
  sed -i "$2" "$1"
  ! cmp -s "$1" kept || fail "'$2' changes nothing in $1"
  if "$check" . >out; then fail "$1 with '$2' is taken"; fi
  grep -q "^check-manifests: $1: " out || fail "it does not say that $1 is wrong: $(cat out)"
  mv kept "$1"
}
refused PKGBUILD "s/sha256sums=('../sha256sums=('00/"
refused vktrain.rb 's/sha256 "..../sha256 "0000/'
refused vktrain.rb 's,/stb-headers,/stb,'
refused vktrain.nix 's/sha256 = "..../sha256 = "0000/'
refused winget.yaml '/^Publisher/d'
refused winget.yaml 's/Architecture: x64/Architecture: x86_64/'
refused scoop.json 's/"homepage"/"home"/'
refused scoop.json 's/"hash": "../"hash": "@@/'
