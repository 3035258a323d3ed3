"""Where arrays of callers lie: enough to recognise the same bytes later, without keeping an array alive."""

from __future__ import annotations

import ctypes
from typing import Any
from weakref import ref

import numpy as np

Form = tuple[int, tuple[int, ...], tuple[int, ...], bool, np.dtype[Any]]
"""The address of the first element of an array, its shape, its strides, whether it may be written, and its dtype."""
_DATA = 40
"""Where the address stands in the struct of the array interface."""
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_address_at = ctypes.c_void_p.from_address


def form_of_bytes(array: np.ndarray[Any, Any]) -> Form:
    """The form of an array. `__array_interface__` says the same, and takes a microsecond or more."""
    struct = array.__array_struct__  # it lives as long as this capsule
    return _address_at(_pointer(struct, None) + _DATA).value or 0, array.shape, array.strides, array.flags.writeable, array.dtype


def is_plain(given: object) -> bool:
    """Whether an object is an array of NumPy itself that has bytes."""
    return type(given) is np.ndarray and given.size > 0 and not given.dtype.hasobject


def array_at(form: Form) -> np.ndarray[Any, Any]:
    """An array of the bytes of another one that does not keep them: it must not be used when they have gone."""
    address, shape, strides, is_writeable, dtype = form
    reaches = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    low, high = sum(min(0, each) for each in reaches), sum(max(0, each) for each in reaches) + dtype.itemsize
    memory = (ctypes.c_uint8 * (high - low)).from_address(address + low)
    found: np.ndarray[Any, Any] = np.ndarray(shape, dtype, memory, -low, strides)  # type: ignore[arg-type]  # it is a buffer
    found.flags.writeable = is_writeable
    return found


class Grip:
    """The form of an array, and what owns its bytes, which this does not keep alive."""

    __slots__ = ("form", "owner")

    def __init__(self, array: np.ndarray[Any, Any], form: Form) -> None:
        self.form, self.owner = form, ref(_owner(array))

    def is_on(self, array: np.ndarray[Any, Any], form: Form) -> bool:
        """Whether an array of this form has the same bytes, described alike."""
        return self.form == form and self.owner() is _owner(array)


def _owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    while type(array.base) is np.ndarray:
        array = array.base
    return array
