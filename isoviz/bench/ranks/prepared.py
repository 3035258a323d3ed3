"""Prepared transfers between two ranks, and submitted ones that come again, one after the other, beside MPI itself.

Contiguous bytes stand beside a message and its answer. Runs stand beside NumPy, which packs them into a buffer that is kept, and
such a message.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.aims import compared, row
from isoviz.bench.ranks.bench import Order, RankBench, Span, empty, rank_bench
from isoviz.bench.ranks.transfers import between
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.measure.ranks.ranks_machine import PREPARED
from isoviz.planner import Instance, Plan, Transfer, plan
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.bench.ranks.bench import Way
    from isoviz.machines import Machine

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB)
RUNS = (64, 256, KIB, 4 * KIB)
LATENCY = {"sys": 10e-6, "reg": 6e-6}
"""Aims: seconds of 8 B."""
AIMS = {("sys", MIB): 1.0, ("reg", MIB): 1.0, ("sys", 16 * MIB): 0.95, ("reg", 16 * MIB): 2.0}
AGAIN = {("sys", 8): 0.1, ("reg", 8): 0.1, ("sys", MIB): 0.9, ("reg", MIB): 1.2} | {
    key: aim for key, aim in AIMS.items() if key[1] > MIB
}
"""Those of a plan that is submitted again and again between the same arrays."""
SUBMITTED = "submitted again"
RUNS_AIM = 1.2
ROUND = 32 << 20
"""Bytes of a round, about."""
MOST = 1000
"""Transfers of a round at most."""


def prepared_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """Contiguous bytes up to `order.nbytes`, then every other run of some lengths, between pageable and registered memories."""
    rows: list[dict[str, Any]] = []
    with rank_bench(machine, order) as rank:
        for nbytes in SIZES:
            for memory in LATENCY if nbytes <= order.nbytes else ():
                rows += _contiguous(rank, nbytes, memory, order)
        for run in RUNS[:1] if order.quick else RUNS:
            for memory, aim in (("sys", RUNS_AIM), ("reg", None)):
                rows.append(_every_other_run(rank, run, memory, min(order.nbytes, 16 * MIB), aim, order))
    return rows


def _contiguous(rank: RankBench, nbytes: int, memory: str, order: Order) -> list[dict[str, Any]]:
    array = rank.array(memory, nbytes)
    made = between(rank, nbytes, memory)
    times, predicted = _timed(rank, made, (array, array), lambda: array, order)
    what = f"{format_bytes(nbytes)}, {memory.upper()} → {memory.upper()}*"
    rows = [compared("prepared", what, times, "isoviz", "Send, Recv, answer", AIMS.get((memory, nbytes)), predicted=predicted)]
    again = AGAIN.get((memory, nbytes))
    rows.append(compared("prepared", f"{what}, {SUBMITTED}", times, SUBMITTED, "Send, Recv, answer", again))
    if nbytes == SIZES[0]:
        aim = LATENCY[memory]
        rows.append(row("prepared", what, statistics.median(times["isoviz"]), format_seconds(aim), aim, 1.0))
    return rows


def _every_other_run(rank: RankBench, run: int, memory: str, nbytes: int, aim: float | None, order: Order) -> dict[str, Any]:
    """One of two fields of `run` bytes each: runs at twice their length apart, contiguous at the destination."""
    count = nbytes // run
    space, both = IndexSpace(x=count), FieldSpace.of({"p": f"V{run}", "q": f"V{run}"})
    ends = (
        Instance(f"node0.{memory}", space, both, "<F, x>"),  # type: ignore[arg-type]
        Instance(f"node1.{memory}", space, both.subset(("p",)), "<F, x>"),  # type: ignore[arg-type]
    )
    made = rank.agreed(lambda: plan(Transfer(*ends), rank.machine))
    source, destination = (rank.array(memory, end.linearization.nbytes) for end in ends)
    kept = rank.array("sys", nbytes)

    def pack() -> Any:
        np.copyto(kept.reshape(count, run), source.reshape(count, 2 * run)[:, :run])
        return kept

    times, predicted = _timed(rank, made, (source, destination), pack, order)
    what = f"every other run of {format_bytes(run)}, {format_bytes(nbytes)}, {memory.upper()} → {memory.upper()}*"
    return compared("prepared", what, times, "isoviz", "NumPy, Send, answer", aim, predicted=predicted)


def _predicted(rank: RankBench, made: Plan) -> float:
    """The seconds of a prepared transfer: its start, if measured, replaces set-up and request of its channel."""
    measured, hops = rank.machine.measurement, made.every_hop
    start = None if measured is None else dict(measured.starts).get(PREPARED)
    if start is None or len(hops) > 1:
        return made.seconds
    channel = rank.machine.channel(hops[0].channel)
    return start + made.seconds - made.paths[0].setup - made.chunk_count * channel.request_seconds


def _timed(
    rank: RankBench, made: Plan, ends: tuple[Any, Any], message: Callable[[], Any], order: Order
) -> tuple[dict[str, list[float]], float]:
    """The seconds of a transfer, prepared and by MPI, in each round; and those predicted.

    `message()` is what rank 0 sends with MPI.
    """
    nbytes = made.bytes
    count = 2 if order.quick else max(3, min(MOST, ROUND // nbytes))
    given = (ends[0], None) if rank.rank == 0 else (None, ends[1])
    comm, byte = rank.comm, rank.mpi.BYTE
    into, nothing = ends[1][:nbytes], empty()

    def by_mpi() -> bool:
        for _ in range(count):
            if rank.rank == 0:
                comm.Send([message(), byte], 1)
                comm.Recv([nothing, byte], 1)
            else:
                comm.Recv([into, byte], 0)
                comm.Send([nothing, byte], 0)
        return True

    with ExitStack() as stack:
        prepared = stack.enter_context(rank.engine.prepare(made, *given))

        def by_isoviz() -> Span:
            rank.engine.barrier()
            begin = time.perf_counter()
            for _ in range(count):
                prepared.start().wait()
            return Span(begin, time.perf_counter())

        def submitted() -> Span:
            rank.engine.barrier()
            begin = time.perf_counter()
            for _ in range(count):
                rank.engine.submit(made, *given).wait()
            return Span(begin, time.perf_counter())

        submitted(), submitted()  # the ranks agree on a lane for a plan that comes again
        peer = "Send, Recv, answer" if nbytes == ends[0].nbytes else "NumPy, Send, answer"
        ways: dict[str, Way] = {"isoviz": by_isoviz, SUBMITTED: submitted, peer: rank.raw(by_mpi)}
        times = rank.interleaved(ways, order.repeat)
        predicted = _predicted(rank, prepared.plan)
    return {name: [seconds / count for seconds in found] for name, found in times.items()}, predicted
