"""The prediction ledger: the predicted and measured times of every run of this computer's engine, hop by hop.

The ledger is a file in the user's cache directory, with one JSON object per line. Lines are only appended. `ISOVIZ_LEDGER` names
another file, or says `off`. Any number of processes may append at the same time, because each line is one write. Torn lines (full
disk, killed process) are skipped and counted when the file is read. A file that has become too large is renamed to `….1.jsonl`
and replaces the previous file of that name.
"""

from __future__ import annotations

import json
import logging
import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from isoviz.errors import FileError, InputError
from isoviz.file_rights import PRIVATE
from isoviz.forks import Lock
from isoviz.regular_files import open_for_reading, open_lock, read_some, write_text
from isoviz.runtime.ledger.ledger_entry import LedgerEntry
from isoviz.user_cache import cache_folder, expanded

# Notes that people write to runs, in a file beside the ledger: one JSON object, from the key of a run to its note.
#
# Any number of processes may write: each reads the file, changes it and replaces it, one after the other.

LONGEST_NOTE = 2000
"""Characters of a note."""
MOST_NOTES = 5000
"""Notes in the file; the oldest are dropped."""
_MOST_BYTES = 64 << 20


def read_notes(path: Path) -> dict[str, str]:
    """The notes by the keys of their runs (`LedgerEntry.key`). A file that is missing or damaged has none."""
    try:
        found = json.loads(read_some(path, _MOST_BYTES))
    except (FileError, OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: note for key, note in found.items() if isinstance(note, str)}


def write_note(path: Path, keys: Iterable[str], note: str) -> None:
    """Keep a note for runs; an empty one removes theirs.

    Raises:
        FileError: the file cannot be written.
    """
    with _alone(path):
        notes = read_notes(path)
        for key in keys:
            notes.pop(key, None)  # a new note comes last
            if note.strip():
                notes[key] = note[:LONGEST_NOTE]
        kept = dict(list(notes.items())[-MOST_NOTES:])
        write_text(path, json.dumps(kept, ensure_ascii=False, indent=1) + "\n", private=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes from changing the file until the end of the block."""
    import fcntl

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        guard = open_lock(path.with_suffix(".lock"))
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield
    finally:
        os.close(guard)


_LOG = logging.getLogger("isoviz")

VARIABLE = "ISOVIZ_LEDGER"
MOST_BYTES = 4 << 20
"""The largest size of a file in bytes: a few thousand runs."""
RECENT_BYTES = 256 << 10
"""The bytes at the end of the file that `recent` reads first."""
RECENT_RUNS = 500
_LEAST_LINE = 100
"""Bytes; a shorter line is no run. A file of nothing but short lines is then read as quickly as any other."""


class Reading(NamedTuple):
    """The entries of a ledger, oldest first, and the number of unreadable lines."""

    entries: tuple[LedgerEntry, ...]
    unreadable: int


class Ledger:
    """A ledger in a file. Any thread may use it. A file larger than `most_bytes` is set aside as `older`."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        self.path = path
        self.most_bytes = most_bytes
        self._lock = Lock()
        self._file: tuple[int, int] | None = None
        self._read_to = 0
        self._recent: deque[LedgerEntry] = deque(maxlen=RECENT_RUNS)

    @property
    def older(self) -> Path:
        """The file that was set aside."""
        return self.path.with_name(f"{self.path.stem}.1{self.path.suffix}")

    @property
    def notes(self) -> Path:
        """The file of the notes that people write to runs (`isoviz.runtime.ledger.ledger`)."""
        return self.path.with_name(f"{self.path.stem}.notes.json")

    def append(self, entry: LedgerEntry) -> bool:
        """Append a run; False if that is not possible. It never raises, so that no run fails because of the ledger."""
        try:
            line = entry.to_line()
            descriptor = self._opened()
        except (OSError, ValueError):
            _LOG.debug("%s: a run could not be added", self.path, exc_info=True)
            return False
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return False
            if status.st_size and os.pread(descriptor, 1, status.st_size - 1) != b"\n":
                line = b"\n" + line  # the last line is torn: begin a new line
            written = os.write(descriptor, line)
        except OSError:
            _LOG.debug("%s: a run could not be added", self.path, exc_info=True)
            return False
        finally:
            os.close(descriptor)
        if status.st_size + written > self.most_bytes:
            self._set_aside()
        return written == len(line)

    def _opened(self) -> int:
        # O_NONBLOCK: if the path is a pipe, opening it must not block a run. O_NOFOLLOW: in a folder of all, anybody may put a
        # link there, to another file of this user.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
        try:
            return os.open(self.path, flags, PRIVATE)
        except FileNotFoundError:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, flags, PRIVATE)

    def _set_aside(self) -> None:
        """Begin a new file. If several processes find the file too large, only the first one renames it."""
        import fcntl

        with suppress(OSError):
            guard = open_lock(self.path.with_suffix(".lock"))
            try:
                fcntl.flock(guard, fcntl.LOCK_EX)
                if self.path.stat().st_size > self.most_bytes:
                    self.path.replace(self.older)
            finally:
                os.close(guard)

    def read(self) -> Reading:
        """All runs, including those set aside. A missing file has none.

        Raises:
            FileError: a file exists but cannot be read.
        """
        entries: list[LedgerEntry] = []
        unreadable = 0
        for path in (self.older, self.path):
            try:
                content, _ = _lines_from(path, max(0, path.stat().st_size - 2 * self.most_bytes))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
            found = _entries(content)
            entries += found.entries
            unreadable += found.unreadable
        return Reading(tuple(entries), unreadable)

    def recent(self) -> tuple[LedgerEntry, ...]:
        """The latest runs, oldest first; empty if there is no file. Only lines that are new since the last call are read."""
        with self._lock:
            try:
                status = self.path.stat()
                file = status.st_dev, status.st_ino
                if self._file != file or status.st_size < self._read_to:  # the file was replaced or truncated
                    self._file, self._read_to = file, max(0, status.st_size - RECENT_BYTES)
                    self._recent.clear()
                    content, self._read_to = _lines_from(self.path, self._read_to)
                elif status.st_size > self._read_to:
                    content, self._read_to = _lines_from(self.path, self._read_to)
                else:
                    content = b""
            except (OSError, FileError):
                return tuple(self._recent)
            complete = content.rfind(b"\n") + 1  # an incomplete last line is read by the next call
            self._recent.extend(_entries(content[:complete]).entries)
            self._read_to += complete
            return tuple(self._recent)

    def clear(self) -> None:
        """Delete all runs.

        Raises:
            FileError: a file cannot be removed.
        """
        for path in (self.path, self.older, self.path.with_suffix(".lock"), self.notes):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise FileError(f"{path}: cannot be removed: {error.strerror or error}") from None
        with self._lock:
            self._file, self._read_to = None, 0
            self._recent.clear()


