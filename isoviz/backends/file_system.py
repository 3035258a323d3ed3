"""Names, places and files as the system has them, with errors in words."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from isoviz.errors import FileError


def open_for_reading(path: Path) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file and its status.

    Raises:
        FileError: missing, a directory, not readable, not a regular file.
    """
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:  # a NUL in the name
        raise FileError(f"{str(path)!r}: {error}") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise FileError(f"{path}: is {kind}; expected a file of data")
    return descriptor, status


def free_bytes(directory: Path) -> int:
    """Bytes that this user may still write to the file system of a directory.

    Raises:
        FileError: no such directory.
    """
    try:
        found = os.statvfs(directory)
    except OSError as error:
        raise FileError(f"{directory}: {reason(error).replace('file', 'directory')}") from None
    return found.f_bavail * found.f_frsize


def reason(error: OSError) -> str:
    """What went wrong, in words."""
    known = {
        errno.ENOENT: "no such file",
        errno.ENOTDIR: "no such file (a part of the path is not a directory)",
        errno.EACCES: "permission denied",
        errno.EISDIR: "is a directory; expected a file",
    }
    return known.get(error.errno or 0) or (error.strerror or str(error)).lower()


def final_path(path: Path) -> Path:
    """Where a file of this name really is: a symbolic link is followed, so that the link stays."""
    try:
        real = Path(os.path.realpath(path))
        if real.is_symlink():  # only a loop leaves one
            raise FileError(f"{path}: symbolic links that lead in a circle")
        if real.is_dir():
            raise FileError(f"{path}: is a directory; expected the name of a file")
        if real.exists() and not real.is_file():
            raise FileError(f"{path}: is not a regular file; cannot be replaced")
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"{str(path)!r}: {error}") from None
    return real
