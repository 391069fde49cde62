"""The shared library: where it is, its structs and functions as ctypes sees them, its errors.

A struct here has the fields of the C struct of that name, in its order; the test checks their
offsets against the headers.
"""
import ctypes
import ctypes.util
import logging
import os
import sys
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float,
                    c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)

from . import _graph_library
from ._version import __version__

_log = logging.getLogger("vktrain")


class VktrainError(RuntimeError):
    """What the library could not do. ``str(e)`` is its line: what, where, and what to do;
    ``e.status`` is the name of its status, such as "bad argument"."""

    def __init__(self, line, status="failed"):
        super().__init__(line)
        self.status = status


class RecipeError(VktrainError, ValueError):
    """A value of the recipe, or an argument, is wrong."""


class DataError(VktrainError, ValueError):
    """Data or a file is not what it must be."""


class UnsupportedError(VktrainError):
    """The device or the build lacks what was asked for."""


class OutOfMemoryError(VktrainError, MemoryError):
    """Memory of the host or the device ran out."""


class NoDeviceError(VktrainError):
    """There is no usable Vulkan device, or none that matches."""


class DeviceError(VktrainError):
    """A Vulkan call failed, or the device was lost."""


class FileError(VktrainError, OSError):
    """A file can't be opened, read or written."""

    def __str__(self):
        return str(self.args[0])


class NumericError(VktrainError, ArithmeticError):
    """NaN or infinity where the policy says stop."""


OK, INTERRUPTED = 0, 12
_ERRORS = {1: RecipeError, 2: RecipeError, 3: UnsupportedError, 4: OutOfMemoryError,
           5: OutOfMemoryError, 6: NoDeviceError, 7: DeviceError, 8: FileError, 9: DataError,
           10: NumericError}


class GpuDesc(Structure):
    _c_name_ = "vkt_gpu_desc"
    _fields_ = [("device", c_char_p), ("cap", c_char_p), ("validate", c_int),
                ("no_cache", c_bool), ("no_tune", c_bool), ("tune_seconds", c_double),
                ("statistics", c_bool), ("serial", c_bool),
                ("deterministic", c_int), ("math", c_int), ("cache_dir", c_char_p),
                ("profile", c_char_p)]


class Caps(Structure):
    _c_name_ = "vkt_caps"
    _fields_ = [("name", c_char * 256), ("driver", c_char * 256), ("driver_info", c_char * 256),
                ("uuid", c_uint8 * 16), ("driver_uuid", c_uint8 * 16), ("cache_uuid", c_uint8 * 16),
                ("vendor_id", c_uint32), ("device_id", c_uint32), ("driver_id", c_uint32),
                ("driver_version", c_uint32), ("api_version", c_uint32), ("type", c_int),
                ("klass", c_int), ("subgroup", c_uint32), ("subgroup_min", c_uint32),
                ("subgroup_max", c_uint32), ("workgroup_subgroups", c_uint32),
                ("subgroup_arith", c_bool), ("subgroup_control", c_bool), ("workgroup", c_uint32),
                ("groups_x", c_uint32), ("shared_bytes", c_uint32), ("push_bytes", c_uint32),
                ("cores", c_uint32),
                ("max_alloc_bytes", c_uint64), ("max_buffer_bytes", c_uint64),
                ("heap_bytes", c_uint64), ("budget_bytes", c_uint64), ("memory_budget", c_bool),
                ("unified", c_bool), ("fp16", c_bool), ("int64", c_bool), ("storage8", c_bool),
                ("bf16", c_bool), ("coopmat", c_bool), ("coopmat_f16", c_uint32 * 3),
                ("coopmat_bf16", c_uint32 * 3), ("coopmat2", c_bool),
                ("coopmat2_f16", c_uint32 * 4), ("coopmat2_bf16", c_uint32 * 4),
                ("coopmat2_most", c_uint32), ("plain_attention", c_bool),
                ("memory_model", c_bool), ("math", c_int),
                ("exact_split", c_bool), ("hands_over", c_bool), ("timestamp_ns", c_double),
                ("timestamp_bits", c_uint32), ("submit_ms", c_uint32),
                ("compute_queue_family", c_uint32), ("kernel", c_char * 40),
                ("attention", c_uint32)]


