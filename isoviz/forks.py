"""Forked children: the threads of the parent do not come along, and a lock that one of them held stays locked for ever.

So who has threads belongs to the process that made it (`Home`), and locks that outlive every caller are new in a child (`Lock`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from isoviz.errors import ForkedError

_generation = 0
"""How many forks lie between this process and the first one."""


class Home:
    """The process that something belongs to: the one that made it. `what` names it to users."""

    __slots__ = ("_generation", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._generation = _generation

    @property
    def is_here(self) -> bool:
        """Whether it is this process."""
        return self._generation == _generation

    def require(self) -> None:
        """It has to be this process.

        Raises:
            ForkedError: this one is a forked child of it.
        """
        if self._generation != _generation:
            raise ForkedError(f"{self._what} belongs to the process that this one was forked from; make another one here")


class Lock:
    """A lock that one thread may take several times, and that is open in a forked child whoever held it in the parent."""

    def __init__(self) -> None:
        self.renew()
        _locks.add(self)

    def renew(self) -> None:
        """Nobody holds it any more."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


_locks: WeakSet[Lock] = WeakSet()


def in_child(forget: Callable[[], Any]) -> None:
    """Call this in every forked child from now on, before anything else happens there."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


def held_over_forks(lock: threading.Lock) -> None:
    """Let a process fork only while nobody holds this lock: for what a child could neither take over nor begin anew."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def _forked() -> None:
    global _generation
    _generation += 1
    for lock in list(_locks):
        lock.renew()


in_child(_forked)
