"""fit: a module trained as a run, by a recipe's options."""
import ctypes
import json
import math
import time
import zlib
from collections.abc import Mapping
from ctypes import byref, c_void_p
from typing import NamedTuple

import numpy as np

from . import _program, optim
from ._fit_files import Folder
from ._jit import jit
from ._library import DataError, NumericError, RecipeError, VktrainError, check, lib
from ._train import Progress
from .nn import functional as F

# What of a recipe has a meaning for a module and arrays; a name with a dot at its end: a section.
_USED = ("name", "note", "seed", "optim.", "schedule.", "train.steps", "train.batch", "train.precision",
         "train.loss_scale", "train.recompute", "train.ema", "train.patience", "train.nan_patience",
         "eval.every", "eval.batch", "checkpoint.keep", "checkpoint.metric", "checkpoint.mode",
         "data.valid_fraction", "data.seed")
_UNUSED = ("optim.groups", "optim.offload", "optim.shard", "optim.moments")


class FitResult(NamedTuple):
    """What a run of `fit` reached. `best_metric` is of `best_checkpoint`, whose parameters the module has
    afterwards; `loss` and `metrics` are of the last evaluation."""
    run_dir: str
    step: int
    metric: str
    best_step: int
    best_metric: float
    best_checkpoint: str
    loss: float
    metrics: dict
    seconds: float
    stopped: bool


def _flat(recipe, prefix=""):
    for key, value in recipe.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _options(text):
    """The scalars of a resolved configuration, by name."""
    out, sections = {}, []
    for line in text.splitlines():
        key, colon, value = line.strip().partition(":")
        depth = (len(line) - len(line.lstrip())) // 2
        if not colon or key.startswith("-"):
            continue
        sections[depth:] = [key]
        value = value.strip()
        if value:
            try:
                out[".".join(sections)] = json.loads(value)
            except ValueError:
                out[".".join(sections)] = value
    return out


def _resolve(recipe, settings):
    """The options by name, resolved and checked by the library as those of a recipe."""
    given = dict(_flat(recipe or {}))
    given.update(settings or {})
    for key in given:
        if key in _UNUSED or not any(key == u or (u.endswith(".") and key.startswith(u)) for u in _USED):
            raise RecipeError(f"fit has no use for '{key}': a recipe for a module has "
                              f"{', '.join(u + '*' if u.endswith('.') else u for u in _USED)}, but no "
                              f"{', '.join(_UNUSED)}", "argument")
    c = c_void_p()
    check(lib.vkt_config_create(byref(c)))
    try:
        # A stand-in for the module and its data: the options are checked, and nothing is opened.
        for text in ("model=[linear]", "data.source=digits",
                     *(f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in given.items()
                       if k != "checkpoint.metric")):  # which may be the caller's own
            check(lib.vkt_config_set(c, text.encode()))
        check(lib.vkt_config_finish(c))
        at = lib.vkt_config_yaml(c)
        text = ctypes.string_at(at).decode()
        lib.vkt_free(at)
    finally:
        lib.vkt_config_destroy(byref(c))
    all_of = _options(text)
    return {k: v for k, v in all_of.items()
            if any(k == u or (u.endswith(".") and k.startswith(u)) for u in _USED)
            and k not in (*_UNUSED, "checkpoint.metric", "checkpoint.mode")}, given


def _arrays(data, what):
    arrays = tuple(np.asarray(a) for a in (data if isinstance(data, (tuple, list)) else (data,)))
    n = {len(a) if a.ndim else -1 for a in arrays}
    if not arrays or len(n) != 1 or n <= {0, -1}:
        raise ValueError(f"{what} is a tuple of arrays with the same number of rows, not "
                         f"{[a.shape for a in arrays]}")
    return arrays


def _finite(v):
    return v if math.isfinite(v) else None


def _crc(arrays):
    crc = 0
    for a in arrays:
        crc = zlib.crc32(f"{a.shape}{a.dtype}".encode(), crc)
        crc = zlib.crc32(np.ascontiguousarray(a), crc)
    return crc


