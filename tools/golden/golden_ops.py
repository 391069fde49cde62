"""Writes tests/golden/ops.json: inputs, outputs and gradients of PyTorch ops in double, tiny shapes, for
tests/tensor/test_golden_ops.c to hold the twins against. Scalars such as eps are float32 values, as the library takes them.
Run: python3 tools/golden/golden_ops.py (PyTorch 2.4 or newer); the numbers do not depend on the version."""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(1)
cases = []


def f32(x):
    return float(np.float32(x))


def tensor(*shape, grad=True, positive=False):
    t = torch.randn(*shape, dtype=torch.float32).double()  # float32 values: exact for every reader
    if positive:
        t = t.abs() + 0.25
    return t.requires_grad_(grad)


def flat(t):
    return [float(v) if v.is_floating_point() else int(v) for v in t.detach().reshape(-1)]


def case(name, op, out, inputs, **attrs):
    """Gradients are of sum(out * dout), dout random."""
    dout = tensor(*out.shape, grad=False)
    out.backward(dout)
    record = {"name": name, "op": op, "attrs": attrs, "inputs": {}, "out": flat(out), "dout": flat(dout)}
    for key, t in inputs.items():
        record["inputs"][key] = {"shape": list(t.shape), "data": flat(t)}
        if t.requires_grad:
            record["inputs"][key]["grad"] = flat(t.grad)
    cases.append(record)


eps = 1e-5
for shape in [(3, 7), (2, 3, 4)]:
    x, w, b = tensor(*shape), tensor(shape[-1]), tensor(shape[-1])
    case(f"layer_norm {shape}", "layernorm", F.layer_norm(x, shape[-1:], w, b, f32(eps)), {"x": x, "w": w, "b": b}, eps=eps)
    x, w = tensor(*shape), tensor(shape[-1])
    case(f"rms_norm {shape}", "rmsnorm", F.rms_norm(x, shape[-1:], w, f32(eps)), {"x": x, "w": w}, eps=eps)

x, r, w, b = tensor(4, 5), tensor(4, 5), tensor(5), tensor(5)
case("layer_norm of x + r", "layernorm", F.layer_norm(x + r, (5,), w, b, f32(eps)), {"x": x, "r": r, "w": w, "b": b}, eps=eps)

V = 6
target = torch.tensor([0, 5, 2, 2, 4, 1, 3, 0])
for smoothing in (0.0, 0.1):
    for weighted in (False, True):
        for ignore in (-100, 2):
            x, cw, rw = tensor(8, V), tensor(V, grad=False, positive=True), tensor(8, grad=False, positive=True)
            loss = rw * F.cross_entropy(x, target, cw if weighted else None, ignore_index=ignore, reduction="none",
                                        label_smoothing=f32(smoothing))
            inputs = {"x": x, "target": target, "weight": rw} | ({"class_weight": cw} if weighted else {})
            case(f"cross_entropy smoothing {smoothing} weighted {weighted} ignore {ignore}", "xent", loss, inputs,
                 smoothing=smoothing, ignore=max(ignore, -1) + 1)

x, y, rw = tensor(5, 3), tensor(5, 3), tensor(5, grad=False, positive=True)
case("mse", "mse", rw * F.mse_loss(x, y, reduction="none").mean(1), {"x": x, "y": y, "weight": rw})

x = tensor(4, 9)
case("softmax", "softmax", F.softmax(x, -1), {"x": x})

acts = {"none": lambda v: v, "relu": F.relu, "gelu": lambda v: F.gelu(v, approximate="tanh"), "gelu_erf": F.gelu, "silu": F.silu,
        "sigmoid": torch.sigmoid, "tanh": torch.tanh}
for i, (name, act) in enumerate(acts.items()):
    if i:
        x = (3 * tensor(3, 11)).detach().requires_grad_()
        case(name, "act", act(x), {"x": x}, act=i)
    x, w, b = tensor(2, 3, 5), tensor(4, 5), tensor(4)
    case(f"linear {name}", "linear", act(F.linear(x, w, b)), {"x": x, "w": w, "b": b}, act=i)

# ---- images: [N, H, W, C] here, [N, C, H, W] in PyTorch; filters [KH, KW, C / groups, CO]


def nchw(t):
    return t.permute(0, 3, 1, 2)


def nhwc(t):
    return t.permute(0, 2, 3, 1)


for shape, filt, args in [((2, 5, 4, 2), (3, 3, 2, 3), dict(padding=1)), ((1, 6, 5, 2), (3, 2, 2, 2), dict(stride=2, padding=1)),
                          ((1, 7, 7, 2), (3, 3, 2, 2), dict(dilation=2, padding=2)), ((1, 5, 4, 4), (3, 3, 2, 6), dict(groups=2)),
                          ((2, 5, 5, 3), (3, 3, 1, 3), dict(groups=3, stride=2, padding=1)), ((2, 3, 4, 3), (1, 1, 3, 4), dict())]:
    x, w, b = tensor(*shape), tensor(*filt), tensor(filt[-1])
    case(f"conv2d {shape} {filt} {args}", "conv2d", nhwc(F.conv2d(nchw(x), w.permute(3, 2, 0, 1), b, **args)), {"x": x, "w": w, "b": b},
         stride=args.get("stride", 1), pad=args.get("padding", 0), dilation=args.get("dilation", 1), groups=args.get("groups", 1))
