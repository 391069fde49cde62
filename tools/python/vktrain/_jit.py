"""Step functions: traced once for each combination of shapes, then run as a graph.

A function is cut where an optimizer steps: each part is a program. What a part needs of an earlier
one it computes again, which is right as long as no parameter in it has changed.
"""
import functools
import weakref

import numpy as np

from . import _device, _trace
from ._library import NumericError
from ._program import PRECISIONS, Program, check_fresh, last_read, numbers_of
from ._tensor import Tensor, as_numbers
from ._trace import Node, text_of

N_SLOTS = 2
_A_TENSOR = object()
_AT_THE_END = 1 << 62  # after every step


class Trace:
    """What happens while a function is traced."""

    def __init__(self):
        self.steps = []  # (when, optimizer, grads, losses) of each optimizer's step
        self.given = []  # tensors that backward gave a grad
        self.modes = {}  # module: whether it was training when it was asked


_node = Tensor._node  # where a tensor keeps it


class _Result(Tensor):
    """A tensor of a run: its numbers are there when that has ended. Its node is made for whoever
    computes with it."""
    __slots__ = ("run", "slot", "kind", "error")

    def __init__(self, run, slot, kind):
        self._out, self.requires_grad, self.grad, self._value = 0, False, None, None
        self.run, self.slot, self.kind, self.error = run, slot, kind, None

    @property
    def _node(self):
        try:
            return _node.__get__(self)
        except AttributeError:
            shape, dtype, line = self.kind
            made = Node("constant", (), (), (shape,), (dtype,), data=self._numbers, line=line)
            _node.__set__(self, made)
            return made

    def _numbers(self):
        if self._value is None:
            with _device.lock:
                self.run.finish(self.slot)
        error, self.error = self.error, None
        if error is not None:  # of its run, found when another call took its place
            raise error
        return self._value

    def item(self):  # without a node
        a = self._numbers()
        return a.item() if a.size == 1 else super().item()


