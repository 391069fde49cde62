#!/usr/bin/env bash
# Language models as GGUF files: llama.cpp (Debian testing's packages, unpacked beside, in the lab's root) writes the same greedy text as
# vktrain does of the file, for each type of weights (where they are quantised also as llama.cpp's own products with 8-bit activations
# write it, which need not be the same: ok is of the weights, unpacked); of the Hugging Face folder in f32; and of an adapter that is trained on it, as a GGUF
# adapter. Run by hand where the lab is; of random weights the vocabulary must have no more ids than the tokenizer, since vktrain never
# writes an id without a token. Without a folder: small random models of each architecture (llama_models.py).
# usage: check_llama.sh PROGRAM [FOLDER...]      TYPES='f32 q8_0': of these types only
set -euo pipefail
program=$(realpath "${1:?the program}")
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d /tmp/vkt-llama.XXXXXX)
trap 'rm -rf "$work"' EXIT
folders=()
for folder; do folders+=("$(realpath "$folder")"); done
cd "$work"
if [ ${#folders[@]} = 0 ]; then
    "$lab/in-testing" python3 "$here/llama_models.py" models
    folders=("$work"/models/*)
fi
bad=0 prompt='The quick'
theirs() { "$here/llama_greedy.sh" "$1" "$prompt" 12 "${@:2}" || true; }
# At llama.cpp's context: of LongRoPE both choose the list by it, and a run's own is the short one.
ours() { "$lab/with-driver" mesa25 "$program" generate "$1" --context 128 --prompt "$prompt" --tokens 12 --temperature 0 2>ours.log | tr -d '\000'; }
# same WHAT OURS MODEL OPTIONS...: llama.cpp's text, whose output is sometimes cut short where bytes are no whole character, is ours.
same() {
    local now
    for _ in 1 2 3 4; do
        now=$(theirs "${@:3}")
        [ "$2" != "$now" ] || { echo "ok   $1: $now"; return; }
    done
    echo "FAIL $1: '$2', llama.cpp: '$now'"
    bad=1
}
# adapted FOLDER: the text of a run that trains an adapter on every projection but experts' for three steps, and adapter.gguf.
adapted() {
    printf '%s\n' "init: $1" "data: {source: text, path: text.txt, context: 32, valid_fraction: 0.2, test_fraction: 0}" \
        "lora: {rank: 4}" "optim: {rule: adamw, lr: 0.05}" "train: {steps: 3, batch: 2}" >recipe.yaml
    rm -rf run adapter.gguf
    "$lab/with-driver" mesa25 "$program" train recipe.yaml --run run --quiet >train.log 2>&1 || { cat train.log >&2; return 1; }
    "$program" export run --adapter adapter.gguf --quiet >/dev/null && ours run
}
for _ in 1 2 3 4 5 6 7 8 9; do echo 'It is a truth universally acknowledged, that a single man must be in want of a wife.'; done >text.txt
for folder in "${folders[@]}"; do
    name=$(basename "$folder")
    for type in ${TYPES:-f32 q8_0 q4_0 q4_k}; do
        rm -f model.gguf
        "$program" export "$folder" --gguf model.gguf --type "$type" --quiet >/dev/null || { echo "FAIL $name $type"; bad=1; continue; }
        text=$(ours model.gguf)
        if [ "$type" != f32 ]; then # unpacked by vktrain; of the file itself llama.cpp multiplies rounded activations
            rm -f unpacked.gguf
            "$program" export model.gguf --gguf unpacked.gguf --type f32 --quiet >/dev/null || { echo "FAIL $name $type"; bad=1; continue; }
            same "$name $type" "$text" unpacked.gguf
            now=$(theirs model.gguf)
            [ "$text" = "$now" ] && echo "same $name $type in 8-bit products" || echo "near $name $type in 8-bit products: $now"
            continue
        fi
        same "$name $type" "$text" model.gguf
        same "$name folder" "$(ours "$folder")" model.gguf
        text=$(adapted "$folder") && same "$name adapter" "$text" model.gguf --lora adapter.gguf || { echo "FAIL $name adapter"; bad=1; }
    done
done
exit $bad
