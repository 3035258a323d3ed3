"""Where the ranks of one host tell each other small values: memory that all of them map, with a slot for each rank.

A rank writes its own slot and reads those of all. What it tells has a stamp, a number that only grows. A slot has rooms for two
values. A rank writes over a value once all others have told something later: each of them has read the value by then, or has no
use for it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from isoviz.backends.mpi.lanes.page import IS_STRICT, SPINS, Words, fence
from isoviz.backends.pages import PAGE

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes

ROOM = 4 * PAGE - 16
"""The most bytes of a value."""
SLOT = 9 * PAGE
"""Bytes of a slot: a page of words, and two rooms, each with the stamp and the size of its value in front."""
_TOLD, _ASLEEP, _NOTES = 0, 8, 16
"""The words of a rank: the stamp of what it has told last; whether it sleeps; and what it notes for its own use."""
_MOST_SLEEPS = 10
"""Times that a rank sleeps longer than at first: it is woken in any case, unless a rank is lost."""
_HEAD = struct.Struct("QQ")


class Slots(Words):
    """The slots of `size` ranks, as one of them uses them. `memory` has `SLOT` bytes for each rank, zeros at first.

    One thread of a rank at a time tells and waits.
    """

    def __init__(self, memory: Bytes, rank: int, size: int) -> None:
        starts = [number * SLOT for number in range(size)]
        self._rank, self._starts, self._mine = rank, starts, starts[rank]
        others = [start // 8 for number, start in enumerate(starts) if number != rank]
        super().__init__(memory, self._mine // 8 + _ASLEEP, [word + _ASLEEP for word in others])
        self._bytes = memoryview(memory)  # type: ignore[arg-type]  # an array of bytes has a buffer
        self._words_told = [start // 8 + _TOLD for start in starts]
        self._own_word = self._words_told[rank]
        self._words_noted = [start // 8 + _NOTES for start in starts]
        self._told_by_others = [word + _TOLD for word in others]
        self._stamps = [0, 0]
        """Those of the values in both rooms."""
        self._room = 0

    @classmethod
    def of(cls, memory: Bytes, rank: int, size: int) -> tuple[Slots, ...]:
        """As many as the memory has room for."""
        nbytes = size * SLOT
        return tuple([cls(memory[at : at + nbytes], rank, size) for at in range(0, len(memory), nbytes)])

    @property
    def latest(self) -> int:
        """The stamp that this rank has told last."""
        return self.words[self._own_word]

    def tell(self, stamp: int, data: bytes) -> bool:
        """Tell a value. False if it is too long, or the room is not free: then the others learn only the stamp."""
        words, room = self.words, self._room
        before = self._stamps[room]
        fits = len(data) <= ROOM and (not before or all(words[word] > before for word in self._told_by_others))
        if fits:
            at = self._mine + PAGE + room * (SLOT - PAGE) // 2
            self._bytes[at + _HEAD.size : at + _HEAD.size + len(data)] = data
            _HEAD.pack_into(self._bytes, at, stamp, len(data))
            self._stamps[room], self._room = stamp, 1 - room
        self.post(self._own_word, stamp)
        return fits

    def has_told(self, rank: int, stamp: int) -> bool:
        """Whether a rank has told what has this stamp, or something later."""
        if self.words[self._words_told[rank]] < stamp:
            return False
        if not IS_STRICT:
            fence()
        return True

    def behind(self, stamp: int) -> list[int]:
        """The ranks that have yet to tell that."""
        words = self.words
        found = [rank for rank, word in enumerate(self._words_told) if words[word] < stamp]
        if not found and not IS_STRICT:
            fence()
        return found

    def wait_for(self, rank: int, stamp: int, waits: int = 0) -> bool:
        """Wait for that, some milliseconds at most. Whether it has. It is longer after some `waits` of the kind."""
        return self.wait(self._words_told[rank], stamp, 1 if waits else SPINS, sleeps=min(1 + waits, _MOST_SLEEPS))

    def value(self, rank: int, stamp: int) -> bytes | None:
        """What a rank has told with a stamp; None if it has told only the stamp, or nothing."""
        first = self._starts[rank] + PAGE
        for at in (first, first + (SLOT - PAGE) // 2):
            found, size = _HEAD.unpack_from(self._bytes, at)
            if found == stamp:
                at += _HEAD.size
                return bytes(self._bytes[at : at + size])
        return None

    def note(self, number: int, value: int) -> None:
        """Change a note of this rank, 0 or 1: after what it has told before, and before what it reads afterwards."""
        if not IS_STRICT:
            fence()
        self.words[self._words_noted[self._rank] + number] = value
        fence()

    def notes(self, number: int) -> list[int]:
        """A note of every rank."""
        words = self.words
        return [words[word + number] for word in self._words_noted]
