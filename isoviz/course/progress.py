"""Progress: one line for each attempt, only ever appended. Nothing that happens to the file loses a whole line.

A line is a JSON object: version of the course, exercise, answer, verdict, wrong model, digest of the numbers. Torn lines, lines
of other versions and lines that are not of the course are skipped, and stay in the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isoviz.errors import FileError
from isoviz.regular_files import open_for_reading, reason

VERSION = 1
"""The version of the course: of its numbers and of what an answer means."""
FILE = "progress.jsonl"
LONGEST = 1 << 21
"""The most bytes of one line: a longer one is passed over, and none is written."""
LARGEST = 64 << 20
"""The most bytes of the file: far more than answers to a course take."""


@dataclass(frozen=True)
class Attempt:
    """One line: an answer as it was kept, and what was said of it then. `numbers` is the digest of the exercise's numbers."""

    exercise: str
    answer: Any
    right: bool
    model: str = ""
    numbers: str = ""
    version: int = VERSION
    at: float = 0.0


def digest(given: Mapping[str, Any]) -> str:
    """What tells numbers of an exercise from others."""
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:12]


class Progress:
    """The attempts of a learner, in a file of the learner's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def add(self, attempt: Attempt) -> None:
        """Append an attempt. Two kernels may do so at once.

        Raises:
            FileError: it cannot be written.
        """
        line = {
            "v": attempt.version,
            "at": round(attempt.at or time.time()),
            "exercise": attempt.exercise,
            "answer": attempt.answer,
            "right": attempt.right,
            "model": attempt.model,
            "numbers": attempt.numbers,
        }
        data = (json.dumps(line, allow_nan=False) + "\n").encode()
        if len(data) > LONGEST:
            raise FileError(
                f"{self.path}: the answer could not be kept: it has {len(data):,} bytes, expected {LONGEST:,} at most"
            )
        try:
            with self.path.open("ab+", buffering=0) as file, _locked(file.fileno()):
                size = file.seek(0, 2)
                self._check_size(size + len(data))
                if size:
                    file.seek(size - 1)
                    if file.read(1) != b"\n":  # the line before was torn
                        data = b"\n" + data
                written = file.write(data)
        except OSError as error:
            raise FileError(f"{self.path}: the answer could not be kept: {reason(error)}") from error
        if written != len(data):
            raise FileError(f"{self.path}: the answer could not be kept whole; expected room on the disk")

    def attempts(self, exercise: str | None = None) -> list[Attempt]:
        """All attempts, the oldest first; or those at one exercise.

        Raises:
            FileError: the file is there and cannot be read.
        """
        return [each for each in self._lines() if exercise is None or each.exercise == exercise]

    def _lines(self) -> Iterator[Attempt]:
        if not os.path.lexists(self.path):
            return
        descriptor, status = open_for_reading(self.path)
        try:
            with os.fdopen(descriptor, "rb") as file:
                self._check_size(status.st_size)
                begins = True
                while line := file.readline(LONGEST):
                    is_whole = line.endswith(b"\n") or len(line) < LONGEST
                    attempt = _attempt(line) if begins and is_whole else None
                    begins = is_whole
                    if attempt is not None:
                        yield attempt
        except OSError as error:
            raise FileError(f"{self.path}: the progress cannot be read: {reason(error)}") from error

    def _check_size(self, size: int) -> None:
        if size > LARGEST:
            what = f"{size:,} bytes; expected {LARGEST:,} at most"
            raise FileError(f"{self.path}: the progress has {what}. Move the file away, and a new one begins")


def _attempt(line: bytes) -> Attempt | None:
    """The attempt of a line; None where it is none that this version reads."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    version, exercise, at = found.get("v"), found.get("exercise"), found.get("at", 0)
    if version != VERSION or not isinstance(exercise, str) or "answer" not in found:
        return None
    return Attempt(
        exercise,
        found["answer"],
        found.get("right") is True,
        str(found.get("model", "")),
        str(found.get("numbers", "")),
        VERSION,
        at if isinstance(at, int | float) else 0.0,
    )


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """The lock of a file, where the system has one: appending looks at the last byte first."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with suppress(OSError):  # some shared file systems have no locks; one line is one write there, too
        fcntl.flock(file, fcntl.LOCK_EX)
    yield  # closing the file gives the lock back
