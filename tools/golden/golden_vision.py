"""Writes tests/golden/vision.json: names and shapes of the tensors of ViT (as timm saves them), ConvNeXt and MobileNetV3 (as torchvision does),
from the architectures written here in plain PyTorch (arXiv 2010.11929, 2201.03545, 1905.02244), and their blocks' outputs, gradients and running
statistics in double, in the form of tests/golden/layers.json.
Run: python3 tools/golden/golden_vision.py (PyTorch). tools/compare/check_pretrained.sh takes the models from here."""
import json
import pathlib

import numpy as np
import torch
from torch import nn


# ---- ViT, timm's names ----


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).reshape(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        p = torch.softmax(q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5, -1)
        return self.proj((p @ v).transpose(1, 2).reshape(n, t, c))


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class VitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, eps=1e-6), Attention(width, heads)
        self.norm2, self.mlp = nn.LayerNorm(width, eps=1e-6), Mlp(width, 4 * width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Tokens(nn.Module):
    """[N, C, H, W] to [N, 1 + H W, C]."""

    def __init__(self, width, pixels):
        super().__init__()
        self.cls_token, self.pos_embed = nn.Parameter(torch.zeros(1, 1, width)), nn.Parameter(torch.zeros(1, 1 + pixels, width))

    def forward(self, x):
        x = x.flatten(2).transpose(1, 2)
        return torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed


class Patches(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Conv2d(3, width, 16, 16)


class Vit(Tokens):
    def __init__(self, width, heads, depth, classes=1000, size=224):
        super().__init__(width, (size // 16) ** 2)
        self.patch_embed = Patches(width)
        self.blocks = nn.Sequential(*[VitBlock(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width, eps=1e-6), nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.norm(self.blocks(super().forward(self.patch_embed.proj(x))))[:, 0])


# ---- ConvNeXt, torchvision's names ----


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Permute(nn.Module):
    def __init__(self, *order):
        super().__init__()
        self.order = order

    def forward(self, x):
        return x.permute(self.order)


class ConvNextBlock(nn.Module):
    def __init__(self, c, kernel=7):
        super().__init__()
        self.layer_scale = nn.Parameter(torch.full((c, 1, 1), 1e-6))
        self.block = nn.Sequential(nn.Conv2d(c, c, kernel, 1, kernel // 2, groups=c), Permute(0, 2, 3, 1), nn.LayerNorm(c, eps=1e-6),
                                   nn.Linear(c, 4 * c), nn.GELU(), nn.Linear(4 * c, c), Permute(0, 3, 1, 2))

    def forward(self, x):
        return x + self.layer_scale * self.block(x)


class ConvNext(nn.Module):
    def __init__(self, depths, widths, classes=1000):
        super().__init__()
        parts, n = [nn.Sequential(nn.Conv2d(3, widths[0], 4, 4), LayerNorm2d(widths[0], eps=1e-6))], widths[0]
        for depth, width in zip(depths, widths):
            if width != n:
                parts.append(nn.Sequential(LayerNorm2d(n, eps=1e-6), nn.Conv2d(n, width, 2, 2)))
            parts.append(nn.Sequential(*[ConvNextBlock(width) for _ in range(depth)]))
            n = width
        self.features = nn.Sequential(*parts)
        self.classifier = nn.Sequential(LayerNorm2d(n, eps=1e-6), nn.Flatten(), nn.Linear(n, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3), keepdim=True))


# ---- MobileNetV3, torchvision's names ----


class HardSigmoid(nn.Module):
    """min(max(x / 6 + 1/2, 0), 1), by a sixth as float32 has it, so that vktrain's twin in double can be compared."""

    def forward(self, x):
        return torch.clamp(x * float(np.float32(1) / np.float32(6)) + 0.5, 0, 1)


class Squeeze(nn.Module):
    def __init__(self, c, hidden):
        super().__init__()
        self.fc1, self.fc2, self.gate = nn.Conv2d(c, hidden, 1), nn.Conv2d(hidden, c, 1), HardSigmoid()

    def forward(self, x):
        return x * self.gate(self.fc2(torch.relu(self.fc1(x.mean((2, 3), keepdim=True)))))


def conv(i, o, kernel, stride=1, groups=1, act=None):
    parts = [nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(o, eps=1e-3, momentum=0.01)]
    return nn.Sequential(*parts, *([act()] if act else []))


def multiple_of_8(v):
    near = max((v + 4) // 8 * 8, 8)
    return near + 8 if near < 0.9 * v else near


class Inverted(nn.Module):
    def __init__(self, i, hidden, o, kernel, stride, squeeze, act):
        super().__init__()
        parts = [conv(i, hidden, 1, act=act)] if hidden != i else []
        parts.append(conv(hidden, hidden, kernel, stride, hidden, act))
        if squeeze:
            parts.append(Squeeze(hidden, multiple_of_8(hidden // 4)))
        self.block, self.adds = nn.Sequential(*parts, conv(hidden, o, 1)), stride == 1 and i == o

    def forward(self, x):
        return x + self.block(x) if self.adds else self.block(x)


SMALL = [(16, 16, 3, 2, True, nn.ReLU), (72, 24, 3, 2, False, nn.ReLU), (88, 24, 3, 1, False, nn.ReLU), (96, 40, 5, 2, True, nn.Hardswish),
         (240, 40, 5, 1, True, nn.Hardswish), (240, 40, 5, 1, True, nn.Hardswish), (120, 48, 5, 1, True, nn.Hardswish),
         (144, 48, 5, 1, True, nn.Hardswish), (288, 96, 5, 2, True, nn.Hardswish), (576, 96, 5, 1, True, nn.Hardswish),
         (576, 96, 5, 1, True, nn.Hardswish)]


class MobileNet(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        parts, n = [conv(3, 16, 3, 2, act=nn.Hardswish)], 16
        for hidden, out, kernel, stride, squeeze, act in SMALL:
            parts.append(Inverted(n, hidden, out, kernel, stride, squeeze, act))
            n = out
        self.features = nn.Sequential(*parts, conv(n, 6 * n, 1, act=nn.Hardswish))
        self.classifier = nn.Sequential(nn.Linear(6 * n, 1024), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1024, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


MODELS = {
    "vit-tiny": lambda **k: Vit(192, 3, 12, **k),
    "vit-small": lambda **k: Vit(384, 6, 12, **k),
    "convnext-tiny": lambda **k: ConvNext((3, 3, 9, 3), (96, 192, 384, 768), **k),
    "mobilenet-v3-small": lambda **k: MobileNet(**k),
}

# ---- the blocks, as tools/golden/golden_layers.py has its layers ----


def flat(t):
    return [float(v) if t.is_floating_point() else int(v) for v in t.detach().reshape(-1)]


def entry(t):
    return {"shape": list(t.shape), "data": flat(t)}


def last(x):
    return x.permute(0, 2, 3, 1) if x.dim() == 4 else x


def case(name, layer, module, shape, prefix="0."):
    net = nn.Sequential(module, nn.Flatten()).train()
    for t in [*net.parameters(), *net.buffers()]:
        if t.is_floating_point():
            t.data = (0.5 * torch.randn(t.shape)).float().double()
    for key, t in net.named_parameters():
        if key.endswith("fc2.bias"):  # past both ends of the hard sigmoid
            t.data *= 16
    for part in net.modules():
        for key in {"eps", "momentum"} & vars(part).keys():
            setattr(part, key, float(np.float32(getattr(part, key))))
    for key, t in net.named_buffers():
        if key.endswith("running_var"):
            t.data = (t.data.abs() + 0.25).float().double()

    def named(tensors, value):
        return {prefix + key[2:]: value(t) for key, t in tensors}

    before, x = named(net.state_dict().items(), entry), torch.randn(shape).float().double().requires_grad_()
    out = net(x)
    dout = torch.randn(out.shape).float().double()
    out.backward(dout)
    return {"name": name, "of": "PyTorch", "layers": [layer], "train": 1, "x": entry(last(x)), "tensors": before, "out": flat(out),
            "dout": flat(dout), "dx": flat(last(x.grad)), "grads": named(net.named_parameters(), lambda p: flat(p.grad)),
            "after": named(net.named_buffers(), flat)}


def main():
    names = [f'"{name}": ' + json.dumps({k: list(v.shape) for k, v in MODELS[name]().state_dict().items()}) for name in MODELS]
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    cases = [
        case("tokens", dict(type="tokens"), Tokens(4, 6), (2, 4, 3, 2), ""),
        case("vit_block", dict(type="vit_block", heads=2), VitBlock(8, 2), (2, 5, 8)),
        case("convnext_block", dict(type="convnext_block"), ConvNextBlock(3), (2, 3, 4, 5)),
        case("convnext_block 3x3", dict(type="convnext_block", kernel=3), ConvNextBlock(2, 3), (2, 2, 4, 4)),
        case("inverted_block", dict(type="inverted_block", hidden=6), Inverted(3, 6, 3, 3, 1, False, nn.ReLU), (2, 3, 5, 4)),
        case("inverted_block, squeeze, 5x5", dict(type="inverted_block", hidden=6, kernel=5, squeeze=True, activation="hardswish"),
             Inverted(3, 6, 3, 5, 1, True, nn.Hardswish), (2, 3, 5, 4)),
        case("inverted_block, squeeze, stride 2, nothing wider", dict(type="inverted_block", out=5, stride=2, squeeze=True),
             Inverted(4, 4, 5, 3, 2, True, nn.ReLU), (2, 4, 5, 6)),
    ]
    positions = []
    for n, m in (3, 2), (3, 5), (14, 6):  # timm's resample_abs_pos_embed
        x = torch.randn(1, 2, n, n).float()
        y = nn.functional.interpolate(x.double(), (m, m), mode="bicubic", antialias=True)
        positions.append({"n": n, "m": m, "c": 2, "from": flat(x.permute(0, 2, 3, 1)), "to": flat(y.permute(0, 2, 3, 1))})
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/vision.json"
    path.write_text('{"torch": "%s", "models": {\n%s\n}, "positions": %s,\n"cases": [\n%s\n]}\n' %
                    (torch.__version__, ",\n".join(names), json.dumps(positions), ",\n".join(json.dumps(c) for c in cases)))
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
