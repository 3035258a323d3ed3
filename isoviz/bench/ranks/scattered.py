"""Lists and strided runs between ranks, prepared, beside MPI's indexed and vector types; and which plan wins for which pattern.

With two ranks one sends to the other. With four, two pairs do so at the same time. Buffers and datatypes are kept.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.aims import compared
from isoviz.bench.patterns import by_list, patterns, sample, vector
from isoviz.bench.ranks.bench import Order, RankBench, Span, datatype, empty, rank_bench
from isoviz.bench.ranks.choices import Outcomes, compare, summed
from isoviz.planner import Transfer, plan
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoviz.backends.pages import Bytes
    from isoviz.bench.patterns import Ends
    from isoviz.bench.ranks.bench import Way
    from isoviz.machines import Machine

KIB, MIB = 1 << 10, 1 << 20
RUNS = (64, 256, KIB, 4 * KIB)
AIM = 1.2
WORD = 8
"""MPI's datatypes are made of words of this many bytes, as those of programs are."""
ROUND, MOST = 64 * MIB, 1000
"""Bytes of a round, about, and its transfers at most."""
SIZES = (64 * KIB, MIB, 8 * MIB)
"""Bytes of the lists among the patterns."""
LARGEST_ARRAY = 64 * MIB
"""Patterns within larger arrays are left out of the comparison of plans."""
FEW_SIZES = 2
"""Sizes of each pattern of DDTBench in that comparison: the smallest and the largest."""


class RunCase:
    """What moves, and the datatypes of both ends for MPI. Entries are `run` bytes long, every other one at random or in order."""

    def __init__(self, kind: str, run: int, nbytes: int) -> None:
        self.kind, self.run, self.count = kind, run, nbytes // run
        every = np.arange(self.count, dtype=np.int64)
        self.lists = [sample(self.count, 2 * self.count, seed) for seed in (1, 2)]
        if kind == "list at the source":
            self.lists[1] = every
        elif kind == "list at the destination":
            self.lists[0] = every
        elif kind == "strided":
            self.lists = [2 * every, 2 * every]

    def transfer(self, ends: Ends) -> Transfer:
        """The transfer between two memories."""
        if self.kind == "strided":
            return vector(ends, self.count, self.run, 2 * self.run)[0]
        return by_list(ends, f"V{self.run}", {"x": 2 * self.count}, "x", self.lists[0], self.lists[1])[0]

    def datatype(self, mpi: Any, end: int) -> Any:
        """The datatype of an end."""
        words = self.run // WORD
        if self.kind == "strided":
            return mpi.UINT64_T.Create_vector(self.count, words, 2 * words)
        return mpi.UINT64_T.Create_indexed_block(words, (words * self.lists[end]).astype(np.int32))

    def check(self, source: Bytes, room: Bytes) -> None:
        """Require that the destination holds what it has to."""
        rows = source.reshape(-1, self.run)[self.lists[0]]
        assert np.array_equal(room.reshape(-1, self.run)[self.lists[1]], rows), f"{self.kind} of {self.run} B"


KINDS = ("list", "list at the source", "list at the destination", "strided")


def scattered_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """A row for each kind of scattered data, length of runs and kind of memory."""
    with rank_bench(machine, order) as rank:
        return [
            _beside_mpi(rank, RunCase(kind, run, min(order.nbytes, 8 * MIB)), memory, order)
            for memory in ("reg", "sys")
            for kind in KINDS
            for run in (RUNS[:1] if order.quick else RUNS)
        ]


