"""Asynchronous direct I/O on Linux: one system call submits many requests from one thread.

Threads that call `pread` and `pwrite` reach a disk's rate with long requests. With short requests they wait for each other's GIL.
One call of `io_submit` submits a batch of requests, and one call of `io_getevents` waits for it. Neither holds the GIL. Where the
system lacks these calls or forbids them, requests are carried out one by one.

The calls go through `syscall`, because the C library has no wrappers for them; see io_submit(2).
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
"""The most requests under way at a time."""
READ, WRITE = 0, 1
"""The kernel's operation codes for `pread` and `pwrite`."""
_NUMBERS = {"x86_64": (206, 208, 209), "aarch64": (0, 4, 2), "riscv64": (0, 4, 2)}
"""The system call numbers of `io_setup`, `io_getevents` and `io_submit`, by architecture."""
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
"""The fewest requests for which submitting them together is faster."""

SHARE = 4
"""`read_by_slots` waits for 1/`SHARE` of the requests under way before it submits the next ones."""

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Arrived = Callable[[Numbers, Numbers], None]
"""Callback for completed reads: the indices of the requests, and where the data of each begin in the buffer."""


class FileRequests(ABC):
    """A way to carry out up to `DEPTH` requests at a time. It belongs to one thread."""

    @abstractmethod
    def begin(
        self, code: int, file: int, numbers: Numbers, offsets: Numbers, memory: Bytes, places: Numbers, nbytes: Numbers
    ) -> None:
        """Submit requests between a file and memory.

        Each request moves `nbytes` bytes between `offsets` in the file and `places` in memory. `numbers` (below `DEPTH`) identify
        the requests among those under way.
        """

    @abstractmethod
    def some(self, least: int) -> tuple[Numbers, Numbers]:
        """Wait for about `least` of the requests under way.

        Returns the numbers of some completed requests, and the bytes that each has moved or its negated error number.

        Raises:
            OSError: the system does not report the results.
        """

    @property
    @abstractmethod
    def under_way(self) -> int:
        """The number of requests that were submitted and not reported yet."""

    def carry_out(self, code: int, file: int, offsets: Numbers, memory: Bytes, places: Numbers, nbytes: Numbers) -> Numbers:
        """Carry out up to `DEPTH` requests and wait for them. Returns the bytes that each has moved, or its negated error number.

        Raises:
            OSError: the system does not report the results.
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
        """Read any number of requests through a bounce buffer, which is divided into slots of `slot` bytes.

        As many requests are under way as there are slots, `DEPTH` at most. `arrived` is called for completed requests and copies
        their data out; their slots then take the next requests. `check` is called before each submission and may raise. Returns
        the same as `carry_out`.

        Raises:
            OSError: the system does not report the results. Errors of `arrived` and `check` pass through.
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
        """Wait for all requests under way; afterwards the system no longer writes to the memory."""
        while self.under_way:
            self.some(self.under_way)


class OneByOne(FileRequests):
    """Requests carried out one after the other."""

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

    def some(self, least: int) -> tuple[Numbers, Numbers]:  # noqa: ARG002  # Every submitted request is already complete.
        done, self._done = np.array(self._done, np.int64).reshape(-1, 2), []
        return done[:, 0], done[:, 1]

    @property
    def under_way(self) -> int:
        return len(self._done)


class Queue(FileRequests):
    """A request queue of the Linux kernel.

    Raises:
        OSError: the system has no such queues, or no more of them.
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
        self._early: list[tuple[Numbers, Numbers]] = []  # Completed or rejected requests that were not reported yet.

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
def requests(count: int) -> Iterator[FileRequests]:
    """The fastest available way to carry out `count` requests at a time, for one thread."""
    queue = _taken() if count >= _SEVERAL else None
    try:
        yield queue or OneByOne()
    finally:
        if queue is not None and not queue.under_way:
            with _lock:  # Queues are reused: destroying one takes the system longer than many requests.
                _free.append(queue)


@cache
def is_available() -> bool:
    """Whether this system has request queues. The first call tries one."""
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
    """The address of an array in memory."""
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


in_child(_free.clear)  # A child process does not inherit the queues.


def _failed() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


@cache
def _calls() -> tuple[Callable[..., int], tuple[int, int, int]] | None:
    """The `syscall` function and the numbers of the three calls; None where the system has none."""
    numbers = _NUMBERS.get(platform.machine())
    if not sys.platform.startswith("linux") or numbers is None or sys.maxsize < 1 << 32 or sys.byteorder != "little":
        return None
    found = ctypes.CDLL(None, use_errno=True).syscall
    found.argtypes = (ctypes.c_long,) * 6
    found.restype = ctypes.c_long
    return found, numbers
