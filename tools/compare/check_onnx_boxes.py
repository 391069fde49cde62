#!/usr/bin/env python3
"""A detector's ONNX file against `vktrain predict`, in ONNX Runtime: the same boxes, classes and scores, duplicates removed by the file itself.

  tools/compare/check_onnx_boxes.py VKTRAIN RUN PICTURE... [--score X]     pictures of the model's size, as tools/examples/make_boxes.py writes them
"""
import argparse

from onnx_pictures import compare


def wanted(line):
    return [(b["class"], b["score"], *b["box"]) for b in line["boxes"]]


def found(schema, out, _):
    boxes = [(schema["classes"][c], float(out["scores"][n, k, c]), *out["boxes"][n, k].tolist()) for n, c, k in out["found"]]
    return sorted(boxes, key=lambda b: -b[1])


p = argparse.ArgumentParser()
p.add_argument("vktrain")
p.add_argument("run")
p.add_argument("pictures", nargs="+")
p.add_argument("--score", default="0.3")
a = p.parse_args()
compare(a.vktrain, a.run, a.pictures, "boxes", wanted, found, export=("--nms", a.score), predict=("--score", a.score))
