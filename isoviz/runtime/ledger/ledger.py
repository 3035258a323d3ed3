"""The prediction ledger: every run of this computer's engine, predicted and measured, hop by hop.

It is a file in the user's cache directory with one JSON object per line; lines are only appended. `ISOVIZ_LEDGER` names another
file, or says `off`. Any number of processes may append at once: each line is one write. Torn lines (a full disk, a process that
was killed) are skipped and counted when the file is read. A file that has become too large is renamed to `….1.jsonl` and replaces
the one that was renamed before.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from isoviz.errors import FileError, InputError
from isoviz.forks import Lock
from isoviz.regular_files import open_for_reading
from isoviz.runtime.ledger.ledger_entry import LedgerEntry
from isoviz.user_cache import cache_folder, expanded

VARIABLE = "ISOVIZ_LEDGER"
MOST_BYTES = 4 << 20
"""Bytes of one file: a few thousand runs."""
RECENT_BYTES = 256 << 10
"""Bytes at the end of the file that `recent` reads at first."""
RECENT_RUNS = 500


class Reading(NamedTuple):
    """The entries of a ledger, oldest first, and the number of lines that cannot be read."""

    entries: tuple[LedgerEntry, ...]
    unreadable: int


class Ledger:
    """A ledger in a file; any thread may use it. A file larger than `most_bytes` is set aside."""

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

    def append(self, entry: LedgerEntry) -> bool:
        """Add a run; False where that is not possible. It never raises, so that no run fails because of it."""
        try:
            line = entry.to_line()
            descriptor = self._opened()
        except (OSError, ValueError):
            return False
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return False
            if status.st_size and os.pread(descriptor, 1, status.st_size - 1) != b"\n":
                line = b"\n" + line  # the last line was torn: this one begins a new line
            written = os.write(descriptor, line)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        if status.st_size + written > self.most_bytes:
            self._set_aside()
        return written == len(line)

    def _opened(self) -> int:
        # O_NONBLOCK: a pipe in its place must not hold a run up.
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _set_aside(self) -> None:
        """Begin a new file. Where several processes find this one too large, only the first does so."""
        import fcntl

        with suppress(OSError):
            guard = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(guard, fcntl.LOCK_EX)
                if self.path.stat().st_size > self.most_bytes:
                    self.path.replace(self.older)
            finally:
                os.close(guard)

    def read(self) -> Reading:
        """All runs, also those that were set aside. A missing file holds none.

        Raises:
            FileError: a file is there and cannot be read.
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
        """The last runs, oldest first. Only lines that are new since the last call are read. Empty where there is no file."""
        with self._lock:
            try:
                status = self.path.stat()
                file = status.st_dev, status.st_ino
                if self._file != file or status.st_size < self._read_to:  # another one, or written anew
                    self._file, self._read_to = file, max(0, status.st_size - RECENT_BYTES)
                    self._recent.clear()
                    content, self._read_to = _lines_from(self.path, self._read_to)
                elif status.st_size > self._read_to:
                    content, self._read_to = _lines_from(self.path, self._read_to)
                else:
                    content = b""
            except (OSError, FileError):
                return tuple(self._recent)
            complete = content.rfind(b"\n") + 1  # a line that is still being written is read next time
            self._recent.extend(_entries(content[:complete]).entries)
            self._read_to += complete
            return tuple(self._recent)

    def clear(self) -> None:
        """Forget all runs.

        Raises:
            FileError: a file cannot be removed.
        """
        for path in (self.path, self.older, self.path.with_suffix(".lock")):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise FileError(f"{path}: cannot be removed: {error.strerror or error}") from None
        with self._lock:
            self._file, self._read_to = None, 0
            self._recent.clear()


def _lines_from(path: Path, start: int) -> tuple[bytes, int]:
    """The content of a file from the first line that begins at or after `start`, and where that line begins."""
    descriptor, _ = open_for_reading(path)
    with os.fdopen(descriptor, "rb") as file:
        if start == 0:
            return file.read(), 0
        file.seek(start - 1)  # where the line before ends, if one begins here
        content = file.read()
    skipped = content.find(b"\n") + 1 or len(content)
    return content[skipped:], start - 1 + skipped


def _entries(content: bytes) -> Reading:
    entries, unreadable = [], 0
    for line in content.split(b"\n"):
        if line.strip():
            try:
                entries.append(LedgerEntry.from_line(line))
            except InputError:
                unreadable += 1
    return Reading(tuple(entries), unreadable)


# ---- the ledger of this user

_unrecorded: ContextVar[bool] = ContextVar("unrecorded", default=False)


@lru_cache(maxsize=16)
def _ledger(path: Path) -> Ledger:
    return Ledger(path)


def ledger() -> Ledger | None:
    """The user's ledger; None where `ISOVIZ_LEDGER` says `off`, or no folder can be written to."""
    chosen = os.environ.get(VARIABLE, "").strip()
    if chosen.lower() in ("off", "0", "no"):
        return None
    if chosen:
        return _ledger(expanded(chosen))
    folder = cache_folder()
    return None if folder is None else _ledger(folder / "runs.jsonl")


def recording() -> Ledger | None:
    """The ledger that runs go into; None inside `unrecorded`."""
    return None if _unrecorded.get() else ledger()


@contextmanager
def unrecorded() -> Iterator[None]:
    """Runs in this context go into no ledger: the thousands of a benchmark would crowd out those of the user."""
    token = _unrecorded.set(True)
    try:
        yield
    finally:
        _unrecorded.reset(token)
