#!/usr/bin/env python3
"""Writes tests/golden/measures.json for tests/train/test_measures.c: targets, scores (float32 numbers, some of them equal)
and predictions, with what scikit-learn measures of them (and the calibration error of its definition): roc_auc_score and average_precision_score (of two classes of the
second; else each class against the others, the mean over the classes that occur, which scikit-learn leaves to the caller
where one does not), mean_absolute_error, the root of mean_squared_error, r2_score. Needs scikit-learn (written with 1.2.1):
    python3 tools/golden/golden_measures.py
"""
import json
import pathlib

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.calibration import calibration_curve
from sklearn.metrics import (accuracy_score, average_precision_score, f1_score, mean_absolute_error, mean_squared_error,
                             precision_recall_curve, r2_score, roc_auc_score, roc_curve)

rng = np.random.default_rng(17)


def scores(n, k, target, levels):
    """Probabilities that lean to the target; levels: rounded to so many, so that some are equal."""
    z = rng.standard_normal((n, k)) + 1.2 * np.eye(k)[target]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return np.round(p * levels).astype(np.float32) / np.float32(levels)


def classes(name, n, k, occurring, levels):
    target = rng.choice(occurring, n)
    p = scores(n, k, target, levels)
    ranked = [1] if k == 2 else [c for c in range(k) if 0 < (target == c).sum() < n]
    auc = [roc_auc_score(target == c, p[:, c]) for c in ranked]
    ap = [average_precision_score(target == c, p[:, c]) for c in ranked]
    top, hit = p.max(axis=1).astype(float), p.argmax(axis=1) == target
    ece, n_bins = 0.0, 15  # Guo et al. 2017: scikit-learn has none
    for b in range(n_bins):
        at = (top > b / n_bins) & (top <= (b + 1) / n_bins)
        if at.any():
            ece += at.mean() * abs(hit[at].mean() - top[at].mean())
    curves = []
    for c in ranked:  # by falling threshold, without the points that scikit-learn adds
        fpr, tpr, at = (v[1:].tolist() for v in roc_curve(target == c, p[:, c], drop_intermediate=False))
        precision, recall, again = (v[::-1].tolist() for v in precision_recall_curve(target == c, p[:, c]))
        assert recall[1:][:len(tpr)] == tpr and again == at[:len(again)], name
        curves.append({"class": c, "threshold": [float(v) for v in at], "recall": tpr, "fpr": fpr, "precision": precision[1:]})
    right, said = calibration_curve(hit, top, n_bins=n_bins)
    return {"name": name, "n_classes": k, "curves": curves, "confidence": said.tolist(), "accuracy": right.tolist(), "ece": ece, "target": target.tolist(), "score": p.astype(float).ravel().tolist(),
            "roc_auc": float(np.mean(auc)), "average_precision": float(np.mean(ap))}


def numbers(name, target, predicted):
    return {"name": name, "target": target.tolist(), "predicted": predicted.tolist(),
            "mae": mean_absolute_error(target, predicted), "rmse": mean_squared_error(target, predicted) ** 0.5,
            "r2": r2_score(target, predicted)}


def labels(n, k):
    """Several labels of an example; the thresholds of the highest F1, and of the lowest cost where a miss costs 4."""
    more = np.random.default_rng(23)
    target = (more.random((n, k)) < [0.5, 0.3, 0.15]).astype(int)
    p = (1 / (1 + np.exp(-more.standard_normal((n, k)) - 1.5 * target + 1))).astype(np.float32)
    said, each = p >= 0.5, []
    for c in range(k):
        precision, recall, at = precision_recall_curve(target[:, c], p[:, c])
        f1 = 2 * precision * recall / (precision + recall)
        cost = [4 * (target[:, c] & (p[:, c] < t)).sum() + ((1 - target[:, c]) & (p[:, c] >= t)).sum() for t in at]
        middle = lambda t: float((t.astype(float) + p[p[:, c] < t, c].max(initial=0).astype(float)) / 2)  # the next score below
        each.append({"average_precision": average_precision_score(target[:, c], p[:, c]),
                     "threshold": middle(at[np.argmax(f1[:-1])]), "threshold_cost_4": middle(at[np.argmin(cost)])})
    return {"target": target.ravel().tolist(), "score": p.astype(float).ravel().tolist(), "each": each,
            "roc_auc": roc_auc_score(target, p, average="macro"),
            "average_precision": average_precision_score(target, p, average="macro"), "accuracy": accuracy_score(target, said),
            "macro_f1": f1_score(target, said, average="macro"), "micro_f1": f1_score(target, said, average="micro")}


def temperature(n, k, heat):
    """Probabilities that are too sure (heat above 1) or not sure enough."""
    more = np.random.default_rng(29)
    z = more.standard_normal((n, k)) * 2
    target = np.array([more.choice(k, p=np.exp(v) / np.exp(v).sum()) for v in z])
    p = np.exp(heat * z) / np.exp(heat * z).sum(axis=1, keepdims=True)
    p = p.astype(np.float32)
    logs = np.log(p.astype(float))

    def scaled(t):
        q = np.exp(logs / t)
        return q / q.sum(axis=1, keepdims=True)

    best = minimize_scalar(lambda t: -np.log(scaled(t)[np.arange(n), target]).mean(), bounds=(0.25, 10), method="bounded",
                           options={"xatol": 1e-10}).x
    return {"n_classes": k, "target": target.tolist(), "score": p.astype(float).ravel().tolist(), "temperature": best,
            "first": scaled(best)[0, 0]}


y = rng.normal(20, 5, 40)
far = 1e6 + rng.normal(0, 1, 40)  # a small spread about a large mean
same = np.full(5, 3.25)
out = {
    "classes": [classes("two", 40, 2, [0, 1], 1 << 20), classes("two, many equal", 60, 2, [0, 1], 8),
                classes("four", 50, 4, range(4), 64), classes("one of four absent", 40, 4, [0, 1, 3], 16)],
    "numbers": [numbers("plain", y, y + rng.normal(0, 2, 40)), numbers("worse than the mean", y, y[::-1] - 9),
                numbers("large mean", far, far + rng.normal(0, 0.5, 40)), numbers("all the same", same, same + 1),
                numbers("all the same, met", same, same)],
}
path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/measures.json"
out["temperatures"] = [temperature(60, 2, 2.5), temperature(60, 4, 0.5), temperature(40, 3, 12)]
lines = [f'"{kind}": [\n' + ",\n".join(json.dumps(c) for c in cases) + "\n]" for kind, cases in out.items()]
lines.append('"labels": ' + json.dumps(labels(80, 3)))
path.write_text("{" + ",\n".join(lines) + "}\n")
