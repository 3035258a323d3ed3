"""Arrays of other libraries on a GPU: `__cuda_array_interface__` (CuPy, Numba, PyTorch) and DLPack."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.cuda.cuda_driver import LEGACY_STREAM
from isoviz.errors import TransferError

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver

_DLPACK_ON_DEVICE = (2, 13)
"""kDLCUDA and kDLCUDAManaged."""


class CudaArray(NamedTuple):
    """A contiguous array on a GPU.

    - `pointer`, `nbytes`: its first address, and its length in bytes.
    - `is_fortran`: whether its first index changes fastest in memory.
    - `stream`: a stream whose work has to end before the bytes are used; None if there is none.
    - `owner`: the object that keeps the bytes.
    """

    pointer: int
    nbytes: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran: bool
    is_read_only: bool
    stream: int | None
    owner: Any


def is_on_device(given: Any) -> bool:
    """Whether an object says that it is an array on a GPU."""
    return _interface(given) is not None or _is_dlpack(given)


def cuda_array(given: Any, driver: CudaDriver, what: str) -> CudaArray:
    """An object that `is_on_device` accepts. `what` names it in errors.

    Raises:
        TransferError: it is not contiguous, has a mask, or holds no plain bytes.
        DeviceError: its DLPack capsule cannot be read.
    """
    owner = given
    interface = _interface(given)
    if interface is None:
        owner = driver.from_dlpack(given)
        interface = _interface(owner)
    if interface is None:
        raise TransferError(f"{what}: {type(given).__name__} says nothing of its bytes on a GPU")
    if interface.get("mask") is not None:
        raise TransferError(f"{what}: has a mask; pass its data and its mask as two arrays")
    dtype = np.dtype(interface["typestr"])
    described = interface.get("descr")
    if dtype.kind == "V" and described and described != [("", interface["typestr"])]:
        dtype = np.dtype([tuple(part) for part in described])
    if dtype.hasobject:
        raise TransferError(f"{what}: {dtype} holds Python objects, which have no bytes to move")
    shape = tuple(int(size) for size in interface["shape"])
    pointer, read_only = interface["data"]
    stream = interface.get("stream", LEGACY_STREAM)
    is_fortran = _is_fortran(shape, interface.get("strides"), dtype.itemsize, what)
    nbytes = math.prod(shape) * dtype.itemsize
    return CudaArray(int(pointer or 0), nbytes, shape, dtype, is_fortran, bool(read_only), stream, owner)


def _interface(given: Any) -> dict[str, Any] | None:
    if isinstance(given, np.ndarray):
        return None
    try:
        found = getattr(given, "__cuda_array_interface__", None)
    except (TypeError, RuntimeError):  # PyTorch: the tensor is not on a GPU, or belongs to a graph of gradients
        return None
    return found if isinstance(found, dict) else None


def _is_dlpack(given: Any) -> bool:
    if isinstance(given, np.ndarray) or not hasattr(given, "__dlpack__") or not hasattr(given, "__dlpack_device__"):
        return False
    return int(given.__dlpack_device__()[0]) in _DLPACK_ON_DEVICE


def _is_fortran(shape: tuple[int, ...], strides: tuple[int, ...] | None, itemsize: int, what: str) -> bool:
    """Whether the first index changes fastest; false for an array in C order.

    Raises:
        TransferError: the array is not contiguous.
    """
    if strides is None or 0 in shape:
        return False
    for is_fortran in (False, True):
        expected = itemsize
        for size, stride in zip(shape if is_fortran else shape[::-1], strides if is_fortran else strides[::-1], strict=True):
            if size != 1 and stride != expected:
                break
            expected *= size
        else:
            return is_fortran
    raise TransferError(f"{what}: is not contiguous; pass cupy.ascontiguousarray(...) of it")
