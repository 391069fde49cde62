"""scikit-learn's interface: VktrainClassifier and VktrainRegressor."""
import os
import tempfile

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ._train import Model, refuse_masked, train

try:  # from 1.6 on
    from sklearn.utils.validation import validate_data
except ImportError:
    def validate_data(estimator, X, y="no_validation", **options):
        return estimator._validate_data(X, y, **options)

__all__ = ["VktrainClassifier", "VktrainRegressor"]


def _validated(estimator, X, *y, **options):
    """As validate_data, which would take masked elements for numbers."""
    for value, what in zip((X, *y), "Xy"):
        refuse_masked(value, what)
    return validate_data(estimator, X, *y, **options)


_LEAST_STEPS, _PASSES = 400, 20


class _Opened:
    """A model on its device, once it is needed; a copy of the estimator opens its own."""
    model = None

    def __reduce__(self):
        return _Opened, ()


class _Vktrain(BaseEstimator):
    """What both estimators share: a multilayer perceptron, unless `model` says another one."""

    def __init__(self, hidden=(128,), *, activation="relu", dropout=0.0, model=None, lr=0.003,
                 weight_decay=0.01, batch_size=64, steps=None, validation_fraction=0.0,
                 settings=None, device=None, callbacks=(), random_state=None):
        self.hidden = hidden
        self.activation = activation
        self.dropout = dropout
        self.model = model
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.steps = steps
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state

    def _layers(self):
        if self.model is not None:
            return list(self.model)
        layers = []
        for width in self.hidden:
            layers += [{"linear": int(width)}, self.activation]
            if self.dropout:
                layers.append({"dropout": self.dropout})
        return layers + ["linear"]

    def _recipe(self, n):
        batch = min(self.batch_size, n)
        steps = max(_LEAST_STEPS, -(-_PASSES * n // batch)) if self.steps is None else self.steps
        return {"name": "sklearn", "seed": int(check_random_state(self.random_state).randint(2**31)),
                "data": {"task": self._task, "valid_fraction": self.validation_fraction,
                         "test_fraction": 0},
                "model": self._layers(),
                "optim": {"rule": "adamw", "lr": self.lr, "weight_decay": self.weight_decay},
                "schedule": {"kind": "cosine", "warmup": min(20, steps // 10)},
                "train": {"steps": steps, "batch": batch},
                "checkpoint": {"metric": "auto" if self.validation_fraction else "loss", "keep": 1}}

    def _fit(self, X, y, per_class):
        held_out = int(sum(np.floor(c * self.validation_fraction + 0.5) for c in per_class))
        if self.validation_fraction and not held_out:
            raise ValueError(f"validation_fraction={self.validation_fraction} of n_samples="
                             f"{len(y)} holds out no sample: raise it or set it to 0")
        with tempfile.TemporaryDirectory(prefix="vktrain-") as folder:
            result = train(self._recipe(len(y) - held_out), data=(X, y), settings=self.settings,
                           run=os.path.join(folder, "run"), device=self.device,
                           callbacks=self.callbacks, train_on_all=not self.validation_fraction)
            self.files_ = {}
            for name in sorted(os.listdir(result.best_checkpoint)):
                with open(os.path.join(result.best_checkpoint, name), "rb") as f:
                    self.files_[name] = f.read()
        self.result_ = result._replace(run_dir="", best_checkpoint="")
        self.n_iter_ = result.step
        self._opened = _Opened()
        return self

    def _loaded(self):
        if self._opened.model is None:
            with tempfile.TemporaryDirectory(prefix="vktrain-") as folder:
                for name, data in self.files_.items():
                    with open(os.path.join(folder, name), "wb") as f:
                        f.write(data)
                self._opened.model = Model.load(folder, device=self.device)
        return self._opened.model

    def _checked(self, X):
        check_is_fitted(self)
        return _validated(self, X, reset=False, dtype=[np.float64, np.float32])


class VktrainClassifier(ClassifierMixin, _Vktrain):
    """A neural network that predicts classes.

    hidden: widths of the hidden layers; activation, dropout: of each.
    model: the layers as a recipe's model has them, in place of hidden, activation and dropout.
    lr, weight_decay: of AdamW, with warmup and a cosine schedule to 0.
    batch_size: at most the number of samples. steps: None: 20 passes over the samples, at least 400.
    validation_fraction: samples of each class that are held out to choose the checkpoint by; 0: the
        one with the lowest training loss at ten evaluations is taken.
    settings: further options of the recipe, as {"optim.clip": 1}. device, callbacks: see
        vktrain.train. random_state: seed of weights, order and split.

    After fit: classes_, n_features_in_, n_iter_ (steps), result_ (a vktrain.Result)."""
    _task = "classify"

    def fit(self, X, y):
        """X [n, features] of finite numbers, y [n] of labels of any kind."""
        X, y = _validated(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, index, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y has one class only, {self.classes_[0]!r}: there is nothing to "
                             f"learn")
        return self._fit(X, index, counts)

    def predict_proba(self, X):
        """The probability of each of classes_: [n, classes]."""
        X = self._checked(X)
        out = self._loaded().predict_proba(X).astype(np.float64)
        return out / out.sum(axis=1, keepdims=True)

    def predict(self, X):
        """The most probable of classes_: [n]; of two, by the threshold that training has chosen where
        settings have a calibration.threshold."""
        X = self._checked(X)
        model = self._loaded()
        return self.classes_[model._chosen(model._outputs(X))]


class VktrainRegressor(RegressorMixin, _Vktrain):
    """A neural network that predicts a number; parameters as VktrainClassifier's.

    After fit: n_features_in_, n_iter_ (steps), result_ (a vktrain.Result)."""
    _task = "regress"

    def fit(self, X, y):
        """X [n, features] and y [n] of finite numbers."""
        X, y = _validated(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        if len(y) < 2:
            raise ValueError(f"n_samples={len(y)} is too few: 2 are needed")
        return self._fit(X, np.asarray(y, np.float64), [len(y)])

    def predict(self, X):
        """The predicted number of each sample: [n]."""
        X = self._checked(X)
        return self._loaded().predict(X).astype(np.float64)
