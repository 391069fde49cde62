#!/usr/bin/env python3
"""Writes tests/golden/optim.json: what torch.optim does to 8 parameters in 20 steps, in float64, and what
torch.optim.lr_scheduler gives. Lion, which torch.optim lacks, is computed here in numpy from the algorithm of
its paper (Chen et al. 2023, arXiv 2302.06675, algorithm 2), and LAMB from You et al. 2020 (arXiv 1904.00962,
algorithm 2, phi the identity; the ratio is 1 where a norm is 0), and Adan from Xie et al. 2022 (arXiv
2208.06677, algorithm 1, with bias corrections in place of first values, as its authors compute it). Muon is
torch.optim.Muon with float64 in place of bfloat16. The 8 parameters are one tensor, which some cases take as a
matrix (`rows`). Hyperparameters are float32 numbers, as vktrain holds them. Needs PyTorch:
    shared/lab/in-testing python3 tools/golden/golden_optim.py
"""
import json
import os
import re

import numpy as np
import torch

torch.set_default_dtype(torch.float64)  # NAdam keeps its product of mu in the default dtype
STEPS, N = 20, 8


def f32(x):
    return float(np.float32(x))


rng = np.random.default_rng(20)
start = rng.standard_normal(N).astype(np.float32).astype(np.float64)
grads = rng.standard_normal((STEPS, N)).astype(np.float32).astype(np.float64)
grads[:, 5] *= 2.0**-20  # small beside eps' effect
grads[7] *= 32  # an outlier step, for clipping
grads[12] = 0

B1, B2, EPS = f32(0.9), f32(0.999), f32(1e-8)
SGD, RMS, ADAM, NADAM, ADAMW = torch.optim.SGD, torch.optim.RMSprop, torch.optim.Adam, torch.optim.NAdam, torch.optim.AdamW
GAMMA, RHO = f32(0.9), f32(0.9)
adam = {"beta1": B1, "beta2": B2, "eps": EPS}
CASES = [  # name, rule, torch class, vktrain's fields, lr
    ("sgd", "sgd", SGD, {}, 0.1),
    ("sgd with weight decay", "sgd", SGD, {"weight_decay": 0.125}, 0.1),
    ("sgd with clipping", "sgd", SGD, {"clip": 1.5}, 0.1),
    ("momentum", "momentum", SGD, {"momentum": GAMMA}, 0.05),
    ("nesterov", "nesterov", SGD, {"momentum": GAMMA}, 0.05),
    ("nesterov with weight decay", "nesterov", SGD, {"momentum": GAMMA, "weight_decay": 0.0625}, 0.05),
    ("rmsprop", "rmsprop", RMS, {"rho": RHO, "eps": EPS}, 0.01),
    ("rmsprop with momentum", "rmsprop", RMS, {"rho": RHO, "eps": f32(1e-3), "momentum": GAMMA}, 0.01),
    ("adam", "adam", ADAM, adam, 0.01),
    ("adam with weight decay", "adam", ADAM, {**adam, "weight_decay": 0.25}, 0.01),
    ("adam with clipping", "adam", ADAM, {**adam, "clip": 0.5}, 0.01),
    ("adam, large eps", "adam", ADAM, {"beta1": 0.5, "beta2": 0.75, "eps": 0.125}, 0.01),
    ("nadam", "nadam", NADAM, adam, 0.01),
    ("nadam with weight decay", "nadam", NADAM, {**adam, "weight_decay": 0.25}, 0.01),
    ("adamw", "adamw", ADAMW, {**adam, "weight_decay": 0.5}, 0.01),
    ("adamw with clipping", "adamw", ADAMW, {**adam, "weight_decay": 0.5, "clip": 1.0}, 0.01),
    ("lion", "lion", None, {"beta1": B1, "beta2": f32(0.99)}, 0.01),
    ("lion with weight decay", "lion", None, {"beta1": B1, "beta2": f32(0.99), "weight_decay": 0.5}, 0.01),
    ("lion with clipping", "lion", None, {"beta1": 0.5, "beta2": f32(0.9), "clip": 1.0}, 0.01),
    ("adamax", "adamax", torch.optim.Adamax, adam, 0.01),
    ("adamax with weight decay", "adamax", torch.optim.Adamax, {**adam, "weight_decay": 0.25}, 0.01),
    ("adamax, large eps", "adamax", torch.optim.Adamax, {"beta1": 0.5, "beta2": 0.75, "eps": 0.125}, 0.01),
    ("lamb", "lamb", None, {**adam, "eps": f32(1e-6)}, 0.01),
    ("lamb with weight decay", "lamb", None, {**adam, "weight_decay": 0.5}, 0.01),
    ("adan", "adan", None, {"beta1": f32(0.98), "beta2": f32(0.92), "beta3": f32(0.99), "eps": EPS}, 0.01),
    ("adan with weight decay and clipping", "adan", None, {"beta1": 0.875, "beta2": 0.75, "beta3": 0.9375, "eps": 0.0625, "weight_decay": 0.5, "clip": 1.0}, 0.01),
    ("muon, wide", "muon", torch.optim.Muon, {"momentum": f32(0.95), "rows": 2}, 0.02),
    ("muon, tall, with weight decay", "muon", torch.optim.Muon, {"momentum": 0.75, "rows": 4, "weight_decay": 0.5}, 0.02),
    ("muon with clipping", "muon", torch.optim.Muon, {"momentum": f32(0.95), "rows": 4, "clip": 0.5}, 0.02),
    ("adafactor, a vector", "adafactor", torch.optim.Adafactor, {"eps": 2.0**-23}, 0.25),
    ("adafactor, a matrix", "adafactor", torch.optim.Adafactor, {"eps": 2.0**-23, "rows": 2}, 0.25),
    ("adafactor, tall, with weight decay and clipping", "adafactor", torch.optim.Adafactor, {"eps": 0.125, "rows": 4, "weight_decay": 0.5, "clip": 1.0}, 0.5),
    ("lamb with clipping, large eps", "lamb", None, {"beta1": 0.5, "beta2": 0.75, "eps": 0.125, "weight_decay": 0.125, "clip": 1.0}, 0.01),
]


