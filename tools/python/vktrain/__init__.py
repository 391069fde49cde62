"""Train neural networks on any Vulkan GPU, from NumPy arrays.

    import vktrain
    result = vktrain.train("digits")                        # a built-in recipe with its own data
    result = vktrain.train({"model": [{"linear": 64}, "relu", "linear"]}, data=(X, y))
    model = vktrain.Model.load(result.run_dir)
    model.predict(X)

The recipe's keys are those of ``vktrain train --help``. scikit-learn's interface is
``vktrain.VktrainClassifier`` and ``vktrain.VktrainRegressor``. The package is a thin layer on the
shared library (see ``vktrain.library_path``); warnings and progress lines of the library go to the
logger "vktrain", and errors are raised as ``VktrainError`` with the library's line.
"""
from ._library import (DataError, DeviceError, FileError, NoDeviceError, NumericError,
                       OutOfMemoryError, RecipeError, UnsupportedError, VktrainError, library_path)
from ._version import __version__
from ._train import Device, Model, Progress, Result, devices, recipes, train
from ._device import set_device
from ._fit import FitResult, fit
from ._jit import jit
from ._program import manual_seed
from ._tensor import (Tensor, concat, full, matmul, ones, rand, randn, stack, tensor, where, zeros)
from ._trace import ShapeError
from . import nn, optim
from .data import DataLoader

__all__ = ["DataError", "DataLoader", "Device", "DeviceError", "FileError", "FitResult", "Model", "NoDeviceError",
           "NumericError", "OutOfMemoryError", "Progress", "RecipeError", "Result",
           "ShapeError", "Tensor", "UnsupportedError", "VktrainClassifier", "VktrainError", "VktrainRegressor",
           "__version__", "concat", "devices", "fit", "full", "jit", "library_path", "manual_seed", "matmul",
           "nn", "ones", "optim", "rand", "randn", "recipes", "set_device", "stack", "tensor",
           "train", "where", "zeros"]


def __getattr__(name):  # scikit-learn is imported only by those who use it
    if name in ("VktrainClassifier", "VktrainRegressor"):
        from . import sklearn
        return getattr(sklearn, name)
    raise AttributeError(f"module 'vktrain' has no attribute {name!r}")
