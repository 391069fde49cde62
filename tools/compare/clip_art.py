#!/usr/bin/env python3
"""Makes pictures with clip art and its boxes, from a seed: needs NumPy and Pillow.

usage: clip_art.py ART FOLDER [--pictures 2000] [--side 128] [--seed 1] [--each 10] [--classes PATH ...] [--behind PHOTOS]

ART: Debian's openclipart-png, /usr/share/openclipart/png, or any folder whose subfolders hold PNG pictures with transparency. Each class is a subfolder,
of which the seed chooses --each pictures; a test picture has the same clip art as training pictures, in other sizes, places and lights. On textures
made here, or on parts of the photographs of a folder, lie 1 to 4 objects of 0.15 to 0.6 sides, turned by up to 15 degrees, some mirrored, brighter or
darker; at most 0.3 of an object is hidden. FOLDER gets train/ (the first 0.8 of the pictures), valid/ and test/ (half of the rest each), all with images/
and labels/, data.yaml as YOLO's, and sources.txt, the files that were used.
"""
import argparse, pathlib

import numpy as np
from PIL import Image

CLASSES = ["animals/birds", "animals/bugs", "food/fruit", "buildings/homes", "recreation/music", "people/smilies", "transportation/vehicles",
           "transportation/roadsigns"]


def texture(rng, side):
    """Waves and clouds of two colours, in patches of which each has its own, and grain."""
    def clouds():
        out, weight = np.zeros((side, side)), 1.0
        for n in (2, 4, 8, 16, 32):
            grid = Image.fromarray(rng.random((n + 1, n + 1)).astype(np.float32)).resize((side, side), Image.BICUBIC)
            out += weight * np.asarray(grid)
            weight *= rng.uniform(.4, .8)
        low, high = out.min(), out.max()
        return ((out - low) / (high - low))[..., None]
    y, x = np.mgrid[:side, :side]
    out = np.zeros((side, side, 3))
    for k in range(rng.integers(1, 4)):
        one, two, mix = rng.uniform(0, 255, 3), rng.uniform(0, 255, 3), clouds()
        if rng.random() < .3:
            u, v = rng.uniform(-.6, .6, 2) * 64 / side
            mix = mix * .5 + (np.sin(x * u + y * v) * .25 + .25)[..., None]
        layer = one * mix + two * (1 - mix)
        out = layer if k == 0 else np.where(clouds() > rng.uniform(.4, .6), layer, out)
    return np.clip(out + rng.normal(0, rng.uniform(0, 12), out.shape), 0, 255)


def behind(rng, side, photos):
    if not photos:
        return texture(rng, side)
    p = Image.open(photos[rng.integers(len(photos))]).convert("RGB")
    n = int(min(p.size) * rng.uniform(.3, 1))
    x, y = rng.integers(p.width - n + 1), rng.integers(p.height - n + 1)
    return np.asarray(p.crop((x, y, x + n, y + n)).resize((side, side), Image.BOX if n > side else Image.BICUBIC), np.float64)


def cut(im):
    """Without the empty rows and columns around it."""
    box = im.getchannel("A").point(lambda v: 255 * (v > 64)).getbbox()
    return im.crop(box) if box else None


def choose(rng, folder, each):
    out = []
    for f in rng.permutation(sorted(str(p) for p in folder.glob("*.png"))):
        im = Image.open(f).convert("RGBA")
        small = cut(im)
        if small is None or min(small.size) < 24 or max(small.size) > 3 * min(small.size):
            continue
        small.thumbnail((256, 256), Image.BOX)
        out.append((f, small))
        if len(out) == each:
            return out
    raise SystemExit(f"clip_art: {folder} has only {len(out)} pictures to use, and {each} are wanted (--each)")


def place(rng, side, art, share=(.15, .6)):
    """An object's colours and shares [side, side] and its box; None: too small, or too far out."""
    if rng.random() < .5:
        art = art.transpose(Image.FLIP_LEFT_RIGHT)
    art = cut(art.rotate(rng.uniform(-15, 15), Image.BICUBIC, expand=True))
    size = side * rng.uniform(*share) / max(art.size)
    w, h = max(round(art.width * size), 1), max(round(art.height * size), 1)
    if min(w, h) < 6:
        return None
    art = cut(art.resize((w, h), Image.BOX if size < 1 else Image.BICUBIC))
    if art is None:
        return None
    w, h = art.size
    x, y = rng.integers(-w // 8, side - w + w // 8 + 1), rng.integers(-h // 8, side - h + h // 8 + 1)
    all_of_it = Image.new("RGBA", (side, side))
    all_of_it.paste(art, (int(x), int(y)))
    a = np.asarray(all_of_it, np.float64)
    colors = np.clip((a[..., :3] - 128) * rng.uniform(.75, 1.25) + 128 + rng.uniform(-30, 30), 0, 255)
    return colors, a[..., 3:] / 255, (max(x, 0), max(y, 0), min(x + w, side), min(y + h, side))


def picture(rng, side, art, photos):
    pixels, found = behind(rng, side, photos), []
    for _ in range(rng.integers(1, 5)):
        for _ in range(20):
            kind = rng.integers(len(art))
            it = place(rng, side, art[kind][rng.integers(len(art[kind]))][1])
            if it is None or any(hidden(it[2], o) > .3 for _, o in found):
                continue
            pixels = pixels * (1 - it[1]) + it[0] * it[1]
            found.append((kind, it[2]))
            break
    return Image.fromarray(np.clip(pixels + .5, 0, 255).astype(np.uint8)), found


def hidden(a, b):
    """The share of the smaller box that the two have in common."""
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return w * h / min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1])) if w > 0 and h > 0 else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("art", type=pathlib.Path), p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--pictures", type=int, default=2000), p.add_argument("--side", type=int, default=128)
    p.add_argument("--seed", type=int, default=1), p.add_argument("--each", type=int, default=10)
    p.add_argument("--classes", nargs="+", default=CLASSES), p.add_argument("--behind", type=pathlib.Path)
    a = p.parse_args()
    rng = np.random.default_rng(a.seed)
    art = [choose(rng, a.art / c, a.each) for c in a.classes]
    photos = sorted(f for f in a.behind.rglob("*") if f.suffix.lower() in (".jpg", ".jpeg", ".png")) if a.behind else []
    for i in range(a.pictures):
        im, found = picture(np.random.default_rng([a.seed, i]), a.side, art, photos)
        to = a.folder / ("train" if i < .8 * a.pictures else "valid" if i < .9 * a.pictures else "test")
        for name in ("images", "labels"):
            (to / name).mkdir(parents=True, exist_ok=True)
        im.save(to / "images" / f"{i:05}.png")
        (to / "labels" / f"{i:05}.txt").write_text("".join(
            f"{k} {(b[0] + b[2]) / 2 / a.side:.6f} {(b[1] + b[3]) / 2 / a.side:.6f} {(b[2] - b[0]) / a.side:.6f} {(b[3] - b[1]) / a.side:.6f}\n"
            for k, b in found))
    names = [c.split("/")[-1] for c in a.classes]
    (a.folder / "data.yaml").write_text(f"names: [{', '.join(names)}]\n")
    (a.folder / "sources.txt").write_text("".join(f"{n} {pathlib.Path(f).relative_to(a.art)}\n" for n, c in zip(names, art) for f, _ in c))


if __name__ == "__main__":
    main()
