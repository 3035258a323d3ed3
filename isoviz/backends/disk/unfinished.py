"""Unfinished files: nameless where the file system supports that, else with a temporary name that only isoviz uses.

The writing process holds a lock on the file (`flock`), which ends with the process. The lock distinguishes the files of killed
processes from files that are still being written.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from isoviz.errors import FileError
from isoviz.file_rights import PRIVATE, Rights, give, usual_mode
from isoviz.this_computer import host_name

_NO_LINKS = (errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
_NO_SUCH_CALL = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_HERE, _NOT_OVER_ANOTHER = -100, 1  # AT_FDCWD, RENAME_NOREPLACE


class Unfinished:
    """A new file in a directory, open for reading and writing as `descriptor`. Nobody else may open it until `become`.

    It gets its name in the directory that was opened, even if another one has that path by then. `directory` leads to it. The
    caller closes the descriptor and then calls `remove`, which leaves a file with its final name alone.

    Raises:
        OSError: the file cannot be created.
        FileError: a hundred temporary names were taken.
    """

    def __init__(self, directory: Path) -> None:
        self._path: Path | None = None
        self._place = os.open(directory, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
        opened = Path(f"/proc/self/fd/{self._place}")
        self.directory = opened if opened.is_dir() else directory
        try:
            self.descriptor = self._created(directory)
        except BaseException:
            os.close(self._place)
            raise

    def _created(self, directory: Path) -> int:
        with contextlib.suppress(OSError, AttributeError):
            descriptor = os.open(self.directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, PRIVATE)
            _lock(descriptor)
            return descriptor
        for _ in range(100):
            path = self._beside()
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
                if _lock(descriptor) and _is_at(descriptor, path):
                    self._path = path
                    return descriptor
                os.close(descriptor)  # `sweep` locked it first and took it for an abandoned file.
        raise FileError(f"{directory}: a new file cannot be created beside a hundred unfinished ones")

    def _beside(self) -> Path:
        return self.directory / f".isoviz-{_computer()}-{os.urandom(8).hex()}.part"

    def become(self, name: str, replace: bool, sources: Sequence[Rights]) -> None:
        """Take a name in the directory atomically. With `replace` the file replaces the one of that name.

        It gets the rights of a new file with content from `sources` (`isoviz.file_rights`).

        Raises:
            FileExistsError: without `replace`, a file already has the name.
            OSError: the file cannot be named.
        """
        final = self.directory / name
        give(self.descriptor, usual_mode(self.directory, self._beside()), Rights.of(final) if replace else None, sources)
        if self._path is None:
            try:
                self._link(final)
            except FileExistsError:
                if not replace:
                    raise
            else:
                return
            self._path = self._beside()
            self._link(self._path)
        if replace:
            self._path.replace(final)
        else:
            _move(self._path, final)
        self._path = None

    def _link(self, path: Path) -> None:
        """Give the nameless file an unused name."""
        # A directory descriptor makes Python call linkat(), and only linkat() follows the link in /proc.
        source, place = f"/proc/self/fd/{self.descriptor}", self._place
        os.link(source, path.name, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=True)

    def remove(self) -> None:
        """Delete a file that did not get its final name, and close the directory."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            self._path = None
        if self._place >= 0:
            os.close(self._place)
            self._place = -1


def _move(path: Path, final: Path) -> None:
    """Rename a file unless the new name exists. A check beforehand would be too early: the name may appear after the check."""
    try:
        os.link(path, final)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
    else:
        path.unlink()
        return
    try:
        _rename(path, final)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
    else:
        return
    os.close(os.open(final, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))  # This reserves the name.
    try:
        path.replace(final)
    except BaseException:
        final.unlink()
        raise


def _rename(path: Path, final: Path) -> None:
    """Rename with `renameat2`, without replacing a file.

    Raises:
        OSError: the name exists, or the system or the file system lacks the call.
    """
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    if call(_HERE, os.fsencode(path), _HERE, os.fsencode(final), _NOT_OVER_ANOTHER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(final))


def sweep(directory: Path) -> None:
    """Delete the unfinished files that killed processes of this computer left in a directory, but none that is being written."""
    ours = re.compile(rf"\.isoviz-{_computer()}-[0-9a-f]{{16}}\.part")
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for name in (entry.name for entry in entries):
            if name.startswith(".isoviz-") and ours.fullmatch(name):  # In a large directory most names do not match.
                _remove_left(directory / name)


def _remove_left(path: Path) -> None:
    with contextlib.suppress(OSError):  # The file may be gone, belong to another user, or lie on a file system without locks.
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor, needed=True) and _is_at(descriptor, path):
                path.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int, needed: bool = False) -> bool:
    """Lock an open file until it is closed; False if another process holds the lock.

    On a file system without locks this returns True, unless `needed`: there no process can hold a lock, and `sweep` deletes
    nothing.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return not needed
    return True


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


@cache
def _computer() -> str:
    """A name for this computer: on a shared directory, locks held by other computers may be invisible."""
    return hashlib.sha256(host_name().encode()).hexdigest()[:8]
