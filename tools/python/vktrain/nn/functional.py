"""Functions of tensors under PyTorch's names: vktrain.nn.functional as F.

Shapes: N batch, C channels, H and W rows and columns, T and S tokens, E features.
"""
import difflib

import numpy as np

from .._graph_library import U32
from .._library import UnsupportedError
from .._ops import FN
from .._tensor import (Tensor, _any_order, _lifted, _unpermuted, binary, concat, full, matmul, ones,
                       stack, tensor, where, zeros)
from .._trace import fail, limit, line_here, make, sorted_ids, text_of

_SORTED = 256  # rows of a table from which the host sorts the ids, for the gradient
_KINDS = {"mse": 0, "huber": 1, "bce": 2}


def _pair(v):
    return (v, v) if isinstance(v, int) else tuple(v)


def _refuse(what):
    raise UnsupportedError(f"{text_of(line_here())}: {what}", "unsupported")


def maximum(a, b): return binary("maximum", a, b)
def minimum(a, b): return binary("minimum", a, b)
def relu(x): return tensor(x)._float()._activate("relu")
def silu(x): return tensor(x)._float()._activate("silu")
def mish(x): return tensor(x)._float()._activate("mish")
def hardswish(x): return tensor(x)._float()._activate("hardswish")
def sigmoid(x): return tensor(x)._float()._activate("sigmoid")
def tanh(x): return tensor(x)._float()._activate("tanh")
def relu6(x): return tensor(x).clamp(0, 6)
def hardsigmoid(x): return (tensor(x) * (1 / 6) + 0.5).clamp(0, 1)
def leaky_relu(x, slope=0.01): return tensor(x)._unary("leaky_relu", slope)
def elu(x, alpha=1.0): return tensor(x)._unary("elu", alpha)
def softplus(x): return tensor(x)._unary("softplus")
def logsigmoid(x): return softplus(tensor(x) * -1.0) * -1.0
def softmax(x, dim=-1): return tensor(x).softmax(dim)
def log_softmax(x, dim=-1): return tensor(x).log_softmax(dim)


def gelu(x, approximate="none"):
    """approximate: "none" or "tanh"."""
    return tensor(x)._float()._activate("gelu" if approximate == "none" else "gelu_tanh")


def glu(x, dim=-1):
    a, b = tensor(x).chunk(2, dim)
    return a * sigmoid(b)


def linear(x, weight, bias=None):
    """x [.., in], weight [out, in], bias [out] -> [.., out]."""
    x = tensor(x)._float()
    if x.ndim == 1:
        return linear(x.reshape(1, -1), weight, bias).reshape(-1)
    return Tensor(make("linear", [x._pair, weight._pair, None if bias is None else bias._pair]))


def embedding(ids, weight):
    """ids of any shape, weight [K, E] -> [.., E]."""
    ids, weight = tensor(ids), tensor(weight)
    if ids._node.dtypes[ids._out] != U32:
        fail("embedding: ids are whole numbers", ids._pair)
    if weight.ndim != 2:
        fail("embedding: weight has two dimensions", ids._pair, weight._pair)
    limit(ids._pair, weight.shape[0], "embedding")
    if ids._node.op in ("input", "constant") and weight._node.needs and \
            weight.shape[0] >= _SORTED and ids.size:
        order = sorted_ids(ids._pair, weight.shape[0])
        y = Tensor(make("embedding", [weight._pair, ids.reshape(1, -1)._pair, (order, 0),
                                      (order, 1)]))
    else:  # each row of the gradient looks at all ids
        y = Tensor(make("lookup", [ids.reshape(-1, 1)._float()._pair, weight._pair]))
    return y.reshape(ids.shape + weight.shape[1:])


def one_hot(ids, n):
    """ids -> [.., n], 1 where the last dimension's place is the id."""
    ids = tensor(ids)
    limit(ids._pair, n, "one_hot")
    return Tensor(make("one_hot", [ids._pair], (n,)))


