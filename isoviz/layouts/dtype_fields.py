"""The fields of a NumPy dtype, with the gaps between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from isoviz.errors import SpaceError

_GAP = "(gap at "


def gap_name(at: int) -> str:
    """The name of the field that stands for the gap at a byte of an entry."""
    return f"{_GAP}{at})"


def is_gap(name: str) -> bool:
    """Whether a field stands for a gap: padding, which is neither read nor written."""
    return name.startswith(_GAP)


def opaque(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype as one unit: a sub-array or a struct becomes plain bytes."""
    return np.dtype(f"V{dtype.itemsize}") if dtype.subdtype is not None or dtype.names is not None else dtype


def stored_fields(dtype: np.dtype[Any]) -> tuple[dict[str, np.dtype[Any]], dict[str, np.dtype[Any]]]:
    """All fields of a struct as they are stored, gaps among them, and the dtypes of the real ones.

    Fields of nested structs are named by their paths (`pos.x`). The stored dtype of a sub-array is plain bytes.

    Raises:
        SpaceError: there is no field, a field has no bytes, or fields overlap.
    """
    stored: dict[str, np.dtype[Any]] = {}
    real: dict[str, np.dtype[Any]] = {}
    at = 0
    for name, start, found in sorted(_leaves(dtype, "", 0), key=lambda leaf: leaf[1]):
        if found.itemsize < 1:
            raise SpaceError(f"field {name!r} ({found}) has no bytes")
        if name in real or not name:
            raise SpaceError(f"two fields have the same path {name!r}")
        if is_gap(name):
            raise SpaceError("a field has a name that is reserved for gaps, '(gap at …)'; rename it")
        if start < at:
            raise SpaceError(f"field {name!r} overlaps another field; expected fields without overlap")
        if start > at:
            stored[gap_name(at)] = np.dtype(f"V{start - at}")
        stored[name] = opaque(found)
        real[name] = found
        at = start + found.itemsize
    if not real:
        raise SpaceError(f"the dtype {dtype} has no fields")
    if at < dtype.itemsize:
        stored[gap_name(at)] = np.dtype(f"V{dtype.itemsize - at}")
    return stored, real


def _leaves(dtype: np.dtype[Any], prefix: str, base: int) -> Iterator[tuple[str, int, np.dtype[Any]]]:
    assert dtype.names is not None and dtype.fields is not None
    for name in dtype.names:
        found, start = dtype.fields[name][:2]
        if found.names is not None:
            yield from _leaves(found, f"{prefix}{name}.", base + start)
        else:
            yield prefix + name, base + start, found
