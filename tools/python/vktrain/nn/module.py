"""Modules: parameters and functions under PyTorch's names."""
import os
from collections import OrderedDict

import numpy as np

from .. import _safetensors, _trace
from .._tensor import Tensor
from .parameter import Buffer, Parameter


class Module:
    """A part of a net: assign parameters and other modules to its attributes, and define `forward`."""

    def __init__(self):
        self.__dict__["_parameters"] = OrderedDict()
        self.__dict__["_buffers"] = OrderedDict()
        self.__dict__["_modules"] = OrderedDict()
        self.__dict__["_training"] = True

    def __setattr__(self, name, value):
        if "_modules" not in self.__dict__:
            raise AttributeError("call super().__init__() before assigning to a module")
        if value is not None and not isinstance(value, (Parameter, Module)):
            for kind, what in ((self._parameters, "parameter"), (self._modules, "module")):
                if name in kind:
                    raise TypeError(f"'{name}' is a {what} of {type(self).__name__}, and can't become a "
                                    f"{type(value).__name__}: give it a "
                                    f"{'Parameter' if what == 'parameter' else 'Module'} or None")
        for kind in (self._parameters, self._buffers, self._modules):
            kind.pop(name, None)
        kind = self._buffers if isinstance(value, Buffer) else \
            self._parameters if isinstance(value, Parameter) else \
            self._modules if isinstance(value, Module) else None
        if kind is not None:
            kind[name] = value
            self.__dict__.pop(name, None)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind, {})
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")

    def __delattr__(self, name):
        for kind in (self._parameters, self._buffers, self._modules):
            if kind.pop(name, None) is not None:
                return
        object.__delattr__(self, name)

    @property
    def training(self):
        """Whether dropout and batch norm are as in training: see train and eval."""
        trace = _trace.trace()
        if trace is not None:
            trace.modes[self] = self._training
        return self._training

    def register_buffer(self, name, data):
        """State that is saved and not trained."""
        setattr(self, name, data if isinstance(data, Buffer) else Buffer(data))

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    # ---- what is in it ----

    def named_modules(self, prefix=""):
        """Itself and all modules within it, with their names."""
        yield prefix, self
        for name, m in self._modules.items():
            yield from m.named_modules(f"{prefix}.{name}" if prefix else name)

    def modules(self):
        return (m for _, m in self.named_modules())

    def children(self):
        return iter(self._modules.values())

    def _named(self, kind):
        seen = set()
        for prefix, m in self.named_modules():
            for name, p in getattr(m, kind).items():
                if id(p) not in seen:
                    seen.add(id(p))
                    yield (f"{prefix}.{name}" if prefix else name), p

    def named_parameters(self):
        """Names and parameters, each once."""
        for name, p in self._named("_parameters"):
            if p._storage.name is None:
                p._storage.name = name
            yield name, p

    def named_buffers(self):
        return self._named("_buffers")

    def parameters(self):
        return (p for _, p in self.named_parameters())

    def apply(self, function):
        for m in self.modules():
            function(m)
        return self

    def train(self, mode=True):
        """Dropout and batch norm as in training."""
        for m in self.modules():
            m.__dict__["_training"] = bool(mode)
        return self

    def eval(self):
        """Dropout and batch norm as in use."""
        return self.train(False)

    def zero_grad(self):
        for p in self.parameters():
            p.grad = None

    # ---- state ----

    def state_dict(self):
        """Names and arrays of all parameters and buffers, as PyTorch names and shapes them."""
        out = OrderedDict()
        for prefix, m in self.named_modules():
            for kind in (m._parameters, m._buffers):
                for name, p in kind.items():
                    a = p.numpy()
                    if name == "num_batches_tracked":
                        a = a.astype(np.int64).reshape(())
                    out[f"{prefix}.{name}" if prefix else name] = a
        return out

    def load_state_dict(self, state, strict=True):
        """Takes the numbers of a state_dict (of arrays, or of PyTorch's tensors)."""
        mine = OrderedDict()
        for prefix, m in self.named_modules():
            for kind in (m._parameters, m._buffers):
                for name, p in kind.items():
                    mine[f"{prefix}.{name}" if prefix else name] = p
        missing, more = [n for n in mine if n not in state], [n for n in state if n not in mine]
        if strict and (missing or more):
            raise KeyError(f"the state lacks {missing[:5]}, and has {more[:5]}, which the module "
                           f"has not ({len(missing)} and {len(more)} in all)")
        arrays = {}
        for name, p in mine.items():
            if name in state:
                a = np.asarray(state[name])
                a = a.reshape(1) if name.endswith("num_batches_tracked") else a
                if a.shape != p.shape:
                    raise ValueError(f"{name} has shape {list(p.shape)}, not {list(a.shape)}")
                arrays[name] = a
        for name, a in arrays.items():  # nothing is changed if one of them does not fit
            mine[name].copy_(a)
        return missing, more

    def save(self, path):
        """The state as a safetensors file, which PyTorch reads."""
        _safetensors.save(path, self.state_dict())

    def load(self, path, strict=True):
        """The state of a safetensors file."""
        return self.load_state_dict(_safetensors.load(path), strict)

    def extra_repr(self):
        return ""

    def __repr__(self):
        inner = "".join(f"\n  ({n}): " + repr(m).replace("\n", "\n  ")
                        for n, m in self._modules.items())
        return f"{type(self).__name__}({self.extra_repr()}{inner}{chr(10) if inner else ''})"


def _a_module(m, what):
    if not isinstance(m, Module):
        raise TypeError(f"{what} is {m!r}; it has to be a module, such as nn.ReLU()")
    return m


class Sequential(Module):
    """Modules one after another; their names are their numbers, or those of an OrderedDict."""

    def __init__(self, *modules):
        super().__init__()
        items = modules[0].items() if len(modules) == 1 and isinstance(modules[0], OrderedDict) \
            else ((str(i), m) for i, m in enumerate(modules))
        for name, m in items:
            setattr(self, name, _a_module(m, f"Sequential: {name}"))

    def forward(self, x):
        for m in self._modules.values():
            x = m(x)
        return x

    def __getitem__(self, i):
        found = list(self._modules.values())[i]
        return Sequential(*found) if isinstance(i, slice) else found

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules=()):
        super().__init__()
        for m in modules:
            self.append(m)

    def append(self, module):
        name = str(len(self._modules))
        setattr(self, name, _a_module(module, f"ModuleList: {name}"))
        return self

    def __getitem__(self, i):
        return list(self._modules.values())[i]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules=()):
        super().__init__()
        for name, m in dict(modules).items():
            setattr(self, name, _a_module(m, f"ModuleDict: {name}"))

    def __getitem__(self, name):
        return self._modules[name]

    def __len__(self):
        return len(self._modules)

    def items(self):
        return self._modules.items()
