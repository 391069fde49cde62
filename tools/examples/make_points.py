#!/usr/bin/env python3
"""Makes pictures of stick figures and where their points lie, from a seed: needs Python alone.

usage: make_points.py FOLDER [N] [SIDE] [SEED] [FORM]

A figure of a head, a trunk, two arms and two legs stands on a texture, turned by up to 25 degrees, in any size and two colours; it faces the
viewer, so that its left is on the picture's right. Its five points are the head, the hands and the feet; one in twenty is hidden behind a grey
block, and one in twenty is not said. FORM: csv (points.csv, a row a picture) or coco (annotations/person_keypoints.json: one to three figures
on a picture, each with its box).
"""
import json, math, os, random, sys

from make_boxes import texture
from make_pictures import write_png

POINTS = ["head", "left_hand", "right_hand", "left_foot", "right_foot"]


def stroke(p, side, a, b, width, color):
    x0, y0, x1, y1 = *a, *b
    for y in range(max(int(min(y0, y1) - width), 0), min(int(max(y0, y1) + width) + 1, side)):
        for x in range(max(int(min(x0, x1) - width), 0), min(int(max(x0, x1) + width) + 1, side)):
            u, v, px, py = x1 - x0, y1 - y0, x + .5 - x0, y + .5 - y0
            t = min(max((u * px + v * py) / max(u * u + v * v, 1e-9), 0), 1)
            if math.hypot(px - t * u, py - t * v) < width / 2:
                p[y][x] = color


def figure(rng, p, side, mx, my, size):
    """Draws one around a middle; returns its points [x, y, how they are seen] and its box."""
    turn = math.radians(rng.uniform(-25, 25))
    color, limb = ([rng.randint(0, 255) for _ in range(3)] for _ in range(2))
    def at(x, y):
        return mx + size * (x * math.cos(turn) - y * math.sin(turn)), my + size * (x * math.sin(turn) + y * math.cos(turn))
    neck, hip, head = at(0, -.18), at(0, .15), at(0, -.32)
    hands = [at(s * rng.uniform(.22, .36), rng.uniform(-.35, .15)) for s in (1, -1)]
    feet = [at(s * rng.uniform(.08, .25), rng.uniform(.4, .5)) for s in (1, -1)]
    width = max(size * .07, 2)
    stroke(p, side, neck, hip, width * 1.4, color)
    for end in hands:
        stroke(p, side, neck, end, width, limb)
    for end in feet:
        stroke(p, side, hip, end, width, limb)
    stroke(p, side, head, head, size * .22, color)
    found = []
    for x, y in [head, *hands, *feet]:
        seen, edge = 2, max(int(size * .08), 2)
        if rng.random() < .05:
            seen = 1
            for v in range(max(int(y) - edge, 0), min(int(y) + edge, side)):
                for u in range(max(int(x) - edge, 0), min(int(x) + edge, side)):
                    p[v][u] = [128, 128, 128]
        if rng.random() < .05 or not (0 <= x < side and 0 <= y < side):
            seen = 0
        found.append([x, y, seen] if seen else [0, 0, 0])
    reach = size * .11
    xs, ys = ([q[k] for q in (head, *hands, *feet)] for k in (0, 1))
    box = [max(min(xs) - reach, 0), max(min(ys) - reach, 0), min(max(xs) + reach, side), min(max(ys) + reach, side)]
    return found, box


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    n, side, seed = (int(v) for v in sys.argv[2:5] + ["200", "64", "1"][len(sys.argv[2:5]):])
    form = sys.argv[5] if len(sys.argv) > 5 else "csv"
    rng = random.Random(f"points {seed}")
    for name in ("images",) + (("annotations",) if form == "coco" else ()):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    coco = dict(images=[], annotations=[], categories=[dict(id=1, name="figure", keypoints=POINTS, skeleton=[[1, 2], [1, 3], [1, 4], [1, 5]])])
    lines = ["file," + ",".join(f"{k}_x,{k}_y,{k}_v" for k in POINTS)]
    for i in range(n):
        p, count = texture(rng, side), rng.randint(1, 3) if form == "coco" else 1
        coco["images"].append(dict(id=i, file_name=f"{i:04}.png", width=side, height=side))
        for k in range(count):
            size = side * (rng.uniform(.55, .9) if count == 1 else rng.uniform(.8, 1) / count)
            found, b = figure(rng, p, side, side * ((k + .5) / count + rng.uniform(-.08, .08) / count), side * rng.uniform(.45, .55), size)
            lines.append(f"{i:04}.png," + ",".join(f"{x:.2f},{y:.2f},{v}" if v else ",," for x, y, v in found))
            coco["annotations"].append(dict(id=len(coco["annotations"]) + 1, image_id=i, category_id=1, iscrowd=0, num_keypoints=sum(v > 0 for _, _, v in found),
                                            keypoints=[round(v, 2) for q in found for v in q], bbox=[b[0], b[1], b[2] - b[0], b[3] - b[1]],
                                            area=.5 * (b[2] - b[0]) * (b[3] - b[1])))
        rows = [bytes(min(max(int(v + .5), 0), 255) for cell in row for v in cell) for row in p]
        write_png(os.path.join(folder, "images", f"{i:04}.png"), side, side, 3, rows)
    if form == "csv":
        with open(os.path.join(folder, "points.csv"), "w") as f:
            f.write("\n".join(lines) + "\n")
    else:
        with open(os.path.join(folder, "annotations", "person_keypoints.json"), "w") as f:
            json.dump(coco, f)


if __name__ == "__main__":
    main()
