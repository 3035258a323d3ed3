"""Contiguous bytes between two ranks, from 8 B to 64 MiB."""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.ranks.here import Here, Order, here
from isoviz.bench.ranks.raw_mpi import put, sent
from isoviz.bench.result_rows import compared, quickest, row
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Plan, Transfer, plan
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.ranks.here import Way
    from isoviz.machines import Machine

KIB, MIB = 1 << 10, 1 << 20
SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB)
SMALL = (8, 4 * KIB)
LARGE, AIM = 16 * MIB, 0.95
SLACK = 100e-6
"""Seconds that 1 MiB may take longer than MPI itself."""
LOCAL = 50e-6
"""Seconds that `submit` of 8 B within a rank may take."""
CALLS = 30
"""Small transfers in a round; their median is the figure of the round."""


def contiguous_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """Between pageable memories beside Send and Recv, between registered ones beside Put and Send and Recv, too."""
    sizes = [size for size in SIZES if size <= order.nbytes]
    with here(machine, order) as rank:
        return [_large(rank, nbytes, memory, order.repeat) for nbytes in sizes for memory in ("sys", "reg")]


def _large(rank: Here, nbytes: int, memory: str, repeat: int) -> dict[str, Any]:
    made = between(rank, nbytes, memory)
    array = rank.array(memory, nbytes)
    with ExitStack() as stack:
        ways: dict[str, Way] = {"isoviz": rank.submitted(made, array, array), "Send, Recv": sent(rank, array, array)}
        if memory == "reg":
            ways["Put, Flush, Send"] = stack.enter_context(put(rank, nbytes))
        times = rank.interleaved(ways, repeat)
    peer = quickest(times, [name for name in ways if name != "isoviz"])
    aim = AIM if nbytes >= LARGE else None
    what = f"{format_bytes(nbytes)}, {memory.upper()} → {memory.upper()}* by {made.hops[0].kind}"
    if nbytes != MIB:
        return compared("contiguous", what, times, "isoviz", peer, aim, predicted=made.seconds)
    allowed = statistics.median(times[peer]) + SLACK
    return row("contiguous", what, statistics.median(times["isoviz"]), f"{peer}, + 100 µs", allowed, 1.0, predicted=made.seconds)


def between(rank: Here, nbytes: int, memory: str) -> Plan:
    """The plan for contiguous bytes from rank 0 to rank 1, between memories of one kind."""
    ends = f"node0.{memory}", "<F, x>", f"node1.{memory}", "<F, x>"
    return rank.agreed(lambda: plan(Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="uint8"), *ends), rank.machine))


def small_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """8 B and 4 KiB between two ranks, beside copies and hand-overs between threads in the same run; `submit` within a rank."""
    rows = []
    with here(machine, order) as rank:
        for nbytes in SMALL:
            for memory in ("sys", "reg"):
                rows += _small(rank, nbytes, memory, order.repeat, 2 if order.quick else CALLS)
    return rows


def _small(rank: Here, nbytes: int, memory: str, repeat: int, count: int) -> list[dict[str, Any]]:
    made = between(rank, nbytes, memory)
    array = rank.array(memory, nbytes)
    engine, one, other = rank.engine, np.ones(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
    ends = f"node{rank.rank}.sys", "<F, x>", f"node{rank.rank}.sys", "<F, x>"
    local = plan(Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="uint8"), *ends), rank.machine)
    way = rank.submitted(made, array, array)
    calls: dict[str, Callable[[], object]] = {
        "copy": lambda: engine.copy(one, "<F, x>", other, "<F, x>").wait(),
        "submit": lambda: engine.submit(local, one, other).wait(),
        "hand-overs": lambda: rank.world.thread.call(_nothing),
    }
    found: dict[str, list[float]] = {name: [] for name in (*calls, "isoviz", "queues", "MPI")}
    for _ in range(repeat):
        for name, call in calls.items():
            rank.engine.barrier()
            found[name].append(_median(call, count) if rank.rank == 0 else 0.0)
        rank.engine.barrier()
        found["queues"].append(_hand_overs(count) if rank.rank == 0 else 0.0)
        found["isoviz"].append(statistics.median(rank.interleaved({"": way}, count)[""]))
        found["MPI"].append(statistics.median(rank.interleaved({"": sent(rank, array, array)}, count)[""]))
    if rank.rank:
        return []
    middle = {name: statistics.median(times) for name, times in found.items()}
    size, kind = format_bytes(nbytes), memory.upper()
    budget = 2 * middle["copy"] + middle["hand-overs"]
    what = f"{size}, {kind} → {kind}*"
    rows = [
        row("small", what, middle["isoviz"], "2 copies + 2 hand-overs", budget, 1.0, predicted=made.seconds),
        row("small", what, middle["isoviz"], "Send, Recv", middle["MPI"]),
    ]
    if memory == "sys":
        rows.append(row("small", f"{size}, copy within a rank", middle["copy"]))
        rows.append(
            row("small", "a hand-over to the thread that calls MPI", middle["hand-overs"] / 2, "queues", middle["queues"] / 2)
        )
    if (nbytes, memory) == (SMALL[0], "sys"):
        rows.append(row("small", f"submit of {size} within a rank", middle["submit"], "50 µs", LOCAL, 1.0))
    return rows


def _nothing() -> None:
    """What the thread that calls MPI does for a hand-over to it and back."""


def _median(call: Callable[[], object], count: int) -> float:
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _hand_overs(count: int) -> float:
    """Seconds of two hand-overs between two threads over queues, to the other one and back."""
    there: queue.SimpleQueue[bool] = queue.SimpleQueue()
    back: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def answer() -> None:
        while there.get():
            back.put(True)

    def ask() -> None:
        there.put(True)
        back.get()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        return _median(ask, count)
    finally:
        there.put(False)
        thread.join()
