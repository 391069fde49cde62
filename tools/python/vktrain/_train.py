"""Training, and trained models, from NumPy arrays."""
import ctypes
import json
import os
import queue
import threading
import weakref
from collections.abc import Mapping
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_float, c_size_t, c_void_p
from typing import NamedTuple, Optional

import numpy as np

from . import _library as L
from ._library import INTERRUPTED, OK, check, error_of, lib
from ._rows import as_lines, is_frame, is_table

_TYPES = {"uint8": 1, "int64": 2, "float32": 3, "float64": 4}
_TASKS = ("classify", "regress", "multilabel", "segment", "picture", "detect", "points", "instances")


class Device(NamedTuple):
    """A Vulkan device. ``index`` and ``name`` select it; ``why_not`` says what it lacks where it is
    not ``usable``; ``memory_bytes`` is what may be used now."""
    index: int
    name: str
    type: str
    driver: str
    memory_bytes: int
    usable: bool
    why_not: str


class Progress(NamedTuple):
    """What a callback gets after each step, and once more after each evaluation, when ``evaluated``
    is true and the ``eval_`` fields are new. ``loss`` and ``accuracy`` are running means. What is
    not measured is nan."""
    step: int
    total: int
    loss: float
    accuracy: float
    grad_norm: float
    lr: float
    items_per_s: float
    eta_s: float
    evaluated: bool
    eval_split: str
    eval_loss: float
    eval_accuracy: float
    eval_mae: float
    metric: str
    eval_metric: float
    best: bool


class Result(NamedTuple):
    """What a run reached. ``valid_`` and ``test_`` fields are of the best checkpoint, which is
    ``best_checkpoint``; what is not measured is nan. ``stopped``: a callback ended it early."""
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


def _text(value):
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _bytes(value, what):
    """UTF-8 as C takes it, which would end at a null character."""
    value = value.encode() if isinstance(value, str) else value
    if b"\0" in value:
        raise ValueError(f"{what} has a null character")
    return value


def _path(value, what):
    if value is None:
        return None
    try:
        return _bytes(os.fsencode(value), what)
    except TypeError:
        raise TypeError(f"{what} is a {type(value).__name__}, not a path") from None


def _gpu(device):
    if device is not None and not isinstance(device, (str, int)):
        raise TypeError(f"device is a {type(device).__name__}; it must be an index, \"cpu\", "
                        f"\"gpu\", part of a name, or a UUID")
    return L.GpuDesc(device=None if device is None else _bytes(str(device), "device"))


def devices():
    """Every Vulkan device that any driver offers, the one that would be used first.

    Raises NoDeviceError where there is none, or no Vulkan loader."""
    found, n = POINTER(L.GpuInfo)(), c_size_t()
    check(lib.vkt_gpu_list(byref(found), byref(n)))
    try:
        return [Device(g.index, _text(g.caps.name), _text(lib.vkt_gpu_type_name(g.caps.type)),
                       f"{_text(g.caps.driver)} {_text(g.caps.driver_info)}".strip(),
                       g.caps.budget_bytes, g.usable, _text(g.why_not))
                for g in found[:n.value]]
    finally:
        lib.vkt_free(ctypes.cast(found, c_void_p))


def recipes():
    """The built-in recipes: a dict from names to their YAML text."""
    out, i = {}, 0
    name, text = c_char_p(), c_char_p()
    while lib.vkt_recipe(i, byref(name), None, byref(text)):
        out[_text(name.value)] = _text(text.value)
        i += 1
    return out


def refuse_masked(value, what):
    """ValueError for a masked array that has masked elements."""
    if np.ma.is_masked(value):
        raise ValueError(f"{what} is a masked array with masked elements, which have no value: "
                         f"fill them, as with {what}.filled(numpy.nan), or leave their rows out")


def _refuse_cells(a, what, columns):
    """TypeError that names the first cell of `a` that is no number, and what to do."""
    for at, v in np.ndenumerate(a):
        if isinstance(v, (bool, int, float, np.bool_, np.integer, np.floating)):
            continue
        name = f" (column '{columns[at[1]]}')" if columns is not None and len(at) == 2 else ""
        cell = f"{what}[{', '.join(map(str, at))}]{name}"
        if v is None or str(v) in ("NaT", "<NA>"):
            raise TypeError(f"{cell} is {v}, which stands for no value: fill it, or leave its row "
                            f"out; {what} has dtype {a.dtype}, and numbers are needed")
        if isinstance(v, (np.datetime64, np.timedelta64)) or hasattr(v, "isoformat"):
            todo = f"give numbers, as ({what} - start) / numpy.timedelta64(1, 'D')"
        elif a.ndim == 1:
            todo = f"for classes that are texts: numpy.unique({what}, return_inverse=True)"
        else:
            todo = ("give a number for each, or train on a CSV file, whose texts and dates are "
                    "read by column")
        raise TypeError(f"{cell} is {v!r}; {what} has dtype {a.dtype}, and numbers are needed: "
                        f"{todo}")
    raise TypeError(f"{what} has dtype {a.dtype}, though all of it are numbers: "
                    f"{what}.astype(float)")


