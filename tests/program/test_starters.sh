#!/usr/bin/env bash
# The first recipe of a table by its size, and what --quick and --best make of it.   test_starters.sh VKTRAIN
set -uo pipefail
. "$(dirname "$0")/../support/refusals.sh"
fail() { echo "$test: FAILED: $*"; bad=$((bad + 1)); }
python3 -c '
import random
random.seed(3)
for name, n in ("few.csv", 300), ("many.csv", 14000):
    with open(name, "w") as f:
        f.write("a,b,c,y\n")
        for _ in range(n):
            x = [random.gauss(0, 1) for _ in range(3)]
            f.write(",".join("%.3f" % v for v in x) + ",%s\n" % ("up" if x[0] * x[1] + x[2] > 0 else "down"))
with open("text.txt", "w") as f:
    f.write("the quick brown fox jumps over the lazy dog. " * 900)'
has() { # FILE KEY VALUE...: the recipe's lines "KEY: VALUE", in order
    local file=$1 key=$2 got
    shift 2
    got=$(sed -n "s/^ *\(- \)*$key: *\([^ ]*\).*/\2/p" "$file" | tr '\n' ' ')
    [ "$got" = "$* " ] || fail "$file: $key is '$got', must be '$*'"
}
works init few.csv -o few.yaml
has few.yaml count 8; has few.yaml linear 128 128
works init many.csv -o many.yaml
has many.yaml count 4; has many.yaml linear 128 128; has many.yaml batch 128
grep -q '^  bins: 8 ' many.yaml || fail "many rows of few columns have bins"
python3 -c '
import random
random.seed(4)
print(*("x%d" % i for i in range(40)), "y", sep=",")
for _ in range(14000):
    x = [random.gauss(0, 1) for _ in range(40)]
    print(*("%.2f" % v for v in x), "up" if x[0] * x[1] + x[2] > 0 else "down", sep=",")' >wide.csv
works init wide.csv -o wide.yaml
has wide.yaml count 4
! grep -q '^  bins:' wide.yaml || fail "bins make many rows of many columns slow"
works init many.csv -o quick.yaml --quick
has quick.yaml count 4; has quick.yaml linear 64 64
grep -q 'quick: 4 nets of width 64 in place of 4 of 128, [0-9]* steps in place of [0-9]*: a first result' out && grep -q '^# --quick: 4 nets' quick.yaml || fail "--quick says what it changes: $(cat out)"
works init many.csv -o best.yaml --best
has best.yaml count 8; has best.yaml linear 128 128
grep -q 'best: 8 nets of width 128 in place of 4 of 128, [0-9]* steps in place of' out && grep -q 'study auto best.yaml --minutes 30      30 min' out || fail "--best says what it changes: $(cat out)"
steps() { sed -n 's/^  steps: *\([0-9]*\).*/\1/p' "$1"; }
[ "$(steps quick.yaml)" = $(($(steps many.yaml) / 5)) ] && [ "$(steps best.yaml)" = $(($(steps many.yaml) * 3)) ] || fail "a fifth, three times"
grep -q "^--quick: 4 nets.*, $(steps quick.yaml) steps in place of $(steps many.yaml): " <(works init many.csv -o quick-again.yaml --quick; cat out) || fail "the steps that are written"
works init many.csv -o set.yaml --quick --set train.steps=1000
grep -q '^# --quick: 4 nets of width 64 in place of 4 of 128: a first' set.yaml && [ "$(steps set.yaml)" = 1000 ] || fail "steps that were given are not a fifth: $(cat out)"
# of any data
works init text.txt -o text.yaml
works init text.txt -o text-quick.yaml --quick
[ "$(steps text-quick.yaml)" = $(($(steps text.yaml) / 5)) ] || fail "a text's steps"
works init text.txt -o text-set.yaml --best --set train.steps=9
grep -q '^# --best changes nothing of this recipe' text-set.yaml || fail "nothing is changed: $(cat out)"
refused 2 "init: --quick and --best contradict each other" init few.csv --quick --best -o no.yaml
works train quick.yaml --run quick --quiet
[ "$bad" = 0 ]
