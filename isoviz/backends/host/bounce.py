"""A buffer for every thread that moves what lies across the pages of files.

To get one and to have its pages zeroed takes as long as a small transfer; so a thread keeps its buffer until it ends, whatever
files it reads and writes, and the next one takes it over.
"""

from __future__ import annotations

import threading

from isoviz.backends.pages import HUGE, Bytes, page_aligned
from isoviz.forks import Lock

BOUNCE = 1 << 20
"""Bytes of a buffer."""

_mine = threading.local()
_lock = Lock()  # a collection of garbage may end a thread's buffer while another one is taken
_spare: list[Bytes] = []


class _Taken:
    """A buffer as long as a thread lives."""

    def __init__(self) -> None:
        with _lock:
            if not _spare:
                room = page_aligned(HUGE)  # those of several threads lie in a large page together
                _spare.extend(room[at : at + BOUNCE] for at in range(0, HUGE, BOUNCE))
            self.room = _spare.pop()

    def __del__(self) -> None:
        with _lock:
            _spare.append(self.room)


def bounce() -> Bytes:
    """The buffer of this thread; whoever is called may write to it."""
    found: _Taken | None = getattr(_mine, "taken", None)
    if found is None:
        found = _mine.taken = _Taken()
    return found.room
