#!/usr/bin/env bash
# GGUF files of a run against ggml's own reader: every tensor's type, dimensions and sum as in the run's Hugging Face
# folder. Run by hand where the lab is.
# usage: check_gguf.sh PROGRAM RUN
set -euo pipefail
program=$(realpath "${1:?the program}") run=$(realpath "${2:?a run}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lab=${VKT_LAB_DIR:-$here/../../../shared/lab}
work=$(mktemp -d "${TMPDIR:-/tmp}/vkt-gguf.XXXXXX")
trap 'rm -rf "$work"' EXIT
cp "$here/../../tests/models/check_gguf.c" "$work"
"$program" export "$run" --hf "$work/hf" --quiet
for type in f32 f16; do "$program" export "$run" --gguf "$work/$type.gguf" --type $type --quiet; done
cd "$work"
"$lab/in-testing" sh -c 'gcc check_gguf.c -o check_gguf -lggml-base &&
    for type in f32 f16; do ./check_gguf $type.gguf >$type.txt; done &&
    python3 - <<PY
import re, sys
from safetensors.numpy import load_file
have = load_file("hf/model.safetensors")
names = {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up",
         "mlp.c_proj": "ffn_down", "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "transformer.wte": "token_embd",
         "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm", "model.embed_tokens": "token_embd",
         "model.norm": "output_norm", "lm_head": "output"}
want = {}
for name, t in have.items():
    m = re.match(r"(?:transformer\.h|model\.layers)\.(\d+)\.(.*)\.(weight|bias)|(.*)\.(weight|bias)", name)
    new = f"blk.{m[1]}.{names[m[2]]}.{m[3]}" if m[1] else f"{names[m[4]]}.{m[5]}"
    flip = name.startswith("transformer.h.") and t.ndim == 2
    want[new] = (t.shape if flip else t.shape[::-1], t.astype("f8").sum(), abs(t.astype("f8")).sum())
bad = 0
for kind in "f32", "f16":
    got = {}
    for line in open(kind + ".txt"):
        if line.startswith("tensor "):
            _, name, dtype, a, b, total = line.split()
            got[name] = (dtype, (int(a), int(b)), float(total))
    got.pop("rope_freqs.weight", None)  # of rope_scaling: llama3, which the folder has in its config.json
    bad += got.keys() != want.keys()
    for name, (shape, total, size) in want.items():
        narrow = kind == "f16" and len(shape) == 2 and name != "position_embd.weight"
        dims = tuple(shape) + (1,) * (2 - len(shape))
        # f16 rounds each number to 2^-11 of itself; sums are printed to 1e-6.
        ok = got[name][0] == ("f16" if narrow else "f32") and got[name][1] == dims and \
            abs(got[name][2] - total) <= (size * 2**-11 if narrow else 0) + 1e-6
        bad += not ok
        if not ok: print("FAIL", kind, name, got[name], dims, total)
print("FAIL" if bad else f"ok   {len(want)} tensors in f32 and f16, as ggml reads them")
sys.exit(bad != 0)
PY'
