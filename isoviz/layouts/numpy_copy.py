"""Strided copies with NumPy: available everywhere, and the reference for faster kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import LayoutError, show
from isoviz.layouts.copies import ListedCopy, StridedCopy

if TYPE_CHECKING:
    from collections.abc import Iterable

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

# Runs of these sizes are copied as one scalar: NumPy uses a typed loop instead of one memcpy call per run.
_SCALARS: dict[int, np.dtype[Any]] = {
    1: np.dtype("u1"),
    2: np.dtype("u2"),
    4: np.dtype("u4"),
    8: np.dtype("u8"),
    16: np.dtype("c16"),
}


_LONGEST_SCALAR = 2**31 - 1
"""The largest element size of NumPy, in bytes."""


def apply(copies: Iterable[StridedCopy], source: Bytes, destination: Bytes) -> None:
    """Move the bytes of strided copies between two one-dimensional, contiguous uint8 arrays.

    Raises:
        InputError: an argument is not a strided copy or such an array.
        LayoutError: a copy reaches outside one of the arrays. No byte of that copy has been moved.
    """
    for end in (source, destination):
        expect("copy", end, np.ndarray, "two arrays")
        if end.dtype != np.uint8 or end.ndim != 1 or not end.flags.c_contiguous:
            raise LayoutError(f"copy: expected two contiguous arrays of uint8 with one axis, got {show(end)}")
    copies = checks.items("copy", copies, "strided copies")
    for copy in copies:
        expect("copy", copy, StridedCopy, "strided copies")
    for copy in copies:
        try:
            apply_one(copy, source, destination)
        except LayoutError:
            raise
        except (TypeError, ValueError, OverflowError, IndexError):
            raise LayoutError(f"copy {copy}: expected whole numbers") from None


def apply_one(copy: StridedCopy, source: Bytes, destination: Bytes) -> None:
    """`apply` of one copy between arrays that are known to be right.

    Raises:
        LayoutError: the copy reaches outside one of the arrays. No byte has been moved.
    """
    if isinstance(copy, ListedCopy):
        _apply_listed(copy, source, destination)
        return
    if copy.loops and copy.run > _LONGEST_SCALAR:
        copy = copy._replace(run=1, loops=(*copy.loops, (copy.run, 1, 1)))
    if copy.loops:
        dtype = _SCALARS.get(copy.run) or np.dtype((np.void, copy.run))
        strided_view(destination, copy, dtype, end=2)[...] = strided_view(source, copy, dtype, end=1)
    else:
        here, there = copy.source_offset, copy.destination_offset
        if min(here, there) < 0 or here + copy.run > source.size or there + copy.run > destination.size:
            raise _outside(copy, source, destination)
        destination[there : there + copy.run] = source[here : here + copy.run]


_TOGETHER = 1 << 16
"""Runs whose places are worked out together, so that their tables stay in a cache."""


def _apply_listed(copy: ListedCopy, source: Bytes, destination: Bytes) -> None:
    here, there = copy.spans()
    if min(here[0], there[0]) < 0 or here[1] > source.size or there[1] > destination.size:
        raise _outside(copy, source, destination)
    within = np.zeros((2, 1), np.int64)  # where the runs of an entry begin at both ends
    for extent, *strides in reversed(copy.loops):
        turns = np.arange(extent, dtype=np.int64)
        within = (np.multiply.outer(strides, turns)[:, :, None] + within[:, None, :]).reshape(2, -1)
    windows = [_windows(array, copy.run) for array in (source, destination)]
    step = max(1, _TOGETHER // within.shape[1])
    for first in range(0, copy.entries, step):
        some = copy.part(first, first + step)
        at, to = (offsets[:, None] + each for offsets, each in zip(some.offsets, within, strict=True))
        windows[1][to] = windows[0][at]


def _windows(array: Bytes, run: int) -> np.ndarray[Any, Any]:
    """For every byte of an array, the `run` bytes from it on, as one element."""
    dtype = _SCALARS.get(run) or np.dtype((np.void, run))
    return np.ndarray((array.size - run + 1,), dtype, array.data, 0, (1,))


def strided_view(array: Bytes, copy: StridedCopy, dtype: np.dtype[Any], end: int) -> np.ndarray[Any, Any]:
    """The elements that a copy accesses at one end (1: source, 2: destination), as an array with one axis per loop.

    Raises:
        LayoutError: the copy reaches outside the array.
    """
    shape = tuple(loop[0] for loop in copy.loops)
    strides = tuple(loop[end] for loop in copy.loops)
    offset = copy.source_offset if end == 1 else copy.destination_offset
    try:
        return np.ndarray(shape, dtype, array.data, offset, strides)
    except (TypeError, ValueError):
        raise LayoutError(f"copy {copy}: reaches outside its array of {array.size} bytes") from None


def _outside(copy: StridedCopy, source: Bytes, destination: Bytes) -> LayoutError:
    return LayoutError(
        f"copy {copy}: reaches outside the source ({source.size} bytes) or the destination ({destination.size} bytes)"
    )
