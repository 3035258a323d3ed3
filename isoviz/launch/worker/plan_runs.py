"""Plans on ranks: what the client sends, what every rank does, and how the parts become one report."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.backends.cuda.device_memory import GpuArray
from isoviz.backends.disk.disk_memory import FileTarget
from isoviz.backends.formats.arrays import sent_array
from isoviz.errors import Cancelled, InputError, IsovizError, RankError, TransferError, in_words, line, show
from isoviz.launch.this_rank import this_rank
from isoviz.layouts.given_arrays import Array, is_host_array
from isoviz.machines import MemoryKind
from isoviz.runtime.engine.progress import Progress

if TYPE_CHECKING:
    from isoviz.backends.cuda.device_memory import DeviceMemory
    from isoviz.backends.mpi.world import World
    from isoviz.launch.hello import Hello
    from isoviz.machines import Machine, Memory
    from isoviz.planner import Instance, Plan, Transfer
    from isoviz.runtime.ranks.merging import RankPart
    from isoviz.runtime.ranks.rank_engine import RankEngine
    from isoviz.runtime.trace.report import Report

TELL_EVERY = 0.05
"""Seconds between two reports of progress of a rank."""


@dataclass(frozen=True)
class Room:
    """Bytes of a destination that a rank has to make: only its result is sent."""

    nbytes: int

    def made(self) -> Array:
        """The bytes, zeros."""
        return np.zeros(self.nbytes, np.uint8)


@dataclass(frozen=True)
class Order:
    """One plan as it is sent to a rank: its digest, its JSON object if the ranks do not keep it, and the ends that the caller
    gave, if this rank has them."""

    digest: str
    plan: Mapping[str, Any] | None
    source: Any = None
    destination: Any = None


@dataclass(frozen=True)
class Done:
    """What a rank answers for one plan: its part, and the bytes of the destination if the caller gave an array."""

    part: RankPart
    destination: Array | None = None


# ---- the client


def check_plan(machine: Machine, plan: Plan, size: int) -> None:
    """Check that `size` ranks can carry out a plan.

    Raises:
        TransferError: the plan is for another machine, or has a memory on a node without a rank.
    """
    if plan.machine_digest != machine.digest:
        raise TransferError(
            f"run: the plan is for the machine {plan.machine_name!r}, and these ranks are another one; expected a plan for"
            " `ranks.machine`, or the plan's machine as `machine`"
        )
    for name in plan.every_memory:
        node = machine.memory(name).node
        if node >= size:
            raise TransferError(f"run: {name} is on node {node}, and there are {size} ranks, one for each node from 0")


def with_ends(order: Order, machine: Machine, transfer: Transfer, source: Any, destination: Any) -> dict[int, Order]:
    """What the ranks of the ends get of a plan, if there are arrays or paths. Arrays are sent as `sent_array` gives them. Paths
    become absolute here, since the ranks may have another working directory.

    Raises:
        InputError: an end is something else.
        ArrayError: an array does not lie as the plan says.
        TransferError: source and destination are the same.
    """
    found: dict[int, Order] = {}
    here, there = machine.memory(transfer.source.memory), machine.memory(transfer.destination.memory)
    if source is None and here.is_file_system:
        source = transfer.source.path
    if destination is None and there.is_file_system:
        destination = transfer.destination.path
    first = None if source is None else _given(source, "source", transfer.source)[0]
    last, is_as_said = (None, True) if destination is None else _given(destination, "destination", transfer.destination)
    if isinstance(first, np.ndarray) and isinstance(last, np.ndarray) and np.may_share_memory(first, last):
        raise TransferError(f"run: source and destination are the same or overlap ({transfer.source}); nothing was changed")
    if first is not None:
        found[here.node] = replace(order, source=first)
    if last is not None:
        is_filled = is_as_said and not transfer.is_partial and not transfer.destination.linearization.is_padded
        if isinstance(last, np.ndarray) and is_filled:
            last = Room(last.nbytes)
        found[there.node] = replace(found.get(there.node, order), destination=last)
    return found


def _absolute(path: Any) -> str:
    return str(os.path.abspath(os.fspath(path)))  # noqa: PTH100  # it follows no link


def _given(end: Any, name: str, instance: Instance) -> tuple[Any, bool]:
    """An array as it is sent, or a path, and whether its fields are known to lie as the instance says.

    Raises:
        InputError: it is neither.
        ArrayError: the array does not lie as the plan says.
    """
    if isinstance(end, str | os.PathLike):
        return _absolute(end), False
    if isinstance(end, FileTarget):
        below = None if end.below is None else Path(_absolute(end.below))
        return replace(end, path=Path(_absolute(end.path)), below=below), False
    if not is_host_array(end):
        raise InputError(f"run: an end is {show(end)}; expected an array or a path (a machine is given as `machine=`)")
    return sent_array(end, instance, name)


class Summed:
    """The progress of a run: the sum over its ranks."""

    def __init__(self) -> None:
        self._by_rank: dict[int, Progress] = {}
        self._reported: Progress | None = None
        self._lock = threading.Lock()

    def tell(self, rank: int, progress: Progress) -> None:
        """Take the progress of a rank."""
        with self._lock:
            self._by_rank[rank] = progress

    def now(self) -> Progress | None:
        """The sum; None before any rank has told its progress."""
        with self._lock:
            every = list(self._by_rank.values())
        if not every:
            return None
        return Progress(
            "verify" if any(each.stage == "verify" for each in every) else "move",
            sum(each.chunks_done for each in every),
            sum(each.chunks for each in every),
            sum(each.bytes_done for each in every),
            sum(each.bytes for each in every),
        )

    def unreported(self) -> Progress | None:
        """The sum, if it is another one than the last time."""
        found = self.now()
        if found == self._reported:
            return None
        self._reported = found
        return found


def report_of(plan: Plan, machine: Machine, parts: Sequence[RankPart], hellos: Sequence[Hello]) -> Report:
    """The report of a plan from the parts of all ranks.

    Raises:
        Exception: the plan failed. The error is of the type that it had on its rank, and names the rank.
    """
    from isoviz.runtime.ranks.merging import first_error, merged

    error = first_error(parts)
    if error is None:
        return merged(plan, machine, parts)
    raise named(error, next(part.rank for part in parts if part.error is error), hellos)


def named(error: BaseException, rank: int, hellos: Sequence[Hello]) -> BaseException:
    """An error that happened on a rank, with words that name the rank."""
    pid = hellos[rank].pid
    if isinstance(error, RankError) and error.rank is None:
        error.rank, error.pid = rank, pid
    said = in_words(error)
    if isinstance(error, Cancelled | RankError) or f"rank {rank}" in said:
        return error
    if isinstance(error, IsovizError):
        error.args = (line(f"rank {rank} (pid {pid}): {error}"),)
        return error
    found = RankError(f"rank {rank} (pid {pid}) raised {said}", rank=rank, pid=pid)
    found.__cause__ = error
    return found


# ---- the ranks


def get_ready() -> None:
    """Load what plans need, a second's work, so that the first one finds it."""
    import isoviz.backends.mpi.world
    import isoviz.runtime.ranks.rank_engine  # noqa: F401
    from isoviz.backends.host import kernels

    kernels.prepare()


