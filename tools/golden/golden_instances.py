"""Writes tests/golden/instances.json, for tests/train/test_instances.c: the loss of instances and its gradient by PyTorch in double.
Run in the lab: python3 tools/golden/golden_instances.py (PyTorch)."""
import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(9)


def loss(out, y, w):
    """out, y [B, H, W, 4], w [B]: the sum over pictures."""
    total = 0
    for o, t, weight in zip(out, y, w):
        there = (t[..., 0] > 0).double()
        mask = F.binary_cross_entropy_with_logits(o[..., 0], there)
        heat = ((o[..., 1] - t[..., 1]) ** 2).sum() / (t[..., 1] ** 2).sum().clamp(min=1)
        offset = ((o[..., 2:] - t[..., 2:]).abs() * there[..., None]).sum() / t[..., 2:].abs().sum().clamp(min=1)
        total = total + weight * (mask + heat + offset)
    return total


def case(shape):
    batch, high, wide, _ = shape
    y = torch.zeros(*shape, dtype=torch.float64)
    y[..., 0] = torch.randint(0, 4, (batch, high, wide)) * 100
    y[..., 1] = torch.rand(batch, high, wide)
    y[..., 2:] = 3 * torch.randn(batch, high, wide, 2) * (y[..., :1] > 0)
    y[0] = 0                                                # nothing is there
    y = y.float().double()
    out = torch.randn(*shape, dtype=torch.float64).float().double().requires_grad_(True)
    w = torch.rand(batch, dtype=torch.float64).float().double()
    v = loss(out, y, w)
    v.backward()
    flat = lambda t: [round(float(x), 12) for x in t.detach().reshape(-1)]
    return dict(shape=list(shape), out=flat(out), y=flat(y), w=flat(w), loss=float(v.detach()), grad=flat(out.grad))


path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/instances.json"
path.write_text(json.dumps(dict(losses=[case((2, 4, 6, 4)), case((3, 5, 3, 4))]), separators=(",", ":")) + "\n")
