"""The probe of ranks: `probe_ranks` keeps what `probe_in_rank` measured on all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.backends.host import kernels
from isoviz.errors import Cancelled, RunError, line, show
from isoviz.machines import ChannelKind, Machine
from isoviz.machines.measurement import Measurement
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import local_machine, tuning
from isoviz.measure.channel_timer import working_set
from isoviz.measure.gpus.gpu_parts import without_gpus
from isoviz.measure.ranks.rank_hosts import RankHosts, kinds_between, rank_hosts
from isoviz.measure.ranks.rank_steps import RankSteps
from isoviz.measure.ranks.rank_timer import RankTimer, with_variants
from isoviz.measure.ranks.ranks_machine import assumed_between_ranks, mpi_here, ranks_machine
from isoviz.measure.steps import Tell
from isoviz.measure.ways import Effort
from isoviz.runtime.ranks.rank_engine import RankEngine
from isoviz.this_computer import ComputerFacts, this_computer, versions

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World

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
