#!/usr/bin/env bash
# What speaks with the operating system, compiled by clang into macOS' object files (Mach-O), asks only for functions that macOS has:
# tests/golden/macos_functions.txt, reviewed by hand. Apple's SDK is not here: the declarations are glibc's, and for headers that only
# Apple has, those below. So this proves neither Apple's headers nor a program that runs.
# Left out with one line where clang is not there.   check_macos.sh GENERATED_DIR
set -euo pipefail
generated=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
export LC_ALL=C
command -v clang >/dev/null || { echo "check_macos: left out: clang is not there (clang, Debian's name)"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "check_macos: left out: the declarations are those of x86-64"; exit 77; }
nm=$(clang --print-prog-name=llvm-nm)
[ -x "$nm" ] || { echo "check_macos: left out: llvm-nm is not there (llvm, Debian's name)"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "check_macos: FAILED: $*"; exit 1; }
mkdir "$tmp/apple"
printf '%s\n' '#include <bits/types/locale_t.h>' 'locale_t newlocale(int, const char *, locale_t);' 'locale_t uselocale(locale_t);' \
  'void freelocale(locale_t);' '#define LC_NUMERIC_MASK (1 << 4)' >"$tmp/apple/xlocale.h"
echo 'char ***_NSGetEnviron(void);' >"$tmp/apple/crt_externs.h"

cd "$root"
system='<(dirent|dlfcn|fcntl|poll|pthread|signal|spawn|sys/[a-z]*|unistd|termios|netinet/[a-z]*|arpa/[a-z]*)\.h>|__APPLE__'
n=0
while read -r file; do
  n=$((n + 1))
  clang --target=x86_64-apple-macos11 -U__nonnull -std=c17 -Wall -Wextra -Werror -Wno-unused-command-line-argument -c -isystem "$tmp/apple" \
    -isystem /usr/include -isystem /usr/include/x86_64-linux-gnu -Iinclude -Isrc -I. -Itools/program -Itools/program/cli -I"$generated" \
    -I"$generated/program" -o "$tmp/$n.o" "$file" 2>"$tmp/err" || fail "$file does not compile: $(grep -m1 'error' "$tmp/err")"
  # A shared library of macOS has no `environ`.
  ! "$nm" -u "$tmp/$n.o" | grep -qw _environ || fail "$file names environ, which a dylib can't: _NSGetEnviron"
  "$nm" -u "$tmp/$n.o" | sed 's/^ *U *//' | sed -nE '/^_(vkt_|cli_|http_|ui_|json_|yaml_|pcre2_|utf8proc_|MHD_|vk[A-Z]|volk|__)/d; s/^_//p' >>"$tmp/used"
done < <(grep -rlE "$system" src tools/program --include='*.c' | grep -v win32 | grep -v '/mpi_\|/comm_mpi' | sort; ls src/base/*.c | grep -v win32)
[ $n -gt 15 ] || fail "only $n files"
sort -u "$tmp/used" >"$tmp/names"
missing=$(comm -13 tests/golden/macos_functions.txt "$tmp/names" | tr '\n' ' ')
[ -z "$missing" ] || fail "are these in macOS' libSystem? then they belong into tests/golden/macos_functions.txt: $missing"
unused=$(comm -23 tests/golden/macos_functions.txt "$tmp/names" | tr '\n' ' ')
[ -z "$unused" ] || fail "nothing uses these of tests/golden/macos_functions.txt: $unused"
echo "$n files ask for $(wc -l <tests/golden/macos_functions.txt) functions of macOS"
