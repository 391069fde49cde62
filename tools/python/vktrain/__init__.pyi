from os import PathLike
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import nn as nn
from . import optim as optim
from ._jit import jit as jit
from ._tensor import Tensor as Tensor
from ._tensor import concat as concat
from ._tensor import full as full
from ._tensor import matmul as matmul
from ._tensor import ones as ones
from ._tensor import rand as rand
from ._tensor import randn as randn
from ._tensor import stack as stack
from ._tensor import tensor as tensor
from ._tensor import where as where
from ._tensor import zeros as zeros
from .data import DataLoader as DataLoader
from .sklearn import VktrainClassifier as VktrainClassifier
from .sklearn import VktrainRegressor as VktrainRegressor

__all__: List[str]
__version__: str
library_path: str

class VktrainError(RuntimeError):
    status: str
    def __init__(self, line: str, status: str = ...) -> None: ...
class RecipeError(VktrainError, ValueError): ...
class DataError(VktrainError, ValueError): ...
class ShapeError(DataError): ...
class UnsupportedError(VktrainError): ...
class OutOfMemoryError(VktrainError, MemoryError): ...
class NoDeviceError(VktrainError): ...
class DeviceError(VktrainError): ...
class FileError(VktrainError, OSError): ...
class NumericError(VktrainError, ArithmeticError): ...

class Device(NamedTuple):
    index: int
    name: str
    type: str
    driver: str
    memory_bytes: int
    usable: bool
    why_not: str

class FitResult(NamedTuple):
    run_dir: str
    step: int
    metric: str
    best_step: int
    best_metric: float
    best_checkpoint: str
    loss: float
    metrics: Dict[str, float]
    seconds: float
    stopped: bool

class Progress(NamedTuple):
    step: int
    total: int
    loss: float
    accuracy: float
    grad_norm: float
    lr: float
    items_per_s: float
    eta_s: float
    evaluated: bool
    eval_split: Optional[str]
    eval_loss: float
    eval_accuracy: float
    eval_mae: float
    metric: Optional[str]
    eval_metric: float
    best: bool

class Result(NamedTuple):
    run_dir: str
    best_checkpoint: str
    step: int
    best_step: int
    metric: str
    best_metric: float
    valid_loss: float
    valid_accuracy: float
    valid_mae: float
    valid_r2: float
    test_loss: float
    test_accuracy: float
    test_mae: float
    test_r2: float
    seconds: float
    step_ms: float
    items_per_s: float
    start_s: float
    stopped: bool

Path = Union[str, "PathLike[str]"]
# Also a DataFrame, by its columns' names.
Table = Union[ArrayLike, Sequence[Mapping[str, Any]], Any]
Callback = Callable[[Progress], Optional[bool]]

def set_device(device: Union[None, int, str]) -> None: ...
def manual_seed(seed: int) -> None: ...
def devices() -> List[Device]: ...
def recipes() -> Dict[str, str]: ...
def fit(module: nn.Module, data: Sequence[ArrayLike], *,
        recipe: Optional[Mapping[str, Any]] = ..., settings: Optional[Mapping[str, Any]] = ...,
        valid: Optional[Sequence[ArrayLike]] = ..., loss: Optional[Callable[[Any, Tensor], Tensor]] = ...,
        objective: Optional[Callable[..., Tensor]] = ...,
        metrics: Optional[Mapping[str, Callable[[NDArray[Any], NDArray[Any]], float]]] = ...,
        run: Union[None, str, PathLike[str]] = ..., resume: bool = ...,
        callbacks: Union[Callable[[Progress], Any], Iterable[Callable[[Progress], Any]]] = ...) -> FitResult: ...

def train(recipe: Union[Path, Mapping[str, Any]], data: Optional[Tuple[ArrayLike, ArrayLike]] = ...,
          *, settings: Optional[Mapping[str, Any]] = ..., run: Optional[Path] = ...,
          resume: bool = ..., device: Union[None, int, str] = ...,
          callbacks: Union[Callback, Iterable[Callback]] = ..., train_on_all: bool = ...) -> Result: ...

class Model:
    task: str
    input_shape: Tuple[int, ...]
    classes: Optional[NDArray[Any]]
    outputs: Optional[List[Tuple[str, Optional[str]]]]
    @classmethod
    def load(cls, run: Path, device: Union[None, int, str] = ...) -> Model: ...
    def predict(self, X: Table) -> NDArray[Any]: ...
    def predict_proba(self, X: Table) -> NDArray[np.float32]: ...
    def find(self, picture: Union[Path, bytes]) -> List[Dict[str, Any]]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Model: ...
    def __exit__(self, *args: object) -> None: ...
