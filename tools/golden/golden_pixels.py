"""Writes tests/golden/pixels.json: losses of masks and their gradients by PyTorch in double, for tests/train/test_pixel_losses.c.
Cross-entropy is PyTorch's own; focal (arXiv 1708.02002) and Dice (arXiv 1606.04797, smoothed by 1) are written down here. SSIM and PSNR as
scikit-image has them, by their formulas (Wang et al. 2004).
Run in the lab: python3 tools/golden/golden_pixels.py (PyTorch)."""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(3)
B, H, W, C, IGNORE = 3, 3, 4, 3, 255


def flat(t):
    return [round(float(v), 14) for v in t.detach().reshape(-1)]


def dice(z, y, weight):
    """Picture by picture, each by the weight of its pixels that count."""
    counts = (y != IGNORE)
    one = F.one_hot(torch.where(counts, y, 0), C) * counts[..., None]
    p = torch.softmax(z, -1) * counts[..., None]
    both, total = (p * one).sum((1, 2)), (p + one).sum((1, 2))
    each = 1 - ((2 * both + 1) / (total + 1)).mean(-1)
    share = (one * weight).sum((1, 2, 3))
    return (each * share).sum() / share.sum()


def focal(z, y, weight, gamma):
    ce = F.cross_entropy(z.reshape(-1, C), y.reshape(-1), ignore_index=IGNORE, reduction="none")
    counts = (y.reshape(-1) != IGNORE)
    w = torch.where(counts, weight[torch.where(counts, y.reshape(-1), 0)], 0)
    return ((1 - torch.exp(-ce)) ** gamma * ce * w).sum() / w.sum()


def pixel_cases():
    out = []
    for kind in ("cross_entropy", "focal", "dice", "dice_ce"):
        for weighted in (False, True):
            for ignored in (False, True):
                z = (torch.round(1e3 * torch.randn(B, H, W, C, dtype=torch.float64)) / 1e3).requires_grad_(True)
                y = torch.randint(0, C, (B, H, W))
                if ignored:
                    y[torch.rand(B, H, W) < .3] = IGNORE
                    y[2] = IGNORE  # a picture of which nothing counts
                weight = torch.tensor([.5, 1, 2] if weighted else [1.] * C, dtype=torch.float64)
                ce = F.cross_entropy(z.reshape(-1, C), y.reshape(-1), weight, ignore_index=IGNORE)
                loss = {"cross_entropy": lambda: ce, "focal": lambda: focal(z, y, weight, 2), "dice": lambda: dice(z, y, weight),
                        "dice_ce": lambda: ce + dice(z, y, weight)}[kind]()
                loss.backward()
                out.append(dict(kind=kind, weighted=weighted, logits=flat(z), target=[int(v) for v in y.reshape(-1)], weight=flat(weight),
                                loss=float(loss.detach()), grad=flat(z.grad)))
    return out


def ssim(a, b):
    """Over the windows inside, channel by channel; a, b [H, W, C]."""
    n, total, k = 49, [], torch.ones(1, 1, 7, 7, dtype=torch.float64) / 49
    for c in range(a.shape[2]):
        x, y = a[None, None, :, :, c], b[None, None, :, :, c]
        mx, my = F.conv2d(x, k), F.conv2d(y, k)
        vx, vy, vxy = [(F.conv2d(u, k) - m) * n / (n - 1) for u, m in ((x * x, mx * mx), (y * y, my * my), (x * y, mx * my))]
        total.append(((2 * mx * my + 1e-4) * (2 * vxy + 9e-4) / ((mx ** 2 + my ** 2 + 1e-4) * (vx + vy + 9e-4))).mean())
    return float(sum(total) / len(total))


def picture_cases():
    out = []
    for h, w, c in ((7, 7, 1), (9, 12, 1), (11, 8, 3)):
        b = torch.round(512 * torch.rand(h, w, c, dtype=torch.float64)) / 512  # exact for every reader
        a = torch.round(512 * (b + .1 * torch.randn(h, w, c, dtype=torch.float64))) / 512
        clamped = a.clamp(0, 1)
        out.append(dict(shape=[h, w, c], got=flat(a), wanted=flat(b), psnr=-10 * math.log10(float(((clamped - b) ** 2).mean())),
                        ssim=ssim(clamped, b)))
    return out


def main():
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/pixels.json"
    path.write_text(json.dumps(dict(torch=torch.__version__, shape=[B, H, W, C], losses=pixel_cases(), pictures=picture_cases())) + "\n")


main()
