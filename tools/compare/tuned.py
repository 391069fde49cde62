#!/usr/bin/env python3
"""`vktrain init` and `study auto --minutes N` beside the best of scikit-learn's four models, tuned for as long: on the same rows, on
the same cores, one after the other.

  tools/compare/tuned.py VKTRAIN OUT [--minutes N] [--split N] [TABLE...]     OUT must not exist

A quarter of the rows, shuffled by the split's number, is the test set, which neither sees before the end. scikit-learn's side: the
four kinds of tables.py in turn, each by settings drawn at random (log-uniform where they are scales), judged by three folds, until
the time is over; the kinds' defaults come first; the best one is fitted again to all rows. With python3-optuna the draws are those of
its TPE sampler. Accuracy in per cent, or R2. Beside the difference stands its standard error, by the test rows in pairs: "level" is
within two of them. One split of a table of n rows tells no difference that is smaller. Needs what tables.py needs."""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import time
import warnings

import numpy
from sklearn.ensemble import (HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier,
                              RandomForestRegressor)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor

import table_data
import tables

try:
    import optuna
    optuna.logging.set_verbosity(optuna.logging.WARNING)
except ImportError:
    optuna = None
KINDS = ("linear", "forest", "boosting", "perceptron")


class Random:
    """Draws as optuna's trials name them."""

    def __init__(self, rng):
        self.rng = rng

    def suggest_float(self, _, low, high, log=False):
        return float(numpy.exp(self.rng.uniform(numpy.log(low), numpy.log(high))) if log else self.rng.uniform(low, high))

    def suggest_int(self, name, low, high, log=False):
        return int(round(self.suggest_float(name, low, high, log)))

    def suggest_categorical(self, _, values):
        return values[self.rng.integers(len(values))]


def model_of(kind, is_number, draw):
    """draw None: the defaults."""
    d = draw
    if kind == "linear":
        if is_number:
            return Ridge(**({} if d is None else {"alpha": d.suggest_float("alpha", 1e-3, 1e4, log=True)}))
        return LogisticRegression(max_iter=300, **({} if d is None else {"C": d.suggest_float("C", 1e-4, 1e3, log=True)}))
    if kind == "forest":
        more = {} if d is None else {
            "n_estimators": d.suggest_int("trees", 100, 500), "max_features": d.suggest_float("features", .1, 1),
            "min_samples_leaf": d.suggest_int("leaf", 1, 20, log=True)}
        return (RandomForestRegressor if is_number else RandomForestClassifier)(random_state=0, n_jobs=-1, **more)
    if kind == "boosting":
        more = {} if d is None else {
            "learning_rate": d.suggest_float("rate", .01, .3, log=True), "max_iter": d.suggest_int("iterations", 50, 500, log=True),
            "max_leaf_nodes": d.suggest_int("leaves", 4, 64, log=True), "min_samples_leaf": d.suggest_int("leaf", 2, 50, log=True),
            "l2_regularization": d.suggest_float("l2", 1e-4, 10, log=True)}
        return (HistGradientBoostingRegressor if is_number else HistGradientBoostingClassifier)(random_state=0, **more)
    more = {}
    if d is not None:
        width, layers = d.suggest_int("width", 32, 256, log=True), d.suggest_int("layers", 1, 3)
        more = {"hidden_layer_sizes": (width,) * layers, "alpha": d.suggest_float("decay", 1e-6, 1, log=True),
                "learning_rate_init": d.suggest_float("rate", 1e-4, 1e-2, log=True),
                "early_stopping": d.suggest_categorical("stops", [False, True])}
    return (MLPRegressor if is_number else MLPClassifier)(random_state=0, **more)


