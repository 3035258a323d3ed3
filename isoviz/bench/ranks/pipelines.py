"""A path of four hops between the disk of one rank and the memory of another one, and an urgent transfer amid others."""

from __future__ import annotations

import math
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.bench.aims import compared, quickest, row
from isoviz.bench.ranks.bench import Order, RankBench, Span, rank_bench
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Plan, Transfer, plan, plan_by_path
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.ranks.bench import Way
    from isoviz.machines import Machine

PATH = ("node0.dsk", "node0.sys", "node0.reg", "node1.reg", "node1.sys")
SLOWEST_AIM, URGENT_AIM = 0.9, 1.3
WORD = FieldSpace(v="uint64")
OTHERS = 6
"""Transfers of low priority on the same channels."""
URGENT = 1 << 20
"""Bytes of the urgent transfer."""
URGENT_PRIORITY = 10


def pipelines_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """The path of four hops pipelined, beside its slowest hop alone and beside itself stored and forwarded."""
    with rank_bench(machine, order) as rank:
        return [*_pipelined(rank, order), *_urgent(rank, order)]


def _pipelined(rank: RankBench, order: Order) -> list[dict[str, Any]]:
    file = Path(order.folder) / "in.npy"
    words = order.nbytes // 8
    if rank.rank == 0:
        np.save(file, np.arange(words, dtype=np.uint64))

    def by_hand(path: tuple[str, ...]) -> Plan:
        ends = path[0], "<F, x>", path[-1], "<F, x>"
        return rank.agreed(lambda: plan_by_path(Transfer.whole(IndexSpace(x=words), WORD, *ends), rank.machine, path))

    arrays = {memory: rank.array(memory, order.nbytes) for memory in ("sys", "reg")}

    def end(name: str) -> Any:
        node, memory = name.split(".")
        if node != f"node{rank.rank}":
            return None
        return file if memory == "dsk" else arrays[memory]

    whole = by_hand(PATH)
    ways: dict[str, Way] = {"pipelined": rank.reported(whole, end(PATH[0]), end(PATH[-1]))}
    ways["stored and forwarded"] = rank.reported(whole, end(PATH[0]), end(PATH[-1]), pipelined=False)
    hops = {}
    for here_, there in pairwise(PATH):
        alone = by_hand((here_, there))
        name = f"{_star(here_)} → {_star(there)} alone"
        hops[name] = alone
        ways[name] = rank.reported(alone, end(here_), end(there))
    times = rank.interleaved(ways, order.repeat)
    slowest = max(hops, key=lambda name: sorted(times[name])[len(times[name]) // 2])
    what = f"{format_bytes(order.nbytes)}, {' → '.join(_star(name) for name in PATH)}"
    rows = [
        compared("pipeline", what, times, "pipelined", slowest, SLOWEST_AIM, predicted=whole.seconds),
        compared("pipeline", what, times, "pipelined", "stored and forwarded"),
    ]
    quick = quickest(times, list(hops))
    rows.append(compared("pipeline", quick, times, quick, slowest, predicted=hops[quick].seconds))
    return rows


def _star(memory: str) -> str:
    """`REG*` for a memory of the other rank."""
    node, name = memory.split(".")
    return name.upper() + ("*" if node != "node0" else "")


def _urgent(rank: RankBench, order: Order) -> list[dict[str, Any]]:
    rows = []
    for memory in ("sys", "reg"):

        def planned(nbytes: int, memory: str = memory) -> Plan:
            ends = f"node0.{memory}", "<F, x>", f"node1.{memory}", "<F, x>"
            return rank.agreed(lambda: plan(Transfer.whole(IndexSpace(x=nbytes // 8), WORD, *ends), rank.machine))

        bulk, urgent = planned(order.nbytes), planned(URGENT)
        low, high = rank.array(memory, order.nbytes), rank.array(memory, URGENT)
        ways: dict[str, Way] = {
            "alone": _way(rank, bulk, urgent, low, high, 0),
            "amid": _way(rank, bulk, urgent, low, high, OTHERS),
            "one of the others": rank.submitted(bulk, low, low),
        }
        times = {name: sorted(found)[len(found) // 2] for name, found in rank.interleaved(ways, order.repeat).items()}
        # Requests of long runs are up to four times as long as those that the engine cuts otherwise.
        request = times["one of the others"] * min(1.0, 4 * rank.engine.request_bytes / order.nbytes)
        what = (
            f"urgent {format_bytes(URGENT)} among {OTHERS} × {format_bytes(order.nbytes)}, {memory.upper()} → {memory.upper()}*"
        )
        beside = f"{URGENT_AIM} × (alone + a request)"
        rows.append(row("urgent", what, times["amid"], beside, URGENT_AIM * (times["alone"] + request), 1.0))
        rows.append(row("urgent", what, times["amid"], "alone", times["alone"]))
    return rows


def _way(rank: RankBench, bulk: Plan, urgent: Plan, low: Any, high: Any, others: int) -> Way:
    """An urgent transfer from rank 0 to rank 1, once the others are under way."""
    engine, is_sender = rank.engine, rank.rank == 0

    def way() -> Span:
        ends = (low, None) if is_sender else (None, low)
        events = [engine.submit(bulk, *ends, priority=0) for _ in range(others)]
        if not is_sender:
            waited = engine.submit(urgent, None, high, priority=URGENT_PRIORITY)
        engine.barrier()
        begin = math.inf
        if is_sender:
            while events and not events[0].bytes_done and not events[0].done:
                time.sleep(0.0002)
            begin = time.perf_counter()
            waited = engine.submit(urgent, high, None, priority=URGENT_PRIORITY)
        waited.wait()
        end = time.perf_counter()
        for event in events:
            event.wait()
        return Span(begin, end)

    return way
