"""File system queries, with readable errors."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

from isoviz.errors import FileError
from isoviz.regular_files import reason

# Allocation of a new file's blocks before anything is written.
#
# An allocated file accepts several write requests at a time. A growing file serializes them (ext4: random requests of
# 16 KiB, eight in flight, 0.16 → 0.61 GB/s). A full disk is also reported at once.

WORTH_IT = 1 << 20
"""File size in bytes below which writing takes less time than the allocation."""
_UNKNOWN = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EINTR)


def reserve(descriptor: int, size: int) -> bool:
    """Allocate blocks for the first `size` bytes of an open file, if it lies on a disk and the file system supports it.

    `posix_fallocate` is not used: it writes to every block where the file system has no such call. Nothing is allocated in memory
    (tmpfs): clearing every page is as slow as writing it. Returns whether blocks were allocated.

    Raises:
        OSError: no space, a quota, or a limit on the file size.
    """
    fallocate = _fallocate()
    if fallocate is None or size < WORTH_IT or not os.major(os.fstat(descriptor).st_dev):
        return False
    if fallocate(descriptor, 0, 0, size) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNKNOWN:
        return False
    raise OSError(number, os.strerror(number))


@cache
def _fallocate() -> Callable[[int, int, int, int], int] | None:
    """The C library's function; None where it has none."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        found = getattr(library, "fallocate64", None) or library.fallocate  # With 64-bit offsets, too.
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    found.restype = ctypes.c_int
    call: Callable[[int, int, int, int], int] = found
    return call


def free_bytes(directory: Path) -> int:
    """Bytes of the directory's file system that this user may still write.

    Raises:
        FileError: there is no such directory.
    """
    try:
        found = os.statvfs(directory)
    except OSError as error:
        raise FileError(f"{directory}: {reason(error).replace('file', 'directory')}") from None
    return found.f_bavail * found.f_frsize
