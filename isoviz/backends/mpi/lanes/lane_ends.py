"""The two ends of a lane: the rank that gives credit, and the rank that writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.mpi.lanes.page import (
    BEGUN,
    CANCEL,
    CANCELLED,
    CLOSED,
    CREDIT,
    DONE,
    FAILED,
    IS_STRICT,
    MOVED,
    OK,
    RECEIVER_SLEEPS,
    SENDER_SLEEPS,
    STATE,
    Page,
    fence,
)
from isoviz.errors import Cancelled, RankError
from isoviz.runtime.ranks.handles import StoreHandle

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes

SPINS = 60
"""Yields of the processor, each below a microsecond, before a rank sleeps."""


class LaneAddress(NamedTuple):
    """How the sender of a lane reaches its receiver. It can be pickled.

    - `page`: the handle of the page of the lane, which lies in a window.
    - `store`: the handle of the destination.
    - `process`, `address`: the process, and the address of the destination in it.
    """

    page: StoreHandle
    store: StoreHandle
    process: int
    address: int


class LanePart(NamedTuple):
    """A part of what a lane moves: its bytes, and the calls that move them."""

    nbytes: int
    moves: tuple[Callable[[], object], ...]


class ReceivingLane:
    """The end of a lane on the rank of the destination. `address` is for the sender."""

    def __init__(self, array: Bytes, address: LaneAddress, withdraw: Callable[[], None]) -> None:
        self.address = address
        self._page = Page(array, RECEIVER_SLEEPS, SENDER_SLEEPS)
        self._withdraw = withdraw

    @property
    def turn(self) -> int:
        """The transfer that got a credit last; 0 before the first one."""
        return int(self._page.words[CREDIT])

    @property
    def is_free(self) -> bool:
        """Whether that transfer is over, or was cancelled before the sender began it: the sender writes nothing."""
        words, turn = self._page.words, self.turn
        return bool(words[DONE] >= turn or (words[CANCEL] >= turn and words[BEGUN] < turn))

    def give_credit(self, turn: int) -> None:
        """The destination may be written for transfer number `turn` (from 1)."""
        self._page.post(CREDIT, turn)

    def is_over(self, turn: int) -> bool:
        """Whether a transfer has ended."""
        if self._page.words[DONE] < turn:
            return False
        if not IS_STRICT:
            fence()
        return True

    def wait(self, turn: int, *, again: bool = False) -> bool:
        """Wait for the end of a transfer, some milliseconds at most. Whether it has ended."""
        return self._page.wait(DONE, turn, 1 if again else SPINS)

    def moved(self, turn: int) -> int:
        """The bytes of a transfer that have been written so far."""
        return int(self._page.words[MOVED]) if self._page.words[BEGUN] >= turn else 0

    def error(self) -> Exception | None:
        """How the transfer that ended last has ended."""
        state = self._page.words[STATE]
        if state == OK:
            return None
        return Cancelled("cancelled; some of its bytes may be in place") if state == CANCELLED else RankError(self._page.reason)

    def cancel(self, turn: int) -> bool:
        """Ask the sender to stop. Whether it will write nothing for this transfer, because it has not begun."""
        self._page.words[CANCEL] = turn
        fence()
        return bool(self._page.words[BEGUN] < turn)

    @property
    def sender_has_closed(self) -> bool:
        """Whether the sender begins no further transfer."""
        return bool(self._page.words[CLOSED])

    def close(self) -> None:
        """Let the sender wait no longer."""
        self._page.words[CLOSED] = 1
        self._withdraw()


class SendingLane:
    """The end of a lane on the rank of the source: `parts` are its moves, each of at most about `PART` bytes."""

    def __init__(self, page: Bytes, parts: Sequence[LanePart], kept: Sequence[object]) -> None:
        self.parts = parts
        self._page = Page(page, SENDER_SLEEPS, RECEIVER_SLEEPS)
        self._kept = kept

    @property
    def turn(self) -> int:
        """The transfer that has ended last; 0 before the first one."""
        return int(self._page.words[DONE])

    def has_credit(self, turn: int) -> bool:
        """Whether the credit of a transfer is there, or comes within some microseconds."""
        return self._page.wait(CREDIT, turn, SPINS, sleeps=False)

    def wait(self, turn: int) -> bool:
        """Wait for the credit of a transfer, some milliseconds at most. Whether it is there."""
        return self._page.wait(CREDIT, turn, 1)

    @property
    def receiver_has_closed(self) -> bool:
        """Whether the receiver gives no further credit."""
        return bool(self._page.words[CLOSED])

    def begin(self, turn: int) -> None:
        """Begin a transfer that has its credit.

        Raises:
            Cancelled: the receiver has cancelled it.
        """
        self._page.words[MOVED] = 0
        self._page.words[BEGUN] = turn
        fence()
        self.check(turn)

    def check(self, turn: int) -> None:
        """Check for a cancel of the receiver.

        Raises:
            Cancelled: it has cancelled the transfer.
        """
        if self._page.words[CANCEL] >= turn:  # of a later turn: this one is over for the receiver
            raise Cancelled("cancelled by the rank of the destination; some of its bytes may be in place")

    def move(self, number: int) -> int:
        """Carry out a part. Returns its bytes.

        Raises:
            RunError: the system does not write.
        """
        part = self.parts[number]
        for move in part.moves:
            move()
        self._page.words[MOVED] += part.nbytes
        return part.nbytes

    def end(self, turn: int, error: BaseException | None) -> None:
        """Tell the receiver how a transfer has ended."""
        if error is None:
            self._page.tell(OK)
        else:
            self._page.tell(CANCELLED if isinstance(error, Cancelled) else FAILED, str(error))
        self._page.post(DONE, turn)

    def close(self) -> None:
        """Let the receiver wait no longer, and forget the parts."""
        self._page.words[CLOSED] = 1
        self.parts, self._kept = (), ()
