#!/usr/bin/env python3
"""The rows of a `vktrain bench --json` file that PyTorch can run too, measured in PyTorch on the same machine.

  peer_torch.py MINE.json [--device cuda|cpu] [--compile] --json TORCH.json
  vktrain bench compare MINE.json TORCH.json

A row is recognised by its name: matrix products ("matmul NT M 128 N 256 K 784"), training steps of multilayer perceptrons
("MLP 784-512-512-10, batch 128, adam"), of the convolutional ones and of language models ("GPT 0.8M, 12 x 64 tokens, adamw"), also with
adapters ("SmolLM2-135M LoRA, 1 x 512 tokens, adamw": rank 8 on each of the seven projections, AdamW on these). The rest is left out, and said. fp32 means fp32: TensorFloat-32 is off. A step is
batch to device, forward, backward, norm of the gradients, update, eagerly unless --compile; Adam is PyTorch's fused one where there is one.
Needs PyTorch and nothing else; a development tool, no part of vktrain.
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

import torch
import torch.nn.functional as F

WARM_S, MEASURE_S, MIN_RUNS = 0.5, 1.5, 11
DTYPES = {"": torch.float32, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def sync(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


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
    if device.type == "cuda":
        return sorted(timed(device, call))
    tries = []
    for threads in sorted({1, os.cpu_count()}):
        torch.set_num_threads(threads)
        tries.append(sorted(timed(device, call)))
    return min(tries, key=statistics.median)


def matmul(match, device, _):
    layout, m, n, k = match["layout"], int(match["m"]), int(match["n"]), int(match["k"])
    dtype = DTYPES[match["dtype"] or ""]
    a = torch.randn((k, m) if layout == "TN" else (m, k), device=device).to(dtype)
    b = torch.randn((n, k) if layout == "NT" else (k, n), device=device).to(dtype)
    out = torch.empty((m, n), device=device, dtype=dtype)
    left, right = a.T if layout == "TN" else a, b.T if layout == "NT" else b
    return lambda: torch.matmul(left, right, out=out), 2.0 * m * n * k, None


def mlp(match, device, compiled):
    sizes, batch = [int(s) for s in match["sizes"].split("-")], int(match["batch"])
    dtype = DTYPES[match["dtype"] or ""]
    layers = []
    for i, (before, after) in enumerate(zip(sizes, sizes[1:])):
        layers += [torch.nn.ReLU()] * (i > 0) + [torch.nn.Linear(before, after)]
    model = torch.nn.Sequential(*layers).to(device)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if device.type == "cuda" else {}))
    x_host, y_host = torch.rand(batch, sizes[0]), torch.randint(sizes[-1], (batch,))
    if device.type == "cuda":
        x_host, y_host = x_host.pin_memory(), y_host.pin_memory()

    def forward(x, y):
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            return F.cross_entropy(model(x), y)

    loss_of = torch.compile(forward) if compiled else forward

    def step():
        x, y = x_host.to(device, non_blocking=True), y_host.to(device, non_blocking=True)
        adam.zero_grad(set_to_none=True)
        loss_of(x, y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)  # vktrain computes the norm every step
        adam.step()

    flops = 6.0 * batch * sum(a * b for a, b in zip(sizes, sizes[1:])) - 2.0 * batch * sizes[0] * sizes[1]
    return step, flops, batch


def conv_bn_relu(before, after, stride=1):
    return [torch.nn.Conv2d(before, after, 3, stride, 1, bias=False), torch.nn.BatchNorm2d(after), torch.nn.ReLU()]


class BasicBlock(torch.nn.Module):
    """Two 3x3 convolutions and a shortcut, a 1x1 convolution where the shape changes (He et al. 2015, option B)."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.body = torch.nn.Sequential(*conv_bn_relu(before, after, stride), *conv_bn_relu(after, after)[:2])
        self.shortcut = torch.nn.Sequential()
        if stride > 1 or before != after:
            self.shortcut = torch.nn.Sequential(torch.nn.Conv2d(before, after, 1, stride, bias=False), torch.nn.BatchNorm2d(after))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def small_cnn():
    return torch.nn.Sequential(*conv_bn_relu(1, 32), torch.nn.MaxPool2d(2), *conv_bn_relu(32, 64), torch.nn.MaxPool2d(2),
                               torch.nn.Flatten(), torch.nn.Linear(64 * 7 * 7, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def resnet20():
    blocks = [BasicBlock(b, a, s) for b, a, s in [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 64, 2)] + [(64, 64, 1)] * 2]
    return torch.nn.Sequential(*conv_bn_relu(3, 16), *blocks, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10))


IMAGE_MODELS = {"CNN 28x28, conv 32-64": (small_cnn, (1, 28, 28)), "ResNet-20 32x32": (resnet20, (3, 32, 32))}


