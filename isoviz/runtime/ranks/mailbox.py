"""The mailbox of a rank: messages to other ranks, and messages from them to calls that wait here.

A wait ends with an error if the rank that has to write is lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING

from isoviz.errors import RankLost
from isoviz.runtime.engine.interrupts import defer_interrupts

if TYPE_CHECKING:
    from isoviz.runtime.engine.event import Event
    from isoviz.runtime.ranks.transport import Transport

TICK = 0.1
"""Seconds between two checks for cancellation while a call waits."""


def lost_rank(rank: int, reason: str) -> RankLost:
    """The error of a rank that no longer answers."""
    return RankLost(f"rank {rank} no longer answers: {reason}", rank=rank)


class Mailbox:
    """The mailbox of the rank of `transport`: the messages that have arrived and are not fetched yet, by key.

    `gone` has the ranks that no longer answer, and why.
    """

    def __init__(self, transport: Transport) -> None:
        self.rank, self.size = transport.rank, transport.size
        self.send = transport.send
        self._poll = transport.poll
        self.gone: dict[int, str] = {}
        self._messages: dict[Hashable, object] = {}
        self._callbacks: dict[Hashable, tuple[int, Callable[[object], None]]] = {}
        self._unwanted: set[Hashable] = set()
        self._arrived = threading.Condition()

    @defer_interrupts()
    def poll(self, is_over: Callable[[], bool]) -> None:
        """Deliver messages in this thread for a moment, until something is over."""
        if not is_over():
            self._poll(is_over)

    def poll_for(self, event: Event, until: float | None) -> None:
        """Deliver messages in this thread for a moment, until an event has ended, or until a time (`time.monotonic`)."""
        if not event.done:
            self.poll(lambda: event.done or (until is not None and time.monotonic() >= until))

    def send_to(self, ranks: Iterable[int], message: object) -> None:
        """Send a message to some ranks, except to this one and to those that are gone."""
        for rank in ranks:
            if rank != self.rank and rank not in self.gone:
                self.send(rank, message)

    def put(self, key: Hashable, message: object) -> None:
        """Deliver a message."""
        with self._arrived:
            if key in self._unwanted:
                self._unwanted.remove(key)
                return
            found = self._callbacks.pop(key, None)
            if found is None:
                self._messages[key] = message
            self._arrived.notify_all()
        if found is not None:
            found[1](message)

    def is_unwanted(self, key: Hashable) -> bool:
        """Whether the next message will be discarded."""
        with self._arrived:
            return key in self._unwanted

    def lose(self, rank: int, reason: str) -> bool:
        """A rank no longer answers. Returns whether this is news."""
        with self._arrived:
            if rank in self.gone:
                return False
            self.gone[rank] = reason
            found = [self._callbacks.pop(key)[1] for key, (writer, _) in list(self._callbacks.items()) if writer == rank]
            self._arrived.notify_all()
        for callback in found:
            callback(lost_rank(rank, reason))
        return True

    def wait(self, key: Hashable, writer: int, check: Callable[[], None] | None = None) -> object:
        """Wait for a message that rank `writer` has to write, and fetch it. `check` may raise to stop waiting.

        Raises:
            RankLost: that rank no longer answers.
        """
        self.expect(key, writer, check)
        with self._arrived:
            if key not in self._messages:
                raise lost_rank(writer, self.gone[writer])
            return self._messages.pop(key)

    def expect(self, key: Hashable, writer: int, check: Callable[[], None] | None = None) -> None:
        """Wait until a message is here, or its writer no longer answers. `check` may raise to stop waiting."""
        self.poll(lambda: key in self._messages or writer in self.gone)
        with self._arrived:
            while key not in self._messages and writer not in self.gone:
                self._arrived.wait(None if check is None else TICK)
                if check is not None:
                    check()

    def has(self, key: Hashable) -> bool:
        """Whether a message is here that was not fetched."""
        return key in self._messages

    def call(self, key: Hashable, writer: int, callback: Callable[[object], None]) -> None:
        """Call a function with a message of rank `writer`, or with RankLost. The call may be made in this thread."""
        with self._arrived:
            if key in self._messages:
                message = self._messages.pop(key)
            elif writer in self.gone:
                message = lost_rank(writer, self.gone[writer])
            else:
                self._callbacks[key] = writer, callback
                return
        callback(message)

    def forget(self, key: Hashable) -> bool:
        """Take back a `call`, and discard its message when it comes. Returns whether the function was not called yet."""
        with self._arrived:
            found = self._callbacks.pop(key, None)
            if found is not None:
                self._unwanted.add(key)
            return found is not None
