#!/usr/bin/env python3
"""What `vktrain study lr` and `study search` recommend on five tables of R's mlbench, against a fine grid of learning rates
and against Optuna's TPE.

  tools/compare/mlbench.py VKTRAIN OUT [lr|search] [--tables NAME,...] [--seeds 11] [--repeats 10] [--first 0] [--samplers gp]

lr: a grid of rates a factor sqrt(2) apart, each on --seeds seeds, from a coarse one's best two octaves down and up, and on
past it where its best is at an end; then three studies, of seeds 1 to 3 and of recipes whose rates differ, and the
recommended rate on the same seeds. search: 24 trials of `study search` (--sampler gp and others), and 24 of Optuna's TPE on the
same space and the same training runs, for --repeats seeds from --first on; the best setting of each is trained on three new
seeds. A run is a network with 32 hidden units, 200 steps of 32 examples, Adam; validation loss on 30% of the rows.
Results go to OUT/results.json as they come; what is there is not run again. Needs Debian's r-base-core, r-cran-mlbench and
(search) python3-optuna; the Vulkan driver is that of the environment."""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

TABLES = {"Vowel": "Class", "Ionosphere": "Class", "PimaIndiansDiabetes": "diabetes", "Glass": "Type", "BostonHousing": "medv"}
RECIPE = """name: {name}
data: {{source: csv, path: {path}, label: {label}, task: {task}, valid_fraction: 0.3}}
model: [linear: 32, relu, linear]
optim: {{rule: {rule}, lr: {lr}}}
schedule: {{kind: cosine}}
train: {{steps: 200, batch: 32}}
eval: {{every: 50}}
checkpoint: {{metric: loss}}
"""
SPACE = """optim.lr: {log: [0.0003, 0.3]}
optim.beta1: {log_one_minus: [0.5, 0.99]}
optim.weight_decay: {log: [1.0e-5, 1]}
model.0.out: {log: [4, 64]}
"""
TRIALS = 24
WORST = 1e30  # of a run that diverged


