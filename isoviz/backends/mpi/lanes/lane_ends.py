"""The two ends of a lane: the rank that gives credit, and the rank that writes.

Both move parts of a large transfer if both wait for it. The sender takes parts from the first one on, the receiver from the last
one. Each writes to the page what it takes before it moves that. At worst both move the same part, which does no harm. The sender
ends the transfer after both have moved theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.mpi.lanes.page import (
    BEGUN,
    CANCEL,
    CANCELLED,
    CLAIMED,
    CREDIT,
    DONE,
    FAILED,
    IS_STRICT,
    LEFT,
    LEFT_ALONE,
    MOVED,
    OK,
    PULLED,
    PULLS,
    RECEIVER_SLEEPS,
    SENDER_SLEEPS,
    SOURCE,
    SPINS,
    STATE,
    TAKEN,
    UNPULLED,
    WITHDRAWN,
    Page,
    fence,
)
from isoviz.errors import Cancelled, RankError
from isoviz.runtime.ranks.handles import StoreHandle

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes


class LaneAddress(NamedTuple):
    """How the sender of a lane reaches its receiver: the handles of its page, which lies in a window, and of its end."""

    page: StoreHandle
    end: StoreHandle


class LanePart(NamedTuple):
    """A part of what a lane moves: its bytes, the calls that move them, and the requests that a channel makes of it."""

    nbytes: int
    moves: tuple[Callable[[], object], ...]
    requests: int = 1


class ReceivingLane:
    """The end of a lane on the rank of the destination. `address` is for the sender."""

    def __init__(self, array: Bytes, address: LaneAddress, withdraw: Callable[[], None]) -> None:
        self.address = address
        self._page = Page(array, RECEIVER_SLEEPS, SENDER_SLEEPS)
        self._withdraw = withdraw
        self._pulls: Sequence[LanePart] = ()
        self._kept: object = None
        self._bytes_pulled = 0

    @property
    def turn(self) -> int:
        """The transfer that got a credit last; 0 before the first one."""
        return self._page.words[CREDIT]

    @property
    def is_free(self) -> bool:
        """Whether that transfer is over, or was cancelled before the sender began it: the sender writes nothing."""
        words = self._page.words
        turn = words[CREDIT]
        return words[DONE] >= turn or (max(words[CANCEL], words[WITHDRAWN]) >= turn and words[BEGUN] < turn)

    def next_turn(self, number: int = 0) -> int:
        """Let the sender write for the next transfer, and return its number; 0 if it may still write for this one.

        `number` is that of the next transfer where the ranks count otherwise than one by one.
        """
        words = self._page.words
        turn = words[CREDIT]
        if not self.is_free or 0 < number <= turn:
            return 0
        number = number or turn + 1
        if words[PULLS]:
            words[TAKEN] = words[CLAIMED] = words[PULLED] = words[UNPULLED] = words[LEFT] = self._bytes_pulled = 0
        self._page.post(CREDIT, number)
        return number

    def share(self, pulls: Sequence[LanePart], kept: object) -> None:
        """Move parts in this rank as well: `pulls` are those of the sender, as moves of this process. `kept` is kept."""
        self._pulls, self._kept = pulls, kept
        self._page.words[PULLS] = 1

    @property
    def has_parts(self) -> bool:
        """Whether there are parts now that neither rank has taken: none before the sender takes its first one."""
        words = self._page.words
        taken = words[TAKEN]
        return 0 < taken < len(self._pulls) - words[CLAIMED]

    def pull(self) -> bool:
        """Move the last part that neither rank has taken. False if there is none now."""
        if not self.has_parts:
            return False
        words = self._page.words
        claimed = words[CLAIMED]
        words[CLAIMED] = claimed + 1
        fence()
        left = words[LEFT]
        part = self._pulls[-1 - claimed]
        try:
            if not left or claimed < left - 1:  # else the sender has it, and has perhaps ended the transfer
                for move in part.moves:
                    move()
                self._bytes_pulled += part.nbytes
        except BaseException:
            words[UNPULLED], self._pulls = 1, ()
            raise
        finally:
            self._page.post(PULLED, claimed + 1)
        return True

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
        return self._page.words[MOVED] + self._bytes_pulled if self._page.words[BEGUN] >= turn else 0

    @property
    def source(self) -> int:
        """The number of the source of the transfer that ended last."""
        return self._page.words[SOURCE]

    def error(self) -> Exception | None:
        """How the transfer that ended last has ended."""
        state = self._page.words[STATE]
        if state in (OK, LEFT_ALONE):
            return None
        return Cancelled("cancelled; some of its bytes may be in place") if state == CANCELLED else RankError(self._page.reason)

    def cancel(self, turn: int) -> bool:
        """Ask the sender to stop. Whether it will write nothing for this transfer, because it has not begun."""
        self._page.words[CANCEL] = turn
        fence()
        return self._page.words[BEGUN] < turn

    def withdraw(self, turn: int) -> bool:
        """Take the credit of a transfer back. Whether the sender writes nothing for it because it has not begun.

        Otherwise it has begun, or it finds out and leaves the transfer alone.
        """
        self._page.words[WITHDRAWN] = turn
        fence()
        return self._page.words[BEGUN] < turn

    @property
    def was_left_alone(self) -> bool:
        """Whether the transfer that ended last was withdrawn before it began."""
        return self._page.words[STATE] == LEFT_ALONE

    def stir(self) -> None:
        """Wake a thread that waits for the end of a transfer."""
        self._page.stir(DONE)

    @property
    def sender_has_closed(self) -> bool:
        """Whether the sender begins no further transfer."""
        return self._page.is_closed

    @property
    def was_interrupted(self) -> bool:
        """Whether the sender has closed because it was interrupted."""
        return self._page.was_interrupted

    def close(self) -> None:
        """Let the sender wait no longer."""
        self._page.close()
        self._pulls, self._kept = (), None
        self._withdraw()


class SendingLane:
    """The end of a lane on the rank of the source: `parts` are its moves, each of at most about `PART` bytes.

    `address` is for the receiver.
    """

    def __init__(
        self, page: Bytes, parts: Sequence[LanePart], address: StoreHandle, kept: Sequence[object], withdraw: Callable[[], None]
    ) -> None:
        self.parts, self.address = parts, address
        self._page = Page(page, SENDER_SLEEPS, RECEIVER_SLEEPS)
        self._kept, self._withdraw = kept, withdraw
        self._moves = [move for part in parts for move in part.moves]
        self._nbytes = sum(part.nbytes for part in parts)
        self.may_share = True
        """Whether the receiver may move parts of this source, where it does."""
        self.source = 0
        """The number by which the receiver knows the source."""
        self._is_shared = False
        self._own = 0
        """The parts, from the first one on, that the receiver has not moved."""

    @property
    def turn(self) -> int:
        """The transfer that has ended last; 0 before the first one."""
        return self._page.words[DONE]

    def has_credit(self, turn: int) -> bool:
        """Whether the credit of a transfer is there, or comes within some microseconds."""
        return self._page.wait(CREDIT, turn, SPINS, sleeps=0)

    def stir(self) -> None:
        """Wake a thread that waits for a credit."""
        self._page.stir(CREDIT)

    def wait(self, turn: int) -> bool:
        """Wait for the credit of a transfer, some milliseconds at most. Whether it is there."""
        return self._page.wait(CREDIT, turn, 1)

    @property
    def receiver_has_closed(self) -> bool:
        """Whether the receiver gives no further credit."""
        return self._page.is_closed

    @property
    def was_interrupted(self) -> bool:
        """Whether the receiver has closed because it was interrupted."""
        return self._page.was_interrupted

    def begin(self, turn: int) -> None:
        """Begin a transfer that has its credit.

        Raises:
            Cancelled: the receiver has cancelled it.
        """
        words = self._page.words
        words[MOVED] = 0
        words[BEGUN] = turn
        self._is_shared = False
        fence()
        self.check(turn)
        self._is_shared, self._own = bool(words[PULLS]), len(self.parts)

    def begin_credited(self, turn: int) -> bool:
        """Begin a transfer if the credit is that of this transfer, and was not withdrawn."""
        words = self._page.words
        if words[CREDIT] != turn:
            return False
        words[MOVED] = 0
        words[BEGUN] = turn
        self._is_shared = False
        fence()
        if words[WITHDRAWN] >= turn:
            self._page.tell(LEFT_ALONE)
            self._page.post(DONE, turn)
            return False
        self._is_shared, self._own = self.may_share and bool(words[PULLS]), len(self.parts)
        return True

    def was_withdrawn(self, turn: int) -> bool:
        """Whether the credit of a transfer was taken back."""
        return self._page.words[WITHDRAWN] >= turn

    def carry_out(self, turn: int) -> None:
        """Carry out a whole transfer that has its credit.

        Raises:
            Cancelled: the receiver has cancelled it.
            RunError: the system does not write.
        """
        words = self._page.words
        words[MOVED] = 0
        words[BEGUN] = turn
        fence()
        if words[CANCEL] >= turn:
            self.check(turn)
        for move in self._moves:
            move()
        words[MOVED] = self._nbytes

    def check(self, turn: int) -> None:
        """Check for a cancel of the receiver.

        Raises:
            Cancelled: it has cancelled the transfer.
        """
        if self._page.words[CANCEL] >= turn:  # of a later turn: this one is over for the receiver
            raise Cancelled("cancelled by the rank of the destination; some of its bytes may be in place")

    def move(self, number: int) -> int:
        """Carry out a part, unless the receiver has taken it. Returns its bytes.

        Raises:
            RunError: the system does not write.
        """
        part, words = self.parts[number], self._page.words
        if self._is_shared:
            if number >= len(self.parts) - words[CLAIMED]:
                self._own = min(self._own, number)
                return part.nbytes
            words[TAKEN] = max(words[TAKEN], number + 1)
            if not number:
                self._page.wake(DONE)  # the receiver sleeps on this word
        for move in part.moves:
            move()
        words[MOVED] += part.nbytes
        return part.nbytes

    def move_alone(self) -> None:
        """Let the receiver take no further part."""
        if self._is_shared:
            self._page.words[TAKEN] = len(self.parts)

    def settle(self, is_wanted: bool) -> bool:
        """Wait some milliseconds at most until the receiver moves no part any more. Whether that is so.

        What it could not move is moved here if the transfer is still `is_wanted`.

        Raises:
            RunError: the system does not write.
        """
        if not self._is_shared:
            return True
        words = self._page.words
        words[LEFT] = 1 + (len(self.parts) - self._own if is_wanted else 0)
        fence()
        claimed = words[CLAIMED]
        if not self._page.wait(PULLED, claimed, SPINS):
            return False
        self._is_shared = False
        if words[UNPULLED] and is_wanted:
            for part in self.parts[self._own :]:
                for move in part.moves:
                    move()
        return True

    def end(self, turn: int, error: BaseException | None) -> None:
        """Tell the receiver how a transfer has ended."""
        if error is None:
            self._page.words[SOURCE] = self.source
            self._page.tell(OK)
        else:
            is_cancelled = isinstance(error, Cancelled) or not isinstance(error, Exception)
            self._page.tell(CANCELLED if is_cancelled else FAILED, str(error))
        self._page.post(DONE, turn)

    def close(self) -> None:
        """Let the receiver wait no longer, and forget the parts."""
        self._page.close()
        self.parts, self._kept, self._moves = (), (), []
        self._withdraw()
