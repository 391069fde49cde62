"""Writes tests/golden/boxes.json, for tests/train/test_detect.c and tests/data/test_boxes.c: which cells find which objects, the loss of
a detector and its gradient by PyTorch in double, and the average precision of 500 random sets.
All of it is written down here from the published rules: FCOS with centre sampling (arXiv 1904.01355), GIoU (1902.09630), varifocal
loss (2008.13367), and COCO's evaluation of boxes (cocodataset.org/#detection-eval). pycocotools was not there to compare with.
Run in the lab: python3 tools/golden/golden_boxes.py (PyTorch)."""
import json
import math
import pathlib
import random

import torch

from draws import Draws

random.seed(5)
torch.manual_seed(5)
STRIDES, PRIOR = (8, 16, 32), -4.6


# ---- cells ----

def cells(w, h):
    return [((x + .5) * s, (y + .5) * s, s) for s in STRIDES for y in range(h // s) for x in range(w // s)]


def assign(objects, w, h):
    """objects: (class, x0, y0, x1, y1); each cell's class or -1, and the box from its middle in strides."""
    out = []
    for x, y, s in cells(w, h):
        best = None
        for c, x0, y0, x1, y1 in objects:
            side, mx, my = max(x1 - x0, y1 - y0), (x0 + x1) / 2, (y0 + y1) / 2
            own_stride = 8 if side <= 32 else 16 if side <= 64 else 32
            if s != own_stride:
                continue
            own = min(int(mx // s), w // s - 1) == int(x // s) and min(int(my // s), h // s - 1) == int(y // s)
            near = abs(x - mx) < 1.5 * s and abs(y - my) < 1.5 * s and x0 < x < x1 and y0 < y < y1
            size = (x1 - x0) * (y1 - y0)
            if (own or near) and (best is None or size < best[0]):
                best = size, [c, (x0 - x) / s, (y0 - y) / s, (x1 - x) / s, (y1 - y) / s]
        out.append(best[1] if best else [-1, 0, 0, 0, 0])
    return out


def random_objects(w, h, n):
    out = []
    for _ in range(n):
        a, b = (sorted(random.randrange(0, 2 * w + 1) / 2 for _ in range(2)), sorted(random.randrange(0, 2 * h + 1) / 2 for _ in range(2)))
        if a[1] > a[0] and b[1] > b[0]:
            out.append([random.randrange(3), a[0], b[0], a[1], b[1]])
    return out


# ---- the loss ----

def loss(out, y, w):
    """out [B, cells, 4 + K], y [B, cells, 5], w [B]."""
    total = 0
    for b in range(len(out)):
        box, logit, t = out[b, :, :4], out[b, :, 4:] + PRIOR, y[b]
        finds = t[:, 0] >= 0
        half = torch.exp(box[:, 2:].clamp(-8, 8)) / 2
        low, high = box[:, :2] - half, box[:, :2] + half
        tl, th = t[:, 1:3], t[:, 3:5]
        inter = (torch.minimum(high, th) - torch.maximum(low, tl)).clamp(min=0).prod(-1)
        union = (high - low).prod(-1) + (th - tl).prod(-1) - inter
        hull = (torch.maximum(high, th) - torch.minimum(low, tl)).prod(-1)
        iou = inter / union
        giou = iou - (hull - union) / hull
        q = torch.zeros_like(logit)
        q[finds, t[finds, 0].long()] = iou[finds].detach()
        ce = torch.nn.functional.binary_cross_entropy_with_logits(logit, q, reduction="none")
        there = torch.zeros_like(logit)
        there[finds, t[finds, 0].long()] = 1
        classes = ((q + (1 - there) * .75 * torch.sigmoid(logit) ** 2) * ce).sum()
        total = total + w[b] * (classes + (1 - giou)[finds].sum()) / max(int(finds.sum()), 1)
    return total


def loss_cases():
    cases = []
    for n_classes, counts in ((3, (2, 0)), (1, (4, 1))):
        w, h = 64, 32
        objects = [[[c % n_classes, *b] for c, *b in random_objects(w, h, n)] for n in counts]
        y = torch.tensor([assign(o, w, h) for o in objects], dtype=torch.float64)
        # as the device has them
        y = y.float().double()
        out = (torch.randn(2, y.shape[1], 4 + n_classes, dtype=torch.float64)).float().double().requires_grad_(True)
        weight = torch.tensor([.5, .25], dtype=torch.float64)
        v = loss(out, y, weight)
        v.backward()
        flat = lambda t: [round(float(x), 12) for x in t.detach().reshape(-1)]
        cases.append(dict(shape=list(out.shape), out=flat(out), y=flat(y), w=flat(weight), loss=float(v.detach()), grad=flat(out.grad)))
    return cases


# ---- average precision ----

def random_set(seed):
    """[(objects, found)] of each picture: objects (class, box), found (score, class, box)."""
    d, pictures = Draws(seed), []
    n_classes = 1 + d.below(4)
    for _ in range(1 + d.below(8)):
        objects, found = [], []
        for _ in range(d.below(7)):
            c, x, y = d.below(n_classes), d.below(60), d.below(60)
            w, h = 1 + d.below(40), 1 + d.below(40)
            objects.append((c, (x, y, x + w, y + h)))
        for _ in range(d.below(14)):
            c, x, y = d.below(n_classes), d.below(60), d.below(60)
            w, h = 1 + d.below(40), 1 + d.below(40)
            box = (x, y, x + w, y + h)
            if objects and d.below(4):
                c, o = objects[d.below(len(objects))]
                box = (o[0] - d.below(5), o[1] - d.below(5), o[2] + d.below(5), o[3] + d.below(5))
            found.append((d.below(20) / 32, c, box))
        pictures.append((objects, found))
    return n_classes, pictures


def iou(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.
    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h)


def evaluate(n_classes, pictures):
    """COCO's rules, step by step."""
    thresholds = [.5 + i * ((.95 - .5) / 9) for i in range(10)]
    recalls = [i * .01 for i in range(101)]
    table = []                                             # [class][threshold]
    for c in range(n_classes):
        n_objects = sum(1 for objects, _ in pictures for k, _ in objects if k == c)
        if n_objects == 0:
            continue
        row = []
        for t in thresholds:
            scored = []
            for objects, found in pictures:
                truths = [b for k, b in objects if k == c]
                taken = [False] * len(truths)
                boxes = sorted([f for f in found if f[1] == c], key=lambda f: -f[0])[:100]   # stable
                for score, _, box in boxes:
                    best, at = min(t, 1 - 1e-10), -1
                    for g, truth in enumerate(truths):
                        if taken[g] or iou(box, truth) < best:
                            continue
                        best, at = iou(box, truth), g
                    if at >= 0:
                        taken[at] = True
                    scored.append((score, at >= 0))
            scored.sort(key=lambda s: -s[0])                                                 # stable
            hits = misses = 0
            recall, precision = [], []
            for _, hit in scored:
                hits, misses = hits + hit, misses + (not hit)
                recall.append(hits / n_objects)
                precision.append(hits / (hits + misses + math.ulp(1.0)))
            for i in range(len(precision) - 1, 0, -1):
                precision[i - 1] = max(precision[i - 1], precision[i])
            total = 0.
            for r in recalls:
                at = next((i for i, v in enumerate(recall) if v >= r), None)
                total += precision[at] if at is not None else 0.
            row.append(total / 101)
        table.append(row)
    if not table:
        return None
    return sum(sum(r) / 10 for r in table) / len(table), sum(r[0] for r in table) / len(table)


def main():
    grids = []
    for w, h, n in ((64, 64, 1), (96, 64, 4), (128, 160, 9), (64, 96, 30), (32, 32, 3)):
        objects = random_objects(w, h, n)
        grids.append(dict(w=w, h=h, objects=objects, target=[v for row in assign(objects, w, h) for v in row]))
    sets = [evaluate(*random_set(seed)) for seed in range(500)]
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/boxes.json"
    path.write_text(json.dumps(dict(grids=grids, losses=loss_cases(), sets=[[round(v, 12) for v in s] if s else None for s in sets]),
                               separators=(",", ":")) + "\n")


main()
