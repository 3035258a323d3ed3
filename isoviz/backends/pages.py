"""Pages of host memory: arrays that begin at a page boundary, in large pages where they are long enough."""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np

from isoviz.errors import RunError
from isoviz.units import format_bytes

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

PAGE = mmap.PAGESIZE
HUGE = 2 << 20
"""Bytes of a large page."""


def page_aligned(nbytes: int) -> Bytes:
    """A writable uint8 array of `nbytes` that begins at a page boundary; zeroed, its pages untouched. From half a large page on
    it consists of large pages, where the system has such.

    Strided copies visit very many pages: with large ones the processor remembers where they all are. And a disk's request is cut
    where memory is: one of 1 MiB into 256 small pages takes up to four times as long as one into half a large page.

    Raises:
        RunError: the system has no room for it.
    """
    large = (nbytes + HUGE // 2) // HUGE * HUGE  # a rest of more than a half has a large page, too
    spare = large and HUGE
    try:
        # An anonymous map is page-aligned and goes back to the system as soon as the last view of it is gone.
        memory = mmap.mmap(-1, max(nbytes, large, 1) + spare, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError, MemoryError):
        raise RunError(f"no room for {format_bytes(nbytes)} of host memory") from None
    if not spare:
        return np.frombuffer(memory, np.uint8, nbytes)
    first = -np.frombuffer(memory, np.uint8, 1).__array_interface__["data"][0] % HUGE
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE, first, large)
    return np.frombuffer(memory, np.uint8, nbytes, first)


def touch(array: Bytes) -> None:
    """Write to every page, so that page faults do not count as transfer time."""
    array[::PAGE] = 0
