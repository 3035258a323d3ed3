"""Memory of another process: may this one write to it, and the calls that do."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from isoviz.backends.mpi.bells import library
from isoviz.errors import RunError

MOST_PIECES = 1024
"""Pieces of one `process_vm_writev` (IOV_MAX of Linux)."""
_SET_PTRACER = 0x59616D61


def write_call(process: int, here: int, nbytes: int, there: np.ndarray[Any, np.dtype[np.int64]]) -> Callable[[], None]:
    """The call that writes contiguous bytes of this process to some runs of another one."""
    mine = np.array([[here, nbytes]], np.int64)
    theirs = np.ascontiguousarray(there, np.int64)
    arguments = (
        *(ctypes.c_int(process), ctypes.c_void_p(mine.ctypes.data), ctypes.c_ulong(1)),
        *(ctypes.c_void_p(theirs.ctypes.data), ctypes.c_ulong(len(theirs)), ctypes.c_ulong(0)),
    )
    call = _writer()

    def write() -> None:
        done = call(*arguments)
        if done != nbytes:
            error = os.strerror(ctypes.get_errno()) if done < 0 else f"{done} of {nbytes} bytes were written"
            raise RunError(f"memory of process {process}: {error}")

    write.kept = mine, theirs  # type: ignore[attr-defined]
    return write


@cache
def _writer() -> Any:
    call = ctypes.CDLL(None, use_errno=True).process_vm_writev
    call.restype = ctypes.c_ssize_t
    return call


def check_reach(process: int, address: int) -> None:
    """Require that this process may write to the memory of the receiver: it writes nothing to no place.

    Raises:
        RunError: it may not.
    """
    room = np.zeros(8, np.uint8)
    call = ctypes.CDLL(None, use_errno=True).process_vm_readv
    call.restype = ctypes.c_ssize_t
    mine = np.array([[room.ctypes.data, 1]], np.int64)
    theirs = np.array([[address, 1]], np.int64)
    done = call(
        ctypes.c_int(process),
        *(ctypes.c_void_p(mine.ctypes.data), ctypes.c_ulong(1)),
        *(ctypes.c_void_p(theirs.ctypes.data), ctypes.c_ulong(1), ctypes.c_ulong(0)),
    )
    if done != 1:
        raise RunError(f"memory of process {process} cannot be reached: {os.strerror(ctypes.get_errno())}")


@cache
def allow_tracing() -> None:
    """Let the processes of this job write to this one where the system asks for that (Yama, `ptrace_scope` 1)."""
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and scope.read_text().strip() == "1":
        library().prctl(_SET_PTRACER, ctypes.c_ulong(os.getppid()), 0, 0, 0)
