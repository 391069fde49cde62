"""Writes tests/golden/graph.json for tests/nn/test_golden_layers.c: nets that are no list, from PyTorch in double: outputs,
gradients and what training leaves in running statistics. Pictures are [N, H, W, C] in the file; the last layer's output is
flattened, an image's channel by channel. Names of tensors are those of the library's layers.
Run: python3 tools/golden/golden_graph.py (PyTorch 2.4 or newer)."""
import json
import pathlib

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
cases = []


def flat(t):
    return [float(v) if t.is_floating_point() else int(v) for v in t.detach().reshape(-1)]


def entry(t):
    return {"shape": list(t.shape), "data": flat(t)}


def last(x):
    """[N, C, H, W] to [N, H, W, C]."""
    return x.permute(0, 2, 3, 1) if x.dim() == 4 else x


class UNet(nn.Module):
    """Two levels, three ways up, an odd number of columns, and a head."""

    layers = [
        dict(type="conv", out=4, name="wide"), dict(type="relu", name="skip"), dict(type="max_pool", name="half"),
        dict(type="conv", out=6, bias=False, name="low"), dict(type="batch_norm", name="norm"), dict(type="relu", name="deep"),
        dict(type="conv_transpose", out=4, kernel=3, pad=1, output_pad=1, groups=2, name="up"),
        dict(type="upsample", name="near", **{"from": "deep"}),
        dict(type="upsample", size=[6, 4], mode="bilinear", name="smooth", **{"from": "deep"}),
        dict(type="upsample", scale=2, mode="bilinear", align_corners=True, name="corners", **{"from": "deep"}),
        dict(type="concat", name="both", **{"from": ["skip", "up", "near", "smooth", "corners"]}),
        dict(type="squeeze_excite", hidden=5, activation="silu", name="se"),
        dict(type="conv", out=3, name="out"),
    ]

    def __init__(self):
        super().__init__()
        self.wide, self.low, self.norm = nn.Conv2d(3, 4, 3, 1, 1), nn.Conv2d(4, 6, 3, 1, 1, bias=False), nn.BatchNorm2d(6)
        self.up = nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, groups=2)
        self.se = nn.ModuleDict({"fc1": nn.Conv2d(26, 5, 1), "fc2": nn.Conv2d(5, 26, 1)})
        self.out = nn.Conv2d(26, 3, 3, 1, 1)

    def forward(self, x):
        skip = torch.relu(self.wide(x))
        deep = torch.relu(self.norm(self.low(F.max_pool2d(skip, 2))))
        ups = [F.interpolate(deep, scale_factor=2, mode="nearest"), F.interpolate(deep, (6, 4), mode="bilinear"),
               F.interpolate(deep, scale_factor=2, mode="bilinear", align_corners=True)]
        both = torch.cat([skip, self.up(deep), *ups], 1)
        s = self.se["fc2"](F.silu(self.se["fc1"](both.mean((2, 3), keepdim=True))))
        return self.out(both * torch.sigmoid(s))