for size, stride, pad in [(2, 2, 0), (3, 2, 1), (2, 1, 0)]:
    x = tensor(2, 5, 6, 3)
    case(f"max_pool {size} {stride} {pad}", "max_pool", nhwc(F.max_pool2d(nchw(x), size, stride, pad)), {"x": x}, size=size, stride=stride,
         pad=pad)
    x = tensor(2, 5, 6, 3)
    case(f"avg_pool {size} {stride} {pad}", "avg_pool", nhwc(F.avg_pool2d(nchw(x), size, stride, pad)), {"x": x}, size=size, stride=stride,
         pad=pad)
x = tensor(2, 3, 4, 5)
case("global_pool", "global_pool", nchw(x).mean((2, 3)), {"x": x})
x = tensor(2, 3, 2, 4)
case("flatten", "flatten", nchw(x).flatten(1), {"x": x})
x = tensor(1, 2, 3, 2)
case("pad2d", "pad2d", nhwc(F.pad(nchw(x), (3, 0, 1, 2))), {"x": x})
for groups in (1, 2, 6):
    x, w, b = tensor(2, 3, 2, 6), tensor(6), tensor(6)
    case(f"group_norm {groups}", "group_norm", nhwc(F.group_norm(nchw(x), groups, w, b, f32(eps))), {"x": x, "w": w, "b": b}, groups=groups,
         eps=eps)
# Ghost batches: what BatchNorm makes of the pieces, one after another.
for virtual in (0, 2, 3, 4, 9):
    x, w, b = tensor(7, 2, 3, 3), tensor(3), tensor(3)
    mean, var = tensor(3, grad=False), tensor(3, grad=False, positive=True)
    before = {"running_mean": mean.clone(), "running_var": var.clone()}
    pieces = torch.split(nchw(x), virtual or 7)
    y = torch.cat([F.batch_norm(p, mean, var, w, b, True, f32(0.1), f32(eps)) for p in pieces])
    case(f"batch_norm of ghost batches of {virtual}", "batch_norm", nhwc(y), {"x": x, "w": w, "b": b} | before, eps=eps, virtual=virtual,
         train=1)
    cases[-1]["after"] = {"running_mean": flat(mean), "running_var": flat(var), "count": [5 + len(pieces)]}
x, w, b = tensor(3, 2, 2, 3, grad=False), tensor(3, grad=False), tensor(3, grad=False)
mean, var = tensor(3, grad=False), tensor(3, grad=False, positive=True)
y = nhwc(F.batch_norm(nchw(x), mean, var, w, b, False, 0.1, f32(eps)))
cases.append({"name": "batch_norm by running averages", "op": "batch_norm", "attrs": {"eps": eps, "virtual": 0, "train": 0}, "out": flat(y),
              "dout": flat(torch.ones_like(y)), "inputs": {k: {"shape": list(t.shape), "data": flat(t)} for k, t in
                                                         {"x": x, "w": w, "b": b, "running_mean": mean, "running_var": var}.items()},
              "after": {"running_mean": flat(mean), "running_var": flat(var)}})
