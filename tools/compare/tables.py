#!/usr/bin/env python3
"""`vktrain init` and `train` without an edit beside scikit-learn's multilayer perceptron (MLPClassifier, MLPRegressor) and
random forest with their defaults, on the same training and test rows of tables of R's mlbench and kernlab and of weka.

  tools/compare/tables.py VKTRAIN OUT [--splits N] [--first N] [--weka FOLDER] [TABLE...]     OUT must not exist

A quarter of the rows (shuffled by the split's number) is the test set; `vktrain init` keeps a tenth of the rest for
validation, its rest is what it trains on. scikit-learn gets standardised numbers, the mean for blanks and one-hot texts,
without the names of R's rows, and no validation rows. A line has each split's difference, too: tables are small.
Needs Debian's r-base-core, r-cran-mlbench, r-cran-kernlab and python3-sklearn; weka's tables are read from FOLDER, the
examples of Debian's package weka (dpkg-deb -x does it), and left out without one."""
import argparse
import csv
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time
import warnings

import numpy
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import OneHotEncoder

TABLES = {  # label, R's package or the ARFF files
    "BostonHousing": ("medv", "mlbench"), "BreastCancer": ("Class", "mlbench"), "Glass": ("Type", "mlbench"),
    "HouseVotes84": ("Class", "mlbench"), "Ionosphere": ("Class", "mlbench"), "Ozone": ("V4", "mlbench"),
    "PimaIndiansDiabetes": ("diabetes", "mlbench"), "Satellite": ("classes", "mlbench"), "Sonar": ("Class", "mlbench"),
    "Soybean": ("Class", "mlbench"), "Vowel": ("Class", "mlbench"), "income": ("INCOME", "kernlab"),
    "spam": ("type", "kernlab"), "segment": ("class", "segment-challenge.arff segment-test.arff"),
    "credit-g": ("class", "credit-g.arff"),
}
NUMBERS = {"BostonHousing", "Ozone"}


def stop(text):
    sys.exit(f"tables: {text}")


def arff(paths):
    """The rows of ARFF files under the names of their attributes, numbered as R's write.csv does."""
    rows = []
    for path in paths:
        names, body = [], False
        for line in path.read_text().splitlines():
            line = line.strip()
            if not line or line.startswith("%"):
                continue
            if body:
                rows.append([v.strip(" '\"") for v in line.split(",")])
            elif line.lower().startswith("@attribute"):
                names.append(line.split(None, 2)[1].strip("'\""))
            body = body or line.lower() == "@data"
    return [["", *names], *([str(i + 1), *("NA" if v == "?" else v for v in row)] for i, row in enumerate(rows))]


def export(name, out, weka):
    """As R's write.csv does, the names of the rows first."""
    path = out / f"{name}.csv"
    package = TABLES[name][1]
    if package.endswith(".arff"):
        return arff([weka / file for file in package.split()])
    subprocess.run(["Rscript", "-e", f'library({package}); data({name}); write.csv({name}, "{path}")'], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    head, *rows = csv.reader(path.open())
    label = head.index(TABLES[name][0])
    return [head, *(row for row in rows if row[label] != "NA")]


def split(name, head, rows, number, out):
    rows = list(rows)
    random.Random(number).shuffle(rows)
    parts = rows[len(rows) // 4:], rows[:len(rows) // 4]
    for part, what in zip(parts, ("train", "test")):
        part.sort(key=lambda row: int(row[0]))
        with (out / f"{name}-{number}-{what}.csv").open("w", newline="") as f:
            csv.writer(f).writerows([head, *part])
    return parts


def ours(program, name, number, out):
    """The score, and the seconds of training."""
    def call(*args):
        done = subprocess.run([program, *args], cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            stop(f"{' '.join(args)}: {done.stderr.strip()}")
        return done.stdout
    file = f"{name}-{number}"
    # what to predict is the comparison's choice; all else is the starter's
    call("init", f"{file}-train.csv", "--set", "data.test_fraction=0", "--label", TABLES[name][0], "-o", f"{file}.yaml")
    start = time.monotonic()
    call("train", f"{file}.yaml", "--run", file)
    seconds = time.monotonic() - start
    result = json.loads(call("eval", file, "--data", f"{file}-test.csv", "--json"))
    return result["mae"] if name in NUMBERS else 100 * result["accuracy"], seconds


def column(train, test):
    """A column of both parts as arrays [rows, inputs]."""
    try:
        a, b = (numpy.array([float("nan" if v == "NA" else v) for v in part]) for part in (train, test))
    except ValueError:
        coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(numpy.array(train)[:, None])
        return [coder.transform(numpy.array(part)[:, None]) for part in (train, test)]
    mean = numpy.nanmean(a)
    a, b = (numpy.where(numpy.isnan(v), mean, v) for v in (a, b))
    scale = a.std() or 1
    return [((v - mean) / scale)[:, None] for v in (a, b)]


def theirs(name, head, parts):
    """The scores of the perceptron and of the forest."""
    label = head.index(TABLES[name][0])
    columns = [column(*([row[c] for row in part] for part in parts)) for c in range(1, len(head)) if c != label]
    x, x_test = (numpy.hstack([c[i] for c in columns]) for i in range(2))
    y, y_test = ([row[label] for row in part] for part in parts)
    warnings.simplefilter("ignore")  # 200 epochs are its default, whether it has converged or not
    if name not in NUMBERS:
        return [100 * model(random_state=0).fit(x, y).score(x_test, y_test) for model in (MLPClassifier, RandomForestClassifier)]
    y, y_test = (numpy.array(v, float) for v in (y, y_test))
    return [abs(model(random_state=0).fit(x, y).predict(x_test) - y_test).mean() for model in (MLPRegressor, RandomForestRegressor)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("tables", nargs="*")
    p.add_argument("--splits", type=int, default=3)
    p.add_argument("--first", type=int, default=1, help="number of the first split: what chose a starter is no test of it")
    p.add_argument("--weka", type=pathlib.Path)
    a = p.parse_intermixed_args()
    program, out = str(a.program.resolve()), a.out.resolve()
    unknown = [name for name in a.tables if name not in TABLES]
    if unknown or out.exists():
        stop(f"no table '{unknown[0]}'" if unknown else f"'{out}' exists")
    out.mkdir(parents=True)
    print(f"| {'table':20} | rows  | {'vktrain':>8} | {'MLP':>8} | {'forest':>8} | less the MLP, by split | seconds |")
    for name in a.tables or TABLES:
        if TABLES[name][1].endswith(".arff") and not a.weka:
            continue
        head, *rows = export(name, out, a.weka)
        scores = []
        for number in range(a.first, a.first + a.splits):
            parts = split(name, head, rows, number, out)
            scores.append((*ours(program, name, number, out), *theirs(name, head, parts)))
        mine, seconds, perceptron, forest = (statistics.mean(s) for s in zip(*scores))
        digits = 2 if name in NUMBERS else 1
        apart = ", ".join(f"{s[0] - s[2]:+.{digits}f}" for s in scores)
        print(f"| {name + (' (MAE)' if name in NUMBERS else ''):20} | {len(rows):5} | {mine:8.{digits}f} | {perceptron:8.{digits}f} | "
              f"{forest:8.{digits}f} | {apart} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
