#!/usr/bin/env python3
"""Makes pictures of one clip art each, a folder a class, from a seed: what a net learns before it finds things. Needs NumPy and Pillow.

usage: clip_classes.py ART FOLDER [--pictures 2400] [--side 64] [--seed 7] [--each 24] [--classes PATH ...]

As clip_art.py, whose classes none of these are; an object has 0.4 to 0.9 of a side. FOLDER gets CLASS/*.png and sources.txt.
"""
import argparse, pathlib

import numpy as np
from PIL import Image

import clip_art

CLASSES = ["animals/mammals", "recreation/sports", "food/desserts", "signs_and_symbols/flags", "computer/hardware", "people/stickmen", "food/beverages",
           "tools/weapons", "transportation/boating", "plants/flowers", "recreation/party", "signs_and_symbols/map_symbols"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("art", type=pathlib.Path), p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--pictures", type=int, default=2400), p.add_argument("--side", type=int, default=64)
    p.add_argument("--seed", type=int, default=7), p.add_argument("--each", type=int, default=24)
    p.add_argument("--classes", nargs="+", default=CLASSES)
    a = p.parse_args()
    rng = np.random.default_rng(a.seed)
    art = [clip_art.choose(rng, a.art / c, a.each) for c in a.classes]
    for i in range(a.pictures):
        rng, k = np.random.default_rng([a.seed, i]), i % len(art)
        found = None
        while found is None:
            found = clip_art.place(rng, a.side, art[k][rng.integers(len(art[k]))][1], (.4, .9))
        pixels = clip_art.texture(rng, a.side) * (1 - found[1]) + found[0] * found[1]
        to = a.folder / a.classes[k].split("/")[-1]
        to.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.clip(pixels + .5, 0, 255).astype(np.uint8)).save(to / f"{i:05}.png")
    (a.folder / "sources.txt").write_text("".join(f"{c} {pathlib.Path(f).relative_to(a.art)}\n" for c, of in zip(a.classes, art) for f, _ in of))


if __name__ == "__main__":
    main()
