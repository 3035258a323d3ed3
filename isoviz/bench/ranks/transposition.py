"""A distributed transposition on four ranks: a matrix spread by rows becomes one spread by columns."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.aims import compared
from isoviz.bench.ranks.bench import Order, RankBench, Span, datatype, rank_bench
from isoviz.errors import VerificationError
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.redistribution import DistributedInstance, Distribution
from isoviz.redistribution.running.on_rank import prepare_on_rank, redistribute_on_rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.bench.ranks.bench import Way
    from isoviz.machines import Machine

WORD = 8
AIMS = {"Alltoallw, derived datatypes": 10.0, "NumPy, Alltoall, NumPy": 4.0, "all ranks copy with memcpy": 0.6}
NOT_PREPARED = 0.83
"""Seconds of a prepared redistribution by those of `isoviz.redistribute` with the same arrays."""


def transposition_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """A square matrix of `order.nbytes` bytes of float64; its side is a multiple of the number of ranks."""
    with rank_bench(machine, order) as rank:
        return _rows(rank, order)


def _rows(rank: RankBench, order: Order) -> list[dict[str, Any]]:
    parts = rank.size
    side = int((order.nbytes // WORD) ** 0.5) // parts * parts
    block = side // parts
    space, fields = IndexSpace(x=side, y=side), FieldSpace(v="float64")
    source = DistributedInstance(space, fields, Distribution(over={"y": parts}), "<F, x, y>", "reg")  # type: ignore[arg-type]
    destination = DistributedInstance(space, fields, Distribution(over={"x": parts}), "<F, y, x>", "reg")  # type: ignore[arg-type]
    ours, theirs = (rank.array("reg", side * block * WORD) for _ in range(2))
    here_, there = ours.view(np.float64).reshape(block, side), theirs.view(np.float64).reshape(block, side)
    here_[...] = np.arange(side)[None, :] + side * (np.arange(block)[:, None] + rank.rank * block)
    wanted = side * np.arange(side)[None, :] + np.arange(block)[:, None] + rank.rank * block
    with ExitStack() as stack:
        prepared = stack.enter_context(prepare_on_rank(rank.engine, source, destination, ours, theirs))
        ways: dict[str, Way] = {
            "isoviz": lambda: _timed(prepared.run),
            "isoviz, not prepared": lambda: _timed(
                lambda: redistribute_on_rank(rank.engine, source, destination, ours, theirs, verify=False)
            ),
            "Alltoallw, derived datatypes": _derived(rank, stack, here_, there, side, block),
            "NumPy, Alltoall, NumPy": _packed(rank, here_, there, block),
            "all ranks copy with memcpy": _copied(rank, ours, theirs),
        }
        for name, way in ways.items():
            if "memcpy" in name:
                continue
            there[...] = 0
            rank.engine.barrier()
            way()
            rank.engine.barrier()
            if not np.array_equal(there, wanted):
                raise VerificationError(f"{name}: rank {rank.rank} has other numbers than the transposed matrix")
        times = rank.interleaved(ways, order.repeat)
    what = f"{side}² float64 on {parts} ranks"
    predicted = prepared.plan.seconds
    rows = [compared("transposition", what, times, "isoviz", peer, aim, predicted=predicted) for peer, aim in AIMS.items()]
    rows.append(compared("transposition", f"{what}, not prepared", times, "isoviz, not prepared", "isoviz", NOT_PREPARED))
    return rows


def _timed(work: Callable[[], object]) -> Span:
    begin = time.perf_counter()
    work()
    return Span(begin, time.perf_counter())


def _derived(rank: RankBench, stack: ExitStack, here_: Any, there: Any, side: int, block: int) -> Way:
    """Columns for each peer as a datatype at the sender, rows at the receiver; MPI transposes."""

    def columns(mpi: Any) -> Any:
        return mpi.DOUBLE.Create_vector(block, 1, side).Create_resized(0, WORD).Create_contiguous(block)

    def rows(mpi: Any) -> Any:
        return mpi.DOUBLE.Create_vector(block, block, side)

    send, receive = stack.enter_context(datatype(rank, columns)), stack.enter_context(datatype(rank, rows))
    parts = rank.size
    places = [peer * block * WORD for peer in range(parts)]
    sent = [here_, ([1] * parts, places), [send] * parts]
    received = [there, ([1] * parts, places), [receive] * parts]

    def work() -> bool:
        rank.comm.Alltoallw(sent, received)
        return True

    return rank.raw(work)


def _packed(rank: RankBench, here_: Any, there: Any, block: int) -> Way:
    """NumPy transposes what each peer gets into a contiguous message, and puts what came into its place."""
    parts = rank.size
    messages, came = np.empty((parts, block, block)), np.empty((parts, block, block))

    def work() -> bool:
        messages[...] = here_.reshape(block, parts, block).transpose(1, 2, 0)
        rank.comm.Alltoall(messages, came)
        there.reshape(block, parts, block)[...] = came.transpose(1, 0, 2)
        return True

    return rank.raw(work)


def _copied(rank: RankBench, ours: Any, theirs: Any) -> Way:
    """Each rank copies its own part, and moves nothing to others: a bound for any transposition."""

    def work() -> bool:
        theirs[:] = ours
        return True

    return rank.raw(work)
