"""Regular files: opened without waiting, and anything else refused with a reason.

isoviz reads everything through this module: data, transfer files, machine files, ledgers and caches. Opening a pipe without a
writer would wait for ever, and reading a device may never end.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

from isoviz.errors import FileError, show

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_REASONS = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file (a part of the path is not a directory)",
    errno.EACCES: "permission denied",
    errno.EISDIR: "is a directory; expected a file",
    errno.ELOOP: "symbolic links that lead in a circle",
}


def reason(error: OSError) -> str:
    """The reason of a system error, in words."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def open_for_reading(path: str | Path) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file and its status.

    Raises:
        FileError: the file is missing or not readable, or it is a directory, a pipe, a socket or a device.
    """
    descriptor, status = _opened(path)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _no_file(path, status)
    return descriptor, status


def read_some(path: str | Path, most: int) -> bytes:
    """The first `most` bytes of a file, or the whole file if it is shorter.

    A pipe without a name is read to its end: a shell makes one for `<(…)`, and `/dev/stdin` may be one.

    Raises:
        FileError: as `open_for_reading`, or reading fails.
    """
    descriptor, status = _opened(path)
    if stat.S_ISFIFO(status.st_mode) and not os.path.lexists(os.path.realpath(path)):
        os.set_blocking(descriptor, True)
    elif not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise _no_file(path, status)
    with os.fdopen(descriptor, "rb") as file:
        try:
            return file.read(most)
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None


def base_of(path: str | Path) -> Path:
    """The folder that relative paths in a file refer to: its own, or the working directory for a path that only a shell named."""
    folder = Path(path).parent
    return Path() if folder.is_relative_to("/dev") or folder.is_relative_to("/proc") else folder


def _opened(path: str | Path) -> tuple[int, os.stat_result]:
    _check_path(path)
    try:
        # O_NONBLOCK: opening a pipe without a writer must not wait. O_NOCTTY: no terminal becomes the controlling one.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        return descriptor, os.fstat(descriptor)
    except OSError as error:
        if error.errno == errno.ENXIO:  # A socket or a missing device cannot be opened.
            raise _no_file(path, Path(path).stat()) from None
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:  # The name has a NUL.
        raise FileError(f"{str(path)!r}: {error}") from None


def _check_path(path: object) -> None:
    """A number would be taken for the descriptor of an open file."""
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"file: expected a path, got {show(path)}")


def _no_file(path: str | Path, status: os.stat_result) -> FileError:
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
    return FileError(f"{path}: is {kind}; expected a regular file")


def final_path(path: str | Path) -> Path:
    """The real path of a file to be written. A symbolic link is followed, so that the link stays.

    Raises:
        FileError: the name ends in a slash, or is that of a directory, a pipe, a socket or a device.
    """
    _check_path(path)
    text = os.fspath(path)
    if text.endswith(os.sep):
        raise FileError(f"{text}: ends in {os.sep!r}, as a directory does; expected the name of a file")
    try:
        real = Path(os.path.realpath(text))
        status = real.lstat()
    except FileNotFoundError:
        return real
    except (OSError, ValueError) as error:  # ValueError: the name has a NUL.
        problem = reason(error) if isinstance(error, OSError) else str(error)
        raise FileError(f"{text!r}: {problem}") from None
    if stat.S_ISLNK(status.st_mode):  # Only a circle of links leaves one.
        raise FileError(f"{text}: symbolic links that lead in a circle")
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
        raise FileError(f"{text}: is {kind}; expected the name of a file")
    return real


def write_text(path: str | Path, text: str) -> None:
    """Writes a file so that at every moment it has its old or its new content, never a part.

    Raises:
        FileError: it cannot be written, or the name is that of something else than a file.
    """
    target = final_path(path)
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{path}: cannot be written: {problem}") from None
