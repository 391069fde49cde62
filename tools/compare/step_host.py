#!/usr/bin/env python3
"""The host's time of a training step from Python beside the C library's: the same MLP 64-128-10 of 64 examples with AdamW.
usage: step_host.py STEP_HOST [PAIRS [STEPS]]   STEP_HOST: step_host.c, compiled; VKTRAIN_LIBRARY as always
What counts is the CPU time of the thread that runs the loop: to start a step, and, when the device is done, to read its loss. So the
device's own work does not count, on a CPU driver neither. Medians over steps, then over alternating pairs of processes."""
import statistics
import subprocess
import sys
import time

PAUSE = 0.0  # seconds between a start and the question for its result


def python_steps(steps):
    import numpy as np
    import vktrain
    from vktrain import nn, optim
    f = nn.functional
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = optim.AdamW(net, lr=1e-3)

    @vktrain.jit
    def step(x, y):
        loss = f.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    rng = np.random.default_rng(1)
    x, y = rng.random((64, 64), np.float32), (np.arange(64) % 10).astype(np.uint32)
    for _ in range(steps):
        start = time.thread_time_ns()
        loss = step(x, y)
        begun = time.thread_time_ns() - start
        if PAUSE:
            time.sleep(PAUSE)
        start = time.thread_time_ns()
        said = loss.item()
        print(f"{begun / 1e3:.2f} {(time.thread_time_ns() - start) / 1e3:.2f} {said:.6g}")


def medians(command):
    rows = [[float(v) for v in line.split()] for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()]
    rows = rows[len(rows) // 4:]  # the first ones compile, trace and warm up
    return [statistics.median(r[k] for r in rows) for k in range(2)]


def main():
    if sys.argv[1:2] == ["--python"]:
        return python_steps(int(sys.argv[2]))
    program, pairs, steps = sys.argv[1], int((sys.argv[2:] or ["5"])[0]), (sys.argv[3:] or ["300"])[0]
    both = []
    for _ in range(pairs):
        c = medians([program, steps, str(int(1e3 * PAUSE))])
        py = medians([sys.executable, __file__, "--python", steps])
        both.append((sum(c), sum(py)))
        print(f"C {c[0]:.1f} + {c[1]:.1f} us, Python {py[0]:.1f} + {py[1]:.1f} us: {sum(py) - sum(c):+.1f} us", flush=True)
    print(f"medians of {pairs} pairs: C {statistics.median(b[0] for b in both):.1f} us, Python {statistics.median(b[1] for b in both):.1f} us, "
          f"difference {statistics.median(b[1] - b[0] for b in both):+.1f} us")


if __name__ == "__main__":
    main()
