"""Writes tests/golden/points.json, for tests/train/test_points.c: the loss of heatmaps and its gradient by PyTorch in double, and the measures
of 300 random sets in NumPy: average precision over object keypoint similarity, the share that is near, and the mean distance.
Written down from the published rules: COCO's evaluation of keypoints (cocodataset.org/#keypoints-eval), one found thing for each that is there.
Run in the lab: python3 tools/golden/golden_points.py (PyTorch, NumPy)."""
import json
import math
import pathlib

import numpy as np
import torch

from draws import Draws

torch.manual_seed(7)
SIGMA = 2.


def loss(out, y, w, stride):
    """out [B, H, W, K], y [B, K + 1, 3], w [B]."""
    batch, high, wide, n = out.shape
    ys, xs = torch.meshgrid((torch.arange(high) + .5) * stride, (torch.arange(wide) + .5) * stride, indexing="ij")
    total = 0
    for b in range(batch):
        sum_, there = 0, 0
        for k in range(n):
            x, v, seen = y[b, k]
            if seen == 0:
                continue
            heat = torch.exp(-((xs - x) ** 2 + (ys - v) ** 2) / (2 * (SIGMA * stride) ** 2))
            sum_ = sum_ + ((out[b, :, :, k] - heat) ** 2).sum()
            there += 1
        total = total + w[b] * sum_ / max(there, 1) / (math.pi * SIGMA ** 2)
    return total


def loss_cases():
    cases = []
    for shape, stride in (((2, 4, 6, 3), 2), ((3, 5, 4, 1), 4)):
        batch, high, wide, n = shape
        y = torch.rand(batch, n + 1, 3, dtype=torch.float64) * torch.tensor([wide * stride, high * stride, 1.], dtype=torch.float64)
        y[:, :, 2] = torch.randint(0, 3, (batch, n + 1))
        y[0, :, 2] = 0                                      # nothing is there
        y[-1, 0, 2] = 1                                     # hidden, which counts
        y = y.float().double()
        out = (torch.randn(*shape, dtype=torch.float64)).float().double().requires_grad_(True)
        w = torch.rand(batch, dtype=torch.float64).float().double()
        v = loss(out, y, w, stride)
        v.backward()
        flat = lambda t: [round(float(x), 12) for x in t.detach().reshape(-1)]
        cases.append(dict(shape=list(shape), stride=stride, out=flat(out), y=flat(y), w=flat(w), loss=float(v.detach()), grad=flat(out.grad)))
    return cases


def random_set(seed):
    d = Draws(seed)
    n, examples = 1 + d.below(6), []
    for _ in range(1 + d.below(12)):
        side, root = 8 + d.below(40), 8 + d.below(30)
        there, found = [], []
        for _ in range(n):
            x, y, seen = d.below(64), d.below(64), d.below(3)
            there.append((x, y, seen))
            near = d.below(4)
            found.append((x + (d.below(9) - 4) / 2 if near else d.below(64), y + (d.below(9) - 4) / 2 if near else d.below(64), d.below(16) / 16))
        examples.append((side, root, np.array(there, float), np.array(found, float)))
    return n, examples


def evaluate(n, examples):
    distances, near, rows = [], [], []
    for side, root, there, found in examples:
        seen = there[:, 2] > 0
        if not seen.any():
            continue
        d = np.hypot(*(found[seen, :2] - there[seen, :2]).T)
        distances += list(d)
        near += list(d <= .1 * side)
        oks = np.exp(-d ** 2 / (2 * root ** 2 * (2 * .05) ** 2)).mean()
        rows.append((found[:, 2].mean(), oks))
    if not rows:
        return None
    order = np.argsort([-s for s, _ in rows], kind="stable")
    oks = np.array([rows[i][1] for i in order])
    ap = []
    for t in np.linspace(.5, .95, 10):
        hit = np.cumsum(oks >= t)
        recall, precision = hit / len(rows), hit / (np.arange(len(rows)) + 1 + np.spacing(1))
        precision = np.maximum.accumulate(precision[::-1])[::-1]
        at = np.searchsorted(recall, np.linspace(0, 1, 101), side="left")
        ap.append(np.where(at < len(rows), precision[np.minimum(at, len(rows) - 1)], 0).mean())
    return [float(np.mean(ap)), float(np.mean(near)), float(np.mean(distances))]


sets = [evaluate(*random_set(s)) for s in range(300)]
path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/points.json"
path.write_text(json.dumps(dict(losses=loss_cases(), sets=[[round(v, 12) for v in s] if s else None for s in sets]), separators=(",", ":")) + "\n")
