"""Notes that people write to runs, in a file beside the ledger: one JSON object, from the key of a run to its note.

Any number of processes may write: each reads the file, changes it and replaces it, one after the other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoviz.errors import FileError
from isoviz.regular_files import open_lock, read_some, write_text

if TYPE_CHECKING:
    from pathlib import Path

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
