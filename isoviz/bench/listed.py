"""Lists of entries in the memory of this process, beside NumPy: the rows of `isoviz bench noncontiguous` for one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from isoviz.bench.aims import compared, row
from isoviz.bench.table import seconds_of
from isoviz.layouts import EntryList, FieldSpace, IndexSpace, Layout
from isoviz.machines import Machine, preset
from isoviz.measure.local_engine import Engine
from isoviz.planner import CACHE, Instance, Transfer
from isoviz.planner.planners import plan

Array = np.ndarray[Any, Any]
ENTRIES, QUICK_ENTRIES = 1_000_000, 1_000
SIZES = (8, 16, 32, 64)
"""Bytes of an entry."""
SPARSE = 4
"""Entries of an instance for each one that is listed."""


def listed_rows(repeat: int, quick: bool) -> list[dict[str, Any]]:
    """Medians of `repeat` rounds for lists of entries of each size, random and sorted, at one end or at both."""
    machine = preset("local")
    with Engine(machine) as engine:
        return [
            found
            for size in SIZES
            for order in ("random", "sorted")
            for found in _rows(engine, machine, size, order, QUICK_ENTRIES if quick else ENTRIES, repeat)
        ]


def _rows(engine: Engine, machine: Machine, size: int, order: str, count: int, repeat: int) -> Iterator[dict[str, Any]]:
    fields, many = FieldSpace(v="u8" if size == 8 else f"V{size}"), SPARSE * count
    sparse, dense = (Instance("node0.sys", IndexSpace(x=each), fields, Layout("<F, x>")) for each in (many, count))
    here, there = (EntryList.random(count, many, seed, in_order=order == "sorted") for seed in (1, 2))
    dtype = fields.dtypes[0]
    data = np.random.default_rng(3).integers(0, 256, many * size, np.uint8).view(dtype)
    taken, put = np.zeros(count, dtype), np.zeros(many, dtype)
    i, j = here.indices, there.indices

    def assign(target: Array, at: Array | slice, source: Array, index: Array | slice) -> None:
        target[at] = source[index]

    every = slice(None)
    for what, transfer, ends, peer, aim, does in (
        ("listed at the source", Transfer.listed(sparse, dense, here), (data, taken), "numpy.take", 1.0,
         partial(np.take, data, i, out=taken.copy(), mode="clip")),
        ("listed at the destination", Transfer.listed(dense, sparse, to=there), (taken, put), "d[j] = s", 1.0,
         partial(assign, put.copy(), j, taken, every)),
        ("listed at both ends", Transfer.listed(sparse, sparse, here, there), (data, put), "d[j] = s[i]", 1.2,
         partial(assign, put.copy(), j, data, i)),
    ):  # fmt: skip
        CACHE.clear()
        planned = seconds_of(partial(plan, transfer, machine))
        made = plan(transfer, machine)
        opening = seconds_of(lambda made=made, ends=ends: engine.prepare(made, *ends).close())  # type: ignore[misc]
        with engine.prepare(made, *ends) as prepared:
            times = _in_turn({"isoviz": lambda: prepared.start().wait(), peer: does}, repeat)  # called at once
        name = f"{count} entries of {size} B, {order}, {what}"
        found = compared("lists", name, times, "isoviz", peer, aim)
        yield found
        yield row("lists", f"{name}: preparing", opening, "20 runs", 20 * found["figure"], 1.0)
        yield row("lists", f"{name}: planning", planned, "0.3 s", 0.3, 1.0)


def _in_turn(ways: dict[str, Callable[[], object]], repeat: int) -> dict[str, list[float]]:
    """The seconds of each way, in turn. The first round, which is not counted, warms all of them up."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(repeat + 1):
        names = list(ways) if number % 2 else list(ways)[::-1]  # each follows each: what it finds in the caches is the other's
        for name in names:
            seconds = seconds_of(ways[name])
            if number:
                times[name].append(seconds)
    return times
