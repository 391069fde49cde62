#!/usr/bin/env python3
"""Half of tools/check_hf.sh, in the lab's Python with transformers.

check_hf.py make DIR     random small models of each family with a tokenizer, and the loss of each on DIR/text.txt
check_hf.py load DIR     what vktrain exported loads, with the weights and the loss that it was made with
"""
import json
import math
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, LlamaConfig, MistralConfig, Qwen2Config

CONTEXT = 32
SMALL = Path(__file__).resolve().parent.parent / "tests/golden/gpt2-small.json"
LLAMA = dict(vocab_size=704, hidden_size=32, intermediate_size=88, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5)
MODELS = {
    "gpt2": (GPT2Config(vocab_size=700, n_positions=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.3), "float32"),
    "gpt2-f16": (GPT2Config(vocab_size=700, n_positions=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.2), "float16"),
    "llama": (LlamaConfig(**LLAMA, initializer_range=0.3, tie_word_embeddings=False), "float32"),
    "llama-tied-bf16": (LlamaConfig(**LLAMA, initializer_range=0.2, tie_word_embeddings=True), "bfloat16"),
    "qwen2": (Qwen2Config(**LLAMA, initializer_range=0.3, tie_word_embeddings=True), "float32"),
    "mistral": (MistralConfig(**LLAMA, initializer_range=0.3, sliding_window=8), "float32"),
}


def loss_of(model, ids):
    """Mean over all targets, in windows as vktrain evaluates them."""
    total, n = 0.0, 0
    for at in range(0, len(ids) - 1, CONTEXT):
        part = torch.tensor([ids[at:at + CONTEXT + 1]])
        logits = model(part[:, :-1]).logits.double()
        total += torch.nn.functional.cross_entropy(logits[0], part[0, 1:], reduction="sum").item()
        n += part.shape[1] - 1
    return total / n


def make(root):
    torch.manual_seed(0)
    text = "It is a truth universally acknowledged, that a single man in possession of a good fortune\n" * 9
    (root / "text.txt").write_text(text)
    for name, (config, dtype) in MODELS.items():
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
        tokenizer = AutoTokenizer.from_pretrained(root / name)
        ids = tokenizer(text)["input_ids"] + [tokenizer.convert_tokens_to_ids("<|endoftext|>")]
        wide = AutoModelForCausalLM.from_pretrained(root / name, attn_implementation="eager", dtype=torch.float32).eval()
        (root / name / "expected.json").write_text(json.dumps({"loss": loss_of(wide, ids), "n": len(ids) - 1}))


def with_adapter(root, name):
    """The model with a PEFT adapter added by PEFT's rules: W += alpha / r B A, the transpose where W is [in, out]."""
    from safetensors.torch import load_file
    model = AutoModelForCausalLM.from_pretrained(root / name, attn_implementation="eager", dtype=torch.float32).eval()
    config = json.loads((root / (name + "-adapter") / "adapter_config.json").read_text())
    tensors = load_file(root / (name + "-adapter") / "adapter_model.safetensors")
    modules, changed = dict(model.named_modules()), 0
    linear = {n for n, m in modules.items() if type(m).__name__ in ("Linear", "Conv1D") and n != "lm_head"}
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


def load(root):
    bad = 0
    for name in MODELS:
        want = json.loads((root / name / "expected.json").read_text())["loss"]
        before = AutoModelForCausalLM.from_pretrained(root / name, attn_implementation="eager", dtype=torch.float32).eval()
        after = AutoModelForCausalLM.from_pretrained(root / (name + "-out"), attn_implementation="eager").eval()
        tokenizer = AutoTokenizer.from_pretrained(root / (name + "-out"))
        ids = tokenizer((root / "text.txt").read_text())["input_ids"] + [tokenizer.eos_token_id]
        x = torch.tensor([ids[:CONTEXT]])
        off = (before(x).logits - after(x).logits).abs().max().item()
        got = loss_of(after, ids)
        ok = off <= 1e-5 and math.isclose(want, got, rel_tol=1e-6)
        bad += not ok
        print(f"{'ok  ' if ok else 'FAIL'} {name}: exported logits off by {off:.2g}, loss {got:.7f} against {want:.7f}")
        off = (with_adapter(root, name)(x).logits - AutoModelForCausalLM.from_pretrained(
            root / (name + "-merged"), attn_implementation="eager").eval()(x).logits).abs().max().item()
        moved = (before(x).logits - with_adapter(root, name)(x).logits).abs().max().item()
        bad += not off <= 1e-5 < moved
        print(f"{'ok  ' if off <= 1e-5 < moved else 'FAIL'} {name}: adapter by PEFT's rules and merged: off by {off:.2g}"
              f" (it moves logits by {moved:.2g})")
    sys.exit(bad != 0)


{"make": make, "load": load}[sys.argv[1]](Path(sys.argv[2]))