def _beside_mpi(rank: RankBench, case: RunCase, memory: str, order: Order) -> dict[str, Any]:
    half = rank.size // 2
    sends, peer = rank.rank < half, (rank.rank + half) % rank.size
    pairs = [(f"node{here}.{memory}", f"node{here + half}.{memory}") for here in range(half)]
    plans = rank.agreed(lambda: [plan(case.transfer(ends), rank.machine) for ends in pairs])
    array = rank.array(memory, 2 * case.count * case.run)
    content = np.random.default_rng(1).integers(0, 256, array.size, np.uint8)
    array[:] = content if sends else 0
    count = 2 if order.quick else max(3, min(MOST, ROUND // plans[0].bytes))
    comm, nothing = rank.comm, [empty(), rank.mpi.BYTE]
    with ExitStack() as stack:
        prepared = []
        for number, made in enumerate(plans):
            given = (array if number == rank.rank else None, array if number + half == rank.rank else None)
            prepared.append(stack.enter_context(rank.engine.prepare(made, *given)))
        kind = stack.enter_context(datatype(rank, lambda mpi: case.datatype(mpi, 0 if sends else 1)))

        def by_mpi() -> bool:
            for _ in range(count):
                if sends:
                    comm.Send([array, 1, kind], peer)
                    comm.Recv(nothing, peer)
                else:
                    comm.Recv([array, 1, kind], peer)
                    comm.Send(nothing, peer)
            return True

        def by_isoviz() -> Span:
            rank.engine.barrier()
            begin = time.perf_counter()
            for _ in range(count):
                for event in [each.start() for each in prepared]:  # all ranks start all of them, also those of other pairs
                    event.wait()
            return Span(begin, time.perf_counter())

        name = "MPI's vector type" if case.kind == "strided" else "MPI's indexed type"
        ways: dict[str, Way] = {"isoviz": by_isoviz, name: rank.raw(by_mpi)}
        for way in ways.values():  # both move the right bytes
            array[:] = array if sends else 0
            rank.engine.barrier()
            way()
            rank.engine.barrier()
            if not sends:
                case.check(content, array)
        times = rank.interleaved(ways, order.repeat)
    each = {name: [seconds / count for seconds in found] for name, found in times.items()}
    size, arrow = format_bytes(plans[0].bytes), f"{memory.upper()} → {memory.upper()}*"
    hops = " → ".join(str(hop.kind) for hop in plans[0].every_hop)
    what = f"{case.kind}, {size} in runs of {format_bytes(case.run)}, {arrow} by {hops}"
    return compared(f"{rank.size} ranks", what, each, "isoviz", name, AIM)


def scattered_choices_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """Rows for the regret of the plan chosen for each pattern and size, and how many of them are within the aim."""
    found = Outcomes({}, [], [], [])
    with rank_bench(machine, order) as rank:
        for what, transfer in _transfers(order):
            compare(rank, what, transfer, order.repeat, found)
    return summed(found)


def _transfers(order: Order) -> Iterator[tuple[str, Transfer]]:
    """Patterns by name, in turn between pageable and between registered memories; arrays of structs one by one."""
    several: dict[str, list[str]] = {}
    for each in patterns().values():
        several.setdefault(f"{each.family} {each.name.split()[0]}", []).append(each.name)
    memories = ("sys", "reg")
    known, turn = patterns(), 0
    for names in several.values():
        for name in names if len(names) <= FEW_SIZES else (names[0], names[-1]):
            ends = f"node0.{memories[turn % 2]}", f"node1.{memories[turn % 2]}"
            turn += 1
            if known[name].family == "KV cache" and "all layers" in name:
                continue
            transfer = max(known[name].transfers(*ends), key=lambda made: made.nbytes)
            if max(end.linearization.nbytes for end in transfer.ends) <= (KIB if order.quick else LARGEST_ARRAY):
                yield f"{name}, {memories[(turn - 1) % 2].upper()}", transfer
    for run in RUNS[:1] if order.quick else RUNS:
        for nbytes in SIZES[:1] if order.quick else SIZES:
            for memory in memories:
                case = RunCase("list", run, nbytes)
                size = f"{format_bytes(nbytes)} in runs of {format_bytes(run)}"
                yield f"list, {size}, {memory.upper()}", case.transfer((f"node0.{memory}", f"node1.{memory}"))
