"""`isoviz bench noncontiguous`: scattered data, beside MPI in the same run.

Lists of a million entries move in the memory of one process, beside NumPy. Lists and strided runs of 64 B to 4 KiB move between
two ranks, and between two pairs of four ranks at the same time. One-sided calls stand beside MPI's windows. Patterns of programs
show whether the plan that is chosen is the best one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isoviz.backends.host import kernels
from isoviz.bench.aims import COLUMNS, AimsTable, compared, row
from isoviz.bench.ranks.bench import Order
from isoviz.bench.ranks.busy_remote import busy_remote_on_rank
from isoviz.bench.ranks.one_sided import one_sided_on_rank
from isoviz.bench.ranks.scattered import scattered_choices_on_rank, scattered_on_rank
from isoviz.bench.ranks.suite import FEWEST, Tell, chosen_parts, machine_of_ranks, nobody
from isoviz.bench.table import Table, scratch_folder, seconds_of
from isoviz.errors import InputError
from isoviz.launch.ranks import ranks
from isoviz.layouts import EntryList, FieldSpace, IndexSpace, Layout
from isoviz.layouts.given_arrays import Array
from isoviz.machines import Machine, preset
from isoviz.measure.local_engine import Engine
from isoviz.measure.ranks.ranks_machine import mpi_here
from isoviz.planner import CACHE, Instance, Transfer
from isoviz.planner.planners import plan

# Lists of entries in the memory of this process, beside NumPy: the rows of `isoviz bench noncontiguous` for one
# process.

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


HERE = "lists"
"""The part that needs no ranks."""


class RankedPart(NamedTuple):
    """A part on ranks: their number, its function, what it measures, and whether it plans for a machine of measured rates."""

    size: int
    measure: Callable[..., list[dict[str, Any]]]
    words: str
    plans: bool = True


PARTS = {
    "two ranks": RankedPart(2, scattered_on_rank, "lists and strided runs"),
    "four ranks": RankedPart(4, scattered_on_rank, "lists and strided runs"),
    "one-sided": RankedPart(2, one_sided_on_rank, "one-sided calls", plans=False),
    "busy remote": RankedPart(2, busy_remote_on_rank, "one-sided calls while the remote works", plans=False),
    "choices": RankedPart(2, scattered_choices_on_rank, "the plans of patterns"),
}
SIZE, QUICK_SIZE = 8 << 20, 64 << 10
"""Bytes of a transfer; the second one only shows that everything runs."""
NOTES = (
    "ratio: figure of the peer ÷ figure of isoviz, the median of all rounds; above 1, isoviz is faster",
    "a transfer takes its share of a chain of them, each waited for; its peer waits for an empty answer",
    "datatypes, buffers and prepared transfers are kept; MPI's datatypes are made of words of 8 B",
    "one-sided: the remote is in a call of MPI; busy remote: it works for up to 300 ms between its calls of MPI",
    "what waits for a busy remote is timed once for each piece of its work, in as many pieces as there are rounds",
    "a copy by its caller, such as each put and get that waits, overlaps nothing; wait=False is timed where a core is free",
    "regret: the time of the chosen plan ÷ that of its best rival in fresh runs, as reports measure them",
    "SYS is pageable memory, REG memory in the windows of a rank; * marks memory of the other rank",
    "all ranks are on this computer; where they are more than its cores, MPI's blocking calls compete for them",
)


def measure(
    repeat: int = FEWEST,
    directory: str | Path | None = None,
    quick: bool = False,
    parts: str | None = None,
    progress: Tell | None = None,
) -> Table:
    """Medians of `repeat` rounds in turn; files are written below `directory`. `progress` gets a text about each part.

    `parts` names those to measure, with commas between. With `quick` all transfers are small and rates are assumed instead of
    measured: it takes seconds, and its figures say nothing.

    Raises:
        MissingPartError: there is no MPI in this Python's environment. LaunchError: the ranks did not start.
        RankError, RankLost: a part failed on a rank. InputError: `repeat` is less than 1, or there is no such part.
    """
    if repeat < 1:
        raise InputError(f"bench noncontiguous: repeat={repeat}; expected at least 1")
    chosen = chosen_parts("noncontiguous", parts, (HERE, *PARTS))
    tell = progress or nobody
    ranked = [name for name in chosen if name in PARTS]
    mpi, load, rows = mpi_here() if ranked else "no MPI", os.getloadavg()[0], []
    if not quick:
        kernels.prepare(wait=True)  # the ranks only load them then
    if HERE in chosen:
        tell("one process: lists")
        rows += listed_rows(repeat, quick)
    with scratch_folder(directory) as folder:
        order = Order(repeat, QUICK_SIZE if quick else SIZE, str(folder), quick)
        for count in sorted({PARTS[name].size for name in ranked}):
            found = [PARTS[name] for name in ranked if PARTS[name].size == count]
            with ranks(count) as group:
                machine = machine_of_ranks(group, folder, quick, tell) if any(part.plans for part in found) else None
                for part in found:
                    tell(f"{count} ranks: {part.words}")
                    rows += group.call(part.measure, machine, order)[0]
    table = AimsTable("noncontiguous", f"scattered data, {mpi}: medians of {repeat}", COLUMNS, rows, NOTES)
    more = {
        "mpi": mpi,
        "load": f"load {load:.1f} to {os.getloadavg()[0]:.1f}",
        "rates": "assumed" if quick else "measured in this run",
    }
    return replace(table, machine={**table.machine, **more})
