"""One of several schedulers that share transfers: each carries out the hops of its rank (DESIGN, section 3).

Whether a hop may continue depends on two counters (`isoviz.scheduling.pool.XD`). If the hop before or behind is on
another rank, that rank's scheduler answers with `SendArrived` or `SendCredit` when it has moved a chunk. The driver sends this
message to the rank named, which handles it as `Arrived` or `Credit`. A rank sends its first credit when it holds its buffers, so
no rank writes into slots that do not exist yet.

Messages count chunks from the first one on. So a message that comes twice, or after a later one, changes nothing. A message about
a transfer that still waits for its buffers here is kept. A message about a transfer that is stopping or has ended is ignored. A
message that cannot be meant for the hop raises InputError and changes nothing.

The coordinator decides when a transfer gets its buffers, and when it has ended on all ranks. Transfers without buffers need no
coordinator. There are two kinds:

- A private transfer concerns one rank.
- In a direct transfer, one rank writes straight to another. The receiver sends its credit at once. The sender decides how the
  transfer ends (`SendEnd`). If it fails or is cancelled on the receiver, that asks the sender to stop (`SendStop`). The receiver
  keeps its destination until the sender has answered, because the sender may be writing to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from isoviz import checks
from isoviz.errors import InputError
from isoviz.scheduling.pool import RUNS, SETTLED, STOPS, WAITS, Tells, highest_priority_first
from isoviz.scheduling.scheduler import Scheduler
from isoviz.scheduling.work import (
    Abort,
    Arrived,
    Credit,
    End,
    Grant,
    Lend,
    Request,
    SendArrived,
    SendCredit,
    SendEnd,
    SendStop,
    Settled,
    Stop,
)

if TYPE_CHECKING:
    from isoviz.scheduling.pool import ChannelState, Policy, TransferState
    from isoviz.scheduling.work import Instruction, PathWork, Work

ARRIVED, CREDIT = "arrived", "credit"
"""The counters, which are also the names of the messages that advance them."""


def link(transfer: TransferState, path: PathWork, start: int, here: int, out: list[Instruction]) -> None:
    """Link the hops of a path with their neighbours on other ranks. The first hop of the path has the number `start`.

    This sets the counters of the hops here that depend on other ranks. It also notes which hops here have to inform other ranks,
    and sends the first credits: also that of a destination here which another rank writes.
    """
    if path.has_receiver:
        last = start + len(path.ranks) - 1
        if (writing := transfer.xds.get(last)) is not None:
            writing.credit = transfer.early.get((CREDIT, last), 0)
        if path.receiver == here:
            out.append(SendCredit(path.ranks[-1], transfer.number, last, path.chunks))
    for at, rank in enumerate(path.ranks):
        waiting = transfer.xds.get(start + at)
        for reason, hop, lead in path.dependencies(at):
            moving = transfer.xds.get(start + hop)
            if waiting is not None and moving is not None:
                waiting.waits_for(moving, reason, lead)
            elif waiting is not None and reason == "slot":
                waiting.credit = transfer.early.get((CREDIT, start + at), 0)
            elif waiting is not None:
                waiting.arrived = max(lead, transfer.early.get((ARRIVED, start + at), 0))
            elif moving is not None:
                told = Tells(SendCredit if reason == "slot" else SendArrived, rank, start + at, lead)
                moving.tells = (*moving.tells, told)
                if reason == "slot":
                    told.tell(moving, out)


def check(transfer: TransferState, rank: int, hop: int, count: int, message: str) -> None:
    """Refuse a message that cannot be meant for a hop.

    Raises:
        InputError: there is no such hop, the hop is another rank's, no hop of another rank advances that counter, or the count is
            not a possible number of chunks.
    """
    where = f"{message} of transfer {transfer.number}, hop {hop}"
    places = transfer.work.places
    if not 0 <= hop < len(places):
        raise InputError(f"{where}: expected a hop from 0 to {len(places) - 1}")
    number, at = places[hop]
    path = transfer.work.paths[number]
    if path.ranks and path.ranks[at] != rank:
        raise InputError(f"{where}: the hop is carried out by rank {path.ranks[at]}, not by rank {rank}")
    advancing = [other for reason, other, _ in path.dependencies(at) if (reason == "slot") == (message == CREDIT)]
    is_received = message == CREDIT and path.has_receiver and at == len(path.ranks) - 1
    if not path.ranks or not (is_received or any(path.ranks[other] != rank for other in advancing)):
        raise InputError(f"{where}: no hop of another rank advances this counter")
    if not 0 <= count <= path.chunks:
        raise InputError(f"{where}: {count} chunks, expected 0 to {path.chunks}")


class RankScheduler(Scheduler):
    """The scheduler of rank `rank`; see the module. The other parameters are those of `Scheduler`.

    All ranks with a part in a transfer get the same `Submit`: those of its hops, and the rank of its destination. If the paths
    name no ranks, all hops are on this rank.
    """

    handlers: ClassVar[Mapping[type, str]] = {
        **Scheduler.handlers,
        Arrived: "arrived",
        Credit: "credit",
        Grant: "grant",
        Lend: "lend",
        Stop: "stop",
        End: "end",
    }

    def __init__(
        self,
        rank: int,
        limits: Mapping[str, int] | None = None,
        capacity: Mapping[str, int] | None = None,
        policies: Mapping[str, Policy] | None = None,
        policy: Policy = highest_priority_first,
    ) -> None:
        super().__init__(limits, capacity, policies, policy)
        self.rank = checks.count("scheduler", "rank", rank)
        self._alone = ""

    def needs(self, work: Work) -> dict[str, int]:
        """See `Scheduler.needs`. The result counts the buffers on all ranks.

        Raises:
            LimitError: the transfer needs more than a memory has.
            InputError: the work contradicts itself, could never end, or has no part here.
        """
        found = super().needs(work)
        if self.rank not in (ranks := work.ranks(self.rank)):
            raise InputError(f"transfer: no part for rank {self.rank}; its hops and ends are on {', '.join(map(str, ranks))}")
        return found

    # ---- stimuli from other ranks

    def arrived(self, number: int, hop: int, count: int) -> list[Instruction]:
        """Another rank has written the first `count` chunks of the input of a hop.

        Raises:
            InputError: no other rank writes the input of that hop, or `count` is not a possible number of chunks.
        """
        return self._told(ARRIVED, number, hop, count)

    def credit(self, number: int, hop: int, count: int) -> list[Instruction]:
        """Another rank has provided slots for the first `count` chunks of the output of a hop.

        Raises:
            InputError: no other rank reads the output of that hop, or `count` is not a possible number of chunks.
        """
        return self._told(CREDIT, number, hop, count)

    # ---- stimuli from the coordinator, or from the other rank of a direct transfer

    def grant(self, number: int) -> list[Instruction]:
        """The coordinator has granted a transfer its buffers."""
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is not None and transfer.state is WAITS:
            self._run(transfer, out)
        return out

    def lend(self, number: int, priority: int) -> list[Instruction]:
        """The coordinator has changed the priority of a transfer."""
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is not None:
            touched: dict[ChannelState, None] = {}
            self._lend(transfer, priority, touched)
            for channel in touched:
                self._fill(channel, out)
        return out

    def stop(self, number: int, outcome: str, reason: str = "") -> list[Instruction]:
        """A transfer has failed or was cancelled on another rank."""
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is not None and transfer.state in (WAITS, RUNS):
            for channel in self._stop(transfer, outcome, reason, out):
                self._fill(channel, out)
        return out

    def end(self, number: int, outcome: str, reason: str = "") -> list[Instruction]:
        """A transfer has ended on all ranks.

        Raises:
            InputError: it has not settled on this rank.
        """
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is not None:
            if transfer.state is not SETTLED and not self._receives(transfer):
                raise InputError(f"transfer {number} cannot end: it has not settled on rank {self.rank}")
            transfer.outcome, transfer.reason = outcome, reason
            self._finish(transfer, out)
        return out

    # ---- lost ranks

    def lost(self, number: int, reason: str) -> list[Instruction]:
        """The other rank of a direct transfer no longer answers: the transfer fails."""
        transfer = self._transfers.get(number)
        if transfer is None or not self._receives(transfer):
            return self.stop(number, "failed", reason)
        return self.end(number, "failed", reason)

    def without_coordinator(self, reason: str) -> list[Instruction]:
        """The coordinator no longer answers: its transfers fail, and end on this rank alone when no request is in flight."""
        self._alone = reason
        out: list[Instruction] = []
        for transfer in list(self._transfers.values()):
            if self._is_private(transfer) or transfer.work.direct is not None:
                continue
            if transfer.state is SETTLED:
                transfer.outcome, transfer.reason = "failed", reason
                self._finish(transfer, out)
            else:
                for channel in self._stop(transfer, "failed", reason, out):
                    self._fill(channel, out)
        return out

    # ---- inside

    def _told(self, counter: str, number: int, hop: int, count: int) -> list[Instruction]:
        out: list[Instruction] = []
        transfer = self._transfers.get(number)
        if transfer is None:
            return out
        check(transfer, self.rank, hop, count, counter)
        if transfer.state is WAITS:  # another rank got its buffers first
            transfer.early[counter, hop] = max(count, transfer.early.get((counter, hop), 0))
        elif transfer.state is RUNS and (xd := transfer.xds.get(hop)) is not None and count > getattr(xd, counter):
            setattr(xd, counter, count)
            if not xd.queued and xd.ready:
                xd.channel.wake(xd)
                self._fill(xd.channel, out)
        return out

    def _place(self, transfer: TransferState, path: PathWork, start: int, out: list[Instruction]) -> None:
        if not path.ranks:
            super()._place(transfer, path, start, out)
            return
        for at, rank in enumerate(path.ranks):
            if rank == self.rank:
                self._join(transfer, path, at, start + at)
        link(transfer, path, start, self.rank, out)

    def _run(self, transfer: TransferState, out: list[Instruction]) -> None:
        """Begin a transfer that waits for nothing more than its channels."""
        touched: dict[ChannelState, None] = {}
        self._begin(transfer, touched, out)
        for channel in touched:
            self._fill(channel, out)
        if not transfer.unfinished:
            self._end(transfer, out)

    def _is_private(self, transfer: TransferState) -> bool:
        """Whether a transfer concerns this rank alone: it has no part on another rank, and no buffers."""
        return not transfer.work.rings and transfer.work.ranks(self.rank) == (self.rank,)

    def _receives(self, transfer: TransferState) -> bool:
        """Whether another rank writes a transfer straight to this one, and decides how it ends."""
        return transfer.work.direct is not None and transfer.work.direct[1] == self.rank

    def _give_up(self, transfer: TransferState, outcome: str, reason: str, out: list[Instruction]) -> list[ChannelState]:
        direct = transfer.work.direct
        if transfer.state is not STOPS:
            if direct is not None and direct[1] == self.rank:
                out.append(SendStop(direct[0], transfer.number, outcome, reason))
            elif direct is None and not self._is_private(transfer):
                out.append(Abort(transfer.number, outcome, reason))
        return self._stop(transfer, outcome, reason, out)

    def _ask(self, transfer: TransferState, needs: Mapping[str, int], out: list[Instruction]) -> None:
        work = transfer.work
        if work.direct is not None or self._is_private(transfer):
            self._run(transfer, out)
        elif self._alone:
            transfer.outcome, transfer.reason = "failed", self._alone
            self._finish(transfer, out)
        else:
            out.append(Request(transfer.number, tuple(sorted(needs.items())), work.priority, work.ranks(self.rank)))

    def _withdraw(self, transfer: TransferState) -> None:
        """Do nothing: the coordinator withdraws the request when it gets the `Abort`."""

    def _end(self, transfer: TransferState, out: list[Instruction]) -> None:
        direct = transfer.work.direct
        if direct is not None:
            if direct[0] == self.rank:  # else it waits for the sender's word
                out.append(SendEnd(direct[1], transfer.number, transfer.outcome, transfer.reason))
                self._finish(transfer, out)
        elif self._is_private(transfer):
            self._finish(transfer, out)
        elif self._alone:
            transfer.outcome, transfer.reason = "failed", self._alone
            self._finish(transfer, out)
        else:
            transfer.state = SETTLED
            out.append(Settled(transfer.number))
