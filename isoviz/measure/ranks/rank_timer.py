"""Timing of jobs on real ranks: rank 0 leads, and the other ranks carry out what it asks for.

The ranks run all jobs with one engine. Its machine has each channel several times, for numbers of requests in flight.
"""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoviz.backends.generate import fill
from isoviz.backends.pages import page_aligned
from isoviz.errors import RunError
from isoviz.machines import MemoryKind
from isoviz.measure import tuning
from isoviz.measure.channel_timer import rates_together
from isoviz.measure.jobs import job_plan
from isoviz.planner import plan as make_plan
from isoviz.runtime.ranks.merging import first_error, merged, merged_trace
from isoviz.runtime.ranks.rank_engine import Item

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.machines import Machine
    from isoviz.measure.jobs import Job
    from isoviz.planner import Plan, Transfer
    from isoviz.runtime.ranks.merging import RankPart
    from isoviz.runtime.ranks.rank_engine import RankEngine


class _Order(NamedTuple):
    """What all ranks do next. `plans` is a pickle of plans, or of the one that is submitted."""

    how: Literal["in turn", "together", "submitted", "prepared", "end"]
    plans: bytes = b""


def with_variants(machine: Machine) -> Machine:
    """A machine of ranks that has each channel between ranks for all numbers of requests in flight that are tried."""
    variants = [
        replace(channel, name=_variant(channel.name, count), max_in_flight=count)
        for channel in machine.channels
        if channel.kind.crosses_nodes and channel.kind.ways is not None
        for count in sorted({*channel.kind.ways.in_flight, channel.max_in_flight})
    ]
    return replace(machine, channels=(*machine.channels, *variants))


def _variant(channel: str, in_flight: int) -> str:
    return f"{channel} x{in_flight}"


