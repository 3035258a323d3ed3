"""Collective calls: every rank tells all others a value. A rank that is interrupted meanwhile keeps no other rank waiting."""

from __future__ import annotations

import pickle
import threading
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, cast

from isoviz.errors import RankLost
from isoviz.runtime.engine.interrupts import defer_interrupts, handle_waiting_signal, permit_interrupts
from isoviz.runtime.ranks.mailbox import lost_rank
from isoviz.runtime.ranks.messages import Gathered

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.runtime.ranks.mailbox import Mailbox
    from isoviz.runtime.ranks.transport import Slots, Transport

Key = tuple[type, int, int]


class Gathering(ABC):
    """The collective calls of a rank. All ranks count them alike, because a rank that stops waiting has told its value before."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    @abstractmethod
    def gather(self, value: object, *, interruptible: bool = True, after: int = -1) -> list[object]:
        """Tell a value, and wait for the values of all ranks. A signal is handled afterwards if it is not `interruptible`.

        No signal is handled before rank `after` has told its value.

        Raises:
            RankLost: a rank no longer answers.
        """

    @abstractmethod
    def leave(self, value: object) -> None:
        """Tell a value, and wait for nothing."""

    def _ignore(self, key: Key) -> None:
        """Take a message when it comes, and drop it."""
        self._mailbox.call(key, key[2], lambda _: None)


def gathering_of(transport: Transport, mailbox: Mailbox) -> Gathering:
    """The collective calls of an engine that hears messages already: through shared memory where all ranks have some."""
    if not transport.slots:
        return GatheringByMessages(mailbox)
    return GatheringBySlots(mailbox, transport.slots[0], transport.number << 32)


# ---- by messages


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


class GatheringByMessages(Gathering):
    """Collective calls by messages, two for each rank.

    Rank 0 collects the values in whichever thread gets the last one, so it collects them also when nobody waits on rank 0.
    """

    _turn = 0

    @defer_interrupts()
    def gather(self, value: object, *, interruptible: bool = True, after: int = -1) -> list[object]:
        key = self._tell(value)
        try:
            with permit_interrupts(interruptible and after < 0):
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
        self._ignore(self._tell(value))

    def _tell(self, value: object) -> Key:
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


# ---- through shared memory


class GatheringBySlots(Gathering):
    """Collective calls through memory that all ranks share. The stamps of the turns follow `base`.

    A value for which a slot has no room goes to all other ranks as a message. They know it from the slot, which has its stamp
    and not its bytes.
    """

    def __init__(self, mailbox: Mailbox, slots: Slots, base: int) -> None:
        super().__init__(mailbox)
        self._slots, self._stamp = slots, base
        self._others = [rank for rank in range(mailbox.size) if rank != mailbox.rank]

    @defer_interrupts()
    def gather(self, value: object, *, interruptible: bool = True, after: int = -1) -> list[object]:
        stamp = self._tell(value)
        found = [value] * self._mailbox.size
        try:
            if after >= 0:
                self._await(after, stamp, interruptible=False)
            for rank in self._slots.behind(stamp):
                self._await(rank, stamp, interruptible)
            for rank in self._others:
                found[rank] = self._value(rank, stamp, interruptible)
        except BaseException:
            self._ignore_all(stamp)
            raise
        return found

    @defer_interrupts()
    def leave(self, value: object) -> None:
        self._ignore_all(self._tell(value))

    def _tell(self, value: object) -> int:
        data = b"" if value is None else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        stamp = self._stamp = self._stamp + 1
        if not self._slots.tell(stamp, data):
            self._mailbox.send_to(self._others, Gathered(stamp, value))
        return stamp

    def _await(self, rank: int, stamp: int, interruptible: bool) -> None:
        """Wait until a rank has told its value.

        Raises:
            RankLost: it no longer answers.
        """
        slots, gone, waits = self._slots, self._mailbox.gone, 0
        while not slots.wait_for(rank, stamp, waits):
            if rank in gone and not slots.has_told(rank, stamp):
                raise lost_rank(rank, gone[rank])
            if interruptible:
                handle_waiting_signal()
            waits += 1

    def _value(self, rank: int, stamp: int, interruptible: bool) -> object:
        data = self._slots.value(rank, stamp)
        if data is not None:
            return pickle.loads(data) if data else None  # noqa: S301  # the ranks of a job trust each other
        key = Gathered, stamp, rank
        with permit_interrupts(interruptible):
            self._mailbox.expect(key, rank)
        return self._mailbox.wait(key, rank)

    def _ignore_all(self, stamp: int) -> None:
        """Drop the messages of a turn when they come."""
        for rank in self._others:
            if not self._slots.has_told(rank, stamp) or self._slots.value(rank, stamp) is None:
                self._ignore((Gathered, stamp, rank))