def as_array(value, what):
    """`value` as an array that the library reads where it lies: itself if it is C-contiguous uint8,
    int64, float32 or float64 of this machine's byte order; else a copy that holds the same numbers.
    """
    refuse_masked(value, what)
    a = np.asarray(value)
    kind = a.dtype.kind
    if kind == "b":
        want = np.uint8
    elif kind == "u" and a.dtype.itemsize == 1:
        want = np.uint8
    elif kind in "iu":
        if kind == "u" and a.dtype.itemsize == 8 and a.size and int(a.max()) > np.iinfo(np.int64).max:
            raise ValueError(f"{what} has integers beyond 2^63 - 1")
        want = np.int64
    elif kind == "f":
        want = np.float32 if a.dtype.itemsize <= 4 else np.float64
    else:
        _refuse_cells(a, what, list(value.columns) if is_frame(value) else None)
    if not 1 <= a.ndim <= 4:
        raise ValueError(f"{what} has {a.ndim} dimensions; 1 to 4 are supported")
    if a.size == 0:
        raise ValueError(f"{what} is empty: its shape is {a.shape}")
    if max(a.shape) >= 2**32:
        raise ValueError(f"{what} has shape {a.shape}; a length of 2^32 or more is not supported")
    return np.ascontiguousarray(a, dtype=want)


def _array(a):
    return L.Array(_TYPES[a.dtype.name], a.ndim, a.shape, a.ctypes.data)


class _Config:
    """A vkt_config, and the arrays that it reads."""

    def __init__(self, recipe, data, settings):
        self.pointer, self.kept = c_void_p(), None
        check(lib.vkt_config_create(byref(self.pointer)))
        try:
            self._load(recipe)
            for key, value in (settings or {}).items():
                value = value if isinstance(value, str) else json.dumps(value)
                text = _bytes(f"{key}={value}", f"setting {key!r}")
                check(lib.vkt_config_set(self.pointer, text))
            if data is not None:
                self._set_data(data)
            check(lib.vkt_config_finish(self.pointer))
        except BaseException:
            self.close()
            raise

    def _load(self, recipe):
        if isinstance(recipe, Mapping):
            try:
                text = json.dumps(dict(recipe), allow_nan=False)  # YAML has JSON in it
            except (TypeError, ValueError) as e:
                raise TypeError(f"the recipe can't be written as JSON: {e}") from None
            if "\\u0000" in text.replace("\\\\", ""):
                raise ValueError("the recipe has a null character")
            text = text.encode()
            check(lib.vkt_config_parse(self.pointer, text, len(text), b"recipe"))
        else:
            check(lib.vkt_config_load(self.pointer, _path(recipe, "recipe")))

    def _set_data(self, data):
        try:
            x, y = data
        except (TypeError, ValueError):
            raise TypeError("data is not a pair (X, y) of arrays") from None
        x, y = as_array(x, "X"), as_array(y, "y")
        self.kept = (x, y)
        lib.vkt_config_set_arrays(self.pointer, byref(L.Arrays(_array(x), _array(y))))

    def close(self):
        lib.vkt_config_destroy(byref(self.pointer))


def _fields(cls, struct, **more):
    return cls(**{n: _text(getattr(struct, n)) for n in cls._fields if n not in more}, **more)


def _run(config, desc, callbacks):
    """vkt_train in a thread of its own, so that Ctrl-C and callbacks stay in this one. Gives the
    status, the error and the result."""
    events, result, outcome = queue.SimpleQueue(), L.TrainResult(), []
    stop = c_bool(False)  # this run alone
    desc.stop = ctypes.pointer(stop)

    def on_progress(_user, p):
        events.put(_fields(Progress, p.contents))

    if callbacks:
        desc.on_progress = L.PROGRESS_FN(on_progress)

    def work():
        try:
            status = lib.vkt_train(config.pointer, byref(desc), byref(result))
            outcome.append((status, None if status == OK else error_of(status)))
        finally:
            events.put(None)

    worker = threading.Thread(target=work, name="vktrain")
    worker.start()
    stopped, pending = False, None
    while True:
        try:
            event = events.get(timeout=0.25)
            if event is None:
                break
            if pending is None and any([c(event) is True for c in callbacks]):
                stopped = stop.value = True
        except queue.Empty:
            pass
        except BaseException as e:  # Ctrl-C, or a callback's own: the run ends with a checkpoint
            stop.value = True
            if isinstance(e, KeyboardInterrupt) and not outcome:
                lib.vkt_train_stop()  # also ends a wait for a device that does not answer
            pending = pending or e
    worker.join()
    status, error = outcome[0]
    return status, error, result, stopped, pending


