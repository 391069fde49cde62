"""Writes tests/golden/families.json: of each family and variant a small model's config.json as transformers saves it, logits and
the losses before and after a step of AdamW in double, then again with an adapter on every projection that is trained alone, for tests/models/test_families.c. Weights are a formula of (parameter's place,
element). Run in the lab: python3 tools/golden/golden_families.py (PyTorch, transformers)."""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from transformers import (AutoModelForCausalLM, Gemma2Config, Gemma3TextConfig, GPTNeoXConfig, GraniteConfig, LlamaConfig, MistralConfig, Olmo2Config,
                          OlmoeConfig, Phi3Config, Qwen2Config, Qwen3Config, Qwen3MoeConfig, SmolLM3Config)

root = pathlib.Path(__file__).resolve().parents[2]
torch.use_deterministic_algorithms(True)
B, T, V, LR = 2, 12, 13, 1e-2
SIZES = dict(vocab_size=V, hidden_size=16, intermediate_size=20, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=256, rms_norm_eps=1e-5)
LLAMA3 = dict(rope_type="llama3", rope_theta=1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
YARN = dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=64)
# A padding token of the vocabulary would have no gradient there.
NO_TOKENS = dict(pad_token_id=None, bos_token_id=None, eos_token_id=None)
LONG = dict(rope_type="longrope", rope_theta=1e4, partial_rotary_factor=0.75, short_factor=[1.0, 1.5, 3.0], long_factor=[1.5, 4.0, 9.0])
GEMMA = SIZES | NO_TOKENS
NEOX = dict(vocab_size=V, hidden_size=32, intermediate_size=20, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=256,
            layer_norm_eps=1e-5, hidden_act="gelu") | NO_TOKENS