def image_model(match, device, compiled):
    make, shape = IMAGE_MODELS[match["model"]]
    batch, model = int(match["batch"]), make().to(device, memory_format=torch.channels_last)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if device.type == "cuda" else {}))
    x_host, y_host = torch.rand(batch, *shape).contiguous(memory_format=torch.channels_last), torch.randint(10, (batch,))
    if device.type == "cuda":
        x_host, y_host = x_host.pin_memory(), y_host.pin_memory()
    forward = torch.compile(model) if compiled else model

    def step():
        x, y = x_host.to(device, non_blocking=True), y_host.to(device, non_blocking=True)
        adam.zero_grad(set_to_none=True)
        F.cross_entropy(forward(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)  # vktrain computes the norm every step
        adam.step()

    return step, None, batch


class Adapted(torch.nn.Module):
    """A frozen layer whose outputs are those of several projections, with an adapter (LoRA) on each."""

    def __init__(self, layer, parts, rank):
        super().__init__()
        self.layer, self.rank = layer, rank
        self.a = torch.nn.Parameter(torch.randn(rank * len(parts), layer.in_features) * (3 * layer.in_features) ** -0.5)
        self.b = torch.nn.ParameterList(torch.zeros(n, rank) for n in parts)

    def forward(self, x):
        low = F.linear(x, self.a) * 2  # alpha is twice the rank
        return self.layer(x) + torch.cat([F.linear(l, b) for l, b in zip(low.split(self.rank, -1), self.b)], -1)


class Block(torch.nn.Module):
    """A block of GPT-2's kind, or (kv > 0) of Llama's: RMSNorm, rotary positions, shared keys, a gated mlp."""

    def __init__(self, width, heads, kv, mlp):
        super().__init__()
        self.heads, self.kv, self.size = heads, kv or heads, width // heads
        self.llama, linear = kv > 0, torch.nn.Linear
        norm = torch.nn.RMSNorm if self.llama else torch.nn.LayerNorm
        self.n1, self.n2 = norm(width), norm(width)
        self.qkv = linear(width, (heads + 2 * self.kv) * self.size, bias=not self.llama)
        self.out = linear(width, width, bias=not self.llama)
        self.up = linear(width, mlp * (2 if self.llama else 1), bias=not self.llama)
        self.down = linear(mlp, width, bias=not self.llama)

    def adapt(self, rank):
        width, mlp = self.out.in_features, self.down.in_features
        self.qkv = Adapted(self.qkv, [n * self.size for n in (self.heads, self.kv, self.kv)], rank)
        self.out = Adapted(self.out, [width], rank)
        self.up = Adapted(self.up, [mlp] * (2 if self.llama else 1), rank)
        self.down = Adapted(self.down, [width], rank)

    def rotate(self, x, angles):
        cos, sin = angles
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x, angles):
        b, t, width = x.shape
        sizes = [n * self.size for n in (self.heads, self.kv, self.kv)]
        q, k, v = (part.view(b, t, -1, self.size).transpose(1, 2) for part in self.qkv(self.n1(x)).split(sizes, 2))
        if self.llama:
            q, k = self.rotate(q, angles), self.rotate(k, angles)
            k, v = (part.repeat_interleave(self.heads // self.kv, 1) for part in (k, v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, width))
        h = self.up(self.n2(x))
        if self.llama:
            gate, up = h.chunk(2, -1)
            return x + self.down(F.silu(gate) * up)
        return x + self.down(F.gelu(h, approximate="tanh"))


class LanguageModel(torch.nn.Module):
    def __init__(self, context, vocab, layers, width, heads, kv, mlp):
        super().__init__()
        self.tokens = torch.nn.Embedding(vocab, width)
        self.positions = None if kv else torch.nn.Embedding(context, width)
        self.blocks = torch.nn.ModuleList(Block(width, heads, kv, mlp) for _ in range(layers))
        self.norm = torch.nn.RMSNorm(width) if kv else torch.nn.LayerNorm(width)
        size = width // heads
        angles = torch.arange(context)[:, None] * 1e4 ** (-torch.arange(0, size, 2) / size)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        x = self.tokens(ids)
        if self.positions:
            x = x + self.positions.weight
        for block in self.blocks:
            x = block(x, (self.cos, self.sin))
        return F.linear(self.norm(x), self.tokens.weight)


GEOMETRIES = {  # vocabulary, layers, width, heads, heads of keys (0: GPT-2's kind), mlp
    "GPT 0.8M": (65, 4, 128, 4, 0, 512),
    "GPT 10.8M": (65, 6, 384, 6, 0, 1536),
    "GPT-2 124M": (50257, 12, 768, 12, 0, 3072),
    "SmolLM2-135M": (49152, 30, 576, 9, 3, 1536),
    "TinyLlama-1.1B": (32000, 22, 2048, 32, 4, 5632),
}


def language_model(match, device, compiled):
    geometry, batch, context = GEOMETRIES[match["model"]], int(match["batch"]), int(match["context"])
    dtype = DTYPES[match["dtype"] or ""]
    model = LanguageModel(context, *geometry)
    if match["lora"]:
        model.requires_grad_(False)
        for block in model.blocks:
            block.adapt(8)
    model = model.to(device)
    trained = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.AdamW(trained, lr=1e-4, **({"fused": True} if device.type == "cuda" else {}))
    ids_host = torch.randint(geometry[0], (batch, context + 1))
    if device.type == "cuda":
        ids_host = ids_host.pin_memory()

    def forward(ids):
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    loss_of = torch.compile(forward) if compiled else forward

    def step():
        ids = ids_host.to(device, non_blocking=True)
        adam.zero_grad(set_to_none=True)
        loss_of(ids).backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        adam.step()

    n_params = sum(p.numel() for p in model.parameters()) - (model.positions.weight.numel() if model.positions else 0)
    attention = 6.0 * batch * context * (context + 1) * geometry[1] * geometry[2]  # causal; forward and twice that
    each = 4.0 if match["lora"] else 6.0  # frozen weights have no gradients
    return step, each * n_params * batch * context + attention, batch * context


KINDS = [
    (re.compile(r"matmul (?P<layout>NT|NN|TN) M (?P<m>\d+) N (?P<n>\d+) K (?P<k>\d+)(?: (?P<dtype>bf16|fp16))?$"), matmul),
    (re.compile(r"MLP (?P<sizes>\d+(?:-\d+)+), batch (?P<batch>\d+), adam(?:, (?P<dtype>bf16|fp16))?$"), mlp),
    (re.compile(r"(?P<model>GPT 0\.8M|GPT 10\.8M|GPT-2 124M|SmolLM2-135M|TinyLlama-1\.1B)(?P<lora> LoRA)?, (?P<batch>\d+) x (?P<context>\d+) tokens, "
                r"(?:adamw|(?P<dtype>bf16|fp16))$"), language_model),
    (re.compile(r"(?P<model>CNN 28x28, conv 32-64|ResNet-20 32x32), batch (?P<batch>\d+), adam$"), image_model),
]


def row_of(mine, device, compiled):
    """The same row measured here, or None where PyTorch has no counterpart."""
    for pattern, make in KINDS:
        match = pattern.match(mine["name"])
        if not match:
            continue
        call, flops, items = make(match, device, compiled)
        unit_s = {"us": 1e-6, "ms": 1e-3, "s": 1.0}[mine["unit"]]
        runs = best_runs(device, call)
        quartiles = statistics.quantiles(runs, n=4)
        median = statistics.median(runs)
        row = {key: None for key in mine}
        row.update(group=mine["group"], name=mine["name"], unit=mine["unit"], better=mine["better"], runs=len(runs),
                   value=median / unit_s, min=runs[0] / unit_s, max=runs[-1] / unit_s, q1=quartiles[0] / unit_s,
                   q3=quartiles[2] / unit_s, gflops=flops and flops / median / 1e9, note="PyTorch " + torch.__version__)
        if items:
            row["items_per_s"] = items / median
        return row
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("mine", help="what `vktrain bench --json` wrote")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--compile", action="store_true", help="torch.compile the steps")
    options.add_argument("--json", required=True, help="the file to write")
    args = options.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    device = torch.device(args.device)
    with open(args.mine, encoding="utf-8") as f:
        mine = json.load(f)
    name = torch.cuda.get_device_name() if device.type == "cuda" else platform.processor() or platform.machine()
    info = dict.fromkeys(mine["info"], "unknown")
    info.update(device=name, type=device.type, driver="PyTorch " + torch.__version__, api=f"CUDA {torch.version.cuda}",
                version=torch.__version__, host=mine["info"]["host"], clock="wall clock",
                date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                settings=("compiled" if args.compile else "eager") + ("" if device.type == "cuda" else ", the better of 1 thread and all"))
    rows, left = [], 0
    for row in mine["results"]:
        theirs = row_of(row, device, args.compile) if not row["refused"] else None
        if theirs is None:
            left += 1
            continue
        rows.append(theirs)
        print(f"{row['name']:44} vktrain {row['value']:10.4g}  PyTorch {theirs['value']:10.4g} {row['unit']}"
              f"  ratio {row['value'] / theirs['value']:.2f}", flush=True)
    with open(args.json, "w", encoding="utf-8") as f:
        json.dump({"vktrain_bench": 1, "info": info, "results": rows}, f, indent=1)
    print(f"{len(rows)} rows measured, {left} without a counterpart here", file=sys.stderr)


if __name__ == "__main__":
    main()
