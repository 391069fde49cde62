#!/usr/bin/env python3
"""PSNR of bicubic enlargement (a = -1/2, edge pixels repeated), beside which super-resolution stands: needs Python alone.

usage: bicubic.py FOLDER [NAME...]   FOLDER has before/ and after/ as tools/examples/make_pictures.py writes them; names: 0003.png
"""
import math, os, struct, sys, zlib


def read_png(path):
    """Rows of a grey PNG without filters."""
    data, at, body = open(path, "rb").read(), 8, b""
    w, h = struct.unpack(">II", data[16:24])
    while at < len(data):
        n, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT": body += data[at + 8:at + 8 + n]
        at += n + 12
    raw = zlib.decompress(body)
    assert all(raw[y * (w + 1)] == 0 for y in range(h)), f"{path}: has filters"
    return [list(raw[y * (w + 1) + 1:(y + 1) * (w + 1)]) for y in range(h)]


def cubic(d):
    d = abs(d)
    return (1.5 * d - 2.5) * d * d + 1 if d < 1 else ((-.5 * d + 2.5) * d - 4) * d + 2 if d < 2 else 0


def stretch(line, times):
    out, n = [], len(line)
    for i in range(n * times):
        x = (i + .5) / times - .5
        left = math.floor(x)
        out.append(sum(cubic(x - k) * line[min(max(k, 0), n - 1)] for k in range(left - 1, left + 3)))
    return out


def enlarge(p, times):
    wide = [stretch(row, times) for row in p]
    return [list(r) for r in zip(*[stretch(list(c), times) for c in zip(*wide)])]


def psnr(a, b):
    error = [(min(max(u, 0), 255) - v) / 255 for r, s in zip(a, b) for u, v in zip(r, s)]
    return -10 * math.log10(max(sum(e * e for e in error) / len(error), 1e-10))


def main():
    if len(sys.argv) < 2: sys.exit(__doc__)
    folder, names = sys.argv[1], sys.argv[2:] or sorted(os.listdir(os.path.join(sys.argv[1], "before")))
    scores = []
    for name in names:
        small, large = (read_png(os.path.join(folder, f, name)) for f in ("before", "after"))
        scores.append(psnr(enlarge(small, len(large) // len(small)), large))
    print(f"{len(scores)} pictures: PSNR {sum(scores) / len(scores):.2f} dB by bicubic enlargement")


main()