class GpuInfo(Structure):
    _c_name_ = "vkt_gpu_info"
    _fields_ = [("caps", Caps), ("usable", c_bool), ("why_not", c_char * 128),
                ("duplicate", c_bool), ("index", c_uint32)]


class Array(Structure):
    _c_name_ = "vkt_array"
    _fields_ = [("type", c_int), ("rank", c_uint32), ("shape", c_uint32 * 4), ("data", c_void_p)]


class Arrays(Structure):
    _c_name_ = "vkt_arrays"
    _fields_ = [("x", Array), ("y", Array)]


class Progress(Structure):
    _c_name_ = "vkt_progress"
    _fields_ = [("step", c_uint64), ("total", c_uint64), ("loss", c_double),
                ("accuracy", c_double), ("grad_norm", c_double), ("clip", c_double),
                ("lr", c_double), ("eta_s", c_double), ("items_per_s", c_double),
                ("input_wait", c_double), ("evaluated", c_bool), ("eval_loss", c_double),
                ("eval_accuracy", c_double), ("eval_mae", c_double), ("metric", c_char_p),
                ("eval_metric", c_double), ("eval_split", c_char_p), ("best", c_bool)]


PROGRESS_FN = CFUNCTYPE(None, c_void_p, POINTER(Progress))
LOG_FN = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_char_p)


class TrainDesc(Structure):
    _c_name_ = "vkt_train_desc"
    _fields_ = [("run_dir", c_char_p), ("resume", c_bool), ("gpu", GpuDesc),
                ("no_rewrite", c_bool), ("explain", c_bool), ("train_on_all", c_bool),
                ("no_checkpoints", c_bool), ("explain_text", c_void_p), ("tune", c_void_p),
                ("on_progress", PROGRESS_FN), ("user", c_void_p), ("stop", POINTER(c_bool)),
                ("command", c_char_p),
                ("comm", c_void_p), ("no_baseline", c_bool), ("no_test", c_bool), ("new_note", c_bool)]


class TrainResult(Structure):
    _c_name_ = "vkt_train_result"
    _fields_ = [("run_dir", c_char * 1024), ("best_checkpoint", c_char * 1088),
                ("step", c_uint64), ("best_step", c_uint64), ("metric", c_char * 32),
                ("best_metric", c_double), ("valid_loss", c_double), ("valid_accuracy", c_double),
                ("valid_mae", c_double), ("test_loss", c_double), ("test_accuracy", c_double),
                ("test_mae", c_double), ("valid_rmse", c_double), ("valid_r2", c_double),
                ("test_rmse", c_double), ("test_r2", c_double), ("valid_metric", c_double),
                ("test_metric", c_double), ("valid_perplexity", c_double),
                ("valid_bits_per_byte", c_double), ("temperature", c_double),
                ("ece", c_double * 2), ("test_ece", c_double * 2), ("sample_gap", c_double),
                ("norm_p50", c_double), ("norm_p90", c_double), ("norm_p99", c_double),
                ("n_clipped", c_uint64), ("n_skipped", c_uint64), ("n_overflows", c_uint64),
                ("n_steps", c_uint64), ("seconds", c_double), ("items_per_s", c_double),
                ("step_ms", c_double), ("start_s", c_double), ("host_us", c_double),
                ("input_wait", c_double), ("device_bytes", c_uint64), ("planned_bytes", c_uint64),
                ("n_allocs_first", c_uint64), ("n_allocs_last", c_uint64),
                ("baseline", c_char * 32), ("baseline_verdict", c_char * 8), ("baseline_split", c_char * 8),
                ("baseline_examples", c_uint64), ("baseline_metric", c_double),
                ("baseline_net", c_double), ("baseline_error", c_double),
                ("baseline_constant", c_double), ("baseline_accuracy", c_double),
                ("baseline_net_accuracy", c_double), ("baseline_test", c_double),
                ("baseline_test_net", c_double), ("baseline_test_error", c_double),
                ("baseline_test_constant", c_double), ("baseline_test_accuracy", c_double),
                ("baseline_test_net_accuracy", c_double), ("baseline_seconds", c_double),
                ("n_few_test", c_uint64), ("test_error", c_double)]


