"""A bounce buffer for every thread, for file data that are not page-aligned.

Allocating a buffer and zeroing its pages takes as long as a small transfer. A thread therefore keeps its buffer until it ends;
another thread then reuses it.
"""

from __future__ import annotations

import threading

from isoviz.backends.pages import HUGE, Bytes, page_aligned
from isoviz.forks import Lock

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
