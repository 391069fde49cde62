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

__all__ = ["DataError", "Device", "DeviceError", "FileError", "Model", "NoDeviceError",
           "NumericError", "OutOfMemoryError", "Progress", "RecipeError", "Result",
           "UnsupportedError", "VktrainClassifier", "VktrainError", "VktrainRegressor",
           "__version__", "devices", "library_path", "recipes", "train"]


def __getattr__(name):  # scikit-learn is imported only by those who use it
    if name in ("VktrainClassifier", "VktrainRegressor"):
        from . import sklearn
        return getattr(sklearn, name)
    raise AttributeError(f"module 'vktrain' has no attribute {name!r}")
