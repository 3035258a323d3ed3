"""Meetings: calls that all ranks of a world make together, whichever engine they have."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.runtime.ranks.post import lost_rank

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
                told = self._gather(value, check)
                if not any(isinstance(each, _GaveUp) for each in told):
                    return told

    def _gather(self, value: Any, check: Callable[[], None]) -> list[Any]:
        """One turn."""
        turn = self._tell(value)
        transport = self._exchange.transport
        with self._changed:
            told = self._told.setdefault(turn, {})
            try:
                while len(told) < self._size:
                    try:
                        check()
                    except BaseException:
                        self._tell(_GaveUp(), turn)
                        raise
                    for rank in range(self._size):
                        if rank not in told and (reason := transport.why_silent(rank)) is not None:
                            raise lost_rank(rank, reason)
                    self._changed.wait(1.0)
            finally:
                self._told.pop(turn, None)
        return [told[rank] for rank in range(self._size)]

    def leave(self, value: Any) -> None:
        """Tell a value in place of the next `gather`, and wait for nothing."""
        with self._one_at_a_time:
            self._tell(value)

    def _tell(self, value: Any, again: int | None = None) -> int:
        """Tell a value for the next turn, or another one for a turn `again`."""
        turn = self._turn if again is None else again
        self._turn = max(self._turn, turn + 1)
        self._hear(self._rank, 0, (turn, value))
        for rank in range(self._size):
            if rank != self._rank:
                self._exchange.tell(rank, "meet", turn, value)
        return turn

    def _hear(self, sender: int, _number: int, arguments: tuple[int, Any]) -> None:
        turn, value = arguments
        with self._changed:
            self._told.setdefault(turn, {})[sender] = value
            self._changed.notify_all()

    def _lost(self, _rank: int, _reason: str) -> None:
        with self._changed:
            self._changed.notify_all()
