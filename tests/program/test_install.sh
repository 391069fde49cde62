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
cp "$build/install_manifest.txt" "$tmp/"
export PKG_CONFIG_PATH=$pc
[ "$(realpath "$(pkg-config --variable=prefix vktrain)")" = "$(realpath "$tmp/prefix")" ] || { say "pkg-config does not find the prefix by itself"; exit 1; }

for h in "$tmp"/prefix/include/vktrain/*.h; do
  name=vktrain/$(basename "$h")
  printf '#include <%s>\n#include <%s>\n' "$name" "$name" >"$tmp/h.c"
  cp "$tmp/h.c" "$tmp/h.cc"
  "$cc" -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$tmp/prefix/include" "$tmp/h.c"
  if command -v c++ >/dev/null; then
    c++ -std=c++17 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I"$tmp/prefix/include" "$tmp/h.cc"
  fi
done
for file in man/man1/vktrain.1 bash-completion/completions/vktrain zsh/site-functions/_vktrain fish/vendor_completions.d/vktrain.fish; do
  [ ! -x "$tmp/prefix/bin/vktrain" ] || [ -s "$tmp/prefix/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done
say "headers compile as C11 and C++17"
[ -n "$(find "$tmp/prefix" -path '*doc/vktrain/LICENSE')" ] || { say "LICENSE is not installed"; exit 1; }
version=$(awk -F'"' '/define VKT_VERSION / { print $2 }' "$tmp/prefix/include/vktrain/base.h")
[ "$(pkg-config --modversion vktrain)" = "$version" ] || { say "the package is not of the headers' version $version"; exit 1; }

# The example at the head of tensor.h, as it stands there.
{
  printf '#include <stdio.h>\n#include <vktrain/tensor.h>\n'
  printf 'int main(void)\n{\nvkt_gpu_desc any = { NULL };\nvkt_gpu *gpu;\nvkt_buffer *buffer;\nfloat data[76], got[12];\n'
  printf 'vkt_buffer_desc desc = { sizeof data };\nfor (int i = 0; i < 76; i++) data[i] = 1;\n'
  printf 'if (vkt_gpu_create(&any, &gpu) || vkt_buffer_create(gpu, &desc, &buffer) ||\n'
  printf '    vkt_buffer_write(gpu, buffer, 0, data, sizeof data)) return 1;\n'
  awk '/^ \* Example:/ { on = 1 } / \*\/$/ { on = 0 } on && /^ \*     / { sub(/^ \*/, ""); print }' "$tmp/prefix/include/vktrain/tensor.h"
  printf 'if (st || vkt_tensor_read(dw, 0, got, sizeof got)) return 1;\nprintf("dw %%g\\n", (double)got[11]);\n'
  printf 'vkt_graph_destroy(&g), vkt_buffer_destroy(gpu, &buffer), vkt_gpu_destroy(&gpu);\n}\n'
} >"$tmp/head.c"
[ "$(grep -c . "$tmp/head.c")" -ge 25 ] || { say "tensor.h has no example"; exit 1; }
[ "$(wc -l <"$root/tools/examples/example_mlp.c")" -le 50 ] || { say "example_mlp.c has more than 50 lines"; exit 1; }

# shellcheck disable=SC2046
for c in "$tmp/head.c" "$root/tools/examples/example_mlp.c"; do
  out=$tmp/by_pkg_config
  [ "$c" != "$tmp/head.c" ] || out=$tmp/head
  "$cc" -std=c11 -Wall -Werror "$c" -o "$out" $(pkg-config --cflags --libs vktrain)
  if command -v c++ >/dev/null; then
    c++ -std=c++17 -pedantic-errors -Wall -Werror -x c++ "$c" -o "$out.c++" $(pkg-config --cflags --libs vktrain)
  fi
done
say "pkg-config: example_mlp and tensor.h's example build as C11 and C++17"

mkdir "$tmp/user"
cat >"$tmp/user/CMakeLists.txt" <<EOT
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(vktrain 0.2 REQUIRED)
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
  [ "$("$tmp/head")" = "dw 8" ] || { say "tensor.h's example gives another gradient"; exit 1; }
  # Leaks of the library's: a block that was allocated in it and that nothing points to. Drivers, their compilers, the loaders keep their own.
  # A step is like another: 20 of the example's 600.
  if command -v valgrind >/dev/null && [ "${VKT_TEST_VALGRIND:-1}" = 1 ]; then
    sed 's/600/20/g' "$root/tools/examples/example_mlp.c" >"$tmp/short.c"
    # shellcheck disable=SC2046
    "$cc" -std=c11 "$tmp/short.c" -o "$tmp/short" $(pkg-config --cflags --libs vktrain)
    LP_NATIVE_VECTOR_WIDTH=128 timeout 500 valgrind --leak-check=full --show-leak-kinds=definite --num-callers=40 \
      --log-file="$tmp/valgrind.log" "$tmp/short" >/dev/null || true
    awk '/definitely lost in loss record|Invalid (read|write)|uninitialised/ { block = $0; ours = 0; n = 0; next }
      block && /(at|by) 0x/ { n++; if (/vkt_|libvktrain/ && !driver) ours = 1; if (/libvulkan[._]|dl-load[.]c|libLLVM|_icd/) driver = 1; next }
      block { if (ours && !driver) { print block; bad = 1 } block = ""; ours = 0; driver = 0 }
      END { exit bad }' "$tmp/valgrind.log" || { say "valgrind found a leak or a wrong access"; cat "$tmp/valgrind.log"; exit 1; }
    grep -q 'ERROR SUMMARY' "$tmp/valgrind.log" || { say "valgrind did not finish"; tail -5 "$tmp/valgrind.log"; exit 1; }
    say "valgrind: the example leaks nothing of the library's"
  fi
fi

cmake -D MANIFEST="$tmp/install_manifest.txt" -P "$root/tools/build/uninstall.cmake" >/dev/null
left=$(find "$tmp/prefix" -type f -o -type l -o -name vktrain)
[ -z "$left" ] || { say "uninstalling leaves $left"; exit 1; }
say "uninstall: nothing is left"
