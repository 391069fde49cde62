#!/usr/bin/env python3
"""A model of points as an ONNX file against `vktrain predict`, in ONNX Runtime: the same points by the formula of docs/tutorials/points.md.

  tools/compare/check_onnx_points.py VKTRAIN RUN PICTURE...     pictures of the model's size, as tools/examples/make_points.py writes them
"""
import math
import sys

from onnx_pictures import compare


def between(before, at, after):
    """How far from the highest of three cells the top lies."""
    if not at > 0:
        return 0
    a, b = (math.log(max(v / at, 1e-3)) for v in (before, after))
    return min(max((b - a) / (-2 * (a + b)), -.5), .5) if a + b < 0 else 0


def top(h, cell):
    """x, y in pixels and the score of one heatmap's highest point."""
    y, x = divmod(int(h.argmax()), h.shape[1])
    dx = between(h[y, x - 1], h[y, x], h[y, x + 1]) if 0 < x < h.shape[1] - 1 else 0
    dy = between(h[y - 1, x], h[y, x], h[y + 1, x]) if 0 < y < h.shape[0] - 1 else 0
    return (x + .5 + dx) * cell, (y + .5 + dy) * cell, min(max(float(h[y, x]), 0), 1)


def wanted(line):
    return [(p["x"], p["y"], p["score"]) for p in line["points"]]


def found(_, out, shape):
    heat = out["value"][0]
    return [top(heat[..., k], shape[0] // heat.shape[0]) for k in range(heat.shape[2])]


vktrain, run, *pictures = sys.argv[1:]
compare(vktrain, run, pictures, "points", wanted, found)
