"""The model of tests/support/formula_model.h: transformers' forward, weights by a formula, an adapter that already does something."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

END = 256  # of the tokenizer `bytes`
RANK, ALPHA = 2, 3
CONFIG = dict(vocab_size=257, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
              max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False)


def formula(name, n):
    """Element i of the tensor `name`: formula_model.h has the same."""
    k = sum(name.encode()) % 97
    i = torch.arange(n, dtype=torch.float64)
    v = ((i * 7919 + k * 10473) % 1009) / 1009 - 0.5
    return 1 + v / 4 if name.endswith("norm.weight") else v * 0.75


def make():
    model = LlamaForCausalLM(LlamaConfig(**CONFIG, attn_implementation="eager")).double().eval()
    for name, p in model.named_parameters():
        p.data = formula(name, p.numel()).reshape(p.shape)
        p.requires_grad = False
    params = []
    for name, m in model.named_modules():
        if name.split(".")[-1] not in ("q_proj", "v_proj"):
            continue
        a = torch.nn.Parameter(formula(f"{name}.lora_A.weight", RANK * m.in_features).reshape(RANK, m.in_features))
        b = torch.nn.Parameter(formula(f"{name}.lora_B.weight", RANK * m.out_features).reshape(m.out_features, RANK))
        params += [a, b]
        m.register_forward_hook(lambda _, x, y, a=a, b=b: y + make.on * (ALPHA / RANK) * (x[0] @ a.T) @ b.T)
    return model, params
