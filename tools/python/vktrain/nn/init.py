"""Initial values of parameters, as PyTorch's layers begin: uniform in [-1/sqrt(fan_in), ..)."""
import numpy as np

_rng = np.random.default_rng(0)


def seed(n):
    global _rng
    _rng = np.random.default_rng(n)


def uniform(shape, bound):
    return _rng.uniform(-bound, bound, shape).astype(np.float32)


def normal(shape, std=1.0):
    return (_rng.standard_normal(shape) * std).astype(np.float32)


def fan_in(shape, fan):
    """A weight or bias of a layer whose outputs are sums over `fan` inputs."""
    return uniform(shape, 1 / np.sqrt(fan) if fan else 0)


def xavier_uniform(shape):
    return uniform(shape, np.sqrt(6 / (shape[0] + shape[1])))
