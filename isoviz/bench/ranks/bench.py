"""What a rank of the benchmark has: its place among the ranks, its engine, and ways that all ranks time in turn.

Among the ways is what a program with mpi4py does itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from isoviz.backends.generate import fill
from isoviz.backends.host import kernels
from isoviz.backends.mpi.world import World
from isoviz.backends.pages import page_aligned
from isoviz.runtime.ranks.merging import merged
from isoviz.runtime.ranks.rank_engine import Item, RankEngine

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.machines import Machine
    from isoviz.planner import Plan
    from isoviz.runtime.ranks.merging import RankPart
    from isoviz.runtime.trace.report import Report

T = TypeVar("T")
SILENCE = 60.0
"""Seconds after which a silent rank is lost. Blocking calls of MPI in the thread of a rank are not silence."""


class Order(NamedTuple):
    """What a part of the benchmark measures: `repeat` rounds of transfers of up to `nbytes` bytes; files lie in `folder`.

    With `quick` the figures say nothing: copies need not be compiled, and less is repeated.
    """

    repeat: int
    nbytes: int
    folder: str
    quick: bool


class Span(NamedTuple):
    """The seconds, on the clock of the host, at which this rank began and ended."""

    begin: float
    end: float


Way = Callable[[], Span]
"""A way to do something. All ranks call it; each says when it began (inf: it only waited) and when it knew of the end."""


class RankBench:
    """One rank of the benchmark.

    A way takes from the first begin to the last end of all ranks. MPI's own ways run in the thread that makes the MPI calls of
    the rank, all inside one call of it, so that no hand-over between threads counts.
    """

    def __init__(self, world: World, engine: RankEngine) -> None:
        self.world, self.engine, self.machine = world, engine, engine.machine
        self.rank, self.size = world.rank, world.size
        self.mpi = world.thread.mpi
        self.comm = world.thread.call(lambda: self.mpi.COMM_WORLD.Dup())

    def array(self, memory: str, nbytes: int) -> Bytes:
        """An array of bytes in `sys` (pageable) or `reg` (the windows of this rank); its pages are mapped."""
        found = page_aligned(nbytes) if memory == "sys" else self.world.array(nbytes)
        fill(found, 0)
        return found

    def agreed(self, make: Callable[[], T]) -> T:
        """What rank 0 makes, on all ranks; see `RankEngine.agreed`."""
        return self.engine.agreed(make)

    def raw(self, work: Callable[[], bool]) -> Way:
        """A way over MPI. `work` returns whether this rank's begin counts: True at a sender."""

        def timed() -> Span:
            self.comm.Barrier()
            begin = time.perf_counter()
            counts = work()
            return Span(begin if counts else math.inf, time.perf_counter())

        return lambda: self.world.thread.call(timed)

    def submitted(self, plan: Plan, source: Any, destination: Any, *, pipelined: bool = True) -> Way:
        """A plan from rank 0 to another rank, from `submit` at rank 0 until all know of its end.

        The other ranks have submitted the plan before, as one posts a receive.
        """

        def way() -> Span:
            if self.rank == 0:
                self.engine.barrier()
                begin = time.perf_counter()
                self.engine.submit(plan, source, None, pipelined=pipelined).wait()
                return Span(begin, time.perf_counter())
            event = self.engine.submit(plan, None, destination, pipelined=pipelined)
            self.engine.barrier()
            event.wait()
            return Span(math.inf, time.perf_counter())

        return way

    def reported(self, plan: Plan, source: Any = None, destination: Any = None, *, pipelined: bool = True) -> Way:
        """A plan as a report measures it: from the first to the last request, on all ranks."""
        return lambda: Span(0.0, self.report(plan, source, destination, pipelined=pipelined).seconds)

    def report(self, plan: Plan, source: Any = None, destination: Any = None, *, pipelined: bool = True) -> Report:
        """The report of a run of a plan, on all ranks."""
        (part,) = self.engine.run_parts([Item(plan, source, destination)], verify=False, pipelined=pipelined)
        every = cast("list[RankPart]", self.engine.gather(replace(part, spans=())))
        return merged(plan, self.machine, every)

    def interleaved(self, ways: Mapping[str, Way], repeat: int) -> dict[str, list[float]]:
        """The seconds of each way in each of `repeat` rounds, after a first one that does not count; equal on all ranks."""
        spans: dict[str, list[Span]] = {name: [] for name in ways}
        for turn in range(repeat + 1):
            for name, way in ways.items():
                self.engine.barrier()
                span = way()
                if turn:
                    spans[name].append(span)
        every = cast("list[dict[str, list[Span]]]", self.engine.gather(spans))
        return {
            name: [
                max(each.end for each in rounds) - min(each.begin for each in rounds)
                for rounds in zip(*(found[name] for found in every), strict=True)
            ]
            for name in ways
        }


