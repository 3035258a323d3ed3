"""Arrays of callers: what they say of themselves, and the order in which their elements lie in memory.

Every call that takes or fills an array asks here first. So all of them take the same arrays, and refuse the others alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz import checks
from isoviz.errors import ArrayError, EmptyArrayError, LayoutError, show
from isoviz.layouts.dtypes import described_dtype
from isoviz.layouts.spaces import FieldSpace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Array = np.ndarray[Any, Any]
_HOST_DEVICES = (1, 3)
"""The numbers of DLPack for host memory: kDLCPU and kDLCUDAHost."""
_BYTES = ("B", "b", "c")
"""The formats of buffers whose elements are bytes."""


class ArrayForm(NamedTuple):
    """The dtype, the shape, and the strides in bytes of an array in any memory."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def is_host_array(given: object) -> bool:
    """Whether `host_array` takes an object: an array or a buffer in host memory."""
    if isinstance(given, np.ndarray):
        return True
    if isinstance(given, str | np.generic):
        return False
    if hasattr(type(given), "__dlpack__"):
        return _is_on_host(given)
    try:
        memoryview(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        return False
    return True


def host_array(given: Any, what: str) -> Array:
    """An array or a buffer of host memory as a plain NumPy array of the same bytes. `what` names it in errors.

    An array is one of NumPy or of a class derived from it, one that supports DLPack, or a `memoryview` of elements. Any other
    buffer is its bytes.

    Raises:
        ArrayError: it is none of these, has a mask, or is not in host memory.
    """
    if isinstance(given, np.ndarray):
        if isinstance(given, np.ma.MaskedArray):
            raise ArrayError(f"{what}: has a mask; pass its data and its mask as two arrays")
        return given if type(given) is np.ndarray else given.view(np.ndarray)
    if hasattr(type(given), "__dlpack__"):
        return _handed_over(given, what)
    try:
        if isinstance(given, memoryview) and (given.format not in _BYTES or given.ndim != 1):
            return np.asarray(given)
        if not isinstance(given, str | np.generic):
            found: Array = np.frombuffer(given, np.uint8) if memoryview(given).nbytes else np.empty(0, np.uint8)
            return found
    except (TypeError, ValueError, BufferError):
        pass
    raise ArrayError(f"{what}: expected a NumPy array, one that DLPack hands over, or a buffer, got {show(given)}")


def _is_on_host(given: Any) -> bool:
    try:
        return int(given.__dlpack_device__()[0]) in _HOST_DEVICES
    except (AttributeError, TypeError, ValueError, RuntimeError, BufferError):
        return True  # `host_array` says what is wrong


def _handed_over(given: Any, what: str) -> Array:
    if not _is_on_host(given):
        raise ArrayError(f"{what}: {show(given)} is not in host memory; Engine.copy converts where the array lies")
    try:
        found: Array = np.from_dlpack(given)
    except (AttributeError, TypeError, BufferError, RuntimeError, ValueError) as error:
        raise ArrayError(f"{what}: DLPack does not hand over {show(given)} ({error}); expected a NumPy array") from error
    return found


def form_of(given: Any, what: str) -> ArrayForm:
    """The form of an array in host memory or on a GPU. No element is read.

    Raises:
        ArrayError: as `host_array`.
    """
    if not isinstance(given, np.ndarray):
        on_gpu = cuda_interface(given)
        if on_gpu is not None:
            return cuda_form(on_gpu, what)
    array = host_array(given, what)
    return ArrayForm(array.dtype, array.shape, array.strides)


def no_elements(what: str, shape: tuple[int, ...]) -> str:
    """Why an array without elements is refused where an index space is needed."""
    return f"{what}: has no elements (shape {shape}), and every size of an index space is at least 1"


def is_flat(given: Any) -> bool:
    """Whether an object is an array with one axis, or a buffer of bytes: it says no sizes of dimensions."""
    try:
        return len(form_of(given, "array").shape) == 1
    except ArrayError:
        return False


def cuda_interface(given: Any) -> dict[str, Any] | None:
    """What an array on a GPU says of itself by `__cuda_array_interface__`; None if it says nothing."""
    if isinstance(given, np.ndarray):
        return None
    try:
        found = getattr(given, "__cuda_array_interface__", None)
    except Exception:  # noqa: BLE001  # PyTorch: not on a GPU, in a graph of gradients, or elements that it has no name for
        return None
    return found if isinstance(found, dict) else None


def cuda_form(interface: Mapping[str, Any], what: str) -> ArrayForm:
    """The form of an array on a GPU.

    Raises:
        ArrayError: it has a mask.
    """
    if interface.get("mask") is not None:
        raise ArrayError(f"{what}: has a mask; pass its data and its mask as two arrays")
    dtype, described = np.dtype(interface["typestr"]), interface.get("descr")
    if dtype.kind == "V" and described and described != [("", interface["typestr"])]:
        dtype = described_dtype([tuple(part) for part in described])
    shape, strides = tuple(int(size) for size in interface["shape"]), interface.get("strides")
    return ArrayForm(dtype, shape, _dense_strides(shape, dtype.itemsize) if strides is None else tuple(map(int, strides)))


def _dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of a C-order array."""
    strides = [itemsize]
    for length in shape[:0:-1]:
        strides.append(strides[-1] * length)
    return tuple(strides[::-1])[: len(shape)]


def require_bytes(dtype: np.dtype[Any], what: str) -> None:
    """Require that the elements of an array have bytes of their own.

    Raises:
        ArrayError: they are Python objects, or have no bytes.
    """
    if dtype.hasobject:
        raise ArrayError(f"{what}: {dtype} holds Python objects, which have no bytes to move")
    if dtype.itemsize < 1:
        raise ArrayError(f"{what}: {dtype} has no bytes, so there is nothing to move")


def memory_order(form: ArrayForm, what: str) -> tuple[int, ...]:
    """The axes of a dense array, fastest first.

    Raises:
        ArrayError: the array is not dense, or its elements have no bytes of their own.
    """
    require_bytes(form.dtype, what)
    shape, strides = form.shape, form.strides
    backwards = tuple(range(len(shape)))[::-1]
    if 0 in shape:
        return backwards
    for order in (backwards, backwards[::-1], sorted_axes := by_stride(form)):
        if _first_gap(form, order) is None:
            return order
    wrong = _first_gap(form, sorted_axes)
    assert wrong is not None
    stride = strides[wrong]
    if stride < 0:
        why = "is reversed"
    elif stride == 0:
        why = "repeats its elements"
    else:
        why = f"has a stride of {stride} bytes, which leaves gaps or overlaps"
    raise ArrayError(
        f"{what}: is not dense (shape {shape}): axis {wrong} {why}; expected an array without gaps, such as a copy of this one"
    )


def by_stride(form: ArrayForm) -> tuple[int, ...]:
    """The axes sorted by stride. Axes of length 1 come before others of the same stride, and later ones before earlier ones."""
    shape, strides = form.shape, form.strides
    return tuple(sorted(range(len(shape)), key=lambda axis: (strides[axis], shape[axis] > 1, -axis)))


def _first_gap(form: ArrayForm, order: tuple[int, ...]) -> int | None:
    """The first axis that does not follow the faster ones without a gap; None if there is none."""
    expected = form.dtype.itemsize
    for axis in order:
        length = form.shape[axis]
        if length != 1:
            if form.strides[axis] != expected:
                return axis
            expected *= length
    return None


def bytes_in_order(array: Array, order: tuple[int, ...] | None = None) -> Array:
    """The bytes of a dense array as it lies: uint8, one axis, not copied. `order` is its `memory_order`; None for C order."""
    if not array.size:
        return np.empty(0, np.uint8)
    flat = array.reshape(-1) if order is None else array.transpose(order[::-1]).reshape(-1)
    return flat.view(np.uint8)


def array_of_bytes(flat: Array, form: ArrayForm) -> Array:
    """The bytes of a dense array as an array that lies as `form` says, not copied."""
    order = memory_order(form, "array")[::-1]
    lying = flat.view(form.dtype).reshape([form.shape[axis] for axis in order])
    return lying.transpose(np.argsort(order))


# ---- the axes by name

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
        ArrayError: it is not an array that isoviz takes, or is not dense.
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
        ArrayError: as `dense_order`; or no layout has its strides (reversed or repeated axes, or a pitch that is not a multiple
            of the faster stride). EmptyArrayError: it has no elements.
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
