"""Meetings: calls that all ranks of a world make together, whichever engine they have."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange


class _GaveUp(NamedTuple):
    """What a rank tells whose `check` has raised an error: those that come later meet without that turn."""


class Meeting:
    """The meetings of this rank. Every rank tells all others a value, and gets theirs. All ranks count their meetings alike."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._rank, self._size = exchange.thread.rank, exchange.transport.size
        self._turn = 0
        self._told: dict[int, dict[int, Any]] = {}
        self._changed = threading.Condition()
        self._one_at_a_time = threading.Lock()
        exchange.serve["meet"] = self._hear
        exchange.transport.when_lost(self._lost)

    def gather(self, value: Any, check: Callable[[], None] = lambda: None) -> list[Any]:
        """Tell a small value that can be pickled, and wait for those of all ranks. `check` is called once a second meanwhile.

        A rank that is interrupted meanwhile has told its own, so it keeps no other rank waiting.

        Raises:
            RankLost: a rank no longer answers, or has left the others. Errors of `check` pass through.
        """
        with self._one_at_a_time:
            while True:
                values = self._gather(value, check)
                if not any(isinstance(each, _GaveUp) for each in values):
                    return values

    def _gather(self, value: Any, check: Callable[[], None]) -> list[Any]:
        """One turn."""
        turn = self._tell(value)
        try:
            while (values := self._all_told(turn)) is None:
                try:
                    check()
                except BaseException:
                    self._give_up(turn)
                    raise
            return values
        finally:
            with self._changed:
                self._told.pop(turn, None)

    def _all_told(self, turn: int) -> list[Any] | None:
        """What all ranks have told in a turn; None where some have not after a second."""
        why_silent = self._exchange.transport.why_silent
        with self._changed:
            arrived = self._told.setdefault(turn, {})

            def silent() -> int | None:
                return next((rank for rank in range(self._size) if rank not in arrived and why_silent(rank) is not None), None)

            self._changed.wait_for(lambda: len(arrived) == self._size or silent() is not None, 1.0)
            if len(arrived) == self._size:
                return [arrived[rank] for rank in range(self._size)]
            if (rank := silent()) is not None:
                raise lost_rank(rank, why_silent(rank) or "")
        return None

    def _give_up(self, turn: int) -> None:
        """Tell all ranks that this one has not waited for them.

        The ranks that still answer have heard it when this returns. So a rank whose next call begins afterwards does not take the
        value of this turn for that of its own call.
        """
        self._hear(self._rank, 0, (turn, _GaveUp()))
        waits = [rank for rank in range(self._size) if rank != self._rank]

        def heard(rank: int, _answer: object) -> None:
            with self._changed:
                waits.remove(rank)
                self._changed.notify_all()

        for rank in list(waits):
            self._exchange.request(rank, "meet", turn, _GaveUp(), answer=partial(heard, rank))
        with self._changed:
            while any(self._exchange.transport.why_silent(rank) is None for rank in waits):
                self._changed.wait(1.0)

    def leave(self, value: Any) -> None:
        """Tell a value in place of the next `gather`, and wait for nothing."""
        with self._one_at_a_time:
            self._tell(value)

    def _tell(self, value: Any) -> int:
        """Tell a value for the next turn, whose number is returned."""
        turn = self._turn
        self._turn += 1
        self._hear(self._rank, 0, (turn, value))
        for rank in range(self._size):
            if rank != self._rank:
                self._exchange.tell(rank, "meet", turn, value)
        return turn

    def _hear(self, sender: int, number: int, arguments: tuple[int, Any]) -> None:
        turn, value = arguments
        with self._changed:
            self._told.setdefault(turn, {})[sender] = value
            self._changed.notify_all()
        if isinstance(value, _GaveUp) and sender != self._rank:
            self._exchange.answer(sender, number)

    def _lost(self, _rank: int, _reason: str) -> None:
        with self._changed:
            self._changed.notify_all()
