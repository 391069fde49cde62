"""Nodes as a graph of the library's: built once, run often.

A program has what it is given in mapped memory and puts what it is asked for into mapped memory,
each in several slots, so that a run can be prepared while the one before goes on.
"""
import ctypes
import itertools
from collections import OrderedDict
from ctypes import byref, c_void_p

import numpy as np

from . import _device
from ._device import ALIGN, DTYPES, READBACK, UPLOAD, Memory
from ._gradient import losses_of
from ._graph_library import ALL, BF16, F16, F32, U32, IdsIn, PlanDesc, RunDesc, Shape
from ._library import (DataError, NumericError, OutOfMemoryError, VktrainError, check, error_of,
                       lib)
from ._ops import OPS, WRITES, shape as c_shape
from ._trace import reach, text_of, uses_step

_runs = itertools.count()
_start = lib.vkt_run_start
_wait = lib.vkt_ticket_wait
_most = np.maximum.reduce  # a.max() without its detours
_STEP_BYTES = lib.vkt_step_block_bytes()
N_SCALARS = 8
PRECISIONS = {None: None, "fp32": None, "bf16": BF16, "fp16": F16}


def _aligned(n):
    return (max(n, 1) + ALIGN - 1) // ALIGN * ALIGN


def _bytes(shape):
    return 4 * int(np.prod(shape, dtype=np.int64))


class _Places:
    """Pieces of one mapped buffer, the same in each slot."""

    def __init__(self):
        self.n = 0

    def add(self, n_bytes):
        at = self.n
        self.n += _aligned(n_bytes)
        return at


