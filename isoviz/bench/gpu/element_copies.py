"""Strided copies as libraries of arrays describe them: shapes and strides of elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

_WIDEST = 16
DTYPES = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}


class ElementCopy(NamedTuple):
    """A copy of elements of `unit` bytes. Offsets and strides are bytes, multiples of the unit: no access is misaligned."""

    unit: int
    shape: tuple[int, ...]
    source_offset: int
    destination_offset: int
    source_strides: tuple[int, ...]
    destination_strides: tuple[int, ...]


def element_copy(copy: StridedCopy) -> ElementCopy:
    """A copy with the largest elements that fit everywhere. A run of several elements is one more dimension."""
    steps = (step for loop in copy.loops for step in loop[1:])
    unit = math.gcd(_WIDEST, copy.run, copy.source_offset, copy.destination_offset, *steps)
    loops = copy.loops if copy.run == unit and copy.loops else (*copy.loops, (copy.run // unit, unit, unit))
    extents, here, there = zip(*loops, strict=True)
    return ElementCopy(unit, extents, copy.source_offset, copy.destination_offset, here, there)


def cupy_views(cupy: Any, copy: StridedCopy, source: Any, destination: Any) -> tuple[Any, Any]:
    """The elements of a copy in two CuPy arrays of bytes: those of the destination, and those of the source."""
    found = element_copy(copy)
    dtype = DTYPES[found.unit]
    there = cupy.ndarray(found.shape, dtype, destination.data + found.destination_offset, found.destination_strides)
    here = cupy.ndarray(found.shape, dtype, source.data + found.source_offset, found.source_strides)
    return there, here
