"""Optimizers: the library's own rules, with schedules, clipping by global norm, and a moving average.

    optimizer = vktrain.optim.AdamW(net, lr=vktrain.optim.cosine(3e-4, steps=1000, warmup=50))

Parameters whose `grad` is None at a step have a gradient of zero. One optimizer trains a parameter.
"""
import ctypes
import math
from collections.abc import Mapping
from ctypes import byref, c_void_p

import numpy as np

from . import _device, _program, _trace
from ._device import DEVICE, Memory
from ._gradient import gradient_of
from ._graph_library import F32, FlatParams, OptimDesc, OptimGroup, Param, Schedule
from ._library import NumericError, VktrainError, check, lib
from ._ops import shape as c_shape

_ALIGN = 256  # elements
_fill_step = lib.vkt_optim_fill_step
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

    def __init__(self, rule, params, lr, *, momentum=0.0, betas=(0.9, 0.999), rho=0.9, eps=1e-8,
                 rest_lr=1.0, weight_decay=0.0, groups=(), clip=0.0, ema=0.0, loss_scale=0.0,
                 moments="fp32", on_nan="raise"):
        if on_nan not in ("raise", "skip"):
            raise ValueError(f"on_nan is {on_nan!r}; it is raise or skip")
        named = list(params.named_parameters()) if hasattr(params, "named_parameters") else \
            [p if isinstance(p, tuple) else (p._storage.name or str(i), p)
             for i, p in enumerate(params)]
        named = [(n, p) for n, p in named if p.requires_grad]
        if not named:
            raise ValueError("the optimizer has no parameters to train")
        if len({id(p) for _, p in named}) != len(named):
            raise ValueError("a parameter is twice among the optimizer's")
        self.names, self.params = [n for n, _ in named], [p for _, p in named]
        self._storages = [p._storage for p in self.params]
        self.lr, self.t, self.clip, self.on_nan = lr, 0, clip, on_nan
        self._scales, self._packed = loss_scale > 0, moments == "8bit"
        self._clock = [0]
        self.loss = self.grad_norm = float("nan")
        self.skipped = 0
        desc = OptimDesc(rule=_RULES[rule], form=1, momentum=momentum, beta1=betas[0],
                         beta2=betas[1], beta3=betas[2] if len(betas) > 2 else 0.0, rho=rho,
                         eps=eps, rest_lr=rest_lr, weight_decay=weight_decay, decay_all=True,
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
            s.name, s.clock = name, self._clock
            s.move(self._values, 4 * offset)

    def destroy(self):
        _device.moved()
        lib.vkt_gpu_wait(_device._handle)
        lib.vkt_optim_destroy(byref(self.handle))

    # ---- for programs ----

    def _build(self, g, program, grads, total):
        if total is None:
            raise VktrainError("step() without a gradient: call backward() before it")
        for s, offset, pair, name in zip(self._storages, self._offsets, grads, self.names):
            if pair is None:
                d = lib.vkt_fill(g, c_shape(s.shape), 0.0)
            elif pair[0].op == "gradient":
                d = program.of(pair)
            else:
                d = lib.vkt_copy(g, program.of(pair))
            program.bind_all(d, self._grads, 4 * offset)
        program.memories.append(self._values)
        return lib.vkt_optim_build(self.handle, g, total, None)

    def rate(self):
        """The learning rate of the next step."""
        return float(self.lr(self.t) if callable(self.lr) else self.lr)

    def _fill(self, block):
        _fill_step(self.handle, self.rate(), self.t, _program._seed, block)
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
        if self.handle is None:
            raise VktrainError(f"{_trace.text_of(_trace.line_here())}: the optimizer was closed")
        grads = []
        for p in self.params:
            if p.grad is None:
                grads.append(None)
                continue
            source = gradient_of(p.grad)
            if source is not None:
                grads.append((source, 0))
            else:
                grads.append((p.grad if p._order is None else p.grad.permute(p._order))._pair)
        if all(g is None for g in grads):
            raise VktrainError(f"{_trace.text_of(_trace.line_here())}: step() without a gradient: "
                               f"call backward() before it")
        trace = _trace.trace()
        if trace is not None:
            trace.steps.append((_trace.now(), self, grads))
            return
        from ._tensor import Tensor
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
            m = self._moments()
            if "ema" not in m:
                raise VktrainError("the optimizer keeps no moving average: give it ema=0.999, say")
            return {n: self._moment_array(m["ema"], i) for i, n in enumerate(self.names)}

    def state_dict(self):
        """{"t": steps so far, "m.NAME": .., "v.NAME": ..}: arrays, for load_state_dict and save."""
        with _device.lock:
            if self._packed:
                raise VktrainError("moments of 8 bits have no state_dict yet: moments='fp32'")
            return {"t": np.array([self.t], np.float32),
                    **{f"{name}.{n}": self._moment_array(m, i) for name, m in self._moments().items()
                       for i, n in enumerate(self.names)}}

    def load_state_dict(self, state):
        """Goes on where another of the same kind was."""
        with _device.lock:
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


class SGD(Optimizer):
    """theta -= lr (g + weight_decay theta), with momentum and Nesterov's as PyTorch's."""

    def __init__(self, params, lr, momentum=0.0, nesterov=False, weight_decay=0.0, **more):
        rule = "sgd" if not momentum else "nesterov" if nesterov else "momentum"
        super().__init__(rule, params, lr, momentum=momentum, weight_decay=weight_decay, **more)


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
