"""Optimizers: the library's own rules, with schedules, clipping by global norm, and a moving average.

    optimizer = vktrain.optim.AdamW(net, lr=vktrain.optim.cosine(3e-4, steps=1000, warmup=50))

Parameters whose `grad` is None at a step have a gradient of zero. One optimizer trains a parameter.
"""
import ctypes
import math
import numbers
import weakref
from collections.abc import Mapping
from ctypes import byref, c_void_p

import numpy as np

from . import _device, _program, _trace
from ._device import DEVICE, Memory
from ._gradient import gradient_of
from ._graph_library import F32, FlatParams, OptimDesc, OptimGroup, Param, Schedule
from ._library import NumericError, VktrainError, check, lib
from ._ops import shape as c_shape
from ._tensor import Tensor, tensor

_ALIGN = 256  # elements
_SCHEDULES = {lib.vkt_schedule_name(i).decode(): i for i in range(9)}
_FILTERS, _CONV = ((2, 3, 1, 0), (2, 1, 0)), 1  # of convolutions, as permutations of PyTorch's
_RULES = {lib.vkt_optim_rule_name(i).decode(): i for i in range(13)}


class LearningRate:
    """A rate as a function of the step: calling it gives the rate of a step, counted from 0."""

    def __init__(self, kind, lr, steps, warmup=0, **fields):
        self._s = Schedule(kind=_SCHEDULES[kind], lr=lr, steps=steps, warmup=warmup, **fields)
        check(lib.vkt_schedule_check(byref(self._s), b"schedule"))

    def __call__(self, step):
        return lib.vkt_schedule_lr(byref(self._s), step)


def constant(lr, warmup=0):
    """lr after a linear warmup."""
    return LearningRate("constant", lr, 1, warmup)


def cosine(lr, steps, warmup=0, final_ratio=0.0):
    """After the warmup falls to lr * final_ratio by half a cosine in `steps`."""
    return LearningRate("cosine", lr, steps, warmup, final_ratio=final_ratio)


def linear(lr, steps, warmup=0, final_ratio=0.0):
    """After the warmup falls to lr * final_ratio in a line."""
    return LearningRate("linear", lr, steps, warmup, final_ratio=final_ratio)


def steps(lr, milestones, gamma=0.1, warmup=0):
    """lr, multiplied by gamma at each of these steps."""
    m = (ctypes.c_uint64 * 16)(*milestones)
    return LearningRate("steps", lr, max(milestones) + 1, warmup, milestones=m,
                        n_milestones=len(milestones), gamma=gamma)


_USES = {"sgd": {}, "momentum": {"momentum": 1}, "nesterov": {"momentum": 1},
         "rmsprop": {"momentum": 1, "rho": 1, "eps": 1}, "lion": {"betas": 2},
         "adan": {"betas": 3, "eps": 1}, "adafactor": {"eps": 1},
         "muon": {"momentum": 1, "betas": 2, "eps": 1, "rest_lr": 1},
         **{n: {"betas": 2, "eps": 1} for n in ("adam", "adamw", "nadam", "adamax", "lamb")}}


def _checked(rule, **given):
    """The betas; raises for what the rule does not use."""
    uses = _USES.get(rule)
    for name, value in given.items():
        if value is not None and uses is not None and name not in uses:
            raise TypeError(f"{name}: {rule} does not use it; it takes "
                            f"{', '.join(uses) or 'none of these'}")
    betas = given["betas"]
    if betas is not None and uses is not None and len(betas) != uses["betas"]:
        raise ValueError(f"betas has {len(betas)} numbers; {rule} takes {uses['betas']}")
    return (0.9, 0.999) if betas is None else betas


def _rate(lr):
    """A learning rate as a float; raises if it is none."""
    if type(lr) is float and 0 <= lr < math.inf:
        return lr
    if not isinstance(lr, numbers.Real):
        raise TypeError(f"lr is {lr!r}; it is a number, or a function of the step")
    if not 0 <= lr < math.inf:
        raise ValueError(f"lr is {lr}; it is 0 or more, and finite")
    return float(lr)


def _unique(named):
    """With other names where two are equal: of the second net, "1.0.weight"."""
    seen, out = set(), []
    for name, p in named:
        new, k = name, 0
        while new in seen:
            k += 1
            new = f"{k}.{name}"
        seen.add(new)
        out.append((new, p))
    return out


