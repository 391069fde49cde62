"""Modules and layers under PyTorch's names: see vktrain.nn.functional for the functions."""
from . import functional, init
from . import layers as _layers
from .module import Module, ModuleDict, ModuleList, Sequential
from .parameter import Buffer, Parameter

__all__ = ["AdaptiveAvgPool2d", "AvgPool2d", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d",
           "Buffer", "Conv1d", "Conv2d", "ConvTranspose2d", "CrossEntropyLoss", "Dropout", "ELU",
           "Embedding", "Flatten", "GELU", "GLU", "GRU", "GroupNorm", "Hardsigmoid", "Hardswish",
           "HuberLoss", "Identity", "InstanceNorm2d", "L1Loss", "LSTM", "LayerNorm", "LeakyReLU",
           "Linear", "LogSoftmax", "MSELoss", "MaxPool2d", "Mish", "Module", "ModuleDict",
           "ModuleList", "MultiheadAttention", "Parameter", "RMSNorm", "ReLU", "ReLU6",
           "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax", "Softplus", "Tanh",
           "TransformerDecoderLayer", "TransformerEncoderLayer", "Unflatten", "Upsample",
           "functional", "init"]

for _name in __all__:
    if hasattr(_layers, _name):
        globals()[_name] = getattr(_layers, _name)