def _default_loss(target):
    if target.dtype.kind in "iu":
        return lambda output, y: F.cross_entropy(output, y)
    return lambda output, y: F.mse_loss(output, y)


def _optimizer(module, o):
    """The recipe's rule at its rate."""
    s = {k[len("schedule."):]: v for k, v in o.items() if k.startswith("schedule.")}
    fields = {k: s[k] for k in ("warmup_included", "final_ratio", "cycles", "power", "gamma",
                                "decay_every", "decay_ratio")}
    if s.get("milestones"):
        fields["milestones"] = (ctypes.c_uint64 * 16)(*s["milestones"])
        fields["n_milestones"] = len(s["milestones"])
    rate = optim.LearningRate(s["kind"], o["optim.lr"], o["train.steps"], s["warmup"], **fields)
    rule = o["optim.rule"]
    uses = optim._USES[rule]
    more = {k: o[f"optim.{k}"] for k in ("momentum", "rho", "eps", "rest_lr") if k in uses}
    if uses.get("betas"):
        more["betas"] = tuple(o[f"optim.beta{i + 1}"] for i in range(uses["betas"]))
    groups = []
    if not o["optim.decay_all"] and o["optim.weight_decay"]:  # biases and gains do not decay
        groups = [(n, {"weight_decay": 0.0}) for n, p in module.named_parameters() if len(p.shape) < 2]
    fp16 = o["train.precision"] == "fp16"
    return optim.Optimizer(rule, module, rate, weight_decay=o["optim.weight_decay"], groups=groups,
                           clip=o["optim.clip"], ema=o["train.ema"], on_nan="skip",
                           loss_scale=o["train.loss_scale"] if fp16 else 0.0,
                           _form={"playbook": 0, "torch": 1}[o["optim.form"]], **more)