def carry_out(
    machine: Machine | str, given: Sequence[Order], arrays: bool, options: Mapping[str, Any], tells: bool
) -> list[Done]:
    """Carry out this rank's part of some plans, all at the same time. All ranks do so together.

    `machine` is a machine, or the `bound_digest` of one that is kept (`Station.submitted_machine`). `arrays` tells whether any
    rank gets arrays. `options` are those of `RankEngine.run_parts`, and `begins`: when each plan begins, in seconds.

    Raises:
        RankError: a rank has no room for its arrays.
    """
    here = this_rank()
    station = here.station
    chosen = station.submitted_machine(machine)
    plans = station.submitted_plans([(order.digest, order.plan) for order in given])
    engine = station.engine(chosen)
    with ExitStack() as stack:
        problem, ends = None, []
        try:
            ends = [placed_ends(order, plan, chosen, station.world(), stack) for order, plan in zip(given, plans, strict=True)]
        except (MemoryError, IsovizError) as error:
            problem = f"has no room for its arrays: {in_words(error)}"
        if arrays:  # Ranks with none must not wait for a rank that cannot begin.
            check_room(engine, problem)
        parts = _parts(engine, plans, ends, options, _Teller(here.tell) if tells else None, here.cancel)
        return [Done(part, None if part.error is not None else arrived(end)) for part, (_, end) in zip(parts, ends, strict=True)]