class Optimizer(_device.Owned):
    """Common to all rules.

    params: a module, or a list of parameters (or of pairs (name, parameter)).
    lr: a number, or a function of the step, counted from 0.
    weight_decay: of all parameters; decoupled for adamw, lion, adan, muon and adafactor.
    groups: [(pattern, {"lr_scale": .., "weight_decay": ..})], of names; '*' any characters, '?' one;
        the first that matches counts, lr_scale 0 freezes.
    clip: limit of the global norm of gradients; 0: none.
    ema: decay of a moving average of the parameters (see `averaged`); 0: none.
    loss_scale: for precision="fp16": the first factor, 65536 is usual; steps that overflow are left
        out and halve it.
    moments: "fp32" or "8bit".
    on_nan: "raise": NumericError where the loss or a gradient is NaN or infinite; the parameters are
        as before. "skip": only counted in `skipped`."""
    rank = 1

    def __init__(self, rule, params, lr, *, momentum=None, betas=None, rho=None, eps=None,
                 rest_lr=None, weight_decay=0.0, groups=(), clip=0.0, ema=0.0, loss_scale=0.0,
                 moments="fp32", on_nan="raise", _form=1):
        if on_nan not in ("raise", "skip"):
            raise ValueError(f"on_nan is {on_nan!r}; it is raise or skip")
        betas = _checked(rule, momentum=momentum, betas=betas, rho=rho, eps=eps, rest_lr=rest_lr)
        if not callable(lr):
            _rate(lr)
        for pattern, fields in groups:
            for key in fields:
                if key not in ("lr_scale", "weight_decay"):
                    raise TypeError(f"groups: {pattern!r} has {key!r}; a group has lr_scale (a factor "
                                    f"of lr) and weight_decay")
        named = list(params.named_parameters()) if hasattr(params, "named_parameters") else \
            [p if isinstance(p, tuple) else (p._storage.name or str(i), p)
             for i, p in enumerate(params)]
        named = [(n, p) for n, p in named if p.requires_grad]
        if not named:
            raise ValueError("the optimizer has no parameters to train")
        if len({id(p) for _, p in named}) != len(named):
            raise ValueError("a parameter is twice among the optimizer's")
        named = _unique(named)
        self.names, self.params = [n for n, _ in named], [p for _, p in named]
        self._storages = [p._storage for p in self.params]
        self.lr, self.t, self.clip, self.on_nan = lr, 0, clip, on_nan
        self._scales, self._packed = loss_scale > 0, moments == "8bit"
        self._clock = [max(p._storage.clock[0] for p in self.params)]
        self._taken = None  # the name of a parameter that another optimizer trains since
        self._number = _program.n_optimizers
        _program.n_optimizers += 1
        self.loss = self.grad_norm = float("nan")
        self.skipped = 0
        desc = OptimDesc(rule=_RULES[rule], form=_form, momentum=momentum or 0.0, beta1=betas[0],
                         beta2=betas[1], beta3=betas[2] if len(betas) > 2 else 0.0,
                         rho=0.9 if rho is None else rho, eps=1e-8 if eps is None else eps,
                         rest_lr=1.0 if rest_lr is None else rest_lr, weight_decay=weight_decay, decay_all=True,
                         moments={"fp32": 0, "8bit": 1}[moments], clip=clip,
                         ema=ema, loss_scale=loss_scale, scale_every=2000)
        rows = (OptimGroup * max(len(groups), 1))()
        for row, (pattern, fields) in zip(rows, groups):
            row.pattern = pattern.encode()
            row.lr_scale = fields.get("lr_scale", 1.0)
            row.weight_decay = fields.get("weight_decay", math.nan)
        desc.groups, desc.n_groups = rows, len(groups)
        self.handle = None
        with _device.lock:
            self._create(desc)

    def _create(self, desc):
        table = (Param * len(self.params))()
        self._offsets, at = [], 0
        for row, name, p, s in zip(table, self.names, self.params, self._storages):
            n = s.bytes // 4
            row.name, row.shape, row.offset, row.count = name.encode(), c_shape(s.shape), at, n
            if p._order in _FILTERS:  # the library has PyTorch's shape and knows how these lie
                row.shape, row.order = c_shape(p.shape), _CONV
            row.decay = len(s.shape) >= 2
            self._offsets.append(at)
            at += (n + _ALIGN - 1) // _ALIGN * _ALIGN
        self._values = Memory(4 * at, DEVICE, "parameters")
        self._grads = Memory(4 * at, DEVICE, "gradients")
        flat = FlatParams(table, len(table), at, self._values.handle, self._grads.handle)
        out = c_void_p()
        check(lib.vkt_optim_create_flat(_device.handle(), byref(desc), byref(flat), byref(out)))
        self.own(out)
        for s, offset, name in zip(self._storages, self._offsets, self.names):
            before = s.owner() if s.owner is not None else None
            if before is not None:
                before._taken = name
            s.name, s.clock, s.owner = name, self._clock, weakref.ref(self)
            s.move(self._values, 4 * offset)

    def destroy(self):
        _device.moved()
        lib.vkt_gpu_wait(_device._handle)
        lib.vkt_optim_destroy(byref(self.handle))

    def _alive(self):
        if self.handle is None:
            raise VktrainError(f"{_trace.text_of(_trace.line_here())}: the optimizer was closed")

    # ---- for programs ----

    def _build(self, g, program, grads, total):
        if total is None:  # of arrays only
            if self._scales:
                raise VktrainError("step() with loss_scale needs a gradient that backward() made")
            total = lib.vkt_fill(g, c_shape((1,)), 0.0)
        for s, offset, pair, name in zip(self._storages, self._offsets, grads, self.names):
            if pair is None:
                d = lib.vkt_fill(g, c_shape(s.shape), 0.0)
            elif pair[0].op == "gradient" and pair[0].inputs[0][0].data is s:
                d = program.of(pair)
            else:
                d = lib.vkt_copy(g, program.of(pair))
            program.bind_all(d, self._grads, 4 * offset)
        program.memories.append(self._values)
        return lib.vkt_optim_build(self.handle, g, total, None)

    def rate(self):
        """The learning rate of the next step."""
        return _rate(self.lr(self.t) if callable(self.lr) else self.lr)

    def _seed(self):
        return (_program._seed + self._number * 0x9E3779B97F4A7C15) % 2**64

    def _stepped(self):
        self.t += 1
        self._clock[0] = _trace.now()

    def _report(self, scalars, label):
        loss, norm, _, ok, _, skipped, _, _ = scalars.tolist()
        self.loss, self.grad_norm, self.skipped = loss, norm, int(skipped)
        if not ok and self.on_nan == "raise" and not self._scales:
            raise NumericError(f"{label}: the loss is {loss} and the norm of its gradient {norm}: "
                               f"this step changed no parameter", "NaN or infinity")

    # ---- for training ----

    def zero_grad(self):
        """Forgets the gradients of the step before."""
        for p in self.params:
            p.grad = None

    def step(self):
        """One update by the parameters' `grad`."""
        self._alive()
        if self._taken is not None:
            raise VktrainError(f"{_trace.text_of(_trace.line_here())}: another optimizer, made later, "
                               f"trains {self._taken}: one optimizer trains a parameter")
        grads = []
        for p in self.params:
            if p.grad is None:
                grads.append(None)
                continue
            grad = tensor(p.grad)._float()
            if grad.shape != p.shape:
                raise _trace.ShapeError(
                    f"{_trace.text_of(_trace.line_here())}: the grad of {p._storage.name} has shape "
                    f"{list(grad.shape)}, the parameter {list(p.shape)}", "shape")
            source = gradient_of(grad)
            if source is not None and source.inputs[0][0].data is p._storage:
                grads.append((source, 0))
            else:
                grads.append((grad if p._order is None else grad.permute(p._order))._pair)
        if all(g is None for g in grads):
            raise VktrainError(f"{_trace.text_of(_trace.line_here())}: step() without a gradient: "
                               f"call backward() before it")
        trace = _trace.trace()
        if trace is not None:
            trace.steps.append((_trace.now(), self, grads))
            return
        node = next((g[0] for g in grads if g is not None and g[0].op == "gradient"), None)
        losses = [Tensor(*v) for v in node.inputs[1:]] if node is not None else []
        _program.compute(losses, self, grads)
        for t, v in zip(losses, node.inputs[1:] if node is not None else ()):
            owner = v[0].owner
            if owner is not None and owner() is not None:
                owner()._value = t._value

    # ---- state ----

    def _moments(self):
        n = lib.vkt_optim_n_moments(self.handle)
        return {lib.vkt_optim_moment_name(self.handle, i).decode(): i for i in range(n)}

    def _place(self, moment, i):
        """Where a moment has parameter i's numbers: buffer, first byte, and their shape in memory."""
        count = ctypes.c_uint64()
        at = lib.vkt_optim_moment_place(self.handle, moment, i, byref(count))
        s = self._storages[i]
        shape = s.shape if count.value == s.bytes // 4 else (count.value,)
        return lib.vkt_optim_moment(self.handle, moment), 4 * at, shape

    def _moment_array(self, moment, i):
        buffer, at, shape = self._place(moment, i)
        a = np.empty(shape, np.float32)
        check(lib.vkt_gpu_wait(_device.handle()))
        if a.size:
            check(lib.vkt_buffer_read(_device.handle(), buffer, at, a.ctypes.data, a.nbytes))
        order = self.params[i]._order
        return a if order is None or shape != self._storages[i].shape else \
            np.ascontiguousarray(a.transpose(np.argsort(order)))

    def averaged(self):
        """The moving average of the parameters, by name: for a module's load_state_dict."""
        with _device.lock:
            self._alive()
            m = self._moments()
            if "ema" not in m:
                raise VktrainError("the optimizer keeps no moving average: give it ema=0.999, say")
            return {n: self._moment_array(m["ema"], i) for i, n in enumerate(self.names)}

    def state_dict(self):
        """{"t": steps so far, "m.NAME": .., "v.NAME": ..}: arrays, for load_state_dict and save."""
        with _device.lock:
            self._alive()
            if self._packed:
                raise VktrainError("moments of 8 bits have no state_dict yet: moments='fp32'")
            return {"t": np.array([self.t], np.float32),
                    "number": np.array([self._number], np.float32),  # of its random numbers
                    **{f"{name}.{n}": self._moment_array(m, i) for name, m in self._moments().items()
                       for i, n in enumerate(self.names)}}

    def load_state_dict(self, state):
        """Goes on where another of the same kind was."""
        with _device.lock:
            self._alive()
            if self._packed:
                raise VktrainError("moments of 8 bits take no state_dict yet: moments='fp32'")
            writes = []
            for name, m in self._moments().items():
                for i, n in enumerate(self.names):
                    if f"{name}.{n}" not in state:
                        raise ValueError(f"the state has no {name}.{n}: it is of another optimizer")
                    a = np.asarray(state[f"{name}.{n}"], np.float32)
                    buffer, at, shape = self._place(m, i)
                    order = self.params[i]._order
                    if order is not None and shape == self._storages[i].shape and \
                            a.ndim == len(order):
                        a = a.transpose(order)
                    if a.shape != shape:
                        raise ValueError(f"{name}.{n} has shape {list(a.shape)}, not {list(shape)}")
                    writes.append((buffer, at, np.ascontiguousarray(a)))
            for buffer, at, a in writes:  # all or none
                if a.size:
                    check(lib.vkt_buffer_write(_device.handle(), buffer, at, a.ctypes.data, a.nbytes))
            self.t = int(state["t"][0])
            self._number = int(state["number"][0]) if "number" in state else 0