class PredictorInfo(Structure):
    _c_name_ = "vkt_predictor_info"
    _fields_ = [("kind", c_int), ("task", c_int), ("input_rank", c_uint32),
                ("input_shape", c_uint32 * 4), ("n_inputs", c_uint32), ("n_outputs", c_uint32),
                ("class_names", POINTER(c_char_p)), ("limbs", c_void_p), ("n_limbs", c_uint32)]


class OutputOf(Structure):
    _c_name_ = "vkt_output_of"
    _fields_ = [("label", c_char_p), ("value", c_char_p), ("n_classes", c_uint32)]


class Prediction(Structure):
    _c_name_ = "vkt_prediction"
    _fields_ = [("input", c_char_p), ("index", c_uint64), ("alone", c_bool), ("n", c_uint32),
                ("value", POINTER(c_float)), ("class_names", POINTER(c_char_p)),
                ("target_names", POINTER(c_char_p)), ("threshold", POINTER(c_float)),
                ("predicted", c_uint32), ("number", POINTER(c_double)),
                ("n_boxes", c_uint32), ("boxes", c_void_p),
                ("n_points", c_uint32), ("points", c_void_p), ("least_score", c_double), ("limbs", c_void_p), ("n_limbs", c_uint32),
                ("outputs", POINTER(OutputOf))]


class Inputs(Structure):
    _c_name_ = "vkt_inputs"
    _fields_ = [("data", c_void_p), ("n", c_uint64), ("width", c_uint32), ("height", c_uint32)]


class FoundBox(Structure):
    _c_name_ = "vkt_found_box"
    _fields_ = [("label", c_uint32), ("score", c_float), ("box", c_double * 4)]


class FoundBoxes(Structure):
    _c_name_ = "vkt_found_boxes"
    _fields_ = [("box", POINTER(FoundBox)), ("n", c_uint32)]


class FoundPoint(Structure):
    _c_name_ = "vkt_found_point"
    _fields_ = [("x", c_double), ("y", c_double), ("score", c_float)]


class DataColumn(Structure):
    _c_name_ = "vkt_data_column"
    _fields_ = [("name", c_char_p), ("n_values", c_uint32), ("values", POINTER(c_char_p)),
                ("date", c_bool), ("sentence", c_bool), ("usual", c_double)]


STRUCTS = [GpuDesc, Caps, GpuInfo, Array, Arrays, Progress, TrainDesc, TrainResult, PredictorInfo,
           Prediction, Inputs, FoundBox, FoundBoxes, FoundPoint, DataColumn] + _graph_library.STRUCTS

