#!/usr/bin/env python3
"""`vktrain init` and `train` without an edit beside scikit-learn's linear model, forest, histogram gradient boosting and
multilayer perceptron with their defaults, on the same rows of tables that scikit-learn brings or makes: ranks, and who wins.

  tools/compare/check_tables.py VKTRAIN OUT [--splits N] [--set KEY=VALUE ...] [TABLE...]      OUT must not exist

A quarter of the rows is the test set; `vktrain init` keeps a tenth of the rest for validation. scikit-learn gets standardised
numbers and one-hot texts and no validation rows. The linear model is ridge or logistic regression with its strength by
cross-validation. Each made table is of a kind: wide, heavy tails, a skewed or spoilt target, interactions, texts, few rows.
Accuracy in per cent or R2. Needs Debian's python3-sklearn; VKTRAIN runs on the driver that the environment chooses."""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

import numpy
from sklearn import datasets
from sklearn.ensemble import (HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import OneHotEncoder, StandardScaler

PEERS = ("linear", "forest", "boosting", "perceptron")


def brought(load):
    x, y = load(return_X_y=True)
    return [[float(v) for v in row] for row in x], list(y)


def classes(y):
    return [f"c{int(v)}" for v in y]


def tables():
    """Name -> (rows, labels); labels are texts for classes."""
    rng = numpy.random.default_rng(7)
    normal = rng.standard_normal
    out = {}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        x, y = brought(getattr(datasets, f"load_{name}"))
        out[name] = (x, classes(y))
    out["diabetes"] = brought(datasets.load_diabetes)
    for name, n, kind in (("friedman1", 600, datasets.make_friedman1), ("friedman3", 800, datasets.make_friedman3)):
        x, y = kind(n, noise=1 if name == "friedman1" else .2, random_state=1)
        out[name] = x.tolist(), y.tolist()
    x, y = datasets.make_classification(1500, 20, n_informative=8, n_classes=4, flip_y=.05, random_state=2)
    out["clusters"] = x.tolist(), classes(y)
    x = normal((400, 1000))
    out["wide"] = x.tolist(), classes(x[:, :5].sum(1) + .5 * normal(400) > 0)
    x = normal((200, 300))
    out["wide-number"] = x.tolist(), (x[:, :8] @ rng.uniform(1, 2, 8) + normal(200)).tolist()
    x = numpy.exp(1.5 * normal((900, 8)))
    out["heavy-tails"] = x.tolist(), (numpy.log(x) @ rng.uniform(-1, 1, 8) + .5 * normal(900)).tolist()
    x = normal((900, 8))
    signal = x @ rng.uniform(-1, 1, 8) + x[:, 0] * x[:, 1]
    out["skewed-target"] = x.tolist(), numpy.exp(8 + signal + .3 * normal(900)).tolist()
    y = signal + .5 * normal(900)
    y[rng.choice(900, 9, False)] *= 1000
    out["spoilt-target"] = x.tolist(), y.tolist()
    towns, days = [f"town {i}" for i in range(12)], ["mo", "tu", "we", "th", "fr"]
    t, d, z = rng.integers(0, 12, 1200), rng.integers(0, 5, 1200), normal(1200)
    effect = rng.standard_normal((12, 5))
    out["texts"] = ([[towns[a], days[b], float(c)] for a, b, c in zip(t, d, z)],
                    classes(effect[t, d] + z * (d < 2) + .3 * normal(1200) > 0))
    x = normal((1000, 6))
    out["rare"] = x.tolist(), classes(x[:, 0] + x[:, 1] * x[:, 2] + .3 * normal(1000) > 2.5)
    x = normal((120, 5))
    out["few-rows"] = x.tolist(), (x @ [1, -2, .5, 0, 0] + normal(120)).tolist()
    return out


def split(rows, labels, number):
    order = numpy.random.default_rng(100 + number).permutation(len(rows))
    cut = len(rows) // 4
    return [([rows[i] for i in part], [labels[i] for i in part]) for part in (order[cut:], order[:cut])]


def write(path, rows, labels):
    with path.open("w", newline="") as f:
        w = csv.writer(f)
        w.writerow([*(f"x{i}" for i in range(len(rows[0]))), "target"])
        w.writerows([*(f"{v:.7g}" if isinstance(v, float) else v for v in row), label] for row, label in zip(rows, labels))


def ours(program, out, name, number, parts, sets):
    file = f"{name}-{number}"
    for part, what in zip(parts, ("train", "test")):
        write(out / f"{file}-{what}.csv", *part)

    def call(*args):
        done = subprocess.run([program, *args], cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"check_tables: {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout
    start = time.monotonic()
    call("init", f"{file}-train.csv", "--label", "target", "--set", "data.test_fraction=0", "-o", f"{file}.yaml")
    call("train", f"{file}.yaml", "--run", file, *(word for s in sets for word in ("--set", s)))
    seconds = time.monotonic() - start
    result = json.loads(call("eval", file, "--data", f"{file}-test.csv", "--json"))
    return (100 * result["accuracy"] if isinstance(parts[0][1][0], str) else result["r2"]), seconds


def theirs(parts):
    (rows, labels), (test, test_labels) = parts
    columns = []
    for c in range(len(rows[0])):
        a, b = ([row[c] for row in part] for part in (rows, test))
        coder = StandardScaler() if isinstance(a[0], float) else OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns.append([coder.fit_transform(numpy.array(a)[:, None]), coder.transform(numpy.array(b)[:, None])])
    x, x_test = (numpy.hstack([c[i] for c in columns]) for i in range(2))
    warnings.simplefilter("ignore")  # 200 epochs are the perceptron's default, whether it has converged or not
    if isinstance(labels[0], str):
        models = (LogisticRegressionCV(max_iter=300), RandomForestClassifier(random_state=0),
                  HistGradientBoostingClassifier(random_state=0), MLPClassifier(random_state=0))
        return [100 * m.fit(x, labels).score(x_test, test_labels) for m in models]
    models = (RidgeCV(numpy.logspace(-2, 4, 13)), RandomForestRegressor(random_state=0),
              HistGradientBoostingRegressor(random_state=0), MLPRegressor(random_state=0))
    return [m.fit(x, labels).score(x_test, test_labels) for m in models]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--splits", type=int, default=2)
    p.add_argument("--set", action="append", default=[])
    p.add_argument("tables", nargs="*")
    a = p.parse_args()
    a.out.mkdir(parents=True)
    every, ranks, behind = tables(), [], []
    print(f"{'table':14} {'vktrain':>8} " + " ".join(f"{n:>10}" for n in PEERS) + "  rank   s")
    for name in a.tables or every:
        rows, labels = every[name]
        results, seconds = [], []
        for number in range(a.splits):
            parts = split(rows, labels, number)
            mine, took = ours(a.program.resolve(), a.out, name, number, parts, a.set)
            results.append([mine, *theirs(parts)])
            seconds.append(took)
        mean = [statistics.mean(column) for column in zip(*results)]
        rank = statistics.mean(1 + sum(v > r[0] + 1e-9 for v in r[1:]) for r in results)
        ranks.append(rank)
        if mean[1] > mean[0]:
            behind.append(name)
        print(f"{name:14} {mean[0]:8.3f} " + " ".join(f"{v:10.3f}" for v in mean[1:]) +
              f"  {rank:4.1f} {statistics.mean(seconds):4.0f}", flush=True)
    print(f"{len(ranks)} tables, {a.splits} splits each: mean rank {statistics.mean(ranks):.2f} of 5, median {statistics.median(ranks):.1f}; "
          f"the linear model is ahead on {len(behind)}: {', '.join(behind) or '-'}")


main()