def _flat(value, leaves):
    """The structure of nested lists, tuples and dicts, with their other things in `leaves`."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return (type(value), tuple(_flat(v, leaves) for v in value))
    if isinstance(value, dict):
        return (dict, tuple((k, _flat(v, leaves)) for k, v in value.items()))
    leaves.append(value)
    return None


def _unflat(structure, leaves):
    if structure is None:
        return next(leaves)
    if structure[0] is dict:
        return {k: _unflat(s, leaves) for k, s in structure[1]}
    return structure[0](_unflat(s, leaves) for s in structure[1])


def _same(v):
    """What tells an argument from others that are equal to it: True is not 1, and 0.0 not -0.0."""
    return (type(v), repr(v) if isinstance(v, (float, complex)) else v)


class _Traced:
    """A function at one combination of shapes."""

    def __init__(self, function, leaves, structure, options, label):
        self.epoch = _device.epoch
        trace, inputs, args, dtypes = Trace(), [], [], []
        for v in leaves:
            if isinstance(v, (np.ndarray, np.generic)):
                a, dtype = as_numbers(np.zeros(v.shape, v.dtype) if v.dtype.kind in "iu" else v)
                t = Tensor(Node("input", (), (), (a.shape,), (dtype,)))
                inputs.append(t._node)
                dtypes.append(v.dtype)
                args.append(t)
            else:
                args.append(v)
        before = _trace.trace()
        if before is not None:  # called by another function that is traced: a part of it
            raise RuntimeError("a function with @vktrain.jit is called in another one: call the "
                               "undecorated function, f.function")
        _trace.state.trace = trace
        try:
            args, kwargs = _unflat(structure, iter(args))
            result = function(*args, **kwargs)
        finally:
            _trace.state.trace = None
            for t in trace.given:
                t.grad = None  # it has no numbers outside
        outs = []
        self.structure = _flat(result, outs)
        self.results = [t if not isinstance(t, Tensor) else _A_TENSOR for t in outs]
        self.modes = tuple((weakref.ref(m), training) for m, training in trace.modes.items())
        tensors = [t for t in outs if isinstance(t, Tensor)]
        self._parts(trace, inputs, dtypes, tensors, options, label)

    def _parts(self, trace, inputs, dtypes, tensors, options, label):
        self.parts, changed, done = [], {}, set()
        ends = [s[0] for s in trace.steps] + [float("inf")]
        reads = [_AT_THE_END if t._node.data is not None and t._node.op in ("leaf", "permute") else
                 last_read(_trace.reach([t._node])) for t in tensors]  # a parameter: its new value
        for i, end in enumerate(ends):
            mine = [k for k, seq in enumerate(reads) if k not in done and seq < end]
            done.update(mine)
            optimizer, grads = (trace.steps[i][1], trace.steps[i][2]) if i < len(trace.steps) \
                else (None, ())
            if not mine and optimizer is None:
                continue
            outputs = [tensors[k]._pair for k in mine]
            nodes = _trace.reach([p[0] for p in outputs] + [p[0] for p in grads if p])
            check_fresh(nodes, lambda s: max(changed.get(s, 0), s.changed))
            p = Program(outputs, optimizer, grads, N_SLOTS, options["precision"],
                        options["recompute"], label, numbers_of)
            which = [inputs.index(n) if n in inputs else None for n in p.inputs]
            p.set_limits(p.limits, {k: dtypes[i] for k, i in enumerate(which) if i is not None})
            for n, v in zip(p.inputs, range(len(p.inputs))):
                if n.op == "constant":
                    for views in p.in_views:
                        views[v][...] = numbers_of(n)
                elif n not in inputs:
                    raise RuntimeError(f"{text_of(n.line)}: a tensor of an earlier call of a step "
                                       f"function is used in this one: return it, and pass it in")
            if which == list(range(len(inputs))):
                which = None  # the arrays as they are
            self.parts.append((p, which, mine))
            if optimizer is not None:
                changed.update({s: end for s in optimizer._storages})
        self.n_out = len(tensors)
        self.slot = self.calls = 0
        self.waiting = [None] * N_SLOTS  # (tickets, weak references of results, call) of a slot's run
        self.nodes = [(t._node.shapes[t._out], t._node.dtypes[t._out], t._node.line) for t in tensors]

    def fits(self):
        for m, training in self.modes:
            m = m()
            if m is None or m._training != training:
                return False
        return True

    def finish(self, slot):
        """Waits for a slot's run, and takes what somebody still wants of it."""
        run = self.waiting[slot]
        if run is None:
            return
        self.waiting[slot] = None
        tickets, wanted, _ = run
        error = None
        try:
            for part, ticket in zip(self.parts, tickets):
                try:
                    part[0].finish(slot, ticket)
                except NumericError as e:  # the other parts have run, too
                    error = error or e
        finally:
            for part in self.parts if wanted else ():  # none: of a call that raised
                for k, view in zip(part[2], part[0].out_views[slot]):
                    result = wanted[k]()
                    if result is not None:
                        result._value = view.copy()
        if error is not None:
            raise error

    def _free(self, slot):
        """Waits for a slot's run, whose error is its results', or if nobody has one, this call's."""
        run = self.waiting[slot]
        try:
            self.finish(slot)
        except NumericError as e:
            held = [r for r in (w() for w in run[1]) if r is not None]
            for result in held:
                result.error = e
            if not held:
                raise NumericError(f"{e} (call {run[2]} of this function; call {self.calls + 1} was "
                                   f"not started: call it again)", e.status) from None

    def results_of(self, out):
        """What the function returned, with these tensors."""
        if self.structure is None:
            return out[0] if self.results[0] is _A_TENSOR else self.results[0]
        out = iter(out)
        return _unflat(self.structure, iter([next(out) if r is _A_TENSOR else r for r in self.results]))

    def run(self, arrays):
        slot = self.slot
        self.slot = (slot + 1) % N_SLOTS
        if self.waiting[slot] is not None:
            self._free(slot)
        self.calls += 1
        parts = [(p, arrays if which is None else [None if i is None else arrays[i] for i in which])
                 for p, which, _ in self.parts]
        if len(parts) > 1:  # all or none
            for p, given in parts:
                p.look(slot, given)
        tickets, wanted = [], []
        self.waiting[slot] = (tickets, wanted, self.calls)  # those that run, should one not start
        for p, given in parts:
            tickets.append(p.start(slot, given))
        out = [_Result(self, slot, kind) for kind in self.nodes]
        wanted += [weakref.ref(t) for t in out]
        return out

    def close(self):
        for slot in range(N_SLOTS):
            self.finish(slot)
        for part in self.parts:
            part[0].close()


