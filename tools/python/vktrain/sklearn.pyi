from typing import Any, Iterable, List, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from . import Callback, Result

__all__: List[str]

class _Vktrain(BaseEstimator):
    n_features_in_: int
    n_iter_: int
    result_: Result
    def __init__(self, hidden: Sequence[int] = ..., *, activation: str = ..., dropout: float = ...,
                 model: Optional[Sequence[Any]] = ..., lr: float = ..., weight_decay: float = ...,
                 batch_size: int = ..., steps: Optional[int] = ..., validation_fraction: float = ...,
                 settings: Optional[Mapping[str, Any]] = ..., device: Union[None, int, str] = ...,
                 callbacks: Union[Callback, Iterable[Callback]] = ...,
                 random_state: Union[None, int, RandomState] = ...) -> None: ...

class VktrainClassifier(ClassifierMixin, _Vktrain):
    classes_: NDArray[Any]
    def fit(self, X: ArrayLike, y: ArrayLike) -> VktrainClassifier: ...
    def predict(self, X: ArrayLike) -> NDArray[Any]: ...
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]: ...

class VktrainRegressor(RegressorMixin, _Vktrain):
    def fit(self, X: ArrayLike, y: ArrayLike) -> VktrainRegressor: ...
    def predict(self, X: ArrayLike) -> NDArray[np.float64]: ...
