"""Plans on ranks: what the client sends, what every rank does, and how the parts become one report."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.backends.cuda.gpu_array import GpuArray
from isoviz.errors import Cancelled, InputError, IsovizError, RankError, TransferError, in_words, line, show
from isoviz.launch.this_rank import this_rank
from isoviz.machines import MemoryKind
from isoviz.planner.plan_file import plan_from_json, plan_to_json
from isoviz.runtime.engine.progress import Progress

if TYPE_CHECKING:
    from isoviz.backends.cuda.device_memory import DeviceMemory
    from isoviz.backends.mpi.world import World
    from isoviz.launch.hello import Hello
    from isoviz.machines import Machine, Memory
    from isoviz.planner import Plan
    from isoviz.runtime.ranks.merging import RankPart
    from isoviz.runtime.ranks.rank_engine import RankEngine
    from isoviz.runtime.trace.report import Report

Array = np.ndarray[Any, Any]
TELL_EVERY = 0.05
"""Seconds between two reports of progress of a rank."""


@dataclass(frozen=True)
class Room:
    """A destination array that a rank has to make: only its result is sent."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool

    def made(self) -> Array:
        """The array, of zeros."""
        return np.zeros(self.shape, self.dtype, order="F" if self.fortran else "C")


@dataclass(frozen=True)
class Order:
    """One plan as it is sent to a rank: its JSON object, and the ends that the caller gave, if this rank has them."""

    plan: Mapping[str, Any]
    source: Any = None
    destination: Any = None


@dataclass(frozen=True)
class Done:
    """What a rank answers for one plan: its part, and the destination array if the caller gave one."""

    part: RankPart
    destination: Array | None = None


# ---- the client


def orders(machine: Machine, plan: Plan, source: Any, destination: Any, size: int) -> list[Order]:
    """What each of `size` ranks gets of a plan. Paths become absolute here, since the ranks may have another working directory.

    Raises:
        TransferError: the plan is for another machine, or has a memory on a node without a rank.
    """
    if plan.machine_digest != machine.digest:
        raise TransferError(
            f"run: the plan is for the machine {plan.machine_name!r}, and these ranks are another one; expected a plan for"
            " `ranks.machine`, or the plan's machine as `machine`"
        )
    nodes = {name: machine.memory(name).node for name in plan.every_memory}
    for name, node in nodes.items():
        if node >= size:
            raise TransferError(f"run: {name} is on node {node}, and there are {size} ranks, one for each node from 0")
    data = plan_to_json(plan)
    for end in ("source", "destination"):
        if "path" in data["transfer"][end]:
            data["transfer"][end]["path"] = _absolute(data["transfer"][end]["path"])
    found = [Order(data) for _ in range(size)]
    transfer = plan.transfer
    if source is not None:
        reads = nodes[transfer.source.memory]
        found[reads] = replace(found[reads], source=_given(source))
    if destination is not None:
        writes, there = nodes[transfer.destination.memory], _given(destination)
        if isinstance(there, np.ndarray) and not transfer.is_partial and not transfer.destination.linearization.is_padded:
            there = Room(there.shape, there.dtype, there.flags.f_contiguous and not there.flags.c_contiguous)
        found[writes] = replace(found[writes], destination=there)
    return found


def _absolute(path: Any) -> str:
    return str(os.path.abspath(os.fspath(path)))  # noqa: PTH100  # it follows no link


def _given(end: Any) -> Any:
    """An array as it is, or a path.

    Raises:
        InputError: it is neither.
    """
    if not isinstance(end, np.ndarray | str | os.PathLike):
        raise InputError(f"run: an end is {show(end)}; expected an array or a path (a machine is given as `machine=`)")
    return end if isinstance(end, np.ndarray) else _absolute(end)


class Summed:
    """The progress of a run: the sum over its ranks."""

    def __init__(self) -> None:
        self._by_rank: dict[int, Progress] = {}
        self._told: Progress | None = None
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

    def news(self) -> Progress | None:
        """The sum, if it is another one than the last time."""
        found = self.now()
        if found == self._told:
            return None
        self._told = found
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
    engine = here.station.engine(here.station.submitted_machine(machine))
    with ExitStack() as stack:
        problem, ends = None, []
        try:
            ends = [_ends(order, engine.machine, here.station.world(), stack) for order in given]
        except (MemoryError, IsovizError) as error:
            problem = f"has no room for its arrays: {in_words(error)}"
        if arrays:  # Ranks with none must not wait for a rank that cannot begin.
            for rank, found in enumerate(engine.gather(problem)):
                if found is not None:
                    raise RankError(f"rank {rank} {found}", rank=rank)
        parts = _parts(engine, given, ends, options, _Teller(here.tell) if tells else None, here.cancel)
        return [Done(part, None if part.error is not None else _arrived(end)) for part, (_, end) in zip(parts, ends, strict=True)]


def _parts(
    engine: RankEngine,
    given: Sequence[Order],
    ends: Sequence[tuple[Any, Any]],
    options: Mapping[str, Any],
    told: _Teller | None,
    cancel: threading.Event,
) -> list[RankPart]:
    """Run the plans with these ends."""
    from isoviz.runtime.ranks.rank_engine import Item

    options = dict(options)
    begins = options.pop("begins", None) or [0.0] * len(given)
    items = [Item(plan_from_json(order.plan), *pair, begin) for order, pair, begin in zip(given, ends, begins, strict=True)]
    parts = engine.run_parts(items, progress=told, cancel=cancel, **options)
    if told is not None:
        told.last()
    engine.barrier()  # Another rank may still need this one: as the arbiter, or as the source that it verifies.
    return parts


def _ends(order: Order, machine: Machine, world: World, stack: ExitStack) -> tuple[Any, Any]:
    """The source and the destination of a plan as the engine takes them. `stack` frees them after the run."""
    transfer, destination = order.plan["transfer"], order.destination
    if isinstance(destination, Room):
        destination = destination.made()
    ends = zip((order.source, destination), (transfer["source"], transfer["destination"]), strict=True)
    source, destination = (_placed(given, machine.memory(end["memory"]), world, stack) for given, end in ends)
    return source, destination


def _placed(given: Any, memory: Memory, world: World, stack: ExitStack) -> Any:
    """An end where its memory is: arrays of registered memory lie in windows, and those of a GPU on it."""
    if not isinstance(given, np.ndarray):
        return given
    if memory.kind is MemoryKind.REG:
        return _in_window(world, given)
    if memory.kind is MemoryKind.FBM and not memory.emulated:
        with suppress(TransferError):  # There is no such GPU, and the engine says so.
            if (real := world.devices.memory(memory)) is not None:
                on_gpu = GpuArray(cast("DeviceMemory", real), given)
                stack.callback(on_gpu.close)
                return on_gpu
    return given


def _arrived(end: Any) -> Array | None:
    """The array of a destination that a caller of the ranks has given; None for a file."""
    if isinstance(end, GpuArray):
        return end.host()
    return end if isinstance(end, np.ndarray) else None


def _in_window(world: World, array: Array) -> Array:
    """A copy of an array in the windows of this rank, where registered memory lies."""
    is_turned = array.flags.f_contiguous and not array.flags.c_contiguous
    given = array.T if is_turned else array
    found = world.array(given.shape, given.dtype)
    found[...] = given
    return found.T if is_turned else found


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
