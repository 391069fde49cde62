"""An exported net in ONNX Runtime beside `vktrain predict`, picture by picture (check_onnx_boxes.py, check_onnx_points.py).

Needs onnx and onnxruntime (the lab's testing root has them)."""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy
import onnx
import onnxruntime


def picture(path):
    """[height, width, channels] of a PNG as tools/examples/make_*.py write them."""
    data, at, packed = pathlib.Path(path).read_bytes(), 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            w, h = struct.unpack(">II", data[at + 8:at + 16])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + n]
        at += n + 12
    rows = numpy.frombuffer(zlib.decompress(packed), numpy.uint8).reshape(h, -1)
    if rows[:, 0].any():
        sys.exit(f"{path}: only rows without a filter are read here")
    return rows[:, 1:].reshape(h, w, -1)


def compare(vktrain, run, pictures, kind, wanted, found, export=(), predict=()):
    """Exits with 1 where a picture differs.

    wanted: what a line of predict says, as a list; found(schema, out, shape): the same from the file's outputs {name: array}. Each item
    begins with a name or a number; numbers agree within 1e-4 of their size and 0.01."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/net.onnx"
        subprocess.run([vktrain, "export", run, "-o", file, *export], check=True, stdout=subprocess.DEVNULL)
        said = subprocess.run([vktrain, "predict", run, *pictures, "--json", *predict], check=True, capture_output=True, text=True).stdout
        net = onnx.load(file)
        onnx.checker.check_model(net, full_check=True)
        schema = json.loads(next(m.value for m in net.metadata_props if m.key == "vktrain.schema"))
        session = onnxruntime.InferenceSession(file)
    mean, std = (numpy.array(schema[k], numpy.float32) for k in ("pixel_mean", "pixel_std"))
    names, lines, bad, total = [o.name for o in session.get_outputs()], said.splitlines(), 0, 0
    if len(lines) != len(pictures):
        sys.exit(f"{len(pictures)} pictures, {len(lines)} lines of predict")
    for path, line in zip(pictures, lines):
        x = (picture(path).astype(numpy.float32) / 255 - mean) / std
        got, want = found(schema, dict(zip(names, session.run(None, {"input": x[None]}))), x.shape), wanted(json.loads(line))
        same = len(got) == len(want) and all(a == b if isinstance(a, str) else numpy.isclose(a, b, rtol=1e-4, atol=1e-2)
                                             for g, w in zip(got, want) for a, b in zip(g, w, strict=True))
        total += len(want)
        bad += not same
        if not same:
            print(f"{path}: {len(got)} {kind} by the file, {len(want)} by predict", *got[:3], *want[:3], sep="\n  ")
    print(f"{len(pictures)} pictures, {total} {kind}, {bad} pictures differ")
    sys.exit(bad > 0)
