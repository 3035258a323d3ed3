"""The other ranks, as the driver of the engine of one rank sees them (DESIGN, section 3).

A rank is a node: it has the memories of the node with its number, and carries out the hops that read them. Every rank submits
the same plans in the same order. Its scheduler decides on its own hops. Messages tell it what the ranks before and behind have
moved (`isoviz.scheduling.rank_scheduler`), and the arbiter on rank 0 admits transfers and decides how they end.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from isoviz import checks
from isoviz.errors import Cancelled, RankError, RankLost
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.peers import Peers
from isoviz.runtime.opening import OPEN
from isoviz.runtime.ranks.agreeing import Agreement, last
from isoviz.runtime.ranks.arbiter import RemoteArbiter
from isoviz.runtime.ranks.eager import SmallTransfers
from isoviz.runtime.ranks.mailbox import Mailbox, lost_rank
from isoviz.runtime.ranks.messages import (
    Compare,
    Consult,
    Decline,
    EagerData,
    EagerReceipt,
    FinalStatus,
    Gathered,
    LaneEnd,
    LaneOffer,
    LaneUse,
    NoLane,
    Offer,
    RankLostNotice,
    Relay,
    for_others,
)
from isoviz.scheduling.work import (
    Abort,
    Arrived,
    Credit,
    End,
    Request,
    SendArrived,
    SendCredit,
    SendEnd,
    SendStop,
    Settled,
    Stop,
    Work,
)

if TYPE_CHECKING:
    from isoviz.runtime.engine.asynchronous import Request as OwnRequest
    from isoviz.runtime.engine.driver import Driver
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.ranks.rank_execution import RankExecution
    from isoviz.runtime.ranks.transport import Transport
    from isoviz.scheduling.rank_scheduler import RankScheduler
    from isoviz.scheduling.work import Finish, Instruction

OPENERS = 4
"""Threads that open the stores of granted transfers: allocating pages and generating data take long."""
WAITERS = 64
"""Threads that wait for other ranks on behalf of prepared transfers, at most."""


class RankEvent(Event):
    """The event of a transfer between ranks. The thread that waits for it delivers messages before it sleeps."""

    def __init__(self, mailbox: Mailbox, *args: Any) -> None:
        super().__init__(*args)
        self._mailbox = mailbox

    def error(self, timeout: float | None = None) -> BaseException | None:
        timeout = checks.timeout(timeout)
        until = None if timeout is None else time.monotonic() + timeout
        self._mailbox.poll_for(self, until)
        return super().error(timeout if until is None else max(0.0, until - time.monotonic()))


class RankPeers(Peers):
    """The ranks besides the one of `transport`. `capacity` bounds the bytes of each memory."""

    driver: Driver
    small: SmallTransfers
    agreement: Agreement

    def __init__(self, transport: Transport, capacity: Mapping[str, int]) -> None:
        self.transport = transport
        self.rank, self.size = transport.rank, transport.size
        self.mailbox = Mailbox(transport)
        self.waiters = Dispatcher("lanes", WAITERS)
        self._openers = Dispatcher("openers", OPENERS)
        self._lane_offers = Dispatcher("lane offers", 1)
        self.heard_of_lanes: Callable[[int, LaneEnd | LaneUse], None] = lambda *_: None
        """Takes what other ranks say about lanes, in their order, in a thread of its own."""
        self._arbiter = RemoteArbiter(self.mailbox, capacity) if self.rank == 0 else None
        self._numbers = itertools.count()
        self._own_numbers = iter(range(-1 - self.rank, -(1 << 60), -self.size))

    def start(self, driver: Driver) -> None:
        """Hear other ranks from now on. `driver` is that of this rank."""
        self.driver = driver
        self.small = SmallTransfers(driver, self.mailbox)
        self.agreement = Agreement(driver, self.mailbox, self.small, self._openers)
        self.transport.start(self._received, self._lost)

    @property
    def dispatchers(self) -> Sequence[Dispatcher]:
        return self._openers, self.waiters, self._lane_offers

    # ---- numbers

    def number(self, ranks: Sequence[int]) -> int:
        """The number of the next transfer of some ranks. A transfer within one rank has a number that others need not know."""
        return next(self._own_numbers if len(ranks) == 1 else self._numbers)

    def count(self) -> int:
        """Count a transfer of several ranks that this rank does not submit, as the others count it. Returns its number."""
        number = next(self._numbers)
        self.agreement.passed(number)
        return number

    def require(self, work: Work) -> None:
        """Require that none of the ranks that some work needs is lost.

        Raises:
            RankLost: one of them no longer answers.
        """
        gone = self.mailbox.gone
        if gone:
            ranks = work.ranks(self.rank)
            needed = ranks if work.direct is not None or (len(ranks) == 1 and not work.rings) else (*ranks, 0)
            for rank in needed:
                if rank in gone:
                    raise lost_rank(rank, gone[rank])

    # ---- what the driver asks

    def reach(self, execution: Execution) -> Sequence[tuple[int, object]]:
        if len(execution.work.ranks(self.rank)) < 2:
            return ()
        return self.agreement.early.reach(execution.number)

    def meet(self, execution: Execution, early: Sequence[Any], own: deque[OwnRequest] | None) -> None:
        transfer = cast("RankExecution", execution)
        if transfer.is_eager:
            self.small.begin(transfer)
        for sender, message in early:
            if type(message) is Relay:
                self.agreement.on_relay(sender, message, own)
            else:
                self._received(sender, message)
        direct = transfer.work.direct
        if direct is not None and not transfer.is_eager:
            self.agreement.introduce(transfer, direct, has_credit=any(type(message) is Relay for _, message in early))

    def opened(self, execution: Execution, error: BaseException | None) -> list[Instruction] | None:
        return self.agreement.opened(execution, error)

    def cancel(self, execution: Execution) -> bool:
        transfer = cast("RankExecution", execution)
        if transfer.is_eager:
            self.small.cancel(transfer)
        return transfer.is_eager

    def pass_on(self, execution: Execution, instruction: Instruction) -> None:
        transfer, send = cast("RankExecution", execution), self.mailbox.send
        if type(instruction) is SendArrived:
            send(instruction.rank, Relay(Arrived(*instruction[1:])))
        elif type(instruction) is SendCredit:
            if transfer.phase == OPEN:
                digest = transfer.digest if transfer.work.direct else None
                handles = transfer.exports(instruction.hop)
                send(instruction.rank, Relay(Credit(*instruction[1:]), handles, digest, lies=transfer.destination.lies))
        elif type(instruction) is SendStop or type(instruction) is SendEnd:
            kind = Stop if type(instruction) is SendStop else End
            outcome = self.agreement.outcome_for_others(transfer, *instruction[2:])
            send(instruction.rank, last(kind(instruction.transfer, *outcome)))
        elif type(instruction) is Abort:
            outcome = self.agreement.outcome_for_others(transfer, *instruction[1:])
            send(0, Consult(Abort(instruction.transfer, *outcome)))
        elif type(instruction) is Request:
            send(0, Consult(instruction, transfer.digest))
        elif type(instruction) is Settled:
            send(0, Consult(instruction))
        else:
            super().pass_on(execution, instruction)

    # ---- the end of transfers

    def finish(self, execution: Execution, finish: Finish) -> None:
        transfer, gone = cast("RankExecution", execution), self.mailbox.gone
        if finish.outcome == "done" and not transfer.is_durable:
            transfer.stopped = False  # a cancel here came too late: the other ranks have ended, too
        own = None if isinstance(transfer.error, Cancelled) else transfer.error
        if finish.outcome == "failed" and not isinstance(own, RankLost):
            admitting = () if transfer.work.direct else (0,)
            lost = [rank for rank in (*transfer.work.ranks(self.rank), *admitting) if rank in gone]
            if lost:  # A rank that knew it before may have ended what this one has failed to write.
                transfer.error = lost_rank(lost[0], gone[lost[0]])
                transfer.error.__cause__ = own
            elif own is None:
                transfer.error = RankError(finish.reason)

    def completes(self, execution: Execution) -> bool:
        """If the destination is a file, its rank sends the final status."""
        transfer = cast("RankExecution", execution)
        if transfer.outcome != "done" or not transfer.is_durable or transfer.receiver == self.rank:
            return False
        self.mailbox.call((FinalStatus, transfer.number), transfer.receiver, partial(self._heard, transfer))
        return True

    def _heard(self, execution: RankExecution, status: object) -> None:
        """The rank of the destination has sent the final status, or is lost."""
        error = status.error if isinstance(status, FinalStatus) else cast("RankLost", status)
        execution.error = execution.error or error
        self.driver.complete_later(execution)

    def published(self, execution: Execution) -> None:
        transfer = cast("RankExecution", execution)
        if transfer.outcome == "done" and transfer.is_durable and transfer.receiver == self.rank:
            self.say(transfer, transfer.event.error(0), None)

    def say(self, execution: RankExecution, error: BaseException | None, verified: bool | None) -> None:
        """Tell the other ranks of a transfer how it has ended at its destination."""
        error_there = None if error is None else for_others(error, self.rank)
        self.mailbox.send_to(execution.work.ranks(self.rank), FinalStatus(execution.number, error_there, verified))

    # ---- from other ranks

    def _received(self, sender: int, message: object) -> None:
        """Handle a message from another rank, or from this one. The transport's thread calls it."""
        if type(message) is Relay:
            self.agreement.on_relay(sender, message)
        elif type(message) is Compare:
            self.agreement.compare(sender, message)
        elif type(message) is EagerData:
            self.agreement.on_eager(sender, message)
        elif type(message) is Consult:
            assert self._arbiter is not None, "only rank 0 arbitrates"
            self._arbiter.consulted(sender, message)
        elif type(message) is Decline:
            assert self._arbiter is not None, "only rank 0 arbitrates"
            self._arbiter.declined(message)
        elif type(message) is RankLostNotice:
            self.transport.give_up(message.rank, message.reason)
        elif type(message) is Gathered:
            self.mailbox.put((Gathered, message.turn, sender), message.value)
        elif type(message) is NoLane:
            with self.driver.lock:
                self.agreement.early.keep(message.transfer, sender, message)
        elif isinstance(message, LaneEnd | LaneUse):
            self._lane_offers.put(partial(self.heard_of_lanes, sender, message))
        elif isinstance(message, Offer | FinalStatus | EagerReceipt | LaneOffer):
            self.mailbox.put((type(message), message.transfer), message)

    def _lost(self, rank: int, reason: str) -> None:
        """A rank no longer answers: its transfers fail. Without rank 0, all transfers fail."""
        if not self.mailbox.lose(rank, reason):
            return
        driver = self.driver
        with driver.lock:
            instructions = self.agreement.without_lost()
            if rank == 0:
                for execution in driver.executions.values():
                    work = execution.work
                    if work.rings or (work.direct is None and len(work.ranks(self.rank)) > 1):
                        execution.stopped = True
                alone = f"rank 0 no longer answers: {reason}"
                instructions += cast("RankScheduler", driver.scheduler).without_coordinator(alone)
        driver.carry_out(instructions)
        if rank == 0:
            return
        if self._arbiter is None:
            self.mailbox.send(0, RankLostNotice(rank, reason))
        else:
            self.mailbox.send_to(range(1, self.size), RankLostNotice(rank, reason))
            self._arbiter.lost(rank, f"rank {rank} no longer answers: {reason}")
