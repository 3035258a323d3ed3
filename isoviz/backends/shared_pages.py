"""Pages of a new file that two runs share: kept in memory until both have brought their part, then written as a whole.

Unbuffered requests take whole pages. A run that begins or ends within one could leave its part to the page cache; but every part
costs a call, and the system a small request of its own in the end: runs of 8 KiB are then written at a fifth of the rate of those
that begin with pages. Most of these parts meet their counterpart soon, for everything in a new file is written once.
"""

from __future__ import annotations

import threading

from isoviz.backends.host import HUGE, PAGE, Bytes, page_aligned

SHARED = 32 << 20
"""Bytes of pages that are kept for a file, at most."""


class SharedPages:
    """Pages of one file of which the beginning or the end is known, up to `most` bytes of them. For several threads."""

    def __init__(self, most: int = SHARED) -> None:
        self._left = most // PAGE
        """Pages that there may be more than there is room for already."""
        self._next = 16
        self._parts: dict[int, tuple[Bytes, int, int]] = {}
        self._free: list[Bytes] = []
        self._lock = threading.Lock()

    def joined(self, number: int, low: int, high: int, page: Bytes) -> bool | None:
        """Whether page `number` of the file, of which `page` has the bytes from `low` up to `high`, is whole with what is known
        of it: then `page` has the rest, too, and nothing is kept of it. Else these bytes are kept. None where they are not: there
        is no room, or the other part does not go with them."""
        with self._lock:
            known = self._parts.get(number)
            if known is not None:
                room, first, last = known
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

    def taken(self, number: int | None = None) -> list[tuple[int, Bytes]]:
        """What is known of a page, or of all of them, with its place in the file; nothing is kept of it any more."""
        with self._lock:
            if number is None:
                found, self._parts = self._parts, {}
            else:
                known = self._parts.pop(number, None)
                found = {} if known is None else {number: known}
            parts = [(at * PAGE + low, room[low:high].copy()) for at, (room, low, high) in sorted(found.items())]
            self._free += [room for room, _, _ in found.values()]
        return parts

    def _more(self) -> bool:
        """Room for some pages more."""
        count = min(self._left, self._next)
        self._left -= count
        self._next = min(2 * count, HUGE // PAGE)  # few at first: the system zeroes them
        room = page_aligned(count * PAGE)
        self._free += [room[at : at + PAGE] for at in range(0, len(room), PAGE)]
        return bool(count)