WINDOW = dict(use_sliding_window=True, sliding_window=4)
MOE = SIZES | NO_TOKENS | dict(moe_intermediate_size=12, num_experts=6, num_experts_per_tok=2)
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
    "llama-yarn": LlamaConfig(**SIZES, head_dim=16, rope_parameters=YARN),
    "qwen3-yarn-said": Qwen3Config(**SIZES, head_dim=8, rope_parameters=YARN | dict(beta_fast=8.0, beta_slow=2.0, attention_factor=1.2)),
    "mistral-window": MistralConfig(**SIZES, sliding_window=5, head_dim=8),
    "mistral-wide-window": MistralConfig(**SIZES, sliding_window=200),
    "mistral-yarn": MistralConfig(**(SIZES | dict(num_key_value_heads=1)), sliding_window=7,
                                  rope_parameters=YARN | dict(mscale=0.7, mscale_all_dim=0.4, truncate=False)),
    "smollm3": SmolLM3Config(**SIZES, **NO_TOKENS, no_rope_layer_interval=2),
    "smollm3-list-bias": SmolLM3Config(**SIZES, **NO_TOKENS, no_rope_layers=[0, 1, 1], attention_bias=True, tie_word_embeddings=False),
    "smollm3-windows": SmolLM3Config(**SIZES, **NO_TOKENS, no_rope_layer_interval=3, use_sliding_window=True, sliding_window=4, mlp_bias=True),
    "olmo2": Olmo2Config(**NO_TOKENS, **SIZES),
    "olmo2-all-heads": Olmo2Config(**NO_TOKENS, **(SIZES | dict(num_key_value_heads=4, intermediate_size=24)), rope_parameters=dict(rope_type="default", rope_theta=5e5)),
    "olmo2-bias-tied": Olmo2Config(**NO_TOKENS, **(SIZES | dict(num_key_value_heads=1)), attention_bias=True, tie_word_embeddings=True),
    "granite": GraniteConfig(**SIZES, embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.015625, logits_scaling=8.0),
    "granite-tied-bias": GraniteConfig(**SIZES, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.4, logits_scaling=0.6,
                                       attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
    "granite-some": GraniteConfig(**SIZES, embedding_multiplier=4.0, attention_multiplier=0.5, logits_scaling=2.0,
                                  rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=1e4)),
    "phi3": Phi3Config(**SIZES, **NO_TOKENS),
    "phi3-part-window": Phi3Config(**(SIZES | dict(num_key_value_heads=4, hidden_size=32)), **NO_TOKENS, sliding_window=5, tie_word_embeddings=True,
                                   rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.75)),
    "phi3-longrope": Phi3Config(**(SIZES | dict(hidden_size=32)), **NO_TOKENS, original_max_position_embeddings=64, rope_parameters=LONG | dict(
        original_max_position_embeddings=64)),
    "phi3-longrope-long": Phi3Config(**(SIZES | dict(hidden_size=32)), **NO_TOKENS, original_max_position_embeddings=8, rope_parameters=LONG | dict(
        original_max_position_embeddings=8)),
    "gemma3": Gemma3TextConfig(**GEMMA, head_dim=8, query_pre_attn_scalar=8, sliding_window=4, _sliding_window_pattern=3,
                               layer_types=["sliding_attention", "sliding_attention", "full_attention"]),
    "gemma3-scaled": Gemma3TextConfig(**(GEMMA | dict(num_key_value_heads=1)), head_dim=12, query_pre_attn_scalar=16, sliding_window=3,
                                      layer_types=["sliding_attention", "full_attention", "sliding_attention"], attention_bias=True,
                                      rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1e6),
                                                           sliding_attention=dict(rope_type="default", rope_theta=1e4))),
    "gemma3-untied": Gemma3TextConfig(**GEMMA, head_dim=4, query_pre_attn_scalar=4, sliding_window=6, tie_word_embeddings=False,
                                      layer_types=["full_attention", "sliding_attention", "full_attention"]),
    "gemma2": Gemma2Config(**GEMMA, head_dim=8, query_pre_attn_scalar=8, sliding_window=4, attn_logit_softcapping=2.0, final_logit_softcapping=3.0),
    "gemma2-no-caps": Gemma2Config(**GEMMA, head_dim=4, query_pre_attn_scalar=9, sliding_window=5, attn_logit_softcapping=None,
                                   final_logit_softcapping=None, attention_bias=True),
    "gemma2-attention-cap": Gemma2Config(**(GEMMA | dict(num_key_value_heads=1)), head_dim=12, query_pre_attn_scalar=12, sliding_window=3,
                                         attn_logit_softcapping=1.0, final_logit_softcapping=30.0, tie_word_embeddings=False,
                                         layer_types=["full_attention", "sliding_attention", "full_attention"]),
    "gpt-neox": GPTNeoXConfig(**NEOX),
    "gpt-neox-in-turn": GPTNeoXConfig(**NEOX, use_parallel_residual=False, tie_word_embeddings=True,
                                      rope_parameters=dict(rope_type="default", rope_theta=5e3, partial_rotary_factor=0.5)),
    "gpt-neox-all-turn": GPTNeoXConfig(**(NEOX | dict(hidden_act="gelu_new")), rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=1e4,
                                                                                                    partial_rotary_factor=1.0)),
    "qwen3-moe": Qwen3MoeConfig(**MOE, head_dim=8, norm_topk_prob=True),
    "qwen3-moe-balanced": Qwen3MoeConfig(**(MOE | dict(num_experts=9, num_experts_per_tok=4)), head_dim=4, mlp_only_layers=[1], attention_bias=True,
                                         output_router_logits=True, router_aux_loss_coef=0.1, tie_word_embeddings=True),
    "qwen3-moe-some-window": Qwen3MoeConfig(**(MOE | dict(num_experts=4, num_experts_per_tok=3)), **WINDOW, head_dim=12, decoder_sparse_step=2,
                                            norm_topk_prob=True, output_router_logits=True),
    "olmoe": OlmoeConfig(**SIZES, **NO_TOKENS, num_experts=5, num_experts_per_tok=2),
    "olmoe-balanced": OlmoeConfig(**(SIZES | dict(num_key_value_heads=4)), **NO_TOKENS, num_experts=8, num_experts_per_tok=3, norm_topk_prob=True,
                                  output_router_logits=True, attention_bias=True),
}


def scale_of(config):
    """With others transformers' own float32 is up to 1.5e-5 off its double."""
    return 0.8 if config.model_type.startswith("gemma") else 0.5


