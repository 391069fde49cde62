#!/usr/bin/env python3
"""What `vktrain bench` measures and PyTorch can run too, measured in PyTorch on the same machine.

  peer_torch.py MINE.json [--device cuda|cpu] [--compile] [--only TEXT] [--seconds S] --json TORCH.json
  peer_torch.py NAMES.txt ... --json TORCH.json      NAMES: what `vktrain bench --list` prints, so that no result of ours is needed
  vktrain bench compare MINE.json TORCH.json
  peer_torch.py --match NAMES.txt                    which names have a counterpart here; exit code 1 if one has none and no reason for it

A row is recognised by its name: matrix products ("matmul bf16 NT M 128 N 256 K 784, bias, gelu, to bf16"), attention, convolutions, AdamW,
layernorm, softmax, cross-entropy, copies, and training steps: multilayer perceptrons ("MLP 784-512-512-10, batch 128, adam"), convolutional nets
("ResNet-50 224x224, batch 32, bf16") and language models ("GPT-2 124M, 8 x 1024 tokens, bf16"), also with adapters ("SmolLM2-135M LoRA, ...":
rank 8 on each of the seven projections, AdamW on these). The rest is left out, and said. fp32 means fp32: TensorFloat-32 is off, cuDNN's, too. A
step is batch to device, forward, backward, norm of the gradients, update, eagerly unless --compile; Adam is PyTorch's fused one where there is
one. Measuring needs PyTorch and nothing else, --match only Python; a development tool, no part of vktrain.
"""
import argparse
import datetime
import json
import os
import platform
import re
import statistics
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads that spin are up to 8 times slower on a shared machine

WARM_S, MEASURE_S, MIN_RUNS = 0.5, 1.5, 11
SIZES = r"M (?P<m>\d+) N (?P<n>\d+) K (?P<k>\d+)"

# A name, and what measures it: a function of peer_models.
KINDS = [
    (rf"matmul (?:(?P<dtype>bf16|f16) )?(?P<layout>NT|NN|TN) {SIZES}(?P<bias>, bias)?(?P<act>, gelu)?(?P<residual>, residual)?(?:, to (?P<result>bf16|f16))?", "matmul"),
    (r"attention(?P<bwd>_bwd)? (?:(?P<dtype>bf16|f16) )?\[(?P<batch>\d+), (?P<context>\d+)\], (?P<heads>\d+) heads of (?P<size>\d+)", "attention"),
    (r"conv2d(?P<of>_dx|_dw)? (?P<taps>\d+)x\d+/(?P<stride>\d+) (?P<batch>\d+)x(?P<side>\d+)x\d+x(?P<before>\d+) to (?P<after>\d+)", "convolution"),
    (r"optim_update adamw \[(?P<m>\d+), (?P<n>\d+)\]", "adamw"),
    (r"(?P<op>layernorm|softmax|softmax_xent) \[(?P<m>\d+), (?P<n>\d+)\]", "rows"),
    (r"(?P<op>unary abs|binary sub, a column|permute transpose|expand a column|concat columns|reduce logsumexp|cumsum|place of the largest) \[(?P<m>\d+), (?P<n>\d+)\]", "general"),
    (r"copy (?P<mib>\d+) MiB", "copy"),
    (r"MLP (?P<sizes>\d+(?:-\d+)+), batch (?P<batch>\d+), (?:adam|(?P<dtype>bf16|fp16))", "mlp"),
    (r"(?P<model>GPT 0\.8M|GPT 10\.8M|GPT-2 124M|SmolLM2-135M|TinyLlama-1\.1B)(?P<lora> LoRA)?, (?P<batch>\d+) x (?P<context>\d+) tokens, "
     r"(?:adamw|(?P<dtype>bf16|fp16))", "language_model"),
    (r"MiniLM 23M, (?P<batch>\d+) x (?P<context>\d+) tokens, (?:adam|(?P<dtype>bf16|fp16))", "sentence"),
    (r"(?P<model>Whisper-tiny's encoder), (?P<batch>\d+) x 30 s, (?:adam|(?P<dtype>bf16|fp16))", "image_model"),
    (r"(?P<model>CNN 28x28, conv 32-64|ResNet-20 32x32|ResNet-50 224x224|ViT-Ti/16 224x224|U-Net (?:128x128|256x256)), batch (?P<batch>\d+), (?:adam|(?P<dtype>bf16|fp16))", "image_model"),
]
# Names without a counterpart, and why.
NONE = [
    (r".* on NF4, .*", "PyTorch itself has no NF4"),
    (r"detector .*", "PyTorch itself has no loss of a detector"),
    (r".* generating", "its caches of keys and values are other libraries'"),
    (r"(digits|fashion-cnn|char-gpt) recipe .*", "the time to an accuracy is that of another recipe"),
    (r"(add|mul|scale|copy|fill|activate|activate_bwd|elementwise|dropout|noise|chain|cast|sum|sum_rows|optim_update8|gated|gated_bwd|rope|embedding|embedding_bwd)\b.*",
     "memory bounds it: its share of the ceiling says all"),
    (r"(rmsnorm|norm_bwd|norm_dw|softmax_bwd|softmax_xent_bwd|element_loss|element_loss_bwd|focal|focal_bwd)\b.*", "PyTorch makes it in other pieces"),
    (r"(batch_stats|batch_norm|batch_norm_sums|batch_norm_bwd|max_pool|max_pool_bwd)\b.*", "PyTorch makes it in other pieces"),
]
UNITS = {"ceilings": ("GB/s", "higher"), "ops": ("us", "lower"), "steps": ("ms", "lower"), "target": ("s", "lower")}


