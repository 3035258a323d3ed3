"""Forked children: they have none of the parent's threads, and a lock that such a thread held stays locked for ever.

So an object with threads belongs to the process that made it (`Home`), and locks that outlive their callers are renewed in a
child (`Lock`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from isoviz.errors import ForkedError

_generation = 0
"""Number of forks between this process and the first one."""


class Home:
    """The process that an object belongs to: the one that made it. `what` is the name of the object for users."""

    __slots__ = ("_generation", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._generation = _generation

    @property
    def is_here(self) -> bool:
        """Whether this is that process."""
        return self._generation == _generation

    def require(self) -> None:
        """Require that this is that process.

        Raises:
            ForkedError: this is a forked child of it.
        """
        if self._generation != _generation:
            raise ForkedError(f"{self._what} belongs to the process that this one was forked from; make another one here")


class Lock:
    """A reentrant lock that is open in a forked child, even if a thread of the parent held it."""

    def __init__(self) -> None:
        self.renew()
        _locks.add(self)

    def renew(self) -> None:
        """Open the lock."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_locks: WeakSet[Lock] = WeakSet()


def in_child(forget: Callable[[], Any]) -> None:
    """Call a function first in every forked child from now on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def held_over_forks(lock: threading.Lock) -> None:
    """Let this process fork only while no thread holds a lock. Its state can neither be taken over by a child nor begin anew."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def _forked() -> None:
    global _generation  # forks are the process's
    _generation += 1
    for lock in list(_locks):
        lock.renew()


in_child(_forked)
