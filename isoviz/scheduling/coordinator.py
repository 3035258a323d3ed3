"""The coordinator: one process admits the transfers for the schedulers of all ranks, and decides how each transfer ends.

Every rank that carries out hops of a transfer asks for its buffers (`Request`). When all have asked, the transfer waits for
admission. The buffers are granted to all its ranks at once (`Grant`). A rank that has nothing more to do for the transfer reports
this (`Settled`). When all ranks have settled, the buffers are free and the transfer ends on all ranks with one outcome (`End`).
If it fails or is cancelled on one rank (`Abort`), the other ranks are told to stop (`Stop`), and settle. So no buffer is freed
while another rank writes or reads it.

Messages from one process to another have to arrive in the order in which they were sent. Messages between different pairs of
processes may overtake each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError
from isoviz.scheduling.admission import Admission
from isoviz.scheduling.work import Abort, End, Grant, Lend, Request, Settled, Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.scheduling.work import Stimulus

Message = Request | Abort | Settled
Answer = tuple[int, "Stimulus"]
"""A rank, and a stimulus for its scheduler."""


class _Shared:
    """A transfer between its first request and its end."""

    __slots__ = ("asked", "outcome", "priority", "reason", "request", "settled", "waits")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.priority = request.priority
        """Its own priority, or the one last sent to the ranks."""
        self.asked: set[int] = set()
        self.settled: set[int] = set()
        self.waits: bool | None = None
        """Whether it waits for buffers: None before all ranks have asked, or if it was given up while it waited."""
        self.outcome, self.reason = "", ""

    @property
    def ranks(self) -> tuple[int, ...]:
        return self.request.ranks


class Coordinator:
    """The coordinator; see the module. `capacity` bounds the bytes of each memory. A memory that is not named is unbounded."""

    def __init__(self, capacity: Mapping[str, int] | None = None) -> None:
        self._admission = Admission(checks.counts("coordinator, capacity", capacity))
        self._shared: dict[int, _Shared] = {}
        self._lost: dict[int, str] = {}

    @property
    def is_idle(self) -> bool:
        """Whether it has no transfers and all buffers are free."""
        return not self._shared and self._admission.is_idle

    def free(self, memory: str) -> int | None:
        """Free bytes of a memory; None if it is unbounded."""
        expect("coordinator", memory, str, "the name of a memory")
        return self._admission.free(memory)

    def handle(self, rank: int, message: Message) -> list[Answer]:
        """Handle a message from a rank, and return the stimuli for the ranks.

        Messages about transfers that have ended, and repeated messages, are ignored.

        Raises:
            InputError: the rank has no part in the transfer, ranks disagree about the transfer, or a rank settles a transfer that
                was neither granted nor given up.
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

    def refuse(self, rank: int, number: int, reason: str) -> list[Answer]:
        """A rank asks for a transfer that is not the one of the others: the transfer fails on all ranks.

        The rank itself is answered only if it has a part in the transfer of the others.
        """
        shared = self._shared.get(number)
        if shared is None:
            return []
        answers = self._aborted(rank, Abort(number, "failed", reason), shared)
        if rank in shared.ranks:
            shared.asked.add(rank)
            answers.append((rank, Stop(number, shared.outcome, shared.reason)))
        return answers

    def decline(self, rank: int, number: int, ranks: tuple[int, ...], reason: str) -> list[Answer]:
        """A rank cannot take part in a transfer of `ranks`: it fails on all others. The rank itself counts as settled.

        It need not name the ranks of a transfer that others have asked for.
        """
        shared = self._shared.get(number)
        if shared is None and not ranks:  # it has ended
            return []
        if shared is None:
            shared = self._shared[number] = _Shared(Request(number, (), 0, ranks))
        shared.asked.add(rank)
        return self._aborted(rank, Abort(number, "failed", reason), shared) + self._settled(rank, shared)

    def lost(self, rank: int, reason: str) -> list[Answer]:
        """A rank no longer answers: all its transfers fail for that reason, now and later, once the other ranks have settled.

        The answers name the lost rank, too.
        """
        self._lost.setdefault(rank, reason)
        answers: list[Answer] = []
        for number, shared in list(self._shared.items()):
            if rank in shared.ranks and number in self._shared:
                answers += self._without(rank, shared)
        return answers

    def _without(self, rank: int, shared: _Shared) -> list[Answer]:
        """Let a transfer fail for a lost rank, which counts as settled."""
        shared.asked.add(rank)
        answers = self._aborted(rank, Abort(shared.request.transfer, "failed", self._lost[rank]), shared)
        return answers + self._settled(rank, shared)

    def _requested(self, rank: int, request: Request, shared: _Shared | None) -> list[Answer]:
        number = request.transfer
        if rank not in request.ranks:
            raise InputError(f"transfer {number}: rank {rank} asks for it, but its ranks are {request.ranks}")
        if shared is None:
            shared = self._shared[number] = _Shared(request)
            for each in request.ranks:
                if each in self._lost:
                    self._without(each, shared)  # no other rank has asked yet: nobody has to know
        elif shared.request != request and not shared.outcome:
            raise InputError(f"transfer {number}: rank {rank} asks for {request}, another rank for {shared.request}")
        if rank in shared.asked:
            return []
        shared.asked.add(rank)
        if shared.outcome:  # another rank gave it up before
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
        """Grant buffers to the transfers that can have them. The others lend their priorities to the holders."""
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