def counterpart(name):
    """(what measures it, the parts of the name), or (None, why there is none), or (None, None)."""
    for pattern, kind in KINDS:
        match = re.fullmatch(pattern, name)
        if match:
            return kind, match
    return None, next((why for pattern, why in NONE if re.fullmatch(pattern, name)), None)


def matched(path):
    """Prints how each name is measured; how many of those that `vktrain bench` has are known to nobody."""
    unknown = 0
    for row in rows_of(path)[1]:
        kind, why = counterpart(row["name"])
        if row["group"] == "ceilings" and not kind:
            continue
        unknown += not kind and not why
        print(f"{row['group']}\t{row['name']}\t{kind or 'none: ' + (why or 'UNKNOWN: add a pattern, or why there is none')}")
    return unknown


def rows_of(path):
    """The header of a benchmark file, {} of a list of names, and the rows."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.lstrip().startswith("{"):
        mine = json.loads(text)
        return mine["info"], [r for r in mine["results"] if not r["refused"]]
    rows = []
    for line in text.splitlines():
        group, name = line.split("\t")[:2]  # --suite adds a rule
        rows.append({"group": group, "name": name, "unit": UNITS[group][0], "better": UNITS[group][1], "value": None})
    return {}, rows


def sync(device):
    import torch

    if device.type != "cpu":
        getattr(torch, device.type).synchronize()


def timed(device, call):
    """Seconds of single calls, device included, for long enough: a list."""
    end = time.perf_counter() + WARM_S
    while time.perf_counter() < end:
        call()
        sync(device)
    runs, end = [], time.perf_counter() + MEASURE_S
    # Calls shorter than the clock and the wait are measured many at a time.
    start = time.perf_counter()
    call()
    sync(device)
    many = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    while len(runs) < MIN_RUNS or time.perf_counter() < end:
        sync(device)
        start = time.perf_counter()
        for _ in range(many):
            call()
        sync(device)
        runs.append((time.perf_counter() - start) / many)
    return runs


def best_runs(device, call):
    """Sorted seconds; on a CPU with one thread or all of them, whichever has the lower median."""
    if device.type != "cpu":
        return sorted(timed(device, call))
    import torch

    tries = []
    for threads in sorted({1, os.cpu_count()}):
        torch.set_num_threads(threads)
        tries.append(sorted(timed(device, call)))
    return min(tries, key=statistics.median)


def row_of(mine, device, compiled):
    """The same row measured here, or None where PyTorch has no counterpart."""
    import torch
    import peer_models

    kind, match = counterpart(mine["name"])
    if not kind:
        return None
    call, flops, items = getattr(peer_models, kind)(match, device, compiled)
    runs = best_runs(device, call)
    quartiles = statistics.quantiles(runs, n=4)
    median = statistics.median(runs)
    if mine["unit"] == "GB/s":
        value = lambda s: flops / s / 1e9
    else:
        value = lambda s: s / {"us": 1e-6, "ms": 1e-3, "s": 1.0}[mine["unit"]]
    row = {key: None for key in mine if key != "kernels"}
    low, high = sorted((value(runs[0]), value(runs[-1])))
    q1, q3 = sorted((value(quartiles[0]), value(quartiles[2])))
    row.update(group=mine["group"], name=mine["name"], unit=mine["unit"], better=mine["better"], runs=len(runs), value=value(median), min=low, max=high,
               q1=q1, q3=q3, gflops=flops and mine["unit"] != "GB/s" and flops / median / 1e9 or None, note="PyTorch " + torch.__version__, refused=None)
    if items:
        row["items_per_s"] = items / median
    return row


def refused_row(mine, why):
    """A row that PyTorch has, but could not run."""
    row = {key: None for key in mine}
    why = "".join(c if c.isprintable() else " " for c in why)[:100]  # compilers say pages, in colours
    row.update(group=mine["group"], name=mine["name"], unit=mine["unit"], better=mine["better"], runs=0, note="", refused=why)
    row.pop("kernels", None)
    return row


def save(path, info, rows):
    with open(path + ".part", "w", encoding="utf-8") as f:
        json.dump({"vktrain_bench": 1, "info": info, "results": rows}, f, indent=1)
    os.replace(path + ".part", path)


def main():
    global WARM_S, MEASURE_S, MIN_RUNS
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("mine", help="what `vktrain bench --json` wrote or `vktrain bench --list` printed")
    options.add_argument("--match", action="store_true", help="only say which names have a counterpart")
    options.add_argument("--device", help="cuda where there is one, else cpu")
    options.add_argument("--compile", action="store_true", help="torch.compile the steps")
    options.add_argument("--only", default="", help="rows with this in their name, or one of several with | between")
    options.add_argument("--seconds", type=float, default=float("inf"), help="begin no row later than this")
    options.add_argument("--brief", action="store_true", help="half a second a row")
    options.add_argument("--json", help="the file to write")
    args = options.parse_args()
    if args.match:
        sys.exit(1 if matched(args.mine) else 0)
    if not args.json:
        options.error("--json FILE is missing")
    if args.brief:
        WARM_S, MEASURE_S, MIN_RUNS = 0.1, 0.4, 3
    ends = time.monotonic() + args.seconds
    header, mine = rows_of(args.mine)
    import torch

    torch.manual_seed(0)
    there = [d for d in ("cuda", "xpu", "mps") if hasattr(torch, d) and (torch.backends.mps if d == "mps" else getattr(torch, d)).is_available()]
    device = torch.device(args.device or (there + ["cpu"])[0])
    cpu = header.get("cpu") or platform.processor() or platform.machine()
    name = cpu if device.type == "cpu" else "Apple GPU" if device.type == "mps" else getattr(torch, device.type).get_device_name()
    keys = header or ("device", "type", "driver", "api", "caps", "version", "commit", "host", "power", "date", "clock", "settings")
    info = dict.fromkeys(keys, "unknown")
    info.update(device=name, type=device.type, driver="PyTorch " + torch.__version__, api="ROCm " + torch.version.hip if torch.version.hip else f"CUDA {torch.version.cuda}",
                version=torch.__version__, host=header.get("host", platform.node()), clock="wall clock",
                date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                settings=("compiled" if args.compile else "eager") + ("" if device.type != "cpu" else ", the better of 1 thread and all"))
    rows, left, late = [], 0, 0
    for row in mine:
        if args.only and not any(text in row["name"] for text in args.only.split("|")):
            continue
        if time.monotonic() > ends:
            late += 1
            continue
        try:
            theirs = row_of(row, device, args.compile)
        except Exception as e:  # a compiler that is not there, no memory: the others go on
            print(f"{row['name']}: {type(e).__name__}: {str(e)[:150]!r}", file=sys.stderr, flush=True)
            theirs = refused_row(row, f"{type(e).__name__}: {' '.join(str(e).split())[:150]}")
        if theirs is None:
            left += 1
            continue
        rows.append(theirs)
        save(args.json, info, rows)
        if theirs["refused"]:
            continue
        ours = "" if row["value"] is None else f"vktrain {row['value']:10.4g}  "
        ratio = "" if row["value"] is None else f"  ratio {row['value'] / theirs['value']:.2f}"
        print(f"{row['name']:44} {ours}PyTorch {theirs['value']:10.4g} {row['unit']}{ratio}", flush=True)
    print(f"{len(rows)} rows measured, {left} without a counterpart here" + (f", {late} without time" if late else ""), file=sys.stderr)


if __name__ == "__main__":
    main()