def make(cls, rule, p, f, lr):
    if cls is torch.optim.Muon:  # its other constants are vktrain's, too
        return cls([p], lr=lr, weight_decay=f.get("weight_decay", 0.0), momentum=f["momentum"])
    if cls is torch.optim.Adafactor:
        return cls([p], lr=lr, weight_decay=f.get("weight_decay", 0.0), eps=(f["eps"], 1e-3), foreach=False)
    kw = {"lr": lr, "weight_decay": f.get("weight_decay", 0.0), "foreach": False}
    if cls is SGD:
        kw.update(momentum=f.get("momentum", 0.0), nesterov=rule == "nesterov")
    elif cls is RMS:
        kw.update(alpha=f["rho"], eps=f["eps"], momentum=f.get("momentum", 0.0))
    else:
        kw.update(betas=(f["beta1"], f["beta2"]), eps=f["eps"])
    return cls([p], **kw)


class Lion:
    def __init__(self, p, f, lr):
        self.p, self.f, self.lr, self.m = p, f, lr, np.zeros(N)

    def step(self):
        b1, b2, theta, g = self.f["beta1"], self.f["beta2"], self.p.detach().numpy(), self.p.grad.numpy()
        c = b1 * self.m + (1 - b1) * g
        theta -= self.lr * (np.sign(c) + self.f.get("weight_decay", 0.0) * theta)
        self.m = b2 * self.m + (1 - b2) * g


class Lamb:
    def __init__(self, p, f, lr):
        self.p, self.f, self.lr, self.m, self.v, self.t = p, f, lr, np.zeros(N), np.zeros(N), 0

    def step(self):
        b1, b2, theta, g = self.f["beta1"], self.f["beta2"], self.p.detach().numpy(), self.p.grad.numpy()
        self.t += 1
        self.m = b1 * self.m + (1 - b1) * g
        self.v = b2 * self.v + (1 - b2) * g * g
        m, v = self.m / (1 - b1**self.t), self.v / (1 - b2**self.t)
        u = m / (np.sqrt(v) + self.f["eps"]) + self.f.get("weight_decay", 0.0) * theta
        norm, unorm = np.linalg.norm(theta), np.linalg.norm(u)
        theta -= self.lr * (norm / unorm if norm > 0 and unorm > 0 else 1.0) * u


