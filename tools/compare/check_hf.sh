#!/usr/bin/env bash
# Hugging Face folders in and out, against transformers: random small models of each family, in f32, f16 and bf16, in one
# file and in shards, are read by `init:`, evaluated, exported, and loaded again. Run by hand where the lab is.
# usage: check_hf.sh PROGRAM [DRIVER [NAME...]]     NAME: of the models in check_hf.py
set -euo pipefail
program=$(realpath "${1:?the program}") driver=${2:-mesa25}
names=("${@:3}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-hf.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$lab/in-testing" python3 "$here/check_hf.py" make "$work" "${names[@]}" 2>/dev/null
cd "$work"
bad=0
# same_loss NAME: what NAME/expected.json says is what got.json says.
same_loss() {
    python3 - "$1" <<'PY'
import json, sys
want, got = json.load(open(sys.argv[1] + "/expected.json")), json.load(open("got.json"))
ok = want["n"] == got["n"] and abs(want["loss"] - got["loss"]) <= 1e-5 * want["loss"]
print(("ok   " if ok else "FAIL ") + f"{sys.argv[1]}: loss {got['loss']:.7f} over {got['n']} tokens, transformers {want['loss']:.7f}")
sys.exit(not ok)
PY
}
for name in $(ls -d */ | tr -d / | grep -v -- -peft); do
    # One step at a rate that changes nothing: the run's checkpoint holds the folder's weights.
    printf '%s\n' "init: $name" "data: {source: text, path: text.txt, context: 32, valid_fraction: 0.2, test_fraction: 0}" \
        "optim: {lr: 0}" "train: {steps: 1, batch: 2}" >recipe.yaml
    "$lab/with-driver" "$driver" "$program" train recipe.yaml --run "$name-run" --quiet >log 2>&1 || { cat log; exit 1; }
    "$lab/with-driver" "$driver" "$program" eval "$name-run" --data text.txt --json >got.json 2>log || { cat log; exit 1; }
    "$program" export "$name-run" --hf "$name-out" --quiet
    # An adapter on every projection, and the whole with it merged.
    { cat recipe.yaml; echo "lora: {rank: 3, targets: all-linear}"; } | sed 's/lr: 0/rule: adamw, lr: 0.1/; s/steps: 1/steps: 4/' >lora.yaml
    "$lab/with-driver" "$driver" "$program" train lora.yaml --run "$name-lora" --quiet >log 2>&1 || { cat log; exit 1; }
    "$program" export "$name-lora" --adapter "$name-adapter" --quiet
    "$program" export "$name-lora" --hf "$name-merged" --quiet
    # Sums of some hundred float32 logits agree to about 1e-6 of themselves.
    same_loss "$name" || bad=1
    # An adapter that PEFT might have written, by itself: it stands for its base.
    "$lab/with-driver" "$driver" "$program" eval "$name-peft" --data text.txt --json >got.json 2>log || { cat log; exit 1; }
    same_loss "$name-peft" || bad=1
done
"$lab/in-testing" python3 "$here/check_hf.py" load "$work" "${names[@]}" 2>/dev/null || bad=1
exit $bad