def train(recipe, data=None, *, settings=None, run=None, resume=False, device=None,
          callbacks=(), train_on_all=False):
    """Trains by a recipe and returns a Result.

    recipe: the name of a built-in recipe, the path of a YAML file, or a dict of the same structure.
    data: (X, y) in place of the recipe's own data. X [n, inputs] of numbers, or [n, H, W] or
        [n, H, W, C] of uint8; y [n] of integers are classes; of floats, numbers to predict, with
        data.task "regress". Arrays of uint8, int64, float32 and float64 are not copied.
    settings: a dict from option names to values, as {"optim.lr": 0.01}: what --set does.
    run: the run folder; default runs/NAME-DATE.
    resume: go on with the last checkpoint of `run`.
    device: an index, "cpu", "gpu", part of a name, or a UUID.
    callbacks: functions of a Progress, called in this thread after each step and each evaluation.
        One that returns True stops the run, with a checkpoint; an exception does so, too, and is
        raised then.
    train_on_all: train on all examples where neither a validation nor a test fraction is set;
        checkpoints are then chosen by the training examples.

    Ctrl-C ends the step, saves a checkpoint and raises KeyboardInterrupt; resume=True goes on from
    there. Other errors are a VktrainError."""
    callbacks = [callbacks] if callable(callbacks) else list(callbacks or ())
    config = _Config(recipe, data, settings)
    try:
        desc = L.TrainDesc(run_dir=_path(run, "run"), resume=resume, gpu=_gpu(device),
                           train_on_all=train_on_all, command=b"python")
        status, error, result, stopped, pending = _run(config, desc, callbacks)
    finally:
        config.close()
    if pending is not None:
        raise pending
    if status == INTERRUPTED and stopped:
        return _fields(Result, result, stopped=True)
    if error is not None:
        raise error
    return _fields(Result, result, stopped=False)


