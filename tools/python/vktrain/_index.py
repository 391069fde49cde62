"""x[...]: NumPy's basic indexing, and one list or tensor of indices."""
import numpy as np

from ._graph_library import F32, U32
from ._trace import fail, make


def index(x, key):
    """x[key]: whole numbers, slices, None, `...`, and along one dimension a list of indices."""
    from ._tensor import Tensor, tensor
    key = key if isinstance(key, tuple) else (key,)
    fancy = [k for k in key if isinstance(k, (list, np.ndarray, Tensor))]
    if len(fancy) > 1:
        fail("more than one list of indices; use gather", x._pair)
    n = sum(k is not None and k is not Ellipsis for k in key)
    if n > x.ndim:
        fail(f"{n} indices of {x.ndim} dimensions", x._pair)
    at = next((i for i, k in enumerate(key) if k is Ellipsis), len(key))
    key = key[:at] + (slice(None),) * (x.ndim - n) + key[at + 1:]
    first, count, step, flips, shape, taken = [], [], [], [], [], None
    for k in key:
        if k is None:
            shape.append(1)
            continue
        d = x.shape[len(first)]
        if isinstance(k, (int, np.integer)):
            if not -d <= k < d:
                fail(f"index {k} is out of range along dimension {len(first)}", x._pair)
            first.append(int(k) % d), count.append(1), step.append(1)
            continue
        if isinstance(k, slice):
            a, b, s = k.indices(d)
            c = len(range(a, b, s))
            if s < 0:  # from the other end
                flips.append(len(first))
                a, s = (a + (c - 1) * s if c else 0), -s
            first.append(min(a, d)), count.append(c), step.append(s)
            shape.append(c)
            continue
        if not isinstance(k, (list, np.ndarray, Tensor)):
            raise TypeError(f"an index of a tensor is a {type(k).__name__}")
        k = np.asarray(k) if isinstance(k, list) else k
        if k.dtype.kind not in "iu":
            fail(f"indices of type {k.dtype}; use where for conditions", x._pair)
        if isinstance(k, np.ndarray):
            k = np.where(k < 0, k + d, k)
            if k.size and (k.min() < 0 or k.max() >= d):
                fail(f"indices from {k.min()} to {k.max()} along dimension {len(first)}", x._pair)
        taken = (len(shape), tensor(k))
        first.append(0), count.append(d), step.append(1)
        shape.append(d)
    y = x
    if tuple(count) != x.shape or any(s != 1 for s in step):
        if x._node.op == "permute" and len(shape) == x.ndim:  # before the transpose
            order = x._node.attrs[0]
            inverse = [order.index(i) for i in range(x.ndim)]
            attrs = tuple(tuple(v[i] for i in inverse) for v in (first, count, step))
            y = Tensor(make("slice", [x._node.inputs[0]], attrs)).permute(order)
        else:
            y = Tensor(make("slice", [x._pair], (tuple(first), tuple(count), tuple(step))))
    if flips:
        y = y.flip(*flips)
    y = y.reshape(tuple(shape))
    return y if taken is None else take(y, taken[1], taken[0])


def take(x, ids, axis):
    """Rows of x along an axis, by indices of any shape."""
    from ._tensor import Tensor
    if axis:
        order = (axis,) + tuple(i for i in range(x.ndim) if i != axis)
        y = take(x.permute(order), ids, 0)
        back = tuple(range(ids.ndim, ids.ndim + axis)) + tuple(range(ids.ndim)) + \
            tuple(range(ids.ndim + axis, y.ndim))
        return y.permute(back)
    rows = x.reshape(x.shape[0], -1)._float()
    from .nn.functional import embedding
    y = embedding(ids.reshape(-1), rows).reshape(ids.shape + x.shape[1:])
    return y if x._node.dtypes[x._out] == F32 else Tensor(make("cast", [y._pair], (U32,)))
