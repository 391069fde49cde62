"""Writes tests/golden/transformer.json: logits and gradients of Hugging Face's GPT-2, Llama and Qwen2 with tiny weights in
double, and 200 losses of a small GPT-2 trained by AdamW on the embedded novel, for tests/nn/test_golden_transformer.c.
Weights are a formula of (parameter's place, element), so the file does not hold them. Run in the lab: python3
tools/golden/golden_transformer.py (PyTorch, transformers)."""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

root = pathlib.Path(__file__).resolve().parents[2]
torch.use_deterministic_algorithms(True)


def weight(place, i, scale):
    return scale * (((i * 7919 + place * 104729) % 2003) / 2003 - 0.5)


def set_weights(model, scale):
    """Norm gains are around 1. Exact in float32, which the library stores."""
    names = []
    for name, p in model.named_parameters():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        v = weight(len(names), np.arange(p.numel(), dtype=np.int64), scale) + (1.0 if p.dim() == 1 and "weight" in name else 0.0)
        p.data = torch.from_numpy(v.astype(np.float32).astype(np.float64)).reshape(p.shape).to(p.dtype)
        names.append(name)
    model.tie_weights()
    return names


def equality(name, model, transformer):
    V, B, T = model.config.vocab_size, 2, 7
    model = model.double().eval()
    names = set_weights(model, 0.8)
    tokens = torch.tensor([(i * i + 3 * i + 1) % V for i in range(B * T)]).reshape(B, T)
    targets = torch.tensor([(5 * i + 2) % V for i in range(B * T)])
    logits = model(tokens).logits
    F.cross_entropy(logits.reshape(-1, V), targets).backward()
    grads = {}
    params = dict(model.named_parameters())
    for n in names:
        g = params[n].grad.reshape(-1)
        grads[n] = {"shape": list(params[n].shape), "head": g[:6].tolist(), "sum": g.sum().item(), "squares": (g * g).sum().item()}
    return {"name": name, "transformer": transformer, "vocab": V, "batch": B, "context": T, "tokens": tokens.reshape(-1).tolist(),
            "targets": targets.tolist(), "logits": logits.reshape(-1).tolist(), "params": names, "grads": grads}


eps = float(np.float32(1e-5))
gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=11, n_positions=9, n_embd=16, n_layer=2, n_head=4, layer_norm_epsilon=eps,
                                  attn_implementation="eager"))
llama = LlamaForCausalLM(LlamaConfig(vocab_size=13, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=6,
                                     num_key_value_heads=2, max_position_embeddings=16, rms_norm_eps=eps, tie_word_embeddings=True,
                                     rope_parameters={"rope_type": "default", "rope_theta": 500.0}, attn_implementation="eager"))
qwen2 = Qwen2ForCausalLM(Qwen2Config(vocab_size=11, hidden_size=16, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2,
                                     num_key_value_heads=1, max_position_embeddings=16, rms_norm_eps=eps, tie_word_embeddings=False,
                                     rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, attn_implementation="eager"))
models = [
    equality("gpt2", gpt2, {"layers": 2, "heads": 4, "width": 16, "context": 9}),
    equality("llama", llama, {"layers": 2, "heads": 6, "kv_heads": 2, "width": 24, "mlp": 20, "theta": 500.0, "llama": 1}),
    equality("qwen2", qwen2, {"layers": 1, "heads": 2, "kv_heads": 1, "width": 16, "mlp": 12, "llama": 1, "qkv_bias": 1, "untied": 1}),
]

# The curve: the same initial weights and batches, AdamW with decay on matrices, clipping.
V, B, T, STEPS, LR = 64, 8, 16, 200, 3e-3
text = np.frombuffer((root / "tests/files/pride-and-prejudice.txt").read_bytes(), dtype=np.uint8).astype(np.int64) % V


def train(dtype):
    model = GPT2LMHeadModel(GPT2Config(vocab_size=V, n_positions=T, n_embd=32, n_layer=2, n_head=2, layer_norm_epsilon=eps, attn_pdrop=0.0,
                                       embd_pdrop=0.0, resid_pdrop=0.0)).to(dtype).train()
    set_weights(model, 0.1)
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() == 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=LR, betas=(0.9, 0.99), eps=1e-8)
    losses = []
    for step in range(STEPS):
        at = [1000 + (step * B + b) * T for b in range(B)]
        x = torch.from_numpy(np.stack([text[a:a + T] for a in at]))
        y = torch.from_numpy(np.stack([text[a + 1:a + T + 1] for a in at]))
        loss = F.cross_entropy(model(x).logits.reshape(-1, V), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    return np.array(losses)


losses, single = train(torch.float64), train(torch.float32)
curve = {"vocab": V, "batch": B, "context": T, "lr": LR, "transformer": {"layers": 2, "heads": 2, "width": 32}, "losses": losses.tolist(),
         "stray": float(np.abs(single / losses - 1).max())}  # of PyTorch's own float32

path = root / "tests/golden/transformer.json"
path.write_text('{"torch": "%s", "models": [\n%s\n],\n"curve": %s}\n' % (torch.__version__, ",\n".join(map(json.dumps, models)), json.dumps(curve)))
print(f"{path}: {path.stat().st_size} bytes; loss {losses[0]:.4f} -> {losses[-1]:.4f}")
