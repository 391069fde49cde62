#!/usr/bin/env python3
"""Makes pictures with shapes and their boxes, from a seed: needs Python alone.

usage: make_boxes.py FOLDER [N] [SIDE] [SEED] [FORM]

Shapes of eight classes lie on textures, as clip art pasted there would: each class has its colours and stripes, which vary a little, and
any size and proportion; some overlap, some reach beyond the picture, and some pictures have none. FORM: yolo (images/, labels/ and data.yaml), coco (images/ and annotations/instances.json).
"""
import json, math, os, random, sys

from make_pictures import write_png

CLASSES = ["disc", "square", "triangle", "ring", "cross", "star", "bar", "crescent"]
# two colours and the width of the stripes
LOOKS = [((220, 50, 40), (250, 200, 60), 1000), ((40, 70, 200), (120, 190, 250), 6), ((60, 160, 60), (20, 80, 30), 4), ((240, 240, 240), (30, 30, 30), 6),
         ((200, 40, 60), (250, 250, 250), 1000), ((250, 220, 50), (240, 150, 30), 3), ((120, 80, 50), (190, 140, 90), 4), ((150, 70, 180), (230, 190, 240), 1000)]


def inside(kind, x, y):
    """Whether a place of the unit shape, -1 to 1 in both directions, is in it."""
    if kind == "disc":
        return x * x + y * y < 1
    if kind == "square":
        return True
    if kind == "triangle":
        return abs(x) < (y + 1) / 2
    if kind == "ring":
        return .3 < x * x + y * y < 1
    if kind == "cross":
        return abs(x) < .35 or abs(y) < .35
    if kind == "star":
        turn, r = math.atan2(x, -y), math.hypot(x, y)
        t = abs((turn / (2 * math.pi) * 5 + .5) % 1 - .5) * 2          # 0 at a point, 1 between two
        return r < 1 - .55 * t
    if kind == "bar":
        return abs(x) < .3
    return x * x + y * y < 1 and (x - .5) ** 2 + y * y > .5             # crescent


def extent(kind):
    """The box of the unit shape."""
    n, xs, ys = 64, [], []
    for j in range(n):
        for i in range(n):
            x, y = (2 * i + 1) / n - 1, (2 * j + 1) / n - 1
            if inside(kind, x, y):
                xs.append(x), ys.append(y)
    return min(xs) - 1 / n, min(ys) - 1 / n, max(xs) + 1 / n, max(ys) + 1 / n


EXTENT = {k: extent(k) for k in CLASSES}


def texture(rng, side):
    """Two colours, mixed by waves, with blotches of a third."""
    a, b = ([rng.randint(20, 235) for _ in range(3)] for _ in range(2))
    waves = [(rng.uniform(-.3, .3), rng.uniform(-.3, .3), rng.random() * 6.3) for _ in range(3)]
    rows = []
    for y in range(side):
        row = []
        for x in range(side):
            s = sum(math.sin(x * u + y * v + p) for u, v, p in waves) / 6 + .5
            grain = rng.randint(-12, 12)
            row.append([a[c] * s + b[c] * (1 - s) + grain for c in range(3)])
        rows.append(row)
    return rows


def draw(rng, p, side, kind, size):
    """Returns the box of the part that the picture shows, or None; cells that it covers get its colours."""
    wide = size * rng.uniform(.75, 1.3) / 2
    high = size * rng.uniform(.75, 1.3) / 2
    mx, my = rng.uniform(-.05, 1.05) * side, rng.uniform(-.05, 1.05) * side
    look = LOOKS[CLASSES.index(kind)]
    one, two = ([v + rng.randint(-25, 25) for v in color] for color in look[:2])
    period = look[2]
    e = EXTENT[kind]
    whole = [mx + e[0] * wide, my + e[1] * high, mx + e[2] * wide, my + e[3] * high]
    box = [min(max(v, 0), side) for v in whole]
    shown = (box[2] - box[0]) * (box[3] - box[1])
    if shown < .5 * (whole[2] - whole[0]) * (whole[3] - whole[1]):
        return None
    for y in range(int(box[1]), min(int(box[3]) + 1, side)):
        for x in range(int(box[0]), min(int(box[2]) + 1, side)):
            if inside(kind, (x + .5 - mx) / wide, (y + .5 - my) / high) and abs(x + .5 - mx) < wide and abs(y + .5 - my) < high:
                p[y][x] = one if (x + y) % period < (period + 1) // 2 else two
    return box


def covered(box, others):
    """Whether more than a third of an earlier one would go."""
    for o in others:
        w, h = min(box[2], o[2]) - max(box[0], o[0]), min(box[3], o[3]) - max(box[1], o[1])
        if w > 0 and h > 0 and w * h > .3 * min((o[2] - o[0]) * (o[3] - o[1]), (box[2] - box[0]) * (box[3] - box[1])):
            return True
    return False


def picture(rng, side):
    p, found = texture(rng, side), []
    for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 4, 5))):
        for _ in range(20):
            kind, size = rng.randrange(len(CLASSES)), side * rng.uniform(.12, .5)
            state = rng.getstate()
            box = draw(rng, [[None] * side for _ in range(side)], side, CLASSES[kind], size)
            if box and not covered(box, [b for _, b in found]):
                rng.setstate(state)
                draw(rng, p, side, CLASSES[kind], size)
                found.append((kind, box))
                break
    return p, found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    n, side, seed = (int(v) for v in sys.argv[2:5] + ["200", "128", "1"][len(sys.argv[2:5]):])
    form = sys.argv[5] if len(sys.argv) > 5 else "yolo"
    rng = random.Random(f"boxes {seed}")
    for name in ("images", "labels" if form == "yolo" else "annotations"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    coco = dict(images=[], annotations=[], categories=[dict(id=k + 1, name=c) for k, c in enumerate(CLASSES)])
    for i in range(n):
        p, found = picture(rng, side)
        rows = [bytes(min(max(int(v + .5), 0), 255) for cell in row for v in cell) for row in p]
        write_png(os.path.join(folder, "images", f"{i:04}.png"), side, side, 3, rows)
        coco["images"].append(dict(id=i, file_name=f"{i:04}.png", width=side, height=side))
        for kind, b in found:
            coco["annotations"].append(dict(id=len(coco["annotations"]) + 1, image_id=i, category_id=kind + 1, iscrowd=0,
                                            bbox=[b[0], b[1], b[2] - b[0], b[3] - b[1]], area=(b[2] - b[0]) * (b[3] - b[1])))
        if form == "yolo" and found:
            with open(os.path.join(folder, "labels", f"{i:04}.txt"), "w") as f:
                for kind, b in found:
                    print(kind, *(f"{v / side:.6f}" for v in ((b[0] + b[2]) / 2, (b[1] + b[3]) / 2, b[2] - b[0], b[3] - b[1])), file=f)
    if form == "yolo":
        with open(os.path.join(folder, "data.yaml"), "w") as f:
            f.write(f"names: [{', '.join(CLASSES)}]\n")
    else:
        with open(os.path.join(folder, "annotations", "instances.json"), "w") as f:
            json.dump(coco, f)


if __name__ == "__main__":
    main()
