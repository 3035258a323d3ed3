"""Pages of a new file that two runs share: kept in memory until both runs have brought their part, then written whole.

Direct I/O writes whole pages. A run that begins or ends within a page could write that part through the page cache. Each such
part costs a call, and in the end a small request of the system: runs of 8 KiB are then written at a fifth of the rate of aligned
runs. A transfer writes every byte once, so most parts soon meet their counterpart. Code that writes to a page in another way
first takes its pending part (`NewFile.write_shared`).
"""

from __future__ import annotations

import threading

from isoviz.backends.pages import HUGE, PAGE, Bytes, page_aligned

SHARED = 32 << 20
"""Most bytes of pending pages per file."""
_FIRST = 16
"""Pages in the first allocation, which the system has to zero."""


class SharedPages:
    """Pending pages of one file: their beginning or their end is known, up to `most` bytes of pages. Threads may share it."""

    def __init__(self, most: int = SHARED) -> None:
        self._most = self._left = most // PAGE
        """Pages that may still be allocated."""
        self._next = _FIRST
        self._parts: dict[int, tuple[Bytes, int, int]] = {}
        self._free: list[Bytes] = []
        self._being_written: set[int] = set()
        self._lock = threading.Condition()

    def joined(self, number: int, low: int, high: int, page: Bytes) -> bool | None:
        """Join the bytes from `low` up to `high` of page `number`, given in `page`, with its pending part.

        True: the page is complete. `page` now holds all of it, and nothing stays pending. False: these bytes are now pending.
        None: they were not kept, because there is no room, they do not complete the pending part, or that part is being written.
        """
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
        """The numbers of the pending pages from `first` up to `last`."""
        if not self._parts:
            return []
        with self._lock:
            pages = range(first, last) if last - first < len(self._parts) else sorted(self._parts)
            return [number for number in pages if first <= number < last and number in self._parts]

    def to_write(self, number: int) -> tuple[int, Bytes] | None:
        """The file offset and the bytes of the pending part of a page, which the caller writes before it calls `written`.

        None if nothing is pending. If another thread is writing the part, this one waits: it may be about to write bytes around
        it.
        """
        with self._lock:
            self._lock.wait_for(lambda: number not in self._being_written)
            known = self._parts.get(number)
            if known is None:
                return None
            self._being_written.add(number)
            return number * PAGE + known[1], known[0][known[1] : known[2]]

    def written(self, number: int, *, failed: bool = False) -> None:
        """Drop the pending part from `to_write`, which is now written. After a write that `failed` the part stays pending.

        When no page is pending any more, the memory of all pages is freed.
        """
        with self._lock:
            self._being_written.discard(number)
            self._lock.notify_all()
            if not failed:
                self._drop(number)

    def forget(self, number: int) -> None:
        """Drop the pending part of a page that is about to be written whole."""
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
        """Allocate memory for more pages; False at the limit."""
        count = min(self._left, self._next)
        self._left -= count
        self._next = min(2 * count, HUGE // PAGE)
        room = page_aligned(count * PAGE)
        self._free += [room[at : at + PAGE] for at in range(0, len(room), PAGE)]
        return bool(count)
