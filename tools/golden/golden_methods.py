"""Writes tests/golden/methods.json for tests/train/test_methods.c: losses of three steps of gradient descent on an adapter with noise on the
embeddings (NEFTune, arXiv 2310.05914); and of texts by the classes of a score layer on their last token, which is trained beside the
adapter; in double. The models' forwards are transformers', the random bits are those of shaders/rng.h.
Run in the lab: python3 tools/golden/golden_methods.py (PyTorch, transformers)."""
import json
import pathlib

import torch

from formula_model import CONFIG, END, formula, make

CONTEXT, SEED, DROPOUT = 24, 7, 4  # of the recipe; the purpose of the bits
ALPHA, LR, STEPS = 40, 0.5, 3
PROMPT, ANSWER = "2+2=", "four, I think"
MASK = 0xFFFFFFFF


def pcg3(x, y, z):
    x, y, z = ((v * 1664525 + 1013904223) & MASK for v in (x, y, z))
    for shift in (True, False):
        x = (x + y * z) & MASK
        y = (y + z * x) & MASK
        z = (z + x * y) & MASK
        if shift:
            x, y, z = x ^ x >> 16, y ^ y >> 16, z ^ z >> 16
    return (x ^ y >> 11 ^ z << 5) & MASK


def uniform(step, element):
    key = pcg3(SEED, 0x9E3779B9, DROPOUT * 0x85EBCA6B & MASK)
    return (pcg3(pcg3(key, step, 0), element, 0) >> 8) / 2**23 - 1


def loss(model, step):
    make.on = 1
    width = CONFIG["hidden_size"]
    ids = list((PROMPT + ANSWER).encode()) + [END]
    x = model.get_input_embeddings()(torch.tensor([ids[:-1]]))
    if step is not None:
        u = torch.tensor([uniform(step, i) for i in range(x.numel())], dtype=torch.float64)
        x = x + ALPHA / (CONTEXT * width) ** 0.5 * u.reshape(x.shape)
    lp = torch.log_softmax(model(inputs_embeds=x).logits[0], -1)
    return -lp[torch.arange(len(ids) - 1), torch.tensor(ids[1:])][len(PROMPT) - 1:].mean()


TEXTS = [("It is good.", 0), ("No", 1), ("What is it, then?", 2), ("!", 1), ("It rains all day long.", 2)]  # cut to 16 bytes


def score(model, head, text):
    """As LlamaForSequenceClassification: the last token's vector."""
    make.on = 1
    ids = list(text.encode())[:16]
    h = model.model(torch.tensor([ids])).last_hidden_state[0, -1]
    return head @ h


def classes():
    model, params = make()
    head = torch.nn.Parameter(formula("score.weight", 3 * CONFIG["hidden_size"]).reshape(3, -1))
    losses = []
    for _ in range(STEPS):
        l = -sum(torch.log_softmax(score(model, head, t), -1)[y] for t, y in TEXTS) / len(TEXTS)
        grads = torch.autograd.grad(l, [*params, head])
        with torch.no_grad():
            for p, g in zip([*params, head], grads):
                p -= LR * g
        losses.append(float(l.detach()))
    with torch.no_grad():
        after = -sum(torch.log_softmax(score(model, head, t), -1)[y] for t, y in TEXTS) / len(TEXTS)
    return {"losses": losses, "evaluated": float(after)}


def main():
    model, params = make()
    losses = []
    for step in range(STEPS):
        l = loss(model, step)
        grads = torch.autograd.grad(l, params)
        with torch.no_grad():
            for p, g in zip(params, grads):
                p -= LR * g
        losses.append(float(l.detach()))
    out = {"neftune": {"losses": losses, "evaluated": float(loss(model, None).detach())}, "classes": classes()}
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/methods.json"
    path.write_text(json.dumps(out, indent=1) + "\n")
    print(path.read_text())


main()
