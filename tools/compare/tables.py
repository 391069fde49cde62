#!/usr/bin/env python3
"""`vktrain init` and `train` without an edit beside scikit-learn's MLPClassifier and MLPRegressor with its defaults, on
the same training and test rows of tables of R's mlbench.

  tools/compare/tables.py VKTRAIN OUT [TABLE...]     tables: those of TABLES below; OUT must not exist

A quarter of the rows (shuffled by a fixed seed) is the test set; `vktrain init` keeps a tenth of the rest for validation.
scikit-learn gets standardised numbers, the mean for blanks and one-hot texts, without the names of R's rows.
Needs Debian's r-base-core, r-cran-mlbench, r-cran-kernlab and python3-sklearn."""
import csv
import json
import pathlib
import random
import subprocess
import sys
import warnings

import numpy
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import OneHotEncoder

TABLES = {  # label, R's package
    "BostonHousing": ("medv", "mlbench"), "BreastCancer": ("Class", "mlbench"), "Glass": ("Type", "mlbench"),
    "HouseVotes84": ("Class", "mlbench"), "Ionosphere": ("Class", "mlbench"),
    "PimaIndiansDiabetes": ("diabetes", "mlbench"), "Sonar": ("Class", "mlbench"), "Soybean": ("Class", "mlbench"),
    "Vowel": ("Class", "mlbench"), "spam": ("type", "kernlab"),
}
NUMBERS = {"BostonHousing"}


def stop(text):
    sys.exit(f"tables: {text}")


def export(name, out):
    """As R's write.csv does, the names of the rows first; split into files of training and test rows."""
    path = out / f"{name}.csv"
    package = TABLES[name][1]
    subprocess.run(["Rscript", "-e", f'library({package}); data({name}); write.csv({name}, "{path}")'], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    head, *rows = csv.reader(path.open())
    random.Random(1).shuffle(rows)
    parts = rows[len(rows) // 4:], rows[:len(rows) // 4]
    for part, what in zip(parts, ("train", "test")):
        part.sort(key=lambda row: int(row[0]))
        with (out / f"{name}-{what}.csv").open("w", newline="") as f:
            csv.writer(f).writerows([head, *part])
    return head, parts


def ours(program, name, out):
    def call(*args):
        done = subprocess.run([program, *args], cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            stop(f"{' '.join(args)}: {done.stderr.strip()}")
        return done.stdout
    call("init", f"{name}-train.csv", "--set", "data.test_fraction=0", "-o", f"{name}.yaml")
    call("train", f"{name}.yaml", "--run", name)
    result = json.loads(call("eval", name, "--data", f"{name}-test.csv", "--json"))
    return result["mae"] if name in NUMBERS else 100 * result["accuracy"]


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
    label = head.index(TABLES[name][0])
    columns = [column(*([row[c] for row in part] for part in parts)) for c in range(1, len(head)) if c != label]
    x, x_test = (numpy.hstack([c[i] for c in columns]) for i in range(2))
    y, y_test = ([row[label] for row in part] for part in parts)
    warnings.simplefilter("ignore")  # 200 epochs are its default, whether it has converged or not
    if name in NUMBERS:
        model = MLPRegressor(random_state=0).fit(x, numpy.array(y, float))
        return abs(model.predict(x_test) - numpy.array(y_test, float)).mean()
    return 100 * MLPClassifier(random_state=0).fit(x, y).score(x_test, y_test)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, out, names = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]), sys.argv[3:]
    unknown = [name for name in names if name not in TABLES]
    if unknown or out.exists():
        stop(f"no table '{unknown[0]}'" if unknown else f"'{out}' exists")
    out.mkdir(parents=True)
    print(f"{'table':22}{'train':>7}{'test':>7}  {'vktrain':>9}{'scikit-learn':>14}")
    for name in names or TABLES:
        head, parts = export(name, out.resolve())
        unit = " (mean absolute error)" if name in NUMBERS else "%"
        print(f"{name:22}{len(parts[0]):7}{len(parts[1]):7}  {ours(program, name, out):9.2f}"
              f"{theirs(name, head, parts):14.2f}{unit}", flush=True)


if __name__ == "__main__":
    main()
