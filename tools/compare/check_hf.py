#!/usr/bin/env python3
"""Half of tools/compare/check_hf.sh, in the lab's Python with transformers.

check_hf.py make DIR [NAME...]     random small models of each family with a tokenizer, and the loss of each on DIR/text.txt
check_hf.py load DIR [NAME...]     what vktrain exported loads, with the weights and the loss that it was made with, and its
                                   config.json computes the same
"""
import json
import math
import sys
from pathlib import Path

import torch
from transformers import (AutoModelForCausalLM, PreTrainedTokenizerFast, Gemma2Config, Gemma3TextConfig, GPT2Config, GPTNeoXConfig, GraniteConfig, LlamaConfig,
                          MistralConfig, Olmo2Config, OlmoeConfig, Phi3Config, Qwen2Config, Qwen3Config, Qwen3MoeConfig, SmolLM3Config)

CONTEXT, FOLDER = 32, 64  # tokens of a window: of the recipe; of a folder by itself, the model's positions
SMALL = Path(__file__).resolve().parents[2] / "tests/golden/gpt2-small.json"
LLAMA = dict(vocab_size=704, hidden_size=32, intermediate_size=88, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5)
NO_TOKENS = dict(pad_token_id=None, bos_token_id=None, eos_token_id=None)
MODELS = {
    "gpt2": (GPT2Config(vocab_size=700, n_positions=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3), "float32"),
    "gpt2-f16": (GPT2Config(vocab_size=700, n_positions=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.2), "float16"),
    "llama": (LlamaConfig(**LLAMA, initializer_range=0.3, tie_word_embeddings=False), "float32"),
    "llama-tied-bf16": (LlamaConfig(**LLAMA, initializer_range=0.2, tie_word_embeddings=True), "bfloat16"),
    "qwen2": (Qwen2Config(**LLAMA, initializer_range=0.3, tie_word_embeddings=True), "float32"),
    "qwen2-windows": (Qwen2Config(**LLAMA, initializer_range=0.3, use_sliding_window=True, sliding_window=8, max_window_layers=1), "float32"),
    "llama3": (LlamaConfig(**LLAMA, initializer_range=0.3, head_dim=16, attention_bias=True, rope_parameters=dict(
        rope_type="llama3", rope_theta=1000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32)), "float32"),
    "qwen3": (Qwen3Config(**(LLAMA | dict(num_key_value_heads=1)), initializer_range=0.3, head_dim=12, tie_word_embeddings=True), "float32"),
    "qwen3-moe": (Qwen3MoeConfig(**LLAMA, **NO_TOKENS, initializer_range=0.3, head_dim=12, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=24,
                                 norm_topk_prob=True), "float32"),
    "qwen3-moe-mlp-bf16": (Qwen3MoeConfig(**LLAMA, **NO_TOKENS, initializer_range=0.2, num_experts=4, num_experts_per_tok=3, moe_intermediate_size=16,
                                          mlp_only_layers=[0], tie_word_embeddings=True), "bfloat16"),
    "olmoe": (OlmoeConfig(**LLAMA, **NO_TOKENS, initializer_range=0.3, num_experts=6, num_experts_per_tok=2), "float32"),
    "mistral": (MistralConfig(**LLAMA, initializer_range=0.3, sliding_window=8), "float32"),
    "smollm3": (SmolLM3Config(**LLAMA, **NO_TOKENS, initializer_range=0.3, no_rope_layer_interval=2), "float32"),
    "olmo2": (Olmo2Config(**LLAMA, **NO_TOKENS, initializer_range=0.3), "float32"),
    "granite": (GraniteConfig(**LLAMA, initializer_range=0.3, embedding_multiplier=3.0, residual_multiplier=0.5, attention_multiplier=0.2,
                              logits_scaling=2.0), "float32"),
    "phi3": (Phi3Config(**LLAMA, **NO_TOKENS, initializer_range=0.3, original_max_position_embeddings=48, rope_parameters=dict(
        rope_type="longrope", rope_theta=1e4, partial_rotary_factor=0.75, short_factor=[1.0, 1.5, 3.0], long_factor=[1.5, 4.0, 9.0],
        original_max_position_embeddings=48)), "float32"),
    "gemma3": (Gemma3TextConfig(**LLAMA, **NO_TOKENS, initializer_range=0.3, head_dim=16, query_pre_attn_scalar=16, sliding_window=8,
                                layer_types=["sliding_attention", "full_attention"]), "bfloat16"),
    "gemma2": (Gemma2Config(**LLAMA, **NO_TOKENS, initializer_range=0.3, head_dim=8, query_pre_attn_scalar=8, sliding_window=8), "float32"),
    "gpt-neox": (GPTNeoXConfig(vocab_size=704, hidden_size=32, intermediate_size=88, num_hidden_layers=2, num_attention_heads=4,
                               max_position_embeddings=64, initializer_range=0.3, **NO_TOKENS), "float32"),
}