def theirs(table, parts, seconds):
    """What the best predicts, its kind, how many settings were tried."""
    names, _, label, is_number = table
    at = names.index(label)
    begun = time.monotonic()
    columns = [tables.column(*([row[c] for row in part] for part in parts)) for c in range(len(names)) if c != at]
    full, holes = (tuple(numpy.hstack([c[how][i] for c in columns]) for i in range(2)) for how in range(2))
    y = numpy.array([row[at] for row in parts[0]])
    y = y.astype(float) if is_number else y
    x_of = {kind: holes if kind == "boosting" else full for kind in KINDS}
    folds = list((KFold if is_number else StratifiedKFold)(3, shuffle=True, random_state=0).split(full[0], y))
    warnings.simplefilter("ignore")

    def judge(kind, draw):
        try:
            return float(numpy.mean([model_of_draw(kind, draw).fit(x_of[kind][0][a], y[a]).score(x_of[kind][0][b], y[b])
                                     for a, b in folds]))
        except ValueError:  # settings of which it makes no model
            return -numpy.inf

    drawn = {}

    def model_of_draw(kind, draw):
        """The same settings for each fold."""
        if draw is None:
            return model_of(kind, is_number, None)
        if id(draw) not in drawn:
            drawn[id(draw)] = draw, model_of(kind, is_number, draw).get_params()
        model = model_of(kind, is_number, None)
        return model.set_params(**drawn[id(draw)][1])

    rng, best, n = numpy.random.default_rng(1), (-numpy.inf, None, None), 0
    studies = {kind: optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=1))
               for kind in KINDS} if optuna else {}
    while time.monotonic() - begun < seconds:
        kind, first = KINDS[n % len(KINDS)], n < len(KINDS)
        draw = None if first else studies[kind].ask() if optuna else Random(rng)
        score = judge(kind, draw)
        if optuna and not first:
            studies[kind].tell(draw, score if numpy.isfinite(score) else -1e9)
        if score > best[0]:
            best = score, kind, draw
        n += 1
    if best[1] is None:
        tables.stop("no setting of scikit-learn's could be fitted")
    x, x_test = x_of[best[1]]
    return model_of_draw(best[1], best[2]).fit(x, y).predict(x_test), best[1], n, time.monotonic() - begun


def ours(program, out, name, table, parts, minutes):
    names, _, label, is_number = table
    for part, what in zip(parts, ("train", "test")):
        with (out / f"{name}-{what}.csv").open("w", newline="") as f:
            csv.writer(f).writerows([names, *part])

    def call(*args):
        done = subprocess.run([program, *args], cwd=out, capture_output=True, text=True, check=False)
        if done.returncode:
            tables.stop(f"{' '.join(args)}: {done.stderr.strip()}")
        return done.stdout
    begun = time.monotonic()
    call("init", f"{name}-train.csv", "--label", label, "--set", "data.test_fraction=0", "--task",
         "regress" if is_number else "classify", "-o", f"{name}.yaml")
    call("study", "auto", f"{name}.yaml", "--minutes", f"{minutes:g}", "--study", f"{name}-study")
    seconds = time.monotonic() - begun
    study = json.loads((out / f"{name}-study" / "study.json").read_text())
    call("eval", study["best_run"], "--data", f"{name}-test.csv", "--predictions", f"{name}.csv", "--quiet")
    rows = list(csv.DictReader((out / f"{name}.csv").open()))
    return [r["predicted"] for r in rows], seconds


def judged(is_number, y, a, b):
    """Both scores, the difference and its standard error, by rows in pairs."""
    if is_number:
        y, a, b = (numpy.array(v, float) for v in (y, a, b))
        spread = ((y - y.mean()) ** 2).mean()
        right = [1 - (y - v) ** 2 / spread for v in (a, b)]
    else:
        right = [100. * (numpy.array(y) == numpy.array(v)) for v in (a, b)]
    by = right[0] - right[1]
    return right[0].mean(), right[1].mean(), by.mean(), by.std(ddof=1) / len(by) ** .5


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--minutes", type=float, default=5)
    p.add_argument("--split", type=int, default=1)
    p.add_argument("tables", nargs="*")
    a = p.parse_intermixed_args()
    program, out, sources = str(a.program.resolve()), a.out.resolve(), table_data.sources()
    unknown = [name for name in a.tables if name not in sources]
    if unknown or out.exists():
        tables.stop(f"no table '{unknown[0]}'" if unknown else f"'{out}' exists")
    out.mkdir(parents=True)
    count = {"ahead": 0, "level": 0, "behind": 0}
    print(f"scikit-learn's settings by {'optuna' if optuna else 'random search'}, {a.minutes:g} minutes each\n")
    print("| table | rows | test rows | study auto | scikit-learn's best | difference | standard error | is | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in a.tables or sources:
        table = sources[name](out)
        if len(table[1]) > 5000 and not a.tables:
            continue
        parts, at = tables.split(table[1], a.split), table[0].index(table[2])
        mine, seconds = ours(program, out, name, table, parts, a.minutes)
        peer, kind, tried, used = theirs(table, parts, 60 * a.minutes)
        x, z, by, error = judged(table[3], [row[at] for row in parts[1]], mine, peer)
        word = "level" if abs(by) <= 2 * error else "ahead" if by > 0 else "behind"
        count[word] += 1
        digits = 3 if table[3] else 1
        print(f"| {name}{' (R2)' if table[3] else ''} | {len(table[1])} | {len(parts[1])} | {x:.{digits}f} | {z:.{digits}f} ({kind}, of {tried}) | "
              f"{by:+.{digits}f} | {error:.{digits}f} | {word} | {seconds:.0f}, {used:.0f} |", flush=True)
    print("\n" + ", ".join(f"{k} {v}" for k, v in count.items()))


if __name__ == "__main__":
    main()
