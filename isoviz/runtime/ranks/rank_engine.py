"""The engine of one rank: it runs plans together with the engines of other ranks, and measures its part."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import EngineClosed, RankError, RunError
from isoviz.planner import Plan
from isoviz.runtime.engine.interrupts import defer_interrupts, permit_interrupts
from isoviz.runtime.engine.prepared_transfer import PreparedTransfer, never
from isoviz.runtime.engine.progress import Progress
from isoviz.runtime.ranks.lane_preparation import prepare_lane
from isoviz.runtime.ranks.lane_transfers import LaneRuntime, LaneTransfer
from isoviz.runtime.ranks.merging import RankPart, merged
from isoviz.runtime.ranks.messages import Gathered, LaneOffer, Offer, Word, picklable
from isoviz.runtime.ranks.rank_driver import RankDriver
from isoviz.runtime.ranks.transport import ClockOffset

if TYPE_CHECKING:
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.progress import ProgressCallback
    from isoviz.runtime.protocols import CancelToken
    from isoviz.runtime.ranks.rank_execution import RankExecution
    from isoviz.runtime.scheduling.work import Work
    from isoviz.runtime.trace.report import Report

T = TypeVar("T")


class Attached(Protocol):
    """What another part of isoviz keeps with an engine."""

    def close(self) -> None: ...


A = TypeVar("A", bound=Attached)
_LOG = logging.getLogger("isoviz")
TICK = 0.05
"""Seconds between two looks at a cancel token."""
CLOCK_KEPT = 30.0
"""Seconds for which the comparison of the clocks is kept: clocks of two hosts drift apart by some microseconds a second."""


class Item(NamedTuple):
    """A plan to run, with what the caller of this rank gives as its ends; see `Engine.run`.

    It is submitted `begin` seconds after the begin of `run_parts`, the same on all ranks.
    """

    plan: Plan
    source: Any | None = None
    destination: Any | None = None
    begin: float = 0.0


class _Failed(NamedTuple):
    """What was to be agreed on could not be made."""

    error: Exception


class _Running(NamedTuple):
    """A plan that runs: its place among the items, its execution, and whether its bytes have moved."""

    at: int
    execution: RankExecution
    moved: threading.Event


class RankEngine(RankDriver):
    """The engine of the rank of `transport`. The other parameters are those of `isoviz.runtime.BaseEngine`.

    A rank is a node: it has the memories of the node with its number, and carries out the hops that read them. `copy` moves data
    between the memories of this rank alone. All ranks call the other methods together: `run`, `run_parts`, `gather`, `barrier`,
    and `submit`, with the same plans in the same order.
    """

    _turn = 0
    _clock = ClockOffset(0.0, 0.0)
    _clock_asked = -math.inf

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
        self._home.require()
        woken = threading.Event()
        parts = [RankPart(self.rank) for _ in items]
        running = self._begun(items, parts, cancel, pipelined, woken, told=progress is not None)
        executions = [each.execution for each in running]
        try:
            with permit_interrupts():
                self._wait(running, woken, progress, cancel)
                self._offer(executions, verify)
                for each in sorted(running, key=lambda each: each.execution.receiver != self.rank):
                    is_mine = each.execution.receiver == self.rank
                    parts[each.at] = (
                        self._received_part(each.execution, verify) if is_mine else self._sent_part(each.execution, verify)
                    )
        except BaseException as error:
            for execution in executions:
                self._cancel(execution.number)
            for each in running:
                each.moved.wait()
                if self._is_offering(each.execution, verify):
                    self.transport.send(each.execution.receiver, Offer(each.execution.number, None))
                if each.execution.receiver == self.rank and self._is_awaited(each.execution, verify):
                    self.say(each.execution, error, None)
            raise
        finally:
            for execution in executions:
                execution.event.end(execution.error)
                execution.close()
                self._ended(execution)
        clock = self.clock()
        return [part if part.work is None else part.on_clock(-clock.offset, clock.uncertainty) for part in parts]

    def run_part(self, plan: Plan, source: Any | None = None, destination: Any | None = None, **options: Any) -> RankPart:
        """Carry out this rank's part of one plan; see `run_parts`."""
        return self.run_parts([Item(plan, source, destination)], **options)[0]

    def run(self, plan: Plan, source: Any | None = None, destination: Any | None = None, **options: Any) -> Report:
        """Run a plan together with all ranks, and report on all of them; see `Engine.run`.

        Raises:
            RunError: a hop failed on some rank, a rank was lost, or the ranks disagree about the plan.
            Exception: what `Engine.run` raises.
        """
        parts = self.gather(self.run_part(plan, source, destination, **options))
        return merged(plan, self.machine, cast("list[RankPart]", parts))

    def clock(self) -> ClockOffset:
        """The clock of this rank against that of rank 0, compared within the last seconds."""
        now = time.monotonic()
        if self.rank and now - self._clock_asked > CLOCK_KEPT:
            with suppress(RunError):  # a rank was lost, and reports say so
                found = self.transport.clock_offsets()[self.rank]
                if found is not None:
                    self._clock, self._clock_asked = found, now
        return self._clock

    def prepare(
        self, plan: Plan, source: Any | None = None, destination: Any | None = None, *, priority: int | None = None
    ) -> PreparedTransfer:
        """A transfer that is started again and again; see `Engine.prepare`. All ranks prepare and start the same plans in order.

        Between two ranks of one host, host memory to host memory in one hop, a start costs no message (`lane_transfers`).
        """
        expect("prepare", plan, Plan, "a plan")
        if len({self.node_of(name) for name in plan.every_memory}) < 2:
            return super().prepare(plan, source, destination, priority=priority)
        self.require_open()
        chosen = plan.transfer.priority if priority is None else checks.priority(priority)
        submit = partial(self.submit, plan, source, destination, priority=chosen)
        ends = self.node_of(plan.transfer.source.memory), self.node_of(plan.transfer.destination.memory)
        if len(plan.paths) > 1 or len(plan.every_hop) > 1 or self.is_durable(plan) or not self._reads_memory(plan):
            return PreparedTransfer(plan, submit, never, None)
        found = prepare_lane(self._lane_runtime, plan, (source, destination), ends, self._known_plan(plan).digest, chosen)
        if isinstance(found, str):
            _LOG.info("%s is not carried out over a lane: %s", plan.transfer, found)
            return PreparedTransfer(plan, submit, never, None)
        if isinstance(found, LaneTransfer):
            self._lane_transfers.add(found)
        return found

    def close(self) -> None:
        if self._home.is_here:
            for each in list(self._lane_transfers):
                each.close()
            while self._attached:
                self._attached.popitem()[1].close()
        super().close()

    def require_open(self) -> None:
        """Require that this is the process of the engine, and that the engine is open.

        Raises:
            ForkedError: in a forked child. EngineClosed: it is closed.
        """
        self._home.require()
        if self._closed:
            raise EngineClosed("the engine is closed")

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
    def _attached(self) -> dict[Callable[[RankEngine], Attached], Attached]:
        return {}

    @cached_property
    def _lane_runtime(self) -> LaneRuntime:
        return LaneRuntime(
            rank=self.rank,
            size=self.transport.size,
            devices=self.far,
            home=self._home,
            gone=self.gone,
            is_closed=lambda: self._closed,
            count=self._counted,
            own_number=lambda: next(self._local_numbers),
            plan=self._plans.of,
            state=self._state_of,
            borrow=self._borrow,
            admit=self._admitted,
            cancel=self._cancel,
            ended=self._ended,
            later=self._lanes.put,
            call_back=self._callbacks.put,
            send=self.transport.send,
            offer=lambda number, rank: self._letters.wait((LaneOffer, number), rank),
            forget=self._lane_transfers.discard,
        )

    def _counted(self) -> int:
        """Count a transfer of several ranks, as all ranks do. No message is about it, but perhaps an offer."""
        number = next(self._numbers)
        self._passed(number)
        return number

    @defer_interrupts()
    def _admitted(self, execution: RankExecution, work: Work) -> None:
        """Hand an execution over a lane to the scheduler."""
        with self._lock:
            if self._closed:
                raise EngineClosed("the engine is closed")
            instructions = self._scheduler.submit(execution.number, work)
            self._executions[execution.number] = execution
            if self._recorded is not None:
                self._recorded.append(execution)
            self._granted(instructions)
        self._carry_out(instructions)

    def _reads_memory(self, plan: Plan) -> bool:
        return not self.machine.memory(plan.transfer.source.memory).is_file_system

    # ---- collective calls

    def gather(self, value: object) -> list[object]:
        """The values of all ranks, on all ranks. They have to be small, and picklable.

        Raises:
            RankLost: a rank no longer answers.
        """
        turn, self._turn = self._turn, self._turn + 1
        if self.rank:
            self.transport.send(0, Gathered(turn, value))
            return cast("list[object]", self._letters.wait((Gathered, turn, 0), 0))
        others = range(1, self.transport.size)
        found = [value, *(self._letters.wait((Gathered, turn, rank), rank) for rank in others)]
        for rank in others:
            self.transport.send(rank, Gathered(turn, found))
        return found

    def agreed(self, make: Callable[[], T]) -> T:
        """What rank 0 makes, on all ranks. A plan is agreed on: what a planner answers may depend on what its rank has measured.

        Raises:
            Exception: what `make` raised on rank 0, on all ranks; RankError where that cannot be sent.
            RankLost: a rank no longer answers.
        """
        made: object = None
        if self.rank == 0:
            try:
                made = make()
            except Exception as error:  # noqa: BLE001  # all ranks raise it
                made = _Failed(cast("Exception", picklable(error, self.rank)))
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

    # ---- inside

    def _begun(
        self,
        items: Sequence[Item],
        parts: list[RankPart],
        cancel: CancelToken | None,
        pipelined: bool,
        woken: threading.Event,
        told: bool,
    ) -> list[_Running]:
        """Submit the plans that this rank has a part in, each when it begins. The part of one that is refused has the error."""
        running: list[_Running] = []
        began = time.perf_counter()
        for at, item in sorted(enumerate(items), key=lambda each: each[1].begin):
            if not self.has_part_in(item.plan):
                self.skip(item.plan)
                continue
            while (left := began + item.begin - time.perf_counter()) > 0 and not (cancel is not None and cancel.is_set()):
                woken.wait(min(left, TICK))
                woken.clear()
            moved = threading.Event()
            over, arrived = _over(moved, woken), woken.set if told else None
            try:
                execution = self._submitted(item.plan, item.source, item.destination, None, pipelined, cancel, over, arrived)
            except Exception as error:  # noqa: BLE001  # the part carries it
                parts[at] = RankPart(self.rank, error=error)
            else:
                running.append(_Running(at, execution, moved))
        return running

    def _wait(
        self,
        running: Sequence[_Running],
        woken: threading.Event,
        progress: ProgressCallback | None,
        cancel: CancelToken | None,
    ) -> None:
        """Wait until no bytes of the plans move any more. Report progress; cancel where the token is set."""
        if progress is None and cancel is None:
            for each in running:
                each.moved.wait()
            return
        told, executions = -1, [each.execution for each in running]
        while True:
            over = all(each.moved.is_set() for each in running)
            done = sum(execution.event.bytes_done for execution in executions)
            if progress is not None and done != told:
                told = done
                progress(self._progress("move", executions))
            if over:
                return
            woken.wait(TICK)
            woken.clear()
            if cancel is not None and cancel.is_set():
                for execution in executions:
                    self._cancel(execution.number)

    @staticmethod
    def _progress(stage: str, executions: Sequence[RankExecution]) -> Progress:
        """What this rank has moved to destinations, out of all that reaches destinations on this rank.

        The rank before the destination moves the last hop, so only the sums over all ranks belong together.
        """
        mine = [execution for execution in executions if execution.receiver == execution.rank]
        return Progress(
            stage,
            sum(execution.chunks_done for execution in executions),
            sum(execution.plan.chunk_count for execution in mine),
            sum(execution.event.bytes_done for execution in executions),
            sum(execution.plan.bytes for execution in mine),
        )

    def _is_awaited(self, execution: RankExecution, verify: bool) -> bool:
        """Whether the other ranks wait for the last word of the destination's rank."""
        several = len(execution.work.ranks(self.rank)) > 1
        return several and execution.outcome == "done" and (verify or self.is_durable(execution.plan))

    def _offer(self, executions: Sequence[RankExecution], verify: bool) -> None:
        for execution in executions:
            if self._is_offering(execution, verify):
                self.transport.send(execution.receiver, Offer(execution.number, execution.offered()))

    def _is_offering(self, execution: RankExecution, verify: bool) -> bool:
        """Whether the rank of the destination waits for this rank to offer the source."""
        waits = verify and execution.outcome == "done" and execution.sender == self.rank != execution.receiver
        return waits and not execution.is_offered

    def _received_part(self, execution: RankExecution, verify: bool) -> RankPart:
        """The part of the rank of the destination, which verifies and publishes it."""
        flush, verified = 0.0, None
        try:
            if execution.error is None:
                began = time.perf_counter()
                execution.located(execution.destination.flush)
                flush = time.perf_counter() - began
                if verify:
                    source = execution.source
                    if execution.sender != self.rank:
                        letter = self._letters.wait((Offer, execution.number), execution.sender, execution.check)
                        handle = cast("Offer", letter).handle
                        if handle is None:
                            raise RankError(f"rank {execution.sender} was interrupted", rank=execution.sender)
                        source = cast("Any", execution.far_source(handle))
                    self.devices.verify(execution.plan, source, execution.destination, execution.check)
                    verified = True
                execution.check()
                execution.located(execution.destination.publish)
        except Exception as error:  # noqa: BLE001  # the part carries it
            execution.error = error
        if self._is_awaited(execution, verify):
            self.say(execution, execution.error, verified)
        return RankPart.of(execution, self.rank, flush, verified)

    def _sent_part(self, execution: RankExecution, verify: bool) -> RankPart:
        """The part of another rank, which keeps the source until the destination is complete."""
        verified = None
        if self._is_awaited(execution, verify):
            try:
                word = cast("Word", self._letters.wait((Word, execution.number), execution.receiver))
            except Exception as error:  # noqa: BLE001  # the part carries it
                execution.error = execution.error or error
            else:
                execution.error, verified = execution.error or word.error, word.verified
        return RankPart.of(execution, self.rank, 0.0, verified)


def _over(moved: threading.Event, woken: threading.Event) -> Callable[[Execution], None]:
    """A function that sets events once no bytes of an execution move any more."""

    def over(_: Execution) -> None:
        moved.set()
        woken.set()

    return over
