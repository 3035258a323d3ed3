"""What every rank of a probe carries out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from isoviz.backends.host import kernels
from isoviz.errors import Cancelled, IsovizError, line
from isoviz.machines.measurement import Measurement
from isoviz.measure.channel_steps import Effort
from isoviz.measure.ranks.rank_hosts import rank_hosts
from isoviz.measure.ranks.rank_jobs import trial_machine
from isoviz.measure.ranks.rank_steps import RankSteps
from isoviz.measure.ranks.rank_timer import RankTimer
from isoviz.runtime.ranks.rank_engine import RankEngine
from isoviz.this_computer import ComputerFacts, versions

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.machines import Machine


@dataclass(frozen=True)
class ProbeOrder:
    """What a probe of ranks measures: `local` is one rank alone, with its disk. The other fields are those of `RankSteps`."""

    local: Machine
    facts: ComputerFacts
    effort: Effort
    room: int
    date: str


def probe_on_rank(order: ProbeOrder) -> Machine | None:
    """Measure together with all ranks of this job, in a call of what `isoviz.ranks` returned; see `probe_in_rank`."""
    from isoviz.backends.mpi.world import World

    # The launcher is on a higher floor. It has imported this module, and said who this rank is.
    here: Any = import_module("isoviz.launch.this_rank").this_rank()
    failed: IsovizError | None = None
    with World() as world:
        try:
            found = probe_in_rank(world, order, here.tell, here.cancel)
        except IsovizError as error:  # All ranks have left the measurement, so that they leave the world in order.
            if world.rank:
                raise
            failed, found = error, None
    if failed is not None:
        raise failed
    return found


def probe_in_rank(
    world: World, order: ProbeOrder, tell: Callable[[tuple[int, int, str]], None], cancel: threading.Event
) -> Machine | None:
    """Measure together with all ranks. Rank 0 returns the machine, with the record of its measurement but for its duration.

    `tell` is called on rank 0 with (steps done, all steps, text). A set `cancel` on rank 0 ends the measurement on all ranks.

    Raises:
        Cancelled: `cancel` was set. RunError: a transfer failed, or there is not enough memory.
    """
    kernels.prepare(wait=True)
    hosts = rank_hosts("probe", world.size, list(world.hosts))
    machine = trial_machine(hosts, order.local)
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
            steps = RankSteps(timer, hosts, order.local, machine, order.room, order.effort, order.date, order.facts.host, step)
            found = steps.measure()
        finally:
            timer.end()
    made = (*versions(), ("MPI", library(world)), ("copies", line(kernels.state())))
    places = tuple((memory.name, str(memory.device)) for memory in found.memories if memory.is_file_system)
    measured = Measurement(order.facts, order.date, 0.0, made, places[:1], tuple(steps.pairs), tuple(steps.checks))
    return replace(found, measurement=measured)


def library(world: World) -> str:
    """The name and version of the MPI library."""
    text: Any = world.thread.mpi.Get_library_version()
    first = str(text).replace("\0", " ").split(",")[0].splitlines()[0]
    return line(" ".join(first.replace("Version:", "").split()))[:80]
