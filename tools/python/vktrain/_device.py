"""The device that tensors are on: one for the process, opened when something is first computed.

Everything made on it is closed before it is, at the latest when Python ends. One thread at a time
is in the library: `lock`.
"""
import atexit
import ctypes
import threading
import weakref
from ctypes import POINTER, byref, c_void_p

import numpy as np

from . import _library as L
from ._graph_library import F32, U32, Buffer, BufferDesc
from ._library import VktrainError, check, lib
from ._train import _gpu

lock = threading.RLock()
DEVICE, UPLOAD, READBACK = range(3)
ALIGN = 256  # bytes
DTYPES = {F32: np.dtype(np.float32), U32: np.dtype(np.uint32)}

_handle = None
_wanted = None
_open = weakref.WeakSet()  # what has to be closed before the device
_unified = True
closed = False
epoch = 0  # rises whenever a parameter moves to another place: what was recorded is recorded again


def set_device(device):
    """Chooses the device that tensors are on, before the first one is computed.

    device: an index, "cpu", "gpu", part of a name, or a UUID; None: the best one."""
    global _wanted
    _gpu(device)
    with lock:
        if _handle is not None and device != _wanted:
            raise VktrainError("the device is in use: call vktrain.set_device before the first "
                               "tensor is computed")
        _wanted = device


def handle():
    """The open device."""
    global _handle, _unified
    if closed:
        raise VktrainError("the device was closed, as Python is ending")
    if _handle is None:
        out = c_void_p()
        check(lib.vkt_gpu_create(byref(_gpu(_wanted)), byref(out)))
        _handle = out
        _unified = bool(lib.vkt_gpu_caps(out).contents.unified)
        atexit.register(_close_all)
    return _handle


def unified():
    handle()
    return _unified


def moved():
    global epoch
    epoch += 1


def _close_all():
    global _handle, closed
    with lock:
        closed = True
        lib.vkt_gpu_wait(_handle)
        for rank in (0, 1, 2):  # graphs, then optimizers, then buffers
            for thing in list(_open):
                if thing.rank == rank:
                    thing.close()
        lib.vkt_gpu_destroy(byref(_handle))
        _handle = None


class Owned:
    """Something of the library's that is destroyed once, before the device."""
    rank = 2

    def own(self, handle):
        self.handle = handle
        _open.add(self)

    def destroy(self):
        raise NotImplementedError

    def __reduce_ex__(self, protocol):
        raise TypeError(f"{type(self).__name__} is on the device and can't be copied or pickled: "
                        f"make another one, and give it the state_dict")

    def close(self):
        with lock:
            if getattr(self, "handle", None) is not None:
                if _handle is not None:
                    self.destroy()
                self.handle = None

    def __del__(self):
        try:
            self.close()
        except Exception:  # Python is ending
            pass


class Memory(Owned):
    """A buffer on the device; mem: DEVICE, UPLOAD or READBACK, of which the last two are mapped."""

    def __init__(self, n_bytes, mem, label):
        self.bytes = max(int(n_bytes), 16)
        out = POINTER(Buffer)()
        check(lib.vkt_buffer_create(handle(), byref(BufferDesc(self.bytes, mem, label.encode())),
                                    byref(out)))
        self.own(out)
        self.host = out.contents.host

    def destroy(self):
        lib.vkt_gpu_wait(_handle)
        lib.vkt_buffer_destroy(_handle, byref(self.handle))

    def view(self, offset, shape, dtype):
        """Mapped memory as an array: only as long as the buffer is there."""
        n = int(np.prod(shape, dtype=np.int64))
        kind = (ctypes.c_uint8 * (n * dtype.itemsize)).from_address(self.host + offset)
        return np.frombuffer(kind, dtype, n).reshape(shape)

    def read(self, offset, shape, dtype):
        out = np.empty(shape, dtype)
        if out.nbytes:
            check(lib.vkt_gpu_wait(handle()))
            check(lib.vkt_buffer_read(handle(), self.handle, offset, out.ctypes.data, out.nbytes))
        return out

    def write(self, offset, array):
        a = np.ascontiguousarray(array)
        if a.nbytes:
            check(lib.vkt_gpu_wait(handle()))
            check(lib.vkt_buffer_write(handle(), self.handle, offset, a.ctypes.data, a.nbytes))


class Storage:
    """Where a parameter's or a buffer's numbers are: on the host until something is computed with
    them, then in a piece of device memory. clock: the moment of the last
    step that changed them, shared by all that an optimizer trains; touched: of the last copy_.
    owner: a weak reference to the optimizer that trains them."""
    __slots__ = ("shape", "dtype", "host", "memory", "offset", "clock", "touched", "owner", "name",
                 "__weakref__")

    def __init__(self, array, dtype, name):
        self.host = np.array(array, DTYPES[dtype], order="C")  # a copy
        self.shape, self.dtype = self.host.shape, dtype
        self.memory, self.offset, self.clock, self.name = None, 0, [0], name
        self.touched, self.owner = 0, None

    @property
    def changed(self):
        return max(self.clock[0], self.touched)

    @property
    def bytes(self):
        return 4 * int(np.prod(self.shape, dtype=np.int64))

    def place(self):
        """Its memory and offset on the device."""
        if self.memory is None:
            memory = Memory(self.bytes, DEVICE, self.name or "parameter")
            memory.write(0, self.host)
            self.memory, self.offset, self.host = memory, 0, None
        return self.memory, self.offset

    def move(self, memory, offset):
        """Its numbers to another place."""
        memory.write(offset, self.read())
        self.memory, self.offset, self.host = memory, offset, None
        moved()

    def read(self):
        if self.memory is None:
            return self.host.copy()
        return self.memory.read(self.offset, self.shape, DTYPES[self.dtype])

    def write(self, array):
        a = np.array(array, DTYPES[self.dtype], order="C")
        if a.shape != self.shape:
            raise ValueError(f"{self.name or 'the parameter'} has shape {self.shape}, not {a.shape}")
        if self.memory is None:
            self.host = a
        else:
            self.memory.write(self.offset, a)
