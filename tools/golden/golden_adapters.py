"""Writes tests/golden/adapters.json: losses of three steps of AdamW in double of models with adapters, for tests/models/test_families.c.
The mathematics is written down here as PEFT 0.18 computes it: scale alpha / sqrt(rank) of rslora, the first key of a pattern that a layer's
name ends in, modules_to_save and bias as parameters that are trained, DoRA with the norm of W + scale B A as a constant of the gradient.
Run in the lab: python3 tools/golden/golden_adapters.py (PyTorch, transformers)."""
import json
import math
import pathlib
import re
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from golden_families import B, LR, MODELS, T, V, formula, losses_of, root, scale_of, set_weights
from transformers import AutoModelForCausalLM

METHODS = {
    "rslora-patterns": ("llama-attention-bias", dict(rank=4, alpha=3, rslora=True, rank_pattern={"q_proj": 2, "layers.1.mlp.down_proj": 3, "down_proj": 1},
                                                     alpha_pattern={"v_proj": 5, "1.self_attn.o_proj": 0.5})),
    "modules-untied": ("llama-mlp-bias", dict(rank=2, alpha=3, modules=["embed_tokens", "lm_head", "1.mlp.up_proj", "norm"])),
    "modules-tied": ("llama3", dict(rank=2, alpha=3, modules=["embed_tokens"])),
    "bias-all": ("gpt-neox", dict(rank=2, alpha=3, bias="all")),
    "bias-lora-only": ("qwen2-layer-types", dict(rank=2, alpha=3, bias="lora_only", targets=["q_proj", "o_proj"])),
    "dora": ("qwen2-windows", dict(rank=2, alpha=3, dora=True)),
    "dora-rslora-by-heads": ("gpt-neox-in-turn", dict(rank=2, alpha=3, dora=True, rslora=True, bias="lora_only")),
}


def matches(words, name):
    return any(name == w or name.endswith("." + w) for w in words)


def first(pattern, name, otherwise):
    return next((v for k, v in pattern.items() if re.match(rf"(.*\.)?({k})$", name)), otherwise)


def adapt(model, how):
    """The adapters' names in order and all that is trained; parameters of the adapters by the formula of golden_families.py."""
    names, params, adapted = [], [], []
    for name, m in model.named_modules():
        if type(m).__name__ != "Linear" or name in ("lm_head", "embed_out") or matches(how.get("modules", []), name):
            continue
        if "targets" in how and not matches(how["targets"], name):
            continue
        rank, alpha = first(how.get("rank_pattern", {}), name, how["rank"]), first(how.get("alpha_pattern", {}), name, how["alpha"])
        scale = alpha / (math.sqrt(rank) if how.get("rslora") else rank)
        a = torch.nn.Parameter(formula(rank * m.in_features, len(names), 0.6).reshape(rank, m.in_features))
        b = torch.nn.Parameter(formula(rank * m.out_features, len(names) + 1, 0.6).reshape(m.out_features, rank))
        names += [f"{name}.lora_A.weight", f"{name}.lora_B.weight"]
        params += [a, b]
        adapted.append(name)
        if not how.get("dora"):
            m.register_forward_hook(lambda _, x, y, a=a, b=b, s=scale: y + s * (x[0] @ a.T) @ b.T)
            continue
        g = torch.nn.Parameter(1 + formula(m.out_features, len(names), 0.6))
        names.append(f"{name}.lora_magnitude_vector")
        params.append(g)

        def dora(m, x, y, a=a, b=b, g=g, s=scale):
            norm = torch.linalg.norm(m.weight + s * b @ a, dim=1).detach()
            base = y if m.bias is None else y - m.bias
            return y + (g / norm - 1) * base + g / norm * s * ((x[0] @ a.T) @ b.T)
        m.register_forward_hook(dora)
    for name, p in model.named_parameters():
        module, _, last = name.rpartition(".")
        bias = last == "bias" and (how.get("bias") == "all" or (how.get("bias") == "lora_only" and module in adapted))
        p.requires_grad_(bias or matches(how.get("modules", []), module))
        params += [p] if p.requires_grad else []
    return names, params


def case(name, base, how):
    config = MODELS[base]
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).double().train()
    params = set_weights(model)
    tokens = torch.tensor([(i * i + 3 * i + 1) % V for i in range(B * T)])
    targets = torch.tensor([(5 * i + 2) % V for i in range(B * T)])
    adapters, trained = adapt(model, how)
    saved = {k: v for k, v in config.to_diff_dict().items() if k not in ("transformers_version", "architectures")}
    return {"name": name, "scale": scale_of(config), "config": saved | {"architectures": [type(model).__name__]}, "params": params, "lora": how,
            "trained": sum(p.numel() for p in trained), "adapters": adapters, "adapter_losses": losses_of(model, trained, tokens, targets, 3)[1]}


path = root / "tests/golden/adapters.json"
cases = [case(name, *of) for name, of in METHODS.items()]
path.write_text('{"batch": %d, "context": %d, "vocab": %d, "lr": %g, "models": [\n%s\n]}\n' % (B, T, V, LR, ",\n".join(map(json.dumps, cases))))
print(f"{path}: {path.stat().st_size} bytes, {len(cases)} models")
