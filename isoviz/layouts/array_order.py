"""The order in which an array stores its axes, from its shape and strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz import checks
from isoviz.errors import LayoutError, show
from isoviz.layouts.spaces import FieldSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMES = ("x", "y", "z", "w", "v", "u")


class ArrayOrder(NamedTuple):
    """The axes of an array by name, fastest first, and its fields.

    `sizes` is what each axis has room for. It is more than the length of the axis where slower axes begin behind a gap (a pitch);
    `has_gaps` then is True.
    """

    dims: tuple[str, ...]
    sizes: dict[str, int]
    fields: FieldSpace
    has_gaps: bool


def default_dims(count: int) -> tuple[str, ...]:
    """Names for the axes of an array in order: …, `z`, `y`, `x`; the last axis is x."""
    names = _NAMES if count <= len(_NAMES) else tuple(f"d{i}" for i in range(count))
    return tuple(names[:count][::-1])


def array_order(array: Any, dims: Sequence[str] | None = None) -> ArrayOrder:
    """The order of an array. `dims` names its axes in order (default: …, `y`, `x`; the last axis is x).

    The array is a NumPy array, an array on a GPU with `__cuda_array_interface__` (CuPy, PyTorch, Numba), or any other array that
    NumPy reads through DLPack. No element is read.

    Raises:
        LayoutError: it is no such array, or no layout has these strides (reversed or repeated axes, or a pitch that is no
            multiple of the faster stride).
    """
    dtype, shape, strides = _described(array)
    if dims is not None:
        dims = checks.names("view", dims, "names of dimensions")
    names = tuple(dims) if dims is not None else default_dims(len(shape))
    if len(names) != len(shape):
        raise LayoutError(f"array of {len(shape)} axes: {len(names)} names given ({', '.join(names)})")
    if 0 in shape:
        raise LayoutError(f"array of shape {shape}: holds nothing, so it has no layout")
    order = sorted(range(len(shape)), key=lambda axis: (strides[axis], shape[axis] > 1, -axis))
    sizes = dict.fromkeys(names, 1)
    reach = unit = dtype.itemsize  # bytes that all faster axes use, and the stride of the last of them
    last: str | None = None
    for axis in order:
        if shape[axis] == 1:
            continue
        stride = strides[axis]
        where = f"array of shape {shape} and strides {strides}: axis {axis} ({names[axis]!r}) has stride {stride}"
        if stride < reach or stride % unit:
            raise LayoutError(f"{where}; expected a multiple of {unit}, at least the {reach} bytes that it repeats")
        if last is not None:
            sizes[last] = stride // unit  # with a pitch, the faster axis is longer than the array's part of it
        elif stride != dtype.itemsize:
            raise LayoutError(f"{where} for elements of {dtype.itemsize} bytes; describe the gap as a field of its own")
        sizes[names[axis]] = shape[axis]
        reach, unit, last = stride * shape[axis], stride, names[axis]
    has_gaps = any(sizes[name] != length for name, length in zip(names, shape, strict=True))
    return ArrayOrder(tuple(names[axis] for axis in order), sizes, _fields(dtype), has_gaps)


def _described(array: Any) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...]]:
    """Dtype, shape and strides in bytes."""
    if not isinstance(array, np.ndarray):
        on_gpu = getattr(array, "__cuda_array_interface__", None)
        if isinstance(on_gpu, dict):
            dtype, shape = np.dtype(on_gpu["typestr"]), tuple(on_gpu["shape"])
            if dtype.kind == "V" and len(on_gpu.get("descr", ())) > 1:
                dtype = np.dtype(on_gpu["descr"])
            strides = on_gpu.get("strides")
            return dtype, shape, _dense_strides(shape, dtype.itemsize) if strides is None else tuple(strides)
        try:
            array = np.from_dlpack(array)
        except (AttributeError, TypeError, BufferError, RuntimeError, ValueError) as error:
            raise LayoutError(f"array: expected a NumPy array or one that DLPack hands over, got {show(array)}") from error
    return array.dtype, array.shape, array.strides


def _dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of a C-order array."""
    strides = [itemsize]
    for length in shape[:0:-1]:
        strides.append(strides[-1] * length)
    return tuple(strides[::-1])[: len(shape)]


def _fields(dtype: np.dtype[Any]) -> FieldSpace:
    if dtype.names is None:
        return FieldSpace(value=dtype)
    formats = {name: dtype.fields[name][0] for name in dtype.names} if dtype.fields else {}
    fields = FieldSpace.of(formats)
    offsets = tuple(dtype.fields[name][1] for name in dtype.names) if dtype.fields else ()
    if offsets != fields.starts or fields.nbytes != dtype.itemsize:
        raise LayoutError(f"array of {dtype}: its fields are not packed; describe the gaps as fields of their own")
    return fields