# name: (what it returns, what it takes)
_FUNCTIONS = {
    "vkt_version": (c_char_p, []),
    "vkt_free": (None, [c_void_p]),
    "vkt_status_name": (c_char_p, [c_int]),
    "vkt_last_error": (c_char_p, []),
    "vkt_log_set": (None, [LOG_FN, c_void_p, c_int]),
    "vkt_gpu_list": (c_int, [POINTER(POINTER(GpuInfo)), POINTER(c_size_t)]),
    "vkt_gpu_create": (c_int, [POINTER(GpuDesc), POINTER(c_void_p)]),
    "vkt_gpu_caps": (POINTER(Caps), [c_void_p]),
    "vkt_gpu_type_name": (c_char_p, [c_int]),
    "vkt_recipe": (c_bool, [c_size_t, POINTER(c_char_p), POINTER(c_char_p), POINTER(c_char_p)]),
    "vkt_config_create": (c_int, [POINTER(c_void_p)]),
    "vkt_config_destroy": (None, [POINTER(c_void_p)]),
    "vkt_config_load": (c_int, [c_void_p, c_char_p]),
    "vkt_config_parse": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p]),
    "vkt_config_set": (c_int, [c_void_p, c_char_p]),
    "vkt_config_set_arrays": (None, [c_void_p, POINTER(Arrays)]),
    "vkt_config_finish": (c_int, [c_void_p]),
    "vkt_config_yaml": (c_void_p, [c_void_p]),
    "vkt_train": (c_int, [c_void_p, POINTER(TrainDesc), POINTER(TrainResult)]),
    "vkt_train_stop": (None, []),
    "vkt_predictor_open": (c_int, [POINTER(GpuDesc), c_char_p, POINTER(c_void_p)]),
    "vkt_predictor_close": (None, [POINTER(c_void_p)]),
    "vkt_predictor_get_info": (POINTER(PredictorInfo), [c_void_p]),
    "vkt_predictor_run": (c_int, [c_void_p, POINTER(Array), POINTER(c_float)]),
    "vkt_predictor_run_doubles": (c_int, [c_void_p, POINTER(Array), POINTER(c_double)]),
    "vkt_predictor_prediction": (Prediction, [c_void_p, POINTER(c_float)]),
    "vkt_predictor_get_column": (c_bool, [c_void_p, c_uint32, POINTER(DataColumn),
                                          POINTER(c_bool)]),
    "vkt_predictor_read_rows": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p, POINTER(Inputs)]),
    "vkt_predictor_read_picture": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p,
                                           POINTER(Inputs)]),
    "vkt_predictor_locate": (c_int, [c_void_p, POINTER(Inputs), c_size_t, POINTER(FoundPoint)]),
    "vkt_predictor_find": (c_int, [c_void_p, POINTER(Inputs), c_size_t, POINTER(FoundBoxes)]),
    "vkt_predictor_run_inputs": (c_int, [c_void_p, POINTER(Inputs), c_size_t, POINTER(c_float)]),
    "vkt_predictor_run_inputs_doubles": (c_int, [c_void_p, POINTER(Inputs), c_size_t,
                                                 POINTER(c_double)]),
    **_graph_library.FUNCTIONS,
}


def _find():
    """The library's path: VKTRAIN_LIBRARY, else the one in this package, else the system's."""
    named = os.environ.get("VKTRAIN_LIBRARY")
    if named:
        return named
    here = os.path.dirname(os.path.abspath(__file__))
    abi = ".".join(__version__.split(".")[:2])
    for name in ("vktrain.dll", "libvktrain.dylib", "libvktrain.so"):
        path = os.path.join(here, name)
        if os.path.exists(path):
            return path
    if sys.platform.startswith("linux"):
        return f"libvktrain.so.{abi}"
    return ctypes.util.find_library("vktrain") or "libvktrain"


def _load():
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"vktrain's shared library can't be loaded: {e}; a release's wheel "
                          f"has it; else build it (cmake --preset release -DVKT_SHARED_TOO=ON && "
                          f"cmake --build build), and set VKTRAIN_LIBRARY to the path of "
                          f"build/shared/libvktrain.so") from None
    for name, (result, arguments) in _FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"'{path}' has no function {name}: this package needs version "
                              f"{__version__} of the library") from None
        function.restype, function.argtypes = result, arguments
    version = library.vkt_version().decode()
    if version.split(".")[:2] != __version__.split(".")[:2]:  # 0.1 and 0.2 do not mix
        raise ImportError(f"'{path}' is version {version} of the library; this package needs "
                          f"{__version__}")
    return path, library


library_path, lib = _load()


@LOG_FN
def _on_log(_user, level, area, line):
    """An error is raised, so its line is not shown a second time."""
    level = (logging.DEBUG, logging.WARNING, logging.INFO, logging.DEBUG)[level]
    if _log.isEnabledFor(level):
        _log.log(level, "%s: %s", area.decode(), line.decode(errors="replace"))


lib.vkt_log_set(_on_log, None, 2)  # information, and above


def check(status):
    """Raises what the calling thread's last call failed with."""
    if status != OK:
        raise error_of(status)


def error_of(status):
    name = lib.vkt_status_name(status).decode()
    line = lib.vkt_last_error().decode(errors="replace") or name
    return _ERRORS.get(status, VktrainError)(line, name)
