"""Tensors: arrays on the device that are computed when they are asked for.

An operation makes a node (_trace); the numbers are computed by _program when `numpy`, `item` or an
optimizer's step asks for them, or once for all by a step function (vktrain.jit).

Pictures have PyTorch's order of dimensions, [N, C, H, W], but the library's kernels want channels
last. Operations of pictures transpose what they take and give; two transposes that cancel are never
made, and elementwise ones move through them (`_lifted`), so that a net of convolutions has none.
"""
import math
import weakref

import numpy as np

from . import _trace
from ._graph_library import F32, MOST_RANK, U32
from ._library import DataError
from ._ops import FN, NN, NT, TN
from ._trace import Node, fail, make

ALL_AXES = 0xffffffff


def as_numbers(value, what="a tensor"):
    """An array of f32 or u32: (array, dtype). Whole numbers are u32, and must not be negative."""
    a = np.asarray(value)
    if a.dtype == np.float32 or a.dtype == np.uint32:
        return a, F32 if a.dtype == np.float32 else U32
    if a.dtype.kind == "f":
        return a.astype(np.float32), F32
    if a.dtype.kind == "b":
        return a.astype(np.float32), F32
    if a.dtype.kind in "iu":
        if a.size and (a.min() < 0 or a.max() >= 2**32):
            raise DataError(f"{_trace.text_of(_trace.line_here())}: {what} has whole numbers from "
                            f"{a.min()} to {a.max()}; they are indices, from 0 to 2^32 - 1: make "
                            f"others floats with .astype(numpy.float32)", "bad argument")
        return a.astype(np.uint32), U32
    raise TypeError(f"{_trace.text_of(_trace.line_here())}: {what} has dtype {a.dtype}; numbers are "
                    f"needed")


def tensor(data, requires_grad=False):
    """A tensor of an array, a list or a number. With requires_grad, `backward` gives it a `grad`."""
    if isinstance(data, Tensor):
        return data
    a, dtype = as_numbers(data)
    if a.ndim > MOST_RANK:
        fail(f"{a.ndim} dimensions; a tensor has at most {MOST_RANK}")
    t = Tensor(Node("constant", (), (), (a.shape,), (dtype,), data=np.array(a, order="C"),
                    needs=requires_grad), requires_grad=requires_grad)
    t._node.owner = weakref.ref(t)
    return t


def _axis(axis, rank, what):
    if not -rank <= axis < rank:
        fail(f"{what}: there is no axis {axis} of {rank}")
    return axis % rank


def _shape_args(shape):
    return tuple(int(n) for n in (shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list))
                                  else shape))


