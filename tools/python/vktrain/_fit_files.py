"""The run folder of `fit`: what `vktrain runs` and `vktrain report` read (run.json, metrics.jsonl), and checkpoints."""
import json
import math
import os
import shutil
import time

import numpy as np

from . import _safetensors
from ._library import DataError, FileError
from ._version import __version__

_KIND = "vktrain.fit checkpoint"
COMMAND = "vktrain.fit"


def _stamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _number(v):
    """As JSON has it: no NaN, no infinity."""
    return v if v is not None and math.isfinite(v) else None


def write_json(path, value):
    """Whole or not at all."""
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as f:
        f.write(json.dumps(value, indent=2) + "\n")
        f.flush()
        os.fsync(f.fileno())
    os.replace(new, path)


def _read_json(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except OSError as e:
        raise FileError(f"can't read '{path}': {e.strerror}", "io") from None
    except ValueError as e:
        raise DataError(f"'{path}' is damaged: {e}", "format") from None


class Folder:
    """The files of one run."""

    def __init__(self, path, name, resume):
        if path is None:
            path = os.path.join("runs", f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
        self.path = os.fspath(path)
        self.run, self.metrics = os.path.join(self.path, "run.json"), None
        self.checkpoints = os.path.join(self.path, "checkpoints")
        held = os.path.exists(self.run)
        if resume and not held:
            raise FileError(f"'{self.path}' has no run to go on with", "io")
        if held and not resume:
            raise FileError(f"'{self.path}' holds a run: give another folder, or resume=True", "io")
        try:
            os.makedirs(self.checkpoints, exist_ok=True)
        except OSError as e:
            raise FileError(f"can't make '{self.checkpoints}': {e.strerror}", "io") from None
        for left in os.listdir(self.checkpoints):
            if left.endswith(".new"):  # of a run that was cut off while it wrote
                shutil.rmtree(os.path.join(self.checkpoints, left))
        self.record = _read_json(self.run) if resume else {"format": "vktrain run"}
        if resume and self.record.get("command") != COMMAND:
            raise DataError(f"'{self.path}' is not a run of vktrain.fit", "format")

    # ---- run.json ----

    def begin(self, **fields):
        if "started" in self.record:
            fields["n_resumes"] = self.record.get("n_resumes", 0) + 1
            fields["started"] = self.record["started"]
        else:  # what runs of the program say and these do not
            self.record.update(dict.fromkeys(("note", "commit", "changes", "device", "driver", "data", "valid_loss",
                                              "valid_accuracy", "valid_mae", "test_loss", "test_accuracy",
                                              "test_mae", "items_per_s", "best_metric", "seconds", "shares",
                                              "exchange_share", "exchange_overlap", "baseline",
                                              "baseline_about", "baseline_verdict", "baseline_metric",
                                              "baseline_net", "baseline_error", "baseline_constant",
                                              "baseline_accuracy", "baseline_net_accuracy",
                                              "baseline_test", "baseline_test_net", "baseline_test_error",
                                              "baseline_test_constant", "baseline_test_accuracy",
                                              "baseline_test_net_accuracy", "baseline_seconds",
                                              "baseline_split")))
            self.record.update(source=COMMAND, folder=os.getcwd(), data_seed=0, n_test=0, n_shared=0,
                               n_resumes=0, best_step=0, micro_batch=0, eval_batch=0, ranks=0,
                               exchange_bytes=0, baseline_examples=0)
        self.record.update({"version": __version__, "command": COMMAND, "status": "running", "error": None,
                            "started": _stamp(), "finished": None, **fields})
        self.save()

    def save(self, **fields):
        self.record.update({k: _number(v) if isinstance(v, float) else v for k, v in fields.items()})
        write_json(self.run, self.record)

    def end(self, status, **fields):
        self.save(status=status, finished=_stamp(), **fields)

    # ---- metrics.jsonl ----

    def open_metrics(self, step):
        """Rows after that step are cut off, and a last line that was not written whole."""
        path, kept = os.path.join(self.path, "metrics.jsonl"), []
        if step and os.path.exists(path):
            with open(path, encoding="utf-8", newline="") as f:
                for line in f:
                    try:
                        row = json.loads(line) if line.endswith("\n") else None
                    except ValueError:
                        row = None
                    if row is None or row["step"] > step or "checkpoint" in row:
                        break
                    kept.append(line)
        with open(f"{path}.new", "w", encoding="utf-8", newline="") as f:
            f.writelines(kept)
        os.replace(f"{path}.new", path)
        self.metrics = open(path, "a", encoding="utf-8", newline="")

    def evaluations_after(self, step):
        """How many evaluations of later steps the metrics have."""
        with open(os.path.join(self.path, "metrics.jsonl"), encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        return sum(row["kind"] == "eval" and row["step"] > step for row in rows)

    def row(self, kind, step, split=None, **numbers):
        row = {"kind": kind, "step": step}
        if split:
            row["split"] = split
        for k, v in numbers.items():
            if isinstance(v, float) and not math.isfinite(v):
                if k != "loss":
                    continue
                v = None
            row[k] = v
        self.metrics.write(json.dumps(row) + "\n")
        self.metrics.flush()

    def close(self):
        if self.metrics is not None:
            self.metrics.close()

    # ---- checkpoints ----

    def _of(self, step):
        return os.path.join(self.checkpoints, f"step-{step:08d}")

    def list(self):
        """(step, value) of whole checkpoints, by step."""
        out = []
        for name in sorted(os.listdir(self.checkpoints)):
            path = os.path.join(self.checkpoints, name, "fit.json")
            if name.startswith("step-") and not name.endswith(".new") and os.path.exists(path):
                state = _read_json(path)
                if state.get("format") != _KIND:
                    raise DataError(f"'{path}' is not a checkpoint of vktrain.fit", "format")
                out.append((state["step"], state["value"]))
        return out

    def write(self, step, value, sign, keep, model, optimizer, more):
        """Under another name first; then those that are neither among the best nor the last go."""
        to, new = self._of(step), f"{self._of(step)}.new"
        os.makedirs(new)
        _safetensors.save(os.path.join(new, "model.safetensors"), model)
        _safetensors.save(os.path.join(new, "optimizer.safetensors"), optimizer)
        write_json(os.path.join(new, "fit.json"),
                   {"format": _KIND, "step": step, "value": _number(value), **more})
        if os.path.exists(to):
            shutil.rmtree(to)
        os.replace(new, to)
        all_of = self.list()
        ranked = sorted((s for s in all_of if s[1] is not None), key=lambda s: (-sign * s[1], s[0]))
        kept = {s for s, _ in ranked[:keep]} | {step}
        for s, _ in all_of:
            if s not in kept:
                shutil.rmtree(self._of(s))

    def best(self, sign):
        ranked = sorted((s for s in self.list() if s[1] is not None), key=lambda s: (-sign * s[1], s[0]))
        return ranked[0] if ranked else None

    def path_of(self, step):
        return self._of(step)

    def read(self, step):
        """(fit.json, the model's state, the optimizer's)."""
        at = self._of(step)
        return (_read_json(os.path.join(at, "fit.json")),
                _safetensors.load(os.path.join(at, "model.safetensors")),
                {k: np.array(v) for k, v in
                 _safetensors.load(os.path.join(at, "optimizer.safetensors")).items()})
