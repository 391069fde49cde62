#!/usr/bin/env bash
# The house as it is built: which source file uses which, by the symbols of the objects and by includes. Draws it, and refuses
#   a circle of files (a .c with its .h is one file), but the one that is essential: the gradient of a sum is a product and
#   of a product a sum (ops_eltwise, ops_reduce; of general ops ops_map, ops_axes);
#   a use that points up or sideways, as check_layers.sh has the order of the rooms;
#   two files under src of one name, a folder of more than 40 files, a file of more than 800 lines (from 20 files and 500 lines on it only says so);
#   places in a window of pixels as floats in the kernels that keep them;
#   a test that could not run and says that it passed;
#   C that clang-format 14 would change, where it is installed.
# usage: check_house.sh OBJECTS [DRAWING]   OBJECTS: a file with the objects' paths, a line each; DRAWING: Graphviz's dot, to write
set -euo pipefail
export LC_ALL=C
root=$(cd "$(dirname "$0")/.." && pwd)
largest_room=40 longest_file=800 # refused; those that reach the next two are named, so that a seam is sought before a patch is refused
full_room=20 long_file=500
essential='src/tensor/ops/elements/ops_eltwise src/tensor/ops/elements/ops_reduce
src/tensor/ops/general/ops_map src/tensor/ops/general/ops_axes'

