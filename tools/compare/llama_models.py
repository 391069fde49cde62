#!/usr/bin/env python3
"""Random small models of each architecture that llama.cpp and vktrain share, for tools/compare/check_llama.sh, in the lab's Python:
llama_models.py DIR [NAME...] writes DIR/NAME, a Hugging Face folder with as many ids as its tokenizer has. Rows are multiples of 256, for
Q4_K; layers weigh more than embeddings, so that a tied one does not write the last token again."""
import json
import sys
from pathlib import Path

import torch
from transformers import (AutoModelForCausalLM, Gemma2Config, Gemma3TextConfig, GPT2Config, LlamaConfig, OlmoeConfig, Phi3Config, Qwen2Config,
                          Qwen3Config, Qwen3MoeConfig)

GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden"
TOKENS = {"gpt2-small": (700, 0, 0), "llama3-small": (700, 0, 1), "smollm2-small": (700, 1, 2), "spm-llama2": (759, 1, 2), "spm-gemma": (759, 1, 2)}
SIZES = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
             rms_norm_eps=1e-5, initializer_range=0.08, pad_token_id=None)
GEMMA = SIZES | dict(head_dim=64, query_pre_attn_scalar=64, sliding_window=8)
LLAMA3 = dict(rope_type="llama3", rope_theta=1e4, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
LONG = dict(rope_type="longrope", rope_theta=1e4, short_factor=[1.0 + i / 32 for i in range(32)], long_factor=[1.0 + i / 4 for i in range(32)],
            original_max_position_embeddings=64)
MODELS = {
    "llama": (LlamaConfig, "spm-llama2", SIZES | dict(tie_word_embeddings=False)),
    "llama3": (LlamaConfig, "llama3-small", SIZES | dict(tie_word_embeddings=True, rope_parameters=LLAMA3)),
    "qwen2": (Qwen2Config, "smollm2-small", SIZES | dict(tie_word_embeddings=True)),
    "qwen3": (Qwen3Config, "smollm2-small", SIZES | dict(head_dim=64)),
    "qwen3moe": (Qwen3MoeConfig, "smollm2-small", SIZES | dict(head_dim=64, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=256, norm_topk_prob=True)),
    "olmoe": (OlmoeConfig, "smollm2-small", SIZES | dict(num_experts=8, num_experts_per_tok=2, intermediate_size=256, num_key_value_heads=4)),
    "gemma2": (Gemma2Config, "spm-gemma", GEMMA),
    "gemma3": (Gemma3TextConfig, "spm-gemma", GEMMA | dict(num_hidden_layers=6)),
    "phi3": (Phi3Config, "spm-llama2", SIZES),
    "phi3-long": (Phi3Config, "smollm2-small", SIZES | dict(rope_parameters=LONG, original_max_position_embeddings=64)),
    "gpt2": (GPT2Config, "gpt2-small", dict(n_positions=128, n_embd=256, n_layer=2, n_head=4, initializer_range=0.08)),
}


root = Path(sys.argv[1])
for name, (kind, tokens, sizes) in MODELS.items():
    if sys.argv[2:] and name not in sys.argv[2:]:
        continue
    torch.manual_seed(5)
    vocab, bos, eos = TOKENS[tokens]
    model = AutoModelForCausalLM.from_config(kind(vocab_size=vocab, bos_token_id=bos, eos_token_id=eos, **sizes)).eval()
    with torch.no_grad():
        for which, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.1 * torch.randn_like(p))
            else:
                p.mul_(0.2 if "embed" in which or "wte" in which else 2)
    model.save_pretrained(root / name)
    (root / name / "tokenizer.json").write_bytes((GOLDEN / (tokens + ".json")).read_bytes())
    words = {t["id"]: t["content"] for t in json.loads((root / name / "tokenizer.json").read_text())["added_tokens"]}
    (root / name / "tokenizer_config.json").write_text(json.dumps({"bos_token": words[bos], "eos_token": words[eos]}))