def _lines_from(path: Path, start: int) -> tuple[bytes, int]:
    """The content of a file from the first line that begins at or after `start`, and the offset of that line."""
    descriptor, _ = open_for_reading(path)
    with os.fdopen(descriptor, "rb") as file:
        if start == 0:
            return file.read(), 0
        file.seek(start - 1)  # the line break before `start`, if a line begins at `start`
        content = file.read()
    skipped = content.find(b"\n") + 1 or len(content)
    return content[skipped:], start - 1 + skipped


def _entries(content: bytes) -> Reading:
    entries, unreadable = [], 0
    for line in content.split(b"\n"):
        if len(line) >= _LEAST_LINE:
            try:
                entries.append(LedgerEntry.from_line(line))
            except InputError:
                unreadable += 1
        elif line.strip():
            unreadable += 1
    return Reading(tuple(entries), unreadable)


# ---- the ledger of this user

_unrecorded: ContextVar[bool] = ContextVar("unrecorded", default=False)


@lru_cache(maxsize=16)
def _ledger(path: Path) -> Ledger:
    return Ledger(path)


@lru_cache(maxsize=16)
def _chosen(text: str, home: str | None) -> Ledger:  # noqa: ARG001  # `~` in the text is the home
    return _ledger(expanded(text))


@lru_cache(maxsize=16)
def _kept_in(folder: Path) -> Ledger:
    return _ledger(folder / "runs.jsonl")


def ledger() -> Ledger | None:
    """The user's ledger; None if `ISOVIZ_LEDGER` says `off`, or no cache folder is writable."""
    chosen = os.environ.get(VARIABLE, "").strip()
    if chosen.lower() in ("off", "0", "no"):
        return None
    if chosen:
        return _chosen(chosen, os.environ.get("HOME"))
    folder = cache_folder()
    return None if folder is None else _kept_in(folder)


def recording() -> Ledger | None:
    """The ledger that runs are recorded in; None inside `unrecorded`."""
    return None if _unrecorded.get() else ledger()


@contextmanager
def unrecorded() -> Iterator[None]:
    """Record no runs inside this context. The thousands of runs of a benchmark would displace those of the user."""
    token = _unrecorded.set(True)
    try:
        yield
    finally:
        _unrecorded.reset(token)
