#!/usr/bin/env bash
# `vktrain bench --row NAME --dump DIR` writes a folder that runs alone: its program compiles without a warning, agrees, and finds planted
# wrong numbers, inputs and constants. usage: test_bench_row.sh VKTRAIN CC
set -euo pipefail
vktrain=$1 cc=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-row.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
echo '#include <vulkan/vulkan.h>
int main(void) { return vkEnumerateInstanceVersion(0) == 12345; }' >has.c
"$cc" -o has has.c -lvulkan 2>/dev/null || { echo "test_bench_row: no Vulkan headers or library to link with"; exit 77; }
bad=0 n=0
fail() { echo "test_bench_row: FAILED: $1"; sed 's/^/  > /' said; bad=$((bad + 1)); }
# says CODE TEXT COMMAND...: it exits with CODE and says TEXT
says()
{
    local want=$1 text=$2 rc=0
    shift 2
    n=$((n + 1))
    "$@" >said 2>&1 || rc=$?
    [ $rc = "$want" ] || fail "exit code $rc, not $want: $*"
    grep -q -- "$text" said || fail "no '$text': $*"
}
# plant FILE BYTE: inverts a bit of the byte
plant()
{
    local old
    old=$(od -An -tu1 -j"$2" -N1 "$1" | tr -d ' ')
    printf "\\x$(printf %x $((old ^ 64)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

i=0
for row in "matmul NT M 128 N 256 K 784" "layernorm [1024, 1024]" "softmax_xent [1024, 1000]" "softmax_xent [128, 10]" "optim_update adamw [1024, 1024]" \
    "attention [12, 64], 4 heads of 32" "embedding_bwd [12, 64] of 75 x 128" "conv2d_dw 3x3/1 16x14x14x32 to 64" "sum [1024, 1024]"; do
    i=$((i + 1))
    says 0 "written: row$i; run it" "$vktrain" bench --once --row "$row" --dump "row$i"
    [ -d "row$i" ] || continue
    if [ ! -x replay ]; then
        "$cc" -std=c17 -Wall -Wextra -Wno-missing-field-initializers -Werror -O1 -o replay "row$i/replay_row.c" -lvulkan -lm >said 2>&1 || fail "the program does not compile"
    fi
    says 0 "numbers  0 of" ./replay "row$i" --runs 1
    grep -qF "name $row" said || fail "the name"
done
first=$(sed -n 's/^expect .* //p' row1/row.txt | head -1)
cp row1/"$first" kept
plant row1/"$first" 15 # the exponent of the first number
says 1 "WRONG    $first element 0" ./replay row1 --runs 0
cp kept row1/"$first"
says 0 "numbers  0 of" ./replay row1 --runs 0
# The program refuses a folder that was changed before it reads or writes past a buffer.
cp row1/row.txt row.kept
damaged() { sed "$3" row.kept >row1/row.txt; says "$1" "$2" ./replay row1 --runs 0; } # CODE TEXT SED
times() { for ((k = 0; k < $1; k++)); do printf '%s' "$2"; done; } # N TEXT
damaged 2 "does not fit" 's/^\(data [0-9]*\) [0-9]* /\1 18446744073709551612 /'
read -r _ b _ _ many _ < <(grep '^expect' row.kept)
bytes=$(sed -n 's/^buffer //p' row.kept | sed -n $((b + 1))p)
damaged 2 "an element that no buffer has" "s/^expect $b [0-9]* /expect $b $((bytes - 2 * many)) /"
there=$(grep -c '^buffer' row.kept)
damaged 0 "numbers  0 of" "0,/^data/s/^data/$(times $((65 - there)) 'buffer 4\n')data/"
damaged 2 "more than 65 buffers" "0,/^data/s/^data/$(times $((66 - there)) 'buffer 4\n')data/"
cp row.kept row1/row.txt
cp row2/row.txt row.kept
# dispatched N CODE TEXT: row2's dispatch N times
dispatched()
{
    local block
    block=$(sed -n '/^dispatch/,/^expect/{/^expect/!p}' row.kept)
    { sed '/^dispatch/,$d' row.kept && times "$1" "$block"$'\n' && sed -n '/^expect/,$p' row.kept; } >row2/row.txt
    says "$2" "$3" ./replay row2 --runs 0
}
dispatched 64 0 "numbers  0 of"
dispatched 65 2 "more than 64 dispatches"
cp row.kept row2/row.txt
plant row1/data0.bin 3
says 1 "WRONG" ./replay row1 --runs 0
sed -i '0,/^dispatch 0 \([0-9]*\) 1/s//dispatch 0 1 1/' row2/row.txt # a kernel that skips work
says 1 "WRONG" ./replay row2 --runs 0
sed -i '/^expect/d' row3/row.txt
says 2 "expects nothing" ./replay row3 --runs 0
says 2 "cannot open" ./replay nowhere
says 1 "dump: the row was left out, and nothing is written" "$vktrain" bench --once --row "softmax_xent [1024, 1000]" --dump none --cap memory=6000000
! grep -q written: said && [ ! -e none ] || fail "what is not there is not written"
deep=$(printf 'a%.0s' $(seq 200))
says 0 "written: $deep" "$vktrain" bench --once --row "sum [1024, 1024]" --repeat 2 --dump "$deep/$deep/$deep/$deep/$deep/$deep/$deep"
grep -q '^measured .* us, the first time$' "$deep/$deep/$deep/$deep/$deep/$deep/$deep/row.txt" || fail "whose time it is"
says 2 "dump 'row1' exists; give the name of a new folder" "$vktrain" bench --once --row "sum [1024, 1024]" --dump row1
says 2 "no row is called 'sum \[1024, 1025\]'; did you mean 'sum \[1024, 1024\]'" "$vktrain" bench --row "sum [1024, 1025]"
says 2 "dump writes rows of ops" "$vktrain" bench --once --row "MLP 64-128-10, batch 64, adam" --dump none
says 2 "dump needs --row NAME" "$vktrain" bench --dump none
says 2 "row is one row" "$vktrain" bench --quick --row "sum [1024, 1024]"
says 0 "MLP 64-128-10" "$vktrain" bench --once --row "MLP 64-128-10, batch 64, adam" --repeat 3 --json step.json
grep -q 'median of 3 measurements' step.json || fail "the note of three measurements"
[ "$(grep -c '"name"' step.json)" -gt 0 ] && [ "$(grep -c '"steps"' step.json)" = 1 ] || fail "one row of a step"

# Other programs' rows in the same file (tools/compare/peers), with a Python that says it has PyTorch.
if command -v python3 >/dev/null; then
    printf '#!/bin/sh\ncase $1 in -c) echo 9.9 ;; *) while [ "$1" != --json ]; do shift; done; cp "%s/theirs.json" "$2"; exit ${RC:-0} ;; esac\n' "$work" >python
    chmod +x python
    sed 's/"driver": "[^"]*"/"driver": "PyTorch 9.9"/; s/"settings": "[^"]*"/"settings": "eager"/; s/"device": "[^"]*"/"device": "a card"/' step.json >theirs.json
    says 0 "written: step.json" python3 "$root/tools/compare/peers" step.json --vktrain "$vktrain" --python "$work/python" --no-compile
    grep -q '"device": "PyTorch 9.9, eager: a card"' step.json || fail "the peer in the file"
    RC=3 says 0 "ended with exit code 3, the rows until then count" python3 "$root/tools/compare/peers" step.json --vktrain "$vktrain" --python "$work/python" --no-compile
    cp step.json before.json
    sed 's/"driver": "[^"]*"/"driver": ""/' theirs.json >nobody.json
    says 4 "names no program" "$vktrain" bench add step.json nobody.json
    cmp step.json before.json || fail "a refused peer changed the file"
    says 1 "made with --once" "$vktrain" bench verify step.json
    grep -q "1 peer: their numbers are not checked" said || fail "what was not checked"
    ! grep -q digest said || fail "a file with peers keeps its digest"
    says 1 "no peer was measured" python3 "$root/tools/compare/peers" step.json --vktrain "$vktrain" --python false
    mkdir -p machines && cp step.json machines/
    says 0 "PyTorch 9.9, eager: a card" "$vktrain" bench table machines
    sed -i 's/"runs": [0-9]*/"runs": 77/' step.json
    says 4 "was changed after vktrain wrote it" "$vktrain" bench add step.json theirs.json
    says 2 "give a file and those of other programs" "$vktrain" bench add step.json
fi

# The set of this device, not of a large one.
"$vktrain" bench --list --suite auto >auto 2>said
if grep -q '"type": "cpu' step.json; then
    # Where its matrix units take fp16 and not bf16, these are its 16 bits.
    "$vktrain" bench --list --suite small | cmp - <(sed $'s/, fp16\t/, bf16\t/' auto) || fail "the set of a driver on the processor"
fi

# Two files of one row: what got slower, and its kernel.
"$vktrain" bench --once --row "sum [1024, 1024]" --json a.json >/dev/null 2>&1
python3 - <<'EOF' 2>/dev/null || cp a.json b.json
import json
b = json.load(open("a.json"))
for r in b["results"]:
    if r["group"] == "ops":
        r.update({k: 3 * r[k] for k in ("value", "min", "max", "q1", "q3")}, kernels=r["kernels"] + ", another 12345678")
json.dump(b, open("b.json", "w"))
EOF
if ! cmp -s a.json b.json; then
    says 0 "Slower in B than in A beyond the noise: 1 row$" "$vktrain" bench compare a.json b.json
    grep -q "0.333x  another: other code or constants" said || fail "which kernel is another"
    grep -q "B and A agree within 3% on [0-9]* of" said || fail "how many rows agree"
fi

echo "test_bench_row: $n cases, $bad failed"
[ $bad = 0 ]