def _numbers_if_possible(names):
    """Integers where they are written as such: "01" beside "1" is a name."""
    try:
        numbers = np.array([int(n) for n in names], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(names)
    return numbers if [str(n) for n in numbers] == list(names) else np.array(names)


class Model:
    """A trained model on a device; open it with Model.load. Several threads may use one: a lock has
    them take turns, as a device computes one thing at a time anyway.

    X is what the model was trained on: [n, inputs] of numbers, or pictures of uint8; where that was
    a table with names of columns, also a DataFrame, a list of dicts, or an array with named fields,
    whose columns are found by name, in any order.

    task: "classify", "regress", "multilabel" (any of the classes), "segment", "detect", "points" or "instances"; classes: what the columns of
    predict_proba stand for, or None; outputs: where some labels are numbers and some classes (data.classes), what the columns
    of predict are: (label, None) of a number, (label, class) of a class's probability; else None; input_shape: of one example."""

    def __init__(self, pointer):
        info = lib.vkt_predictor_get_info(pointer).contents
        self._pointer = pointer
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, lib.vkt_predictor_close, byref(pointer))
        self.task = _TASKS[info.task]
        self.input_shape = tuple(info.input_shape[:info.input_rank])
        self._n_outputs = info.n_outputs
        self.classes: Optional[np.ndarray] = None
        if info.class_names:
            self.classes = _numbers_if_possible(
                [_text(n) for n in info.class_names[:info.n_outputs]])
        zeros = (c_float * self._n_outputs)()
        of = lib.vkt_predictor_prediction(pointer, zeros).outputs
        self.outputs: Optional[list] = [(_text(o.label), _text(o.value) if o.value else None)
                                        for o in of[:self._n_outputs]] if of else None
        named = c_bool(False)
        lib.vkt_predictor_get_column(pointer, 0, byref(L.DataColumn()), byref(named))
        self._named = named.value

    @classmethod
    def load(cls, run, device=None):
        """run: a run folder (its best checkpoint) or a checkpoint."""
        if run is None:
            raise TypeError("run is None, not a path")
        pointer = c_void_p()
        check(lib.vkt_predictor_open(byref(_gpu(device)), _path(run, "run"), byref(pointer)))
        return cls(pointer)

    def _alive(self):
        """For who holds the lock."""
        if not self._finalizer.alive:
            raise ValueError("the model is closed")

    def _outputs(self, X):
        if is_table(X):
            if self._named:
                return self._outputs_of_rows(*as_lines(X))
            if not is_frame(X):
                raise ValueError("X has names of columns, but the model was trained on columns "
                                 "without names: give an array of numbers")
        x = as_array(X, "X")
        out, pointer = self._room(x.shape[0])
        run = lib.vkt_predictor_run_doubles if self.task == "regress" else lib.vkt_predictor_run
        with self._lock:
            self._alive()
            check(run(self._pointer, byref(_array(x)), pointer))
        return out

    def _room(self, n):
        """Outputs of n examples, and their address: predicted numbers in double, since a float32 has
        too few digits for those far from zero."""
        out = np.empty((n, self._n_outputs), np.float64 if self.task == "regress" else np.float32)
        return out, out.ctypes.data_as(POINTER(c_double if self.task == "regress" else c_float))

    def _outputs_of_rows(self, lines, n):
        (out, pointer), rows = self._room(n), L.Inputs()
        run = (lib.vkt_predictor_run_inputs_doubles if self.task == "regress"
               else lib.vkt_predictor_run_inputs)
        with self._lock:
            self._alive()
            check(lib.vkt_predictor_read_rows(self._pointer, lines, len(lines), b"X", byref(rows)))
            try:
                if rows.n != n:
                    raise ValueError(f"{n - rows.n} of X's {n} rows have a missing value, which "
                                     f"training left out (data.missing: drop): leave them out "
                                     f"here, too")
                check(run(self._pointer, byref(rows), 1, pointer))
            finally:
                lib.vkt_free(rows.data)
        return out

    def _said(self, rows):
        """The thresholds (of several labels), and the class that each row of outputs is read as."""
        with self._lock:
            self._alive()
            said = [lib.vkt_predictor_prediction(self._pointer, r.ctypes.data_as(POINTER(c_float)))
                    for r in rows]
            limits = said[0].threshold
            return (np.ctypeslib.as_array(limits, (self._n_outputs,)).copy() if limits else None,
                    np.array([s.predicted for s in said], np.intp))

    def predict(self, X):
        """The class of each example: [n]; of several labels which of them it has: bool [n, labels];
        or the predicted number: [n], of several numbers [n, numbers], and of numbers and classes [n, outputs], see outputs. As `vktrain predict` says it:
        by the thresholds that training has chosen (calibration.threshold)."""
        out = self._outputs(X)
        if self.task == "multilabel":
            return out >= self._said(out[:1])[0]
        if self.task == "regress":
            return out[:, 0] if self._n_outputs == 1 else out
        return self.classes[self._chosen(out)]

    def _chosen(self, out):
        """Numbers of the classes that probabilities [n, classes] are read as."""
        if self._n_outputs == 2:  # which may have a threshold other than one half
            return self._said(out)[1]
        return out.argmax(axis=1)

    def find(self, picture):
        """What a detector finds on a picture, a file's path or its bytes: a list of dicts with the
        `class`, the `score` and the `box` (left, top, right, bottom, in pixels of that picture), best
        first; of a model of instances the box around each, in the order of their numbers; of a model of points each `point` by name, its `score`, `x` and `y`."""
        if isinstance(picture, (bytes, bytearray, memoryview)):
            data, name = bytes(picture), b"picture"
        else:
            with open(picture, "rb") as f:
                data, name = f.read(), os.fsencode(picture)
        one, found, points = L.Inputs(), L.FoundBoxes(), (L.FoundPoint * self._n_outputs)()
        with self._lock:
            self._alive()
            check(lib.vkt_predictor_read_picture(self._pointer, data, len(data), name, byref(one)))
            try:
                if self.task == "points":
                    check(lib.vkt_predictor_locate(self._pointer, byref(one), 1, points))
                    return [{"point": name.item(), "score": p.score, "x": p.x, "y": p.y}
                            for name, p in zip(self.classes, points)]
                check(lib.vkt_predictor_find(self._pointer, byref(one), 1, byref(found)))
                return [{"class": self.classes[b.label].item(), "score": b.score,
                         "box": tuple(b.box)} for b in found.box[:found.n]]
            finally:
                lib.vkt_free(one.data)
                lib.vkt_free(found.box)

    def predict_proba(self, X):
        """The probability of each class, or of each label: float32 [n, classes]."""
        if self.classes is None:
            raise ValueError("the model predicts numbers and has no classes")
        return self._outputs(X)

    def close(self):
        """Gives the device's memory back, when no thread uses it; also done when the model is no
        longer referred to."""
        with self._lock:
            self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
