#!/usr/bin/env python3
"""A net with pretrained weights, inputs of its own and branches, from file to file: Silero's voice detector (npm: @ricky0123/vad-web,
dist/silero_vad_legacy.onnx) is tuned on sounds made here, voices (harmonics under two formants) against noise, beside the same net
with random weights; ONNX Runtime then has predict's probabilities from the exported file. Needs numpy, onnx and onnxruntime.
usage: check_speech.py VKTRAIN NET.onnx
"""
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

STEPS, SAMPLES, RATE = 60, 1536, 16000
INPUTS = {"sr": np.array(RATE, np.int64), "h": np.zeros((2, 8, 64), np.float32), "c": np.zeros((2, 8, 64), np.float32)}
RECIPE = """data: {{source: npy, path: data, valid_fraction: 0.2, standardize: none}}
model: [{{onnx: {{file: {net}.onnx, inputs: "sr=16000, h=0, c=0"}}}}, linear]
optim: {{rule: adam, lr: 0.002}}
train: {{steps: {steps}, batch: 16}}
eval: {{every: 20}}
"""


def sounds(n, rng):
    t = np.arange(SAMPLES) / RATE
    x = rng.normal(0, 0.05, (n, SAMPLES)) * rng.uniform(0.3, 3, (n, 1))
    for i in range(1, n, 2):
        pitch = rng.uniform(90, 250)
        for k in range(1, 20):
            loud = np.exp(-(((k * pitch - 600) / 400) ** 2)) + 0.5 * np.exp(-(((k * pitch - 1800) / 500) ** 2))
            x[i] += 0.2 * loud * np.sin(2 * np.pi * k * pitch * t + rng.uniform(0, 6)) * (0.6 + 0.4 * np.sin(2 * np.pi * 5 * t))
    return x.astype(np.float32), (np.arange(n) % 2).astype(np.int64)


def run(*words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


program, net = os.path.abspath(sys.argv[1]), onnx.load(sys.argv[2])
os.chdir(tempfile.mkdtemp())
os.mkdir("data")
rng = np.random.default_rng(0)
X, y = sounds(400, rng)
np.save("data/X.npy", X)
np.save("data/y.npy", y)
onnx.save(net, "tuned.onnx")
for t in net.graph.initializer: # He's deviations; the filters of the Fourier transform are no weights
    w = numpy_helper.to_array(t)
    if w.dtype == np.float32 and w.ndim > 1 and "basis" not in t.name:
        t.CopyFrom(numpy_helper.from_array((rng.normal(size=w.shape) * np.sqrt(2 / np.prod(w.shape[1:]))).astype(np.float32), t.name))
onnx.save(net, "random.onnx")
for name in ("tuned", "random"):
    open(f"{name}.yaml", "w").write(RECIPE.format(net=name, steps=STEPS))
    for seed in (1, 2, 3):
        out = run("train", f"{name}.yaml", "--run", f"{name}-{seed}", "--set", f"seed={seed}")
        print(name, seed, " ".join(re.findall(r"^eval +\d+ .*", out, re.M)[-1].split()), flush=True)
run("export", "tuned-1", "-o", "out.onnx")
want = [[float(r["p(0)"]), float(r["p(1)"])] for r in csv.DictReader(io.StringIO(run("predict", "tuned-1", "data/X.npy", "--csv")))][:8]
session = onnxruntime.InferenceSession("out.onnx", providers=["CPUExecutionProvider"])
got = session.run(["probabilities"], {i.name: INPUTS.get(i.name, X[:8]) for i in session.get_inputs()})[0]
print(f"probabilities of ONNX Runtime differ by at most {np.abs(got - np.array(want)).max():.2g}")
