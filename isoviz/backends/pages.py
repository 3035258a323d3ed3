"""Pages of host memory: page-aligned arrays, made of huge pages where they are long enough."""

from __future__ import annotations

import contextlib
import mmap
import threading
from typing import Any

import numpy as np

from isoviz.errors import RunError
from isoviz.forks import Lock
from isoviz.runtime.opening import check_opening
from isoviz.units import format_bytes

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

PAGE = mmap.PAGESIZE
HUGE = 2 << 20
"""Bytes of a huge page."""
_PART = 64 << 20
"""Bytes of pages that are touched between two looks at a cancel: about 20 ms."""


def page_aligned(nbytes: int) -> Bytes:
    """A writable uint8 array of `nbytes` bytes, page-aligned and zeroed. Its pages are not yet touched.

    From half a huge page on it consists of huge pages, where the system supports them. Strided copies visit many pages, and huge
    pages need fewer TLB entries. A disk request is also split at page boundaries of memory: 1 MiB in 256 small pages takes up to
    four times as long as in half a huge page.

    Raises:
        RunError: the system has not enough memory.
    """
    large = (nbytes + HUGE // 2) // HUGE * HUGE  # A remainder of more than half a huge page gets a huge page, too.
    spare = large and HUGE
    try:
        # An anonymous map is page-aligned. The system gets it back when its last view is deleted.
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
    """Write to every page, so that no page fault counts as transfer time.

    Raises:
        Cancelled: the transfer that needs the pages has to stop.
    """
    for at in range(0, len(array), _PART):
        check_opening()
        array[at : at + _PART : PAGE] = 0


# A bounce buffer for every thread, for file data that are not page-aligned.
#
# Allocating a buffer and zeroing its pages takes as long as a small transfer. A thread therefore keeps its buffer
# until it ends; another thread then reuses it.

BOUNCE = 1 << 20
"""Bytes of a bounce buffer."""

_mine = threading.local()
_lock = Lock()  # The garbage collector may free a thread's buffer while another is taken.
_spare: list[Bytes] = []


class _Taken:
    """A buffer that is owned for the lifetime of its thread."""

    def __init__(self) -> None:
        with _lock:
            if not _spare:
                room = page_aligned(HUGE)  # The buffers of several threads share a huge page.
                _spare.extend(room[at : at + BOUNCE] for at in range(0, HUGE, BOUNCE))
            self.room = _spare.pop()

    def __del__(self) -> None:
        with _lock:
            _spare.append(self.room)


def bounce() -> Bytes:
    """The bounce buffer of this thread. Functions that the caller calls may overwrite it."""
    found: _Taken | None = getattr(_mine, "taken", None)
    if found is None:
        found = _mine.taken = _Taken()
    return found.room
