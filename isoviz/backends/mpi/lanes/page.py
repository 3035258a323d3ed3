"""Words by which ranks tell each other how far they are, in memory that they map: the page of a lane has those of two ranks."""

from __future__ import annotations

import ctypes
import platform
import sys
from _thread import allocate_lock
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.mpi.thread.bells import FUTEX, WAIT, WAKE, FutexTime, give_way, library, quick_library
from isoviz.backends.pages import PAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.pages import Bytes

SPINS = 60
"""Yields of the processor, each below a microsecond, before a rank sleeps."""
SLEEP = 2e-3
"""Seconds that a rank sleeps at most."""
CREDIT, DONE, BEGUN, CANCEL, MOVED, STATE = range(0, 48, 8)
SOURCE = STATE + 1
SENDER_SLEEPS, RECEIVER_SLEEPS, CLOSED = range(48, 72, 8)
PULLS, TAKEN, CLAIMED, PULLED, UNPULLED, LEFT = range(72, 120, 8)
WITHDRAWN = 120
"""Words of the page, each in a cache line of its own. Those of the last line but one are about parts that the receiver moves.
`SOURCE`, beside `STATE`, is the number of the source."""
OK, FAILED, CANCELLED, LEFT_ALONE = range(4)
"""How a transfer has ended (`STATE`). One that was left alone is carried out otherwise: its credit was withdrawn."""
_CLOSED, _INTERRUPTED = 1, 2
"""Why no further transfer follows (`CLOSED`)."""
_ALL = 1 << 30
"""More threads than sleep on a word."""
_TEXT = 1024
"""Where the page has the reason of a failure."""
IS_STRICT = platform.machine() in ("x86_64", "AMD64")
"""Whether the processor makes stores visible in their order."""


class Words:
    """Words of memory that several ranks map, as one of them uses it. Each is written by one rank, and others wait for it.

    `sleeps` is the word of this rank that says whether it sleeps, `others` are those of the other ranks.
    """

    def __init__(self, array: Bytes, sleeps: int, others: Sequence[int]) -> None:
        self._array = array
        self.words = memoryview(array).cast("Q")  # type: ignore[arg-type]  # an array of bytes has a buffer
        self._address = int(array.ctypes.data)
        self._sleeps, self._others = sleeps, others
        self._wait, self._wake = library().syscall, quick_library().syscall

    def post(self, word: int, value: int) -> None:
        """Write a word after everything that this thread has written before, and wake the ranks that wait for it."""
        if not IS_STRICT:
            fence()
        self.words[word] = value
        fence()
        self.wake(word)

    def wake(self, word: int) -> None:
        """Wake the ranks that sleep on a word."""
        words = self.words
        for other in self._others:
            if words[other]:
                self._wake(FUTEX, ctypes.c_void_p(self._address + 8 * word), WAKE, _ALL, None, None, 0)
                return

    def wait(self, word: int, value: int, spins: int, *, sleeps: int = 1) -> bool:
        """Wait until a word is at least `value`; False if it is not after `sleeps` times some milliseconds."""
        words = self.words
        for _ in range(spins):
            if words[word] >= value:
                break
            give_way()
        else:
            if not sleeps:
                return False
            words[self._sleeps] = 1
            fence()
            try:
                seen = words[word]
                if seen < value:
                    time = FutexTime(0, int(1e9 * SLEEP) * sleeps)
                    at = ctypes.c_void_p(self._address + 8 * word)
                    self._wait(FUTEX, at, WAIT, ctypes.c_uint32(seen & 0xFFFFFFFF), ctypes.byref(time), None, 0)
            finally:
                words[self._sleeps] = 0
        if words[word] < value:
            return False
        if not IS_STRICT:
            fence()
        return True

    def stir(self, word: int) -> None:
        """Wake a thread of this rank that sleeps on a word: it has to look at something else."""
        self._wake(FUTEX, ctypes.c_void_p(self._address + 8 * word), WAKE, 1, None, None, 0)


class Page(Words):
    """The page of a lane, as one of its two ranks uses it. `sleeps` is the word of this rank, `other` that of the other one."""

    def __init__(self, array: Bytes, sleeps: int, other: int) -> None:
        super().__init__(array, sleeps, (other,))

    def tell(self, state: int, reason: str = "") -> None:
        """Note how a transfer has ended, before `DONE` is written."""
        if reason:
            told = reason.encode("utf-8", "replace")[: PAGE - _TEXT - 8]
            self._array[_TEXT : _TEXT + len(told)] = np.frombuffer(told, np.uint8)
            self._array[_TEXT + len(told)] = 0
        self.words[STATE] = state

    def close(self) -> None:
        """Let the other rank wait no longer. It learns whether this one is on its way out after Ctrl-C."""
        error = sys.exc_info()[1]
        self.words[CLOSED] = _INTERRUPTED if error is not None and not isinstance(error, Exception) else _CLOSED

    @property
    def is_closed(self) -> bool:
        """Whether one of the ranks has closed it."""
        return bool(self.words[CLOSED])

    @property
    def was_interrupted(self) -> bool:
        """Whether that rank was interrupted."""
        return self.words[CLOSED] == _INTERRUPTED

    @property
    def reason(self) -> str:
        """Why a transfer has failed."""
        return bytes(self._array[_TEXT:]).partition(b"\0")[0].decode("utf-8", "replace")


def fence() -> None:
    """Order what this thread has written and read before with what follows.

    On x86, each atomic change of a word does that, such as taking a lock. A call that lets go of the interpreter does everywhere.
    """
    if IS_STRICT:
        allocate_lock().acquire()
    else:
        give_way()
