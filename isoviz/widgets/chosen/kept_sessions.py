"""Settings kept for the cells of notebooks, in files of the user's state directory: file logic only.

A file holds the settings that the code of a cell asked for (`start`) and those that were there last (`settings`). The directory
belongs to the user alone. Files are replaced as a whole, so processes that write at the same time leave the file of one of them.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from isoviz.errors import FileError
from isoviz.regular_files import read_own, write_text
from isoviz.user_cache import own_folder, state_folder
from isoviz.widgets.chosen.session_file import session_json, session_text, settings_of_json
from isoviz.widgets.chosen.settings import Settings

MOST_FILES = 200
"""Files that are kept; the oldest are removed."""
MOST_BYTES = 4 << 20
"""A longer text is not kept: a machine of thousands of channels was described, and the code that describes it is there."""
VERSION = 1
_UNFINISHED = 3600.0
"""Seconds after which a file that somebody began to write is one that nobody will finish."""


class CellPlace(NamedTuple):
    """What settings are kept for: the `number`-th explorer that a cell of a notebook shows."""

    notebook: str
    cell: str
    number: int = 0

    @property
    def file_name(self) -> str:
        """The name of its file."""
        key = "\0".join((self.notebook, self.cell, str(self.number)))
        return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".json"


class Kept(NamedTuple):
    """What was there: the settings, or None. `problem` says why a file was ignored, "" where there was none."""

    settings: Settings | None
    problem: str = ""


def keep(place: CellPlace, start: Settings, settings: Settings) -> str:
    """Keep settings for a place; those that the code asks for anyway (`start`) need no file.

    Returns why they are not kept, "" where they are.
    """
    folder = _folder()
    if folder is None:
        return "there is no directory for it"
    path = folder / place.file_name
    if session_text(settings) == session_text(start):
        return _removed(path)
    content = {
        "isoviz": "kept session",
        "version": VERSION,
        "notebook": place.notebook,
        "cell": place.cell,
        "number": place.number,
        "start": session_json(start),
        "settings": session_json(settings),
    }
    text = json.dumps(content)
    if len(text) > MOST_BYTES:
        return _removed(path) or f"it takes more than {MOST_BYTES >> 20} MiB"
    try:
        write_text(path, text + "\n", private=True)
    except FileError as error:
        return str(error)
    _prune(folder)
    return ""


def kept(place: CellPlace, start: Settings) -> Kept:
    """What is kept for a place where the code asks for `start`. Where it asked for something else then, there is nothing."""
    folder = _folder()
    if folder is None:
        return Kept(None)
    path = folder / place.file_name
    if not path.exists():
        return Kept(None)
    try:
        found = _read(path, place, start)
    except FileError as error:
        return Kept(None, str(error))
    if found is not None:
        with suppress(OSError):  # it is of use: others are older
            path.touch()
    return Kept(found)


def forget(place: CellPlace) -> None:
    """Keep nothing for a place."""
    folder = _folder()
    if folder is not None:
        _removed(folder / place.file_name)


def _read(path: Path, place: CellPlace, start: Settings) -> Settings | None:
    data = read_own(path, 2 * MOST_BYTES)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, dict) or found.get("isoviz") != "kept session":
        raise FileError(f"{path}: expected what is kept of a session")
    if found.get("version") != VERSION:
        raise FileError(f"{path}: version {found.get('version')!r} of the format; this isoviz reads {VERSION}")
    if (found.get("notebook"), found.get("cell"), found.get("number")) != place:
        raise FileError(f"{path}: is of another cell")
    before, settings = (settings_of_json(found.get(key), path) for key in ("start", "settings"))
    return settings if session_text(before) == session_text(start) else None


def _folder() -> Path | None:
    folder = state_folder()
    return None if folder is None else own_folder(folder / "sessions")


def _removed(path: Path) -> str:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        return f"{path}: cannot be removed: {error.strerror or error}"
    return ""


def _prune(folder: Path) -> None:
    """Remove the oldest files, and those that a process left unfinished. Another process may do the same at this moment."""
    ages: list[tuple[float, Path]] = []
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):
                modified = path.stat().st_mtime
                if path.suffix == ".part" and modified < time.time() - _UNFINISHED:
                    path.unlink(missing_ok=True)
                elif path.suffix == ".json":
                    ages.append((modified, path))
    for _, path in sorted(ages)[: max(0, len(ages) - MOST_FILES)]:
        with suppress(OSError):
            path.unlink(missing_ok=True)
