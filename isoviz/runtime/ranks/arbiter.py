"""The arbiter on rank 0: the coordinator of all ranks, which first compares what they submit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from isoviz.runtime.scheduling.coordinator import Coordinator
from isoviz.runtime.scheduling.work import End, Request, Settled, Stop

if TYPE_CHECKING:
    from isoviz.runtime.ranks.messages import Digest
    from isoviz.runtime.scheduling.coordinator import Answer, Message


class Arbiter:
    """Admits the transfers of all ranks. A transfer that differs between ranks is refused before a byte moves.

    `capacity` bounds the bytes of each memory.
    """

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self._coordinator = Coordinator(capacity)
        self._known: dict[int, tuple[int, Digest | None]] = {}
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
            first, known = self._known.setdefault(number, (rank, digest))
            said = digest.difference(known) if digest is not None and known is not None else ""
            if said:
                return self._refuse(number, rank, f"transfer {number}: rank {rank} has {said}, compared with rank {first}")
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
        if not any(told == rank for told, _ in answers):  # it has no part in the transfer that the others have
            self._refused[number, rank] = reason
            answers.append((rank, Stop(number, "failed", reason)))
        return self._noted(answers)

    def _noted(self, answers: list[Answer]) -> list[Answer]:
        """Forget the transfers that end."""
        for _, stimulus in answers:
            if type(stimulus) is End:
                self._known.pop(stimulus.transfer, None)
        return answers