class Program(_device.Owned):
    """outputs: pairs (node, result) that can be read. optimizer: its step ends the run; grads: a
    pair or None for each of its parameters."""
    rank = 0

    def __init__(self, outputs, optimizer=None, grads=(), n_slots=1, precision=None,
                 recompute=False, label="graph", known=None):
        self.optimizer, self.n_slots, self.epoch = optimizer, n_slots, _device.epoch
        self.known = known  # the array of a constant that is the same in every run
        nodes = reach([p[0] for p in outputs] + [p[0] for p in grads if p is not None])
        g = c_void_p()
        _device.handle()
        check(lib.vkt_graph_create(_device.handle(), byref(g)))
        self.own(g)
        self.memories, self.handles, self.bound, self.numbers = [], {}, [], []
        self.inputs = [n for n in nodes if n.op in ("input", "constant")]
        self.label = label
        try:
            if precision is not None:
                lib.vkt_graph_precision(g, precision)
            self._build(g, nodes, outputs, grads, recompute)
            plan = PlanDesc(n_slots, False, label.encode())
            try:
                check(lib.vkt_graph_compile(g, byref(plan)))
            except OutOfMemoryError as e:
                raise OutOfMemoryError(f"{label}: {e}", e.status) from None
        except BaseException:
            self.close()
            raise
        self.handles = self.numbers = None  # the graph is compiled

    def destroy(self):
        lib.vkt_gpu_wait(_device._handle)
        lib.vkt_graph_destroy(byref(self.handle))

    def _build(self, g, nodes, outputs, grads, recompute):
        up, down = _Places(), _Places()
        late, losses = set(), losses_of(nodes)
        for n in nodes:
            if n.op == "gradient" or any(v is not None and v[0].seq in late for v in n.inputs):
                late.add(n.seq)
        places = [up.add(_bytes(n.shapes[0])) for n in self.inputs]
        sorts = {n.seq: [up.add(_bytes(d)) for d in n.shapes] for n in nodes if n.op == "order"}
        outs = [down.add(_bytes(p[0].shapes[p[1]])) for p in outputs]
        step_at = scalars_at = None
        if self.optimizer is not None or uses_step(nodes):
            step_at = up.add(_STEP_BYTES)
        if self.optimizer is not None:
            scalars_at = down.add(4 * N_SCALARS)
        self.up = [Memory(up.n, UPLOAD, "inputs") for _ in range(self.n_slots)]
        self.down = [Memory(down.n, READBACK, "outputs") for _ in range(self.n_slots)]
        self.memories += self.up + self.down
        at = {n.seq: p for n, p in zip(self.inputs, places)}
        at.update(sorts)
        orders = {}  # of an input: how many ids there are, and where the two arrays go
        for n in nodes:
            if n.op == "order":
                orders.setdefault(n.inputs[0][0].seq, []).append((n.attrs[0], *sorts[n.seq]))
        self.step_at = step_at
        if step_at is not None:
            self._bind(lib.vkt_step(g), self.up, step_at)
        for n in nodes:
            if n.seq not in late:
                self._put(g, n, at)
        for p, place in zip(outputs, outs):
            if p[0].seq not in late:
                self._out(g, p, place)
        total = self._backward(g, nodes, losses)
        for n in nodes:
            if n.seq in late and n.op != "gradient":
                self._put(g, n, at)
        for p, place in zip(outputs, outs):
            if p[0].seq in late:
                self._out(g, p, place)
        if self.optimizer is not None:
            scalars = self.optimizer._build(g, self, grads, total)
            lib.vkt_keep(scalars, b"scalars")
            self._bind(scalars, self.down, scalars_at)
        if recompute:
            lib.vkt_graph_recompute(g)
        self._runs(places, orders)
        self.out_views = [[m.view(o, p[0].shapes[p[1]], DTYPES[p[0].dtypes[p[1]]])
                           for p, o in zip(outputs, outs)] for m in self.down]
        self.scalars = [None if scalars_at is None else
                        m.view(scalars_at, (N_SCALARS,), DTYPES[F32]) for m in self.down]

    def _runs(self, places, orders):
        """What a slot's run is given: views of mapped memory, and of whole numbers arrays of the
        host's, which vkt_run_start looks at and copies."""
        self.in_views, self.ids, self.runs = [], [], []
        self.is_ids = [n.dtypes[0] == U32 for n in self.inputs]
        self.whole = [(k, order) for k, n in enumerate(self.inputs) if self.is_ids[k]
                      for order in orders.get(n.seq, [None])]
        if sum(order is not None for _, order in self.whole) < sum(map(len, orders.values())):
            raise RuntimeError(f"{self.label}: an order of ids that are computed: the host sorts those "
                               f"that it is given")
        for slot, m in enumerate(self.up):
            views = [np.zeros(n.shapes[0], np.uint32) if is_ids else
                     m.view(p, n.shapes[0], DTYPES[n.dtypes[0]])
                     for n, p, is_ids in zip(self.inputs, places, self.is_ids)]
            ids = (IdsIn * len(self.whole))()
            for one, (k, order) in zip(ids, self.whole):
                setattr(one, "from", views[k].ctypes.data)
                one.to, one.n = m.host + places[k], views[k].size
                if order is not None:
                    one.n_vocab = order[0]
                    one.order, one.segments = m.host + order[1], m.host + order[2]
            run = RunDesc(g=self.handle, ids=ids, n_ids=len(ids), slot=slot)
            if self.step_at is not None:
                run.step_block = m.host + self.step_at
            if self.optimizer is not None:
                run.optim = self.optimizer.handle
            self.in_views.append(views)
            self.ids.append(ids)
            self.runs.append((run, byref(run)))
        self.set_limits([n.limit for n in self.inputs])

    def set_limits(self, limits, dtypes={}):
        """What whole numbers of each input have to be below. dtypes: of the arrays that an input is
        given, where they are not u32."""
        self.limits = limits
        for ids in self.ids:
            for one, (k, _) in zip(ids, self.whole):
                limit, signed = limits[k], k in dtypes and dtypes[k].kind == "i"
                narrow = signed and dtypes[k].itemsize < 8  # 8 bytes are looked at before they are cut
                one.below = (2**31 if narrow else 2**32) if limit is None else limit[0]
                ignored = None if limit is None else limit[3]
                one.ignored = 0 if ignored is None or ignored < 0 and not signed else ignored % 2**32

    def _bind(self, tensor, memories, offset):
        for slot, m in enumerate(memories):
            lib.vkt_bind(tensor, slot, m.handle, offset)

    def bind_all(self, tensor, memory, offset):
        lib.vkt_bind(tensor, ALL, memory.handle, offset)
        self.memories.append(memory)

    def of(self, pair):
        """The library's tensor of a pair."""
        return None if pair is None else self.handles[pair[0].seq][pair[1]]

    def _put(self, g, n, at):
        if n.op == "leaf":
            memory, offset = n.data.place()
            t = lib.vkt_input(g, c_shape(n.shapes[0]), n.dtypes[0], (n.data.name or "").encode())
            self.bind_all(t, memory, offset)
        elif n.op in ("input", "constant"):
            t = lib.vkt_input(g, c_shape(n.shapes[0]), n.dtypes[0], b"input")
            self._bind(t, self.up, at[n.seq])
            if self.known is not None and n.op == "constant" and n.dtypes[0] == F32:
                self.numbers.append(np.ascontiguousarray(self.known(n), np.float32))
                lib.vkt_known(t, self.numbers[-1].ctypes.data)
            if not _device.unified():
                t = lib.vkt_copy(g, t)  # kernels read it from the device's own memory
        elif n.op == "order":
            t = tuple(lib.vkt_input(g, c_shape(d), U32, b"order") for d in n.shapes)
            for one, place in zip(t, at[n.seq]):
                self._bind(one, self.up, place)
        else:
            t = OPS[n.op](g, [self.of(v) for v in n.inputs], n.attrs)
        self.handles[n.seq] = t if isinstance(t, tuple) else (t,)

    def _out(self, g, pair, place):
        t = lib.vkt_copy(g, self.of(pair))
        lib.vkt_keep(t, b"output")
        self._bind(t, self.down, place)

    def _backward(self, g, nodes, losses):
        """The total loss [1], or None where there is no gradient."""
        if not losses:
            return None
        total = None
        for pair in losses:
            one = lib.vkt_sum(g, self.of(pair)) if pair[0].shapes[pair[1]] not in ((), (1,)) \
                else self.of(pair)
            total = one if total is None else lib.vkt_add(g, total, one)
        if self.optimizer is not None:
            scale = lib.vkt_optim_loss_scale(self.optimizer.handle, g)
            if scale:
                lib.vkt_scale_loss(g, scale)
        gradients = [n for n in nodes if n.op == "gradient"]
        leaves = list({n.inputs[0][0].seq: n.inputs[0] for n in gradients}.values())
        wrt = (c_void_p * len(leaves))(*[self.of(v) for v in leaves])
        out = (c_void_p * len(leaves))()
        lib.vkt_backward(g, total, wrt, len(leaves), out)
        made = {v[0].seq: t for v, t in zip(leaves, out)}
        for n in gradients:
            self.handles[n.seq] = (made[n.inputs[0][0].seq],)
        return total

    # ---- running ----

    def look(self, slot, arrays):
        """Raises where `start` would refuse a whole number of these."""
        for k, _ in self.whole:
            a, limit = self.in_views[slot][k] if arrays[k] is None else arrays[k], self.limits[k]
            if a.size and (a.min() < 0 or a.max() >= (2**32 if limit is None else limit[0])):
                self._refuse(a, limit)

    def start(self, slot, arrays):
        """Starts a run; arrays: of the inputs, in their order, None: as they were."""
        for view, a, is_ids, limit in zip(self.in_views[slot], arrays, self.is_ids, self.limits):
            if a is not None:
                if is_ids and a.itemsize == 8 and a.size and \
                        _most(a.astype(np.uint64, copy=False), axis=None) >= \
                        (2**32 if limit is None else limit[0]):
                    self._refuse(a, limit)  # one below 0 would be a large one
                view[...] = a
        run, handed = self.runs[slot]
        optimizer = self.optimizer
        if optimizer is not None:
            run.lr, run.step, run.seed = optimizer.rate(), optimizer.t, optimizer._seed()
        elif self.step_at is not None:
            run.step, run.seed = next(_runs), _seed
        status = _start(handed)
        if status:
            error = error_of(status)
            if run.refused < len(self.whole):
                k = self.whole[run.refused][0]
                self._refuse(self.in_views[slot][k] if arrays[k] is None else arrays[k],
                             self.limits[k])
            raise error
        if optimizer is not None:
            optimizer._stepped()
        return run.ticket

    def _refuse(self, a, limit):
        """Raises, as whole numbers are none that can be ids, or past what they are of."""
        if limit is not None and limit[3] is not None:  # labels that do not count
            a = a[a != limit[3]]
            if not a.size or (a.min() >= 0 and a.max() < limit[0]):
                return
        if limit is not None and a.min() < 0 and limit[1] == "cross_entropy":
            raise DataError(f"{text_of(limit[2])}: cross_entropy: one of the labels is {a.min()}: "
                            f"give ignore_index={a.min()} if it does not count", "bad argument")
        if a.min() < 0 or limit is None:
            raise DataError(f"{self.label}: an input has whole numbers from {a.min()} to {a.max()}; "
                            f"they are indices, from 0 to 2^32 - 1: make others floats with "
                            f".astype(numpy.float32)", "bad argument")
        raise DataError(f"{text_of(limit[2])}: {limit[1]}: there are {limit[0]}, counted from 0, and "
                        f"one of the ids is {a.max()}", "bad argument")

    def finish(self, slot, ticket):
        """Waits for a run, and says if its update was left out."""
        status = _wait(_device._handle or _device.handle(), ticket)
        if status:
            raise error_of(status)
        if self.optimizer is not None:
            self.optimizer._report(self.scalars[slot], self.label)

    def explain(self):
        """The plan as text: ops, shapes, levels, memory."""
        text = lib.vkt_graph_explain(self.handle)
        try:
            return ctypes.string_at(text).decode()
        finally:
            lib.vkt_free(text)