def chosen():
    return [(name, model) for name, model in MODELS.items() if name in sys.argv[3:] or not sys.argv[3:]]


def loss_of(model, ids, context=CONTEXT):
    """Mean over all targets, in windows as vktrain evaluates them."""
    total, n = 0.0, 0
    for at in range(0, len(ids) - 1, context):
        part = torch.tensor([ids[at:at + context + 1]])
        logits = model(part[:, :-1]).logits.double()
        total += torch.nn.functional.cross_entropy(logits[0], part[0, 1:], reduction="sum").item()
        n += part.shape[1] - 1
    return total / n


def make(root):
    torch.manual_seed(0)
    text = "It is a truth universally acknowledged, that a single man in possession of a good fortune\n" * 9
    (root / "text.txt").write_text(text)
    for name, (config, dtype) in chosen():
        config._attn_implementation = "eager"
        model = AutoModelForCausalLM.from_config(config).eval()
        with torch.no_grad():
            for p in model.parameters():
                if p.dim() == 1:
                    p.add_(0.1 * torch.randn_like(p))
        model = model.to(getattr(torch, dtype))
        # Small shards for one of them, so that the index is read too.
        model.save_pretrained(root / name, max_shard_size="40KB" if name == "llama" else "5GB")
        (root / name / "tokenizer.json").write_bytes(SMALL.read_bytes())
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(root / name / "tokenizer.json"))  # whatever the family's own class wants
        ids = tokenizer(text)["input_ids"] + [tokenizer.convert_tokens_to_ids("<|endoftext|>")]
        wide = AutoModelForCausalLM.from_pretrained(root / name, attn_implementation="eager", dtype=torch.float32).eval()
        (root / name / "expected.json").write_text(json.dumps({"loss": loss_of(wide, ids), "n": len(ids) - 1}))
        make_adapter(root, name, wide, ids)


def make_adapter(root, name, model, ids):
    """NAME-peft: a random adapter in bf16 with the keys that peft 0.18 saves, of rslora for one, and the loss with it."""
    from safetensors.torch import save_file
    folder, rank, alpha, rslora = root / (name + "-peft"), 4, 6, name == "qwen2"
    ends = (("c_attn", "mlp.c_proj") if name.startswith("gpt2") else ("query_key_value", "dense_4h_to_h") if name == "gpt-neox"
            else ("qkv_proj", "gate_up_proj") if name == "phi3" else ("q_proj", "down_proj"))
    tensors, random = {}, torch.Generator().manual_seed(1)
    for module, m in model.named_modules():
        if module.endswith(ends):
            rows, columns = m.weight.shape if name.startswith("gpt2") else m.weight.T.shape
            a, b = ((0.2 * torch.randn(s, generator=random)).bfloat16() for s in ((rank, rows), (columns, rank)))
            add = alpha / (rank ** 0.5 if rslora else rank) * b.double() @ a.double()
            with torch.no_grad():
                m.weight += (add.T if name.startswith("gpt2") else add).float()
            tensors |= {f"base_model.model.{module}.lora_A.weight": a, f"base_model.model.{module}.lora_B.weight": b}
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    none = ["arrow_config", "auto_mapping", "corda_config", "eva_config", "exclude_modules", "layer_replication", "layers_pattern",
            "layers_to_transform", "megatron_config", "modules_to_save", "revision", "target_parameters", "trainable_token_indices",
            "alora_invocation_tokens"]
    config = {key: None for key in none} | {
        "alpha_pattern": {}, "rank_pattern": {}, "loftq_config": {}, "base_model_name_or_path": name, "bias": "none",
        "fan_in_fan_out": name.startswith("gpt2"), "inference_mode": True, "init_lora_weights": True, "lora_alpha": alpha,
        "lora_bias": False, "lora_dropout": 0.05, "megatron_core": "megatron.core", "peft_type": "LORA", "peft_version": "0.18.0",
        "qalora_group_size": 16, "r": rank, "target_modules": list(ends),
        "task_type": "CAUSAL_LM", "use_dora": False, "use_qalora": False, "use_rslora": rslora, "ensure_weight_tying": False}
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2))
    (folder / "expected.json").write_text(json.dumps({"loss": loss_of(model, ids, FOLDER), "n": len(ids) - 1}))


