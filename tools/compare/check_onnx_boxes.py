#!/usr/bin/env python3
"""A detector's ONNX file against `vktrain predict`, in ONNX Runtime: the same boxes, classes and scores, duplicates removed by the file itself.

  tools/compare/check_onnx_boxes.py VKTRAIN RUN PICTURE... [--score X]     pictures of the model's size, as tools/examples/make_boxes.py writes them

Needs onnx and onnxruntime (the lab's testing root has them)."""
import argparse, json, pathlib, struct, subprocess, sys, tempfile, zlib

import numpy
import onnx
import onnxruntime

p = argparse.ArgumentParser()
p.add_argument("vktrain")
p.add_argument("run")
p.add_argument("pictures", nargs="+")
p.add_argument("--score", default="0.3")
a = p.parse_args()


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


with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/net.onnx"
    subprocess.run([a.vktrain, "export", a.run, "-o", file, "--nms", a.score], check=True, stdout=subprocess.DEVNULL)
    said = subprocess.run([a.vktrain, "predict", a.run, *a.pictures, "--json", "--score", a.score], check=True, capture_output=True, text=True).stdout
    net = onnx.load(file)
    onnx.checker.check_model(net, full_check=True)
    schema = json.loads(next(m.value for m in net.metadata_props if m.key == "vktrain.schema"))
    session = onnxruntime.InferenceSession(file)
mean, std = (numpy.array(schema[k], numpy.float32) for k in ("pixel_mean", "pixel_std"))
bad = total = 0
for path, line in zip(a.pictures, said.splitlines()):
    want = [(b["class"], b["score"], *b["box"]) for b in json.loads(line)["boxes"]]
    x = (picture(path).astype(numpy.float32) / 255 - mean) / std
    out = dict(zip((o.name for o in session.get_outputs()), session.run(None, {"input": x[None]})))
    got = sorted(((schema["classes"][c], float(out["scores"][n, k, c]), *out["boxes"][n, k].tolist()) for n, c, k in out["found"]), key=lambda t: -t[1])
    same = len(got) == len(want) and all(g[0] == w[0] and numpy.allclose(g[1:], w[1:], rtol=1e-4, atol=1e-2) for g, w in zip(got, want))
    total += len(want)
    bad += not same
    if not same: print(f"{path}: {len(got)} boxes by the file, {len(want)} by predict", *got[:3], *want[:3], sep="\n  ")
print(f"{len(a.pictures)} pictures, {total} boxes, {bad} pictures differ")
sys.exit(bad > 0)
