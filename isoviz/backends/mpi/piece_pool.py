"""A pool of pieces of registered memory, through which messages are packed and unpacked."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from isoviz.backends.pages import Bytes, touch
from isoviz.errors import RunError

PIECE = 1 << 20
"""Bytes of a piece: the kernels' stores stay in a second-level cache, and a message is long enough for the network."""
MOST = 16
"""The most pieces of a pool."""
_TICK = 0.05
"""Seconds between two checks for cancellation."""


class PiecePool:
    """Up to `most` pieces of `PIECE` bytes, made when they are first needed by `make`."""

    def __init__(self, make: Callable[[int], Bytes], most: int = MOST) -> None:
        self._make = make
        self._left = most
        self._free: list[Bytes] = []
        self._waiting: deque[Callable[[Bytes], None]] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def take(self, use: Callable[[Bytes], None]) -> None:
        """Call `use` with a piece: at once, or when one is given back, in that thread.

        Raises:
            RunError: there is no room for a piece.
        """
        with self._lock:
            if self._free:
                room: Bytes | None = self._free.pop()
            elif self._left:
                self._left -= 1
                room = None
            else:
                self._waiting.append(use)
                return
        use(self._new() if room is None else room)

    def wait(self, check: Callable[[], None]) -> Bytes:
        """A piece, as soon as one is free. `check` may raise to end the wait."""
        found: list[Bytes] = []
        ready = threading.Event()
        gave_up = False
        lock = threading.Lock()

        def use(room: Bytes) -> None:
            with lock:
                if not gave_up:
                    found.append(room)
                    ready.set()
                    return
            self.give(room)

        self.take(use)
        try:
            while not ready.wait(_TICK):
                check()
                if self._closed:
                    raise RunError("this rank is closed")
        except BaseException:
            with lock:
                gave_up = True
            if found:
                self.give(found[0])
            raise
        return found[0]

    def give(self, room: Bytes) -> None:
        """Give a piece back."""
        with self._lock:
            if not self._waiting:
                self._free.append(room)
                return
            use = self._waiting.popleft()
        use(room)

    def close(self) -> None:
        """Drop all pieces."""
        self._closed = True
        with self._lock:
            self._free.clear()

    def _new(self) -> Bytes:
        try:
            room = self._make(PIECE)
        except BaseException:
            with self._lock:
                self._left += 1
            raise
        touch(room)
        return room