def set_weights(model):
    """As golden_transformer.py: gains are around 1 (Gemma's are 1 + weight)."""
    scale = scale_of(model.config)
    names, one = [], 0.0 if model.config.model_type.startswith("gemma") else 1.0
    for name, p in model.named_parameters():
        if name.endswith("experts.gate_up_proj"):  # in files they are apart
            E, F2, C = p.shape
            p.data = torch.cat([formula(E * F2 * C // 2, len(names) + k, scale).reshape(E, F2 // 2, C) for k in (0, 1)], 1)
            names += [name.replace("gate_up_proj", part) + ".weight" for part in ("gate_proj", "up_proj")]
            continue
        i = np.arange(p.numel(), dtype=np.int64)
        v = scale * (((i * 7919 + len(names) * 104729) % 2003) / 2003 - 0.5) + (one if p.dim() == 1 and "weight" in name else 0.0)
        p.data = torch.from_numpy(v.astype(np.float32).astype(np.float64)).reshape(p.shape)
        names.append(name + ".weight" if name.endswith("experts.down_proj") else name)
    return names


def formula(n, place, scale):
    i = np.arange(n, dtype=np.int64)
    v = scale * (((i * 7919 + place * 104729) % 2003) / 2003 - 0.5)
    return torch.from_numpy(v.astype(np.float32).astype(np.float64))


def add_adapters(model):
    """LoRA of rank 2 and alpha 3 on every projection but the head, as PEFT's all-linear."""
    names, params = [], []
    for p in model.parameters():
        p.requires_grad_(False)
    for name, m in model.named_modules():
        if type(m).__name__ != "Linear" or name in ("lm_head", "embed_out"):
            continue
        a = torch.nn.Parameter(formula(2 * m.in_features, len(names), 0.6).reshape(2, m.in_features))
        b = torch.nn.Parameter(formula(2 * m.out_features, len(names) + 1, 0.6).reshape(m.out_features, 2))
        m.register_forward_hook(lambda _, x, y, a=a, b=b: y + 1.5 * (x[0] @ a.T) @ b.T)
        names += [f"{name}.lora_A.weight", f"{name}.lora_B.weight"]
        params += [a, b]
    return names, params


def losses_of(model, params, tokens, targets, steps=2):
    """Logits, and the losses before and after a step. eps is above the noise of gradients that are nearly 0."""
    opt = torch.optim.AdamW([{"params": [p for p in params if p.dim() > 1], "weight_decay": 0.1},
                             {"params": [p for p in params if p.dim() == 1], "weight_decay": 0.0}], lr=LR, betas=(0.9, 0.99), eps=1e-5)
    first, losses = None, []
    for _ in range(steps):
        out = model(tokens.reshape(B, T))
        logits = out.logits
        loss = F.cross_entropy(logits.reshape(-1, V), targets)
        if getattr(model.config, "output_router_logits", False):
            loss = loss + model.config.router_aux_loss_coef * out.aux_loss
        first = logits.detach().reshape(-1).tolist() if first is None else first
        losses.append(loss.item())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return [float(f"{v:.9g}") for v in first], losses


def case(name, config):
    config._attn_implementation = config._experts_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).double().train()
    names = set_weights(model)
    start = {k: v.detach().clone() for k, v in model.named_parameters()}
    tokens = torch.tensor([(i * i + 3 * i + 1) % V for i in range(B * T)])
    targets = torch.tensor([(5 * i + 2) % V for i in range(B * T)])
    logits, losses = losses_of(model, list(model.parameters()), tokens, targets)
    with torch.no_grad():
        for k, p in model.named_parameters():
            p.copy_(start[k])
    adapters, params = add_adapters(model)
    with_adapters = losses_of(model, params, tokens, targets)[1]
    saved = {k: v for k, v in config.to_diff_dict().items() if k not in ("transformers_version", "architectures")}
    return {"name": name, "scale": scale_of(config), "config": saved | {"architectures": [type(model).__name__]}, "params": names,
            "logits": logits, "losses": losses, "adapters": adapters, "adapter_losses": with_adapters}


if __name__ == "__main__":
    cases = [case(name, config) for name, config in MODELS.items()]
    path = root / "tests/golden/families.json"
    path.write_text('{"batch": %d, "context": %d, "vocab": %d, "lr": %g, "models": [\n%s\n]}\n' % (B, T, V, LR, ",\n".join(map(json.dumps, cases))))
    print(f"{path}: {path.stat().st_size} bytes, {len(cases)} models")