_seed = 0
n_optimizers = 0  # made since the seed was set: each draws numbers of its own


def manual_seed(seed):
    """The seed of dropout and of random numbers on the device; of initial weights, too."""
    global _seed, _runs, n_optimizers
    from .nn import init
    _seed, _runs, n_optimizers = int(seed), itertools.count(), 0
    init.seed(seed)


# ---- tensors that are computed when they are asked for ----

_cache = OrderedDict()
_MOST_PROGRAMS = 64


def numbers_of(constant):
    """The array of a node "constant": a result of a step function waits for it."""
    if callable(constant.data):  # by a method of the result's, which keeps this node
        constant.data = constant.data()
    return constant.data


def _reads(n):
    """The storages that a node computes with."""
    if n.data is not None or n.op == "gradient":
        return []
    return [v[0].data for v in n.inputs if v is not None and v[0].op in ("leaf", "permute")
            and v[0].data is not None]


def last_read(nodes):
    """When the last of them was made that computes with a parameter: it is of the part before the
    next step."""
    return max((n.seq for n in nodes if _reads(n)), default=0)


def check_fresh(nodes, changed):
    """Raises if a node was made with a parameter that has changed since and was not computed.
    changed(storage): when it changed last."""
    for n in nodes:
        for s in _reads(n):
            if n.seq < changed(s):
                what, then = ("copy_ or load_state_dict", "that") if s.touched > n.seq else \
                    ("an optimizer's step", "the step")
                raise VktrainError(
                    f"{text_of(n.line)}: this was made with {s.name or 'a parameter'} before {what} "
                    f"changed it, and was not computed: call numpy() or item() before {then}, or "
                    f"return it from a function with @vktrain.jit")