class SGD(Optimizer):
    """theta -= lr (g + weight_decay theta), with momentum and Nesterov's as PyTorch's."""

    def __init__(self, params, lr, momentum=0.0, nesterov=False, weight_decay=0.0, **more):
        if nesterov and not momentum:
            raise ValueError("nesterov needs a momentum, as 0.9")
        rule = "sgd" if not momentum else "nesterov" if nesterov else "momentum"
        super().__init__(rule, params, lr, momentum=momentum or None, weight_decay=weight_decay, **more)


class Adam(Optimizer):
    """Kingma and Ba 2015; weight_decay is added to the gradient."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **more):
        super().__init__("adam", params, lr, betas=betas, eps=eps, weight_decay=weight_decay, **more)


class AdamW(Optimizer):
    """Adam with decoupled weight decay."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, **more):
        super().__init__("adamw", params, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         **more)


class NAdam(Optimizer):
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **more):
        super().__init__("nadam", params, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         **more)


class Adamax(Optimizer):
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **more):
        super().__init__("adamax", params, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                         **more)


class RMSprop(Optimizer):
    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, momentum=0.0, weight_decay=0.0,
                 **more):
        super().__init__("rmsprop", params, lr, rho=alpha, eps=eps, momentum=momentum,
                         weight_decay=weight_decay, **more)


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, **more):
        super().__init__("lion", params, lr, betas=betas, weight_decay=weight_decay, **more)


