"""Writes tests/golden/general.json: inputs, outputs and gradients of PyTorch's general tensor ops in double, on random shapes, for
tests/tensor/test_golden_general.c to hold the twins against. Inputs are multiples of 1/8, so that some are equal, and 16 bits hold them.
Run: python3 tools/golden/golden_general.py (PyTorch 2.0 or newer).
tools/compare/many_general.py runs it many times, with other seeds and random settings in place of those listed here.
With float16 or bfloat16 behind it, it writes general.float16.json or general.bfloat16.json: outputs and gradients of the same cases as
PyTorch computes them in these types."""
import json
import pathlib
import random
import sys

import torch
import torch.nn.functional as F

SEED = globals().get("SEED", 3)  # of many_general.py
torch.manual_seed(SEED)
random.seed(SEED)
cases = []
MOST = 40  # elements of a tensor
NARROW = sys.argv[1] if len(sys.argv) > 1 else ""
DTYPE = getattr(torch, NARROW or "float64")


def shape(rank, most=MOST, least=1):
    while True:
        s = [random.randint(least, 4) for _ in range(rank)]
        if torch.Size(s).numel() <= most:
            return s


def tensor(s, positive=False, grad=True):
    t = torch.randint(1, 24, s) if positive else torch.randint(-24, 25, s)
    return (t.double() / 8).to(DTYPE).requires_grad_(grad)


def flat(t):
    return [int(v) if float(v).is_integer() else float(v) for v in t.detach().double().reshape(-1)]


def short(t):
    return [float(f"{v:.6g}") for v in t.detach().double().reshape(-1).tolist()]


def settings(listed, draw, fits=lambda *s: True):
    """Those that are listed; with another seed as many that are drawn, and fit."""
    if SEED == 3:
        return listed
    out = []
    while len(out) < len(listed):
        s = draw()
        if fits(*s):
            out.append(s)
    return out


def upto(*most, least=1):
    """A random number up to each."""
    return tuple(random.randint(least, n) for n in most)


def in_groups():
    groups = random.randint(1, 2)
    return groups, groups * random.randint(1, 2), groups * random.randint(1, 2)


def case(op, out, inputs, **attrs):
    """Gradients are of sum(out * dout)."""
    dout = tensor(list(out.shape), grad=False)
    if out.requires_grad:
        out.backward(dout)
    if NARROW:
        grads = [t.grad if t.grad is not None else 0 * t for t in inputs if t.dtype != torch.int64 and t.requires_grad]
        cases.append({"op": op, "out": short(out), "grads": [short(g) for g in grads]})
        return
    record = {"op": op, "attrs": attrs, "out": flat(out), "shape": list(out.shape) or [1], "dout": flat(dout), "inputs": []}
    for t in inputs:
        words = t.dtype == torch.int64
        record["inputs"].append({"shape": list(t.shape), "words": words, "data": flat(t)})
        if not words and t.requires_grad:
            record["inputs"][-1]["grad"] = flat(t.grad) if t.grad is not None else [0] * t.numel()
    cases.append(record)


unary = [torch.exp, torch.log, torch.sqrt, torch.rsqrt, torch.abs, torch.neg, torch.sin, torch.cos, torch.erf, torch.floor,
         lambda x: torch.clamp(x, -0.5, 0.75), lambda x: F.leaky_relu(x, 0.25), F.softplus, lambda x: F.elu(x, 1.5), torch.reciprocal]
constants = {10: (-0.5, 0.75), 11: (0.25, 0), 13: (1.5, 0)}
for fn, f in enumerate(unary):
    for rank in (1, 3):
        x = tensor(shape(rank), positive=fn in (1, 2, 3, 14))
        s, t = constants.get(fn, (0, 0))
        if fn == 10 and SEED != 3:  # at its bounds the slope of a clamp is 1 here, 0 in PyTorch 2.14, 1 in older ones
            x = (x.detach() + 1 / 16).requires_grad_(True)
        case("unary", f(x), [x], fn=fn, s=s, t=t)


def narrowed(s):
    """A shape that is broadcast to s."""
    s = [1 if random.random() < 0.4 else d for d in s]
    return s[random.randint(0, max(0, len(s) - 1)) if random.random() < 0.4 else 0:]


binary = [torch.add, torch.sub, torch.mul, torch.div, torch.pow, torch.minimum, torch.maximum, torch.eq, torch.lt, torch.le,
          lambda x, y: torch.exp(x - y)]
