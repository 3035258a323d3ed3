"""Pages of a new file that two runs share: kept in memory until both have brought their part, then written as a whole.

Unbuffered requests take whole pages. A run that begins or ends within one could leave its part to the page cache; but every part
costs a call, and the system a small request of its own in the end: runs of 8 KiB are then written at a fifth of the rate of those
that begin with pages. Most of these parts meet their counterpart soon, for a transfer writes everything once. Whoever writes to a
page in another way first takes what is kept of it (`NewFile.write_shared`).
"""

from __future__ import annotations

import threading

from isoviz.backends.pages import HUGE, PAGE, Bytes, page_aligned

SHARED = 32 << 20
"""Bytes of pages that are kept for a file, at most."""
_FIRST = 16
"""Pages for which there is room at first: the system zeroes it."""


class SharedPages:
    """Pages of one file of which the beginning or the end is known, up to `most` bytes of them. For several threads."""

    def __init__(self, most: int = SHARED) -> None:
        self._most = self._left = most // PAGE
        """Pages that there may be more than there is room for already."""
        self._next = _FIRST
        self._parts: dict[int, tuple[Bytes, int, int]] = {}
        self._free: list[Bytes] = []
        self._being_written: set[int] = set()
        self._lock = threading.Condition()

    def joined(self, number: int, low: int, high: int, page: Bytes) -> bool | None:
        """Whether page `number` of the file, of which `page` has the bytes from `low` up to `high`, is whole with what is known
        of it: then `page` has the rest, too, and nothing is kept of it. Else these bytes are kept. None where they are not: there
        is no room, the other part does not go with them, or somebody is writing it."""
        with self._lock:
            known = self._parts.get(number)
            if known is not None:
                room, first, last = known
                if number in self._being_written:
                    return None
                if (first, last) not in ((0, low), (high, PAGE)) or high - low + last - first != PAGE:
                    return None
                page[first:last] = room[first:last]
                del self._parts[number]
                self._free.append(room)
                return True
            if not self._free and not self._more():
                return None
            room = self._free.pop()
            room[low:high] = page[low:high]
            self._parts[number] = room, low, high
            return False

    def among(self, first: int, last: int) -> list[int]:
        """The pages of which something is kept, from one up to another one."""
        if not self._parts:
            return []
        with self._lock:
            pages = range(first, last) if last - first < len(self._parts) else sorted(self._parts)
            return [number for number in pages if first <= number < last and number in self._parts]

    def to_write(self, number: int) -> tuple[int, Bytes] | None:
        """What is kept of a page, with its place in the file, for the caller to write and say so (`written`). None where nothing
        is kept. While another thread writes it, this one waits: it may be about to write what lies around it."""
        with self._lock:
            self._lock.wait_for(lambda: number not in self._being_written)
            known = self._parts.get(number)
            if known is None:
                return None
            self._being_written.add(number)
            return number * PAGE + known[1], known[0][known[1] : known[2]]

    def written(self, number: int, *, failed: bool = False) -> None:
        """What `to_write` gave is written, and nothing is kept of the page any more; of no page, no room either. Where it has
        `failed` it is kept."""
        with self._lock:
            self._being_written.discard(number)
            self._lock.notify_all()
            if not failed:
                self._drop(number)

    def forget(self, number: int) -> None:
        """Keep nothing of a page that is about to be written as a whole."""
        with self._lock:
            self._lock.wait_for(lambda: number not in self._being_written)
            self._drop(number)

    def _drop(self, number: int) -> None:
        known = self._parts.pop(number, None)
        if known is not None:
            self._free.append(known[0])
        if not self._parts:
            self._free, self._left, self._next = [], self._most, _FIRST

    def _more(self) -> bool:
        """Room for some pages more."""
        count = min(self._left, self._next)
        self._left -= count
        self._next = min(2 * count, HUGE // PAGE)
        room = page_aligned(count * PAGE)
        self._free += [room[at : at + PAGE] for at in range(0, len(room), PAGE)]
        return bool(count)
