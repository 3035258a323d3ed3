"""Whether the tour of the explorer begins by itself: until this user has ended one, which a file in the state directory says."""

from __future__ import annotations

from contextlib import suppress

from isoviz.user_cache import state_folder

_ENDED = "tour-ended"
"""The name of the file."""


def is_newcomer() -> bool:
    """Whether this user has not ended a tour yet; False where that could not be noted, for the tour would come again."""
    folder = state_folder()
    return folder is not None and not (folder / _ENDED).exists()


def note_end() -> None:
    """Note that this user has ended a tour."""
    folder = state_folder()
    if folder is not None:
        with suppress(OSError):
            (folder / _ENDED).touch()
