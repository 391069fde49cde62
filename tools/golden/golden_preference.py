"""Writes tests/golden/preference.json: losses and rewards of pairs of answers in double, before and after one step of gradient descent on an
adapter, for tests/train/test_preference.c. The model's forward is transformers'; the losses are written down here: direct preference
optimization (arXiv 2305.18290, equation 7, with the label smoothing that TRL has) and SimPO (arXiv 2405.14734, equation 6).
Run in the lab: python3 tools/golden/golden_preference.py (PyTorch, transformers)."""
import json
import pathlib

import torch

from formula_model import END, make

LR = 4
PAIRS = [("Is it? ", "Yes.", "No way"), ("2+2=", "4", "five"), ("The sky is", " blue", " green")]
CASES = {
    "dpo": dict(kind="dpo", beta=0.5, smoothing=0),
    "dpo-smoothed": dict(kind="dpo", beta=0.25, smoothing=0.1),
    "simpo": dict(kind="simpo", beta=2, margin=0.75, smoothing=0),
}


def log_p(model, prompt, answer, on):
    """Sum of the answer's log-probabilities, its end's too, and how many there are."""
    make.on = on
    n, ids = len(prompt.encode()), list((prompt + answer).encode()) + [END]
    lp = torch.log_softmax(model(torch.tensor([ids[:-1]])).logits[0], -1)
    lp = lp[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]
    return lp[n - 1:].sum(), len(ids) - n


def evaluate(model, case):
    losses, rewards = [], []
    for prompt, *answers in PAIRS:
        r = []
        for answer in answers:
            lp, n = log_p(model, prompt, answer, 1)
            r.append(case["beta"] * (lp - log_p(model, prompt, answer, 0)[0].detach() if case["kind"] == "dpo" else lp / n))
        h = r[0] - r[1] - case.get("margin", 0)
        s = torch.nn.functional.logsigmoid
        losses.append(-(1 - case["smoothing"]) * s(h) - case["smoothing"] * s(-h))
        rewards.append(r)
    means = [sum(r[k] for r in rewards) / len(rewards) for k in (0, 1)]
    wins = sum(float(r[0] > r[1]) for r in rewards) / len(rewards)
    return sum(losses) / len(losses), dict(chosen=float(means[0]), rejected=float(means[1]), accuracy=wins)


def main():
    out = {"cases": []}
    for name, case in CASES.items():
        model, params = make()
        before, _ = evaluate(model, case)
        before.backward()
        with torch.no_grad():
            for p in params:
                p -= LR * p.grad
        after, rewards = evaluate(model, case)
        out["cases"].append(dict(name=name, **case, loss_before=float(before), loss_after=float(after), **rewards))
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/preference.json"
    path.write_text(json.dumps(out, indent=1) + "\n")
    print(path.read_text())


main()
