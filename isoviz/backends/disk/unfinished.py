"""New files until they have their name: without one where the file system can do that, else under one that only isoviz gives.

Who writes an unfinished file holds a lock on it (`flock`), which ends with the process. So what a killed process left can be told
from what another process is still writing.
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
from functools import cache
from pathlib import Path

from isoviz.errors import FileError
from isoviz.this_computer import host_name

_NO_LINKS = (errno.EPERM, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)
_NO_SUCH_CALL = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_HERE, _NOT_OVER_ANOTHER = -100, 1  # AT_FDCWD, RENAME_NOREPLACE


class Unfinished:
    """A new file in a directory, open for reading and writing as `descriptor`. Who made it closes the descriptor, then calls
    `remove`, which does nothing to a file that has its final name.

    Raises:
        OSError: it cannot be created. FileError: a hundred names were taken.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path: Path | None = None
        self.descriptor = self._created()

    def _created(self) -> int:
        with contextlib.suppress(OSError, AttributeError):
            descriptor = os.open(self.directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
            _lock(descriptor)
            return descriptor
        for _ in range(100):
            path = self._beside()
            with contextlib.suppress(FileExistsError):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
                if _lock(descriptor) and _is_at(descriptor, path):
                    self._path = path
                    return descriptor
                os.close(descriptor)  # `sweep` was quicker, and took it for one that was left
        raise FileError(f"{self.directory}: a new file cannot be created beside a hundred unfinished ones")

    def _beside(self) -> Path:
        return self.directory / f".isoviz-{_computer()}-{os.urandom(8).hex()}.part"

    def become(self, final: Path, replace: bool) -> None:
        """Take a name in the same directory, in one step. With `replace` it is taken from the file that has it.

        Raises:
            FileExistsError: without `replace`, a file has the name, since whenever. OSError: this cannot be done.
        """
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
        """Give the nameless file a name that no file has."""
        place = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # a directory descriptor makes Python use linkat(), which alone follows the link in /proc
            os.link(f"/proc/self/fd/{self.descriptor}", path.name, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=True)
        finally:
            os.close(place)

    def remove(self) -> None:
        """Leave nothing of a file that did not get its name."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            self._path = None


def _move(path: Path, final: Path) -> None:
    """Rename a file, unless another has the name. To look first would be too early: the other may appear after the look."""
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
    os.close(os.open(final, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))  # the name is ours from here on
    try:
        path.replace(final)
    except BaseException:
        final.unlink()
        raise


def _rename(path: Path, final: Path) -> None:
    """`renameat2` that replaces nothing.

    Raises:
        OSError: a file has the name, or neither the system nor the file system knows the call.
    """
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    if call(_HERE, os.fsencode(path), _HERE, os.fsencode(final), _NOT_OVER_ANOTHER) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(final))


def sweep(directory: Path) -> None:
    """Remove what killed processes of this computer left unfinished in a directory; never what a process is writing."""
    ours = re.compile(rf"\.isoviz-{_computer()}-[0-9a-f]{{16}}\.part")
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for name in (entry.name for entry in entries):
            if name.startswith(".isoviz-") and ours.fullmatch(name):  # most names in a large directory are not
                _remove_left(directory / name)


def _remove_left(path: Path) -> None:
    with contextlib.suppress(OSError):  # gone meanwhile, somebody else's, or on a file system without locks
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(descriptor).st_mode) and _lock(descriptor, needed=True) and _is_at(descriptor, path):
                path.unlink()
        finally:
            os.close(descriptor)


def _lock(descriptor: int, needed: bool = False) -> bool:
    """Lock an open file for as long as it is open; False where somebody else has. Where the file system knows no locks that
    counts as done, unless `needed`: nobody can hold one, and nobody sweeps."""
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
    """This computer, in names: where directories are shared, locks of another one may not be seen."""
    return hashlib.sha256(host_name().encode()).hexdigest()[:8]
