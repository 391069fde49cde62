"""Tables as Python has them, as the lines of JSON that the library reads rows from."""
import json
import math
from collections.abc import Mapping, Sequence

import numpy as np


def is_frame(X):
    """A DataFrame, pandas' or one that is used as it: columns by name."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and not isinstance(X, Mapping)


def is_table(X):
    """Whether X has names of columns: a DataFrame, a list of dicts, an array with named fields."""
    if is_frame(X) or isinstance(X, Mapping):
        return True
    if isinstance(X, np.ndarray):
        return X.dtype.names is not None
    return isinstance(X, Sequence) and len(X) > 0 and isinstance(X[0], Mapping)


def _value(v, name):
    """A cell: a text, a number, or None where it is missing."""
    if isinstance(v, np.generic) and v.dtype.kind not in "mM":
        v = v.item()
    if v is None or isinstance(v, (str, int)):
        return v
    if isinstance(v, float):
        if math.isinf(v):
            raise ValueError(f"column '{name}' has an infinite number")
        return None if math.isnan(v) else v
    text = str(v)
    if text in ("NaT", "<NA>", "nan"):
        return None
    if hasattr(v, "isoformat") or isinstance(v, np.datetime64):  # a date or time
        return text
    raise TypeError(f"column '{name}' has a {type(v).__name__}; texts and numbers are needed")


def _columns(X):
    """[(name, values)] of a DataFrame or an array with named fields."""
    names = list(X.columns) if is_frame(X) else list(X.dtype.names)
    if len(set(map(str, names))) != len(names):
        raise ValueError("X has two columns of one name")
    if not is_frame(X) and X.ndim != 1:
        raise ValueError(f"X has named fields and {X.ndim} dimensions; one is needed")
    return [(str(n), list(X[n])) for n in names]


def as_lines(X):
    """(lines of JSON as bytes, their number)."""
    if isinstance(X, Mapping):
        raise TypeError("X is one dict; give a list of them, a dict for each example")
    if is_frame(X) or isinstance(X, np.ndarray):
        columns = _columns(X)
        names = [n for n, _ in columns]
        rows = ([_value(v, n) for n, v in zip(names, cells)]
                for cells in zip(*(values for _, values in columns)))
        rows = [dict(zip(names, row)) for row in rows]
    else:
        rows = []
        for i, row in enumerate(X):
            if not isinstance(row, Mapping):
                raise TypeError(f"X[{i}] is a {type(row).__name__}, not a dict like X[0]")
            rows.append({str(n): _value(v, n) for n, v in row.items()})
    if not rows:
        raise ValueError("X has no rows")
    return "".join(json.dumps(row) + "\n" for row in rows).encode(), len(rows)