class _Fit:
    def __init__(self, module, data, valid, loss, objective, metrics, recipe, settings, run, resume,
                 callbacks):
        self.module, self.callbacks = module, callbacks
        self.o, given = _resolve(recipe, settings)
        o = self.o
        data = _arrays(data, "data")
        if valid is None:
            order = np.random.default_rng([o["data.seed"], 1]).permutation(len(data[0]))
            n = int(round(o["data.valid_fraction"] * len(order)))
            if not n or n == len(order):
                raise DataError(f"data.valid_fraction {o['data.valid_fraction']} of {len(order)} rows "
                                f"leaves {n} to evaluate on: give valid=(X, y)", "argument")
            self.valid = tuple(a[order[:n]] for a in data)
            self.data = tuple(a[order[n:]] for a in data)
        else:
            self.data, self.valid = data, _arrays(valid, "valid")
        self.n, self.batch = len(self.data[0]), o["train.batch"]
        if self.batch > self.n:
            raise DataError(f"train.batch is {self.batch}, of {self.n} rows to train on", "argument")
        if loss is not None and objective is not None:
            raise TypeError("loss is a function of output and target, objective one of the module and "
                            "a batch: give one of them")
        if objective is None and len(data) < 2:
            raise TypeError("data has no targets: it is (X, y), or give objective=f(module, *batch)")
        self.objective, self.loss = objective, loss or _default_loss(data[-1])
        self.classes = objective is None and loss is None and data[-1].dtype.kind in "iu"
        self.metrics = dict(metrics or {})
        if self.metrics and objective is not None:
            raise TypeError("metrics are functions of outputs and targets, which an objective keeps")
        self.metric = self._pick(o, given)
        warmup = 0 if o["schedule.warmup_included"] else o["schedule.warmup"]
        self.total = o["train.steps"] + warmup
        self.crc = _crc(self.data + self.valid)
        self.folder = Folder(run, o["name"], resume)
        self.resumes, self.began = resume, time.monotonic()
        self.done, self.value, self.last = 0, math.nan, {}
        self.orders = {}

    def _pick(self, o, given):
        """The measure that selects, and which way it is better."""
        name = given.get("checkpoint.metric", next(iter(self.metrics), "accuracy" if self.classes else "loss"))
        known = ["loss"] + (["accuracy"] if self.classes else []) + list(self.metrics)
        if name not in known:
            raise RecipeError(f"checkpoint.metric: '{name}' is none of {', '.join(known)}", "argument")
        mode = given.get("checkpoint.mode", "auto")
        self.sign = -1 if mode == "min" or (mode == "auto" and name == "loss") else 1
        return name

    # ---- the graphs ----

    def _build(self):
        o, m = self.o, self.module
        self.optimizer = _optimizer(m, o)
        self.optimizer._number = 0
        how = jit(precision=None if o["train.precision"] == "fp32" else o["train.precision"],
                  recompute=o["train.recompute"] == "all")

        def step(*batch):
            loss = self.objective(m, *batch) if self.objective else \
                self.loss(m(*batch[:-1]), batch[-1])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss

        def look(*batch):
            if self.objective:
                return self.objective(m, *batch), None
            output = m(*batch[:-1])
            return self.loss(output, batch[-1]), output

        self.step, self.look = how(step), how(look)

    def _rows(self, step):
        """The examples of a step, counted from 0: a function of seed and step."""
        each = self.n // self.batch
        epoch, i = divmod(step, each)
        if epoch not in self.orders:
            self.orders = {epoch: np.random.default_rng([self.o["seed"], 2, epoch]).permutation(self.n)}
        return self.orders[epoch][i * self.batch:(i + 1) * self.batch]

    # ---- evaluation ----

    def _measure(self):
        self.module.eval()
        total, outputs, n, each = 0.0, [], len(self.valid[0]), self.o["eval.batch"]
        for at in range(0, n, each):
            batch = [a[at:at + each] for a in self.valid]
            loss, output = self.look(*batch)
            if loss.shape not in ((), (1,)):
                raise ValueError(f"the loss has shape {list(loss.shape)}; it is one number, a mean")
            total += loss.item() * len(batch[0])
            if output is not None and (self.classes or self.metrics):
                outputs.append(output.numpy())
        self.module.train()
        out = {"loss": total / n}
        if outputs:
            outputs = np.concatenate(outputs)
            if self.classes:
                out["accuracy"] = float((outputs.argmax(-1) == self.valid[-1]).mean())
            out.update({k: float(f(outputs, self.valid[-1])) for k, f in self.metrics.items()})
        return out

    def _evaluate(self):
        raw = None
        if self.o["train.ema"]:  # the average is what is evaluated and kept as the model
            raw = self.module.state_dict()
            self.module.load_state_dict({**raw, **self.optimizer.averaged()})
        try:
            self.last = self._measure()
            model = self.module.state_dict()
        finally:
            if raw is not None:
                self.module.load_state_dict(raw)
        self.value = self.last[self.metric]
        own = {k: _finite(self.last[k]) for k in self.metrics}
        self.folder.row("eval", self.done, "valid", **{k: v for k, v in self.last.items() if k not in own},
                        seconds=self._seconds(), n=len(self.valid[0]), **({"measures": own} if own else {}))
        self._save(model, raw)
        return self.value

    def _save(self, model=None, raw=None):
        scale, good = ctypes.c_float(), ctypes.c_uint32()
        check(lib.vkt_optim_get_loss_scale(self.optimizer.handle, byref(scale), byref(good)))
        optimizer = self.optimizer.state_dict()
        optimizer.update({f"raw.{k}": v for k, v in (raw or {}).items()})
        self.folder.write(self.done, self.value if model is not None else math.nan, self.sign,
                          self.o["checkpoint.keep"], model or self.module.state_dict(), optimizer,
                          {"recipe": self.o, "data": self.crc, "loss_scale": scale.value, "good": good.value,
                           "seconds": self._seconds(), "metric": self.metric})

    def _resume(self):
        steps = self.folder.list()
        if not steps:
            return
        state, model, optimizer = self.folder.read(steps[-1][0])
        if state["data"] != self.crc:
            raise DataError("the data is not what the run was trained on: it can't go on with it", "argument")
        for key in ("recipe", "metric"):
            mine = {"recipe": self.o, "metric": self.metric}[key]
            if state[key] == mine:
                continue
            what = [k for k in mine if state[key].get(k) != mine[k]] if key == "recipe" else ["metric"]
            raise RecipeError(f"the run was begun with another {', '.join(what) or key}: it goes on with "
                              f"its own recipe only", "argument")
        raw = {k[4:]: optimizer.pop(k) for k in list(optimizer) if k.startswith("raw.")}
        self.module.load_state_dict(raw or model)
        self.optimizer.load_state_dict(optimizer)
        if self.optimizer._scales:
            check(lib.vkt_optim_set_loss_scale(self.optimizer.handle, state["loss_scale"], state["good"]))
        self.done = state["step"]
        self.began -= state["seconds"]

    # ---- the loop ----

    def _seconds(self):
        return time.monotonic() - self.began

    def _read(self, pending):
        """What an earlier step gave, now that the next one is on its way."""
        if pending is None:
            return
        loss, step, lr = pending
        value = loss.item()
        before, self.skips = self.skips, self.optimizer.skipped
        self.row_of = (value, self.optimizer.grad_norm, lr)
        self.folder.row("train", step, loss=value, grad_norm=self.optimizer.grad_norm, lr=lr,
                        seconds=self._seconds())
        self.in_a_row = self.in_a_row + 1 if self.skips > before else 0
        if self.in_a_row >= self.o["train.nan_patience"] and not self.optimizer._scales:
            raise NumericError(f"{self.in_a_row} steps in a row, up to step {step}, had a loss or gradient "
                               f"that is NaN or infinite: lower optim.lr, or set optim.clip", "NaN or infinity")

    def _tell(self, evaluated, best):
        nan = math.nan
        loss, norm, lr = self.row_of
        p = Progress(self.done, self.total, loss, nan, norm, lr, nan, nan, evaluated, "valid" if evaluated else "",
                     self.last.get("loss", nan), self.last.get("accuracy", nan), nan, self.metric,
                     self.value, best)
        stop = False
        for f in self.callbacks:
            stop = bool(f(p)) or stop
        return stop

    def run(self):
        o, stopped = self.o, False
        seed = _program._seed
        _program._seed = o["seed"]
        self.skips = self.in_a_row = 0
        self.row_of = (math.nan,) * 3
        try:
            self._build()
            if self.resumes:
                self._resume()
                self.skips = self.optimizer.skipped
            self.folder.begin(name=o["name"], note=o.get("note"), seed=o["seed"],
                              config=_yaml(_nested(o)), n_train=self.n, n_valid=len(self.valid[0]),
                              n_params=sum(int(np.prod(p.shape)) for p in self.module.parameters()),
                              total=self.total, metric=self.metric, step=self.done)
            self.folder.open_metrics(self.done)
            self.module.train()
            best, pending = self.folder.best(self.sign), None
            waited = self.folder.evaluations_after(best[0] if best else 0)
            while self.done < self.total and not stopped:
                rows, lr = self._rows(self.done), self.optimizer.rate()
                loss = self.step(*[a[rows] for a in self.data])
                self._read(pending)
                pending = (loss, self.done + 1, lr)
                self.done += 1
                at_end = self.done == self.total
                if self.callbacks or self.done % o["eval.every"] == 0 or at_end:
                    self._read(pending)
                    pending = None
                evaluated = self.done % o["eval.every"] == 0 or at_end
                if evaluated:
                    value = self._evaluate()
                    better = not math.isnan(value) and (best is None or self.sign * (value - best[1]) > 0)
                    best = (self.done, value) if better else best
                    waited = 0 if better else waited + 1
                    self.folder.save(step=self.done, best_step=best[0] if best else 0,
                                     best_metric=best[1] if best else math.nan, seconds=self._seconds())
                if self.callbacks:
                    stopped = self._tell(evaluated, evaluated and better) or stopped
                if o["train.patience"] and waited >= o["train.patience"]:
                    break
            self._read(pending)
            if stopped and self.folder.list()[-1:] != [(self.done, self.value)]:
                self._save()
        except BaseException as e:
            self._failed(e)
            raise
        finally:
            _program._seed = seed
            self.folder.close()
            for f in ("step", "look"):
                if hasattr(self, f):
                    getattr(self, f).close()
        return self._result(stopped)

    def _failed(self, e):
        """Ctrl-C keeps what there is; the run says how it ended."""
        if "started" not in self.folder.record or self.folder.metrics is None:
            return
        interrupted = isinstance(e, KeyboardInterrupt)
        if interrupted and self.done and self.done not in [s for s, _ in self.folder.list()]:
            self._save()
        self.folder.end("interrupted" if interrupted else "failed", step=self.done,
                        error=None if interrupted else str(e).split("\n")[0], seconds=self._seconds())

    def _result(self, stopped):
        best = self.folder.best(self.sign)
        if best is not None:
            self.module.load_state_dict(self.folder.read(best[0])[1])
        self.folder.end("interrupted" if stopped else "done", step=self.done, seconds=self._seconds(),
                        best_step=best[0] if best else 0, best_metric=best[1] if best else math.nan)
        return FitResult(self.folder.path, self.done, self.metric, best[0] if best else 0,
                         best[1] if best else math.nan, self.folder.path_of(best[0]) if best else "",
                         self.last.get("loss", math.nan), dict(self.last), self._seconds(), stopped)


