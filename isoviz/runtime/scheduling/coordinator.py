"""What one process holds for the schedulers of several ranks: the admission of buffers, and how each transfer ends.

Every rank that carries out hops of a transfer asks for its buffers (`Request`). Once all have asked, the transfer waits its turn;
it is granted to all of them at once. A rank that has nothing of it to do any more says so (`Settled`). Once all ranks have, the
buffers are free and the transfer ends everywhere with one outcome (`End`). If it fails or is cancelled on one rank (`Abort`), the
others are told to stop, and settle. So nobody frees a buffer that another rank still writes or reads.

Messages between two processes have to come in the order in which they were sent; between other pairs they may overtake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.runtime.scheduling.admission import Admission
from isoviz.runtime.scheduling.work import Abort, End, Grant, Lend, Request, Settled, Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.runtime.scheduling.work import Stimulus

Message = Request | Abort | Settled
Answer = tuple[int, "Stimulus"]
"""A rank, and what to tell its scheduler."""


class _Shared:
    """A transfer between its first request and its end."""

    __slots__ = ("asked", "outcome", "priority", "reason", "request", "settled", "waits")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.priority = request.priority
        """Its own, or the one that the ranks were told."""
        self.asked: set[int] = set()
        self.settled: set[int] = set()
        self.waits: bool | None = None
        """Whether it waits for buffers; None while it has not begun to, or never will."""
        self.outcome, self.reason = "", ""

    @property
    def ranks(self) -> tuple[int, ...]:
        return self.request.ranks


class Coordinator:
    """See the module. `capacity` bounds the bytes of each memory of the machine; a memory that is not named has no bound."""

    def __init__(self, capacity: Mapping[str, int] | None = None) -> None:
        self._admission = Admission(capacity or {})
        self._shared: dict[int, _Shared] = {}

    @property
    def is_idle(self) -> bool:
        """Whether it knows no transfer, and nobody holds buffers."""
        return not self._shared and self._admission.is_idle

    def free(self, memory: str) -> int | None:
        """Bytes of a memory that nobody holds; None: it has no bound."""
        return self._admission.free(memory)

    def handle(self, rank: int, message: Message) -> list[Answer]:
        """What to tell which ranks now that one has sent a message. Messages about transfers that have ended are ignored, and so
        are those that come twice.

        Raises:
            InputError: the rank has no part in the transfer, ranks disagree about it, or a rank settles what it was not granted.
        """
        shared = self._shared.get(message.transfer)
        if type(message) is Request:
            return self._requested(rank, message, shared)
        if shared is None:
            return []
        if rank not in shared.asked:
            raise InputError(f"transfer {message.transfer}: rank {rank} has not asked for it")
        if type(message) is Abort:
            return self._aborted(rank, message, shared)
        assert type(message) is Settled
        return self._settled(rank, shared)

    def _requested(self, rank: int, request: Request, shared: _Shared | None) -> list[Answer]:
        number = request.transfer
        if rank not in request.ranks:
            raise InputError(f"transfer {number}: rank {rank} asks for it, but its ranks are {request.ranks}")
        if shared is None:
            shared = self._shared[number] = _Shared(request)
        elif shared.request != request:
            raise InputError(f"transfer {number}: rank {rank} asks for {request}, another rank for {shared.request}")
        if rank in shared.asked:
            return []
        shared.asked.add(rank)
        if shared.outcome:  # another rank has given it up already
            return [(rank, Stop(number, shared.outcome, shared.reason))]
        if len(shared.asked) < len(shared.ranks):
            return []
        shared.waits = True
        self._admission.request(number, dict(request.needs), request.priority)
        return self._serve()

    def _aborted(self, rank: int, abort: Abort, shared: _Shared) -> list[Answer]:
        if shared.outcome:
            return []
        shared.outcome, shared.reason = abort.outcome, abort.reason
        others = [other for other in shared.ranks if other != rank and other in shared.asked and other not in shared.settled]
        answers: list[Answer] = [(other, Stop(*abort)) for other in others]
        if shared.waits:
            shared.waits = None
            self._admission.withdraw(abort.transfer)
            answers += self._serve()
        return answers

    def _settled(self, rank: int, shared: _Shared) -> list[Answer]:
        number = shared.request.transfer
        if shared.waits is not False and not shared.outcome:
            raise InputError(f"transfer {number}: rank {rank} settles it, but it was neither granted nor given up")
        shared.settled.add(rank)
        if len(shared.settled) < len(shared.ranks):
            return []
        del self._shared[number]
        if shared.waits is False:
            self._admission.release(number)
        answers: list[Answer] = [(each, End(number, shared.outcome or "done", shared.reason)) for each in shared.ranks]
        return answers + self._serve()

    def _serve(self) -> list[Answer]:
        """Grant buffers to those who can have them, and lend the priorities of those who cannot."""
        answers: list[Answer] = []
        for number in self._admission.granted():
            shared = self._shared[number]
            shared.waits = False
            answers += [(rank, Grant(number)) for rank in shared.ranks]
        for number, priority in self._admission.revalued():
            shared = self._shared[number]
            if priority != shared.priority:
                shared.priority = priority
                answers += [(rank, Lend(number, priority)) for rank in shared.ranks]
        return answers
