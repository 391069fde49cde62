"""A module trained as a run: evaluations, the best checkpoint, a folder that `vktrain report` reads, resumed."""
import os
import tempfile

import numpy as np
import vktrain
from vktrain import nn


def main(steps=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (500, 2)).astype(np.float32)
    y = np.sin(2 * X[:, :1]) * X[:, 1:] + rng.normal(0, 0.05, (500, 1)).astype(np.float32)
    recipe = {"optim": {"rule": "adamw", "lr": 0.02}, "schedule": {"kind": "cosine", "warmup": 10},
              "train": {"steps": steps, "batch": 64}, "eval": {"every": 25}, "checkpoint": {"keep": 2}}

    def net():
        vktrain.manual_seed(1)
        return nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    with tempfile.TemporaryDirectory() as folder:
        run = os.path.join(folder, "run")
        # A callback ends it early; the same call with resume=True goes on, with the same bits.
        vktrain.fit(net(), (X, y), recipe=recipe, run=run, callbacks=lambda p: p.step == steps // 2)
        module = net()
        result = vktrain.fit(module, (X, y), recipe=recipe, run=run, resume=True)
        kept = sorted(os.listdir(os.path.join(run, "checkpoints")))
    error = np.abs(module(X).numpy() - y).mean()
    print(f"fit: {result.metric} {result.best_metric:.4f} at step {result.best_step}, kept {', '.join(kept)}; "
          f"mean absolute error {error:.3f}")
    return error < 0.15


if __name__ == "__main__":
    main()