class Step:
    """A function that runs on the device as a whole: see jit."""

    def __init__(self, function, precision, recompute):
        if precision not in PRECISIONS:
            raise ValueError(f"precision is {precision!r}; it is one of fp32, bf16, fp16")
        functools.update_wrapper(self, function)
        self.function = function
        self._options = {"precision": PRECISIONS[precision], "recompute": recompute}
        self._traced = {}
        self._arrays = {}  # the last one of arrays of these shapes and types, found faster
        self._last = None, ()  # the last call's, found still faster, and its arrays' shapes and types
        code = function.__code__ if hasattr(function, "__code__") else None
        self._label = f"{code.co_filename}:{code.co_firstlineno}" if code else "step"

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        with _device.lock:
            known = None if kwargs else self._known(args)
            if known is not None and known.epoch == _device.epoch and known.fits():
                return known.results_of(known.run(args))
            leaves = []
            structure = _flat((args, kwargs), leaves)
            for i, v in enumerate(leaves):
                if isinstance(v, Tensor) and not hasattr(v, "_storage"):
                    leaves[i] = v.numpy()
            key = (structure, tuple((v.shape, v.dtype.char) if isinstance(v, (np.ndarray, np.generic))
                                    else _same(v) for v in leaves))
            arrays = [v for v in leaves if isinstance(v, (np.ndarray, np.generic))]
            traced = self._find(key, leaves, structure)
            if not kwargs and all(type(a) is np.ndarray for a in args):
                kinds = tuple([(a.shape, a.dtype) for a in args])
                self._arrays[kinds] = traced
                self._last = traced, kinds
            return traced.results_of(traced.run(arrays))

    def _known(self, args):
        """What ran last for arrays of these shapes and types; None: nothing, or not all are arrays."""
        known, kinds = self._last
        if len(args) == len(kinds):
            for a, (shape, dtype) in zip(args, kinds):
                if type(a) is not np.ndarray or a.dtype is not dtype or a.shape != shape:
                    break
            else:
                return known
        if not all(type(a) is np.ndarray for a in args):
            return None
        kinds = tuple([(a.shape, a.dtype) for a in args])
        known = self._arrays.get(kinds)
        if known is not None:
            self._last = known, kinds
        return known

    def _find(self, key, leaves, structure):
        known = self._traced.setdefault(key, [])
        for t in known:
            if t.epoch == _device.epoch and t.fits():
                return t
        for t in [t for t in known if t.epoch != _device.epoch]:
            t.close()
            known.remove(t)
        t = _Traced(self.function, leaves, structure, self._options, self._label)
        if t.epoch != _device.epoch:  # it has made an optimizer, say
            t.epoch = _device.epoch
        known.append(t)
        return t

    def explain(self):
        """The plans of what was traced so far, as text."""
        return "\n".join(p[0].explain() for ts in self._traced.values() for t in ts
                         for p in t.parts)

    def close(self):
        """Frees its memory on the device."""
        with _device.lock:
            for ts in self._traced.values():
                for t in ts:
                    t.close()
            self._traced.clear()
            self._arrays.clear()
            self._last = None, ()


def jit(function=None, *, precision=None, recompute=False):
    """Makes a function of arrays a step function: it is traced once for each combination of shapes
    of its arrays, and values of other arguments, and then runs on the device as one graph.

        @vktrain.jit
        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

    Python in it runs when it is traced, so what a call depends on has to be an argument, or a
    module's train() or eval(). It returns tensors; a call starts the work, and asking for their
    numbers waits for it.

    precision: "bf16" or "fp16": activations and factors of products have 16 bits.
    recompute: activations are computed again in the backward pass where that saves memory."""
    if function is None:
        return lambda f: Step(f, precision, recompute)
    return Step(function, precision, recompute)
