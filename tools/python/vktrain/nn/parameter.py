"""Parameters: numbers of a module that are trained, and buffers, which are not."""
import weakref

import numpy as np

from .. import _device
from .._graph_library import F32, U32
from .._tensor import Tensor, as_numbers
from .._trace import Node, now

CONV = (2, 3, 1, 0)  # a filter [CO, CI, KH, KW] lies in memory as [KH, KW, CI, CO]
CONV1 = (2, 1, 0)


class Parameter(Tensor):
    """A tensor of a module whose numbers are kept on the device, trained by an optimizer.

    data: an array. order: the order of its dimensions in memory."""
    __slots__ = ("_storage", "_order")

    def __init__(self, data, requires_grad=True, order=None, dtype=None):
        a, kind = as_numbers(data, "a parameter")
        kind = F32 if dtype is None and kind == U32 and requires_grad else kind
        a = np.asarray(a, _device.DTYPES[kind])
        self._order = order
        s = _device.Storage(a if order is None else a.transpose(order), kind, None)
        leaf = Node("leaf", (), (), (s.shape,), (kind,), data=s, needs=requires_grad)
        node = leaf
        if order is not None:
            inverse = tuple(order.index(i) for i in range(len(order)))
            node = Node("permute", ((leaf, 0),), (inverse,), (a.shape,), (kind,), data=s,
                        needs=requires_grad)
        super().__init__(node, 0, requires_grad)
        self._storage = s
        leaf.owner = weakref.ref(self)

    def numpy(self):
        """Its numbers now: an array."""
        with _device.lock:
            a = self._storage.read()
        return a if self._order is None else \
            np.ascontiguousarray(a.transpose(np.argsort(self._order)))

    _numbers = numpy

    def copy_(self, data):
        """Gives it other numbers, of the same shape."""
        a = np.asarray(data)
        if a.shape != self.shape:
            raise ValueError(f"{self._storage.name or 'the parameter'} has shape "
                             f"{list(self.shape)}, not {list(a.shape)}")
        with _device.lock:
            self._storage.write(a if self._order is None else a.transpose(self._order))
            self._storage.touched = now()
        return self

    def __deepcopy__(self, memo):
        new = memo[id(self)] = _again(type(self), self.numpy(), self.requires_grad, self._order)
        return new

    def __reduce_ex__(self, protocol):
        return _again, (type(self), self.numpy(), self.requires_grad, self._order)

    def __repr__(self):
        return f"vktrain.nn.Parameter({self._storage.name or ''} {list(self.shape)})"


def _again(kind, array, requires_grad, order):
    """Another parameter of these numbers: a copy, or what pickle reads."""
    p = kind.__new__(kind)
    Parameter.__init__(p, array, requires_grad, order)
    return p


class Buffer(Parameter):
    """Numbers of a module that belong to its state and are not trained, as running means."""
    __slots__ = ()

    def __init__(self, data):
        super().__init__(data, requires_grad=False, dtype=True)