def dropout(x, p=0.5, training=True):
    """Zeros with probability p, the others divided by 1 - p."""
    if not training or p == 0:
        return tensor(x)
    return _lifted(lambda v: make("dropout", [v], (float(p),)), tensor(x)._float())


# ---- convolutions and pictures ----

def _same(stride, what):
    a = _pair(stride)
    if a[0] != a[1]:
        _refuse(f"{what} {list(a)} differs between rows and columns")
    return a[0]


def _filter_order(rank):
    return (2, 3, 1, 0) if rank == 4 else (2, 1, 0)


def _last(x):
    return x.permute((0, 2, 3, 1) if x.ndim == 4 else (0, 2, 1))


def _first(x):
    return x.permute((0, 3, 1, 2) if x.ndim == 4 else (0, 2, 1))


def _conv(name, x, weight, bias, attrs):
    x, weight = tensor(x)._float(), tensor(weight)
    stride, dilation, groups, pads = attrs[:4]
    if min(stride, dilation, groups) < 1 or not all(0 <= p < 2**30 for p in pads):
        fail(f"{name} with stride {stride}, dilation {dilation}, groups {groups}, padding "
             f"{list(pads)}", x._pair, weight._pair)
    rank = 4 if name.endswith("2d") else 3
    if x.ndim != rank or weight.ndim != rank:
        fail(f"{name} needs {rank} dimensions", x._pair, weight._pair)
    y = make(name, [_last(x)._pair, weight.permute(_filter_order(rank))._pair,
                    None if bias is None else bias._pair], attrs)
    return _first(Tensor(y))


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """x [N, C, H, W], weight [CO, C / groups, KH, KW] -> [N, CO, OH, OW]."""
    weight = tensor(weight)
    dilation = _same(dilation, "dilation")
    if padding == "same":
        spans = [dilation * (k - 1) for k in weight.shape[2:]]
        pads = tuple(p for s in spans for p in (s // 2, s - s // 2))
    else:
        p = _pair(0 if padding == "valid" else padding)
        pads = (p[0], p[0], p[1], p[1])
    return _conv("conv2d", x, weight, bias, (_same(stride, "stride"), dilation, groups, pads))


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """x [N, C, L], weight [CO, C / groups, K] -> [N, CO, OL]. padding: a number, or two: before and
    after."""
    first, second = _pair(padding)
    return _conv("conv1d", x, weight, bias, (int(stride), int(dilation), groups, (first, second)))


def conv_transpose2d(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1,
                     dilation=1):
    """x [N, C, H, W], weight [C, CO / groups, KH, KW] -> [N, CO, OH, OW]."""
    p = _pair(padding)
    return _conv("conv_transpose2d", x, weight, bias,
                 (_same(stride, "stride"), _same(dilation, "dilation"), groups,
                  (p[0], p[0], p[1], p[1]), _same(output_padding, "output_padding")))


def _pooled(name, x, size, stride, padding):
    x = tensor(x)._float()
    if x.ndim != 4:
        fail(f"{name}2d needs 4 dimensions", x._pair)
    size = _pair(size)
    stride = size if stride is None else _pair(stride)
    return _first(Tensor(make(name, [_last(x)._pair], (size, stride, _pair(padding)))))


def max_pool2d(x, kernel_size, stride=None, padding=0):
    """x [N, C, H, W]: the largest in each window."""
    return _pooled("max_pool", x, kernel_size, stride, padding)


def avg_pool2d(x, kernel_size, stride=None, padding=0):
    """x [N, C, H, W]: the mean of each window, with zeros for padding."""
    return _pooled("avg_pool", x, kernel_size, stride, padding)


def adaptive_avg_pool2d(x, output_size):
    """x [N, C, H, W] -> [N, C, h, w]: means of windows of equal shares."""
    x, size = tensor(x)._float(), _pair(output_size)
    if size == (1, 1):
        return x.mean((2, 3), keepdim=True)
    return _first(Tensor(make("adaptive_avg_pool", [_last(x)._pair], size)))


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False):
    """x [N, C, H, W] -> [N, C, h, w]; mode: nearest or bilinear."""
    x = tensor(x)._float()
    if mode not in ("nearest", "bilinear"):
        _refuse(f"interpolate with mode {mode!r}; it is nearest or bilinear")
    h, w = _pair(size) if size is not None else \
        tuple(int(n * s) for n, s in zip(x.shape[2:], _pair(scale_factor)))
    kind = {"nearest": 0, "bilinear": 1}[mode]
    return _first(Tensor(make("resize", [_last(x)._pair], (kind, h, w, bool(align_corners)))))


def pad(x, pads, mode="constant", value=0.0):
    """pads: before and after the last dimension, then the one before it, ..; mode: constant, reflect,
    replicate, circular."""
    x = tensor(x)
    before, after = [0] * x.ndim, [0] * x.ndim
    for i in range(len(pads) // 2):
        before[x.ndim - 1 - i], after[x.ndim - 1 - i] = pads[2 * i], pads[2 * i + 1]
    if min(before + after) < 0:
        _refuse("pad by a negative number; use x[...]")
    source, order = _unpermuted(x)
    if order:
        inverse = [order.index(i) for i in range(x.ndim)]
        before, after = [before[i] for i in inverse], [after[i] for i in inverse]
    b, a = tuple(before), tuple(after)
    if mode == "constant":
        y = make("pad", [source], (b, a, float(value)))
    else:
        y = make("pad_by", [source], ({"reflect": 1, "replicate": 2, "circular": 3}[mode], b, a))
    y = Tensor(y)
    return y.permute(order) if order else y


# ---- norms ----

def _weight(weight, n, value):
    return (full((n,), value) if weight is None else weight)._pair


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Over the last dimensions, which are normalized_shape."""
    x = tensor(x)._float()
    dims = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if x.shape[x.ndim - len(dims):] != dims:
        fail(f"layer_norm over {list(dims)}", x._pair)
    n = int(np.prod(dims))
    flat = x if len(dims) == 1 else x.reshape(x.shape[:-len(dims)] + (n,))
    w = None if weight is None else weight.reshape(n)
    b = None if bias is None else bias.reshape(n)
    y = Tensor(make("layer_norm", [flat._pair, _weight(w, n, 1.0), None if b is None else b._pair],
                    (float(eps),)))
    return y.reshape(x.shape)


def rms_norm(x, normalized_shape, weight=None, eps=1e-6):
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension."""
    x = tensor(x)._float()
    n = normalized_shape if isinstance(normalized_shape, int) else normalized_shape[-1]
    return Tensor(make("rms_norm", [x._pair, _weight(weight, n, 1.0)], (float(eps),)))


def _channels_last(x):
    return x if x.ndim == 2 else x.permute((0,) + tuple(range(2, x.ndim)) + (1,))


def _channels_first(x):
    return x if x.ndim == 2 else x.permute((0, x.ndim - 1) + tuple(range(1, x.ndim - 1)))


def batch_norm(x, running_mean, running_var, count, weight, bias, training, momentum=0.1, eps=1e-5):
    """x [N, C, ..], per channel; with training, by the batch, and the running values follow."""
    x = tensor(x)._float()
    n = x.shape[1]
    y = make("batch_norm", [_channels_last(x)._pair, _weight(weight, n, 1.0), _weight(bias, n, 0.0),
                            running_mean._pair, running_var._pair, count._pair],
             (float(eps), float(momentum), bool(training)))
    return _channels_first(Tensor(y))


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    """x [N, C, ..]: over the pixels of each group of channels of each example."""
    x = tensor(x)._float()
    n = x.shape[1]
    y = make("group_norm", [_channels_last(x)._pair, _weight(weight, n, 1.0),
                            _weight(bias, n, 0.0)], (num_groups, float(eps)))
    return _channels_first(Tensor(y))


# ---- attention ----

def _to_tokens(x):  # [B, H, T, D] -> [B, T, H D]
    b, h, t, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(b, t, h * d)


def scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False,
                                 scale=None):
    """q [B, H, T, D], k, v [B, H, S, D] -> [B, H, T, D]. attn_mask, broadcast to [B, H, T, S]: added
    to the scores."""
    q, k, v = tensor(q), tensor(k), tensor(v)
    b, h, t, d = q.shape
    if attn_mask is None and dropout_p == 0 and d % 4 == 0 and d <= 256 and \
            (not is_causal or t == k.shape[2]) and v.shape[3] == d:
        y = attention(_to_tokens(q), _to_tokens(k), _to_tokens(v), h, is_causal, scale)
        return y.reshape(b, t, h, d).permute(0, 2, 1, 3)
    s = matmul(q, k.transpose(-1, -2)) * (scale or d ** -0.5)
    if is_causal:
        s = s + tensor(np.triu(np.full((t, k.shape[2]), -1e30, np.float32), 1))
    if attn_mask is not None:
        s = s + tensor(attn_mask)
    return matmul(dropout(s.softmax(-1), dropout_p), v)


def attention(q, k, v, heads, is_causal=False, scale=None):
    """q [B, T, heads D], k, v [B, S, heads D] -> [B, T, heads D]; scores are never stored. k and v
    None: q has queries, keys and values one after another, [B, T, 3 heads D]."""
    ins = [x if x is None else x._pair for x in (q, k, v)]
    return Tensor(make("attention", ins, (heads, 0, not is_causal, float(scale or 0))))


# ---- losses ----

def _checked(reduction):
    if reduction not in ("mean", "sum", "none"):
        near = difflib.get_close_matches(str(reduction), ("mean", "sum", "none"), 1, 0.3)
        raise ValueError(f"reduction is {reduction!r}; it is mean, sum or none" +
                         (f": {near[0]}?" if near else ""))


def _reduced(rows, reduction):
    _checked(reduction)
    return rows.mean() if reduction == "mean" else rows.sum() if reduction == "sum" else rows


def cross_entropy(logits, target, weight=None, ignore_index=None, reduction="mean",
                  label_smoothing=0.0):
    """logits [N, V] or [N, V, ..], target [N] or [N, ..] of classes, or of probabilities [N, V].
    weight [V]: of classes. ignore_index: a label that does not count, of any value; without it, -100
    in an array (in a step function's argument, only if it is given)."""
    _checked(reduction)
    logits = tensor(logits)._float()
    if logits.ndim < 2:
        fail("cross_entropy: logits are [N, V] or [N, V, ..]", logits._pair)
    if not isinstance(target, Tensor):
        target, ignore_index = _labels(np.asarray(target), logits.shape[1], ignore_index)
    target = tensor(target)
    if target._node.dtypes[target._out] != U32:
        if target.shape != logits.shape:
            fail("cross_entropy: classes are whole numbers, probabilities of the logits' shape",
                 logits._pair, target._pair)
        if ignore_index not in (None, -100):
            raise ValueError(f"ignore_index is {ignore_index}: targets that are probabilities have none")
        if label_smoothing:
            target = target * (1.0 - label_smoothing) + label_smoothing / logits.shape[1]
        if weight is not None:
            target = target * tensor(weight).reshape((1, -1) + (1,) * (logits.ndim - 2))
        rows = (logits.log_softmax(1) * target).sum(1) * -1.0
        return _reduced(rows, reduction)
    v = logits.shape[1]
    if logits.ndim > 2:
        logits = logits.permute((0,) + tuple(range(2, logits.ndim)) + (1,))
    if logits.shape[:-1] != target.shape:
        fail("cross_entropy", logits._pair, target._pair)
    flat, ids = logits.reshape(-1, v), target.reshape(-1)
    w = None if weight is None else tensor(weight)
    limit(ids._pair, v, "cross_entropy", ignore_index)
    counts = None  # 1 for labels that count
    if ignore_index is not None and 0 <= ignore_index < v:
        counts = 1.0 - binary("eq", ids._float(), float(ignore_index))
    elif ignore_index is not None:
        counts = binary("lt", ids._float(), float(v))
    whole = reduction == "mean" and w is None and ignore_index is None and flat.shape[0] > 0
    shares = full(ids.shape, 1 / flat.shape[0])._pair if whole else None
    rows = Tensor(make("cross_entropy", [flat._pair, ids._pair, None if w is None else w._pair,
                                         shares], (float(label_smoothing),)), 0)
    if counts is not None and 0 <= ignore_index < v:
        rows = rows * counts
    if whole:
        return rows.sum()
    if reduction == "none":
        return rows.reshape(target.shape)
    if reduction == "sum":
        return rows.sum()
    if w is not None:
        shares = matmul(Tensor(make("one_hot", [ids._pair], (v,))), w)
        return rows.sum() / (shares if counts is None else shares * counts).sum()
    if counts is not None:
        return rows.sum() / counts.sum()
    return rows.mean()


_NO_LABEL = 1 << 24  # past all classes


def _labels(a, v, ignore_index):
    """An array of labels, with those that do not count past the end, and the ignore_index of that."""
    if a.dtype.kind != "i" or not a.size:
        return a, ignore_index
    out = a == (-100 if ignore_index is None else ignore_index)
    if ignore_index is not None and 0 <= ignore_index < v or not out.any():
        return a, ignore_index
    return np.where(out, _NO_LABEL, a), _NO_LABEL


def _element(kind, x, y, reduction, delta=1.0, positive=None):
    _checked(reduction)
    x, y = tensor(x)._float(), tensor(y)._float()
    if x.shape != y.shape:
        fail(f"{kind} loss: shapes differ", x._pair, y._pair)
    if reduction == "none" or y._node.needs:
        return None
    a, b = _unpermuted(x), _unpermuted(y)
    if a[1] and not b[1]:  # a picture beside an array: the smaller work
        y = y.permute([a[1].index(i) for i in range(x.ndim)])
        x = Tensor(*a[0])
    elif a[1] and a[1] == b[1]:
        x, y = Tensor(*a[0]), Tensor(*b[0])
    n = x.shape[-1] if x.ndim > 1 else 1
    rows = Tensor(make("element_loss", [x.reshape(-1, n)._pair, y.reshape(-1, n)._pair,
                                        None if positive is None else positive._pair],
                       (_KINDS[kind], float(delta))))
    return rows.sum() * (1.0 / rows.size if reduction == "mean" else float(n))


def mse_loss(x, y, reduction="mean"):
    """(x - y)^2; reduction: mean, sum, none."""
    loss = _element("mse", x, y, reduction)
    if loss is not None:
        return loss
    d = tensor(x) - y
    return _reduced(d * d, reduction)


def l1_loss(x, y, reduction="mean"):
    return _reduced((tensor(x) - y).abs(), reduction)


def huber_loss(x, y, reduction="mean", delta=1.0):
    loss = _element("huber", x, y, reduction, delta)
    if loss is not None:
        return loss
    d = (tensor(x) - y).abs()
    q = d.clamp(0, delta)
    return _reduced(q * q * 0.5 + (d - q) * delta, reduction)


def smooth_l1_loss(x, y, reduction="mean", beta=1.0):
    return huber_loss(x, y, reduction, beta) * (1 / beta)


def binary_cross_entropy_with_logits(x, y, reduction="mean"):
    """Of sigmoid(x) and y in [0, 1], of the same shape."""
    loss = _element("bce", x, y, reduction)
    if loss is not None:
        return loss
    x = tensor(x)
    return _reduced(softplus(x) - x * y, reduction)


def kl_div(log_p, q, reduction="mean"):
    """q (log q - log_p), q > 0."""
    q = tensor(q)
    return _reduced(q * (q.log() - log_p), reduction)
