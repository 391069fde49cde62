#!/usr/bin/env python3
"""Photographs as fast as torchvision reads them? JPEG files of 0.3 and 12 megapixels, random crops of 224 pixels and flips, with the same number
of workers: ms of the clock and of CPU a picture, both sides in turn, medians.

  tools/compare/photos.py PROGRAM [--python "COMMAND python3"] [--workers 2] [--pairs 3] [--batches 12] [--side W,H]

PROGRAM: vktrain, whose time is that of a training of `global_pool, linear`; COMMAND: where PyTorch, torchvision and Pillow are, with the same
folders (they make the pictures, too). Both sides read N and 3 N pictures, and the difference counts: starts and the first evaluation are in
both. Without torchvision its decoder and crops are Pillow's, and the script says so."""
import argparse, json, pathlib, resource, shlex, statistics, subprocess, sys, tempfile, time

BATCH = 8


def make(folder, side, n):
    """Blocks of colour, blurred, with grain: JPEG of quality 88 packs them as it does photographs."""
    import numpy, PIL.Image
    draw, (w, h) = numpy.random.default_rng(1), side
    for c in "ab": (folder / c).mkdir(parents=True)
    for i in range(n):
        few = draw.integers(0, 256, (h // 40 + 1, w // 40 + 1, 3), dtype=numpy.uint8)
        big = numpy.asarray(PIL.Image.fromarray(few).resize((w, h), PIL.Image.BICUBIC)).astype(numpy.int16)
        grain = draw.integers(-8, 9, (h, w, 1), dtype=numpy.int16)
        PIL.Image.fromarray(numpy.clip(big + grain, 0, 255).astype(numpy.uint8)).save(folder / "ab"[i % 2] / f"{i}.jpg", quality=88)


def read(folder, workers, n):
    import torch
    torch.multiprocessing.set_sharing_strategy("file_system")
    torch.set_num_threads(1)
    try:
        from torchvision import datasets, transforms as t
        data = datasets.ImageFolder(folder, t.Compose([t.RandomResizedCrop(224), t.RandomHorizontalFlip(), t.ToTensor()]))
        print("torchvision")
    except ImportError:
        data = by_pillow(folder)
        print("Pillow's decoder and crops: torchvision is not installed")
    sampler = torch.utils.data.RandomSampler(data, replacement=True, num_samples=n)
    seen = sum(len(x) for x, _ in torch.utils.data.DataLoader(data, batch_size=BATCH, sampler=sampler, num_workers=workers,
                                                               multiprocessing_context="fork"))
    assert seen == n


def by_pillow(folder):
    import math, numpy, PIL.Image, random, torch

    class Pictures(torch.utils.data.Dataset):
        files = sorted(pathlib.Path(folder).rglob("*.jpg"))

        def __len__(self): return len(self.files)

        def __getitem__(self, i):
            x = PIL.Image.open(self.files[i]).convert("RGB")
            area, ratio = x.width * x.height * random.uniform(0.08, 1), math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
            w, h = min(x.width, round(math.sqrt(area * ratio))), min(x.height, round(math.sqrt(area / ratio)))
            left, top = random.randint(0, x.width - w), random.randint(0, x.height - h)
            x = x.resize((224, 224), PIL.Image.BILINEAR, (left, top, left + w, top + h))
            x = x.transpose(PIL.Image.FLIP_LEFT_RIGHT) if random.random() < 0.5 else x
            return torch.from_numpy(numpy.asarray(x).transpose(2, 0, 1).copy()).float() / 255, 0
    return Pictures()


def timed(*words):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    said = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu, said.strip()


def difference(side):
    """ms of the clock and of CPU a picture."""
    few, many = side(1), side(3)
    return [1e3 * (many[k] - few[k]) / (2 * BATCH * batches) for k in (0, 1)]


if sys.argv[1:2] == ["make"]:
    make(pathlib.Path(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4]))
    sys.exit()
if sys.argv[1:2] == ["read"]:
    read(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    sys.exit()
options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("program")
options.add_argument("--python", default=sys.executable)
options.add_argument("--workers", type=int, default=2)
options.add_argument("--pairs", type=int, default=3)
options.add_argument("--batches", type=int, default=12)
options.add_argument("--side", action="append", help="W,H of the pictures (default: 640,480 and 4000,3000)")
o = options.parse_args()
batches, python = o.batches, [*shlex.split(o.python), str(pathlib.Path(__file__).resolve())]
for side in o.side or ["640,480", "4000,3000"]:
    size = [int(v) for v in side.split(",")]
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        subprocess.run([*python, "make", place + "/photos", json.dumps(size), str(max(24, 3 * BATCH * batches // (8 if size[0] > 2000 else 1)))], check=True)
        recipe = folder / "photos.yaml"
        recipe.write_text(f"data: {{source: images, path: {place}/photos, size: 224, standardize: imagenet, keep: 0, workers: {o.workers}, "
                          f"valid_fraction: 0.05, test_fraction: 0, augment: {{resized_crop: 0.08, flip: 0.5}}}}\n"
                          f"model: [global_pool, linear]\ntrain: {{steps: 1, batch: {BATCH}}}\neval: {{baseline: none}}\n")

        def ours(times):
            return timed(o.program, "train", str(recipe), "--quiet", "--set", f"train.steps={times * batches}", "--set", f"eval.every={times * batches}", "--run", f"{place}/run-{time.monotonic_ns()}")

        def theirs(times):
            return timed(*python, "read", place + "/photos", str(o.workers), str(times * BATCH * batches))
        ours(1), theirs(1)
        got = [(difference(ours), difference(theirs)) for _ in range(o.pairs)]
        us, them = ([statistics.median(g[k][j] for g in got) for j in (0, 1)] for k in (0, 1))
        print(f"{size[0]} x {size[1]}, {o.workers} workers, {o.pairs} pairs: vktrain {us[0]:.1f} ms a picture ({us[1]:.1f} of CPU), "
              f"{theirs(1)[2]} {them[0]:.1f} ({them[1]:.1f}): {us[0] / them[0]:.2f} times the time, {us[1] / them[1]:.2f} the CPU; "
              f"each pair {[f'{a[0] / b[0]:.2f}' for a, b in got]}", flush=True)
