#!/usr/bin/env python3
"""Nets of many architectures, as torch.onnx exports them, through the twins: outputs as ONNX Runtime's, and the gradients of
sum(weight * output) as PyTorch's in double precision, which are what a step of SGD takes. Each architecture in two forms. Needs
build-test/test_onnx, PyTorch, onnx and onnxruntime (the lab's --peers).
usage: check_onnx_nets.py make FOLDER        writes the nets, their inputs, outputs and gradients
       check_onnx_nets.py run FOLDER TEST_ONNX
"""
import os
import re
import subprocess
import sys

LIMIT = 1e-5


def nets():
    import torch
    from torch import nn
    F = nn.functional

    def conv(i, o, k=3, s=1, g=1, act=nn.ReLU, d=1):
        return nn.Sequential(nn.Conv2d(i, o, k, s, d * (k // 2), d, g, bias=False), nn.BatchNorm2d(o), act())

    class Add(nn.Module):
        def __init__(self, body, short=None, after=nn.Identity()):
            super().__init__()
            self.body, self.short, self.after = body, short or nn.Identity(), after

        def forward(self, x):
            return self.after(self.body(x) + self.short(x))

    class Cat(nn.Module):
        def __init__(self, *parts):
            super().__init__()
            self.parts = nn.ModuleList(parts)

        def forward(self, x):
            return torch.cat([p(x) for p in self.parts], 1)

    class Call(nn.Module):
        def __init__(self, fn):
            super().__init__()
            self.fn = fn

        def forward(self, x):
            return self.fn(x)

    class Squeeze(nn.Module):
        def __init__(self, c, act, gate):
            super().__init__()
            self.a, self.b, self.act, self.gate = nn.Conv2d(c, c // 2, 1), nn.Conv2d(c // 2, c, 1), act, gate

        def forward(self, x):
            return x * self.gate(self.b(self.act(self.a(x.mean((2, 3), keepdim=True)))))

    class Attention(nn.Module):
        def __init__(self, c, heads, causal=False):
            super().__init__()
            self.qkv, self.out, self.heads, self.causal = nn.Linear(c, 3 * c), nn.Linear(c, c), heads, causal

        def forward(self, x):
            n, t, c = x.shape
            q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = q @ k.transpose(-1, -2) / (c // self.heads) ** 0.5
            if self.causal:
                y = y.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
            return self.out((y.softmax(-1) @ v).transpose(1, 2).reshape(n, t, c))

    def block(c, heads, act, causal=False, post=False):
        mlp = nn.Sequential(nn.Linear(c, 2 * c), act(), nn.Linear(2 * c, c))
        if post:
            return nn.Sequential(Add(Attention(c, heads, causal)), nn.LayerNorm(c), Add(mlp), nn.LayerNorm(c))
        return nn.Sequential(Add(nn.Sequential(nn.LayerNorm(c), Attention(c, heads, causal))), Add(nn.Sequential(nn.LayerNorm(c), mlp)))

    def head(c, out=3):
        return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, out))

    def inverted(i, o, k, s, act, squeeze=None):
        m = 2 * i
        parts = [conv(i, m, 1, act=act), conv(m, m, k, s, m, act), *([squeeze] if squeeze else []), conv(m, o, 1, act=nn.Identity)]
        return Add(nn.Sequential(*parts)) if s == 1 and i == o else nn.Sequential(*parts)

    def bottleneck(c, m, o, s=1, g=1):
        return Add(nn.Sequential(conv(c, m, 1), conv(m, m, 3, s, g), conv(m, o, 1, act=nn.Identity)), conv(c, o, 1, s, act=nn.Identity), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, c, transposed):
            super().__init__()
            self.a, self.b, self.c = conv(3, c), conv(c, 2 * c), conv(3 * c if not transposed else 2 * c, c)
            self.up = nn.ConvTranspose2d(2 * c, c, 2, 2) if transposed else nn.Upsample(scale_factor=2, mode="bilinear")
            self.out = nn.Conv2d(c, 2, 1)

        def forward(self, x):
            a = self.a(x)
            return self.out(self.c(torch.cat([a, self.up(self.b(F.max_pool2d(a, 2)))], 1)))

    class Recurrent(nn.Module):
        def __init__(self, kind, **how):
            super().__init__()
            self.r, self.out = kind(4, 6, batch_first=True, **how), nn.Linear(12 if how.get("bidirectional") else 6, 3)

        def forward(self, x):
            return self.out(self.r(x)[0][:, -1])

    class Words(nn.Module):
        def __init__(self, causal, act, post):
            super().__init__()
            self.table, self.places = nn.Embedding(13, 8), nn.Parameter(torch.randn(1, 6, 8) * 0.1)
            self.body, self.norm, self.out = nn.Sequential(*(block(8, 2, act, causal, post) for _ in range(2))), nn.LayerNorm(8), nn.Linear(8, 13)

        def forward(self, x):
            return self.out(self.norm(self.body(self.table(x) + self.places)))

    class Windows(nn.Module):
        """Attention in windows of 4 x 4, shifted by 2 by rolling."""

        def __init__(self, c, shift):
            super().__init__()
            self.embed, self.block, self.shift, self.out = nn.Conv2d(3, c, 2, 2), block(c, 2, nn.GELU), shift, nn.Linear(c, 3)

        def forward(self, x):
            x = self.embed(x).permute(0, 2, 3, 1)
            n, h, w, c = x.shape
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
            x = x.reshape(-1, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)
            x = self.block(x).reshape(-1, h // 4, w // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, h, w, c)
            return self.out(torch.roll(x, (self.shift, self.shift), (1, 2)).mean((1, 2)))

    class Gated(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.f, self.g = nn.Conv1d(c, c, 3, padding=d, dilation=d), nn.Conv1d(c, c, 3, padding=d, dilation=d)

        def forward(self, x):
            return x + torch.tanh(self.f(x)) * torch.sigmoid(self.g(x))

    class Boxes(nn.Module):
        def __init__(self, c, act):
            super().__init__()
            self.a, self.b, self.c, self.d = conv(3, c, act=act), conv(c, c, 3, 2, act=act), conv(2 * c, c, act=act), nn.Conv2d(c, 10, 1)

        def forward(self, x):
            a = self.a(x)
            y = self.d(self.c(torch.cat([a, F.interpolate(self.b(a), scale_factor=2, mode="nearest")], 1)))
            y = y.reshape(y.shape[0], 2, 5, -1).permute(0, 1, 3, 2)
            xy, wh, score = y.split((2, 2, 1), -1)
            return torch.cat([xy.sigmoid() * 2 - 0.5, (wh.sigmoid() * 2) ** 2, score], -1).reshape(y.shape[0], -1, 5)

    shuffle = Call(lambda x: x.reshape(-1, 2, x.shape[1] // 2, *x.shape[2:]).transpose(1, 2).reshape(-1, *x.shape[1:]))
    to_tokens, to_last, to_first = Call(lambda x: x.flatten(2).transpose(1, 2)), Call(lambda x: x.permute(0, 2, 3, 1)), Call(lambda x: x.permute(0, 3, 1, 2))
    S, picture, relu = nn.Sequential, torch.randn(2, 3, 16, 16), nn.ReLU
    for form in (0, 1):
        act = (relu, nn.GELU)[form]
        c = (8, 12)[form]
        yield f"mlp{form}", S(nn.Linear(10, 16), act(), nn.Linear(16, 16), (nn.Tanh, nn.ELU)[form](), nn.Linear(16, 3)), torch.randn(3, 10)
        yield f"lenet{form}", S(nn.Conv2d(3, 6, 5), (relu, nn.Tanh)[form](), (nn.MaxPool2d, nn.AvgPool2d)[form](2), nn.Conv2d(6, 8, 3), act(), nn.Flatten(), nn.Linear(128, 3)), picture
        yield f"vgg{form}", S(conv(3, c), conv(c, c), nn.MaxPool2d(2), conv(c, 2 * c), nn.MaxPool2d((2, 3)[form], 2, (0, 1)[form]), head(2 * c)), picture
        yield f"resnet{form}", S(conv(3, c), Add(S(conv(c, c), conv(c, c, act=nn.Identity)), after=act()), Add(S(conv(c, 2 * c, 3, 2), conv(2 * c, 2 * c, act=nn.Identity)), conv(c, 2 * c, 1, 2, act=nn.Identity), act()), head(2 * c)), picture
        yield f"bottleneck{form}", S(conv(3, c, 7, 2), nn.MaxPool2d(3, 2, 1), bottleneck(c, c, 2 * c, 1, (1, 4)[form]), head(2 * c)), picture
        yield f"densenet{form}", S(conv(3, c), Cat(nn.Identity(), conv(c, 4)), Cat(nn.Identity(), conv(c + 4, 4)), nn.BatchNorm2d(c + 8), relu(), nn.AvgPool2d(2), head(c + 8)), picture
        yield f"mobilenet{form}", S(conv(3, c, 3, 2, act=nn.ReLU6), inverted(c, c, 3, 1, nn.ReLU6), inverted(c, 2 * c, (3, 5)[form], 2, nn.ReLU6), head(2 * c)), picture
        yield f"mobilenet3{form}", S(conv(3, c, 3, 2, act=nn.Hardswish), inverted(c, c, 3, 1, nn.Hardswish, Squeeze(2 * c, relu(), nn.Hardsigmoid())), head(c)), picture
        yield f"efficientnet{form}", S(conv(3, c, 3, 2, act=nn.SiLU), inverted(c, c, 5, 1, nn.SiLU, Squeeze(2 * c, nn.SiLU(), nn.Sigmoid())), head(c)), picture
        yield f"shufflenet{form}", S(conv(3, c, 3, 2), Add(S(conv(c, c, 1, g=2), shuffle, conv(c, c, 3, g=c, act=nn.Identity), conv(c, c, 1, g=2, act=nn.Identity)), after=relu()), head(c)), picture
        yield f"squeezenet{form}", S(nn.Conv2d(3, c, 3, 2), act(), nn.MaxPool2d(3, 2, ceil_mode=True), nn.Conv2d(c, 4, 1), relu(), Cat(nn.Conv2d(4, c, 1), nn.Conv2d(4, c, 3, padding=1)), relu(), nn.Conv2d(2 * c, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()), picture
        yield f"inception{form}", S(conv(3, c), Cat(conv(c, 4, 1), S(conv(c, 4, 1), conv(4, 4, 5)), S(nn.AvgPool2d(3, 1, 1, count_include_pad=not form), conv(c, 4, 1)), S(nn.MaxPool2d(3, 1, 1), conv(c, 4, 1))), head(16)), picture
        yield f"convnext{form}", S(nn.Conv2d(3, c, 4, 4), to_last, nn.LayerNorm(c), to_first, Add(S(nn.Conv2d(c, c, 7, padding=3, groups=c), to_last, nn.LayerNorm(c, 1e-6), nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c), to_first)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(c), nn.Linear(c, 3)), picture
        yield f"vit{form}", S(nn.Conv2d(3, c, 4, 4), to_tokens, *(block(c, 2, nn.GELU) for _ in range(1 + form)), nn.LayerNorm(c), Call(lambda x: x.mean(1)), nn.Linear(c, 3)), picture
        yield f"swin{form}", Windows(c, (0, 2)[form]), picture
        yield f"mixer{form}", S(nn.Conv2d(3, c, 4, 4), to_tokens, Add(S(nn.LayerNorm(c), Call(lambda x: x.transpose(1, 2)), nn.Linear(16, 8), act(), nn.Linear(8, 16), Call(lambda x: x.transpose(1, 2)))), Add(S(nn.LayerNorm(c), nn.Linear(c, 2 * c), act(), nn.Linear(2 * c, c))), Call(lambda x: x.mean(1)), nn.Linear(c, 3)), picture
        yield f"unet{form}", UNet(c, not form), picture
        yield f"deeplab{form}", S(conv(3, c), Cat(conv(c, 4, 1), conv(c, 4, 3, d=2), conv(c, 4, 3, d=(3, 4)[form])), conv(12, c, 1), nn.Conv2d(c, 2, 1), nn.Upsample(scale_factor=2, mode=("bilinear", "bicubic")[form])), picture
        yield f"superresolution{form}", S(nn.Conv2d(3, c, 5, padding=2), (relu, nn.PReLU)[form](), nn.Conv2d(c, 12, 3, padding=1), nn.PixelShuffle(2)), picture
        yield f"style{form}", S(nn.ReflectionPad2d(2), nn.Conv2d(3, c, 5), nn.InstanceNorm2d(c, affine=True), act(), nn.Conv2d(c, c, 3, 2, 1), nn.GroupNorm(4, c), relu(), nn.Upsample(scale_factor=2), nn.Conv2d(c, 3, 3, padding=1), nn.Tanh()), picture
        yield f"wavenet{form}", S(nn.Conv1d(2, c, 1), Gated(c, 1), Gated(c, 2 + form), act(), nn.Conv1d(c, 3, 1)), torch.randn(2, 2, 20)
        yield f"recurrent{form}", Recurrent((nn.LSTM, nn.GRU)[form], **({"bidirectional": True}, {"num_layers": 2})[form]), torch.randn(2, 5, 4)
        yield f"words{form}", Words(bool(form), (nn.GELU, nn.SiLU)[form], not form), torch.randint(0, 13, (2, 6))
        yield f"boxes{form}", Boxes(c, (nn.SiLU, nn.LeakyReLU)[form]), picture


def make(folder):
    import warnings
    import numpy as np
    import onnx
    import onnxruntime
    import torch
    from onnx import numpy_helper
    from torch import nn
    warnings.filterwarnings("ignore")
    torch.manual_seed(11)

    def put(to, name, i, array, tensor_name="x"):
        with open(os.path.join(to, f"{name}_{i}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(np.array(array, order="C"), tensor_name).SerializeToString())
    for name, model, x in nets():
        to = os.path.join(folder, name)
        os.makedirs(to, exist_ok=True)
        for m in model.modules():
            if isinstance(m, (nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm2d)):
                nn.init.uniform_(m.weight, 0.5, 1.5)
                nn.init.normal_(m.bias, 0, 0.2)
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.3)
                m.running_var.uniform_(0.5, 2)
        path = os.path.join(to, "model.onnx")
        torch.onnx.export(model.eval(), x[:1], path, dynamo=False, input_names=["input"], output_names=["output"], opset_version=17,
                          dynamic_axes={"input": {0: "N"}, "output": {0: "N"}}, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
        put(to, "input", 0, x.numpy())
        put(to, "output", 0, onnxruntime.InferenceSession(path).run(None, {"input": x.numpy()})[0])
        out = model.double()(x.double() if x.is_floating_point() else x)
        weight = torch.cos(torch.arange(out.numel(), dtype=torch.float64) ** 2 * 3.7).reshape(out.shape)
        (out * weight).sum().backward()
        put(to, "weight", 0, weight.numpy())
        grads = {n: p.grad.numpy() for n, p in model.named_parameters() if p.grad is not None}
        for i, n in enumerate([t.name for t in onnx.load(path).graph.initializer if t.name in grads][:47]):
            put(to, "grad", i, grads[n], n)


def run(folder, program):
    bad = 0
    names = sorted(os.listdir(folder))
    for name in names:
        to = os.path.join(folder, name)
        done = subprocess.run([program, to], capture_output=True, text=True)
        line = done.stdout.strip().split("\n")[-1]
        worst = re.match(r"ok (\S+)", line)
        grads = sum(f.startswith("grad_") for f in os.listdir(to))
        ok = worst and float(worst[1]) <= LIMIT
        bad += not ok
        print(f"{'ok ' if ok else 'BAD'} {name:18} {worst[1] if worst else line[:200]:>10}  {grads} gradients")
    print(f"{len(names) - bad} of {len(names)} nets within {LIMIT}")
    return bad > 0


sys.exit(make(sys.argv[2]) if sys.argv[1] == "make" else run(*sys.argv[2:]))
