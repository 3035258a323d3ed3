"""The probe of ranks: `probe_ranks` keeps what `probe_in_rank` measured on all of them."""

from __future__ import annotations

import math
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoviz.backends.generate import fill
from isoviz.backends.host import kernels
from isoviz.backends.pages import page_aligned
from isoviz.errors import Cancelled, RunError, line, show
from isoviz.machines import ChannelKind, Machine, MemoryKind
from isoviz.machines.measurement import Measurement
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import local_machine, tuning
from isoviz.measure.channel_timer import rates_together, working_set
from isoviz.measure.gpus.gpu_parts import without_gpus
from isoviz.measure.jobs import job_plan
from isoviz.measure.ranks.rank_steps import RankSteps
from isoviz.measure.ranks.ranks_machine import (
    RankHosts,
    assumed_between_ranks,
    kinds_between,
    mpi_here,
    rank_hosts,
    ranks_machine,
)
from isoviz.measure.steps import Tell
from isoviz.measure.ways import Effort
from isoviz.planner import plan as make_plan
from isoviz.runtime.ranks.merging import first_error, merged, merged_trace
from isoviz.runtime.ranks.rank_engine import Item, RankEngine
from isoviz.this_computer import ComputerFacts, this_computer, versions

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.backends.pages import Bytes
    from isoviz.measure.jobs import Job
    from isoviz.planner import Plan, Transfer
    from isoviz.runtime.ranks.merging import RankPart


# Timing of jobs on real ranks: rank 0 leads, and the other ranks carry out what it asks for.
#
# The ranks run all jobs with one engine. Its machine has each channel several times, for numbers of requests in
# flight.


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


QUICK = Effort(repeats=5, samples=8, seconds=0.01, limit=40.0)
THOROUGH = Effort(repeats=11, samples=14, seconds=0.04, limit=240.0)
MOST_ROOM = 2 * tuning.PROBE_ROOM
"""Most bytes of an array of a rank: every rank has two of them."""


@dataclass(frozen=True)
class RankOrder:
    """What a probe of ranks measures: `local` is one rank alone, with its disk. The other fields are those of `RankSteps`."""

    local: Machine
    facts: ComputerFacts
    effort: Effort
    room: int
    date: str


Measure = Callable[[RankOrder, Tell, threading.Event], object]
"""Has all ranks carry out an order by `probe_in_rank`, and returns what rank 0 returned. A set event ends the measurement."""


def probe_ranks(measure: Measure, place: Path, *, thorough: bool, tell: Tell, keep: bool) -> Machine:
    """Measure ranks: what is within a rank, and the channels between ranks, for files in the directory `place`.

    With `thorough`, channels to compare with are measured as well, where their cards say how.

    Raises:
        RunError: a transfer failed on the ranks. Errors of `measure` and of `tell`.
    """
    began = time.perf_counter()
    tell(0, 1, "making the copy kernels ready")
    kernels.prepare(wait=True)  # The ranks only load them then.
    local = _local(place, tell)
    room = max(tuning.PROBE_ROOM, min(working_set(), MOST_ROOM))
    date = datetime.now(UTC).isoformat(timespec="seconds")
    order = RankOrder(local, this_computer(), THOROUGH if thorough else QUICK, room, date)
    found = _followed(measure, order, tell)
    assert found.measurement is not None
    found = replace(found, measurement=replace(found.measurement, seconds=round(time.perf_counter() - began, 1)))
    if keep:
        measurements.keep_ranks(found, hosts_of(found).of, mpi_here(), place)
    return found


def _local(place: Path, tell: Tell) -> Machine:
    """One rank alone, as far as it is known: what is kept of this computer, else a brief probe, which is kept."""
    kept = local_machine.kept_machine(place)
    if kept is None:
        kept = local_machine.measured_machine(place, lambda what, _: tell(0, 1, f"a brief probe of this computer: {what}"))
    return without_gpus(kept)


def _followed(measure: Measure, order: RankOrder, tell: Tell) -> Machine:
    """The machine that the ranks measured. An error of `tell` ends the measurement, and is raised here."""
    cancel = threading.Event()
    errors: list[BaseException] = []

    def told(done: int, steps: int, what: str) -> None:
        if not cancel.is_set():
            try:
                tell(done, steps, what)
            except BaseException as error:  # noqa: BLE001  # raised by the caller's thread
                errors.append(error)
                cancel.set()

    try:
        found = measure(order, told, cancel)
    except RunError as error:
        raise errors[0] if errors else error from None
    if errors:
        raise errors[0]
    if not isinstance(found, Machine):
        raise RunError(f"rank 0 measured no machine; it answered {show(found)}")
    return found


def hosts_of(machine: Machine) -> RankHosts:
    """The hosts of the ranks of a machine of ranks, from the resources that a copy within each rank uses."""
    of = []
    for node in machine.nodes:
        (copy,) = machine.between(f"node{node}.sys", f"node{node}.sys")
        (memory,) = (name for name, _ in copy.resources if name.endswith(".memory"))
        of.append(int(memory.removeprefix("host").removesuffix(".memory")))
    return RankHosts(tuple(of), tuple(f"host{k}" for k in range(max(of) + 1)))


def probe_in_rank(
    world: World, order: RankOrder, tell: Callable[[tuple[int, int, str]], None], cancel: threading.Event
) -> Machine | None:
    """Measure together with all ranks. Rank 0 returns the machine, with the record of its measurement but for its duration.

    `tell` is called on rank 0 with (steps done, all steps, text). A set `cancel` on rank 0 ends the measurement on all ranks.

    Raises:
        Cancelled: `cancel` was set. RunError: a transfer failed, or there is not enough memory.
    """
    kernels.prepare(wait=True)
    hosts = rank_hosts("probe", world.size, list(world.hosts))
    refused, kinds = world.writes_refused, kinds_between()
    if order.effort == THOROUGH:
        for distance, each in kinds_between(usual=False).items():
            kinds[distance] += tuple(kind for kind in each if kind.ways is not None)
    if refused:
        kinds["same host"] = tuple(kind for kind in kinds["same host"] if kind is not ChannelKind.PROCESS_WRITE)
    machine = with_variants(ranks_machine(hosts, assumed_between_ranks(order.local, kinds)))
    engine = RankEngine(machine, world.devices, world.transport)
    with engine:
        timer = RankTimer(engine, order.room, world.array)
        if world.rank:
            timer.follow()
            return None

        def step(done: int, steps: int, what: str) -> None:
            if cancel.is_set():
                raise Cancelled("the probe of the ranks was cancelled")
            tell((done, steps, what))

        try:
            steps = RankSteps(
                timer, hosts, order.local, order.room, order.effort, order.date, order.facts.host, step, kinds=kinds
            )
            found = steps.measure()
        finally:
            timer.end()
    made = (*versions(), ("MPI", library(world)), ("copies", line(kernels.state())))
    if refused:
        made += (("without ProcessWrite", line(refused)),)
    places = tuple((memory.name, str(memory.device)) for memory in found.memories if memory.is_file_system)
    pairs, checks, starts = tuple(steps.pairs), tuple(steps.checks), tuple(steps.starts)
    measured = Measurement(order.facts, order.date, 0.0, made, places[:1], pairs, checks, starts=starts)
    return replace(found, measurement=measured)


def library(world: World) -> str:
    """The name and version of the MPI library."""
    text: Any = world.thread.mpi.Get_library_version()
    first = str(text).replace("\0", " ").split(",")[0].splitlines()[0]
    return line(" ".join(first.replace("Version:", "").split()))[:80]
