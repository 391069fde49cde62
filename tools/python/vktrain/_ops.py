"""The ops of the library that tensors are made of: name -> what puts one into a graph.

Each takes the graph, the handles of its inputs (None: it has none there) and its constants, a
tuple, and gives a handle or several. It knows neither Python's tensors nor devices.
"""
from ctypes import POINTER, byref, c_uint32, c_void_p, cast

from ._graph_library import (AttentionDesc, BatchNormDesc, ConvDesc, ElementLossDesc, EmbeddingIn,
                             Maybe, PoolDesc, ResizeDesc, Shape, XentDesc, F32)
from ._library import lib

FN = {name: i for i, name in enumerate((
    "exp", "log", "sqrt", "rsqrt", "abs", "neg", "sin", "cos", "erf", "floor", "clamp",
    "leaky_relu", "softplus", "elu", "reciprocal", "asin", "acos", "atan", "sinh", "cosh", "asinh",
    "acosh", "atanh"))}
FN2 = {name: i for i, name in enumerate((
    "add", "sub", "mul", "div", "pow", "minimum", "maximum", "eq", "lt", "le", "exp_sub"))}
ACT = {name: i for i, name in enumerate((
    "none", "relu", "gelu_tanh", "gelu", "silu", "sigmoid", "tanh", "mish", "hardswish"))}
REDUCE = {name: i for i, name in enumerate((
    "sum", "mean", "max", "min", "logsumexp", "norm1", "norm2"))}
NT, NN, TN = range(3)


def shape(d):
    return Shape(len(d), (c_uint32 * 6)(*d)) if d else Shape(1, (c_uint32 * 6)(1))


def _u(numbers):
    return (c_uint32 * len(numbers))(*numbers)


def _conv_desc(a):
    stride, dilation, groups, pads = a[:4]
    pads = _u(pads)
    return ConvDesc(stride, 0, dilation, groups, 0, cast(pads, POINTER(c_uint32))), pads


def _conv(name):
    def build(g, x, a):
        desc, pads = _conv_desc(a)
        return getattr(lib, name)(g, x[0], x[1], x[2], byref(desc), *a[4:])
    return build


def _pool(name):
    def build(g, x, a):
        sizes, strides, pads = (_u(v) for v in a)
        desc = PoolDesc(0, 0, 0, cast(sizes, POINTER(c_uint32)), cast(strides, POINTER(c_uint32)),
                        cast(pads, POINTER(c_uint32)))
        return getattr(lib, name)(g, x[0], byref(desc))
    return build


def _batch_norm(g, x, a):
    eps, momentum, train = a
    desc = BatchNormDesc(x[1], x[2], x[3], x[4], x[5], eps, momentum, 0, train)
    return lib.vkt_batch_norm(g, x[0], byref(desc))


def _xent(g, x, a):
    smoothing, = a
    loss = lib.vkt_softmax_xent(g, x[0], x[1], x[3], x[2],
                                byref(XentDesc(smoothing, Maybe(False, 0))))
    return loss.loss, loss.hit


def _element_loss(g, x, a):
    kind, delta = a
    return lib.vkt_element_losses(g, x[0], x[1],
                                  byref(ElementLossDesc(kind, None, x[2], delta))).loss


def _attention(g, x, a):
    heads, kv_heads, full, scale = a
    desc = AttentionDesc(heads, kv_heads, full, 0, scale, 0)
    return lib.vkt_attention(g, x[0], x[1], x[2], None, None, byref(desc))


def _embedding(g, x, a):
    table, ids, order, segments = x
    return lib.vkt_embedding(g, byref(EmbeddingIn(table, ids, None, None, order, segments, None)))


def _resize(g, x, a):
    return lib.vkt_resize(g, x[0], byref(ResizeDesc(*a)))


def _concat(g, x, a):
    return lib.vkt_concat(g, (c_void_p * len(x))(*x), len(x), a[0])


def _top_k(g, x, a):
    ids = c_void_p()
    return lib.vkt_top_k(g, x[0], a[0], byref(ids)), ids.value


def _slice(g, x, a):
    first, count, step = a
    return lib.vkt_slice(g, x[0], _u(first), _u(count), _u(step))


