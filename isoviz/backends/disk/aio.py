"""Many unbuffered requests handed to Linux in one call, from one thread.

Threads that read and write in turns of the interpreter reach a disk's rate with long requests; with short ones they wait for
each other. One call of `io_submit` hands over as many requests as there are, one of `io_getevents` waits for them, and neither
holds the interpreter. Where the system has no such calls, or allows none, requests go one by one.

Through `syscall`, for the C library has no names for these; see io_submit(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.pages import Bytes
from isoviz.forks import Lock, in_child

DEPTH = 64
"""Requests that are handed over together."""
READ, WRITE = 0, 1
"""What a request does: the system's codes for `pread` and `pwrite`."""
_NUMBERS = {"x86_64": (206, 208, 209), "aarch64": (0, 4, 2), "riscv64": (0, 4, 2)}
"""By architecture, the numbers of `io_setup`, `io_getevents` and `io_submit`."""
_REQUEST = np.dtype(
    [
        ("number", "<u8"),
        ("key", "<u4"),
        ("flags", "<u4"),
        ("code", "<u2"),
        ("priority", "<i2"),
        ("file", "<u4"),
        ("buffer", "<u8"),
        ("nbytes", "<u8"),
        ("offset", "<i8"),
        ("reserved", "<u8"),
        ("more_flags", "<u4"),
        ("signal", "<u4"),
    ]
)
_EVENT = np.dtype([("number", "<u8"), ("request", "<u8"), ("result", "<i8"), ("more", "<i8")])
_SEVERAL = 2
"""Requests from which handing them over together is worth it."""

SHARE = 4
"""Of requests by way of slots, the share (1 in so many) of those under way that is waited for before the next ones are begun."""

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Arrived = Callable[[Numbers, Numbers], None]
"""Told of requests that have come: which ones, and where each begins in the buffer."""


