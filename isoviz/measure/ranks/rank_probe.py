"""The probe of ranks, from outside: it starts the ranks, follows their measurement, and keeps the result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from isoviz.backends.host import kernels
from isoviz.errors import InputError, RunError, show
from isoviz.machines import Machine
from isoviz.measure import kept_measurements as measurements
from isoviz.measure import local_machine, tuning
from isoviz.measure.channel_steps import Effort
from isoviz.measure.channel_timer import working_set
from isoviz.measure.gpus.gpu_parts import without_gpus
from isoviz.measure.ranks.mpi_here import mpi_here
from isoviz.measure.ranks.rank_hosts import RankHosts
from isoviz.measure.ranks.rank_program import ProbeOrder, probe_on_rank
from isoviz.this_computer import this_computer

QUICK = Effort(repeats=5, samples=8, seconds=0.01, limit=40.0)
THOROUGH = Effort(repeats=11, samples=14, seconds=0.04, limit=240.0)
MOST_ROOM = 2 * tuning.PROBE_ROOM
"""Most bytes of an array of a rank: every rank has two of them."""

Tell = Callable[[int, int, str], None]
"""Called with (steps done, all steps, text about the current measurement). It may raise to stop."""


class RunningRanks(Protocol):
    """What a probe asks of ranks that run already: `isoviz.ranks` makes them."""

    def __len__(self) -> int: ...

    def call(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> list[Any]:
        """Call a function on all ranks; see `isoviz.launch.ranks.Ranks.call`."""


def probe_ranks(ranks: int | RunningRanks, place: Path, *, thorough: bool, tell: Tell, keep: bool) -> Machine:
    """Measure ranks: what is within a rank, and the channels between ranks, for files in the directory `place`.

    `ranks` is a number of ranks, which are started for the probe, or ranks that run already.

    Raises:
        InputError: `ranks` is neither. Errors of `isoviz.ranks`. RunError: a transfer failed on the ranks.
    """
    began = time.perf_counter()
    tell(0, 1, "making the copy kernels ready")
    kernels.prepare(wait=True)  # The ranks only load them then.
    local = _local(place, tell)
    room = max(tuning.PROBE_ROOM, min(working_set(), MOST_ROOM))
    date = datetime.now(UTC).isoformat(timespec="seconds")
    order = ProbeOrder(local, this_computer(), THOROUGH if thorough else QUICK, room, date)
    with ExitStack() as stack:
        if isinstance(ranks, int):
            tell(0, 1, f"starting {ranks} ranks")
            # The launcher is on a higher floor, so it is imported by name, where it is needed.
            group: RunningRanks = stack.enter_context(import_module("isoviz.launch.ranks").ranks(ranks))
        elif callable(getattr(ranks, "call", None)):
            group = ranks
        else:
            raise InputError(f"probe, ranks: expected a number of ranks or what isoviz.ranks returned, got {show(ranks)}")
        found = _followed(group, order, tell)
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


def _followed(group: RunningRanks, order: ProbeOrder, tell: Tell) -> Machine:
    """The machine that the ranks measured. An error of `tell` ends the measurement, and is raised here."""
    cancel = threading.Event()
    errors: list[BaseException] = []

    def told(_rank: int, value: tuple[int, int, str]) -> None:
        if not cancel.is_set():
            try:
                tell(*value)
            except BaseException as error:  # noqa: BLE001  # raised by the caller's thread
                errors.append(error)
                cancel.set()

    try:
        found = group.call(probe_on_rank, order, tell=told, cancel=cancel)[0]
    except RunError as error:
        raise errors[0] if errors else error from None
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
