"""An array of the user in the explorer: its spaces, its layout, and its values where they are few."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from isoviz.backends.formats.npy import read_header
from isoviz.errors import EmptyArrayError, InternalError
from isoviz.layouts import FIELDS, Component, IndexSpace, Layout, Linearization
from isoviz.layouts.dtypes import is_gap
from isoviz.layouts.given_arrays import cuda_interface, default_dims, dense_order, host_array, is_host_array, no_elements

MOST_VALUES = 4096
"""Values that are sent to the browser at most. An array of more shows none: they would not fit into its cells."""


class ArrayValues(TypedDict):
    """Values as text: for each field those of all indices, in C order of the dimensions `dims` with the sizes `sizes`."""

    dims: list[str]
    sizes: list[int]
    fields: list[str]
    texts: list[list[str]]


@dataclass(frozen=True)
class ShownArray:
    """The order in which an array is stored, and its values; None where they are too many or lie on a GPU."""

    linear: Linearization
    values: ArrayValues | None


def is_array(given: object) -> bool:
    """Whether a value is an array, or the path of a NumPy file: a `pathlib.Path`, or text that ends in `.npy`."""
    if isinstance(given, str):
        return given.endswith(".npy")
    exported = ("__cuda_array_interface__", "__dlpack__")
    return isinstance(given, os.PathLike) or is_host_array(given) or any(hasattr(type(given), name) for name in exported)


def shown_array(given: Any) -> ShownArray:
    """What is shown of a NumPy array, an array on a GPU, one that DLPack hands over, or a NumPy file.

    Its last axis is x, the axis before it y, and so on.

    Raises:
        ArrayError: it is no array, has no elements, has a mask, or is not dense, as `Layout.of`. FileError: the file cannot be
            read, or is no NumPy file.
    """
    array = _mapped(given) if isinstance(given, str | os.PathLike) else given
    order = dense_order(array)
    if 0 in order.sizes.values():
        raise EmptyArrayError(no_elements("array", tuple(order.sizes.values())))
    layout = Layout((FIELDS, *map(Component, order.dims)))
    dims = default_dims(len(order.dims))
    linear = layout.on(IndexSpace.of({dim: order.sizes[dim] for dim in reversed(dims)}), order.fields)
    if linear.space.volume * len(order.fields) > MOST_VALUES or cuda_interface(array) is not None:
        return ShownArray(linear, None)
    held = host_array(array, "array")
    names = order.fields.names
    texts = [[_text(value) for value in _column(held, name)] for name in names]
    return ShownArray(linear, {"dims": list(dims), "sizes": list(held.shape), "fields": list(names), "texts": texts})


def _column(array: np.ndarray[Any, Any], field: str) -> Any:
    """The values of a field in C order. A gap has none."""
    if array.dtype.names is None:
        return array.reshape(-1)
    if is_gap(field):
        return [""] * array.size
    for name in array.dtype.names:
        if field == name:
            return array[name].reshape(array.size, -1) if array.dtype[name].subdtype else array[name].reshape(-1)
        if field.startswith(f"{name}.") and array.dtype[name].names is not None:
            return _column(array[name], field.removeprefix(f"{name}."))
    raise InternalError(f"array of {array.dtype}: no field {field!r}")


def _mapped(path: str | os.PathLike[str]) -> np.ndarray[Any, Any]:
    """The array of a NumPy file. Its values are read when they are used."""
    header = read_header(path if isinstance(path, str) else Path(path))
    if not math.prod(header.shape):
        return np.empty(header.shape, header.dtype)
    order: Literal["F", "C"] = "F" if header.fortran_order else "C"
    return np.memmap(path, header.dtype, mode="r", offset=header.data_offset, shape=header.shape, order=order)


def _text(value: Any) -> str:
    """A value for a cell: four significant digits of a number that is not whole."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float | complex):
        return f"{plain:.4g}"
    if isinstance(plain, bytes):
        return plain.decode("utf-8", "replace")
    return str(plain)
