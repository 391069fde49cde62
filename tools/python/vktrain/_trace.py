"""What Python's tensors are: nodes of a graph that is not computed yet.

A node knows its op, inputs, constants, shapes and the Python line that made it. Shapes are those
of the library's own rules: the op is put into a graph without a device, once for each combination
of shapes.
"""
import itertools
import os
import sys
import threading
from ctypes import byref, c_void_p

from . import _device
from ._graph_library import F32, MOST_RANK, U32
from ._library import DataError, lib
from ._ops import OF_THE_STEP, OPS, shape as c_shape

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_count = itertools.count(1)
_rules = {}
_OF_NUMBERS = {"unary", "binary", "add", "mul", "scale", "activation", "where", "cast", "detach",
               "dropout", "noise"}
_DTYPE_NAMES = {F32: "f32", U32: "u32"}
state = threading.local()  # .trace: the step function that is traced now


class ShapeError(DataError):
    """Tensors do not fit an op: its name, their shapes, and the Python line that asked for it."""


def now():
    """The number of this moment among those of nodes and of updates."""
    return next(_count)


def trace():
    return getattr(state, "trace", None)


def line_here():
    """The innermost frame outside of this package: (file, line)."""
    f = sys._getframe(1)
    while f is not None and f.f_code.co_filename.startswith(_HERE) and \
            not f.f_code.co_filename.startswith(_HERE + "examples"):
        f = f.f_back
    return (f.f_code.co_filename, f.f_lineno) if f is not None else ("?", 0)


def text_of(line):
    return f"{line[0]}:{line[1]}"


class Node:
    """op "leaf": a Storage; "input": what each run is given; "constant": an array; "gradient": of
    the losses inputs[1:] in the leaf inputs[0]; else a key of OPS.

    shapes, dtypes: of its results. data: of a leaf or of a parameter's transpose, its Storage; of a
    constant, the array."""
    __slots__ = ("op", "inputs", "attrs", "shapes", "dtypes", "line", "seq", "data", "needs",
                 "owner", "limit", "__weakref__")

    def __init__(self, op, inputs, attrs, shapes, dtypes, data=None, needs=False, line=None):
        self.op, self.inputs, self.attrs = op, inputs, attrs
        self.shapes, self.dtypes = shapes, dtypes
        self.line = line or line_here()
        self.seq = now()
        self.data = data
        self.needs = needs  # a gradient in it is of use
        self.limit = None  # of ids that each run is given: (how many, of what, the line, what is left out)
        self.owner = None  # of a leaf: a weak reference to the tensor that gets its gradient


def describe(value):
    """A shape and type, as "[2, 3] f32"."""
    node, i = value
    return f"{list(node.shapes[i])} {_DTYPE_NAMES[node.dtypes[i]]}"


def _apply_rule(op, inputs, attrs):
    """The shapes and dtypes of an op's results, by the library."""
    with _device.lock:
        g = c_void_p()
        lib.vkt_graph_create(None, byref(g))
        try:
            ins = [None if v is None else
                   lib.vkt_input(g, c_shape(v[0].shapes[v[1]]), v[0].dtypes[v[1]], b"") for v in inputs]
            try:
                out = OPS[op](g, ins, attrs)
            except IndexError:
                return None, f"a tensor has at most {MOST_RANK} dimensions"
            out = out if isinstance(out, tuple) else (out,)
            shapes = [lib.vkt_tensor_shape(t) for t in out]
            dtypes = tuple(lib.vkt_tensor_dtype(t) for t in out)
            if any(s.rank == 0 for s in shapes):
                return None, lib.vkt_last_error().decode(errors="replace")
        finally:
            lib.vkt_graph_destroy(byref(g))
    return tuple(tuple(s.d[:s.rank]) for s in shapes), dtypes


def fail(what, *values, line=None):
    """ShapeError with the op, the operands' shapes and the Python line."""
    shapes = " and ".join(describe(v) for v in values)
    raise ShapeError(f"{text_of(line or line_here())}: {what}" + (f", of {shapes}" if shapes else ""),
                     "shape")


def make(op, inputs, attrs=(), shapes=None):
    """A node of an op; inputs: pairs (node, which of its results) or None. shapes: () in place of
    the library's [1]."""
    key = (op, attrs, tuple(None if v is None else (v[0].shapes[v[1]], v[0].dtypes[v[1]])
                            for v in inputs))
    rule = _rules.get(key)
    if rule is None:
        found = _apply_rule(op, inputs, attrs)
        if found[0] is None:
            said = found[1].split(": ", 1)[-1]
            fail(f"{op}: {said}", *([] if "[" in said else [v for v in inputs if v is not None]))
        if len(_rules) > 20000:
            _rules.clear()
        _rules[key] = rule = found
    if op in _OF_NUMBERS and not any(v[0].shapes[v[1]] for v in inputs):
        shapes = ((),)
    needs = any(v is not None and v[0].needs for v in inputs) and op != "detach"
    return Node(op, tuple(inputs), attrs, shapes or rule[0], rule[1], needs=needs)


def limit(ids, n, what, ignore=None):
    """Says that these have to be below n, or `ignore`: looked at whenever the host is given them."""
    node = ids[0]
    while node.op == "reshape":
        node = node.inputs[0][0]
    if node.op in ("input", "constant") and (node.limit is None or n < node.limit[0]):
        node.limit = (n, what, line_here(), ignore)
    elif node.limit is not None and node.limit[3] != ignore:  # somebody does not leave it out
        node.limit = node.limit[:3] + (None,)


def sorted_ids(ids, n):
    """A node "order" of ids that the host knows: their places by rising id, of n ids, and where each
    id's begin: vkt_token_order."""
    count = 1
    for d in ids[0].shapes[ids[1]]:
        count *= d
    return Node("order", (ids,), (n,), ((count,), (n + 1,)), (U32, U32))


def reach(roots):
    """All nodes that these depend on, themselves included, in the order in which they were made."""
    seen, todo = {}, [n for n in roots]
    while todo:
        n = todo.pop()
        if n.seq in seen:
            continue
        seen[n.seq] = n
        todo.extend(v[0] for v in n.inputs if v is not None)
    return [seen[k] for k in sorted(seen)]


def uses_step(nodes):
    return any(n.op in OF_THE_STEP for n in nodes)
