"""Writes tests/golden/families.json: of each family and variant a small model's config.json as transformers saves it, logits and
the losses of three steps of AdamW in double, for tests/models/test_families.c. Weights are a formula of (parameter's place,
element). Run in the lab: python3 tools/golden/golden_families.py (PyTorch, transformers)."""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

root = pathlib.Path(__file__).resolve().parents[2]
torch.use_deterministic_algorithms(True)
B, T, V, LR = 2, 12, 13, 1e-2
SIZES = dict(vocab_size=V, hidden_size=16, intermediate_size=20, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=256, rms_norm_eps=1e-5)
LLAMA3 = dict(rope_type="llama3", rope_theta=1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
WINDOW = dict(use_sliding_window=True, sliding_window=4)
MODELS = {
    "llama3": LlamaConfig(**SIZES, rope_parameters=LLAMA3, tie_word_embeddings=True),
    "llama-linear-wide-heads": LlamaConfig(**SIZES, rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=500.0), head_dim=12),
    "llama-attention-bias": LlamaConfig(**SIZES, attention_bias=True),
    "llama-mlp-bias": LlamaConfig(**SIZES, mlp_bias=True, head_dim=8),
    "qwen2-windows": Qwen2Config(**SIZES, **WINDOW, max_window_layers=1),
    "qwen2-layer-types": Qwen2Config(**SIZES, **WINDOW, max_window_layers=2,
                                     layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
    "qwen3": Qwen3Config(**SIZES, head_dim=8, tie_word_embeddings=True),
    "qwen3-one-kv-head": Qwen3Config(**(SIZES | dict(num_key_value_heads=1)), head_dim=12, attention_bias=True),
    "qwen3-linear-windows": Qwen3Config(**SIZES, **WINDOW, head_dim=4, max_window_layers=2,
                                        rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=1e4)),
}


def set_weights(model, scale=0.8):
    """As golden_transformer.py: gains are around 1."""
    names = []
    for name, p in model.named_parameters():
        i = np.arange(p.numel(), dtype=np.int64)
        v = scale * (((i * 7919 + len(names) * 104729) % 2003) / 2003 - 0.5) + (1.0 if p.dim() == 1 and "weight" in name else 0.0)
        p.data = torch.from_numpy(v.astype(np.float32).astype(np.float64)).reshape(p.shape)
        names.append(name)
    return names


def case(name, config):
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).double().train()
    names = set_weights(model)
    tokens = torch.tensor([(i * i + 3 * i + 1) % V for i in range(B * T)])
    targets = torch.tensor([(5 * i + 2) % V for i in range(B * T)])
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() == 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=LR, betas=(0.9, 0.99), eps=1e-8)
    first, losses = None, []
    for _ in range(4):
        logits = model(tokens.reshape(B, T)).logits
        loss = F.cross_entropy(logits.reshape(-1, V), targets)
        first = logits.detach().reshape(-1).tolist() if first is None else first
        losses.append(loss.item())
        opt.zero_grad()
        loss.backward()
        opt.step()
    saved = {k: v for k, v in config.to_diff_dict().items() if k != "transformers_version"}
    return {"name": name, "config": saved | {"architectures": [type(model).__name__]}, "params": names,
            "logits": [float(f"{v:.9g}") for v in first], "losses": losses}


cases = [case(name, config) for name, config in MODELS.items()]
path = root / "tests/golden/families.json"
path.write_text('{"batch": %d, "context": %d, "vocab": %d, "lr": %g, "models": [\n%s\n]}\n' % (B, T, V, LR, ",\n".join(map(json.dumps, cases))))
print(f"{path}: {path.stat().st_size} bytes, {len(cases)} models")
