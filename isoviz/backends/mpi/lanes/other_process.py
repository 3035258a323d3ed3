"""Memory of another process: may this one reach it, and the calls that do."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.mpi.thread.bells import library
from isoviz.errors import RunError

MOST_PIECES = 1024
"""Pieces of one `process_vm_writev` (IOV_MAX of Linux)."""
_SET_PTRACER = 0x59616D61
READ, WRITE = "process_vm_readv", "process_vm_writev"


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
            error = os.strerror(ctypes.get_errno()) if done < 0 else f"{done} of {nbytes} bytes were moved"
            raise RunError(f"memory of process {process}: {error}")

    access.kept = mine, theirs  # type: ignore[attr-defined]
    return access


@cache
def _access(name: str) -> Any:
    call = getattr(ctypes.CDLL(None, use_errno=True), name)
    call.restype = ctypes.c_ssize_t
    return call


def check_reach(process: int, address: int) -> None:
    """Require that this process may reach the memory of another one.

    Raises:
        RunError: it may not.
    """
    room = np.zeros(8, np.uint8)
    mine = np.array([[room.ctypes.data, 1]], np.int64)
    theirs = np.array([[address, 1]], np.int64)
    done = _access(READ)(
        ctypes.c_int(process),
        *(ctypes.c_void_p(mine.ctypes.data), ctypes.c_ulong(1)),
        *(ctypes.c_void_p(theirs.ctypes.data), ctypes.c_ulong(1), ctypes.c_ulong(0)),
    )
    if done != 1:
        raise RunError(f"memory of process {process} cannot be reached: {os.strerror(ctypes.get_errno())}")


@cache
def allow_tracing() -> None:
    """Let the processes of this job reach the memory of this one where the system asks for that (Yama, `ptrace_scope` 1)."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() == "1":
        library().prctl(_SET_PTRACER, ctypes.c_ulong(os.getppid()), 0, 0, 0)
