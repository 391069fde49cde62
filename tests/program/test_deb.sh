#!/usr/bin/env bash
# The Debian packages that CPack makes of this build: what is in them, what they need, and the same bytes twice.
# Left out with one line where dpkg-deb is not.   test_deb.sh BUILD_DIR
set -euo pipefail
build=$1
command -v dpkg-deb >/dev/null && command -v cpack >/dev/null && command -v dpkg-shlibdeps >/dev/null ||
  { echo "test_deb: left out: dpkg-deb, dpkg-shlibdeps or cpack is not there (dpkg-dev and cmake, Debian's names)"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "test_deb: FAILED: $*" >&2; exit 1; }
pack() {
  (cd "$build" && SOURCE_DATE_EPOCH=1700000000 cpack -G DEB -B "$tmp/$1" -D CPACK_COMPONENTS_ALL=program -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip) \
    >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "cpack"; }
}
pack a
deb=$(echo "$tmp"/a/vktrain_*.deb)
dpkg-deb -c "$deb" | awk '{ print $1, $2, $6 }' >"$tmp/list"
for file in ./usr/bin/vktrain ./usr/share/man/man1/vktrain.1.gz ./usr/share/bash-completion/completions/vktrain \
  ./usr/share/zsh/vendor-completions/_vktrain ./usr/share/fish/vendor_completions.d/vktrain.fish ./usr/share/doc/vktrain/copyright \
  ./usr/share/doc/vktrain/changelog.gz; do
  grep -q " $file\$" "$tmp/list" || { cat "$tmp/list"; fail "$file is not in it"; }
done
grep -v ' root/root ./usr/' "$tmp/list" && fail "files elsewhere, or of another owner"
[ "$(grep -vc '/$' "$tmp/list")" = 7 ] || { cat "$tmp/list"; fail "more or fewer than 7 files"; }
grep -q '^-rwxr-xr-x .*/usr/bin/vktrain$' "$tmp/list" || fail "the program's mode"
dpkg-deb -f "$deb" Depends | grep 'libvulkan1.*libc6' >/dev/null || fail "Depends: $(dpkg-deb -f "$deb" Depends)"
version=$("$build/vktrain" --version | awk 'NR == 1 { print $2 }')
[ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "its version is not the program's, $version"
dpkg-deb --fsys-tarfile "$deb" | tar -xO ./usr/share/doc/vktrain/copyright | grep 'MIT License' >/dev/null || fail "copyright"
sleep 1
pack b
cmp "$deb" "$tmp/b/$(basename "$deb")" || fail "two packages of one build differ"
echo "$(basename "$deb"): $(stat -c %s "$deb") bytes by gzip, the same twice"