for fn, f in enumerate(binary):
    for rank in (1, 2, 3, 4, 6):
        s = shape(rank)
        a, b = narrowed(s), s
        if random.random() < 0.5:
            a, b = b, a
        x, y = tensor(a, positive=fn == 4), tensor(b, positive=fn == 3)
        case("binary", f(x, y).double(), [x, y], fn=fn)

for rank in (1, 2, 4, 6):
    s = shape(rank)
    c, x, y = torch.randint(0, 2, narrowed(s)).double(), tensor(narrowed(s)), tensor(s)
    case("where", torch.where(c != 0, x, y), [c, x, y])

for rank in (2, 3, 4, 6, 5, 6):
    x, order = tensor(shape(rank)), list(range(rank))
    random.shuffle(order)
    case("permute", x.permute(order).contiguous(), [x], order=order)
for rank in (1, 2, 3, 4, 6):
    s = shape(rank)
    x = tensor(narrowed(s))
    case("expand", x.expand(s).clone(), [x], to=s)
for rank in (1, 2, 3, 4, 6, 6):
    x = tensor(shape(rank, least=2, most=64))
    first = [random.randint(0, d - 1) for d in x.shape]
    step = [random.randint(1, 3) for _ in first]
    count = [random.randint(1, (d - f + p - 1) // p) for d, f, p in zip(x.shape, first, step)]
    y = x[tuple(slice(f, f + (c - 1) * p + 1, p) for f, c, p in zip(first, count, step))]
    case("slice", y, [x], first=first, count=count, step=step)
for rank in (1, 2, 3, 4, 6):
    x = tensor(shape(rank, most=12))
    before, after = [random.randint(0, 1) for _ in x.shape], [random.randint(0, 1) for _ in x.shape]
    pads = [n for pair in zip(reversed(before), reversed(after)) for n in pair]
    case("pad", F.pad(x, pads, value=-1.5), [x], before=before, after=after, value=-1.5)
for rank, n in ((1, 2), (2, 3), (3, 4), (4, 2), (6, 3), (2, 13)):
    s, axis = shape(rank, most=16), random.randrange(rank)
    xs = []
    for _ in range(n):
        s[axis] = random.randint(1, 3)
        xs.append(tensor(s))
    case("concat", torch.cat(xs, axis), xs, axis=axis)

reductions = [lambda x, d, k: x.sum(d, k), lambda x, d, k: x.mean(d, k), lambda x, d, k: x.amax(d, k), lambda x, d, k: x.amin(d, k),
              lambda x, d, k: x.logsumexp(d, k)]
for kind, f in enumerate(reductions):
    for rank in (1, 2, 3, 4, 6):
        x, axes = tensor(shape(rank, most=64)), random.sample(range(rank), random.randint(1, rank))
        keep = random.random() < 0.5
        case("reduce", f(x, axes, keep), [x], kind=kind, axes=sum(1 << a for a in axes), keep=int(keep))
for rank in (1, 2, 3, 4):
    axis, s = random.randrange(rank), shape(rank)
    x = tensor(s)
    case("softmax", F.softmax(x, axis), [x], axis=axis)
    x = tensor(s)
    case("log_softmax", F.log_softmax(x, axis), [x], axis=axis)


def last(t):
    return t.permute(0, 2, 3, 1).contiguous()


def first(t):
    return t.permute(0, 3, 1, 2)


for h, w, oh, ow in settings(((2, 3, 4, 6), (3, 4, 5, 3), (4, 4, 2, 2), (1, 5, 3, 2), (3, 2, 1, 7), (5, 1, 10, 3)), lambda: upto(5, 5, 9, 9)):
    for mode, align in (("nearest", None), ("bilinear", False), ("bilinear", True)):
        x = tensor([1, h, w, 2])
        y = F.interpolate(first(x), size=(oh, ow), mode=mode, align_corners=align)
        case("resize", last(y), [x], kind=int(mode != "nearest"), h=oh, w=ow, align=int(bool(align)))

def transposed():
    (groups, c, co), (stride, k, dil) = in_groups(), upto(3, 3, 2)
    return *upto(4, 4), c, co, k, stride, random.randint(0, 2), dil, groups, random.randrange(stride)


def any_comes_out(h, w, c, co, k, stride, pad, dil, groups, more):
    return min((s - 1) * stride - 2 * pad + dil * (k - 1) + more for s in (h, w)) >= 0


for h, w, c, co, k, stride, pad, dil, groups, more in settings(((3, 2, 2, 3, 3, 2, 1, 1, 1, 1), (2, 3, 2, 1, 2, 2, 0, 1, 1, 0),
                                                      (3, 3, 4, 2, 3, 1, 1, 1, 2, 0), (2, 2, 2, 2, 2, 3, 0, 2, 1, 2),
                                                      (4, 3, 1, 2, 3, 1, 2, 1, 1, 0), (2, 2, 2, 4, 3, 2, 1, 1, 2, 0)), transposed, any_comes_out):
    x, b = tensor([1, h, w, c]), tensor([co])
    f = tensor([k, k, co // groups, c])  # PyTorch: [C, CO / groups, KH, KW]
    y = F.conv_transpose2d(first(x).contiguous(), f.permute(3, 2, 0, 1).contiguous(), b, stride, pad, more, groups, dil)
    case("conv_transpose2d", last(y), [x, f, b], stride=stride, pad=pad, dilation=dil, groups=groups, output_pad=more)

for rank in (1, 2, 3, 4, 6):
    s, axis = shape(rank), random.randrange(rank)
    ids = list(s)
    ids[axis] = random.randint(1, 5)
    x, at = tensor(s), torch.randint(0, s[axis], ids)
    case("gather", torch.gather(x, axis, at), [x, at], axis=axis)
    src, size = tensor(ids), s[axis]
    zeros = torch.zeros(s, dtype=DTYPE)
    case("scatter_add", zeros.scatter_add(axis, at, src), [src, at], axis=axis, size=size)

norms = {5: 1, 6: 2}
for kind, power in norms.items():
    for rank in (1, 2, 3, 4, 6):
        x, axes = tensor(shape(rank, most=64)), random.sample(range(rank), random.randint(1, rank))
        with torch.no_grad():
            x.reshape(-1)[0] = 0
        keep = random.random() < 0.5
        y = torch.linalg.vector_norm(x, power, axes, keep)
        case("reduce", y, [x], kind=kind, axes=sum(1 << a for a in axes), keep=int(keep))
zeros = torch.zeros([2, 3]).to(DTYPE).requires_grad_(True)
case("reduce", torch.linalg.vector_norm(zeros, 2, [1], False), [zeros], kind=6, axes=2, keep=0)
for rank in (1, 2, 3, 4, 6):
    for kind, f in ((2, torch.argmax), (3, torch.argmin)):
        x, axis, keep = tensor(shape(rank, most=64)), random.randrange(rank), random.random() < 0.5
        case("arg", f(x, axis, keep).double(), [x], kind=kind, axis=axis, keep=int(keep))
for rank in (1, 2, 3, 4, 6):
    x, axis = tensor(shape(rank)), random.randrange(rank)
    case("cumsum", x.cumsum(axis), [x], axis=axis, backward=0)
    x = tensor(shape(rank))
    case("cumsum", x.flip(axis).cumsum(axis).flip(axis), [x], axis=axis, backward=1)
for rank in (1, 2, 3, 4, 6):
    x, axes = tensor(shape(rank)), random.sample(range(rank), random.randint(1, rank))
    case("flip", x.flip(axes), [x], axes=sum(1 << a for a in axes))
for rank in (1, 2, 3):
    for kind, mode in ((1, "reflect"), (2, "replicate"), (3, "circular")):
        for _ in range(2):
            x = tensor(shape(rank, least=2))
            most = [d - 1 if kind == 1 else d for d in x.shape]
            before, after = [random.randint(0, m) for m in most], [random.randint(0, m) for m in most]
            pads = [n for pair in zip(reversed(before), reversed(after)) for n in pair]
            case("pad_by", F.pad(x[None, None], pads, mode=mode)[0, 0], [x], kind=kind, before=before, after=after)
for s, n in settings((([3], 4), ([2, 3], 5), ([4], 1), ([1], 7)), lambda: (shape(random.randint(1, 4)), random.randint(1, 7))):
    ids = torch.randint(0, n, s)
    case("one_hot", F.one_hot(ids, n).double(), [ids], n=n)
for s, k in settings((([5], 3), ([3, 7], 2), ([2, 3, 4], 4), ([2, 1, 6], 1)), lambda: (shape(random.randint(1, 4)), random.randint(1, 4)),
                     lambda s, k: k <= s[-1]):
    x = (torch.randperm(torch.Size(s).numel()).to(DTYPE) / 8 - 1).reshape(s).requires_grad_(True)
    case("top_k", torch.topk(x, k)[0], [x], k=k, ids=0)
    x = x.detach().clone().requires_grad_(True)
    case("top_k", torch.topk(x, k)[1].double(), [x], k=k, ids=1)
for rank in (1, 2, 3, 3):
    x, counts = tensor(shape(rank, most=16)), [random.randint(1, 3) for _ in range(rank)]
    case("repeat", x.repeat(counts), [x], counts=counts)
for rank in (1, 2, 3, 4, 6):
    x, axis = tensor(shape(rank, least=2, most=64)), random.randrange(rank)
    sizes = [1, x.shape[axis] - 1]
    for part in range(2):
        x = x.detach().clone().requires_grad_(True)
        case("split", torch.split(x, sizes, axis)[part], [x], sizes=sizes, axis=axis, part=part)
for n, h, w, c in settings(((2, 3, 2, 3), (1, 4, 3, 1), (3, 2, 2, 2)), lambda: upto(3, 4, 4, 3), lambda n, h, w, c: h * w > 1):
    x, scale, shift = tensor([n, h, w, c]), tensor([c]), tensor([c])
    case("instance_norm", last(F.instance_norm(first(x).contiguous(), weight=scale, bias=shift, eps=0.125)), [x, scale, shift], eps=0.125)
for lead_a, lead_b in (([3], [3]), ([2, 1], [1, 3]), ([2, 3], []), ([3], [2, 1]), ([], [4]), ([1], [5]), ([2, 1, 2], [3, 1])):
    for layout in range(3):
        m, n, k = random.randint(1, 4), random.randint(1, 4), random.randint(1, 4)
        a, b = tensor(lead_a + ([k, m] if layout == 2 else [m, k])), tensor(lead_b + ([n, k] if layout == 0 else [k, n]))
        y = torch.matmul(a.mT if layout == 2 else a, b.mT if layout == 0 else b)
        case("matmul_broadcast", y, [a, b], layout=layout)
for h, w, oh, ow in settings(((2, 3, 2, 1), (5, 7, 3, 4), (4, 4, 2, 2), (3, 2, 5, 6), (1, 1, 3, 2)), lambda: upto(7, 7, 6, 6)):
    x = tensor([1, h, w, 2])
    case("resize", last(F.adaptive_avg_pool2d(first(x), (oh, ow))), [x], kind=2, h=oh, w=ow, align=0)

def of_line():
    (groups, c, co), (n, size, k, stride, dil) = in_groups(), upto(2, 9, 4, 3, 2)
    return n, size, c, co, k, stride, *upto(3, 3, least=0), dil, groups


for n, size, c, co, k, stride, before, after, dil, groups in settings(((2, 7, 2, 3, 3, 1, 1, 1, 1, 1), (1, 9, 4, 2, 4, 2, 3, 0, 1, 2),
                                                          (2, 6, 1, 2, 2, 3, 0, 2, 2, 1), (1, 5, 3, 3, 3, 1, 4, 0, 2, 3)), of_line,
                                                          lambda n, size, c, co, k, stride, before, after, dil, groups:
                                                          size + before + after > dil * (k - 1)):
    x, f, b = tensor([n, size, c]), tensor([k, c // groups, co]), tensor([co])
    y = F.conv1d(F.pad(x.permute(0, 2, 1), (before, after)), f.permute(2, 1, 0).contiguous(), b, stride, 0, dil, groups)
    case("conv1d", y.permute(0, 2, 1).contiguous(), [x, f, b], stride=stride, pads=[before, after], dilation=dil, groups=groups)
for size, c, co, k, stride, pad, dil, groups, more in settings(
        ((4, 2, 3, 3, 2, 1, 1, 1, 1), (3, 4, 2, 4, 3, 2, 1, 2, 0), (5, 1, 2, 2, 1, 1, 3, 1, 0)), lambda: transposed()[1:],
        lambda size, *s: any_comes_out(size, size, *s)):
    x, b = tensor([1, size, c]), tensor([co])
    f = tensor([k, co // groups, c])
    y = F.conv_transpose1d(x.permute(0, 2, 1).contiguous(), f.permute(2, 1, 0).contiguous(), b, stride, pad, more, groups, dil)
    case("conv_transpose1d", y.permute(0, 2, 1).contiguous(), [x, f, b], stride=stride, pads=[pad, pad], dilation=dil, groups=groups,
         output_pad=more)
for h, w, pads in settings(((4, 5, (2, 0, 1, 3)), (3, 3, (0, 1, 0, 0)), (5, 4, (1, 2, 3, 0))), lambda: (*upto(5, 5), upto(3, 3, 3, 3, least=0)),
                           lambda h, w, pads: h + pads[0] + pads[1] >= 2 and w + pads[2] + pads[3] >= 3):
    x, f, b = tensor([1, h, w, 2]), tensor([2, 3, 2, 3]), tensor([3])
    y = F.conv2d(F.pad(first(x), (pads[2], pads[3], pads[0], pads[1])), f.permute(3, 2, 0, 1).contiguous(), b, 2)
    case("conv2d", last(y), [x, f, b], stride=2, pads=list(pads), dilation=1, groups=1)

def pooled():
    sizes = upto(4, 4)
    return *upto(8, 8), sizes, upto(3, 3), tuple(random.randint(0, s // 2) for s in sizes)


def windows_fit(h, w, sizes, strides, pads):
    return h + 2 * pads[0] >= sizes[0] and w + 2 * pads[1] >= sizes[1]


for h, w, sizes, strides, pads in settings(((5, 6, (2, 3), (1, 2), (1, 0)), (1, 9, (1, 4), (1, 3), (0, 2)), (6, 4, (3, 2), (3, 1), (0, 1))), pooled,
                                           windows_fit):
    for op, f in (("max_pool", F.max_pool2d), ("avg_pool", F.avg_pool2d)):
        x = (torch.randperm(h * w * 2).to(DTYPE) / 8 - 2).reshape([1, h, w, 2]).requires_grad_(True)
        case(op, last(f(first(x), sizes, strides, pads)), [x], sizes=list(sizes), strides=list(strides), window_pads=list(pads))

def two_axes():
    groups, c, co = in_groups()
    return *upto(9, 9), c, co, upto(3, 3), upto(3, 3), upto(2, 2, 2, 2, least=0), upto(3, 3), groups


def two_axes_fit(h, w, c, co, k, stride, pads, dil, groups):
    there = h + pads[0] + pads[1] > dil[0] * (k[0] - 1) and w + pads[2] + pads[3] > dil[1] * (k[1] - 1)
    return there and 2 * stride[0] - 2 + dil[0] * (k[0] - 1) >= 1


for h, w, c, co, k, stride, pads, dil, groups in settings(((7, 8, 2, 3, (3, 2), (2, 1), (1, 0, 2, 1), (1, 2), 1), (5, 9, 4, 2, (2, 3), (1, 3), (0, 1, 1, 1), (2, 1), 2),
                                                  (8, 5, 3, 3, (3, 2), (3, 2), (2, 2, 0, 0), (2, 3), 3)), two_axes, two_axes_fit):
    x, b = tensor([1, h, w, c]), tensor([co])
    f = tensor([*k, c // groups, co])
    y = F.conv2d(F.pad(first(x), (pads[2], pads[3], pads[0], pads[1])), f.permute(3, 2, 0, 1).contiguous(), b, stride, 0, dil, groups)
    case("conv2d", last(y), [x, f, b], strides=list(stride), pads=list(pads), dilations=list(dil), groups=groups)
    x, b, f = tensor([1, 2, 3, c]), tensor([co]), tensor([*k, co // groups, c])
    more = [s - 1 for s in stride]
    y = F.conv_transpose2d(first(x).contiguous(), f.permute(3, 2, 0, 1).contiguous(), b, stride, (1, 0), more, groups, dil)
    case("conv_transpose2d", last(y), [x, f, b], strides=list(stride), pads=[1, 1, 0, 0], dilations=list(dil), groups=groups, output_pads=more)

for h, w, sizes, strides, pads in settings(((5, 8, (2, 3), (2, 2), (1, 0)), (7, 5, (3, 2), (2, 3), (1, 1)), (6, 7, (3, 3), (2, 2), (1, 1)), (4, 9, (2, 4), (3, 3), (0, 2))),
                                           pooled, windows_fit):
    for ceil in (False, True):
        x = (torch.randperm(h * w).to(DTYPE) / 8 - 2).reshape([1, h, w, 1]).requires_grad_(True)
        case("max_pool", last(F.max_pool2d(first(x), sizes, strides, pads, ceil_mode=ceil)), [x], sizes=list(sizes),
             strides=list(strides), window_pads=list(pads), ceil=int(ceil))
        for include in (False, True):
            x = tensor([1, h, w, 1])
            case("avg_pool", last(F.avg_pool2d(first(x), sizes, strides, pads, ceil, include)), [x], sizes=list(sizes),
                 strides=list(strides), window_pads=list(pads), ceil=int(ceil), pixels=int(not include))

def attended():
    b, kv, t, s, d = upto(2, 2, 4, 5, 6)
    h = kv * random.randint(1, 2)
    return (b, h, kv, t, s, d, random.randint(0, 1), random.choice((None, (t, s), (h, t, s), (1, 1, t, s), (b, h, t, s))),
            random.choice((None, (b, 1, 1, s), (1, 1, 1, s), (b, 1, t, s))))


for b, h, kv, t, s, d, causal, bias_shape, mask_shape in settings(((1, 2, 2, 3, 3, 4, 0, (2, 3, 3), None), (2, 2, 1, 2, 3, 3, 0, (1, 1, 2, 3), None), (2, 1, 1, 3, 2, 4, 0, None, (2, 1, 1, 2)),
                                                          (1, 2, 2, 3, 4, 2, 1, (3, 4), (1, 1, 1, 4)), (1, 2, 1, 2, 5, 4, 0, None, None), (1, 1, 1, 3, 3, 4, 1, None, None), (1, 2, 2, 2, 2, 6, 1, None, None)), attended):
    x = [tensor([b, n, c * d]) for n, c in ((t, h), (s, kv), (s, kv))]
    bias, mask = tensor(list(bias_shape)) if bias_shape else None, torch.randint(0, 2, mask_shape).to(DTYPE) if mask_shape else None
    if mask is not None:
        mask[..., 0] = 1
    q, k, v = [n.reshape(b, -1, c, d).transpose(1, 2).repeat_interleave(h // c, 1) for n, c in zip(x, (h, kv, kv))]
    added = torch.zeros(t, s, dtype=DTYPE) if bias is None else bias
    added = added if mask is None else added.masked_fill(mask == 0, -torch.inf)
    added = added.masked_fill(torch.ones(t, s).tril() == 0, -torch.inf) if causal else added
    y = F.scaled_dot_product_attention(q, k, v, added, scale=0.5)
    extra = [n for n in (bias, mask) if n is not None]
    case("attention_general", y.transpose(1, 2).reshape(b, t, h * d), x + extra, heads=h, kv_heads=kv, full=int(not causal),
         scale=0.5, bias=int(bias is not None), mask=int(mask is not None))

for lstm in (0, 1):
    for b, t, c, h, first_state, reverse in settings(((2, 3, 2, 2, 0, 0), (1, 4, 3, 2, 1, 0), (2, 2, 1, 3, 1, 1), (1, 1, 2, 1, 0, 1), (1, 3, 2, 3, 1, 1)),
                                                     lambda: (*upto(3, 4, 3, 3), *upto(1, 1, least=0))):
        net = (torch.nn.LSTM if lstm else torch.nn.GRU)(c, h, batch_first=True).to(DTYPE)
        weights = [w for _, w in net.named_parameters()]
        for w in weights:
            w.data = tensor(list(w.shape), grad=False) / 4
        x, states = tensor([b, t, c]), [tensor([b, h]) for _ in range((1 + lstm) * first_state)]
        leading = tuple(n[None] for n in states)
        start = None if not states else leading if lstm else leading[0]
        y = net(x.flip([1]) if reverse else x, start)[0]
        case("rnn", y.flip([1]) if reverse else y, [x] + weights + states, lstm=lstm, reverse=reverse)
net = torch.nn.LSTM(2, 2, batch_first=True).to(DTYPE)
x, weights = tensor([2, 3, 2]), [w for _, w in net.named_parameters()]
case("rnn", net(x)[1][1][0], [x] + weights, lstm=1, reverse=0, cells=1)

# Functions that came later: behind all others, whose numbers stay.
later = [torch.asin, torch.acos, torch.atan, torch.sinh, torch.cosh, torch.asinh, torch.acosh, torch.atanh]
for k, f in enumerate(later):
    for rank in (1, 3):
        x = tensor(shape(rank), grad=False)
        if f in (torch.asin, torch.acos, torch.atanh):
            x = x / 4
        if f is torch.acosh:
            x = x.abs() + 1.125
        case("unary", f(x.requires_grad_(True)), [x], fn=len(unary) + k, s=0, t=0)

if SEED == 3:
    path = pathlib.Path(__file__).resolve().parents[2] / ("tests/golden/general." + (NARROW + "." if NARROW else "") + "json")
    path.write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    print(len(cases), "cases")