def _yaml(sections, indent=""):
    return "".join(f"{indent}{k}:\n{_yaml(v, indent + '  ')}" if isinstance(v, dict) else
                   f"{indent}{k}: {json.dumps(v)}\n" for k, v in sections.items())


def _nested(options):
    out = {}
    for key, value in options.items():
        at = out
        *sections, name = key.split(".")
        for s in sections:
            at = at.setdefault(s, {})
        at[name] = value
    return out


def fit(module, data, *, recipe=None, settings=None, valid=None, loss=None, objective=None, metrics=None,
        run=None, resume=False, callbacks=()):
    """Trains a module as a run, with evaluations, checkpoints and files that `vktrain runs` and `vktrain
    report` read; returns a FitResult, and leaves the module with the best checkpoint's parameters.

    data: (X, y), or (X1, X2, .., y): arrays of n rows, of which the module gets all but the last.
    recipe: a dict of a recipe's options, as {"optim": {"rule": "adamw", "lr": 0.01}, "train": {"steps":
        500, "batch": 64}, "eval": {"every": 50}}; what is not of a module's training is refused.
    settings: the same by whole names, {"optim.lr": 0.01}, on top of it.
    valid: arrays like data; default: data.valid_fraction of the rows, chosen by data.seed.
    loss: a function of the output and the target, whose mean it is; default: cross-entropy of whole
        numbers, else the mean squared error.
    objective: in place of it a function of the module and a batch's arrays, objective(module, x, y).
    metrics: {"name": f(outputs, targets)} of NumPy arrays of all of `valid`; the first one selects the
        best checkpoint (larger is better, or "checkpoint.mode": "min"), else accuracy, else the loss;
        "checkpoint.metric" names another.
    run: the run folder; default runs/NAME-DATE. resume: go on with its last checkpoint, with the bits that
        the run would have had; data, recipe and module must be the same.
    callbacks: functions of a Progress; one that returns True ends the run, with a checkpoint."""
    if not hasattr(module, "named_parameters"):
        raise TypeError(f"module is {module!r}; it has to be an nn.Module")
    if recipe is not None and not isinstance(recipe, Mapping):
        raise TypeError(f"recipe is {recipe!r}; it is a dict of options, as {{'optim': {{'lr': 0.01}}}}")
    callbacks = [callbacks] if callable(callbacks) else list(callbacks or ())
    return _Fit(module, data, valid, loss, objective, metrics, recipe, settings, run, resume,
                callbacks).run()