class RankTimer:
    """Time jobs on the ranks of an engine. All ranks make one; rank 0 measures with it, and the others `follow`.

    The machine of the engine is one `with_variants`. `registered(nbytes)` makes an array in the windows of this rank. Jobs use
    successive parts of arrays of `room` bytes, sources in the first half and destinations in the second, so that no data of an
    earlier job are in a cache.

    Raises:
        RunError: a plan failed on a rank, or a rank was lost.
    """

    def __init__(self, engine: RankEngine, room: int, registered: Callable[[int], Bytes]) -> None:
        self.engine, self.room = engine, room
        self._make = {MemoryKind.SYS: page_aligned, MemoryKind.REG: registered}
        self._arrays: dict[MemoryKind, Bytes] = {}
        self._at = 0
        self._ended = False
        self._plans: dict[Job, Plan] = {}

    def seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job alone, as in a report. For rank 0.

        A job runs once before it is timed if it is short, and at its first time, which maps memory and makes kernels ready.
        """
        plan, is_first = self._plan(machine, job)
        return self._seconds([plan] * (2 if is_first or job.nbytes <= tuning.TIMED_TWICE else 1))

    def submitted_seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job from its submission at the sender until all ranks know of its end. For rank 0.

        The receiver has submitted it before, as one posts a receive.
        """
        plan, _ = self._plan(machine, job)
        self.engine.gather(_Order("submitted", pickle.dumps(plan)))
        return self._submitted(plan)

    def prepared_seconds(self, machine: Machine, job: Job) -> float:
        """The seconds of a job that is prepared once, among others that follow each other. For rank 0."""
        plan, _ = self._plan(machine, job)
        self.engine.gather(_Order("prepared", pickle.dumps(plan)))
        return self._prepared(plan)

    def transfer_seconds(self, machine: Machine, transfer: Transfer) -> float:
        """The seconds of a transfer with its plan on a machine, after a run that is not timed. For rank 0."""
        plan = make_plan(transfer, machine)
        hops = tuple(hop._replace(channel=self._name(machine, hop.channel)) for hop in plan.hops)
        # The engine takes plans of its own machine. It has the same channels under other names.
        mine = self.engine.machine
        plan = replace(plan.changed(hops=hops), machine_name=mine.name, machine_digest=mine.digest)
        return self._seconds([plan, plan])

    def together(self, machine: Machine, jobs: Sequence[Job]) -> dict[str, float]:
        """Bytes per second of every channel while all of them work on these jobs. For rank 0.

        Channels that never work at the same time, on a busy computer say, take turns: all of the time counts for each of them.
        """
        plans, are_first = zip(*(self._plan(machine, job) for job in jobs), strict=True)
        names = {self._name(machine, job.channel): job.channel for job in jobs}
        if any(are_first):
            self._lead("together", plans)
        for times in tuning.LONGER_JOBS:  # Short jobs may end before the last one begins.
            often = plans * times
            trace = merged_trace(list(zip(often, self._lead("together", often), strict=True)))
            rates = rates_together(trace)
            if rates is not None:
                return {names[name]: rate for name, rate in rates.items()}
        seconds = max(span.end for span in trace.requests) - min(span.start for span in trace.requests)
        turns = dict.fromkeys(names.values(), 0.0)
        for job in jobs:
            turns[job.channel] += times * job.nbytes / max(seconds, tuning.CLOCK_TICK)
        return turns

    def follow(self) -> None:
        """Carry out what rank 0 asks for, until it ends the measurement. For all other ranks."""
        while True:
            order = self.engine.gather(None)[0]
            assert isinstance(order, _Order)
            if order.how == "end":
                return
            plans = pickle.loads(order.plans)  # noqa: S301  # the ranks of a job trust each other
            if order.how == "submitted":
                self._submitted(plans)
            elif order.how == "prepared":
                self._prepared(plans)
            else:
                self._carry_out(order.how, plans)

    def end(self) -> None:
        """Let the other ranks go. For rank 0, also after an error."""
        if not self._ended:
            self._ended = True
            self.engine.gather(_Order("end"))

    def _name(self, machine: Machine, name: str) -> str:
        """The channel of the engine that takes as many requests in flight as a channel of `machine`."""
        channel = machine.channel(name)
        return _variant(name, channel.max_in_flight) if channel.kind.crosses_nodes else name

    def _plan(self, machine: Machine, job: Job) -> tuple[Plan, bool]:
        """The plan of a job on the machine of the engine, and whether it was made just now."""
        key = job._replace(channel=self._name(machine, job.channel))
        is_first = key not in self._plans
        if is_first:
            self._plans[key] = job_plan(self.engine.machine, key)
        return self._plans[key], is_first

    def _seconds(self, plans: Sequence[Plan]) -> float:
        """The seconds of the last of plans that run in turn, as in a report."""
        *_, last = self._lead("in turn", plans)
        return max(merged(plans[-1], self.engine.machine, last).seconds, tuning.CLOCK_TICK)

    def _lead(self, how: Literal["in turn", "together"], plans: Sequence[Plan]) -> list[tuple[RankPart, ...]]:
        self.engine.gather(_Order(how, pickle.dumps(plans)))
        return self._carry_out(how, plans)

    def _carry_out(self, how: Literal["in turn", "together"], plans: Sequence[Plan]) -> list[tuple[RankPart, ...]]:
        """The parts of all ranks in each plan; those of plans in turn without the times of single requests."""
        items = [Item(plan, *self._ends(plan)) for plan in plans]
        batches = [[item] for item in items] if how == "in turn" else [items]
        mine: list[RankPart] = []
        for batch in batches:
            mine += self.engine.run_parts(batch, verify=False)
        every: Any = self.engine.gather(mine if how == "together" else [replace(part, spans=()) for part in mine])
        found = list(zip(*every, strict=True))
        for parts in found:
            if (error := first_error(parts)) is not None and not self.engine.rank:
                raise error
        return found

    def _submitted(self, plan: Plan) -> float:
        engine, ends = self.engine, self._ends(plan)
        sends = engine.node_of(plan.transfer.source.memory) == engine.rank
        posted = None if sends else engine.submit(plan, *ends)
        engine.barrier()
        begin = time.perf_counter()
        event = engine.submit(plan, *ends) if posted is None else posted
        event.wait()
        end, offset = time.perf_counter(), engine.clock().offset
        every: Any = engine.gather((begin - offset if sends else math.inf, end - offset))
        return float(max(each for _, each in every) - min(each for each, _ in every))

    def _prepared(self, plan: Plan) -> float:
        with self.engine.prepare(plan, *self._ends(plan)) as prepared:
            for _ in range(tuning.PREPARED_WARM):  # the last of them brings the ranks together, closer than a barrier
                prepared.start().wait()
            begin = time.perf_counter()
            for _ in range(tuning.PREPARED_TURNS):
                prepared.start().wait()
            seconds: Any = self.engine.gather(time.perf_counter() - begin)
            return float(max(seconds)) / tuning.PREPARED_TURNS

    def _ends(self, plan: Plan) -> tuple[Bytes | None, Bytes | None]:
        """The parts of this rank's arrays that are the ends of a plan; None for an end on another rank."""
        transfer, half = plan.transfer, self.room // 2
        nbytes = max(transfer.source.linearization.nbytes, transfer.destination.linearization.nbytes)
        if nbytes > half:
            raise RunError(f"a job of {nbytes} bytes; expected at most {half}")
        if self._at + nbytes > half:
            self._at = 0
        at = self._at
        self._at += -(-nbytes // tuning.MIB) * tuning.MIB
        found: list[Bytes | None] = []
        for instance, begin in ((transfer.source, at), (transfer.destination, at + half)):
            memory = self.engine.machine.memory(instance.memory)
            is_here = memory.node == self.engine.rank
            found.append(self._array(memory.kind)[begin : begin + instance.linearization.nbytes] if is_here else None)
        return found[0], found[1]

    def _array(self, kind: MemoryKind) -> Bytes:
        """The array of a kind of memory, made when it is first used. Its pages are there before anything is measured."""
        if kind not in self._arrays:
            array = self._make[kind](self.room)
            fill(array, 0)
            self._arrays[kind] = array
        return self._arrays[kind]
