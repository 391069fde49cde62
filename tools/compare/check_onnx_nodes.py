#!/usr/bin/env python3
"""Runs ONNX's own tests (a folder of folders with model.onnx and test_data_set_0, as libonnx-testdata installs them, or the node tests
of the onnx package) through the twins, and prints how many pass and why the others do not. Needs build-test/test_onnx, and numpy and onnx
for --package.
usage: check_onnx_nodes.py TEST_ONNX FOLDER...       FOLDER: /usr/share/libonnx-testdata/data/node and its neighbours
       check_onnx_nodes.py TEST_ONNX --package       the tests that the installed onnx package makes
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What is named apart from what an op lacks: the first that matches a line.
REASONS = [("strings", r"string|StringNormalizer|TfIdf|Regex|ImageDecoder"),
           ("sequences and optional values", r"Sequence|Optional|optional"),
           ("control flow", r"\b(Loop|If|Scan)\b"),
           ("losses, which the trainer has", r"NegativeLogLikelihoodLoss|SoftmaxCrossEntropyLoss"),
           ("random numbers, or training that changes state", r"RandomUniform|Bernoulli|training|test_gradient|Gradient|Adam|Adagrad|Momentum"),
           ("types of few bits", r"float8|int4|float4|int2|of an unknown type|its input '.*' is not there"),
           ("signals", r"\b(DFT|STFT|MelWeightMatrix|HannWindow|HammingWindow|BlackmanWindow)\b"),
           ("boxes and regions", r"NonMaxSuppression|RoiAlign|MaxRoiPool|DeformConv"),
           ("bits of whole numbers", r"Bitwise|BitShift"),
           ("quantised arithmetic", r"QLinear|MatMulInteger|ConvInteger|DynamicQuantize|blocks are not"),
           ("opsets", r"opset"),
           ("sizes that are not known when the net is built, or 0", r"depends on what the net computes|not known|without elements|takes nothing|a part of 0|no elements|it depends on")]


def copy_test(folder, to):
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(to)
    shutil.copy(os.path.join(folder, "model.onnx"), to)
    for name in os.listdir(data) if os.path.isdir(data) else []:
        shutil.copy(os.path.join(data, name), to)


def package(out):
    import numpy as np
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.case.node import collect_testcases
    for case in collect_testcases(None):
        to = os.path.join(out, case.name)
        if case.model is None or os.path.isdir(to):
            continue
        os.makedirs(to)
        with open(os.path.join(to, "model.onnx"), "wb") as f:
            f.write(case.model.SerializeToString())
        try:
            for kind, values, infos in zip(("input", "output"), case.data_sets[0], (case.model.graph.input, case.model.graph.output)):
                for i, x in enumerate(values):
                    t = x if isinstance(x, TensorProto) else numpy_helper.from_array(np.array(x, order="C"), infos[i].name)
                    with open(os.path.join(to, f"{kind}_{i}.pb"), "wb") as f:
                        f.write(t.SerializeToString())
        except (TypeError, ValueError, AttributeError, NotImplementedError):  # sequences and optional values: the model says it
            continue


def reason(line, name):
    for what, pattern in REASONS:
        if re.search(pattern, line) or (what.startswith("random") and re.search(pattern, name)):
            return what
    ops = re.search(r"not supported: (.*)", line)
    return "ops that are missing: " + re.sub(r" \(\d+\)", "", ops.group(1)) if ops else "part of an op: " + (re.search(r"\((\w+)\)", line) or ["", "?"])[1]


def main():
    program, sources = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        for folder in sources:
            if folder == "--package":
                package(work)
                continue
            for name in sorted(os.listdir(folder)):
                if os.path.exists(os.path.join(folder, name, "model.onnx")) and not os.path.isdir(os.path.join(work, name)):
                    copy_test(os.path.join(folder, name), os.path.join(work, name))
        passed, reasons = 0, collections.defaultdict(list)
        names = sorted(os.listdir(work))
        for name in names:
            done = subprocess.run([program, os.path.join(work, name)], capture_output=True, text=True, errors="replace")
            line = (done.stdout.strip().split("\n") or [""])[-1]
            if line.startswith("ok "):
                passed += 1
            elif line.startswith("refused"):
                reasons[reason(line.replace(name, ""), name)].append(name)
            else:
                reasons["random numbers, or training that changes state" if "training" in name or "gradient" in name else "OTHER RESULTS"].append(name)
                if "training" not in name and "gradient" not in name:
                    print("other:", line.replace(work, ""), done.returncode)
        print(f"{passed} of {len(names)} pass")
        for what, tests in sorted(reasons.items(), key=lambda r: -len(r[1])):
            print(f"{len(tests):5}  {what}" + (f": {tests[0]}" if len(tests) < 3 else ""))


main()
