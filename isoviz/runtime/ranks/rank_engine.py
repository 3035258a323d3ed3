"""The engine of one rank: it runs plans together with the engines of other ranks, and measures its part."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import IsovizError, RunError
from isoviz.planner import Plan
from isoviz.planner import plan as make_plan
from isoviz.runtime.engine.engine import BaseEngine
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.interrupts import defer_interrupts, handle_waiting_signal, permit_interrupts
from isoviz.runtime.engine.prepared_transfer import PreparedTransfer, never
from isoviz.runtime.ranks.far_devices import RankOpenedDevices
from isoviz.runtime.ranks.gathering import gathering_of
from isoviz.runtime.ranks.joint_run import JointRun
from isoviz.runtime.ranks.known_plans import KnownPlan, KnownPlans
from isoviz.runtime.ranks.lanes.lane_preparation import prepare_lane
from isoviz.runtime.ranks.lanes.lane_runs import LaneRuns
from isoviz.runtime.ranks.lanes.lane_submits import LaneSubmits
from isoviz.runtime.ranks.lanes.lane_transfers import LaneRuntime, LaneTransfer
from isoviz.runtime.ranks.merging import RankPart, merged
from isoviz.runtime.ranks.messages import for_others, picklable
from isoviz.runtime.ranks.rank_execution import RankExecution
from isoviz.runtime.ranks.rank_peers import RankEvent, RankPeers
from isoviz.runtime.ranks.transport import ClockOffset
from isoviz.scheduling.rank_scheduler import RankScheduler
from isoviz.scheduling.scheduler import Scheduler

if TYPE_CHECKING:
    from isoviz.machines import Machine, MachineLike
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.open_devices import OpenedDevices
    from isoviz.runtime.engine.peers import Peers
    from isoviz.runtime.engine.prepared_plans import PreparedPlan
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.protocols import CancelToken
    from isoviz.runtime.ranks.handles import RankDevices
    from isoviz.runtime.ranks.lanes.lane_events import LaneRequest
    from isoviz.runtime.ranks.transport import Transport
    from isoviz.runtime.trace.report import Report
    from isoviz.scheduling.pool import Policy
    from isoviz.scheduling.work import Work

T = TypeVar("T")


class Attached(Protocol):
    """What another part of isoviz keeps with an engine."""

    def close(self) -> None: ...


A = TypeVar("A", bound=Attached)
_LOG = logging.getLogger("isoviz")
CLOCK_KEPT = 30.0
"""Seconds for which the comparison of the clocks is kept: clocks of two hosts drift apart by some microseconds a second."""


class Item(NamedTuple):
    """A plan to run, with what the caller of this rank gives as its ends; see `Engine.run`.

    It is submitted `begin` seconds after the begin of `run_parts`, the same on all ranks. `number` is its number if it has one.
    """

    plan: Plan
    source: Any | None = None
    destination: Any | None = None
    begin: float = 0.0
    number: int | None = None


class _Failed(NamedTuple):
    """What was to be agreed on could not be made."""

    error: Exception


class RankEngine(BaseEngine):
    """The engine of the rank of `transport`. The other parameters are those of `isoviz.runtime.BaseEngine`.

    A rank is a node: it has the memories of the node with its number, and carries out the hops that read them. `copy` moves data
    between the memories of this rank alone. All ranks call the other methods together: `run`, `run_parts`, `gather`, `barrier`,
    and `submit`, with the same plans in the same order.

    A submitted transfer between two ranks of one host costs no message once its plan has come with the same arrays before, unless
    `lanes` is false on one of the ranks (`isoviz.runtime.ranks.lanes.lane_submits`). The same goes for a `run` of a small plan if
    all ranks share a host.
    """

    devices: RankDevices
    _clock = ClockOffset(0.0, 0.0)
    _clock_asked = -math.inf

    def __init__(
        self, machine: MachineLike, devices: RankDevices, transport: Transport, *, lanes: bool = True, **options: Any
    ) -> None:
        self.transport, self.rank = transport, transport.rank
        super().__init__(machine, devices, **options)
        self._known = KnownPlans(self.machine)
        self._attached: dict[Callable[[RankEngine], Attached], Attached] = {}
        self._lane_submits = LaneSubmits(self._lane_runtime, self._submit_again, self._in_one_hop, lanes=lanes)
        self._peers.heard_of_lanes = self._lane_submits.heard
        self._lane_runs = LaneRuns(self._lane_submits, self._submitted, self._finished, self._plain_work, self.clock)
        self._peers.start(self._driver)
        self._gathering = gathering_of(transport, self._peers.mailbox)

    def _parts(
        self, machine: Machine, devices: Any, policies: Mapping[str, Policy] | None, policy: Policy
    ) -> tuple[Scheduler, OpenedDevices, Peers]:
        plain = Scheduler.of(machine, policies, policy)
        self._peers = RankPeers(self.transport, plain.capacity)
        scheduler = RankScheduler(self.rank, plain.limits, plain.capacity, plain.policies, policy)
        return scheduler, RankOpenedDevices(machine, devices, self.rank), self._peers

    @property
    def gone(self) -> Mapping[int, str]:
        """The ranks that no longer answer, and why."""
        return self._peers.mailbox.gone

    # ---- submitting

    def node_of(self, memory: str) -> int:
        """The rank that has a memory."""
        return self.machine.memory(memory).node

    def has_part_in(self, plan: Plan) -> bool:
        """Whether this rank has one of the memories of a plan."""
        return self.rank in self._known.of(plan).ranks

    def skip(self, plan: Plan) -> None:
        """Count a plan that this rank has no part in, as the other ranks do."""
        if len(self._known.of(plan).ranks) > 1:
            self._peers.count()

    @defer_interrupts()
    def submit(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        priority: int | None = None,
        pipelined: bool = True,
        cancel: CancelToken | None = None,
    ) -> Event:
        """Carry out this rank's part of a plan; see `Engine.submit`. All ranks submit the same plans in the same order.

        The event ends when the whole plan has ended. Without a part in the plan, it has ended at once.
        """
        known = self._known.of(plan)
        if self.rank in known.ranks:
            if len(known.ranks) != 2 or cancel is not None or pipelined is not True:
                return super().submit(plan, source, destination, priority=priority, pipelined=pipelined, cancel=cancel)
            self._driver.home.require()
            chosen = None if priority is None else checks.priority(priority)
            number, found = self._lane_submits.start(plan, known, (source, destination), chosen)
            if found is not None:
                return found
            when_moved = self._driver.complete
            return self._submitted(plan, source, destination, chosen, True, None, when_moved, number=number).event
        self.skip(plan)
        event = Event(plan)
        event.end()
        return event

    def _submitted(
        self,
        plan: Plan,
        source: Any | None,
        destination: Any | None,
        priority: int | None,
        pipelined: bool,
        cancel: CancelToken | None,
        when_moved: Callable[[Execution], None],
        arrived: Callable[[], None] | None = None,
        chunks: int | None = None,
        waits: bool = False,
        number: int | None = None,
        event: Event | None = None,
    ) -> RankExecution:
        driver, peers = self._driver, self._peers
        driver.home.require()
        known = self._known.of(plan)
        number = peers.number(known.ranks) if number is None else number
        self._lane_submits.plain(known, number)
        try:
            prepared = self._plans.of(plan)
            work = self._work(plan, prepared, priority, pipelined, chunks)
            peers.require(work)
            ends, memories, channels = (source, destination), prepared.memories, prepared.channels
            given = plan, partial(driver.cancel, number), arrived, driver.callbacks.put
            if event is None:
                event = RankEvent(peers.mailbox, *given) if len(known.ranks) > 1 else Event(*given)
            own = plan, work, event, ends, memories, channels, cancel, when_moved, waits, prepared
            execution = RankExecution(self.rank, self.devices, number, *own)
            execution.submitted = time.perf_counter()
            execution.digest, execution.is_durable = known.digest, known.is_durable
            execution.is_eager = known.is_eager and chunks is None
            begin = driver.admit(execution)
        except Exception as error:
            if len(known.ranks) > 1:
                peers.agreement.refuse(known, number, error)
            raise
        begin()
        return execution

    def _submit_again(self, request: LaneRequest, number: int, event: Event) -> None:
        """Submit a transfer that was to go over a lane."""
        source, destination = request.ends
        when_moved = self._driver.complete
        self._submitted(request.plan, source, destination, request.priority, True, None, when_moved, number=number, event=event)

    def _plain_work(self, plan: Plan) -> Work:
        return self._work(plan, self._plans.of(plan), None, True, None)

    def _work(self, plan: Plan, prepared: PreparedPlan, priority: int | None, pipelined: bool, chunks: int | None) -> Work:
        """The work of a plan, with the rank of every hop and of the destination.

        Raises:
            InputError: a memory is on a node without a rank.
        """
        return self._known.of(plan).with_ranks(super()._work(plan, prepared, priority, pipelined, chunks), self._peers.size)

    # ---- running

    @defer_interrupts()
    def run_parts(
        self,
        items: Sequence[Item],
        *,
        verify: bool = True,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
        pipelined: bool = True,
    ) -> list[RankPart]:
        """Carry out this rank's part of several plans at the same time, and wait for their end.

        A part holds what this rank measured, and its error if the plan failed; no error of a plan is raised. The rank of the
        destination compares every byte with the source, which it reads where it lies (`verify`). A destination appears under
        its name only when it is complete. `progress` and `cancel` are as in `Engine.run`; a cancel on any rank ends the plans on
        all ranks.

        Raises:
            ForkedError: in a forked child.
        """
        driver = self._driver
        driver.home.require()
        parts = [RankPart(self.rank) for _ in items]
        run = JointRun(driver, self._peers, self.devices, verify=verify, tells=progress is not None)
        began = time.perf_counter()
        for at, item in sorted(enumerate(items), key=lambda each: each[1].begin):
            if not self.has_part_in(item.plan):
                self.skip(item.plan)
                continue
            run.sleep_until(began + item.begin, cancel)
            try:
                ends, number = (item.source, item.destination), item.number
                run.begin(at, partial(self._submitted, item.plan, ends[0], ends[1], None, pipelined, cancel, number=number))
            except Exception as error:  # noqa: BLE001  # the part carries it
                parts[at] = RankPart(self.rank, error=error)
        return self._finished(run, parts, progress, cancel)

    def _finished(
        self, run: JointRun, parts: list[RankPart], progress: ProgressCallback | None = None, cancel: CancelToken | None = None
    ) -> list[RankPart]:
        """Wait for the end of plans that were submitted, and fill in the parts of this rank."""
        try:
            with permit_interrupts():
                run.wait(progress, cancel)
                for at, part in run.parts():
                    parts[at] = part
                    if part.error is not None and not isinstance(part.error, Exception):  # a signal came while it was opened
                        raise part.error
        except BaseException as error:
            run.give_up(error)
            raise
        finally:
            run.close()
        clock = self.clock()
        return [part if part.work is None else part.on_clock(-clock.offset, clock.uncertainty) for part in parts]

    def run_part(self, plan: Plan, source: Any | None = None, destination: Any | None = None, **options: Any) -> RankPart:
        """Carry out this rank's part of one plan; see `run_parts`."""
        return self.run_parts([Item(plan, source, destination)], **options)[0]

    @defer_interrupts()
    def run(
        self, plan: Plan, source: Any | None = None, destination: Any | None = None, *, verify: bool = True, **options: Any
    ) -> Report:
        """Run a plan together with all ranks, and report on all of them; see `Engine.run`.

        A small plan that comes again between the same arrays of two ranks of a host moves as a submitted transfer does.

        Raises:
            RunError: a hop failed on some rank, a rank was lost, or the ranks disagree about the plan.
            Exception: what `Engine.run` raises.
        """
        self._driver.home.require()
        known, after = self._known.of(plan), -1
        number: int | None = None
        part: RankPart | tuple[Any, ...] | None = None
        has_options = not all(value is None or value is True for value in options.values())
        try:
            if self.rank not in known.ranks:
                self.skip(plan)
            else:
                if not has_options and self.transport.slots and self._lane_runs.may_take(plan, known):
                    number, part = self._lane_runs.part(plan, known, (source, destination), verify=verify)
                if part is None:
                    part = self.run_parts([Item(plan, source, destination, number=number)], verify=verify, **options)[0]
                elif self.rank == known.sender:
                    after = known.receiver  # it may still read the source
        except BaseException as error:
            self.leave(RankPart(self.rank, error=picklable(for_others(error, self.rank), self.rank)))
            raise
        parts = self._gathering.gather(part, after=after)
        if any(type(each) is tuple for each in parts):
            return self._lane_runs.report(plan, self.machine, known, parts)
        told = cast("list[RankPart | None]", parts)
        return merged(plan, self.machine, [RankPart(rank) if each is None else each for rank, each in enumerate(told)])

    def clock(self) -> ClockOffset:
        """The clock of this rank against that of rank 0, compared within the last seconds."""
        now = time.monotonic()
        if self.rank and now - self._clock_asked > CLOCK_KEPT:
            with suppress(RunError):  # a rank was lost, and reports say so
                found = self.transport.clock_offsets()[self.rank]
                if found is not None:
                    self._clock, self._clock_asked = found, now
        return self._clock

    @defer_interrupts()
    def prepare(
        self, plan: Plan, source: Any | None = None, destination: Any | None = None, *, priority: int | None = None
    ) -> PreparedTransfer:
        """A transfer that is started again and again; see `Engine.prepare`. All ranks prepare and start the same plans in order.

        Between two ranks of one host, host memory to host memory, a start costs no message (`lane_transfers`). It takes one hop,
        also where the plan has several hops with buffers on these two ranks: a lane needs no buffer. `plan` of what is returned
        is the plan that is carried out.
        """
        expect("prepare", plan, Plan, "a plan")
        known = self._known.of(plan)
        if len(known.ranks) < 2:
            return super().prepare(plan, source, destination, priority=priority)
        self.require_open()
        chosen = plan.transfer.priority if priority is None else checks.priority(priority)
        submit = partial(self.submit, plan, source, destination, priority=chosen)
        reads_file = self.machine.memory(plan.transfer.source.memory).is_file_system
        straight = None if known.is_durable or reads_file else self._in_one_hop(plan, known)
        if straight is None:
            return PreparedTransfer(plan, submit, never, None)
        ends = known.sender, known.receiver
        found = prepare_lane(self._lane_runtime, straight, (source, destination), ends, known.digest, chosen)
        if isinstance(found, str):
            _LOG.info("%s is not carried out over a lane: %s", plan.transfer, found)
            return PreparedTransfer(plan, submit, never, None)
        if isinstance(found, LaneTransfer):
            self._lane_runtime.transfers.add(found)
        try:
            handle_waiting_signal()
        except BaseException:
            found.close()  # nobody gets it, and the other rank must not wait for it
            raise
        return found

    def _in_one_hop(self, plan: Plan, known: KnownPlan) -> Plan | None:
        """The transfer of a plan in one hop; None if other ranks take part, or no channel carries it out."""
        if len(plan.every_hop) == 1:
            return plan
        if len(plan.paths) > 1 or set(known.ranks) != {known.sender, known.receiver} or known.sender == known.receiver:
            return None
        try:
            return make_plan(plan.transfer, self.machine, "direct")
        except IsovizError as error:
            _LOG.info("%s is not carried out over a lane: %s", plan.transfer, error)
            return None

    def close(self) -> None:
        if self._driver.home.is_here:
            self._lane_submits.close()
            for each in list(self._lane_runtime.transfers):
                each.close()
            while self._attached:
                self._attached.popitem()[1].close()
        super().close()

    def require_open(self) -> None:
        """Require that this is the process of the engine, and that the engine is open.

        Raises:
            ForkedError: in a forked child. EngineClosed: it is closed.
        """
        self._driver.require_open()

    def attached(self, kind: Callable[[RankEngine], A]) -> A:
        """What another part of isoviz keeps with this engine, made by `kind` at the first call. It is closed with the engine.

        Raises:
            ForkedError: in a forked child. EngineClosed: the engine is closed.
        """
        self.require_open()
        found = self._attached.get(kind)
        if found is None:
            found = self._attached[kind] = kind(self)
        return cast("A", found)

    @cached_property
    def _lane_runtime(self) -> LaneRuntime:
        return LaneRuntime(self._driver, self._peers, self._idle, self._plans, self.devices)

    # ---- collective calls

    def gather(self, value: object, *, interruptible: bool = True) -> list[object]:
        """The values of all ranks, on all ranks. They have to be small, and picklable.

        A rank that is interrupted keeps no other rank waiting. A signal is handled afterwards if it is not `interruptible`.

        Raises:
            RankLost: a rank no longer answers.
        """
        return self._gathering.gather(value, interruptible=interruptible)

    def leave(self, value: object) -> None:
        """Tell a value in place of the next `gather`, and wait for nothing: this rank was interrupted."""
        self._gathering.leave(value)

    @defer_interrupts()
    def agreed(self, make: Callable[[], T]) -> T:
        """What rank 0 makes, on all ranks. A plan is agreed on: what a planner answers may depend on what its rank has measured.

        Raises:
            Exception: what `make` raised on rank 0, on all ranks; RankError where that cannot be sent.
            RankLost: a rank no longer answers.
        """
        made: object = None
        if self.rank == 0:
            try:
                with permit_interrupts():
                    made = make()
            except BaseException as error:  # all ranks raise it
                made = _Failed(cast("Exception", picklable(for_others(error, self.rank), self.rank)))
                if not isinstance(error, Exception):
                    self.leave(made)
                    raise
        found = self.gather(made)[0]
        if isinstance(found, _Failed):
            raise found.error
        return cast("T", found)

    def barrier(self) -> None:
        """Wait until all ranks have come here.

        Raises:
            RankLost: a rank no longer answers.
        """
        self.gather(None)