def with_adapter(root, name):
    """The model with a PEFT adapter added by PEFT's rules: W += alpha / r B A, the transpose where W is [in, out]."""
    from safetensors.torch import load_file
    model = AutoModelForCausalLM.from_pretrained(root / name, attn_implementation="eager", dtype=torch.float32).eval()
    config = json.loads((root / (name + "-adapter") / "adapter_config.json").read_text())
    tensors = load_file(root / (name + "-adapter") / "adapter_model.safetensors")
    modules, changed = dict(model.named_modules()), 0
    linear = {n for n, m in modules.items() if type(m).__name__ in ("Linear", "Conv1D") and n not in ("lm_head", "embed_out")}
    assert config["peft_type"] == "LORA" and config["target_modules"] == "all-linear" and config["r"] == 3
    for key, b in tensors.items():
        if not key.endswith(".lora_B.weight"):
            continue
        module = key.removeprefix("base_model.model.").removesuffix(".lora_B.weight")
        add = config["lora_alpha"] / config["r"] * b.double() @ tensors[key.replace("lora_B", "lora_A")].double()
        with torch.no_grad():
            modules[module].weight += (add.T if config["fan_in_fan_out"] else add).float()
        linear.remove(module)
        changed += b.abs().max().item() > 0
    assert not linear and changed, (linear, changed)
    return model


def apart(a, b, x):
    """The largest difference of logits, as a part of their root mean square: both are float32, whose rounding grows with them."""
    y, z = a(x).logits.double(), b(x).logits.double()
    return ((y - z).abs().max() / y.pow(2).mean().sqrt()).item()


def load(root):
    bad = 0
    for name, _ in chosen():
        want = json.loads((root / name / "expected.json").read_text())["loss"]
        before = AutoModelForCausalLM.from_pretrained(root / name, attn_implementation="eager", dtype=torch.float32).eval()
        after = AutoModelForCausalLM.from_pretrained(root / (name + "-out"), attn_implementation="eager").eval()
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(root / (name + "-out") / "tokenizer.json"))
        ids = tokenizer((root / "text.txt").read_text())["input_ids"] + [tokenizer.convert_tokens_to_ids("<|endoftext|>")]
        x = torch.tensor([ids[:CONTEXT]])
        off = apart(before, after, x)
        got = loss_of(after, ids)
        ok = off <= 1e-5 and math.isclose(want, got, rel_tol=1e-6)
        bad += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {name}: exported logits off by {off:.2g}, loss {got:.7f} against {want:.7f}")
        added, merged = with_adapter(root, name), AutoModelForCausalLM.from_pretrained(root / (name + "-merged"), attn_implementation="eager").eval()
        off, moved = apart(added, merged, x), apart(before, added, x)
        bad += not off <= 1e-5 < moved
        print(f"{'ok  ' if off <= 1e-5 < moved else 'FAIL'} {name}: adapter by PEFT's rules and merged: off by {off:.2g}"
              f" (it moves logits by {moved:.2g})")
    sys.exit(bad != 0)


{"make": make, "load": load}[sys.argv[1]](Path(sys.argv[2]))
