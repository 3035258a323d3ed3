"""Bells: how the MPI thread of a rank sleeps, and how others wake it.

A bell is a word of memory on which Linux lets a thread wait (a futex). Threads of the rank ring it when they queue a command. The
bells of the ranks of one host lie in memory that all of them map, so that the sender of a message wakes the receiver at once.
Without that the receiver finds the message when it looks again, up to 1 ms later.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import platform
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from isoviz.backends.pages import PAGE

FUTEX = {"x86_64": 202, "aarch64": 98, "ppc64le": 221, "riscv64": 98, "s390x": 238}.get(platform.machine())
WAIT, WAKE = 0, 1
_COUNT, _ASLEEP, _POLLED = 0, 16, 32
"""The words of a bell: how often it rang, whether its owner sleeps, and whether another thread of the owner's rank looks for
messages. They lie in different cache lines."""


class Bell(Protocol):
    """Wakes the thread that owns it."""

    def ring(self) -> None:
        """Wake the owner if it sleeps. It takes no lock that another caller may hold."""

    def ring_for_message(self) -> None:
        """Wake the owner if it sleeps, unless another thread of its rank looks for messages."""

    def sleep(self, seconds: float, has_work: Callable[[], bool]) -> bool:
        """Sleep until the bell rings, or for less than a second. Returns whether it rang, or at once if there is work."""

    def close(self) -> None:
        """Let go of shared memory. Later rings do nothing."""


class SharedBell:
    """A bell in a page, which other processes may map."""

    def __init__(self, page: mmap.mmap) -> None:
        self._words = (ctypes.c_uint32 * (PAGE // 4)).from_buffer(page)
        self._address = ctypes.c_void_p(ctypes.addressof(self._words))
        self._call = library().syscall
        self._wake = quick_library().syscall

    def ring(self) -> None:
        words = self._words
        if words[_ASLEEP]:
            words[_COUNT] = (words[_COUNT] + 1) & 0xFFFFFFFF
            self._wake(FUTEX, self._address, WAKE, 1, None, None, 0)

    def ring_for_message(self) -> None:
        if not self._words[_POLLED]:
            self.ring()

    @property
    def is_polled(self) -> bool:
        """Whether a thread besides the owner looks for messages."""
        return bool(self._words[_POLLED])

    @is_polled.setter
    def is_polled(self, value: bool) -> None:
        self._words[_POLLED] = value

    def sleep(self, seconds: float, has_work: Callable[[], bool]) -> bool:
        # No variable for the words: a traceback of an error in `has_work` would keep the page after `close`.
        before = self._words[_COUNT]
        self._words[_ASLEEP] = 1
        try:
            if has_work():  # Work that comes later rings.
                return True
            time = FutexTime(0, int(seconds * 1e9))
            self._call(FUTEX, self._address, WAIT, ctypes.c_uint32(before), ctypes.byref(time), None, 0)
        finally:
            self._words[_ASLEEP] = 0
        return bool(self._words[_COUNT] != before)

    def close(self) -> None:
        self._words = (ctypes.c_uint32 * (PAGE // 4))()


class LocalBell:
    """A bell for the threads of this process, for systems without futexes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self._asleep = False

    def ring(self) -> None:
        if self._asleep:
            with contextlib.suppress(RuntimeError):  # it has rung already
                self._lock.release()

    def ring_for_message(self) -> None:
        self.ring()

    def sleep(self, seconds: float, has_work: Callable[[], bool]) -> bool:
        self._asleep = True
        try:
            return has_work() or self._lock.acquire(timeout=seconds)
        finally:
            self._asleep = False

    def close(self) -> None:
        """Do nothing: nothing is shared."""


def are_shared() -> bool:
    """Whether this system lets processes wait on words of shared memory."""
    return FUTEX is not None and sys.platform == "linux"


def own_bell() -> Bell:
    """A bell that only this process can ring."""
    return SharedBell(mmap.mmap(-1, PAGE)) if are_shared() else LocalBell()


def give_way() -> None:
    """Give the processor to another process, and the interpreter to another thread of this one meanwhile."""
    library().sched_yield()


class FutexTime(ctypes.Structure):
    """How long a thread sleeps."""

    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


@cache
def library() -> Any:
    """The C library. The interpreter is free during its calls."""
    return ctypes.CDLL(None)


@cache
def quick_library() -> Any:
    """For calls that take a microsecond: the caller keeps the interpreter, which it would not get back for longer than that."""
    return ctypes.PyDLL(None)
