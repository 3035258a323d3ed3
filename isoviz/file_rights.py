"""The rights of new files: never more than those of the file that is replaced, and of the files that the content is from.

A file that is being written is open to its user alone (`PRIVATE`). Once it is complete, `give` gives it its rights.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from isoviz.whose import is_own

PRIVATE = 0o600
"""The mode of a file that is not complete."""
_USUAL = 0o666
"""What a program asks for when it creates a file; the umask takes rights away, or a list of the folder."""
_LIST = "system.posix_acl_access"
"""The access control list of a file on Linux. A file with a list shows its mask in the place of the rights of its group."""


class Rights(NamedTuple):
    """The nine bits of a file's mode, its group, its access control list (None: it has none), and whether the user owns it."""

    mode: int
    group: int
    acl: bytes | None
    is_own: bool

    @classmethod
    def of(cls, file: int | Path) -> Rights | None:
        """The rights of an open file or of the file at a path; None if there is no regular file."""
        try:
            status = os.fstat(file) if isinstance(file, int) else os.lstat(file)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return cls(status.st_mode & 0o777, status.st_gid, _list_of(file), is_own(status))

    def allows(self, group: int, acl: bytes | None) -> int:
        """The most bits that a file of this group and with this list may have. Its owner may always read and write it.

        The members of another group, and those whom another list names, may do what everybody may do.
        """
        bits = self.mode | stat.S_IRWXU
        return bits if (group, acl) == (self.group, self.acl) else bits & (~stat.S_IRWXG | bits << 3)


UNKNOWN = Rights(PRIVATE, -1, None, is_own=False)
"""The rights of a file that nothing is known about: nobody else may read it."""


def usual_mode(folder: Path, unused: Path) -> int:
    """The mode of a file that any program creates in a folder. Where files need names, an empty one has the name `unused`.

    Raises:
        OSError: no file can be created.
    """
    # The umask alone does not tell: the folder may have a list for new files. And asking for it sets it, for all threads.
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, _USUAL)
    except (OSError, AttributeError):
        descriptor = os.open(unused, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _USUAL)
        with contextlib.suppress(OSError):
            unused.unlink()
    try:
        return os.fstat(descriptor).st_mode & 0o777
    finally:
        os.close(descriptor)


def give(descriptor: int, usual: int, replaced: Rights | None, sources: Sequence[Rights]) -> None:
    """Give a complete file the rights of the user's own file that it replaces, else the usual ones, but none that are too many.

    `replaced` is the file that it replaces, and `sources` are those that its content is from.
    """
    if replaced is not None and replaced.is_own:
        usual = replaced.mode
        # A list opens the file at once, so it is only given where nothing has to be taken away again.
        is_open = all(not usual & ~each.allows(replaced.group, replaced.acl) for each in sources)
        with contextlib.suppress(OSError):  # The user is no longer in that group, or the file system has no lists.
            os.fchown(descriptor, -1, replaced.group)
        _set_list(descriptor, replaced.acl if is_open else None)
    group, acl = os.fstat(descriptor).st_gid, _list_of(descriptor)
    for each in (*sources, *([] if replaced is None else [replaced])):
        usual &= each.allows(group, acl)
    with contextlib.suppress(OSError):  # A file system without modes has the same rights for all its files.
        os.fchmod(descriptor, usual)


def _list_of(file: int | Path) -> bytes | None:
    try:
        return os.getxattr(file, _LIST)
    except (OSError, AttributeError):
        return None


def _set_list(descriptor: int, acl: bytes | None) -> None:
    if acl != _list_of(descriptor):
        with contextlib.suppress(OSError):
            if acl is None:
                os.removexattr(descriptor, _LIST)
            else:
                os.setxattr(descriptor, _LIST, acl)
