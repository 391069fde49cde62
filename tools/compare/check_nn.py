#!/usr/bin/env python3
"""Nets of vktrain.nn beside PyTorch's: outputs, loss, and all parameters and running statistics after
one SGD step, of the same code and the same random weights.

    check_nn.py make FILE.npz         with torch: writes weights and results
    check_nn.py check FILE.npz [NET ...]   with vktrain: compares, a line a net; fails above 1e-5

Differences are relative to the largest number of a tensor; a parameter's step is compared as
its change divided by the learning rate, so relative to the gradient.
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nn_nets import nets  # noqa: E402

LR = 0.05


def make(path):
    import torch
    torch.manual_seed(3)
    out = {}
    for name, (module, inputs, target, loss) in nets(torch).items():
        net, as_torch = module(), lambda a: torch.from_numpy(np.asarray(a))
        for p in net.parameters():  # biases and gains too, unlike their initial values
            p.data += 0.05 * torch.randn_like(p)
        for k, v in net.state_dict().items():
            out[f"{name}/before/{k}"] = v.numpy().copy()
        optimizer = torch.optim.SGD(net.parameters(), LR)
        y = net(*map(as_torch, inputs))
        l = loss(y, as_torch(target))
        l.backward()
        for k, p in net.named_parameters():
            out[f"{name}/grad/{k}"] = p.grad.numpy().copy()
        optimizer.step()
        out[f"{name}/output"] = (y[0] if isinstance(y, tuple) else y).detach().numpy()
        out[f"{name}/loss"] = np.array(l.item(), np.float32)
        for k, v in net.state_dict().items():
            out[f"{name}/after/{k}"] = v.numpy().copy()
    np.savez_compressed(path, **out)


def far(a, b):
    return float(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-6))


def check(path, only):
    import vktrain
    want, failed = np.load(path), []
    for name, (module, inputs, target, loss) in nets(vktrain).items():
        if only and name not in only:
            continue
        of = lambda part: {k.split("/", 2)[2]: want[k] for k in want.files
                           if k.startswith(f"{name}/{part}/")}
        net, before = module(), of("before")
        net.load_state_dict(before)
        optimizer = vktrain.optim.SGD(net, LR)

        @vktrain.jit
        def step(inputs, target):
            y = net(*inputs)
            l = loss(y, target)
            l.backward()
            grads = {k: p.grad for k, p in net.named_parameters()}
            optimizer.step()
            return (y[0] if isinstance(y, tuple) else y), l, grads

        y, l, grads = step(inputs, target)
        worst = {"output": far(y.numpy(), want[f"{name}/output"]),
                 "loss": far(l.numpy(), want[f"{name}/loss"])}
        top = max(np.abs(g).max() for g in of("grad").values())
        worst["gradient"] = max(float(np.abs(grads[k].numpy() - g).max()) for k, g in
                                of("grad").items()) / top
        after = net.state_dict()
        worst["after"] = max(far(after[k], v) for k, v in of("after").items())
        step.close()
        ok = max(worst.values()) <= 1e-5
        print(f"{name:16} " + "  ".join(f"{k} {v:.1e}" for k, v in worst.items()) +
              ("" if ok else "  FAILED"), flush=True)
        failed += [] if ok else [name]
    if failed:
        sys.exit(f"check_nn: {', '.join(failed)} differ by more than 1e-5")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("make", "check"):
        sys.exit(__doc__)
    make(sys.argv[2]) if sys.argv[1] == "make" else check(sys.argv[2], sys.argv[3:])
