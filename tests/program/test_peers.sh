#!/usr/bin/env bash
# Every name that `vktrain bench` gives its rows is one that PyTorch's side knows: a counterpart, or the reason why there is none; 16-bit
# products and steps have counterparts. Needs Python, not PyTorch. usage: test_peers.sh VKTRAIN
set -euo pipefail
vktrain=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "test_peers: no python3"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-peers.XXXXXX")
trap 'rm -rf "$work"' EXIT
bad=0 n=0
fail() { echo "test_peers: FAILED: $1"; bad=$((bad + 1)); }
match() { python3 "$root/tools/compare/peer_torch.py" --match "$1" >"$work/matched" 2>&1; }

for key in "" --key "--suite small" "--suite medium" "--suite large"; do
    n=$((n + 1))
    "$vktrain" bench --list $key >"$work/names"
    match "$work/names" || fail "names that PyTorch's side does not know:$(grep UNKNOWN "$work/matched" | cut -f2 | sed 's/^/\n  /')"
    # Not one product, attention or step of 16 bits without a counterpart; of the key rows none at all.
    others=$(awk -F'\t' -v key="${key##--suite*}" '$3 ~ /^none/ && $2 !~ /(on NF4|^detector|generating$|recipe to)/ && (key || $2 ~ /^(matmul|attention|conv2d)/ || ($1 == "steps" && $2 ~ /(bf16|fp16)/))' "$work/matched")
    [ -z "$others" ] || fail "without a counterpart: $others"
done
for want in 'matmul bf16 NT M 4096 N 4096 K 4096' 'matmul f16 NT M 4096 N 4096 K 4096' 'MLP 784-512-512-10, batch 128, bf16' \
    'U-Net 256x256, batch 16, bf16' 'ViT-Ti/16 224x224, batch 64, adam' 'SmolLM2-135M LoRA, 8 x 1024 tokens, bf16' 'ResNet-50 224x224, batch 32, bf16' 'GPT-2 124M, 8 x 1024 tokens, bf16'; do
    n=$((n + 1))
    "$vktrain" bench --list >"$work/names"
    grep -qF "$want" "$work/names" || fail "bench does not measure $want"
done
for name in 'matmul q8 NT M 4 N 4 K 4' 'a new op [4, 4]'; do
    n=$((n + 1))
    printf 'ops\t%s\n' "$name" >"$work/names"
    ! match "$work/names" || fail "$name has a counterpart"
    grep -q UNKNOWN "$work/matched" || fail "$name is not told"
done

# What another program says is no reason to lose what was measured: an error of pages, an answer of a form that is not known.
n=$((n + 1))
python3 - "$root/tools/compare" >"$work/said" 2>&1 <<'EOF' || fail "a refused row: $(cat "$work/said")"
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import peer_torch
why = peer_torch.refused_row(dict(group="ops", name="add", unit="us", better="lower", kernels="k"), "\x1b[31mError\u202e " + 500 * "x")["refused"]
assert why.isprintable() and len(why) == 100 and "[31mError" in why, why
EOF
n=$((n + 1))
printf '#!/bin/sh\necho "[$ANSWER]"\n' >"$work/llama-bench"
chmod +x "$work/llama-bench"
PATH="$work:$PATH" python3 - "$root/tools/compare/peers" "$work/llama.json" >"$work/said" 2>&1 <<'EOF' || fail "an answer of llama-bench: $(cat "$work/said")"
import argparse, importlib.machinery, importlib.util, json, os, pathlib, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("peers", sys.argv[1])
peers = importlib.util.module_from_spec(importlib.util.spec_from_loader("peers", loader))
loader.exec_module(peers)
args, path = argparse.Namespace(gguf="A=a.gguf"), pathlib.Path(sys.argv[2])
mine = {"info": {}, "results": [{"name": "A generating, all 512 anew"}]}
for answer in "", "1", '{"n_prompt": 512}', "{":
    os.environ["ANSWER"] = answer
    assert not peers.llama_file(args, mine, path) and not path.exists(), answer
os.environ["ANSWER"] = '{"n_prompt": 512, "n_gen": 0, "samples_ns": [1000000, 2000000], "model_type": "m", "n_threads": 1, "build_commit": "c", "build_number": 1, "backends": "CPU"}'
assert peers.llama_file(args, mine, path) and json.loads(path.read_text())["info"]["driver"] == "llama.cpp c"
EOF

echo "test_peers: $n cases, $bad failed"
[ $bad = 0 ]
