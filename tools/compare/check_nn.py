#!/usr/bin/env python3
"""Nets of vktrain.nn beside PyTorch's: outputs, loss, and all parameters and running statistics after
one SGD step, of the same code and the same random weights.

    check_nn.py make FILE.npz         with torch: writes weights and results
    check_nn.py check FILE.npz [NET ...]   with vktrain: compares, a line a net

Both are compared with PyTorch's results in float64, relative to the largest number of a tensor, of
gradients of all of them. vktrain fails above 1e-5, unless PyTorch's own float32, in brackets, is as
far away: a deep net with batch norm turns a rounding into a percent of the gradient.
"""
import copy
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nn_nets import nets  # noqa: E402

LR = 0.05


def make(path):
    import torch
    out = {}
    for name, (module, inputs, target, loss) in nets(torch).items():
        torch.manual_seed(3)
        start = module()
        for p in start.parameters():  # biases and gains too, unlike their initial values
            p.data += 0.05 * torch.randn_like(p)
        for k, v in start.state_dict().items():
            out[f"{name}/before/{k}"] = v.numpy().copy()
        for part, dtype in (("want", torch.float64), ("torch", torch.float32)):
            def as_torch(a):
                a = torch.from_numpy(np.asarray(a))
                return a.to(dtype) if a.is_floating_point() else a
            net = copy.deepcopy(start).to(dtype)
            torch.set_default_dtype(dtype)
            optimizer = torch.optim.SGD(net.parameters(), LR)
            y = net(*map(as_torch, inputs))
            l = loss(y, as_torch(target))
            l.backward()
            of = {"output": (y[0] if isinstance(y, tuple) else y).detach(), "loss": l.detach()}
            of.update({f"grad.{k}": p.grad.clone() for k, p in net.named_parameters()})
            optimizer.step()
            of.update({f"after.{k}": v for k, v in net.state_dict().items()})
            out.update({f"{name}/{part}/{k}": v.numpy() for k, v in of.items()})
            torch.set_default_dtype(torch.float32)
    np.savez_compressed(path, **out)


def far(a, b):
    return float(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-6))


def distances(got, want):
    """The largest ones of outputs, loss, gradients and what is there after the step."""
    top = max(np.abs(v).max() for k, v in want.items() if k.startswith("grad."))
    worst = {"output": 0.0, "loss": 0.0, "grad": 0.0, "after": 0.0}
    for k, v in want.items():
        part = k.split(".")[0]
        d = float(np.abs(got[k] - v).max()) / top if part == "grad" else far(got[k], v)
        worst[part] = max(worst[part], d)
    return worst


def check(path, only):
    import vktrain
    file, failed = np.load(path), []
    for name, (module, inputs, target, loss) in nets(vktrain).items():
        if only and name not in only:
            continue

        def of(part):
            start = f"{name}/{part}/"
            return {k[len(start):]: file[k] for k in file.files if k.startswith(start)}
        net = module()
        net.load_state_dict(of("before"))
        optimizer = vktrain.optim.SGD(net, LR)

        @vktrain.jit
        def step(inputs, target):
            y = net(*inputs)
            l = loss(y, target)
            l.backward()
            grads = {f"grad.{k}": p.grad for k, p in net.named_parameters()}
            optimizer.step()
            return {"output": y[0] if isinstance(y, tuple) else y, "loss": l, **grads}

        got = {k: v.numpy() for k, v in step(inputs, target).items()}
        got.update({f"after.{k}": v for k, v in net.state_dict().items()})
        want = of("want")
        worst, theirs = distances(got, want), distances(of("torch"), want)
        step.close()
        ok = all(v <= max(1e-5, 2 * theirs[k]) for k, v in worst.items())
        print(f"{name:16} " + "  ".join(f"{k} {v:.1e} ({theirs[k]:.1e})" for k, v in worst.items()) +
              ("" if ok else "  FAILED"), flush=True)
        failed += [] if ok else [name]
    if failed:
        sys.exit(f"check_nn: {', '.join(failed)}: further than 1e-5, and than twice PyTorch")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("make", "check"):
        sys.exit(__doc__)
    make(sys.argv[2]) if sys.argv[1] == "make" else check(sys.argv[2], sys.argv[3:])
