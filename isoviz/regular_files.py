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
from isoviz.file_rights import PRIVATE, Rights, give, usual_mode
from isoviz.whose import MOST_LINKS, is_trusted, problem_of

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


def read_own(path: str | Path, most: int = -1) -> bytes:
    """The content of a file that isoviz has kept and believes, its first `most` bytes: nobody but this user could write it.

    Raises:
        FileError: as `open_for_reading`, or it is another user's, a link, or others may write to it.
    """
    if Path(path).is_symlink():
        raise FileError(f"{path}: is a link; expected the file itself")
    descriptor, status = open_for_reading(path)
    with os.fdopen(descriptor, "rb") as file:
        if problem := problem_of(status):
            raise FileError(f"{path}: {problem}; remove it")
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
        FileError: the name ends in a slash, or is that of a directory, a pipe, a socket or a device. Or it is a link of another
            user, who could have any file of this user replaced.
    """
    _check_path(path)
    text = os.fspath(path)
    if text.endswith(os.sep):
        raise FileError(f"{text}: ends in {os.sep!r}, as a directory does; expected the name of a file")
    try:
        real = _in_real_folder(Path(text))
        for _ in range(MOST_LINKS):
            status = real.lstat()
            if not stat.S_ISLNK(status.st_mode):
                break
            if not is_trusted(status.st_uid):
                raise FileError(f"{text}: {real} is a link of another user; expected the name of the file itself")
            real = _in_real_folder(real.parent / real.readlink())
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


def open_lock(path: Path) -> int:
    """A descriptor of a file that processes lock, made if it is missing. A link is not followed.

    Raises:
        OSError: it cannot be opened.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)


def _in_real_folder(path: Path) -> Path:
    return Path(os.path.realpath(path.parent), path.name)


def _beside(path: Path) -> Path:
    """An unused name in the folder of a file."""
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.part")


def sources_of(path: str | Path) -> tuple[Rights, ...]:
    """The rights of a file that a new file has its content from; none if the content is from a pipe.

    Raises:
        FileError: it is not a path.
    """
    _check_path(path)
    return tuple(filter(None, [Rights.of(Path(os.path.realpath(path)))]))


def write_text(path: str | Path, text: str, *, source: str | Path | None = None, private: bool = False) -> None:
    """Writes a file so that at every moment it has its old or its new content, never a part.

    The file gets the rights of the user's own file that it replaces, and no more than the file `source`, which its content is
    from (`isoviz.file_rights`). A `private` file, such as one for `read_own`, is for this user alone.

    Raises:
        FileError: it cannot be written, or the name is that of something else than a file.
    """
    target = final_path(path)
    temporary = _beside(target)
    try:
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
                if not private:
                    sources = () if source is None else sources_of(source)
                    give(descriptor, usual_mode(target.parent, _beside(target)), Rights.of(target), sources)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(f"{path}: cannot be written: {problem}") from None
