#!/usr/bin/env python3
"""`vktrain init` and `train` without an edit beside scikit-learn's linear model, forest, histogram gradient boosting and
multilayer perceptron with their defaults, on the same rows of tables of R's packages, of scikit-learn and made ones: ranks.

  tools/compare/tables.py VKTRAIN OUT [--splits N] [--first N] [--peers FILE] [--set KEY=VALUE ...] [TABLE...]   OUT must not exist

A quarter of the rows, shuffled by the split's number, is the test set; `vktrain init` keeps a tenth of the rest for validation.
scikit-learn gets standardised numbers, the mean for blanks (boosting: the blanks), one-hot texts, and no validation rows. The linear
model is ridge or logistic regression with its strength by cross-validation. Accuracy in per cent, or R2. A rank of 5 is that of the
mean over the splits; `said` counts the splits where the run itself says that it is no better than a linear model. --peers keeps what
scikit-learn reached, for the next call. Needs Debian's r-base-core, r-recommended, r-cran-aer, r-cran-cardata, r-cran-dslabs,
r-cran-ggplot2, r-cran-kernlab, r-cran-mlbench, r-cran-modeldata and python3-sklearn."""
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
from sklearn.ensemble import (HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import OneHotEncoder

import table_data

SAID = "the network is no better", "the network is worse", "each is better in one of them"  # what `train` prints of its baseline
METHODS = ("vktrain", "linear", "forest", "boosting", "perceptron")


def stop(text):
    sys.exit(f"tables: {text}")


def split(rows, number):
    order = numpy.random.default_rng(100 + number).permutation(len(rows))
    cut = len(rows) // 4
    return [rows[i] for i in order[cut:]], [rows[i] for i in order[:cut]]


def ours(program, out, name, number, table, parts, sets):
    """The score, the seconds, and whether the run says that it is no better than a linear model."""
    names, _, label, is_number = table
    file = f"{name}-{number}"
    for part, what in zip(parts, ("train", "test")):
        with (out / f"{file}-{what}.csv").open("w", newline="") as f:
            csv.writer(f).writerows([names, *part])

    def call(*args):
        done = subprocess.run([program, *args], cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            stop(f"{' '.join(args)}: {done.stderr.strip()}")
        return done.stdout + done.stderr
    # what to predict and that it is a number are the comparison's choice; all else is the starter's
    start = time.monotonic()
    call("init", f"{file}-train.csv", "--label", label, "--set", "data.test_fraction=0", "--task",
         "regress" if is_number else "classify", "-o", f"{file}.yaml")
    said = call("train", f"{file}.yaml", "--run", file, *(word for s in sets for word in ("--set", s)))
    seconds = time.monotonic() - start
    result = json.loads(subprocess.run([program, "eval", file, "--data", f"{file}-test.csv", "--json"], cwd=out,
                                       capture_output=True, text=True, check=True).stdout)
    return result["r2"] if is_number else 100 * result["accuracy"], seconds, any(word in said for word in SAID)


def column(train, test):
    """A column of both parts as arrays [rows, inputs], and with blanks where it has any."""
    try:
        a, b = (numpy.array([float("nan" if v in ("NA", "") else v) for v in part]) for part in (train, test))
    except ValueError:
        coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(numpy.array(train)[:, None])
        return 2 * [[coder.transform(numpy.array(part)[:, None]) for part in (train, test)]]
    mean, scale = numpy.nanmean(a), numpy.nanstd(a) or 1
    blank = [((v - mean) / scale)[:, None] for v in (a, b)]
    return [numpy.nan_to_num(v) for v in blank], blank


def theirs(table, parts):
    names, _, label, is_number = table
    at = names.index(label)
    columns = [column(*([row[c] for row in part] for part in parts)) for c in range(len(names)) if c != at]
    (x, x_test), (holes, holes_test) = (tuple(numpy.hstack([c[how][i] for c in columns]) for i in range(2)) for how in range(2))
    y, y_test = (numpy.array([row[at] for row in part]) for part in parts)
    warnings.simplefilter("ignore")  # 200 epochs are the perceptron's default, whether it has converged or not
    if is_number:
        y, y_test = y.astype(float), y_test.astype(float)
        linear, boosting = RidgeCV(numpy.logspace(-2, 4, 13)), HistGradientBoostingRegressor(random_state=0)
        forest, perceptron = RandomForestRegressor(random_state=0), MLPRegressor(random_state=0)
    else:
        linear, boosting = LogisticRegressionCV(max_iter=300), HistGradientBoostingClassifier(random_state=0)
        forest, perceptron = RandomForestClassifier(random_state=0), MLPClassifier(random_state=0)
    scores = [m.fit(x, y).score(x_test, y_test) for m in (linear, forest)]
    scores.append(boosting.fit(holes, y).score(holes_test, y_test))
    scores.append(perceptron.fit(x, y).score(x_test, y_test))
    return [float(s) * (1 if is_number else 100) for s in scores]


def ranks_of(scores):
    """From 1; equal ones share the mean of their ranks."""
    return [1 + sum(v > s + 1e-9 for v in scores) + (sum(abs(v - s) <= 1e-9 for v in scores) - 1) / 2 for s in scores]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--splits", type=int, default=2, help="5 for results that are published")
    p.add_argument("--first", type=int, default=1, help="number of the first split: what chose a starter is no test of it")
    p.add_argument("--peers", type=pathlib.Path)
    p.add_argument("--set", action="append", default=[])
    p.add_argument("tables", nargs="*")
    a = p.parse_intermixed_args()
    program, out, sources = str(a.program.resolve()), a.out.resolve(), table_data.sources()
    unknown = [name for name in a.tables if name not in sources]
    if unknown or out.exists():
        stop(f"no table '{unknown[0]}'" if unknown else f"'{out}' exists")
    out.mkdir(parents=True)
    peers = json.loads(a.peers.read_text()) if a.peers and a.peers.exists() else {}
    every, silent, slow = [], [], []
    print(f"| {'table':19} | rows  | inputs | " + " | ".join(f"{m:>10}" for m in METHODS) + " | rank | said | seconds |")
    print("|---|---|---|" + "---|" * len(METHODS) + "---|---|---|")
    for name in a.tables or sources:
        table = sources[name](out)
        scores, times, said = [], [], 0
        for number in range(a.first, a.first + a.splits):
            parts = split(table[1], number)
            mine, seconds, says = ours(program, out, name, number, table, parts, a.set)
            if f"{name} {number}" not in peers:
                peers[f"{name} {number}"] = theirs(table, parts)
                if a.peers:
                    a.peers.write_text(json.dumps(peers))
            scores.append([mine, *peers[f"{name} {number}"]])
            times.append(seconds)
            said += says
        mean = [statistics.mean(s) for s in zip(*scores)]
        every.append(ranks_of(mean))
        if mean[1] > mean[0] and not said:
            silent.append(f"{name} ({mean[0] - mean[1]:+.3g})")
        if max(times) > 60:
            slow.append(name)
        digits = 3 if table[3] else 1
        print(f"| {name + (' (R2)' if table[3] else ''):19} | {len(table[1]):5} | {len(table[0]) - 1:6} | " +
              " | ".join(f"{v:10.{digits}f}" for v in mean) +
              f" | {every[-1][0]:4.1f} | {said}/{a.splits}  | {max(times):4.0f} |", flush=True)
    print(f"\n{len(every)} tables, splits {a.first} to {a.first + a.splits - 1}. Mean and median rank of 5: " +
          ", ".join(f"{m} {statistics.mean(r):.2f}, {statistics.median(r):g}" for m, r in zip(METHODS, zip(*every))))
    print(f"behind the linear model without saying so: {', '.join(silent) or 'none'}; over 60 seconds: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    main()