def _parts(
    engine: RankEngine,
    plans: Sequence[Plan],
    ends: Sequence[tuple[Any, Any]],
    options: Mapping[str, Any],
    told: _Teller | None,
    cancel: threading.Event,
) -> list[RankPart]:
    """Run plans with these ends."""
    from isoviz.runtime.ranks.rank_engine import Item

    options = dict(options)
    begins = options.pop("begins", None) or [0.0] * len(plans)
    items = [Item(plan, *pair, begin) for plan, pair, begin in zip(plans, ends, begins, strict=True)]
    parts = engine.run_parts(items, progress=told, cancel=cancel, **options)
    if told is not None:
        told.last()
    if any(all(engine.node_of(name) for name in plan.every_memory) for plan in plans):
        engine.barrier()  # Rank 0 has no part in a plan, and may still be its arbiter. Ranks with a part wait for each other.
    return parts


def check_room(engine: RankEngine, problem: str | None) -> None:
    """Meet with all ranks. Each tells its problem, or None.

    Raises:
        RankError: a rank has no room for its arrays.
    """
    for rank, found in enumerate(engine.gather(problem)):
        if found is not None:
            raise RankError(f"rank {rank} {found}", rank=rank)


def placed_ends(order: Order, plan: Plan, machine: Machine, world: World, stack: ExitStack) -> tuple[Any, Any]:
    """The source and the destination of a plan as the engine takes them. `stack` frees them after the run."""
    source, destination = order.source, order.destination
    if isinstance(destination, Room):
        destination = destination.made()
    here, there = machine.memory(plan.transfer.source.memory), machine.memory(plan.transfer.destination.memory)
    return _placed(source, here, world, stack), _placed(destination, there, world, stack)


def _placed(given: Any, memory: Memory, world: World, stack: ExitStack) -> Any:
    """An end where its memory is: arrays of registered memory lie in windows, and those of a GPU on it."""
    if not isinstance(given, np.ndarray):
        return given
    if memory.kind is MemoryKind.REG:
        return in_window(world, given)
    if memory.kind is MemoryKind.FBM and not memory.emulated:
        with suppress(TransferError):  # There is no such GPU, and the engine says so.
            if (real := world.devices.memory(memory)) is not None:
                on_gpu = GpuArray(cast("DeviceMemory", real), given)
                stack.callback(on_gpu.close)
                return on_gpu
    return given


def in_window(world: World, given: Array) -> Array:
    """A copy of a flat array in the windows of this rank, where registered memory lies."""
    found = world.array(given.nbytes)
    found[:] = given.view(np.uint8)
    return found.view(given.dtype)


def arrived(end: Any) -> Array | None:
    """The bytes of a destination that a caller of the ranks has given; None for a file."""
    if isinstance(end, GpuArray):
        return end.host()
    return end.view(np.uint8) if isinstance(end, np.ndarray) else None


class _Teller:
    """Tells the client of progress, not too often; `last` tells what was held back."""

    def __init__(self, tell: Callable[[object], None]) -> None:
        self._tell = tell
        self._at = 0.0
        self._held: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        self._held = progress
        if now - self._at >= TELL_EVERY:
            self._at = now
            self.last()

    def last(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._tell(held)
