#!/usr/bin/env python3
"""Makes pictures whose targets are known, from a seed: needs Python alone.

usage: make_pictures.py KIND FOLDER [N] [SIDE] [SEED]

digits   handwritten digits (tests/files/digits.csv.gz) in clutter: images/ and masks/ of two classes, background and digit
discs    discs of varied texture that touch: images/ and masks/
cells    uneven discs of varied size and texture that touch and overlap a little, in uneven light, each one an instance: images/ and instances/ of 16 bits
small    the digits in clutter at half their size, before/, and as they are, after/; of little grain, which nothing could foretell
"""
import csv, gzip, math, os, random, struct, sys, zlib

HERE = os.path.dirname(os.path.abspath(__file__))


def write_png(path, width, height, channels, rows, bits=8):
    """rows: one bytes object a row, of 16 bits the upper byte first; channels 1 (grey) or 3."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", width, height, bits, 0 if channels == 1 else 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + bytes(r) for r in rows), 6)
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b""))


def read_digits():
    path = os.path.join(HERE, "..", "..", "tests", "files", "digits.csv.gz")
    with gzip.open(path, "rt") as f:
        rows = [r for r in csv.reader(f)]
    return [[int(float(v)) for v in r[:64]] for r in rows if len(r) == 65 and r[0].replace(".", "").isdigit()]


def clutter(rng, side, grain=30):
    """Strokes and grain, as bright as digits are."""
    p = [[60 + grain * rng.random() for _ in range(side)] for _ in range(side)]
    for _ in range(side // 4):
        x, y, dx, dy, v = rng.random() * side, rng.random() * side, rng.gauss(0, 1), rng.gauss(0, 1), 60 + 160 * rng.random()
        for _ in range(rng.randint(2, 6)):
            if 0 <= int(x) < side and 0 <= int(y) < side:
                p[int(y)][int(x)] = v
            x, y = x + dx, y + dy
    return p


def digit_picture(rng, side, digits, grain=30):
    """One to three digits, each two or three times its size, laid over clutter."""
    p, mask = clutter(rng, side, grain), [[0] * side for _ in range(side)]
    for _ in range(rng.randint(1, 3)):
        digit, times = rng.choice(digits), rng.choice((2, 3))
        left, top = rng.randint(0, side - 8 * times), rng.randint(0, side - 8 * times)
        for y in range(8 * times):
            for x in range(8 * times):
                # between the middles of the digit's pixels
                fx, fy = (x + .5) / times - .5, (y + .5) / times - .5
                x0, y0 = max(int(fx), 0), max(int(fy), 0)
                x1, y1 = min(x0 + 1, 7), min(y0 + 1, 7)
                a, b = min(max(fx - x0, 0), 1), min(max(fy - y0, 0), 1)
                ink = ((1 - b) * ((1 - a) * digit[8 * y0 + x0] + a * digit[8 * y0 + x1]) +
                       b * ((1 - a) * digit[8 * y1 + x0] + a * digit[8 * y1 + x1])) / 16
                if ink > .4:
                    mask[top + y][left + x] = 1
                p[top + y][left + x] = (1 - ink) * p[top + y][left + x] + ink * 230
    return p, mask


def disc_picture(rng, side):
    p, mask = clutter(rng, side), [[0] * side for _ in range(side)]
    x, y = rng.uniform(.2, .4) * side, rng.uniform(.2, .4) * side
    for _ in range(rng.randint(3, 6)):
        r = rng.uniform(.08, .14) * side
        base, grain = rng.uniform(140, 210), rng.uniform(5, 25)
        for j in range(side):
            for i in range(side):
                if (i - x) ** 2 + (j - y) ** 2 < r * r:
                    mask[j][i] = 1
                    p[j][i] = base + grain * rng.uniform(-1, 1)
        turn = rng.random() * 6.28                       # the next one touches it
        x = min(max(x + 2 * r * math.cos(turn), r), side - r)
        y = min(max(y + 2 * r * math.sin(turn), r), side - r)
    return p, mask


def cell_picture(rng, side):
    """Cells that are no circles, of 4 to 13% of the side in radius; each touches one before it, and they overlap by a fifth at most: then the first
    lies on top. Some are hardly brighter than the clutter, and light falls from one side: the far one has a half to a fifth less than the middle."""
    p, mask, cells = clutter(rng, side), [[0] * side for _ in range(side)], []
    n, r = rng.randint(6, 18), rng.uniform(.04, .13) * side
    for _ in range(150):
        if not cells:
            x, y = (rng.uniform(.3, .7) * side for _ in range(2))
        else:
            u, v, other = rng.choice(cells)
            turn, apart = rng.random() * 2 * math.pi, rng.uniform(.85, 1)
            x, y = u + apart * (r + other) * math.cos(turn), v + apart * (r + other) * math.sin(turn)
        if len(cells) == n or not r < x < side - r or not r < y < side - r or any(
                math.hypot(x - u, y - v) < .8 * (r + other) for u, v, other in cells):
            continue
        cells.append((x, y, r))
        base, grain, oval, lobe = rng.uniform(85, 200), rng.uniform(5, 30), rng.random() * math.pi, rng.random() * math.pi
        for j in range(side):
            for i in range(side):
                dx, dy = i + .5 - x, j + .5 - y
                if abs(dx) > 1.2 * r or abs(dy) > 1.2 * r or mask[j][i]:
                    continue
                turn = math.atan2(dy, dx)
                if math.hypot(dx, dy) < r * (1 + .12 * math.cos(2 * (turn - oval)) + .06 * math.cos(3 * (turn - lobe))):
                    mask[j][i] = len(cells)
                    p[j][i] = base + grain * rng.uniform(-1, 1)
        r = rng.uniform(.04, .13) * side
    fall, turn = rng.uniform(.2, .5), rng.random() * 2 * math.pi
    for j in range(side):
        for i in range(side):
            p[j][i] *= 1 - fall * (((2 * i + 1) / side - 1) * math.cos(turn) + ((2 * j + 1) / side - 1) * math.sin(turn))
    return p, mask


def as_rows(p):
    return [bytes(min(max(int(v + .5), 0), 255) for v in row) for row in p]


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("digits", "discs", "cells", "small"):
        sys.exit(__doc__)
    kind, folder = sys.argv[1:3]
    n, side, seed = (int(v) for v in sys.argv[3:] + ["200", "48", "1"][len(sys.argv) - 3:])
    rng, digits = random.Random(f"{kind} {seed}"), read_digits() if kind in ("digits", "small") else None
    names = ("before", "after") if kind == "small" else ("images", "instances" if kind == "cells" else "masks")
    for name in names:
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    for i in range(n):
        p, mask = disc_picture(rng, side) if kind == "discs" else cell_picture(rng, side) if kind == "cells" else digit_picture(rng, side, digits, 8 if kind == "small" else 30)
        first, second = as_rows(p), as_rows(mask)
        if kind == "small":
            half = [[(p[2 * y][2 * x] + p[2 * y][2 * x + 1] + p[2 * y + 1][2 * x] + p[2 * y + 1][2 * x + 1]) / 4
                     for x in range(side // 2)] for y in range(side // 2)]
            first, second = as_rows(half), first
        if kind == "cells":
            write_png(os.path.join(folder, names[1], f"{i:04}.png"), side, side, 1, [struct.pack(f">{side}H", *row) for row in mask], 16)
        for name, rows in zip(names[:1] if kind == "cells" else names, (first, second)):
            write_png(os.path.join(folder, name, f"{i:04}.png"), len(rows[0]), len(rows), 1, rows)


if __name__ == "__main__":
    main()
