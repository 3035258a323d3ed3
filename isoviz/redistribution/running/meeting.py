"""Where the ranks of an engine meet: through memory that they share on one host, by messages between hosts.

A redistribution moves bytes between two meetings. On one host it takes a few milliseconds or less, so a meeting has to take
microseconds.
"""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, Any, cast

from isoviz.errors import Cancelled, RankError
from isoviz.runtime.engine.interrupts import defer_interrupts, handle_waiting_signal
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.runtime.ranks.rank_engine import RankEngine
    from isoviz.runtime.ranks.transport import Slots

_LEFT, _OUT = 0, 1
"""What a rank notes: who was interrupted, so that it comes to no further turn, as base + 1 + rank; the turn in which it has left
a call: nothing of that call moves there any more."""
_INTERRUPTED = "interrupted"
"""What a rank tells by messages that was interrupted."""
_NAP = 5e-5
"""Seconds between two looks whether others have left."""


class Meeting:
    """Where the ranks of an engine wait for each other, and tell each other small values.

    All ranks make it together, and call its methods together. What one after another tells goes through their slots, where all
    ranks have some. If a value finds no room there, that turn goes as `RankEngine.gather` does it.

    What needs all ranks goes in a `with`. A rank that leaves it by Ctrl-C keeps no other rank waiting: what they have not all
    come to is cancelled.
    """

    def __init__(self, engine: RankEngine) -> None:
        self._engine = engine
        self.is_over = False
        """Whether this rank was interrupted, or has raised that another one was: another meeting has to be made."""
        self._left = 0
        """1 + the rank that was interrupted, this one or another; 0 where none was."""
        slots = engine.transport.slots
        self._slots: Slots | None = slots[1] if slots else None
        self._base = self._turn = 0
        if self._slots is not None:  # Stamps follow those of all earlier meetings, which all ranks have left.
            latest = cast("list[int]", engine.gather(self._slots.latest))
            self._base = self._turn = ((max(latest) >> 32) + 1) << 32

    def wait(self) -> None:
        """Wait until all ranks have come here. What they wrote to shared memory before can be read afterwards.

        Raises:
            RankLost: a rank no longer answers. Cancelled: a rank was interrupted. RankError: a rank has come to another call.
        """
        self.gather("wait", None)

    def gather(self, what: str, value: object, *, interruptible: bool = True) -> list[Any]:
        """The values of all ranks, on all ranks, as `RankEngine.gather` gives them. It is a `wait`, too.

        `what` is the name of what they tell: it finds ranks that have come to another call. It is not `interruptible` where the
        ranks that have not come yet may use the arrays of this one.

        Raises:
            RankLost: a rank no longer answers. Cancelled: a rank was interrupted. RankError: a rank has come to another call.
        """
        for rank, reason in self._engine.gone.items():
            raise lost_rank(rank, reason)
        if self.is_over:
            raise RankError("a rank was interrupted before: the redistribution has to be prepared anew")
        calls = cast("list[tuple[str, Any]]", self._exchanged((what, value), interruptible))
        for rank, (other, _) in enumerate(calls):
            if other == _INTERRUPTED:
                raise self._interrupted(rank)
            if other != what:
                mine = self._engine.rank
                raise RankError(f"redistribution: rank {rank} has come to {other!r}, rank {mine} to {what!r}", rank=rank)
        return [each for _, each in calls]

    @defer_interrupts()
    def _exchanged(self, value: object, interruptible: bool) -> list[Any]:
        slots, engine = self._slots, self._engine
        if slots is None:
            return engine.gather(value, interruptible=interruptible)
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._turn += 1
        slots.tell(self._turn, packed)
        self._meet(slots, interruptible)
        found = [slots.value(rank, self._turn) for rank in range(engine.transport.size)]
        if any(each is None for each in found):
            return engine.gather(value, interruptible=interruptible)
        return [value if each == packed else pickle.loads(cast("bytes", each)) for each in found]  # noqa: S301  # our own

    def __enter__(self) -> None:
        pass

    @defer_interrupts()
    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """This rank leaves a call, or what it has prepared. After Ctrl-C it comes to no further meeting.

        When this returns, no other rank uses its arrays.
        """
        is_interrupted = kind is not None and not issubclass(kind, Exception) and not self.is_over
        if is_interrupted:
            self._end_by(self._engine.rank)
        slots = self._slots
        if slots is None:
            if is_interrupted:
                self._engine.leave((_INTERRUPTED, None))
            return
        if self._left:
            slots.note(_LEFT, self._base + self._left)
        slots.note(_OUT, self._turn)
        if is_interrupted:
            for rank in range(self._engine.transport.size):
                self._await_leaving(slots, rank)

    def _await_leaving(self, slots: Slots, rank: int) -> None:
        """Wait until a rank does nothing any more that it began after the latest turn of this rank.

        If it has yet to come to that turn, it will find that this rank has left.
        """
        turn, gone = self._turn, self._engine.gone
        while slots.has_told(rank, turn) and not slots.has_told(rank, turn + 1) and slots.notes(_OUT)[rank] < turn:
            if rank in gone:
                return
            time.sleep(_NAP)

    def _end_by(self, rank: int) -> None:
        self.is_over, self._left = True, 1 + rank

    def _interrupted(self, rank: int) -> Cancelled:
        self._end_by(rank)
        return Cancelled(f"the redistribution was cancelled: rank {rank} was interrupted")

    def close(self) -> None:
        """End it on this rank. The others may still read what this rank has told last."""
        self.is_over = True

    def _meet(self, slots: Slots, interruptible: bool) -> None:
        for rank in slots.behind(self._turn):
            self._await(slots, rank, interruptible)
        self._require_all(slots, interruptible)

    def _await(self, slots: Slots, rank: int, interruptible: bool) -> None:
        waits = 0
        while not slots.wait_for(rank, self._turn, waits):
            self._require_all(slots, interruptible)
            if interruptible:
                handle_waiting_signal()
            for lost, reason in self._engine.gone.items():
                raise lost_rank(lost, reason)
            waits += 1

    def _require_all(self, slots: Slots, interruptible: bool) -> None:
        """Require that no rank has left: in this turn, or, where nobody leaves before its end, in an earlier one."""
        for rank, left in enumerate(slots.notes(_LEFT)):
            if left > self._base and (interruptible or not slots.has_told(rank, self._turn)):  # else it was an earlier meeting
                raise self._interrupted(left - self._base - 1)
