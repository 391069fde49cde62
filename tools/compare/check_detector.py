#!/usr/bin/env python3
"""The small detector that `vktrain init` writes, in PyTorch: the same layers, loss, cells, augmentation, optimizer and schedule, to see
whether it learns as fast. Needs PyTorch and Pillow.

usage: check_detector.py SET [--steps 6000] [--stop N] [--batch 16] [--lr 0.003] [--seed 1] [--threads 1]

SET: as tools/compare/clip_art.py writes it. Every 300 steps: the loss, and mAP at 0.5 and over 0.5 to 0.95 of the validation pictures;
at the end that of the test pictures. --stop ends a longer schedule earlier, to compare the beginning of a run.
Random numbers are others than vktrain's, so results differ as those of two seeds do.
"""
import argparse, math, pathlib, time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

STRIDES, PRIOR, DECAY, WARMUP = (8, 16, 32), -4.6, .05, 50


# ---- data ----

def load(folder):
    pictures, boxes = [], []
    for f in sorted((folder / "images").glob("*.png")):
        im = np.asarray(Image.open(f).convert("RGB"))
        lines = (folder / "labels" / f"{f.stem}.txt").read_text().split("\n")
        rows = [[float(v) for v in l.split()] for l in lines if l]
        boxes.append(np.array([[c, x - w / 2, y - h / 2, x + w / 2, y + h / 2] for c, x, y, w, h in rows]).reshape(-1, 5)
                     * [1, *[im.shape[0]] * 4])
        pictures.append(im)
    return pictures, boxes


def moved(y, part, to):
    """Boxes of a part of a picture, which fills `to`; those with less than a quarter of their area there are left out."""
    (l, t, w, h), (x, z, tw, th) = part, to
    y = y.copy()
    y[:, [1, 3]] = x + (y[:, [1, 3]] - l) * tw / w
    y[:, [2, 4]] = z + (y[:, [2, 4]] - t) * th / h
    whole = (y[:, 3] - y[:, 1]) * (y[:, 4] - y[:, 2])
    y[:, [1, 3]] = y[:, [1, 3]].clip(x, x + tw)
    y[:, [2, 4]] = y[:, [2, 4]].clip(z, z + th)
    w, h = y[:, 3] - y[:, 1], y[:, 4] - y[:, 2]
    return y[(w * h >= .25 * whole) & (w >= 1) & (h >= 1)]


def resized(x, part, w, h):
    l, t, pw, ph = part
    return np.asarray(Image.fromarray(x).resize((w, h), Image.BOX if pw > w else Image.BILINEAR, (l, t, l + pw, t + ph)))


