"""File system queries, with readable errors."""

from __future__ import annotations

import os
from pathlib import Path

from isoviz.errors import FileError
from isoviz.regular_files import reason


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