class LAMB(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0, **more):
        super().__init__("lamb", params, lr, betas=betas, eps=eps, weight_decay=weight_decay, **more)


class Adan(Optimizer):
    """Xie et al. 2022: also follows how the gradient changes."""

    def __init__(self, params, lr=1e-3, betas=(0.98, 0.92, 0.99), eps=1e-8, weight_decay=0.0, **more):
        super().__init__("adan", params, lr, betas=betas, eps=eps, weight_decay=weight_decay, **more)


class Muon(Optimizer):
    """Jordan et al. 2024: the momentum of each parameter of two dimensions or more is made orthogonal;
    AdamW, at lr * rest_lr, updates the others. Give embeddings and the output layer an AdamW of their
    own."""

    def __init__(self, params, lr=0.02, momentum=0.95, betas=(0.9, 0.95), eps=1e-8, rest_lr=0.015,
                 weight_decay=0.0, **more):
        super().__init__("muon", params, lr, momentum=momentum, betas=betas, eps=eps,
                         rest_lr=rest_lr, weight_decay=weight_decay, **more)


class Adafactor(Optimizer):
    """Shazeer and Stern 2018, PyTorch's form for matrices: second moments as a number for each row and
    column; a filter is the matrix of its outputs and the rest."""

    def __init__(self, params, lr=1e-2, weight_decay=0.0, **more):
        super().__init__("adafactor", params, lr, eps=2.0**-23, weight_decay=weight_decay, **more)
