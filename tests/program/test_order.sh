#!/usr/bin/env bash
# Barriers stand where they must: a layer (tests/support/faults/vkorder.c) plays the commands between two barriers in the opposite order,
# which any device may do, and each training must have the bits of the undisturbed one. Without a barrier it would not: what depends on the
# command before it would run first.
# usage: test_order.sh PROGRAM FAULTS_DIR
set -euo pipefail
program=$(realpath "${1:?the program}")
faults=$(realpath "${2:?the folder with the layer}")
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-order.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
bad=0
fail() { bad=$((bad + 1)); echo "test_order: FAILED: $*"; }
turned() { VK_LAYER_PATH=$faults VK_INSTANCE_LAYERS=VK_LAYER_VKT_order VKORDER_COUNT=$work/count "$@"; }

# both NAME RECIPE OPTIONS...: trained straight and turned round, to the same weights and moments.
both()
{
    local name=$1 at
    shift
    rm -rf straight turned count
    "$program" train "$@" --no-cache --quiet --run straight >out 2>&1 || { fail "$name: exit $?"; cat out; return; }
    turned "$program" train "$@" --no-cache --quiet --run turned >out 2>&1 || { fail "$name turned round: exit $?"; cat out; return; }
    # That nothing overtook anything would prove nothing.
    [[ $(cat count) =~ ^moved\ [1-9][0-9]*\ barriers\ [1-9] ]] || fail "$name: '$(cat count)'"
    for at in straight/checkpoints/*/*.safetensors; do
        cmp -s "$at" "turned/${at#*/}" || { fail "$name: other bits in ${at#*/}: a barrier is missing"; return; }
    done
}
head -c 20000 "$(dirname "$(realpath "$0")")/../files/pride-and-prejudice.txt" >text.txt
cat >gpt.yaml <<'X'
name: gpt
data: {source: text, path: text.txt, tokenizer: bytes, context: 32}
model: [{transformer: {layers: 2, heads: 2, width: 32, dropout: 0.1}}]
optim: {rule: adamw, clip: 1}
train: {steps: 4, batch: 4, accumulate: 2, ema: 0.9}
eval: {every: 2, batch: 64}
X
cat >cnn.yaml <<'X'
name: cnn
data: {source: digits}
model: [{conv: {out: 8, pad: 1}}, batch_norm, relu, max_pool, {conv: {out: 8, stride: 2}}, relu, global_pool, linear]
optim: {rule: sgd, momentum: 0.9, clip: 1}
train: {steps: 4, batch: 16}
eval: {every: 2}
X
both digits digits --set train.steps=6 --set eval.every=3
both gpt gpt.yaml
both "gpt, recomputed" gpt.yaml --set train.recompute=all
both cnn cnn.yaml
exit $((bad > 0))
