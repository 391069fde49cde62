#!/usr/bin/env python3
"""A model of points as an ONNX file against `vktrain predict`, in ONNX Runtime: the same points by the formula of docs/tutorials/points.md.

  tools/compare/check_onnx_points.py VKTRAIN RUN PICTURE...     pictures of the model's size, as tools/examples/make_points.py writes them

Needs onnx and onnxruntime (the lab's testing root has them)."""
import json, math, pathlib, struct, subprocess, sys, tempfile, zlib

import numpy
import onnx
import onnxruntime

vktrain, run, *pictures = sys.argv[1:]


def picture(path):
    data, at, packed = pathlib.Path(path).read_bytes(), 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR": w, h = struct.unpack(">II", data[at + 8:at + 16])
        if kind == b"IDAT": packed += data[at + 8:at + 8 + n]
        at += n + 12
    rows = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(h, -1)
    if rows[:, 0].any(): sys.exit(f"{path}: only rows without a filter are read here")
    return rows[:, 1:].reshape(h, w, -1)


def between(before, at, after):
    """How far from the highest of three cells the top lies."""
    if not at > 0: return 0
    a, b = (math.log(max(v / at, 1e-3)) for v in (before, after))
    return min(max((b - a) / (-2 * (a + b)), -.5), .5) if a + b < 0 else 0


def points(heat, cell):
    for k in range(heat.shape[2]):
        h = heat[..., k]
        y, x = divmod(int(h.argmax()), h.shape[1])
        dx = between(h[y, x - 1], h[y, x], h[y, x + 1]) if 0 < x < h.shape[1] - 1 else 0
        dy = between(h[y - 1, x], h[y, x], h[y + 1, x]) if 0 < y < h.shape[0] - 1 else 0
        yield (x + .5 + dx) * cell, (y + .5 + dy) * cell, min(max(float(h[y, x]), 0), 1)


with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/net.onnx"
    subprocess.run([vktrain, "export", run, "-o", file], check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run([vktrain, "predict", run, *pictures, "--json"], check=True, capture_output=True, text=True).stdout
    net = onnx.load(file)
    onnx.checker.check_model(net, full_check=True)
    schema = json.loads(next(m.value for m in net.metadata_props if m.key == "vktrain.schema"))
    session = onnxruntime.InferenceSession(file)
mean, std = (numpy.array(schema[k], numpy.float32) for k in ("pixel_mean", "pixel_std"))
bad = total = 0
for path, line in zip(pictures, said.splitlines()):
    want = [(p["x"], p["y"], p["score"]) for p in json.loads(line)["points"]]
    x = (picture(path).astype(numpy.float32) / 255 - mean) / std
    heat = session.run(["value"], {"input": x[None]})[0][0]
    got = list(points(heat, x.shape[0] // heat.shape[0]))
    far = not numpy.allclose(got, want, rtol=1e-4, atol=1e-2)
    total, bad = total + len(want), bad + far
    if far: print(path, got, want, sep="\n  ")
print(f"{len(pictures)} pictures, {total} points, {bad} pictures differ")
sys.exit(bad > 0)
