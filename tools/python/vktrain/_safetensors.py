"""safetensors files: a header in JSON, then the numbers."""
import json
import os

import numpy as np

from ._library import DataError

_NAMES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U32": "<u4",
          "I16": "<i2", "I8": "i1", "U8": "u1", "BOOL": "?"}
_CODES = {np.dtype(v): k for k, v in _NAMES.items()}
_MOST_HEADER = 100_000_000


def save(path, arrays):
    """A dict of arrays as a safetensors file: written beside it, then renamed."""
    header, data, at = {}, [], 0
    for name, a in arrays.items():
        shape = list(np.shape(a))
        a = np.ascontiguousarray(a)
        a = a.astype(a.dtype.newbyteorder("<"))
        if a.dtype not in _CODES:
            raise TypeError(f"{name} has dtype {a.dtype}, which safetensors files do not have")
        header[name] = {"dtype": _CODES[a.dtype], "shape": shape,
                        "data_offsets": [at, at + a.nbytes]}
        data.append(a)
        at += a.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    new = f"{os.fspath(path)}.new"
    with open(new, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for a in data:
            f.write(a.tobytes())
        f.flush()
        os.fsync(f.fileno())
    os.replace(new, path)


def load(path):
    """The arrays of a safetensors file by name; bfloat16 becomes float32."""
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        if size < 8 or n > min(size - 8, _MOST_HEADER):
            raise DataError(f"'{path}' is no safetensors file: its header of {n} bytes does not fit "
                            f"its size, {size}", "bad format")
        try:
            header = json.loads(f.read(n))
            rows = {name: (row["dtype"], [int(d) for d in row["shape"]],
                           [int(o) for o in row["data_offsets"]])
                    for name, row in header.items() if name != "__metadata__"}
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise DataError(f"'{path}' is no safetensors file: its header is wrong ({e})",
                            "bad format") from None
        out = {}
        for name, (kind, shape, (a, b)) in rows.items():
            code = "<u2" if kind == "BF16" else _NAMES.get(kind)
            if code is None:
                raise DataError(f"'{path}': '{name}' is of type {kind}, which is not read",
                                "bad format")
            want = np.dtype(code).itemsize
            for d in shape:
                want *= d
            if not 0 <= a <= b <= size - 8 - n or b - a != want:
                raise DataError(f"'{path}': '{name}' {shape} is at bytes {a} to {b}, which is not "
                                f"its size, or not in the file", "bad format")
            f.seek(8 + n + a)
            v = np.frombuffer(f.read(b - a), code)
            if kind == "BF16":
                v = (v.astype(np.uint32) << 16).view(np.float32)
            out[name] = v.reshape(shape).copy()
    return out
