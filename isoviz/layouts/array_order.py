"""The order in which an array stores its axes, by name, from its shape and strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz import checks
from isoviz.errors import ArrayError, EmptyArrayError, LayoutError
from isoviz.layouts.given_arrays import by_stride, form_of, memory_order, no_elements, require_bytes
from isoviz.layouts.spaces import FieldSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_NAMES = ("x", "y", "z", "w", "v", "u")


class ArrayOrder(NamedTuple):
    """The axes of an array by name, fastest first, and its fields.

    `sizes` is what each axis has room for. It is more than the length of the axis where slower axes begin behind a gap (a pitch).
    """

    dims: tuple[str, ...]
    sizes: dict[str, int]
    fields: FieldSpace


def default_dims(count: int) -> tuple[str, ...]:
    """Names for the axes of an array in order: …, `z`, `y`, `x`; the last axis is x."""
    names = _NAMES if count <= len(_NAMES) else tuple(f"d{i}" for i in range(count))
    return tuple(names[:count][::-1])


def dense_order(array: Any, dims: Sequence[str] | None = None) -> ArrayOrder:
    """The order of a dense array. `dims` names its axes in order (default: …, `y`, `x`; the last axis is x).

    The array is in host memory or on a GPU (`isoviz.layouts.given_arrays`). No element is read.

    Raises:
        ArrayError: it is no array that isoviz takes, or is not dense.
        LayoutError: the names do not fit its axes.
    """
    form = form_of(array, "array")
    order = memory_order(form, "array")
    names = _names(form.shape, dims)
    sizes = dict(zip(names, form.shape, strict=True))
    return ArrayOrder(tuple(names[axis] for axis in order), sizes, _fields(form.dtype))


def array_order(array: Any, dims: Sequence[str] | None = None) -> ArrayOrder:
    """As `dense_order`, also for an array whose rows have gaps.

    Raises:
        ArrayError: as `dense_order`; or no layout has its strides (reversed or repeated axes, or a pitch that is no multiple of
            the faster stride). EmptyArrayError: it has no elements.
        LayoutError: the names do not fit its axes.
    """
    form = form_of(array, "array")
    require_bytes(form.dtype, "array")
    dtype, shape, strides = form
    names = _names(shape, dims)
    if 0 in shape:
        raise EmptyArrayError(no_elements("array", shape))
    sizes = dict.fromkeys(names, 1)
    reach = unit = dtype.itemsize  # bytes that all faster axes use, and the stride of the last of them
    last: str | None = None
    order = by_stride(form)
    for axis in order:
        if shape[axis] == 1:
            continue
        stride = strides[axis]
        where = f"array of shape {shape} and strides {strides}: axis {axis} ({names[axis]!r}) has stride {stride}"
        if stride < reach or stride % unit:
            raise ArrayError(f"{where}; expected a multiple of {unit}, at least the {reach} bytes that it repeats")
        if last is not None:
            sizes[last] = stride // unit  # with a pitch, the faster axis is longer than the array's part of it
        elif stride != dtype.itemsize:
            raise ArrayError(f"{where} for elements of {dtype.itemsize} bytes; describe the gap as a field of its own")
        sizes[names[axis]] = shape[axis]
        reach, unit, last = stride * shape[axis], stride, names[axis]
    return ArrayOrder(tuple(names[axis] for axis in order), sizes, _fields(dtype))


def _names(shape: tuple[int, ...], dims: Sequence[str] | None) -> tuple[str, ...]:
    if dims is not None:
        dims = checks.names("view", dims, "names of dimensions")
    names = tuple(dims) if dims is not None else default_dims(len(shape))
    if len(names) != len(shape):
        raise LayoutError(f"array of {len(shape)} axes: {len(names)} names given ({', '.join(names)})")
    return names


def _fields(dtype: np.dtype[Any]) -> FieldSpace:
    return FieldSpace(value=dtype) if dtype.names is None else FieldSpace.of(dtype)
