"""The layouts and views of NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import LayoutError
from isoviz.layouts.components import FIELDS, Component
from isoviz.layouts.geometry import View
from isoviz.layouts.layout import Layout
from isoviz.layouts.spaces import FieldSpace, IndexSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = ("x", "y", "z", "w", "v", "u")


def default_dims(count: int) -> tuple[str, ...]:
    """Names for the axes of an array in order: …, `z`, `y`, `x`; the last axis is x."""
    names = _NAMES if count <= len(_NAMES) else tuple(f"d{i}" for i in range(count))
    return tuple(names[:count][::-1])


def layout_of_array(array: np.ndarray[Any, Any], dims: Sequence[str] | None = None) -> Layout:
    """The layout of a NumPy array. `dims` names its axes in order (default: …, `y`, `x`; the last axis is x).

    Raises:
        LayoutError: no layout has these strides (gaps, reversed or repeated axes). `view_of_array` accepts rows with gaps.
    """
    view = view_of_array(array, dims)
    lin = view.linearization
    if lin.space.volume != array.size:
        raise LayoutError(
            f"array of shape {array.shape} and strides {array.strides}: rows with gaps; view_of_array describes them"
        )
    return lin.layout


def view_of_array(array: np.ndarray[Any, Any], dims: Sequence[str] | None = None) -> View:
    """The view of a NumPy array. An array whose rows have gaps (a pitch) is a box in a larger instance without gaps.

    `dims` names the axes in order (default: …, `y`, `x`). Offsets count from the array's first element.

    Raises:
        LayoutError: no layout has these strides (reversed or repeated axes, or a pitch that is no multiple of the faster stride).
    """
    expect("view", array, np.ndarray, "a NumPy array")
    if dims is not None:
        dims = checks.names("view", dims, "names of dimensions")
    names = tuple(dims) if dims is not None else default_dims(array.ndim)
    if len(names) != array.ndim:
        raise LayoutError(f"array of {array.ndim} axes: {len(names)} names given ({', '.join(names)})")
    if array.size == 0:
        raise LayoutError(f"array of shape {array.shape}: holds nothing, so it has no layout")
    order = sorted(range(array.ndim), key=lambda axis: (array.strides[axis], array.shape[axis] > 1, -axis))
    sizes = dict.fromkeys(names, 1)
    reach = unit = array.itemsize  # bytes that all faster axes use, and the stride of the last of them
    last: str | None = None
    for axis in order:
        if array.shape[axis] == 1:
            continue
        stride = array.strides[axis]
        where = f"array of shape {array.shape} and strides {array.strides}: axis {axis} ({names[axis]!r}) has stride {stride}"
        if stride < reach or stride % unit:
            raise LayoutError(f"{where}; expected a multiple of {unit}, at least the {reach} bytes that it repeats")
        if last is not None:
            sizes[last] = stride // unit  # with a pitch, the faster axis is longer than the array's part of it
        elif stride != array.itemsize:
            raise LayoutError(f"{where} for elements of {array.itemsize} bytes; describe the gap as a field of its own")
        sizes[names[axis]] = array.shape[axis]
        reach, unit, last = stride * array.shape[axis], stride, names[axis]
    fields = _fields(array.dtype)
    layout = Layout((FIELDS, *(Component(names[axis]) for axis in order)))
    return View(layout.on(IndexSpace.of(sizes), fields))


def _fields(dtype: np.dtype[Any]) -> FieldSpace:
    if dtype.names is None:
        return FieldSpace(value=dtype)
    formats = {name: dtype.fields[name][0] for name in dtype.names} if dtype.fields else {}
    fields = FieldSpace.of(formats)
    offsets = tuple(dtype.fields[name][1] for name in dtype.names) if dtype.fields else ()
    if offsets != fields.starts or fields.nbytes != dtype.itemsize:
        raise LayoutError(f"array of {dtype}: its fields are not packed; describe the gaps as fields of their own")
    return fields