class Bench:
    def __init__(self, program, out):
        self.program, self.out = str(pathlib.Path(program).resolve()), out
        out.mkdir(parents=True, exist_ok=True)
        self.file = out / "results.json"
        self.results = json.loads(self.file.read_text()) if self.file.exists() else {}

    def keep(self, key, make):
        if key not in self.results:
            self.results[key] = make()
            self.file.write_text(json.dumps(self.results, indent=1, sort_keys=True) + "\n")
        return self.results[key]

    def call(self, *args):
        done = subprocess.run([self.program, *args], cwd=self.out, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def recipe(self, table, rule="adam", lr=0.01):
        path = self.out / f"{table}.csv"
        if not path.exists():
            subprocess.run(["Rscript", "-e", f'library(mlbench); data({table}); write.csv({table}, "{path}", row.names=FALSE)'],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        name = f"{table}-{rule}-{lr:g}.yaml"
        (self.out / name).write_text(RECIPE.format(name=table, path=path.resolve(), label=TABLES[table], rule=rule, lr=lr,
                                                     task="regress" if table == "BostonHousing" else "classify"))
        return name

    def train(self, recipe, settings, seed):
        """The best validation loss of a run; infinite where it diverged."""
        args = [a for s in [*settings, f"seed={seed}"] for a in ("--set", s)]

        def run():
            folder = self.out / "run"
            shutil.rmtree(folder, ignore_errors=True)
            try:
                self.call("train", recipe, "--run", str(folder), "--quiet", *args)
                return json.loads((folder / "run.json").read_text())["best_metric"]
            except RuntimeError as e:
                if "NaN" not in str(e):
                    sys.exit(f"mlbench: {e}")
                return WORST
        return self.keep(" ".join(["train", recipe, *settings, f"seed={seed}"]), run)

    def study(self, name, *args):
        """study.json of a study, whose folder is removed."""
        def run():
            folder = self.out / name
            shutil.rmtree(folder, ignore_errors=True)
            self.call("study", *args, "--study", name, "--quiet")
            s = json.loads((folder / "study.json").read_text())
            shutil.rmtree(folder)
            return {k: s[k] for k in ("apply", "advice", "trials", "rows")}
        return self.keep(f"study {name}", run)


def text(rate):
    return f"optim.lr={rate:.4g}"


def on_seeds(b, recipe, settings, seeds):
    return [b.train(recipe, settings, 1000 + s) for s in range(seeds)]


def lr(b, table, seeds):
    recipe = b.recipe(table)
    coarse = [0.01 * 4.0 ** k for k in range(-3, 4)]
    centre = min(coarse, key=lambda r: b.train(recipe, [text(r)], 1))
    half = {k: statistics.median(on_seeds(b, recipe, [text(centre * 2 ** (k / 2))], seeds)) for k in range(-4, 5)}
    while min(half, key=half.get) in (min(half), max(half)) and len(half) < 20:
        k = min(half, key=half.get)
        k += -1 if k == min(half) else 1
        half[k] = statistics.median(on_seeds(b, recipe, [text(centre * 2 ** (k / 2))], seeds))
    k = min(half, key=half.get)
    best = centre * 2 ** (k / 2)
    print(f"{table}: best of the grid {best:.4g}, median loss {half[k]:.4g} of {seeds} seeds; all: "
          + " ".join(f"{centre * 2 ** (i / 2):.3g}:{half[i]:.4g}" for i in sorted(half)), flush=True)
    reference = on_seeds(b, recipe, [text(best)], seeds)
    for seed, start in ((1, 0.01), (2, 0.02), (3, 0.005)):
        s = b.study(f"lr-{table}-{seed}", "lr", b.recipe(table, lr=start), "--set", f"seed={seed}")
        rate = float(s["apply"][0].split("=")[1]) if s["apply"] else start
        losses = on_seeds(b, recipe, [text(rate)], seeds)
        worse = sum(x > y for x, y in zip(losses, reference))
        low, high = sorted(reference)[seeds // 4], sorted(reference)[seeds - 1 - seeds // 4]
        print(f"  study of seed {seed} from {start:g}: {rate:.4g}, {rate / best:.2f} x the grid's best; median loss "
              f"{statistics.median(losses):.4g} (grid's best {statistics.median(reference):.4g}, quartiles {low:.4g} to {high:.4g}), "
              f"worse on {worse} of {seeds} seeds", flush=True)


def search_once(b, table, samplers, r):
    """The best validation loss of 24 trials, and the median of that setting on three new seeds: {sampler: (loss, loss)}."""
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    recipe = b.recipe(table, rule="adamw")
    (b.out / "space.yaml").write_text(SPACE)
    found = {}
    for sampler in samplers:
        s = b.study(f"search-{table}-{sampler}-{r}", "search", recipe, "--space", "space.yaml", "--trials", str(TRIALS),
                    "--sampler", sampler, "--seed", str(r), "--set", f"seed={r + 1}")
        best, again = (min(losses) if group == "search" else statistics.median(losses) for group, losses in (
            (g, [WORST if t["best"] is None else t["best"] for t in s["trials"] if t["group"] == g]) for g in ("search", "candidate")))
        found[sampler] = best, again

    def objective(trial):
        return b.train(recipe, settings(trial.suggest_float("lr", 0.0003, 0.3, log=True),
                                        trial.suggest_float("one_minus_beta1", 0.01, 0.5, log=True),
                                        trial.suggest_float("weight_decay", 1e-5, 1, log=True),
                                        trial.suggest_int("out", 4, 64, log=True)), r + 1)

    def run():
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=r))
        study.optimize(objective, n_trials=TRIALS)
        p = study.best_params
        return {"value": study.best_value, "set": settings(p["lr"], p["one_minus_beta1"], p["weight_decay"], p["out"])}
    o = b.keep(f"optuna {table} {r}", run)
    found["optuna"] = o["value"], statistics.median(b.train(recipe, o["set"], r + 1 + 101 + i) for i in range(3))
    return found


def search(b, tables, samplers, first, repeats):
    """A repeat of all tables before the next: what an end before the last one leaves is balanced."""
    all_of = {table: [] for table in tables}
    for r in range(repeats):
        for table in tables:
            all_of[table].append(search_once(b, table, samplers, first + r))
        print(f"after {r + 1} of {repeats} seeds", flush=True)
        for table, found in all_of.items():
            for k, what in enumerate(("best of 24", "on new seeds")):
                v = {name: [f[name][k] for f in found] for name in (*samplers, "optuna")}
                print(f"  {table:20} {what:12} " + ", ".join(f"{n} {statistics.median(x):.4g} ({min(x):.4g} to {max(x):.4g})" for n, x in v.items())
                      + "; below Optuna's: " + ", ".join(f"{n} {sum(x < y for x, y in zip(v[n], v['optuna']))} of {r + 1}" for n in samplers), flush=True)


def settings(rate, one_minus_beta1, decay, out):
    return [text(rate), f"optim.beta1={1 - one_minus_beta1:.4g}", f"optim.weight_decay={decay:.4g}", f"model.0.out={out}"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("what", nargs="?", choices=("lr", "search"))
    p.add_argument("--tables", default=",".join(TABLES))
    p.add_argument("--seeds", type=int, default=11)
    p.add_argument("--repeats", type=int, default=10)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--samplers", default="gp")
    a = p.parse_args()
    b = Bench(a.program, a.out)
    tables = a.tables.split(",")
    for table in tables:
        if table not in TABLES:
            sys.exit(f"mlbench: no table '{table}'; there are {', '.join(TABLES)}")
    for table in tables:
        if a.what != "search":
            lr(b, table, a.seeds)
    if a.what != "lr":
        search(b, tables, a.samplers.split(","), a.first, a.repeats)


main()