class Sums(nn.Module):
    """A residual block, sums and products of unequal shapes, and parts of an example in another order."""

    layers = [
        dict(type="conv", out=4, kernel=1, name="x"),
        dict(type="conv", name="f"), dict(type="tanh", name="g"),
        dict(type="add", name="sum", **{"from": ["g", "x"]}),
        dict(type="global_pool", name="means"),
        dict(type="mul", name="scaled", **{"from": ["sum", "means", "x"]}),
        dict(type="add", name="shifted", **{"from": ["means", "scaled"]}),
        dict(type="slice", axis=1, first=1, step=2, name="odd"),
        dict(type="permute", order=[2, 0, 1], name="turned"),
        dict(type="reshape", shape=[8, 0], name="rows"),
        dict(type="slice", axis=0, first=2, count=3, name="some"),
        dict(type="linear", out=2, name="head"),
        dict(type="squeeze_excite", gate="hardsigmoid", name="se", **{"from": "x"}),
        dict(type="slice", axis=1, count=2, name="left"),
        dict(type="global_pool", name="more"),
        dict(type="reshape", shape=[2, 2], name="square"),
        dict(type="concat", axis=0, name="joined", **{"from": ["head", "square"]}),
    ]

    def __init__(self):
        super().__init__()
        self.x, self.f, self.head = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 3, 1, 1), nn.Linear(6, 2)
        self.se = nn.ModuleDict({"fc1": nn.Conv2d(4, 1, 1), "fc2": nn.Conv2d(1, 4, 1)})

    def forward(self, image):
        x = self.x(image)
        y = x + torch.tanh(self.f(x))
        means = y.mean((2, 3), keepdim=True)
        y = means + y * means * x
        odd = last(y)[:, :, 1::2]  # [N, H, W / 2, C]
        some = odd.permute(0, 3, 1, 2).reshape(len(y), 8, -1)[:, 2:5]
        s = self.se["fc2"](torch.relu(self.se["fc1"](x.mean((2, 3), keepdim=True))))  # hardsigmoid: PyTorch's own gradient has a float32 sixth
        more = (x * F.relu6(s + 3) / 6)[..., :2].mean((2, 3)).reshape(len(y), 2, 2)
        return torch.cat([self.head(some), more], 1)


class Sequences(nn.Module):
    """An encoder and a decoder: recurrent layers both ways, attention from one to the other, with equal and unequal channels."""

    layers = [
        dict(type="reshape", shape=[4, 6], name="tokens"),
        dict(type="gru", out=3, layers=2, bidirectional=True, name="encoder"),
        dict(type="lstm", out=8, name="decoder", **{"from": "tokens"}),
        dict(type="cross_attention", heads=2, name="across", **{"from": ["decoder", "encoder"]}),
        dict(type="cross_attention", heads=2, name="within", **{"from": ["across", "decoder"]}),
        dict(type="lstm", out=3, layers=2, bias=False, bidirectional=True, last=True, name="out"),
    ]

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.GRU(6, 3, 2, batch_first=True, bidirectional=True), nn.LSTM(6, 8, batch_first=True)
        self.across = nn.MultiheadAttention(8, 2, kdim=6, vdim=6, batch_first=True)
        self.within = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.LSTM(8, 3, 2, bias=False, batch_first=True, bidirectional=True)

    def forward(self, x):
        x = x.reshape(len(x), 4, 6)
        memory, y = self.encoder(x)[0], self.decoder(x)[0]
        y = self.within(self.across(y, memory, memory)[0], y, y)[0]
        return self.out(y)[1][0][-2:].transpose(0, 1).flatten(1)


def pytorch(name, net, shape):
    net.train()
    for t in [*net.parameters(), *net.buffers()]:  # values that float32 holds
        if t.is_floating_point():
            t.data = (0.5 * torch.randn(t.shape)).float().double()
    for part in net.modules():
        for key in {"eps", "momentum"} & vars(part).keys():
            setattr(part, key, float(torch.tensor(getattr(part, key)).float()))
    for key, t in net.named_buffers():
        if key.endswith("running_var"):
            t.data = (t.data.abs() + 0.25).float().double()
    before = {key: entry(t) for key, t in net.state_dict().items()}
    x = torch.randn(shape).float().double().requires_grad_()
    out = net(x).flatten(1)
    dout = torch.randn(out.shape).float().double()
    out.backward(dout)
    cases.append({"name": name, "of": "PyTorch", "layers": net.layers, "train": 1, "x": entry(last(x)), "tensors": before,
                  "out": flat(out), "dout": flat(dout), "dx": flat(last(x.grad)),
                  "grads": {key: flat(p.grad) for key, p in net.named_parameters()},
                  "after": {key: flat(t) for key, t in net.named_buffers()}})


pytorch("U-Net", UNet(), (2, 3, 6, 4))
pytorch("sums", Sums(), (2, 3, 4, 6))
pytorch("sequences", Sequences(), (2, 24))

path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/graph.json"
lines = ",\n".join(json.dumps(c) for c in cases)
path.write_text('{"torch": "%s", "cases": [\n%s\n]}\n' % (torch.__version__.split("+")[0], lines))
print(f"{len(cases)} cases, {path.stat().st_size} bytes")