# Language: attention under every mask, shared keys; both rotary layouts; gated activation; embedding.
B, T, D = 1, 6, 4
docs = torch.tensor([[0, 0, 2, 2, 2, 5]])
for name, H, kv, full, window, masked in [("causal", 2, 2, False, 0, False), ("full", 2, 2, True, 0, False), ("shared keys", 4, 2, False, 0, False),
                                          ("window", 2, 1, False, 3, False), ("documents", 2, 2, False, 0, True),
                                          ("full window", 2, 2, True, 2, False), ("full documents", 2, 2, True, 0, True)]:
    q, k, v = tensor(B, T, H * D), tensor(B, T, kv * D), tensor(B, T, kv * D)
    i, j = torch.arange(T)[:, None], torch.arange(T)[None]
    seen = torch.ones(T, T, dtype=torch.bool) if full else j <= i
    if window:
        seen = seen & ((i - j).abs() < window)
    if masked:
        seen = seen & (docs[0][:, None] == docs[0][None])
    heads = lambda t, n: t.view(B, T, n, D).transpose(1, 2).repeat_interleave(H // n, dim=1)
    y = F.scaled_dot_product_attention(heads(q, H), heads(k, kv), heads(v, kv), attn_mask=seen).transpose(1, 2).reshape(B, T, H * D)
    inputs = {"x": q, "k": k, "v": v} | ({"docs": docs} if masked else {})
    case(f"attention {name}", "attention", y, inputs, heads=H, kv_heads=kv, full=int(full), window=window)

for halves in (0, 1):
    T, H, D = 5, 2, 6
    x = tensor(2, T, H * D)
    angle = torch.arange(T, dtype=torch.float64)[:, None] * 100.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    c, s = (f(angle).float().double()[None, :, None] for f in (torch.cos, torch.sin))  # as in the table: float32
    h = x.view(2, T, H, D)
    a, b = (h[..., : D // 2], h[..., D // 2:]) if halves else (h[..., ::2], h[..., 1::2])
    turned = torch.stack((a * c - b * s, b * c + a * s), -1)
    turned = torch.cat((turned[..., 0], turned[..., 1]), -1) if halves else turned.flatten(-2)
    case(f"rope {'halves' if halves else 'interleaved'}", "rope", turned.reshape(2, T, H * D), {"x": x}, head=D, heads=H, halves=halves, theta=100)

for act in ("gelu", "gelu_erf", "silu"):
    x, y = tensor(3, 7), tensor(3, 7)
    case(f"gated {act}", "gated", acts[act](x) * y, {"x": x, "y": y}, act=list(acts).index(act))

ids = torch.tensor([[2, 0, 2, 4], [2, 3, 0, 0]])
x, pos = tensor(6, 5), tensor(7, 5)
case("embedding", "embedding", F.embedding(ids, x) + F.embedding(torch.arange(4), pos), {"x": x, "pos": pos, "ids": ids})

# Drawn last, so that the numbers above stay as they are.
acts["mish"] = F.mish
x = (3 * tensor(3, 11)).detach().requires_grad_()
case("mish", "act", F.mish(x), {"x": x}, act=list(acts).index("mish"))
x, w, b = tensor(2, 3, 5), tensor(4, 5), tensor(4)
case("linear mish", "linear", F.mish(F.linear(x, w, b)), {"x": x, "w": w, "b": b}, act=list(acts).index("mish"))
acts["hardswish"] = F.hardswish
x = (3 * tensor(3, 11)).detach().requires_grad_()
case("hardswish", "act", F.hardswish(x), {"x": x}, act=list(acts).index("hardswish"))
ids = torch.tensor([[0.5, -1, 2, 4, 2], [2, 3, 0, 2, 1]]).double()
w = tensor(6, 3)
case("lookup", "lookup", torch.cat([ids[:, :2], F.embedding(ids[:, 2:].long(), w).flatten(1)], 1), {"y": ids, "w": w}, plain=2)
for delta in (0.5, 1.0):
    x, y, rw = tensor(5, 3), tensor(5, 3), tensor(5, grad=False, positive=True)
    loss = rw * F.huber_loss(x, y, reduction="none", delta=delta).mean(1)
    case(f"huber {delta}", "element_loss", loss, {"x": x, "y": y, "weight": rw}, kind=1, delta=delta)
for weighted in (False, True):
    x, y, rw = tensor(4, 5), (tensor(4, 5, grad=False) > 0).double(), tensor(4, grad=False, positive=True)
    pw = tensor(5, grad=False, positive=True)
    loss = rw * F.binary_cross_entropy_with_logits(x, y, reduction="none", pos_weight=pw if weighted else None).mean(1)
    case(f"bce weighted {weighted}", "element_loss", loss,
         {"x": x, "y": y, "weight": rw} | ({"class_weight": pw} if weighted else {}), kind=2)
for gamma in (2.0, 0.5):  # Lin et al. 2017: alpha_t (1 - p_t)^gamma (-log p_t)
    x, cw, rw = tensor(8, V), tensor(V, grad=False, positive=True), tensor(8, grad=False, positive=True)
    log_p = F.log_softmax(x, -1).gather(1, target[:, None])[:, 0]
    loss = rw * cw[target] * (1 - log_p.exp()) ** gamma * -log_p
    case(f"focal {gamma}", "focal", loss, {"x": x, "target": target, "weight": rw, "class_weight": cw}, gamma=gamma)

for norm in (True, False):  # a mixture of experts, as transformers' Qwen3MoeSparseMoeBlock computes it
    R, E, k, C, N = 7, 5, 2, 4, 8
    p, x, w = tensor(R, E), tensor(R, C), tensor(E, N, C)
    top, chosen = torch.topk(torch.softmax(p, -1), k, dim=-1)
    top = top / top.sum(-1, keepdim=True) if norm else top
    out = sum(top[:, j, None] * torch.einsum("rc,rnc->rn", x, w[chosen[:, j]]) for j in range(k))
    case(f"experts norm {norm}", "experts", out, {"x": x, "r": p, "w": w}, k=k, norm=int(norm))

path = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/ops.json"
path.parent.mkdir(exist_ok=True)
lines = ",\n".join(json.dumps(c) for c in cases)
path.write_text('{"torch": "%s", "cases": [\n%s\n]}\n' % (torch.__version__, lines))
print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")