OPS = {
    "unary": lambda g, x, a: lib.vkt_unary(g, FN[a[0]], x[0], a[1], a[2]),
    "binary": lambda g, x, a: lib.vkt_binary(g, FN2[a[0]], x[0], x[1]),
    "add": lambda g, x, a: lib.vkt_add(g, x[0], x[1]),
    "mul": lambda g, x, a: lib.vkt_mul(g, x[0], x[1]),
    "scale": lambda g, x, a: lib.vkt_scale(g, x[0], a[0]),
    "activation": lambda g, x, a: lib.vkt_activate(g, x[0], ACT[a[0]]),
    "where": lambda g, x, a: lib.vkt_where(g, x[0], x[1], x[2]),
    "fill": lambda g, x, a: lib.vkt_fill(g, shape(a[0]), a[1]),
    "cast": lambda g, x, a: lib.vkt_cast(g, x[0], a[0]),
    "detach": lambda g, x, a: lib.vkt_detach(g, x[0]),
    "reshape": lambda g, x, a: lib.vkt_reshape(g, x[0], shape(a[0])),
    "permute": lambda g, x, a: lib.vkt_permute(g, x[0], _u(a[0])),
    "expand": lambda g, x, a: lib.vkt_expand(g, x[0], shape(a[0])),
    "slice": _slice,
    "flip": lambda g, x, a: lib.vkt_flip(g, x[0], a[0]),
    "repeat": lambda g, x, a: lib.vkt_repeat(g, x[0], _u(a[0])),
    "pad": lambda g, x, a: lib.vkt_pad(g, x[0], _u(a[0]), _u(a[1]), a[2]),
    "pad_by": lambda g, x, a: lib.vkt_pad_by(g, x[0], a[0], _u(a[1]), _u(a[2])),
    "concat": _concat,
    "sum_all": lambda g, x, a: lib.vkt_sum(g, x[0]),
    "reduce": lambda g, x, a: lib.vkt_reduce(g, REDUCE[a[0]], x[0], a[1], a[2]),
    "arg": lambda g, x, a: lib.vkt_arg(g, REDUCE[a[0]], x[0], a[1], a[2]),
    "cumsum": lambda g, x, a: lib.vkt_cumsum(g, x[0], a[0], False),
    "top_k": _top_k,
    "one_hot": lambda g, x, a: lib.vkt_one_hot(g, x[0], a[0]),
    "softmax": lambda g, x, a: lib.vkt_softmax_axis(g, x[0], a[0]),
    "log_softmax": lambda g, x, a: lib.vkt_log_softmax(g, x[0], a[0]),
    "gather": lambda g, x, a: lib.vkt_gather(g, x[0], x[1], a[0]),
    "scatter_add": lambda g, x, a: lib.vkt_scatter_add(g, x[0], x[1], a[0], a[1]),
    "matmul": lambda g, x, a: lib.vkt_matmul_broadcast(g, a[0], x[0], x[1]),
    "linear": lambda g, x, a: lib.vkt_linear(g, x[0], x[1], x[2], 0),
    "conv2d": _conv("vkt_conv2d"), "conv1d": _conv("vkt_conv1d"),
    "conv_transpose2d": _conv("vkt_conv_transpose2d"),
    "conv_transpose1d": _conv("vkt_conv_transpose1d"),
    "max_pool": _pool("vkt_max_pool"), "avg_pool": _pool("vkt_avg_pool"),
    "adaptive_avg_pool": lambda g, x, a: lib.vkt_adaptive_avg_pool(g, x[0], a[0], a[1]),
    "resize": _resize,
    "layer_norm": lambda g, x, a: lib.vkt_layernorm(g, x[0], x[1], x[2], None, a[0], None),
    "rms_norm": lambda g, x, a: lib.vkt_rmsnorm(g, x[0], x[1], None, a[0], None),
    "batch_norm": _batch_norm,
    "group_norm": lambda g, x, a: lib.vkt_group_norm(g, x[0], x[1], x[2], a[0], a[1]),
    "dropout": lambda g, x, a: lib.vkt_dropout(g, x[0], lib.vkt_step(g), a[0]),
    "noise": lambda g, x, a: lib.vkt_noise(g, x[0], lib.vkt_step(g), a[0]),
    "cross_entropy": _xent,
    "element_loss": _element_loss,
    "attention": _attention,
    "embedding": _embedding,
    "lookup": lambda g, x, a: lib.vkt_lookup(g, x[0], x[1], 0),
}
# What is a function of the step too, and what changes storages of its inputs.
OF_THE_STEP = {"dropout", "noise"}
WRITES = {"batch_norm": (3, 4, 5)}
