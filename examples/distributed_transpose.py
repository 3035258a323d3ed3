"""A distributed transposition: a matrix whose rows are spread over ranks becomes one whose columns are.

It plans what the ranks send each other, runs it several times, verifies every byte on every rank, and compares it, in the same
run, with what MPI programs do otherwise:

- `MPI_Alltoallw` with derived datatypes, which describe the transposition to MPI;
- NumPy: transpose into a buffer, `MPI_Alltoall`, and place the blocks;
- all ranks copying their part with `memcpy` at once, which is as fast as memory allows.

Run it as a program of ranks, or let it start ranks itself:

    mpiexec -n 4 python -P examples/distributed_transpose.py
    python examples/distributed_transpose.py

`--size 4096` is the number of rows and columns, `--ranks 4` the number of ranks that it starts, `-o FILE` a page that it
writes: the transfers of all ranks on one axis of time.
"""

from __future__ import annotations

import argparse
import html
import importlib
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import isoviz
from isoviz.backends.host import kernels
from isoviz.backends.host.host_memory import HostStore
from isoviz.figures import html as picture
from isoviz.figures.page import page as html_page
from isoviz.launch.this_rank import is_rank_program, rank_session, this_rank
from isoviz.redistribution.running.on_rank import prepare_on_rank

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World
    from isoviz.machines import Machine
    from isoviz.redistribution.running.prepared import PreparedRedistribution
    from isoviz.redistribution.running.redistribution_report import RedistributionReport
    from isoviz.runtime.ranks.rank_engine import RankEngine

REPEATS = 11
SLOW_REPEATS = 3
"""How often the ways that are much slower are repeated."""


class Outcome(NamedTuple):
    """What rank 0 tells: the report of the verified run, the seconds of every way by name, and whether all ways agree."""

    report: RedistributionReport
    seconds: dict[str, list[float]]
    agree: bool


def matrices(size: int, ranks: int) -> tuple[isoviz.DistributedInstance, isoviz.DistributedInstance]:
    """The matrix with its rows spread over ranks, and its transpose with the columns of the matrix spread over them."""
    space, fields = isoviz.IndexSpace(x=size, y=size), isoviz.FieldSpace(value="float64")
    rows = isoviz.DistributedInstance(space, fields, isoviz.Distribution({"y": ranks}), isoviz.Layout("<F, x, y>"), "sys")
    # Peers write straight into this one, so it lies in registered memory, which they can map.
    columns = isoviz.DistributedInstance(space, fields, isoviz.Distribution({"x": ranks}), isoviz.Layout("<F, y, x>"), "reg")
    return rows, columns


