"""Memory of another process of this host: whether this process may reach it, and the calls that reach it."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.mpi.thread.bells import library
from isoviz.errors import RunError
from isoviz.layouts.copies import ListedCopy

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.ranks.handles import StoreHandle

Runs = np.ndarray[Any, np.dtype[np.int64]]
"""Runs of bytes: a row of offset or address, and length, for each."""

MOST_PIECES = 1024
"""Pieces of one `process_vm_writev` (IOV_MAX of Linux)."""
_SET_PTRACER = 0x59616D61
READ, WRITE = "process_vm_readv", "process_vm_writev"
_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)


class AccessRefusedError(RunError):
    """The system does not let this process reach the memory of another one."""


def accesses(name: str, end: StoreHandle, here: int, there: Runs) -> list[Callable[[], object]]:
    """The calls that move contiguous bytes of this process to some runs of another one (`WRITE`), or back (`READ`)."""
    calls: list[Callable[[], object]] = []
    for first in range(0, len(there), MOST_PIECES):
        some = there[first : first + MOST_PIECES]
        nbytes = int(some[:, 1].sum())
        calls.append(access_call(name, end.process, here, nbytes, some))
        here += nbytes
    return calls


def runs_at(at: int | None, copies: Sequence[StridedCopy], is_source: bool, end: StoreHandle) -> Runs:
    """The runs of a message at the far end, in the order of the message: addresses and lengths. `at`: the offset of a single run.

    Raises:
        RunError: they are outside of the store there.
    """
    nbytes = sum([copy.nbytes for copy in copies])
    runs = np.array([[at, nbytes]]) if at is not None else _joined(copies, is_source)
    if runs[:, 0].min() < 0 or runs.sum(axis=1).max() > end.nbytes:
        raise RunError("a copy reaches outside the store")
    runs[:, 0] += end.address
    return runs


def _joined(copies: Sequence[StridedCopy], is_source: bool) -> Runs:
    """The offsets and lengths of the runs of copies at one end; neighbours are joined."""
    found = []
    for copy in copies:
        source, destination, run, loops = copy
        offsets = np.array([source if is_source else destination])
        if isinstance(copy, ListedCopy):
            offsets = copy.offsets[0 if is_source else 1]
        for extent, here, there in loops:
            offsets = (offsets[:, None] + np.arange(extent) * (here if is_source else there)).reshape(-1)
        found.append(np.stack([offsets, np.full(len(offsets), run)], axis=1))
    runs = np.concatenate(found)
    first = np.flatnonzero(np.concatenate([[True], runs[:-1].sum(axis=1) != runs[1:, 0]]))
    return np.stack([runs[first, 0], np.add.reduceat(runs[:, 1], first)], axis=1)


def access_call(
    name: str, process: int, here: int, nbytes: int, there: np.ndarray[Any, np.dtype[np.int64]]
) -> Callable[[], None]:
    """The call that moves contiguous bytes of this process to some runs of another one (`WRITE`), or back (`READ`)."""
    mine = np.array([[here, nbytes]], np.int64)
    theirs = np.ascontiguousarray(there, np.int64)
    arguments = (
        *(ctypes.c_int(process), ctypes.c_void_p(mine.ctypes.data), ctypes.c_ulong(1)),
        *(ctypes.c_void_p(theirs.ctypes.data), ctypes.c_ulong(len(theirs)), ctypes.c_ulong(0)),
    )
    call = _access(name)

    def access() -> None:
        done = call(*arguments)
        if done != nbytes:
            raise _failure(process, nbytes, done)

    access.kept = mine, theirs  # type: ignore[attr-defined]
    return access


@cache
def _access(name: str) -> Any:
    call = getattr(ctypes.CDLL(None, use_errno=True), name)
    call.restype = ctypes.c_ssize_t
    return call


def _failure(process: int, nbytes: int, done: int) -> RunError:
    """The error of a call that has moved `done` of some bytes."""
    if done >= 0:
        return RunError(f"memory of process {process}: {done} of {nbytes} bytes were moved")
    return system_error(f"memory of process {process} cannot be reached", ctypes.get_errno())


def system_error(what: str, number: int) -> RunError:
    """The error of a call of the system: what it means in words, and its number; 0 if only some of the bytes were moved."""
    kind = AccessRefusedError if number in _REFUSED else RunError
    return kind(f"{what}: {os.strerror(number) if number else 'only some of the bytes were moved'}")


def check_reach(process: int, address: int, nbytes: int = 1) -> bytes:
    """Require that this process may reach the memory of another one. Returns some bytes from there.

    Raises:
        RunError: it may not.
    """
    room = np.zeros(nbytes, np.uint8)
    access_call(READ, process, room.ctypes.data, nbytes, np.array([[address, nbytes]]))()
    return room.tobytes()


@cache
def allow_tracing() -> None:
    """Let the processes of this job reach the memory of this one where the system asks for that (Yama, `ptrace_scope` 1)."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() == "1":
        library().prctl(_SET_PTRACER, ctypes.c_ulong(os.getppid()), 0, 0, 0)