class Requests(ABC):
    """A way to carry out up to `DEPTH` requests at a time, for one thread."""

    @abstractmethod
    def begin(
        self, code: int, file: int, numbers: Numbers, offsets: Numbers, memory: Bytes, places: Numbers, nbytes: Numbers
    ) -> None:
        """Begin requests: `nbytes` each, from `offsets` in a file to `places` in memory or back. `numbers`, below `DEPTH`, tell
        them from others under way."""

    @abstractmethod
    def some(self, least: int) -> tuple[Numbers, Numbers]:
        """Wait for about so many of those under way: the numbers of some that are done, and how many bytes each has moved, or the
        negative number of its error.

        Raises:
            OSError: the system does not say what became of them.
        """

    @property
    @abstractmethod
    def under_way(self) -> int:
        """How many have begun and were not told of yet."""

    def carry_out(self, code: int, file: int, offsets: Numbers, memory: Bytes, places: Numbers, nbytes: Numbers) -> Numbers:
        """Carry out up to `DEPTH` requests and wait for them. Returns how many bytes each has moved, or the negative number of
        its error.

        Raises:
            OSError: the system does not say what became of them.
        """
        moved = np.zeros(len(offsets), np.int64)
        try:
            self.begin(code, file, np.arange(len(offsets)), offsets, memory, places, nbytes)
            while self.under_way:
                done, moved_by = self.some(self.under_way)
                moved[done] = moved_by
        finally:
            self.end()
        return moved

    def read_by_slots(
        self, file: int, offsets: Numbers, nbytes: Numbers, buffer: Bytes, slot: int, arrived: Arrived, check: Callable[[], None]
    ) -> Numbers:
        """Read by way of a buffer with slots of so many bytes: any number of requests, as many of them at a time as there are
        slots (`DEPTH` at most). `arrived` is told which have come and where each begins in the buffer, and takes its bytes out;
        the next ones are begun in their slots then. `check` is called before that, and may raise. Returns what `carry_out` does.

        Raises:
            OSError: the system does not say what became of them. What `arrived` and `check` raise.
        """
        moved = np.zeros(len(offsets), np.int64)
        free = np.arange(min(DEPTH, len(buffer) // slot, len(offsets)))
        holds = np.zeros(len(free), np.int64)
        begun = 0
        try:
            while begun < len(offsets) or self.under_way:
                if len(new := free[: len(offsets) - begun]):
                    check()
                    which = slice(begun, begun + len(new))
                    holds[new] = np.arange(begun, begun + len(new))
                    self.begin(READ, file, new, offsets[which], buffer, new * slot, nbytes[which])
                    begun += len(new)
                free, moved_by = self.some(-(-self.under_way // SHARE))
                moved[holds[free]] = moved_by
                arrived(holds[free], free * slot)
        finally:
            self.end()
        return moved

    def end(self) -> None:
        """Wait until nothing is under way: nobody writes to memory afterwards."""
        while self.under_way:
            self.some(self.under_way)


class OneByOne(Requests):
    """A request, then the next one."""

    def __init__(self) -> None:
        self._done: list[tuple[int, int]] = []

    def begin(
        self, code: int, file: int, numbers: Numbers, offsets: Numbers, memory: Bytes, places: Numbers, nbytes: Numbers
    ) -> None:
        call, view = os.pwritev if code == WRITE else os.preadv, memory.data
        each = zip(numbers.tolist(), offsets.tolist(), places.tolist(), nbytes.tolist(), strict=True)
        for number, at, to, count in each:
            try:
                moved = call(file, [view[to : to + count]], at)
            except OSError as error:
                moved = -(error.errno or errno.EIO)
            self._done.append((number, moved))

    def some(self, least: int) -> tuple[Numbers, Numbers]:  # noqa: ARG002  # all that have begun are done
        done, self._done = np.array(self._done, np.int64).reshape(-1, 2), []
        return done[:, 0], done[:, 1]

    @property
    def under_way(self) -> int:
        return len(self._done)


class Queue(Requests):
    """A queue of the system's.

    Raises:
        OSError: there are none here, or no more.
    """

    def __init__(self) -> None:
        found = _calls()
        if found is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._call, (setup, self._getevents, self._submit) = found
        context = ctypes.c_ulong(0)
        if self._call(setup, DEPTH, ctypes.addressof(context), 0, 0, 0) < 0:
            raise _failed()
        self._context = context.value
        self._requests, self._events = np.zeros(DEPTH, _REQUEST), np.zeros(DEPTH, _EVENT)
        self._requests["number"] = np.arange(DEPTH)
        self._each = address_of(self._requests) + np.arange(DEPTH, dtype=np.uint64) * np.uint64(_REQUEST.itemsize)
        self._new = np.zeros(DEPTH, np.uint64)
        self._first, self._arrived = address_of(self._new), address_of(self._events)
        self._offsets, self._buffers, self._nbytes = (self._requests[name] for name in ("offset", "buffer", "nbytes"))
        self._numbers, self._results = self._events["number"].view(np.int64), self._events["result"]
        self._what = -1, -1
        self._waiting = 0
        self._early: list[tuple[Numbers, Numbers]] = []  # done, or not begun for an error, and not told of yet

    def begin(
        self, code: int, file: int, numbers: Numbers, offsets: Numbers, memory: Bytes, places: Numbers, nbytes: Numbers
    ) -> None:
        count = len(numbers)
        if count and (places.min() < 0 or (places + nbytes).max() > len(memory)):
            raise ValueError(f"requests of up to {nbytes.max()} bytes reach outside of memory of {len(memory)} bytes")
        if self._what != (code, file):
            self._what = -1, -1
            self._requests["code"], self._requests["file"] = code, file
            self._what = code, file
        self._offsets[numbers], self._nbytes[numbers] = offsets, nbytes
        self._buffers[numbers] = (places + address_of(memory)).astype(np.uint64)
        self._new[:count] = self._each[numbers]
        begun = 0
        while begun < count:
            got = self._call(self._submit, self._context, count - begun, self._first + 8 * begun, 0, 0)
            if got > 0:
                begun += got
                self._waiting += got
            elif (error := ctypes.get_errno()) == errno.EAGAIN and self._waiting:
                self._early.append(self._arrivals(1))
            elif error != errno.EINTR:
                self._early.append((numbers[begun:], np.full(count - begun, -error)))
                break

    def some(self, least: int) -> tuple[Numbers, Numbers]:
        return self._early.pop() if self._early else self._arrivals(least)

    def _arrivals(self, least: int) -> tuple[Numbers, Numbers]:
        while (got := self._call(self._getevents, self._context, min(least, self._waiting), DEPTH, self._arrived, 0)) <= 0:
            if ctypes.get_errno() != errno.EINTR:
                raise _failed()
        self._waiting -= got
        return self._numbers[:got].copy(), self._results[:got].copy()

    @property
    def under_way(self) -> int:
        return self._waiting + sum(len(numbers) for numbers, _ in self._early)


@contextmanager
def requests(count: int) -> Iterator[Requests]:
    """The best way to carry out so many requests at a time, for one thread."""
    queue = _taken() if count >= _SEVERAL else None
    try:
        yield queue or OneByOne()
    finally:
        if queue is not None and not queue.under_way:
            with _lock:  # kept: to end one takes the system longer than many requests
                _free.append(queue)


@cache
def is_available() -> bool:
    """Whether this system takes many requests at a time: one was tried."""
    none = np.zeros(1, np.int64)
    try:
        queue = Queue()
        with Path(os.devnull).open("rb") as file:
            queue.carry_out(READ, file.fileno(), none, np.zeros(1, np.uint8), none, none)
    except OSError:
        return False
    with _lock:
        _free.append(queue)
    return True


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Where an array begins in memory."""
    return int(array.__array_interface__["data"][0])


_free: list[Queue] = []
_lock = Lock()


def _taken() -> Queue | None:
    if not is_available():
        return None
    with _lock:
        if _free:
            return _free.pop()
    try:
        return Queue()
    except OSError:
        return None


in_child(_free.clear)  # a child of this process does not have them


def _failed() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


@cache
def _calls() -> tuple[Callable[..., int], tuple[int, int, int]] | None:
    """The system's entry, and the numbers of its calls; None where it has none."""
    numbers = _NUMBERS.get(platform.machine())
    if not sys.platform.startswith("linux") or numbers is None or sys.maxsize < 1 << 32 or sys.byteorder != "little":
        return None
    found = ctypes.CDLL(None, use_errno=True).syscall
    found.argtypes = (ctypes.c_long,) * 6
    found.restype = ctypes.c_long
    return found, numbers