class Tensor:
    """An array on the device, f32 or (indices) u32: PyTorch's, as far as it goes.

    shape, ndim, dtype. grad: after `backward`, of tensors that were made with requires_grad.
    Operators and `x[...]` broadcast and index as NumPy's. `numpy()` computes it."""
    __slots__ = ("_node", "_out", "requires_grad", "grad", "_value", "__weakref__")
    __array_priority__ = 1000  # array + tensor is a tensor

    def __init__(self, node, out=0, requires_grad=False):
        self._node, self._out = node, out
        self.requires_grad, self.grad = requires_grad, None
        self._value = None  # an array

    # ---- what it is ----

    @property
    def shape(self):
        return self._node.shapes[self._out]

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def dtype(self):
        return np.dtype(np.float32 if self._node.dtypes[self._out] == F32 else np.uint32)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def _pair(self):
        return (self._node, self._out)

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor of no dimensions has no length")
        return self.shape[0]

    def __repr__(self):
        return f"vktrain.Tensor({_trace.describe(self._pair)})"

    def __hash__(self):
        return id(self)

    def __deepcopy__(self, memo):
        new = memo[id(self)] = tensor(self.numpy(), self.requires_grad)
        return new

    def __reduce_ex__(self, protocol):
        return tensor, (self.numpy(), self.requires_grad)

    def __bool__(self):
        if self.size != 1:
            raise ValueError(f"a tensor of shape {list(self.shape)} is neither true nor false")
        return bool(self.item())

    def __float__(self):
        return self.item()

    def __array__(self, dtype=None, copy=None):
        a = self.numpy()
        return a if dtype is None else a.astype(dtype)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # ---- numbers ----

    def numpy(self):
        """Computes it: an array of its shape."""
        return self._numbers().copy()

    def _numbers(self):
        if self._value is None:
            from . import _program
            _program.compute([self])
        return self._value

    def item(self):
        """The one number in it."""
        if self.size != 1:
            raise ValueError(f"a tensor of shape {list(self.shape)} is not one number")
        return self._numbers().item()

    def tolist(self):
        return self.numpy().tolist()

    def detach(self):
        """The same numbers, which no gradient goes through."""
        return Tensor(make("detach", [self._pair]))

    def backward(self):
        """Gradients of the sum of its elements with respect to all parameters and tensors with
        requires_grad that it depends on: added to their `grad`."""
        from . import _gradient
        _gradient.backward(self)

    # ---- elementwise ----

    def _float(self):
        return self if self._node.dtypes[self._out] == F32 else \
            Tensor(make("cast", [self._pair], (F32,)))

    def float(self):
        """Indices as numbers one can compute with."""
        return self._float()

    def _unary(self, name, s=0.0, t=0.0):
        return _lifted(lambda x: make("unary", [x], (name, s, t)), self._float())

    def _activate(self, name):
        return _lifted(lambda x: make("activation", [x], (name,)), self._float())

    def __add__(self, o): return binary("add", self, o)
    def __radd__(self, o): return binary("add", o, self)
    def __sub__(self, o): return binary("sub", self, o)
    def __rsub__(self, o): return binary("sub", o, self)
    def __mul__(self, o): return binary("mul", self, o)
    def __rmul__(self, o): return binary("mul", o, self)
    def __truediv__(self, o): return binary("div", self, o)
    def __rtruediv__(self, o): return binary("div", o, self)

    def __pow__(self, o):
        if isinstance(o, (int, float)) and o == 2:
            return self * self
        if isinstance(o, (int, float)) and o == 0.5:
            return self.sqrt()
        return binary("pow", self, o)

    def __rpow__(self, o): return binary("pow", o, self)
    def __neg__(self): return self * -1.0
    def __matmul__(self, o): return matmul(self, o)
    def __rmatmul__(self, o): return matmul(o, self)
    def __eq__(self, o): return binary("eq", self, o)
    def __ne__(self, o): return 1.0 - binary("eq", self, o)
    def __lt__(self, o): return binary("lt", self, o)
    def __le__(self, o): return binary("le", self, o)
    def __gt__(self, o): return binary("lt", o, self)
    def __ge__(self, o): return binary("le", o, self)
    def exp(self): return self._unary("exp")
    def log(self): return self._unary("log")
    def sqrt(self): return self._unary("sqrt")
    def rsqrt(self): return self._unary("rsqrt")
    def abs(self): return self._unary("abs")
    def sin(self): return self._unary("sin")
    def cos(self): return self._unary("cos")
    def erf(self): return self._unary("erf")
    def floor(self): return self._unary("floor")
    def reciprocal(self): return self._unary("reciprocal")
    def asin(self): return self._unary("asin")
    def acos(self): return self._unary("acos")
    def atan(self): return self._unary("atan")
    def sinh(self): return self._unary("sinh")
    def cosh(self): return self._unary("cosh")
    def asinh(self): return self._unary("asinh")
    def acosh(self): return self._unary("acosh")
    def atanh(self): return self._unary("atanh")
    def relu(self): return self._activate("relu")
    def sigmoid(self): return self._activate("sigmoid")
    def tanh(self): return self._activate("tanh")

    def clamp(self, min=None, max=None):
        """Its numbers, within [min, max]."""
        return self._unary("clamp", -3.4e38 if min is None else float(min),
                           3.4e38 if max is None else float(max))

    # ---- shapes ----

    def reshape(self, *shape):
        """The same numbers in another shape; one size may be -1."""
        shape = _shape_args(shape)
        known = int(np.prod([n for n in shape if n != -1], dtype=np.int64))
        if shape.count(-1) > 1 or (-1 in shape and (known == 0 or self.size % known)) or \
                (-1 not in shape and known != self.size) or len(shape) > MOST_RANK:
            fail(f"reshape to {list(shape)}", self._pair)
        shape = tuple(self.size // known if n == -1 else n for n in shape)
        if shape == self.shape:
            return self
        return Tensor(make("reshape", [self._pair], (shape or (1,),), shapes=(shape,)))

    view = reshape

    def flatten(self, start_dim=0, end_dim=-1):
        """Dimensions start_dim to end_dim as one."""
        a, b = _axis(start_dim, self.ndim, "flatten"), _axis(end_dim, self.ndim, "flatten")
        return self.reshape(self.shape[:a] + (-1,) + self.shape[b + 1:])

    def permute(self, *order):
        """Dimension i of the result is dimension order[i]."""
        order = _shape_args(order)
        if sorted(a % max(self.ndim, 1) for a in order) != list(range(self.ndim)):
            fail(f"permute by {list(order)}", self._pair)
        order = tuple(a % self.ndim for a in order)
        source = self._pair
        if self._node.op == "permute":  # of what it was made of
            before = self._node.attrs[0]
            order, source = tuple(before[a] for a in order), self._node.inputs[0]
        if order == tuple(range(self.ndim)):
            return Tensor(*source)
        return Tensor(make("permute", [source], (order,)))

    def transpose(self, a, b):
        """With the dimensions a and b exchanged."""
        order = list(range(self.ndim))
        a, b = _axis(a, self.ndim, "transpose"), _axis(b, self.ndim, "transpose")
        order[a], order[b] = b, a
        return self.permute(order)

    @property
    def T(self):
        return self.permute(tuple(range(self.ndim))[::-1])

    def unsqueeze(self, axis):
        axis = _axis(axis, self.ndim + 1, "unsqueeze")
        return self.reshape(self.shape[:axis] + (1,) + self.shape[axis:])

    def squeeze(self, axis=None):
        if axis is None:
            return self.reshape(tuple(n for n in self.shape if n != 1))
        axis = _axis(axis, self.ndim, "squeeze")
        return self.reshape(self.shape[:axis] + self.shape[axis + 1:]) \
            if self.shape[axis] == 1 else self

    def expand(self, *shape):
        """Broadcast to a shape; -1: as it is."""
        shape = _shape_args(shape)
        before = len(shape) - self.ndim
        shape = tuple(self.shape[i - before] if n == -1 and i >= before else n
                      for i, n in enumerate(shape))
        return self if shape == self.shape else Tensor(make("expand", [self._pair], (shape,)))

    def repeat(self, *counts):
        """So many times along each dimension."""
        counts = _shape_args(counts)
        x = self.reshape((1,) * (len(counts) - self.ndim) + self.shape)
        if len(counts) != x.ndim:
            fail(f"repeat by {list(counts)}", self._pair)
        return Tensor(make("repeat", [x._pair], (counts,)))

    def flip(self, *axes):
        """With the elements along these axes from the last to the first."""
        bits = sum({1 << _axis(a, self.ndim, "flip") for a in _shape_args(axes)})
        return Tensor(make("flip", [self._pair], (bits,)))

    def split(self, sizes, dim=0):
        """A list of parts along a dimension, each with the given number of elements, or with the given sizes."""
        n = self.shape[_axis(dim, self.ndim, "split")]
        if isinstance(sizes, int):
            sizes = [min(sizes, n - i) for i in range(0, n, sizes)]
        out, at = [], 0
        for size in sizes:
            out.append(self._slice_along(dim, at, size))
            at += size
        if at != n:
            fail(f"split into {list(sizes)} along dimension {dim}", self._pair)
        return out

    def chunk(self, n, dim=0):
        """n parts along a dimension, of which the last may be smaller."""
        size = -(-self.shape[_axis(dim, self.ndim, "chunk")] // n)
        return self.split(size, dim)

    def _slice_along(self, dim, first, count):
        key = [slice(None)] * self.ndim
        key[_axis(dim, self.ndim, "slice")] = slice(first, first + count)
        return self[tuple(key)]

    def __getitem__(self, key):
        from ._index import index
        return index(self, key)

    # ---- reductions ----

    def _reduce(self, kind, axis, keepdim):
        x = self._float()
        if axis is None:
            if kind == "sum" and not keepdim:
                return Tensor(make("sum_all", [_any_order(x)], (), shapes=((),)))
            bits, order = ALL_AXES, False
        else:
            axes = {_axis(a, x.ndim, kind) for a in
                    ((axis,) if isinstance(axis, int) else axis)}
            source, order = _unpermuted(x)
            if order and (keepdim or _rises([a for i, a in enumerate(order) if i not in axes])):
                bits = sum(1 << order[a] for a in axes)
                y = Tensor(make("reduce", [source], (kind, bits, keepdim),
                                shapes=((),) if len(axes) == x.ndim and not keepdim else None))
                return y.permute(order) if keepdim else y
            bits = sum(1 << a for a in axes)
        whole = bits == ALL_AXES or bits == (1 << x.ndim) - 1
        return Tensor(make("reduce", [x._pair], (kind, bits, bool(keepdim)),
                           shapes=((),) if whole and not keepdim else None))

    def sum(self, dim=None, keepdim=False): return self._reduce("sum", dim, keepdim)
    def mean(self, dim=None, keepdim=False): return self._reduce("mean", dim, keepdim)
    def amax(self, dim=None, keepdim=False): return self._reduce("max", dim, keepdim)
    def amin(self, dim=None, keepdim=False): return self._reduce("min", dim, keepdim)
    max, min = amax, amin
    def logsumexp(self, dim, keepdim=False): return self._reduce("logsumexp", dim, keepdim)

    def norm(self, p=2, dim=None, keepdim=False):
        """The root of the sum of squares, or with p=1 the sum of absolute values."""
        return self._reduce({1: "norm1", 2: "norm2"}[p], dim, keepdim)

    def var(self, dim=None, unbiased=True, keepdim=False):
        """The variance; unbiased: divided by one less than the number of elements."""
        x = self._float()
        axes = tuple(range(x.ndim)) if dim is None else dim
        mean = x.mean(axes, keepdim=True)
        d, n = x - mean, x.size // max(1, mean.size)
        return (d * d).sum(dim, keepdim) * (1 / max(n - bool(unbiased), 1))

    def argmax(self, dim=-1, keepdim=False):
        """Where along a dimension the largest is, the first of equal ones."""
        return Tensor(make("arg", [self._float()._pair],
                           ("max", _axis(dim, self.ndim, "argmax"), keepdim),
                           shapes=((),) if self.ndim == 1 and not keepdim else None))

    def argmin(self, dim=-1, keepdim=False):
        return Tensor(make("arg", [self._float()._pair],
                           ("min", _axis(dim, self.ndim, "argmin"), keepdim),
                           shapes=((),) if self.ndim == 1 and not keepdim else None))

    def cumsum(self, dim):
        return Tensor(make("cumsum", [self._float()._pair], (_axis(dim, self.ndim, "cumsum"),)))

    def topk(self, k):
        """The k largest along the last dimension, and where they are."""
        node = make("top_k", [self._float()._pair], (k,))
        return Tensor(node, 0), Tensor(node, 1)

    def softmax(self, dim=-1):
        return Tensor(make("softmax", [self._float()._pair], (_axis(dim, self.ndim, "softmax"),)))

    def log_softmax(self, dim=-1):
        return Tensor(make("log_softmax", [self._float()._pair],
                           (_axis(dim, self.ndim, "log_softmax"),)))

    def gather(self, dim, index):
        """y[.., j, ..] = x[.., index[.., j, ..], ..] along a dimension."""
        return Tensor(make("gather", [self._pair, tensor(index)._pair],
                           (_axis(dim, self.ndim, "gather"),)))


# ---- transposes that are not made ----

def _rises(numbers):
    return all(a < b for a, b in zip(numbers, numbers[1:]))


def _unpermuted(x):
    """What a transposed tensor was made of, and the order; (x, None) if it is not one."""
    return (x._node.inputs[0], x._node.attrs[0]) if x._node.op == "permute" else (x._pair, None)


def _any_order(x):
    return _unpermuted(x)[0]


def _inverse(order):
    return tuple(order.index(i) for i in range(len(order)))


def _lifted(function, *xs):
    """function of pairs of equal roles for each dimension, with transposes taken after it."""
    order = next((x._node.attrs[0] for x in xs if x._node.op == "permute" and x.ndim == 4 or
                  x._node.op == "permute" and x.ndim == 3), None)
    if order is None or any(x.size > 1 and x.ndim != len(order) for x in xs):
        return Tensor(function(*[x._pair for x in xs]))
    large = max(x.size for x in xs if x._node.op == "permute" and x._node.attrs[0] == order)
    pairs = []
    for x in xs:
        if x.ndim != len(order) or (x.size == 1 and x._node.op != "permute"):
            pairs.append(x._pair)
        elif x._node.op == "permute" and x._node.attrs[0] == order:
            pairs.append(x._node.inputs[0])
        elif 4 * x.size <= large or x._node.op == "permute":
            pairs.append(x.permute(_inverse(order))._pair)
        else:
            return Tensor(function(*[y._pair for y in xs]))
    return Tensor(function(*pairs)).permute(order)


# ---- functions of several ----

def binary(name, a, b):
    """A function of two, broadcast: add, sub, mul, div, pow, minimum, maximum, eq, lt, le."""
    if isinstance(b, (int, float)) and isinstance(a, Tensor):
        if name == "mul":
            return _lifted(lambda x: make("scale", [x], (float(b),)), a._float())
        if name == "div" and b != 0:
            return _lifted(lambda x: make("scale", [x], (1 / b,)), a._float())
    if isinstance(a, (int, float)) and name == "mul":
        return binary("mul", b, a)
    a, b = (Tensor(make("fill", [], ((1,), float(v)), shapes=((),)))
            if isinstance(v, (int, float)) else tensor(v)._float() for v in (a, b))

    def put(x, y):
        if name in ("add", "mul") and x[0].shapes[x[1]] == y[0].shapes[y[1]]:
            return make(name, [x, y])
        return make("binary", [x, y], (name,))
    return _lifted(put, a, b)


def where(condition, a, b):
    """a where the condition is not 0, else b."""
    c, a, b = (Tensor(make("fill", [], ((1,), float(v)), shapes=((),)))
               if isinstance(v, (int, float)) else tensor(v)._float() for v in (condition, a, b))
    return _lifted(lambda *xs: make("where", list(xs)), c, a, b)


def matmul(a, b):
    """Products of matrices, of the last two dimensions; leading ones are broadcast."""
    a, b = tensor(a)._float(), tensor(b)._float()
    if a.ndim == 0 or b.ndim == 0:
        fail("matmul needs dimensions", a._pair, b._pair)
    if a.ndim == 1:
        return matmul(a.reshape(1, -1), b).squeeze(-2)
    if b.ndim == 1:
        return matmul(a, b.reshape(-1, 1)).squeeze(-1)
    if a.shape[-1] != b.shape[-2]:
        fail("matmul: the first's columns are not the second's rows", a._pair, b._pair)
    x, y, layout = a._pair, b._pair, NN
    swapped = lambda t: t._node.op == "permute" and t._node.attrs[0] == tuple(
        range(t.ndim - 2)) + (t.ndim - 1, t.ndim - 2)
    if swapped(b):
        layout, y = NT, b._node.inputs[0]
    elif swapped(a) and a.ndim == b.ndim:
        layout, x = TN, a._node.inputs[0]
    return Tensor(make("matmul", [x, y], (layout,)))


def concat(tensors, dim=0):
    """One after another along a dimension."""
    xs = [tensor(t) for t in tensors]
    if not xs:
        fail("concat of no tensors")
    axis = _axis(dim, xs[0].ndim, "concat")
    order = xs[0]._node.attrs[0] if xs[0]._node.op == "permute" else None
    if order and all(_unpermuted(x)[1] == order for x in xs):
        return Tensor(make("concat", [_any_order(x) for x in xs], (order[axis],))).permute(order)
    return Tensor(make("concat", [x._pair for x in xs], (axis,)))


def stack(tensors, dim=0):
    """One after another along a new dimension."""
    xs = [tensor(t) for t in tensors]
    return concat([x.unsqueeze(_axis(dim, xs[0].ndim + 1, "stack")) for x in xs], dim)


def zeros(*shape):
    return full(_shape_args(shape), 0.0)


def ones(*shape):
    return full(_shape_args(shape), 1.0)


def full(shape, value):
    """A tensor of one number."""
    shape = tuple(shape)
    return Tensor(make("fill", [], (shape or (1,), float(value)), shapes=(shape,)))


def rand(*shape):
    """Uniform in [0, 1), made on the device: other numbers at each step."""
    return Tensor(make("noise", [zeros(*shape)._pair], (0.5,))) + 0.5


def randn(*shape):
    """Standard normal numbers, made on the device: other ones at each step."""
    r = (1.0 - rand(*shape)).clamp(1e-7, 1.0)
    return (r.log() * -2.0).sqrt() * (rand(*shape) * 6.283185307179586).cos()