class Examples:
    def __init__(self, pictures, boxes, rng):
        self.x, self.y, self.rng, self.side, self.order = pictures, boxes, rng, pictures[0].shape[0], []

    def mosaic(self, i):
        s, rng = self.side, self.rng
        x, y = rng.integers(s // 4, s - s // 4 + 1, 2)
        out, boxes = np.empty_like(self.x[0]), []
        for k in range(4):
            j = i if k == 0 else rng.integers(len(self.x))
            to = (x if k % 2 else 0, y if k // 2 else 0, s - x if k % 2 else x, s - y if k // 2 else y)
            scale = max(math.exp(rng.uniform(math.log(.5), math.log(1.2))), to[2] / s, to[3] / s)
            w, h = min(s, max(1, round(to[2] / scale))), min(s, max(1, round(to[3] / scale)))
            part = (rng.integers(s - w + 1), rng.integers(s - h + 1), w, h)
            out[to[1]:to[1] + to[3], to[0]:to[0] + to[2]] = resized(self.x[j], part, to[2], to[3])
            boxes.append(moved(self.y[j], part, to))
        return out, np.concatenate(boxes)

    def crop(self, i):
        s, rng = self.side, self.rng
        for _ in range(10):
            area, ratio = rng.uniform(.5, 1) * s * s, math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
            w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if w <= s and h <= s:
                break
        else:
            w = h = s
        part = (rng.integers(s - w + 1), rng.integers(s - h + 1), w, h)
        return resized(self.x[i], part, s, s), moved(self.y[i], part, (0, 0, s, s))

    def next(self):
        if not self.order:
            self.order = list(self.rng.permutation(len(self.x)))
        i = self.order.pop()
        x, y = self.mosaic(i) if self.rng.random() < .5 else self.crop(i)
        x = x.astype(np.float32)
        mean = x.mean()
        x = np.clip((x - mean) * self.rng.uniform(.8, 1.2) + mean + 255 * self.rng.uniform(-.1, .1), 0, 255)
        if self.rng.random() < .5:
            x, y = x[:, ::-1], y.copy()
            y[:, [1, 3]] = self.side - y[:, [3, 1]]
        return x, y


def cells_of(side):
    return np.array([[(c + .5) * s, (r + .5) * s, s] for s in STRIDES for r in range(side // s) for c in range(side // s)])


def assign(cells, y, side):
    """FCOS with centre sampling, as src/data/boxes/cells.h has it: class or -1 and the box from the cell's middle in strides."""
    out, taken, (cx, cy, s) = np.zeros((len(cells), 5), np.float32), np.full(len(cells), np.inf), cells.T
    out[:, 0] = -1
    for c, x0, y0, x1, y1 in y:
        longer, mx, my, size = max(x1 - x0, y1 - y0), (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) * (y1 - y0)
        level = s == (8 if longer <= 32 else 16 if longer <= 64 else 32)
        own = (np.minimum(mx // s, side // s - 1) == cx // s) & (np.minimum(my // s, side // s - 1) == cy // s)
        near = (abs(cx - mx) < 1.5 * s) & (abs(cy - my) < 1.5 * s) & (cx > x0) & (cx < x1) & (cy > y0) & (cy < y1)
        at = level & (own | near) & (size < taken)
        taken[at] = size
        out[at] = np.stack([np.full(len(cells), c), (x0 - cx) / s, (y0 - cy) / s, (x1 - cx) / s, (y1 - cy) / s], 1)[at]
    return out


# ---- model ----

def conv(i, o, stride=1):
    return [nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]


class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.main = nn.Sequential(*conv(i, o, 2), *conv(o, o)[:2])
        self.short = nn.Sequential(nn.Conv2d(i, o, 1, 2, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.main(x) + self.short(x))


class Detector(nn.Module):
    def __init__(self, n_classes, neck=64, at=(64, 96, 128)):
        super().__init__()
        self.stem = nn.Sequential(*conv(3, 16, 2), *conv(16, 32, 2))
        self.blocks = nn.ModuleList(Block(i, o) for i, o in zip((32, *at), at))
        self.side = nn.ModuleList(nn.Conv2d(c, neck, 1) for c in at)
        self.heads = nn.ModuleList(nn.Sequential(*conv(neck, neck), *conv(neck, neck), nn.Conv2d(neck, 4 + n_classes, 1)) for _ in at)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
        for h in self.heads:
            nn.init.zeros_(h[-1].weight), nn.init.zeros_(h[-1].bias)

    def forward(self, x):
        x, at = self.stem(x), []
        for b in self.blocks:
            x = b(x)
            at.append(x)
        to = [self.side[2](at[2])]
        for k in (1, 0):
            to.insert(0, self.side[k](at[k]) + F.interpolate(to[0], scale_factor=2))
        return torch.cat([h(t).flatten(2).transpose(1, 2) for h, t in zip(self.heads, to)], 1)


def corners(out):
    half = torch.exp(out[..., 2:4].clamp(-8, 8)) / 2
    return out[..., :2] - half, out[..., :2] + half


def loss(out, y):
    """Varifocal and GIoU, a mean by picture."""
    (low, high), z, finds = corners(out), out[..., 4:] + PRIOR, y[..., 0] >= 0
    tl, th = y[..., 1:3], y[..., 3:5]
    both = (torch.minimum(high, th) - torch.maximum(low, tl)).clamp(min=0).prod(-1)
    either = (high - low).prod(-1) + (th - tl).prod(-1) - both
    around = (torch.maximum(high, th) - torch.minimum(low, tl)).prod(-1)
    iou = both / either.clamp(min=1e-9)
    giou = iou - (around - either) / around.clamp(min=1e-9)
    there = F.one_hot(y[..., 0].long().clamp(min=0), z.shape[-1]) * finds[..., None]
    q = there * iou.detach()[..., None]
    classes = (q + (1 - there) * .75 * torch.sigmoid(z) ** 2) * F.binary_cross_entropy_with_logits(z, q, reduction="none")
    n = finds.sum(1).clamp(min=1)
    return ((classes.sum((1, 2)) + ((1 - giou) * finds).sum(1)) / n).mean()


# ---- average precision, as COCO's ----

def overlaps(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    both = (high - low).clip(0).prod(-1)
    return both / ((a[:, 2:] - a[:, :2]).prod(-1)[:, None] + (b[:, 2:] - b[:, :2]).prod(-1)[None] - both)


def found_of(score, box):
    """Boxes of one class and picture, the best first, at most 100 that overlap no better one by more than 0.6."""
    at = np.argsort(-score, kind="stable")
    at = at[score[at] >= .01]
    iou, kept = overlaps(box[at], box[at]), []
    for k in range(len(at)):
        if not kept or iou[k, kept].max() <= .6:
            kept.append(k)
    return at[kept[:100]]


def evaluate(net, pictures, boxes, cells, scale, n_classes):
    side, scored, n = pictures[0].shape[0], [[] for _ in range(n_classes)], np.zeros(n_classes)
    net.eval()
    for first in range(0, len(pictures), 50):
        with torch.no_grad():
            out = net(scale(pictures[first:first + 50]))
            low, high = corners(out)
            c = torch.tensor(cells, dtype=torch.float32)
            box = torch.cat([c[:, :2] + low * c[:, 2:], c[:, :2] + high * c[:, 2:]], -1).clamp(0, side).numpy()
            score = torch.sigmoid(out[..., 4:] + PRIOR).numpy()
        for i, y in enumerate(boxes[first:first + 50]):
            for k in range(n_classes):
                truth = y[y[:, 0] == k][:, 1:]
                n[k] += len(truth)
                at = found_of(score[i, :, k], box[i])
                iou, hits = overlaps(box[i, at], truth), np.zeros((len(at), 10), bool)
                for t in range(10):
                    free = np.ones(len(truth), bool)
                    for j in range(len(at) if len(truth) else 0):
                        v = np.where(free, iou[j], -1)
                        if v.max() >= .5 + .05 * t:
                            free[v.argmax()], hits[j, t] = False, True
                scored[k] += list(zip(score[i, at, k], hits))
    net.train()
    table = np.zeros((n_classes, 10))
    for k in range(n_classes):
        if scored[k]:
            order = np.argsort([-s for s, _ in scored[k]], kind="stable")
            hits = np.array([h for _, h in scored[k]])[order].cumsum(0)
            precision = np.maximum.accumulate((hits / np.arange(1, len(hits) + 1)[:, None])[::-1])[::-1]
            for t in range(10):
                at = np.searchsorted(hits[:, t] / n[k], np.linspace(0, 1, 101))
                table[k, t] = np.where(at < len(hits), precision[at.clip(max=len(hits) - 1), t], 0).mean()
    return f"map50 {table[:, 0].mean():.4f}  map {table.mean():.4f}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("set", type=pathlib.Path)
    for name, kind, v in (("steps", int, 6000), ("stop", int, 0), ("batch", int, 16), ("lr", float, .003), ("seed", int, 1), ("threads", int, 1)):
        p.add_argument(f"--{name}", type=kind, default=v)
    a = p.parse_args()
    torch.manual_seed(a.seed), torch.set_num_threads(a.threads)
    n_classes = (a.set / "data.yaml").read_text().count(",") + 1
    pictures, boxes = load(a.set / "train")
    valid, test, side = load(a.set / "valid"), load(a.set / "test"), pictures[0].shape[0]
    flat = np.concatenate([x.reshape(-1, 3) for x in pictures])
    mean, std = flat.mean(0, dtype=np.float64), flat.std(0, dtype=np.float64)

    def scale(x):
        return torch.tensor(((np.stack(x) - mean) / std).transpose(0, 3, 1, 2), dtype=torch.float32)
    cells, examples = cells_of(side), Examples(pictures, boxes, np.random.default_rng(a.seed))
    net = Detector(n_classes)
    opt = torch.optim.AdamW([dict(params=[v for v in net.parameters() if (v.dim() > 1) == decays], weight_decay=DECAY * decays)
                             for decays in (True, False)], lr=a.lr)
    print(f"{sum(v.numel() for v in net.parameters())} parameters", flush=True)
    start, cpu, total = time.time(), time.process_time(), a.steps + WARMUP
    for step in range(1, (a.stop or total) + 1):
        rate = step / WARMUP if step < WARMUP else .5 * (1 + math.cos(math.pi * (step - WARMUP) / a.steps))
        for group in opt.param_groups:
            group["lr"] = a.lr * rate
        batch = [examples.next() for _ in range(a.batch)]
        v = loss(net(scale([x for x, _ in batch])), torch.tensor(np.stack([assign(cells, y, side) for _, y in batch])))
        opt.zero_grad()
        v.backward()
        opt.step()
        if step % 300 == 0 or step == total:
            print(f"step {step}  loss {v.item():.3f}  valid {evaluate(net, *valid, cells, scale, n_classes)}"
                  f"  {time.time() - start:.0f} s, {time.process_time() - cpu:.0f} CPU s", flush=True)
    print(f"test {evaluate(net, *test, cells, scale, n_classes)}")


if __name__ == "__main__":
    main()
