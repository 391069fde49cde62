#!/usr/bin/env python3
"""Writes tests/golden/outlines.json, for tests/data/test_outlines.c: a file of COCO annotations, polygons and runs, and what mask and what counts they
are by plain Python: each pixel's middle against each polygon by its winding parity, one after the other. Needs Python alone.
usage: golden_outlines.py [OUT]"""
import json, math, pathlib, random, sys

W, H = 41, 33


def inside(x, y, ring):
    """Whether a ray to the right crosses an odd number of edges."""
    odd = False
    for (ax, ay), (bx, by) in zip(ring, ring[1:] + ring[:1]):
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            odd = not odd
    return odd


def pixels_of_rings(rings):
    return {(x, y) for y in range(H) for x in range(W) if any(inside(x + .5, y + .5, r) for r in rings)}


def runs_of(pixels):
    out, value, n = [], False, 0
    for x in range(W):
        for y in range(H):
            if ((x, y) in pixels) != value:
                out.append(n)
                value, n = not value, 0
            n += 1
    return out + [n]


def as_text(counts):
    """As maskApi.c's rleToString."""
    out = ""
    for i, v in enumerate(counts):
        v -= counts[i - 2] if i > 2 else 0
        more = True
        while more:
            c, v = v & 31, v >> 5
            more = v != -1 if c & 16 else v != 0
            out += chr((c | 32 if more else c) + 48)
    return out


def mask_of(all_pixels):
    """Of each pixel the smallest one's number, of equal ones the first's."""
    mask = [[0] * W for _ in range(H)]
    shared = 0
    for y in range(H):
        for x in range(W):
            those = [(len(p), k + 1) for k, p in enumerate(all_pixels) if (x, y) in p]
            shared += len(those) > 1
            mask[y][x] = min(those)[1] if those else 0
    return mask, shared, sum(not any(k + 1 in row for row in mask) for k in range(len(all_pixels)))


def shape(rng):
    """A star or a box, some beyond the edge, some with edges through pixels' middles."""
    x, y, r = rng.uniform(-2, W), rng.uniform(-2, H), rng.uniform(2, 12)
    if rng.random() < .3:
        a, b, c, d = (round(2 * v) / 2 for v in (x - r, y - r / 2, x + r / 2, y + r))
        return [(a, b), (c, b), (c, d), (a, d)]
    n = rng.randint(3, 9)
    return [(x + r * rng.uniform(.3, 1) * math.cos(k * 2 * math.pi / n), y + r * rng.uniform(.3, 1) * math.sin(k * 2 * math.pi / n)) for k in range(n)]


def main():
    rng = random.Random("outlines 1")
    file = dict(images=[], annotations=[], categories=[dict(id=3, name="cell"), dict(id=5, name="debris")])
    masks, shared, hidden = [], 0, 0
    for i in range(8):
        file["images"].append(dict(id=10 + i, file_name=f"{i}.png", width=W, height=H))
        found = []
        for k in range(0 if i == 3 else 3 if i == 5 else rng.randint(0, 7)):
            kind = rng.randrange(4)
            if i == 5:                                      # all of the second lies under two smaller ones
                top, low = ((10, 15), (10, 20), (15, 20))[k]
                rings = [[(10, top), (20, top), (20, low), (10, low)]]
            else:
                rings = [[tuple(round(v, 3) for v in p) for p in shape(rng)] for _ in range(rng.choice((1, 1, 2)))]
            pixels = pixels_of_rings(rings)
            if kind > 1:
                counts = runs_of(pixels)
                segmentation = dict(size=[H, W], counts=as_text(counts) if kind == 2 else counts)
            else:
                segmentation = [[v for p in r for v in p] for r in rings]
                if kind == 1:
                    segmentation.append([1, 2, 3, 4])       # no polygon
            # Runs of no pixel are no outline; a polygon without one is.
            if pixels or kind < 2:
                found.append(pixels)
            file["annotations"].append(dict(id=100 * i + k, image_id=10 + i, category_id=rng.choice((3, 5)), iscrowd=0, segmentation=segmentation))
        mask, s, n = mask_of(found)
        masks.append([v for row in mask for v in row])
        shared, hidden = shared + s, hidden + n
    file["annotations"] += [dict(id=9000, image_id=10, category_id=3, iscrowd=1, segmentation=dict(size=[H, W], counts=[0, W * H])),
                            dict(id=9001, image_id=10, category_id=3, iscrowd=0, segmentation=[]),
                            dict(id=9002, image_id=99, category_id=3, iscrowd=0, segmentation=[[1, 1, 5, 1, 5, 5]])]
    thin = sum([1, 2, 3, 4] in a["segmentation"] for a in file["annotations"] if isinstance(a["segmentation"], list))
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "tests/golden/outlines.json")
    out.write_text(json.dumps(dict(width=W, height=H, file=file, masks=masks, shared=shared, hidden=hidden, thin=thin), separators=(",", ":")) + "\n")
    print(len(file["annotations"]), "annotations,", shared, "shared,", hidden, "hidden,", thin, "thin")


main()
