"""The arbiter on rank 0: the coordinator of all ranks, which first compares what they submit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.runtime.ranks.messages import Compare, Decline, Relay
from isoviz.scheduling.coordinator import Coordinator
from isoviz.scheduling.work import End, Request, Settled, Stop

if TYPE_CHECKING:
    from isoviz.runtime.ranks.mailbox import Mailbox
    from isoviz.runtime.ranks.messages import Consult, Digest
    from isoviz.scheduling.coordinator import Answer, Message

_LOG = logging.getLogger("isoviz")


class Arbiter:
    """Admits the transfers of all ranks. A transfer that differs between ranks is refused before a byte moves.

    `capacity` bounds the bytes of each memory.
    """

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self._coordinator = Coordinator(capacity)
        self._known: dict[int, tuple[int, Request, Digest | None]] = {}
        """What the first rank that asks for a transfer has submitted."""
        self._refused: dict[tuple[int, int], str] = {}

    @property
    def is_idle(self) -> bool:
        """Whether it has no transfers."""
        return self._coordinator.is_idle

    def knows(self, number: int) -> bool:
        """Whether a rank has asked for a transfer that has not ended."""
        return number in self._known

    def handle(self, rank: int, message: Message, digest: Digest | None = None) -> list[Answer]:
        """Handle a message from a rank, and return the stimuli for the ranks.

        Raises:
            InputError: the message contradicts earlier ones.
        """
        number = message.transfer
        if type(message) is Request:
            first, request, known = self._known.setdefault(number, (rank, message, digest))
            difference = digest.difference(known) if digest is not None and known is not None else ""
            if difference := difference or _difference(message, request):
                return self._refuse(number, rank, f"transfer {number}: rank {rank} has {difference}, compared with rank {first}")
        elif (reason := self._refused.get((number, rank))) is not None:
            if type(message) is not Settled:
                return []
            del self._refused[number, rank]
            return [(rank, End(number, "failed", reason))]
        return self._noted(self._coordinator.handle(rank, message))

    def decline(self, rank: int, number: int, ranks: tuple[int, ...], reason: str) -> list[Answer]:
        """A rank cannot take part in a transfer of `ranks`: it fails on all others."""
        return self._noted(self._coordinator.decline(rank, number, ranks, reason))

    def lost(self, rank: int, reason: str) -> list[Answer]:
        """A rank no longer answers: its transfers fail on the others. The answers may name the lost rank, too."""
        return self._noted(self._coordinator.lost(rank, reason))

    def _refuse(self, number: int, rank: int, reason: str) -> list[Answer]:
        answers = self._coordinator.refuse(rank, number, reason)
        if not any(other == rank for other, _ in answers):  # it has no part in the transfer that the others have
            self._refused[number, rank] = reason
            answers.append((rank, Stop(number, "failed", reason)))
        return self._noted(answers)

    def _noted(self, answers: list[Answer]) -> list[Answer]:
        """Forget the transfers that end."""
        for _, stimulus in answers:
            if type(stimulus) is End:
                self._known.pop(stimulus.transfer, None)
        return answers


def _difference(request: Request, other: Request) -> str:
    """In words, how a rank runs the same plan otherwise than another one; empty if it does not."""
    if request.priority != other.priority:
        return f"priority {request.priority} instead of {other.priority}"
    return "" if request == other else "other buffers"


class RemoteArbiter:
    """The arbiter of rank 0 as the other ranks have it: asked and answering by messages. Any thread may use it."""

    def __init__(self, mailbox: Mailbox, capacity: Mapping[str, int]) -> None:
        self._arbiter, self._mailbox = Arbiter(capacity), mailbox
        self._lock = threading.Lock()

    def consulted(self, sender: int, message: Consult) -> None:
        """A rank asks. The others hear what it has submitted if it is the first to ask."""
        asked = message.message
        is_first = type(asked) is Request and not self._arbiter.knows(asked.transfer)
        self._answer(lambda: self._arbiter.handle(sender, asked, message.digest))
        if is_first:
            for rank in asked.ranks:  # type: ignore[union-attr]  # it is a request
                if rank != sender and rank not in self._mailbox.gone:
                    self._mailbox.send(rank, Compare(asked.transfer, sender, message.digest, is_direct=False))

    def declined(self, message: Decline) -> None:
        """A rank cannot take part in a transfer."""
        number, rank, ranks, reason = message
        self._answer(lambda: self._arbiter.decline(rank, number, ranks, reason))

    def lost(self, rank: int, reason: str) -> None:
        """A rank no longer answers."""
        self._answer(lambda: self._arbiter.lost(rank, reason))

    def _answer(self, ask: Callable[[], list[Answer]]) -> None:
        """Ask the arbiter, and send its answers in the order in which it gives them."""
        with self._lock:
            try:
                answers = ask()
            except InputError:
                _LOG.exception("the arbiter refused a message")
                return
            for rank, stimulus in answers:
                if rank not in self._mailbox.gone:
                    self._mailbox.send(rank, Relay(stimulus))
