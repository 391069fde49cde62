#!/usr/bin/env bash
# Installs into a folder of its own; builds tools/examples/example_mlp.c from there by find_package and by pkg-config;
# compiles each public header alone as C11 and as C++17.   test_install.sh BUILD_DIR CC
set -euo pipefail
build=$1 cc=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
say() { printf '%s\n' "test_install: $*"; }

cmake --install "$build" --prefix "$tmp/prefix" >"$tmp/install.log" || { cat "$tmp/install.log"; exit 1; }
"$tmp/prefix/bin/vktrain" --version
pc=$(dirname "$(find "$tmp/prefix" -name vktrain.pc)") # LIBDIR/pkgconfig
# The file names the prefix of the configuration; elsewhere pkg-config is told.
export PKG_CONFIG_PATH=$pc
flags=(--define-variable=prefix="$tmp/prefix")

for h in "$tmp"/prefix/include/vktrain/*.h; do
  name=vktrain/$(basename "$h")
  printf '#include <%s>\n#include <%s>\n' "$name" "$name" >"$tmp/h.c"
  cp "$tmp/h.c" "$tmp/h.cc"
  "$cc" -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$tmp/prefix/include" "$tmp/h.c"
  if command -v c++ >/dev/null; then
    c++ -std=c++17 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$tmp/prefix/include" "$tmp/h.cc"
  fi
done
for file in man/man1/vktrain.1 bash-completion/completions/vktrain zsh/site-functions/_vktrain; do
  [ ! -x "$tmp/prefix/bin/vktrain" ] || [ -s "$tmp/prefix/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done
say "headers compile as C11 and C++17"

# shellcheck disable=SC2046
"$cc" -std=c11 "$root/tools/examples/example_mlp.c" -o "$tmp/by_pkg_config" $(pkg-config "${flags[@]}" --cflags --libs vktrain)
say "pkg-config: example_mlp builds"

mkdir "$tmp/user"
cat >"$tmp/user/CMakeLists.txt" <<EOT
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(vktrain 0.1 REQUIRED)
add_executable(by_cmake "$root/tools/examples/example_mlp.c")
target_link_libraries(by_cmake PRIVATE vktrain::vktrain)
EOT
{ cmake -S "$tmp/user" -B "$tmp/user/b" -G Ninja -DCMAKE_PREFIX_PATH="$tmp/prefix" -DCMAKE_C_COMPILER="$cc" &&
  cmake --build "$tmp/user/b"; } >"$tmp/cmake.log" 2>&1 || { cat "$tmp/cmake.log"; exit 1; }
say "find_package: example_mlp builds"

cd "$tmp"
LD_LIBRARY_PATH=$(dirname "$pc")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} && export LD_LIBRARY_PATH # a shared library's
if [ "${VKT_TEST_NO_DEVICE:-0}" = 0 ]; then
  for program in ./by_pkg_config ./user/b/by_cmake; do
    rm -f digits.safetensors
    "$program" >out.txt
    loss=$(awk '/^step/ { last = $4 } END { print last }' out.txt)
    awk -v l="$loss" 'BEGIN { exit !(l > 0 && l < 0.5) }' || { say "$program ends with loss '$loss', expected < 0.5"; cat out.txt; exit 1; }
    "$tmp/prefix/bin/vktrain" inspect digits.safetensors | grep -q 'safetensors, 4 tensors' || { say "no weights of 4 tensors"; exit 1; }
  done
  say "both train the digits (loss $loss) and save them"
fi