# Objects' paths -> "A B": source file A (without its ending) uses what B defines.
uses_by_symbols()
{
    xargs -d '\n' nm -A -P -g | awk '
        { file = $1; sub(/:$/, "", file); sub(/^.*\.dir\/(\.\/)?/, "", file); sub(/\.c\.(o|obj)$/, "", file)
          if ($3 == "U") { n++; user[n] = file; wants[n] = $2 } else defines[$2] = file }
        END { for (i = 1; i <= n; i++) { d = defines[wants[i]]
              if (d != "" && d != user[i] && user[i] ~ /^(src|tools)\// && d ~ /^(src|tools)\//) print user[i], d } }' | sort -u
}

# The same by includes of our own headers.
uses_by_includes()
{
    cd "$root"
    grep -rE '^[ \t]*#[ \t]*include[ \t]*"' src tools/program --include='*.c' --include='*.h' | awk -F'"' '
        { from = $1; sub(/:.*/, "", from); folder = from; sub(/[^\/]*$/, "", folder); sub(/\.[ch]$/, "", from)
          to = $2; if (to !~ /\.h$/ || to ~ /^(vktrain|shaders)\// || to == "volk.h") next
          sub(/\.h$/, "", to); to = from ~ /^src\// ? "src/" to : folder to
          if (to != from && to !~ /^src\/bench\/commit$/) print from, to }' | sort -u
}

# "A B" lines -> the circles among them, a member a line; nothing when there is none.
circles()
{
    { tsort 2>&1 >/dev/null || true; } | sed -n 's/^tsort: \(.*\)/\1/p' | sed 's/^-: input contains a loop:$/a circle of:/'
}

# The drawing: rooms as nodes, uses between them as arrows with how many pairs of files they stand for.
drawing()
{
    echo 'digraph house { rankdir=BT; node [shape=box];'
    awk '{ a = $1; b = $2; sub(/\/[^\/]*$/, "", a); sub(/\/[^\/]*$/, "", b); if (a != b) n[a "\" -> \"" b]++ }
         END { for (e in n) printf "  \"%s\" [label=%d];\n", e, n[e] }' | sort
    echo '}'
}

bad=0
refuse() { printf 'check_house: %s\n' "$1" >&2; bad=1; }

[ "$(printf 'a b\nb c\nc a\nd a\n' | circles | grep -c '^[abc]$')" = 3 ] && [ -z "$(printf 'a b\nb c\n' | circles)" ] ||
    { echo "check_house: self-test: circles are not seen" >&2; exit 1; }

objects=${1:?usage: check_house.sh OBJECTS [DRAWING]}
symbols=$(uses_by_symbols <"$objects")
uses=$(printf '%s\n' "$symbols" "$(uses_by_includes)" | sort -u)
[ "$(printf '%s\n' "$symbols" | wc -l)" -gt 500 ] || { echo "check_house: hardly any use is seen in $objects: is it the library?" >&2; exit 1; }

circle=$(printf '%s\n' "$uses" | awk 'NR == FNR { both[$1 " " $2] = both[$2 " " $1] = 1; next } !(($1 " " $2) in both)' \
    <(printf '%s\n' "$essential") - | circles)
[ -z "$circle" ] || refuse "$circle"

up=$(printf '%s\n' "$symbols" | awk '$1 ~ /^src\// && $2 ~ /^src\// { sub(/^src\//, "", $2); print $1 ".c:0:#include \"" $2 ".h\"" }' |
    "$root/tests/check_layers.sh" --lines) || refuse "these uses point the wrong way:
$up"

cd "$root"
same=$(find src -name '*.[ch]' -printf '%f\n' | sort | uniq -d)
[ -z "$same" ] || refuse "files of one name: $same"
rooms() { # rooms MOST: the folders of more than MOST files, each with its count
    find src shaders tools/program tests -type f \( -name '*.[ch]' -o -name '*.comp' -o -name '*.glsl' \) | sed 's/\.[a-z]*$//' | sort -u |
        sed 's:/[^/]*$::' | uniq -c | awk -v most="$1" '$1 > most { print $2 " (" $1 ")" }'
}
files() { # files MOST: the files of more than MOST lines, each with its count
    find src shaders include tools/program tests -type f \( -name '*.[ch]' -o -name '*.comp' -o -name '*.glsl' -o -name '*.sh' \) -print0 |
        xargs -0 wc -l | awk -v most="$1" '$2 != "total" && $1 > most { print $2 " (" $1 ")" }'
}
full=$(rooms $largest_room)
[ -z "$full" ] || refuse "more than $largest_room files in: $full"
long=$(files $longest_file)
[ -z "$long" ] || refuse "more than $longest_file lines in: $long"
rooms $full_room | sed "s/^/check_house: more than $full_room files, is there a seam? /"
files $long_file | sed "s/^/check_house: more than $long_file lines, is there a seam? /"

twice=$(sed -n 's/^#define VKT_SPEC_[A-Z0-9_]* \([0-9]*\)\b[^u].*\|^#define VKT_SPEC_[A-Z0-9_]* \([0-9]*\)$/\1\2/p' shaders/spec.h | sort | uniq -d)
[ -z "$twice" ] || refuse "two specialization constants have the number $twice (spec.h)"

words=$(grep -nE 'uintBitsToFloat|floatBitsToUint' shaders/conv/pool* shaders/norm/* || true)
[ -z "$words" ] || refuse "whole numbers as floats, which may be flushed to zero (LOAD_WORDS and STORE_WORDS of elems.glsl): $words"

passes=$(grep -nE 'left out: .*exit 0' -r tests --include='*.sh' | grep -v check_house.sh || true)
[ -z "$passes" ] || refuse "a test that could not run ends with 77, not 0: $passes"

# Debian 12's version, which CI has: others break lines differently.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    unformed=$(find src include tools tests -name '*.[ch]' -not -path 'tests/files/*' -print0 | xargs -0 -P 2 -n 32 clang-format --dry-run -Werror 2>&1 |
        { sed -n 's/:.*error:.*clang-formatted.*//p' | sort -u; } || true)
    [ -z "$unformed" ] || refuse "not as clang-format -i leaves them:
$unformed"
fi

[ -z "${2:-}" ] || printf '%s\n' "$uses" | drawing >"$2"
[ $bad = 0 ] || exit 1
echo "check_house: $(printf '%s\n' "$uses" | wc -l) uses between $(printf '%s\n' "$uses" | tr ' ' '\n' | sort -u | wc -l) files, no circle but the essential ones"
