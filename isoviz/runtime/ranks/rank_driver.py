"""The driver of one rank: how an engine submits transfers together with the engines of other ranks (DESIGN, section 3).

A rank is a node: it has the memories of the node with its number, and carries out the hops that read them. Every rank submits
the same plans in the same order. Its scheduler decides on its own hops. Messages tell it what the ranks before and behind have
moved (`isoviz.runtime.scheduling.rank_scheduler`), and the arbiter on rank 0 admits transfers and decides how they end.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from isoviz._version import __version__
from isoviz.errors import Cancelled, EngineClosed, InputError, RankError, RankLost, RunError
from isoviz.planner.plan_file import plan_digest
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.open_devices import OpenedDevices
from isoviz.runtime.ranks.agreeing import AgreeingDriver, EarlyMessages
from isoviz.runtime.ranks.arbiter import Arbiter
from isoviz.runtime.ranks.far_devices import RankOpenedDevices
from isoviz.runtime.ranks.letters import Letters, lost_rank
from isoviz.runtime.ranks.messages import (
    Compare,
    Consult,
    Decline,
    Digest,
    Gathered,
    Gone,
    Landed,
    LaneOffer,
    Offer,
    Riding,
    Tell,
    Word,
)
from isoviz.runtime.ranks.rank_execution import RankExecution
from isoviz.runtime.scheduling.pipeline import work_of
from isoviz.runtime.scheduling.rank_scheduler import RankScheduler
from isoviz.runtime.scheduling.work import (
    Abort,
    Arrived,
    Credit,
    Request,
    SendArrived,
    SendCredit,
    Settled,
    Work,
)

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.engine.driver import Request as OwnRequest
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.prepared_plans import PreparedPlan
    from isoviz.runtime.protocols import CancelToken
    from isoviz.runtime.ranks.handles import RankDevices
    from isoviz.runtime.ranks.lane_transfers import LaneTransfer
    from isoviz.runtime.ranks.transport import Transport
    from isoviz.runtime.scheduling.coordinator import Answer
    from isoviz.runtime.scheduling.pool import Policy
    from isoviz.runtime.scheduling.scheduler import Scheduler
    from isoviz.runtime.scheduling.work import Finish, Instruction

_LOG = logging.getLogger("isoviz")
OPENERS = 4
"""Threads that open the stores of granted transfers: allocating pages and generating data take long."""
LANES = 64
"""Threads that wait for other ranks on behalf of prepared transfers, at most."""
KEPT_PLANS = 64


class _Known:
    """What a rank knows of a plan that it submits again and again: its ranks, whether it rides with a message, its digest.

    `works` has the work of this rank by the `id` of the prepared work, which it keeps.
    """

    __slots__ = ("digest", "plan", "ranks", "rides", "works")

    def __init__(self, plan: Plan, ranks: tuple[int, ...], digest: Digest | None, *, rides: bool) -> None:
        self.plan, self.ranks, self.digest, self.rides = plan, ranks, digest, rides
        self.works: dict[int, tuple[Work, Work]] = {}


class RankDriver(AgreeingDriver):
    """The driver of the rank of `transport`; see the module. The other parameters are those of `Engine`.

    `copy` moves data between the memories of this rank alone. All ranks have to call `submit` with the same plans in the same
    order.
    """

    def __init__(self, machine: Machine, devices: RankDevices, transport: Transport, **options: Any) -> None:
        self.transport = transport
        self.rank = transport.rank
        super().__init__(machine, devices, **options)
        self.far: RankDevices = devices
        self._arbiter = Arbiter(self._scheduler.capacity) if self.rank == 0 else None
        self._arbitration = threading.Lock()
        self._openers = Dispatcher("openers", OPENERS)
        self._lanes = Dispatcher("lanes", LANES)
        self._lane_transfers: set[LaneTransfer] = set()
        self._letters = Letters()
        self._early = EarlyMessages()
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._local_numbers = iter(range(-1 - self.rank, -(1 << 60), -transport.size))
        transport.start(self._received, self._lost)

    # ---- how it differs from the engine of one process

    def _scheduler_of(self, machine: Machine, policies: Mapping[str, Policy] | None, policy: Policy) -> Scheduler:
        plain = super()._scheduler_of(machine, policies, policy)
        return RankScheduler(self.rank, plain.limits, plain.capacity, plain.policies, policy)

    def _open_devices(self, machine: Machine, devices: Any) -> OpenedDevices:
        return RankOpenedDevices(machine, devices, self.rank)

    @property
    def gone(self) -> Mapping[int, str]:
        """The ranks that no longer answer, and why."""
        return self._letters.gone

    @property
    def _threads(self) -> list[Dispatcher]:
        return [*super()._threads, self._openers, self._lanes]

    def node_of(self, memory: str) -> int:
        """The rank that has a memory."""
        return self.machine.memory(memory).node

    def _work(self, plan: Plan, prepared: PreparedPlan, priority: int | None, pipelined: bool, chunks: int | None) -> Work:
        """The work of a plan, with the rank of every hop and of the destination.

        Raises:
            InputError: a memory is on a node without a rank.
            RankLost: one of its ranks no longer answers.
        """
        asked, known = self.request_bytes, self._known_plan(plan)
        if chunks is None:
            work = prepared.work(plan, priority, pipelined=pipelined, request_bytes=asked)
            if (made := known.works.get(id(work))) is not None:
                return self._with_ranks_here(made[1])
        else:
            at = prepared.channels
            work = work_of(plan, priority, pipelined=pipelined, request_bytes=asked, chunks=chunks, channels=at)
        paths = []
        for path, here in zip(plan.paths, work.paths, strict=True):
            nodes = [self.node_of(name) for name in path.memories]
            if max(nodes) >= self.transport.size:
                name = path.memories[nodes.index(max(nodes))]
                raise InputError(
                    f"plan: {name} is on node {max(nodes)}, and there are {self.transport.size} ranks, one for each node from 0"
                )
            paths.append(here._replace(ranks=tuple(nodes[:-1]), receiver=nodes[-1]))
        found = Work(tuple(paths), work.priority)
        if chunks is None:
            if len(known.works) > KEPT_PLANS:
                known.works.clear()
            known.works[id(work)] = work, found
        return self._with_ranks_here(found)

    def _with_ranks_here(self, work: Work) -> Work:
        """The work, if none of the ranks that it needs is lost.

        Raises:
            RankLost: one of its ranks no longer answers.
        """
        if self.gone:
            ranks = work.ranks(self.rank)
            needed = ranks if work.direct is not None or (len(ranks) == 1 and not work.rings) else (*ranks, 0)
            for rank in needed:
                if rank in self.gone:
                    raise lost_rank(rank, self.gone[rank])
        return work

    def has_part_in(self, plan: Plan) -> bool:
        """Whether this rank has one of the memories of a plan."""
        return any(self.node_of(name) == self.rank for name in plan.every_memory)

    def submit(self, plan: Plan, source: Any | None = None, destination: Any | None = None, **options: Any) -> Event:
        """Carry out this rank's part of a plan; see `Engine.submit`. All ranks submit the same plans in the same order.

        The event ends when the whole plan has ended. Without a part in the plan, it has ended at once.
        """
        if self.has_part_in(plan):
            return super().submit(plan, source, destination, **options)
        self.skip(plan)
        event = Event(plan)
        event.end()
        return event

    def skip(self, plan: Plan) -> None:
        """Count a plan that this rank has no part in, as the other ranks do."""
        if len({self.node_of(name) for name in plan.every_memory}) > 1:
            self._passed(next(self._numbers))

    def _submitted(
        self,
        plan: Plan,
        source: Any | None,
        destination: Any | None,
        priority: int | None,
        pipelined: bool,
        cancel: CancelToken | None,
        over: Callable[[Execution], None],
        arrived: Callable[[], None] | None = None,
        chunks: int | None = None,
        waits: bool = False,
    ) -> RankExecution:
        self._home.require()
        known = self._known_plan(plan)
        ranks, rides = known.ranks, known.rides and chunks is None
        # A transfer within one rank has a number of its own: the other ranks need not know of it.
        number = next(self._local_numbers) if len(ranks) == 1 else next(self._numbers)
        try:
            prepared = self._plans.of(plan)
            work = self._work(plan, prepared, priority, pipelined, chunks)
            ends, memories, channels = (source, destination), prepared.memories, prepared.channels
            event = Event(plan, partial(self._cancel, number), arrived, self._callbacks.put)
            own = plan, work, event, ends, memories, channels, cancel, over, waits, prepared
            execution = RankExecution(self.rank, self.far, number, *own)
            execution.submitted = time.perf_counter()
            execution.digest, execution.rides = known.digest, rides
            with self._lock:
                if self._closed:
                    raise EngineClosed("the engine is closed")
                instructions = [] if rides else self._scheduler.submit(number, work)
                self._executions[number] = execution
                early = self._early.reach(number) if len(ranks) > 1 else []
                if self._recorded is not None:
                    self._recorded.append(execution)
                self._granted(instructions)
        except Exception as error:
            if len(ranks) > 1:
                self._refused(plan, number, ranks, error, rides=rides)
            raise
        own_requests: deque[OwnRequest] = deque()  # the caller carries out what is small and waits for no other rank
        mine = own_requests if execution.is_mine else None
        if rides:
            self.ride(execution)
        else:
            self._carry_out(instructions, mine)
        for sender, message in early:
            if type(message) is Tell:
                self._told(sender, message, mine)
            else:
                self._received(sender, message)
        for request in own_requests:
            self._moved(*request)
        if not rides and work.direct is not None:
            self._introduce(execution, work.direct, has_credit=any(type(message) is Tell for _, message in early))
        return execution

    def _introduce(self, execution: RankExecution, direct: tuple[int, int], *, has_credit: bool) -> None:
        """Tell the receiver of a direct transfer what it is if it has not told this rank so already."""
        if direct[0] == self.rank and not has_credit:
            self.transport.send(direct[1], Compare(execution.number, self.rank, execution.digest, is_direct=True))
        with self._lock:  # perhaps one of them was lost meanwhile
            instructions = self._lost_in(execution) if execution.number in self._executions else []
        self._carry_out(instructions)

    def _known_plan(self, plan: Plan) -> _Known:
        known = self._known.get(id(plan))
        if known is None or known.plan is not plan:
            ranks = tuple(sorted({self.node_of(name) for name in plan.every_memory}))
            digest = None
            if len(ranks) > 1:
                digest = Digest(__version__, self.machine.digest, plan_digest(plan))
            known = self._known[id(plan)] = _Known(plan, ranks, digest, rides=self.rides(plan))
            if len(self._known) > KEPT_PLANS:
                self._known.popitem(last=False)
        return known

    # ---- to other ranks

    def _pass_on(self, execution: Execution, instruction: Instruction) -> None:
        assert isinstance(execution, RankExecution)
        send = self.transport.send
        if type(instruction) is SendArrived:
            send(instruction.rank, Tell(Arrived(*instruction[1:])))
        elif type(instruction) is SendCredit:
            if execution.is_open:
                digest = execution.digest if execution.work.direct else None
                send(instruction.rank, Tell(Credit(*instruction[1:]), execution.exports(instruction.hop), digest))
        elif type(instruction) is Abort:
            send(0, Consult(Abort(instruction.transfer, *self._said(execution, *instruction[1:]))))
        elif type(instruction) is Request:
            send(0, Consult(instruction, execution.digest))
        elif type(instruction) is Settled:
            send(0, Consult(instruction))
        else:
            super()._pass_on(execution, instruction)

    # ---- from other ranks

    def _received(self, sender: int, message: object) -> None:
        """Handle a message from another rank, or from this one. The transport's thread calls it."""
        if type(message) is Tell:
            self._told(sender, message)
        elif type(message) is Compare:
            self._compare(sender, message)
        elif type(message) is Consult:
            self._consulted(sender, message)
        elif type(message) is Decline:
            number, rank, ranks, reason = message
            self._answer(lambda arbiter: arbiter.decline(rank, number, ranks, reason))
        elif type(message) is Gone:
            self.transport.give_up(message.rank, message.reason)
        elif type(message) is Gathered:
            self._letters.put((Gathered, message.turn, sender), message.value)
        elif type(message) is Riding:
            self._rode(sender, message)
        elif isinstance(message, Offer | Word | Landed | LaneOffer):
            self._letters.put((type(message), message.transfer), message)

    def _open_later(self, instructions: list[Instruction]) -> None:
        self._openers.put(partial(self._carry_out, instructions))

    def _consulted(self, sender: int, message: Consult) -> None:
        """On rank 0: a rank has asked the arbiter. The others hear what it has submitted if it is the first to ask."""
        asked = message.message
        is_first = type(asked) is Request and self._arbiter is not None and not self._arbiter.knows(asked.transfer)
        self._answer(lambda arbiter: arbiter.handle(sender, asked, message.digest))
        if is_first:
            for rank in cast("Request", asked).ranks:
                if rank != sender and rank not in self.gone:
                    self.transport.send(rank, Compare(asked.transfer, sender, message.digest, is_direct=False))

    def _answer(self, ask: Callable[[Arbiter], list[Answer]]) -> None:
        """Ask the arbiter, and send its answers in the order in which it gives them."""
        with self._arbitration:
            assert self._arbiter is not None, "only rank 0 arbitrates"
            try:
                answers = ask(self._arbiter)
            except InputError:
                _LOG.exception("the arbiter refused a message")
                return
            for rank, stimulus in answers:
                if rank not in self.gone:
                    self.transport.send(rank, Tell(stimulus))

    # ---- lost ranks

    def _lost(self, rank: int, reason: str) -> None:
        """A rank no longer answers: its transfers fail. Without rank 0, all transfers fail."""
        if not self._letters.lose(rank, reason):
            return
        with self._lock:
            instructions = self._without_lost()
            if rank == 0:
                for execution in self._executions.values():
                    work = execution.work
                    if work.rings or (work.direct is None and len(work.ranks(self.rank)) > 1):
                        execution.stopped = True
                reason = f"rank 0 no longer answers: {reason}"
                instructions += cast("RankScheduler", self._scheduler).without_coordinator(reason)
        self._carry_out(instructions)
        if rank == 0:
            return
        if self.rank:
            self.transport.send(0, Gone(rank, reason))
        else:
            for other in range(1, self.transport.size):
                if other not in self.gone:
                    self.transport.send(other, Gone(rank, reason))
            self._answer(lambda arbiter: arbiter.lost(rank, f"rank {rank} no longer answers: {reason}"))

    # ---- the end of transfers

    def _finish(self, execution: Execution, finish: Finish) -> None:
        if finish.outcome == "done" and not self.is_durable(execution.plan):
            execution.stopped = False  # a cancel here came too late: the other ranks have ended, too
        own = None if isinstance(execution.error, Cancelled) else execution.error
        if finish.outcome == "failed" and own is None:
            gone = [rank for rank in (*execution.work.ranks(self.rank), 0) if rank in self.gone]
            execution.error = lost_rank(gone[0], self.gone[gone[0]]) if gone else RankError(finish.reason)
        super()._finish(execution, finish)

    def _complete(self, execution: Execution) -> None:
        """End a transfer that `run` does not wait for. If the destination is a file, its rank has the last word."""
        assert isinstance(execution, RankExecution)
        if execution.outcome == "done" and self.is_durable(execution.plan) and execution.receiver != self.rank:
            self._letters.call((Word, execution.number), execution.receiver, partial(self._heard, execution))
        elif self._ends_at_once(execution):
            self._publish(execution)
        else:
            self._finisher.put(partial(self._publish, execution))

    def _ends_at_once(self, execution: RankExecution) -> bool:
        """Whether nothing is left to do that takes long: no files, and no memory to free but the caller's."""
        ends = zip((execution.sender, execution.receiver), execution.given, strict=True)
        return execution.rides or (
            not execution.work.rings
            and not self.is_durable(execution.plan)
            and all(given is not None for rank, given in ends if rank == self.rank)
        )

    def _heard(self, execution: RankExecution, word: object) -> None:
        """The rank of the destination has had the last word, or is lost."""
        error = word.error if isinstance(word, Word) else cast("RankLost", word)
        execution.error = execution.error or error
        self._finisher.put(partial(self._publish, execution))

    def _publish(self, execution: Execution) -> None:
        assert isinstance(execution, RankExecution)
        super()._publish(execution)
        if execution.outcome == "done" and self.is_durable(execution.plan) and execution.receiver == self.rank:
            self.say(execution, execution.event.error(0), None)

    def say(self, execution: RankExecution, error: BaseException | None, verified: bool | None) -> None:
        """Tell the other ranks of a transfer how it has ended at its destination."""
        said = error if error is None or isinstance(error, Exception) else RunError(f"{type(error).__name__}: {error}")
        for rank in execution.work.ranks(self.rank):
            if rank != self.rank and rank not in self.gone:
                self.transport.send(rank, Word(execution.number, said, verified))

    def is_durable(self, plan: Plan) -> bool:
        """Whether the destination of a plan is a file, which is complete only once it is on the disk."""
        return self.machine.memory(plan.transfer.destination.memory).is_file_system
