"""Room for a new file, taken before anything is written.

A file that has its blocks can be written by several requests at a time; one that grows as it is written takes them one after
the other (ext4: random requests of 16 KiB, eight in flight, 0.16 → 0.61 GB/s). And a disk that is too full says so at once.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from functools import cache

WORTH_IT = 1 << 20
"""Bytes below which a file is written faster than its room is reserved."""
_UNKNOWN = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EINTR)


def reserve(descriptor: int, size: int) -> bool:
    """Have the file system set blocks aside for the first `size` bytes of an open file, where it is a disk's and can.

    Not of `posix_fallocate`: that writes to every block where the file system has no such call. Not in memory (tmpfs), where it
    would clear every page, which is as slow as writing it. Returns whether it was done.

    Raises:
        OSError: no room, a quota or a limit on the size of files.
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
    """The C library's call; None where it has none."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        found = getattr(library, "fallocate64", None) or library.fallocate  # where there is no other, offsets have 64 bits
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    found.restype = ctypes.c_int
    call: Callable[[int, int, int, int], int] = found
    return call
