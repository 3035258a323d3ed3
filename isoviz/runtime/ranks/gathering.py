"""Collective calls: every rank tells all others a value. A rank that is interrupted meanwhile keeps no other rank waiting."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, cast

from isoviz.errors import RankLost
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts
from isoviz.runtime.ranks.messages import Gathered

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.runtime.ranks.mailbox import Mailbox


class _Collected:
    """The values of `size` ranks. `over` gets them in the order of the ranks once all are here, or the error of a lost rank."""

    def __init__(self, size: int, over: Callable[[object], None]) -> None:
        self._values: list[object] = [None] * size
        self._left, self._over = size, over
        self._lock = threading.Lock()

    def add(self, rank: int, value: object) -> None:
        """The value of a rank has come, or RankLost. Any thread may call this."""
        is_lost = isinstance(value, RankLost)
        with self._lock:
            self._values[rank] = value
            is_last = self._left == 1 or (is_lost and self._left > 0)
            self._left = 0 if is_lost else self._left - 1
        if is_last:
            self._over(value if is_lost else self._values)


class Gathering:
    """The collective calls of a rank. All ranks count them alike: whoever stops waiting for the others has told its value.

    Rank 0 collects the values in whichever thread gets the last one, so it collects them also when nobody waits on rank 0.
    """

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._turn = 0

    @defer_interrupts()
    def gather(self, value: object, *, interruptible: bool = True) -> list[object]:
        """Tell a value, and wait for the values of all ranks. A signal is handled afterwards if it is not `interruptible`.

        Raises:
            RankLost: a rank no longer answers.
        """
        key = self._tell(value)
        try:
            with permit_interrupts(interruptible):
                self._mailbox.expect(key, 0)
            found = self._mailbox.wait(key, 0)
            if isinstance(found, RankLost):
                raise found
        except BaseException:
            self._ignore(key)
            raise
        return cast("list[object]", found)

    @defer_interrupts()
    def leave(self, value: object) -> None:
        """Tell a value, and wait for nothing."""
        self._ignore(self._tell(value))

    def _tell(self, value: object) -> tuple[type, int, int]:
        mailbox, turn, self._turn = self._mailbox, self._turn, self._turn + 1
        if mailbox.rank:
            mailbox.send(0, Gathered(turn, value))
        else:
            collected = _Collected(mailbox.size, partial(self._send, turn))
            for rank in range(1, mailbox.size):
                mailbox.call((Gathered, turn, rank), rank, partial(collected.add, rank))
            collected.add(0, value)
        return Gathered, turn, 0

    def _send(self, turn: int, found: object) -> None:
        """On rank 0: tell all ranks what they have told."""
        self._mailbox.send_to(range(self._mailbox.size), Gathered(turn, found))
        self._mailbox.put((Gathered, turn, 0), found)

    def _ignore(self, key: tuple[type, int, int]) -> None:
        """Take the values when they come, and drop them."""
        self._mailbox.call(key, 0, lambda _: None)
