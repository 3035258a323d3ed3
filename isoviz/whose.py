"""The owner of a file or a folder. isoviz trusts, loads and starts only files of the user that nobody else can change.

Descriptors are checked (`os.fstat`), not names: between the check of a name and its use, another user could replace the file.
Root counts as nobody else, because root can change everything anyway.
"""

from __future__ import annotations

import errno
import os
import stat

MOST_LINKS = 40
"""Links that one path may follow, as in Linux."""


def is_own(status: os.stat_result) -> bool:
    """Whether a file or a folder belongs to this user."""
    return status.st_uid == os.geteuid()


def problem_of(status: os.stat_result, *, secret: bool = False) -> str | None:
    """Why a file or a folder is not to be trusted, in words that follow its name; None if it is.

    It has to belong to this user, and nobody else may write to it. With `secret`, nobody else may read it either.
    """
    if not is_own(status):
        return "belongs to another user"
    if status.st_mode & 0o022:
        return "can be changed by others"
    if secret and status.st_mode & 0o077:
        return "can be read by others"
    return None


def problem_above(path: str | os.PathLike[str]) -> str | None:
    """Why somebody else could put another file or folder at a path, in a sentence; None if nobody can.

    Every folder and every link on the way, the last part included if it is a link, has to belong to this user or to root. Others
    may write only to sticky folders, such as `/tmp`, where they cannot rename what is not theirs, and to what lies below a folder
    of the user that nobody else can enter. The way ends at a part that is missing. Whose the file or the folder at the path is,
    `problem_of` says.

    Raises:
        OSError: the path cannot be followed, for example because its links lead in a circle.
    """
    text = os.fspath(path)
    ahead = f"{'' if text.startswith('/') else os.getcwd()}/{text}".split("/")[::-1]  # noqa: PTH109
    at, links, hidden = "", 0, False
    folder = os.lstat("/")
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        if part == "..":
            at, hidden = at.rpartition("/")[0], False
            folder = os.lstat(at or "/")
            continue
        if not is_trusted(folder.st_uid):
            return f"{at or '/'} belongs to another user"
        if folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX and not hidden:
            return f"others can rename what is in {at or '/'}"
        hidden = hidden or (is_own(folder) and not folder.st_mode & 0o011)
        here = f"{at}/{part}"
        try:
            status = os.lstat(here)
        except FileNotFoundError:
            return None
        if not stat.S_ISLNK(status.st_mode):
            at, folder = here, status
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), text)
        if not is_trusted(status.st_uid):
            return f"the link {here} belongs to another user"
        target = os.readlink(here)  # noqa: PTH115
        ahead += target.split("/")[::-1]
        if target.startswith("/"):
            at, hidden = "", False
            folder = os.lstat("/")
    return None


def is_trusted(uid: int) -> bool:
    """Whether the folders and links of a user are as good as one's own: they are, or they are root's."""
    return uid in (0, os.geteuid()) or uid == _unknown_user()


def _unknown_user() -> int | None:
    """The number that everybody has whom this container does not know, the system's root among them; None outside of one."""
    try:
        with open("/proc/sys/kernel/overflowuid", encoding="ascii") as file:  # noqa: PTH123  # ranks start with few imports
            unknown = int(file.read())
        with open("/proc/self/uid_map", encoding="ascii") as file:  # noqa: PTH123
            known = [tuple(map(int, line.split())) for line in file]
    except (OSError, ValueError):
        return None
    return None if any(first <= unknown < first + count for first, _, count in known) else unknown