def measure(engine: RankEngine, world: World, size: int) -> Outcome | None:
    """Run and compare on this rank, together with all ranks; rank 0 returns the outcome."""
    kernels.prepare(wait=True)  # They are compiled once for each computer, which takes up to a minute.
    source, destination = matrices(size, world.size)
    with prepare_on_rank(engine, source, destination) as prepared:
        report = prepared.run(verify=True)
        others = Others(world, prepared, size)
        ways: dict[str, Callable[[], object]] = {
            "memcpy": others.memcpy,
            "isoviz": prepared.run,
            "NumPy pack + Alltoall": others.pack,
            "Alltoallw": others.alltoallw,
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(REPEATS):  # In turns, so that what else the computer does meets all of them.
            for name, way in ways.items():
                if turn < SLOW_REPEATS or name in ("memcpy", "isoviz"):
                    prepared.wait()
                    began = time.perf_counter()
                    way()
                    if name != "isoviz":  # which returns when all ranks have everything
                        prepared.wait()
                    times[name].append(time.perf_counter() - began)
        agree = others.agree()
        error = prepared.verify()
        told = engine.gather((times, agree and error is None))
        if world.rank:
            return None
        longest = {name: [max(each) for each in zip(*(found[name] for found, _ in told), strict=True)] for name in ways}  # type: ignore[attr-defined]
        return Outcome(report, longest, all(fine for _, fine in told))  # type: ignore[misc]


class Others:
    """The other ways, on one rank. The thread of the world makes all calls of MPI."""

    def __init__(self, world: World, prepared: PreparedRedistribution, size: int) -> None:
        assert isinstance(prepared.source, HostStore)
        assert isinstance(prepared.destination, HostStore)
        self.call, self.mpi, ranks = world.thread.call, world.thread.mpi, world.size
        source, destination = prepared.source.array.view(np.float64), prepared.destination.array.view(np.float64)
        starts = [min(size, rank * -(-size // ranks)) for rank in range(ranks + 1)]
        self.blocks = [slice(*each) for each in itertools.pairwise(starts)]
        mine = self.blocks[world.rank]
        self.height = mine.stop - mine.start
        self.source, self.wanted = source.reshape(self.height, size), destination.reshape(self.height, size)
        self.found, self.copy = np.zeros_like(self.wanted), np.zeros_like(self.source)
        self.out, self.into = np.empty(self.source.size), np.empty(self.source.size)
        self.comm = self.call(self.mpi.COMM_WORLD.Dup)
        self.types = self.call(self._types)

    def _types(self) -> tuple[list[Any], list[Any]]:
        """For every peer, the block that it gets, and the block that comes from it, column by column."""
        double, (height, size) = self.mpi.DOUBLE, self.source.shape
        sent, taken = [], []
        for block in self.blocks:
            width = block.stop - block.start
            sent.append(double.Create_vector(height, width, size).Commit())
            column = double.Create_vector(height, 1, size).Create_resized(0, double.Get_size())
            taken.append(column.Create_contiguous(width).Commit())
        return sent, taken

    def memcpy(self) -> None:
        """Copy this rank's part within its memory."""
        self.copy[:] = self.source

    def alltoallw(self) -> None:
        """MPI transposes."""
        ones, starts = [1] * len(self.blocks), [8 * block.start for block in self.blocks]
        sent, taken = self.types
        self.call(lambda: self.comm.Alltoallw([self.source, (ones, starts), sent], [self.found, (ones, starts), taken]))

    def pack(self) -> None:
        """NumPy transposes every block into a buffer, MPI exchanges them, NumPy places them."""
        counts = [self.height * (block.stop - block.start) for block in self.blocks]
        starts = [self.height * block.start for block in self.blocks]
        for block, at, count in zip(self.blocks, starts, counts, strict=True):
            self.out[at : at + count].reshape(-1, self.height)[...] = self.source[:, block].T
        if len(set(counts)) == 1:
            self.call(lambda: self.comm.Alltoall(self.out, self.into))
        else:
            double = self.mpi.DOUBLE
            self.call(lambda: self.comm.Alltoallv([self.out, counts, starts, double], [self.into, counts, starts, double]))
        for block, at, count in zip(self.blocks, starts, counts, strict=True):
            self.found[:, block] = self.into[at : at + count].reshape(self.height, -1)

    def agree(self) -> bool:
        """Whether both other ways give what isoviz gives."""
        agree = True
        for way in (self.alltoallw, self.pack):
            self.found[:] = 0
            way()
            agree = agree and np.array_equal(self.found.view(np.uint64), self.wanted.view(np.uint64))
        return agree


def on_rank(machine: Machine, size: int) -> Outcome | None:
    """What a rank does that `isoviz.ranks` started."""
    here = this_rank()
    return measure(here.station.engine(machine), here.station.world(), size)


def tell(outcome: Outcome, page: Path | None) -> None:
    """Print the plan, the times and the ratios, and write the page if there is to be one."""
    print(outcome.report.plan)
    print()
    print(outcome.report)
    print()
    ours = statistics.median(outcome.seconds["isoviz"])
    for name, seconds in outcome.seconds.items():
        median = statistics.median(seconds)
        print(f"{name:22} {1e3 * median:8.1f} ms (best {1e3 * min(seconds):.1f}), {median / ours:6.2f} × the time of isoviz")
    print("all ways give the same bytes" if outcome.agree else "THE WAYS DIFFER")
    if page is None:
        return
    sections = [f"<pre>{html.escape(str(outcome.report))}</pre>", picture(outcome.report.trace)]
    page.write_text(html_page("Distributed transposition", sections), encoding="utf-8")
    print(f"timeline of all ranks: {page}")


def main() -> int:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description="A distributed transposition, compared with other ways in the same run.")
    parser.add_argument("--size", type=int, default=4096, help="rows and columns of the matrix")
    parser.add_argument("--ranks", type=int, default=4, help="ranks to start, unless mpiexec has started this program")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write a page with the timeline of all ranks")
    given = parser.parse_args()
    if is_rank_program():
        session = rank_session()
        outcome = measure(session.engine, session.world, given.size)
    else:
        with isoviz.ranks(given.ranks) as ranks:
            # Ranks import functions by the name of their module, which is not __main__ there.
            work = importlib.import_module(Path(__file__).stem).on_rank
            outcome = ranks.call(work, ranks.machine, given.size)[0]
    if outcome is not None:
        tell(outcome, given.output)
    return 0 if outcome is None or outcome.agree else 1


if __name__ == "__main__":
    sys.exit(main())
