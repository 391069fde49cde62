#!/usr/bin/env python3
"""Writes tests/golden/baseline.json for tests/baseline/test_baseline.c: seeded synthetic tables (numbers that float32 holds)
with what scikit-learn's Ridge and LogisticRegression make of them, solved to their end: coefficients and intercepts.
Needs scikit-learn (written with 1.2.1):
    python3 tools/golden/golden_baseline.py
"""
import json
import pathlib
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

warnings.filterwarnings("ignore")
rng = np.random.default_rng(39)


def table(n, p):
    x = np.round(rng.standard_normal((n, p)) * 64) / 64
    x[:, -1] = rng.integers(0, 2, n)  # a column of 0 and 1
    return x


def case(kind, x, y, strength, model):
    w = np.atleast_2d(model.coef_)
    return {"kind": kind, "n": len(x), "p": x.shape[1], "q": w.shape[0], "strength": strength, "x": x.ravel().tolist(),
            "y": np.asarray(y, float).ravel().tolist(), "coef": w.T.ravel().tolist(),
            "intercept": np.atleast_1d(model.intercept_).tolist()}


cases = []
for n, p, q, a in ((60, 5, 1, 1.0), (60, 5, 2, 100.0), (20, 40, 1, 0.5), (24, 60, 2, 10.0)):
    x = table(n, p)
    y = np.round((x @ rng.standard_normal((p, q)) + 3 + 0.5 * rng.standard_normal((n, q))) * 1024) / 1024
    cases.append(case("ridge", x, y, a, Ridge(alpha=a, solver="svd").fit(x, y)))
for n, p, q, c in ((80, 4, 2, 1.0), (80, 4, 2, 0.01), (90, 5, 3, 1.0), (120, 6, 5, 0.1), (30, 50, 3, 1.0)):
    x = table(n, p)
    y = np.argmax(x @ rng.standard_normal((p, q)) * 1.5 + rng.gumbel(size=(n, q)), axis=1)
    model = LogisticRegression(C=c, tol=1e-12, max_iter=100000, solver="newton-cg").fit(x, y)
    cases.append(case("logistic" if q == 2 else "softmax", x, y, 1 / c, model))
path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/baseline.json"
path.write_text(json.dumps({"cases": cases}) + "\n")
print(f"{len(cases)} cases in {path.name}")