class Adan:
    def __init__(self, p, f, lr):
        self.p, self.f, self.lr, self.t, self.last = p, f, lr, 0, None
        self.m, self.d, self.n = np.zeros(N), np.zeros(N), np.zeros(N)

    def step(self):
        b1, b2, b3 = (self.f[k] for k in ("beta1", "beta2", "beta3"))
        theta, g = self.p.detach().numpy(), self.p.grad.numpy().copy()
        change = g - self.last if self.last is not None else np.zeros(N)
        self.t += 1
        self.m = b1 * self.m + (1 - b1) * g
        self.d = b2 * self.d + (1 - b2) * change
        self.n = b3 * self.n + (1 - b3) * (g + b2 * change) ** 2
        m, d, n = (x / (1 - b**self.t) for x, b in ((self.m, b1), (self.d, b2), (self.n, b3)))
        theta -= self.lr * (m + b2 * d) / (np.sqrt(n) + self.f["eps"])
        theta /= 1 + self.lr * self.f.get("weight_decay", 0.0)
        self.last = g


BY_HAND = {"lion": Lion, "lamb": Lamb, "adan": Adan}
torch.Tensor.bfloat16 = lambda t: t.double()  # torch.optim.Muon's products


def trajectory(rule, cls, f, lr):
    shape = (f["rows"], -1) if "rows" in f else (-1,)
    p = torch.tensor(start, dtype=torch.float64).reshape(shape).requires_grad_()
    opt = make(cls, rule, p, f, lr) if cls else BY_HAND[rule](p, f, lr)
    values, norms = [], []
    for g in grads:
        p.grad = torch.tensor(g, dtype=torch.float64).reshape(shape)
        norms.append(float(torch.nn.utils.clip_grad_norm_([p], f.get("clip") or float("inf"))))
        opt.step()
        values.append(p.detach().flatten().tolist())
    return values, norms


def schedule(lr, steps, make_scheduler):
    opt = SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    s = make_scheduler(opt)
    out = []
    for _ in range(steps):
        out.append(opt.param_groups[0]["lr"])
        opt.step()
        s.step()
    return out


L = torch.optim.lr_scheduler
LR, T = 0.3, 50
SCHEDULES = [  # name, vktrain's fields, scheduler; the last of T steps has the final rate
    ("linear", {"final_ratio": 0.1}, lambda o: L.LinearLR(o, 1.0, 0.1, T - 1)),
    ("cosine", {"final_ratio": 0.25}, lambda o: L.CosineAnnealingLR(o, T - 1, 0.25 * LR)),
    ("exponential", {"gamma": 0.96, "decay_every": 1}, lambda o: L.ExponentialLR(o, 0.96)),
    ("polynomial", {"power": 2.5}, lambda o: L.PolynomialLR(o, T - 1, 2.5)),
    ("steps", {"gamma": 0.1, "milestones": [10, 30, 49]}, lambda o: L.MultiStepLR(o, [10, 30, 49], 0.1)),
]

out = {
    "source": "tools/golden/golden_optim.py, PyTorch " + torch.__version__,
    "start": start.tolist(),
    "grads": grads.tolist(),
    "cases": [],
    "schedules": [],
}
for name, rule, cls, fields, lr in CASES:
    values, norms = trajectory(rule, cls, fields, lr)
    out["cases"].append({"name": name, "rule": rule, "lr": lr, **fields, "values": values, "norms": norms})
for name, fields, make_scheduler in SCHEDULES:
    out["schedules"].append({"kind": name, "lr": LR, "steps": T, **fields, "values": schedule(LR, T, make_scheduler)})

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "optim.json")
os.makedirs(os.path.dirname(path), exist_ok=True)
with open(path, "w") as file:
    text = json.dumps(out, indent=1)
    numbers = re.compile(r"\[([^\[\]{}\"]*)\]")  # innermost lists on one line
    file.write(numbers.sub(lambda m: "[" + " ".join(m[1].split()) + "]", text) + "\n")
