"""Writes tests/golden/layers.json for tests/nn/test_golden_layers.c: layers and blocks of image models from PyTorch (in double:
outputs, gradients, what training leaves in running statistics) and the single-layer models with weights of Debian's
libonnx-testdata (float32: outputs). Pictures are [N, H, W, C] in the file, outputs flattened as PyTorch does. Only layers
that vktrain has are taken; of ONNX's the rest is listed on the way.
Run: python3 tools/golden/golden_layers.py FOLDER, FOLDER the package's data/pytorch-converted (PyTorch 2.4 or newer, onnx)."""
import json
import pathlib
import sys

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
cases = []


def flat(t):
    t = t.detach() if isinstance(t, torch.Tensor) else torch.from_numpy(np.asarray(t))
    return [float(v) if t.is_floating_point() else int(v) for v in t.reshape(-1)]


def entry(t):
    return {"shape": list(t.shape), "data": flat(t)}


def last(x):
    """[N, C, H, W] to [N, H, W, C]."""
    return x.permute(0, 2, 3, 1) if x.dim() == 4 else x


# ---- PyTorch: modules whose state_dict has the library's names ----


class BasicBlock(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        if stride > 1 or i != o:
            self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class Bottleneck(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        w = o // 4
        self.conv1, self.bn1 = nn.Conv2d(i, w, 1, bias=False), nn.BatchNorm2d(w)
        self.conv2, self.bn2 = nn.Conv2d(w, w, 3, stride, 1, bias=False), nn.BatchNorm2d(w)
        self.conv3, self.bn3 = nn.Conv2d(w, o, 1, bias=False), nn.BatchNorm2d(o)
        self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        y = torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))
        return torch.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class WideBlock(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(i), nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn2, self.conv2 = nn.BatchNorm2d(o), nn.Conv2d(o, o, 3, 1, 1, bias=False)
        if stride > 1 or i != o:
            self.convShortcut = nn.Conv2d(i, o, 1, stride, bias=False)

    def forward(self, x):
        h = torch.relu(self.bn1(x))
        y = self.conv2(torch.relu(self.bn2(self.conv1(h))))
        return y + (self.convShortcut(h) if hasattr(self, "convShortcut") else x)


class Mean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


class Residual(nn.Module):
    def __init__(self, *body):
        super().__init__()
        self.body = nn.Sequential(*body)

    def forward(self, x):
        return x + self.body(x)


def pytorch(name, layers, module, shape, train=True):
    """layers: the library's; the module stands first in a Sequential, which gives its tensors their names."""
    net = nn.Sequential(module, nn.Flatten()).train(train)
    for t in [*net.parameters(), *net.buffers()]:  # values that float32 holds, positive where they are variances
        if t.is_floating_point():
            t.data = (0.5 * torch.randn(t.shape)).float().double()
    for part in net.modules():  # scalars that float32 holds too
        for key in {"eps", "momentum"} & vars(part).keys():
            setattr(part, key, float(np.float32(getattr(part, key))))
    for key, t in net.named_buffers():
        if key.endswith("running_var"):
            t.data = (t.data.abs() + 0.25).float().double()
    before = {key: entry(t) for key, t in net.state_dict().items()}
    x = torch.randn(shape).float().double().requires_grad_()
    out = net(x)
    cases.append({"name": name, "of": "PyTorch", "layers": layers, "train": int(train), "x": entry(last(x)), "tensors": before,
                  "out": flat(out)})
    if train:
        dout = torch.randn(out.shape).float().double()
        out.backward(dout)
        cases[-1] |= {"dout": flat(dout), "dx": flat(last(x.grad)), "grads": {key: flat(p.grad) for key, p in net.named_parameters()},
                      "after": {key: flat(t) for key, t in net.named_buffers()}}


image = (2, 3, 5, 4)
pytorch("conv", [dict(type="conv", out=4)], nn.Conv2d(3, 4, 3, 1, 1), image)
pytorch("conv 5x5, dilated", [dict(type="conv", out=2, kernel=5, dilation=2, bias=False)],
        nn.Conv2d(3, 2, 5, 1, 4, 2, bias=False), image)
pytorch("conv in groups, stride 2", [dict(type="conv", out=6, stride=2, groups=3)], nn.Conv2d(3, 6, 3, 2, 1, groups=3), image)
pytorch("conv, depthwise, no padding", [dict(type="conv", groups=3, pad=0)], nn.Conv2d(3, 3, 3, groups=3), image)
pytorch("conv 3x2", [dict(type="conv", out=2, kernel=3, width=2, pad=1)], nn.Conv2d(3, 2, (3, 2), 1, 1), image)
pytorch("linear", [dict(type="linear", out=4)], nn.Linear(5, 4), (3, 5))
pytorch("pad", [dict(type="pad", size=1, top=0, right=3)], nn.ZeroPad2d((1, 3, 0, 1)), image)
pytorch("max_pool", [dict(type="max_pool")], nn.MaxPool2d(2), image)
pytorch("max_pool 3, 2, 1", [dict(type="max_pool", size=3, stride=2, pad=1)], nn.MaxPool2d(3, 2, 1), image)
pytorch("avg_pool 3, 2, 1", [dict(type="avg_pool", size=3, stride=2, pad=1)], nn.AvgPool2d(3, 2, 1), image)
pytorch("global_pool", [dict(type="global_pool")], Mean(), image)
pytorch("batch_norm", [dict(type="batch_norm")], nn.BatchNorm2d(3), image)
pytorch("batch_norm, momentum and eps", [dict(type="batch_norm", momentum=0.25, eps=0.0078125)],
        nn.BatchNorm2d(3, eps=0.0078125, momentum=0.25), image)
pytorch("batch_norm of vectors", [dict(type="batch_norm")], nn.BatchNorm1d(3), (6, 3))
pytorch("batch_norm in evaluation", [dict(type="batch_norm")], nn.BatchNorm2d(3), image, train=False)
pytorch("group_norm", [dict(type="group_norm", groups=2)], nn.GroupNorm(2, 6), (2, 6, 3, 2))
pytorch("layernorm", [dict(type="layernorm")], nn.LayerNorm(6), (3, 6))
pytorch("rmsnorm", [dict(type="rmsnorm")], nn.RMSNorm(6, eps=1e-5), (3, 6))
for key, act in [("relu", nn.ReLU()), ("gelu", nn.GELU("tanh")), ("gelu_erf", nn.GELU()), ("silu", nn.SiLU()),
                 ("sigmoid", nn.Sigmoid()), ("tanh", nn.Tanh())]:
    pytorch(key, [dict(type=key)], act, (3, 7))
pytorch("residual", [dict(type="residual", body=[dict(type="conv", bias=False), dict(type="batch_norm")])],
        Residual(nn.Conv2d(3, 3, 3, 1, 1, bias=False), nn.BatchNorm2d(3)), image)
pytorch("basic_block", [dict(type="basic_block")], BasicBlock(3, 3), image)
pytorch("basic_block, stride 2", [dict(type="basic_block", out=4, stride=2)], BasicBlock(3, 4, 2), image)
pytorch("bottleneck, stride 2", [dict(type="bottleneck", out=8, stride=2)], Bottleneck(3, 8, 2), image)
pytorch("wide_block", [dict(type="wide_block")], WideBlock(3, 3), image)
pytorch("wide_block, stride 2", [dict(type="wide_block", out=4, stride=2)], WideBlock(3, 4, 2), image)
pytorch("basic_block in evaluation", [dict(type="basic_block", out=4)], BasicBlock(3, 4), image, train=False)

# ---- ONNX: one layer a model; None: the library has no such layer ----


def conv(a, w):
    k, s, d, p = a["kernel_shape"], a["strides"], a["dilations"], a["pads"]
    if len(k) != 2 or s[0] != s[1] or d[0] != d[1] or len(set(p)) != 1:
        return None
    return dict(type="conv", out=w[0].shape[0], kernel=k[0], width=k[1], stride=s[0], dilation=d[0], pad=p[0], groups=a["group"], bias=len(w) > 1)


def pool(kind):
    def layer(a, w):
        k, s, p, d = a["kernel_shape"], a["strides"], a["pads"], a.get("dilations", [1, 1])
        if len(k) != 2 or k[0] != k[1] or s[0] != s[1] or len(set(p)) != 1 or d != [1, 1] or (kind == "avg_pool" and any(p)):
            return None
        return dict(type=kind, size=k[0], stride=s[0], pad=p[0])
    return layer


def pad(a, w):
    p = a["pads"]
    if a["mode"] != b"constant" or a["value"] or len(p) != 8:
        return None
    return dict(type="pad", top=p[2], left=p[3], bottom=p[6], right=p[7])


layers_of = {"Conv": conv, "MaxPool": pool("max_pool"), "AveragePool": pool("avg_pool"), "Pad": pad,
             "BatchNormalization": lambda a, w: dict(type="batch_norm", eps=a["epsilon"], momentum=1 - a["momentum"]),
             "Gemm": lambda a, w: dict(type="linear", out=w[0].shape[0]),
             "MatMul": lambda a, w: dict(type="linear", out=w[0].shape[0], bias=False),
             "Relu": lambda a, w: dict(type="relu"), "Sigmoid": lambda a, w: dict(type="sigmoid"), "Tanh": lambda a, w: dict(type="tanh")}
names_of = {"BatchNormalization": ["weight", "bias", "running_mean", "running_var"]}


def read(path):
    return numpy_helper.to_array(onnx.load_tensor(path))


def onnx_case(folder):
    """True: taken."""
    graph = onnx.load(folder / "model.onnx").graph
    nodes = [n for n in graph.node if n.op_type != "Transpose"]  # of Linear's weight, which is stored as PyTorch's
    w = [torch.from_numpy(numpy_helper.to_array(t).copy()) for t in graph.initializer]
    x, out = (torch.from_numpy(read(folder / "test_data_set_0" / f"{k}_0.pb").copy()) for k in ("input", "output"))
    if len(nodes) != 1 or nodes[0].op_type not in layers_of or x.dim() not in (2, 4) or x.numel() > 1000:
        return False
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in nodes[0].attribute}
    layer = layers_of[nodes[0].op_type](attributes, w)
    if not layer:
        return False
    names = names_of.get(nodes[0].op_type, ["weight", "bias"])
    cases.append({"name": folder.name, "of": "ONNX", "layers": [layer], "train": 0, "x": entry(last(x)),
                  "tensors": {f"0.{k}": entry(t) for k, t in zip(names, w)}, "out": flat(out)})
    return True


left = [f.name for f in sorted(pathlib.Path(sys.argv[1]).iterdir()) if not onnx_case(f)]
print("not taken:", " ".join(left))
path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/layers.json"
lines = ",\n".join(json.dumps(c) for c in cases)
path.write_text('{"torch": "%s", "onnx": "libonnx-testdata 1.12.0", "cases": [\n%s\n]}\n' % (torch.__version__, lines))
print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")
