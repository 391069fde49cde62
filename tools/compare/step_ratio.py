#!/usr/bin/env python3
"""A step by a traced Python function, or of an imported ONNX net, beside the built-in recipe's: CPU seconds of a process (all of its threads) per step.
usage: step_ratio.py PROGRAM [PAIRS] [NAME ...]     mlp, gpt: traced; onnx-mlp, onnx-resnet20: imported; VKTRAIN_LIBRARY as always
Each side runs twice, with few and with many steps: what differs between the two is what the steps cost, without start and compilation. The sides
alternate; medians of their ratios. On a CPU driver the device's work is CPU time, so that other programs do not count."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

RECIPES = {
    "mlp": "data: {source: digits}\nmodel: [flatten, linear: 512, relu, linear: 512, relu, linear]\noptim: {rule: adamw, lr: 0.001}\ntrain: {steps: 1, batch: 64}\n",
    "gpt": "data: {source: novel, tokenizer: chars, context: 64}\nmodel: [transformer: {layers: 4, heads: 4, width: 128}]\noptim: {rule: adamw, lr: 0.001}\n"
           "train: {steps: 1, batch: 12}\n",
    "resnet20": "data: {source: digits}\nmodel:\n  - conv: {out: 16, bias: false}\n  - batch_norm\n  - relu\n  - basic_block: 16\n  - basic_block: 16\n  - basic_block: 16\n"
                "  - basic_block: {out: 32, stride: 2}\n  - basic_block: 32\n  - basic_block: 32\n  - basic_block: {out: 64, stride: 2}\n  - basic_block: 64\n"
                "  - basic_block: 64\n  - global_pool\n  - linear\noptim: {rule: adamw, lr: 0.001}\ntrain: {steps: 1, batch: 64}\n",
}
STEPS = {"mlp": (100, 500), "gpt": (5, 25), "resnet20": (4, 16)}


def traced(name, steps):
    import numpy as np
    import vktrain
    from vktrain import nn, optim
    f, rng = nn.functional, np.random.default_rng(1)
    if name == "mlp":
        net = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        x, y = rng.random((64, 64), np.float32), rng.integers(0, 10, 64).astype(np.uint32)
    else:
        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x):
                h = self.n1(x)
                x = x + self.attention(h, h, h, is_causal=True, need_weights=False)[0]
                return x + self.down(f.gelu(self.up(self.n2(x)), approximate="tanh"))

        class Gpt(nn.Module):
            def __init__(self, vocab=87, width=128, context=64):
                super().__init__()
                self.tokens, self.places = nn.Embedding(vocab, width), nn.Embedding(context, width)
                self.blocks = nn.ModuleList([Block(width) for _ in range(4)])
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)

            def forward(self, ids):
                x = self.tokens(ids) + self.places.weight
                for b in self.blocks:
                    x = b(x)
                return self.head(self.norm(x)).transpose(1, 2)
        net = Gpt()
        x, y = rng.integers(0, 87, (12, 64)), rng.integers(0, 87, (12, 64))
    optimizer = optim.AdamW(net, lr=1e-3)

    @vktrain.jit
    def step(x, y):
        loss = f.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(steps):
        loss = step(x, y)
    loss.item()


def cpu(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if p.returncode:
        sys.exit(p.stderr[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def per_step(command, name, folder):
    few, many = STEPS[name]
    return (cpu(command(many), folder) - cpu(command(few), folder)) / (many - few)


def main():
    if sys.argv[1:2] == ["--traced"]:
        return traced(sys.argv[2], int(sys.argv[3]))
    program, pairs = os.path.abspath(sys.argv[1]), int((sys.argv[2:] or ["3"])[0])
    with tempfile.TemporaryDirectory() as folder:
        for k, text in RECIPES.items():
            open(f"{folder}/{k}.yaml", "w").write(text)
        quiet = ["--quiet", "--no-baseline"] if "--no-baseline" in subprocess.run([program, "train", "--help"], capture_output=True, text=True).stdout else ["--quiet"]

        def train(recipe):
            return lambda n: [program, "train", recipe, "--set", f"train.steps={n}", "--set", f"eval.every={n}", "--set", "eval.sample=64",
                              "--run", f"r{os.urandom(4).hex()}", *quiet]
        for name in sys.argv[3:] or ["mlp", "gpt", "onnx-mlp", "onnx-resnet20"]:
            of = name.removeprefix("onnx-")
            if name == of:
                other = lambda n: [sys.executable, os.path.abspath(__file__), "--traced", of, str(n)]
            else:
                cpu([program, "train", f"{of}.yaml", "--run", of, *quiet], folder)
                cpu([program, "export", of, "-o", f"{of}.onnx"], folder)
                lines = RECIPES[of].splitlines()
                at = next(i for i, l in enumerate(lines) if l.startswith("model"))
                end = next(i for i, l in enumerate(lines) if l.startswith("optim"))
                open(f"{folder}/{name}.yaml", "w").write("\n".join(lines[:at] + [f"model: {{onnx: {of}.onnx}}"] + lines[end:]) + "\n")
                other = train(f"{name}.yaml")
            both = []
            for _ in range(pairs):
                built, new = per_step(train(f"{of}.yaml"), of, folder), per_step(other, of, folder)
                both.append((built, new))
                print(f"{name}: built in {1e3 * built:.2f} ms, {'traced' if name == of else 'imported'} {1e3 * new:.2f} ms: {new / built:.2f}", flush=True)
            print(f"{name}: median ratio of {pairs} pairs {statistics.median(n / b for b, n in both):.2f}", flush=True)


if __name__ == "__main__":
    main()
