"""Single transfers between two ranks: contiguous bytes from 8 B to 64 MiB, and layout changes on the way.

Layout changes (structures into arrays of fields and back, and short runs) stand beside MPI's derived datatypes, beside NumPy that
packs what `Send` sends, and beside the contiguous copy of as many bytes into the peer's window.
"""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.bench.aims import compared, quickest, row
from isoviz.bench.ranks.bench import Order, RankBench, datatype, packed, put, rank_bench, sent
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.machines import ChannelKind
from isoviz.planner import Instance, Plan, Transfer, plan, plan_by_path
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.bench.ranks.bench import Way
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
RUNS = (8, 16, 32, 64)
FIELDS = FieldSpace(a="f8", b="f8", c="f8", d="f8")
WORDS, WORD = 4, 8
DERIVED_AIM, WHOLE_LINES_AIM, HALF_LINES_AIM = 2.0, 0.8, 0.5
CACHE_LINE = 64


def contiguous_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """Between pageable memories beside Send and Recv, between registered ones beside Put and Send and Recv, too."""
    sizes = [size for size in SIZES if size <= order.nbytes]
    with rank_bench(machine, order) as rank:
        return [_large(rank, nbytes, memory, order.repeat) for nbytes in sizes for memory in ("sys", "reg")]


def _large(rank: RankBench, nbytes: int, memory: str, repeat: int) -> dict[str, Any]:
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


def between(rank: RankBench, nbytes: int, memory: str) -> Plan:
    """The plan for contiguous bytes from rank 0 to rank 1, between memories of one kind."""
    ends = f"node0.{memory}", "<F, x>", f"node1.{memory}", "<F, x>"
    return rank.agreed(lambda: plan(Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="uint8"), *ends), rank.machine))


def small_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """8 B and 4 KiB between two ranks, beside copies and hand-overs between threads in the same run; `submit` within a rank."""
    rows = []
    with rank_bench(machine, order) as rank:
        for nbytes in SMALL:
            for memory in ("sys", "reg"):
                rows += _small(rank, nbytes, memory, order.repeat, 2 if order.quick else CALLS)
    return rows


def _small(rank: RankBench, nbytes: int, memory: str, repeat: int, count: int) -> list[dict[str, Any]]:
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


class _Case(NamedTuple):
    """A transfer, how NumPy moves between an end and the kept message, and the datatype of the end that is not a message."""

    what: str
    transfer: Transfer
    pack: Callable[[Bytes, Bytes], None] | None
    unpack: Callable[[Bytes, Bytes], None] | None
    datatype: Callable[[Any], Any]
    whole_lines: bool


def layout_changes_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """Three rows for each case: beside derived datatypes, beside NumPy and Send, beside the contiguous copy into a window."""
    rows = []
    with rank_bench(machine, order) as rank:
        for case in (*_structures(order.nbytes), *(_runs(run, order.nbytes) for run in (RUNS[:1] if order.quick else RUNS))):
            rows += _rows(rank, case, order.repeat)
    return rows


def _structures(nbytes: int) -> list[_Case]:
    """Four fields of 8 bytes: an array of structures into a structure of arrays, and back."""
    count = nbytes // FIELDS.nbytes
    space = IndexSpace(x=count)

    def fields(mpi: Any) -> Any:
        column = mpi.BYTE.Create_contiguous(WORD).Create_vector(count, 1, WORDS)
        return column.Create_hindexed([1] * WORDS, [WORD * word for word in range(WORDS)])

    def split(source: Bytes, message: Bytes) -> None:
        np.copyto(message.view(np.uint64).reshape(WORDS, count), source.view(np.uint64).reshape(count, WORDS).T)

    def join(message: Bytes, destination: Bytes) -> None:
        destination.view(np.uint64).reshape(count, WORDS)[...] = message.view(np.uint64).reshape(WORDS, count).T

    def transfer(here: str, there: str) -> Transfer:
        return Transfer.whole(space, FIELDS, "node0.reg", here, "node1.reg", there)

    return [
        _Case("AOS → SOA, 4 × 8 B", transfer("<F, x>", "<x, F>"), split, None, fields, True),
        _Case("SOA → AOS, 4 × 8 B", transfer("<x, F>", "<F, x>"), None, join, fields, True),
    ]


def _runs(run: int, nbytes: int) -> _Case:
    """One of two fields of `run` bytes each: runs at twice their length apart. Nothing between the runs moves."""
    count = nbytes // run
    space, both = IndexSpace(x=count), FieldSpace.of({"p": f"V{run}", "q": f"V{run}"})
    ends = Instance("node0.reg", space, both, "<F, x>"), Instance("node1.reg", space, both.subset(("p",)), "<F, x>")  # type: ignore[arg-type]

    def pack(source: Bytes, message: Bytes) -> None:
        np.copyto(message.reshape(count, run), source.reshape(count, 2 * run)[:, :run])

    def vector(mpi: Any) -> Any:
        return mpi.BYTE.Create_vector(count, run, 2 * run)

    return _Case(f"runs of {run} B, every other one", Transfer(*ends), pack, None, vector, run >= CACHE_LINE)


def _rows(rank: RankBench, case: _Case, repeat: int) -> list[dict[str, Any]]:
    transfer = case.transfer
    made = rank.agreed(lambda: plan(transfer, rank.machine))
    moved = Transfer.whole(IndexSpace(x=transfer.nbytes), FieldSpace(v="uint8"), "node0.reg", "<F, x>", "node1.reg", "<F, x>")
    window = rank.agreed(lambda: plan_by_path(moved, rank.machine, [f"node0.reg->node1.reg {ChannelKind.WINDOW}"]))
    ends = transfer.source, transfer.destination
    array = rank.array("reg", ends[rank.rank].linearization.nbytes)
    message = rank.array("sys", transfer.nbytes)
    pack, unpack = case.pack, case.unpack

    def packing() -> Bytes:
        if pack is None:
            return array
        pack(array, message)
        return message

    with ExitStack() as stack:
        kind = stack.enter_context(datatype(rank, case.datatype))
        types = (kind, None) if pack is not None else (None, kind)
        into = message if unpack is not None else array
        ways: dict[str, Way] = {
            "isoviz": rank.submitted(made, array, array),
            "derived datatype": sent(rank, array, array, types),
            "NumPy, Send": packed(
                rank,
                packing,
                into,
                None if unpack is None else lambda found: unpack(found, array),
            ),
            "contiguous Window": rank.submitted(window, array[: transfer.nbytes], array[: transfer.nbytes]),
        }
        times = rank.interleaved(ways, repeat)
    aims = {
        "derived datatype": DERIVED_AIM,
        "contiguous Window": WHOLE_LINES_AIM if case.whole_lines else HALF_LINES_AIM,
        "NumPy, Send": None,
    }
    what = f"{case.what} by {' → '.join(str(hop.kind) for hop in made.hops)}"
    return [compared("layout changes", what, times, "isoviz", peer, aim, predicted=made.seconds) for peer, aim in aims.items()]