@contextmanager
def rank_bench(machine: Machine, order: Order) -> Iterator[RankBench]:
    """This rank, together with all other ranks."""
    if not order.quick:
        kernels.prepare(wait=True)
    with World(limit=SILENCE, directory=order.folder) as world:
        engine = RankEngine(machine, world.devices, world.transport)
        with engine:
            found = RankBench(world, engine)
            yield found
            engine.barrier()
            world.thread.call(found.comm.Free)


def empty() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A message without bytes."""
    return np.empty(0, np.uint8)


def sent(rank: RankBench, source: Any, destination: Any, types: tuple[Any, Any] = (None, None)) -> Way:
    """Send at rank 0, Recv at rank 1. `types` are derived datatypes for either end; None: contiguous bytes."""
    byte = rank.mpi.BYTE
    there = [source, byte] if types[0] is None else [source, 1, types[0]]
    into = [destination, byte] if types[1] is None else [destination, 1, types[1]]

    def work() -> bool:
        if rank.rank == 0:
            rank.comm.Send(there, 1)
        else:
            rank.comm.Recv(into, 0)
        return rank.rank == 0

    return rank.raw(work)


def packed(rank: RankBench, pack: Callable[[], Any], between: Any, unpack: Callable[[Any], None] | None = None) -> Way:
    """NumPy packs at rank 0, Send, Recv at rank 1, where NumPy unpacks. `between` is the contiguous array of rank 1."""
    byte = rank.mpi.BYTE

    def work() -> bool:
        if rank.rank == 0:
            rank.comm.Send([pack(), byte], 1)
        else:
            rank.comm.Recv([between, byte], 0)
            if unpack is not None:
                unpack(between)
        return rank.rank == 0

    return rank.raw(work)


@contextmanager
def put(rank: RankBench, nbytes: int) -> Iterator[Way]:
    """MPI Put between memory that MPI has allocated as windows, Flush, and an empty message that tells rank 1."""
    mpi = rank.mpi

    def made() -> tuple[Any, Any]:
        window = mpi.Win.Allocate(nbytes, 1, comm=rank.comm)
        array = np.frombuffer(window.tomemory(), np.uint8)
        array[:] = 1
        window.Lock_all()
        return window, array

    window, array = rank.world.thread.call(made)

    def work() -> bool:
        if rank.rank == 0:
            window.Put([array, mpi.BYTE], 1)
            window.Flush(1)
            rank.comm.Send([empty(), mpi.BYTE], 1)
        else:
            rank.comm.Recv([empty(), mpi.BYTE], 0)
            window.Sync()
        return rank.rank == 0

    def ended() -> None:
        window.Unlock_all()
        window.Free()

    yield rank.raw(work)
    rank.world.thread.call(ended)


@contextmanager
def datatype(rank: RankBench, make: Callable[[Any], Any]) -> Iterator[Any]:
    """A committed datatype, made by `make(mpi)` in the thread that calls MPI."""
    found = rank.world.thread.call(lambda: make(rank.mpi).Commit())
    yield found
    rank.world.thread.call(found.Free)
