"""Copies between views of arrays: by compiled kernels where they are faster, else by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from isoviz.backends.host import kernels
from isoviz.backends.host.atomics import atomics
from isoviz.backends.host.copying import prepared_copies
from isoviz.backends.host.host_memory import LARGE
from isoviz.backends.mpi.helper.ring import MOST_LOOPS
from isoviz.backends.mpi.lanes.page import IS_STRICT
from isoviz.backends.mpi.thread.bells import are_shared
from isoviz.layouts import StridedCopy
from isoviz.layouts.given_arrays import Array

WORTH_KERNELS = 16 << 10
"""Bytes from which the kernels gain more than their preparation takes."""
MOST_HELD = 4 << 20
"""Most bytes of a copy during which no other thread of the process runs Python: it takes less than a turn of a thread."""
WORTH_HELPER = 64 << 10
"""Bytes from which a helper gains more than asking it takes."""


def copy(source: Array, destination: Array) -> None:
    """Copy elements, in any order, with broadcasting. What follows in this thread is seen after them.

    Raises:
        ValueError: the shapes do not suit each other. TypeError: the elements do not.
    """
    moves = prepared(source, destination) if destination.nbytes >= WORTH_KERNELS else None
    if moves is None:
        np.copyto(destination, source, casting="same_kind")
    else:
        for move in moves:
            move()
    if moves is not None or not IS_STRICT:  # kernels write past the caches
        atomics().barrier()


def prepared(source: Array, destination: Array) -> Sequence[Callable[[], object]] | None:
    """The kernels that copy between two arrays, to be called again and again while both live; None where NumPy does it."""
    if source.shape != destination.shape or source.dtype != destination.dtype or not destination.size:
        return None
    if not kernels.prepare():
        return None
    found = strided(source, destination)
    if found is None or not found.loops or np.may_share_memory(source, destination):
        return None
    here, there = (bytes_of(array, span[1]) for array, span in zip((source, destination), found.spans(), strict=True))
    return prepared_copies((found,), here, there, large=destination.nbytes >= LARGE)


def kept(source: Array, destination: Array) -> Sequence[Callable[[], object]]:
    """As `prepared`, with NumPy's copy as the last resort. Contiguous bytes go through buffers, which have the least code."""
    is_whole = source.flags.c_contiguous and destination.flags.c_contiguous and 0 < destination.nbytes <= MOST_HELD
    if is_whole and source.shape == destination.shape and source.dtype == destination.dtype:
        there, here = (memoryview(bytes_of(array, array.nbytes)) for array in (destination, source))  # type: ignore[arg-type]
        if not np.may_share_memory(source, destination):
            return (partial(there.__setitem__, slice(None), here),)
    return prepared(source, destination) or (partial(np.copyto, destination, source, casting="same_kind"),)


def strided(source: Array, destination: Array) -> StridedCopy | None:
    """The copy of elements between two arrays of one shape; None where a stride of the source would go backwards or stand still.

    Its offsets count from the first byte of each array in memory.
    """
    axes = []
    for extent, here, there in zip(source.shape, source.strides, destination.strides, strict=True):
        if extent > 1:
            axes.append((extent, here, there) if there > 0 else (extent, -here, -there))
    if any(here <= 0 or there <= 0 for _, here, there in axes):
        return None
    run = source.itemsize
    loops: list[tuple[int, int, int]] = []
    for extent, here, there in sorted(axes, key=lambda axis: (axis[2], axis[1])):
        inner, inner_here, inner_there = loops[-1] if loops else (run, 1, 1)
        if (here, there) != (inner * inner_here, inner * inner_there):
            loops.append((extent, here, there))
        elif loops:
            loops[-1] = (inner * extent, inner_here, inner_there)
        else:
            run *= extent
    return StridedCopy(0, 0, run, tuple(reversed(loops)))


def for_helper(source: Array, destination: Array) -> StridedCopy | None:
    """The copy as a helper takes it; None where the caller copies sooner or the helper cannot."""
    is_plain = source.shape == destination.shape and source.dtype == destination.dtype
    if not is_plain or destination.nbytes < WORTH_HELPER or not are_shared() or np.may_share_memory(source, destination):
        return None
    found = strided(source, destination)
    return None if found is None or len(found.loops) > MOST_LOOPS else found


def first_byte(array: Array) -> int:
    """The address of the byte of an array that lies first in memory."""
    back: int = sum([(extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True) if stride < 0])
    address: int = array.__array_interface__["data"][0]
    return address + back


class _Span:
    """The bytes between the first and the last element of an array, which it keeps."""

    def __init__(self, array: Array, nbytes: int) -> None:
        self.kept = array
        self.__array_interface__ = {"data": (first_byte(array), False), "shape": (nbytes,), "typestr": "|u1", "version": 3}


def bytes_of(array: Array, nbytes: int) -> Array:
    """The bytes of an array from its first element in memory to its last one."""
    return np.asarray(_Span(array, nbytes))