def _key(nodes, pairs, optimizer):
    index, key = {}, [_device.epoch, id(optimizer)]
    for i, n in enumerate(nodes):
        index[n.seq] = i
        key.append((n.op, n.attrs, n.shapes, n.dtypes, id(n.data) if n.op == "leaf" else 0,
                    tuple(None if v is None else (index[v[0].seq], v[1]) for v in n.inputs)))
    key.append(tuple(None if p is None else (index[p[0].seq], p[1]) for p in pairs))
    return tuple(key)


def _program(outputs, optimizer, grads, label):
    roots = [p for p in list(outputs) + list(grads) if p is not None]
    nodes = reach([p[0] for p in roots])
    check_fresh(nodes, lambda s: s.changed)
    if any(n.op == "input" for n in nodes):
        n = next(n for n in nodes if n.op == "input")
        raise VktrainError(f"{text_of(n.line)}: this is computed when the step function runs, and "
                           f"has no numbers while it is traced: return it")
    key = _key(nodes, list(outputs) + list(grads), optimizer)
    p = _cache.get(key)
    if p is None:
        p = Program(outputs, optimizer, grads, label=label)
        p.keeps = [n.data for n in nodes if n.op == "leaf"], optimizer  # their ids are in the key
        _cache[key] = p
        while len(_cache) > _MOST_PROGRAMS:
            _cache.popitem(last=False)[1].close()
    else:
        _cache.move_to_end(key)
        p.set_limits([n.limit for n in nodes if n.op == "constant"])  # they are not in the key
    return p, [numbers_of(n) for n in nodes if n.op == "constant"]


def compute(tensors, optimizer=None, grads=()):
    """Computes these, and with an optimizer its step."""
    with _device.lock:
        label = text_of(tensors[0]._node.line) if tensors else "step"
        p, arrays = _program([t._pair for t in tensors], optimizer, grads, label)
        p.finish(0, p.start(0, arrays))
        for t, view in zip(tensors, p.out_views[0]):
            t._value = view.copy()
