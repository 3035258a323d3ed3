"""Every contiguous run of strided copies as a message of its own, straight between two memories.

A window of messages is in flight. Both ends go through the runs in the same order, and messages with the same tag do not
overtake each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from isoviz.backends.mpi.thread.mpi_requests import Ended
from isoviz.layouts.copies import ListedCopy

if TYPE_CHECKING:
    from isoviz.backends.mpi.thread.mpi_thread import MpiThread
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy

IN_FLIGHT = 32
"""Messages in flight."""
LONGEST = 1 << 30
"""Bytes of the longest message: both MPI libraries count them in 32 bits somewhere."""


def runs(copies: Sequence[StridedCopy], end: int) -> Iterator[tuple[int, int]]:
    """The offset and the length of every message at one end (0: source, 1: destination)."""
    for copy in (each for one in copies for each in (one.one_by_one() if isinstance(one, ListedCopy) else (one,))):
        for counters in itertools.product(*(range(loop[0]) for loop in copy.loops)):
            steps = [k * loop[1 + end] for k, loop in zip(counters, copy.loops, strict=True)]
            at = (copy.destination_offset if end else copy.source_offset) + sum(steps)
            for first in range(0, copy.run, LONGEST):
                yield at + first, min(LONGEST, copy.run - first)


class _Runs:
    """Keeps the window full after the first `fill`. Used in the MPI thread only. `done` is called once, when all have ended."""

    end = 0

    def __init__(self, thread: MpiThread, copies: Sequence[StridedCopy], array: Bytes, rank: int, tag: int, done: Ended) -> None:
        self._thread, self._array = thread, array
        self._rank, self._tag, self._done = rank, tag, done
        self._left = runs(copies, self.end)
        self._flying = 0
        self._error: BaseException | None = None
        self._starting = False
        self._over = False

    def fill(self) -> None:
        """Start messages until the window is full."""
        if self._starting:  # a message that ended at once; the loop below goes on
            return
        self._starting = True
        while self._flying < IN_FLIGHT and self._error is None:
            following = next(self._left, None)
            if following is None:
                self._over = True
                break
            at, nbytes = following
            self._flying += 1
            self._start(self._array[at : at + nbytes])
        self._starting = False
        if not self._flying and (self._over or self._error is not None):
            done, self._done = self._done, _nothing
            done(self._error)

    def _start(self, part: Bytes) -> None:
        raise NotImplementedError

    def _ended(self, error: BaseException | None) -> None:
        self._flying -= 1
        self._error = self._error or error
        self.fill()


class RunSender(_Runs):
    """Sends every run."""

    def _start(self, part: Bytes) -> None:
        self._thread.isend(part, self._rank, self._tag, self._ended)


class RunReceiver(_Runs):
    """Receives every run."""

    end = 1

    def _start(self, part: Bytes) -> None:
        self._thread.irecv(part, self._rank, self._tag, self._ended)


def _nothing(_error: BaseException | None) -> None:
    """Nobody waits any more."""
