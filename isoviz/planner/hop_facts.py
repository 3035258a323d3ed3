"""What a plan says of its hops, worked out from its layouts, its chunk and the machine, and nowhere else.

Planners search with formulas of their own: families of layouts whose runs follow from a few numbers (`shapes`). What they find,
what somebody gives by hand (`by_hand`) and what is cut into other chunks (`chunk_curve`) all get their words here: which hops
convert, how long runs are, what that sustains, and T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import ChunkSequence, FieldsComponent, Mode
from isoviz.layouts.compare import run_bytes
from isoviz.planner.intermediate.part_runs import end_runs
from isoviz.planner.time.path_time import Clock, Pace

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.machines import Channel, Machine
    from isoviz.planner.transfer import Transfer


class Derived(NamedTuple):
    """The words of a plan.

    For every hop: `converts` (`converting_hops`); `runs`, the bytes at most that its runs have whatever the chunk (infinite where
    whole chunks move); `requests`, the same with the chunk (PREFIX, Isometry, section 4.2); `rates` in bytes per second. `chunk`
    are the bytes of a full chunk; where fields differ in size, the mean. `seconds` is T, `throughput` the steady state in bytes
    per second, `setup` seconds; `shares` and `resources` are as in `PathPlan`.
    """

    converts: tuple[bool, ...]
    runs: tuple[float, ...]
    requests: tuple[float, ...]
    rates: tuple[float, ...]
    chunk: float
    seconds: float
    throughput: float
    setup: float
    shares: tuple[tuple[float, ...], ...]
    resources: tuple[str, ...]


class Along(NamedTuple):
    """The orders along a path, one more than hops; for every hop the bytes at most that its runs have whatever the chunk
    (`runs_of`), and whether it converts (`converting_hops`)."""

    orders: tuple[Linearization, ...]
    runs: tuple[float, ...]
    converts: tuple[bool, ...]


def along(transfer: Transfer, orders: Sequence[Linearization]) -> Along:
    """What follows from the orders along a path of a transfer."""
    return Along(tuple(orders), runs_of(transfer, orders), converting_hops(orders))


def derived(
    transfer: Transfer,
    machine: Machine,
    channels: Sequence[Channel],
    way: Along,
    chunks: ChunkSequence,
    slots: int,
    pace: Pace | None = None,
) -> Derived:
    """The words of a plan that goes over `channels` along `way` in these chunks; `pace` is that of the channels, if it is
    known."""
    runs, chunk = way.runs, chunk_bytes(chunks)
    clock = clock_along(transfer, machine, channels, way, slots, pace)
    requests = tuple([min(run, chunk) for run in runs])
    rates, seconds = tuple(clock.rates(chunk, runs)), clock.seconds(chunk, runs)
    throughput = clock.throughput(chunk, rates) if all(rates) else 0.0
    shares = clock.shares(rates)
    return Derived(way.converts, runs, requests, rates, chunk, seconds, throughput, clock.setup, shares, clock.shared_names)


def clock_along(
    transfer: Transfer,
    machine: Machine,
    channels: Sequence[Channel],
    way: Along,
    slots: int,
    pace: Pace | None = None,
) -> Clock:
    """The clock of these channels, those that convert along this way set up for it."""
    converting = [hop for hop, converts in enumerate(way.converts) if converts]
    return Clock(machine, channels, transfer.nbytes, slots, pace, converting)


def converting_hops(orders: Sequence[Linearization]) -> tuple[bool, ...]:
    """For every hop, whether it converts: its orders share no longer a prefix than both ends of the path do, or than any others.

    What shares more only gathers or spreads blocks: along a path some hop has to have runs as short as the conversion's
    (`shapes`), and usually just one has.
    """
    runs = [_run(here, there) for here, there in pairwise(orders)]
    pays = max(_run(orders[0], orders[-1]), min(runs))
    return tuple([run <= pays and not math.isinf(run) for run in runs])


def runs_of(transfer: Transfer, orders: Sequence[Linearization]) -> tuple[float, ...]:
    """For every hop, the bytes at most that its runs have whatever the chunk: the common prefix of its two orders, and at either
    end what lies together of a part. Infinite where whole chunks move."""
    found = [_run(here, there) for here, there in pairwise(orders)]
    first, last = end_runs(transfer)
    found[0] = min(found[0], first)
    found[-1] = min(found[-1], last)
    return tuple(found)


def _first_elements(lin: Linearization, outer: int) -> int:
    """Elements that exist in the first block of an order, whose slowest `outer` parts number the blocks."""
    inside = lin.parts[: len(lin.parts) - outer]
    found = len(lin.fields) if any(isinstance(part, FieldsComponent) for part in inside) else 1
    digits: dict[str, list[Mode]] = {}
    for part in inside:
        if isinstance(part, Mode):
            digits.setdefault(part.dim, []).append(part)
    for dim, modes in digits.items():
        modes.sort(key=lambda mode: mode.step)
        if any(low.step * low.extent != high.step for low, high in pairwise(modes)):  # coordinates with holes between them
            return sum(box.volume * len(names) for box, names in ChunkSequence(lin, outer)[0].parts)
        found *= min(math.prod(mode.extent for mode in modes), -(-lin.space[dim] // modes[0].step))
    return found


def _run(here: Linearization, there: Linearization) -> float:
    """The bytes of the common prefix of two orders; infinite where they are one."""
    if here is there or here.normal == there.normal:
        return math.inf
    return run_bytes(here, there)


def paying_hop(transfer: Transfer, orders: Sequence[Linearization]) -> int | None:
    """The hop that pays for the conversion: of those that convert the one with the shortest run, the first of equals; None where
    none converts (`shapes`)."""
    runs = runs_of(transfer, orders)
    return min((hop for hop, converts in enumerate(converting_hops(orders)) if converts), key=lambda hop: runs[hop], default=None)


def chunk_bytes(chunks: ChunkSequence) -> float:
    """Bytes of entries in a full chunk: of as many blocks like the first one, which has the least padding. Where fields differ in
    size, of the mean field."""
    lin = chunks.linearization
    fields = len(lin.fields)
    elements = lin.count * fields // chunks.blocks
    if elements > 1 and lin.is_padded:
        elements = _first_elements(lin, chunks.outer)
    return min(chunks.per_chunk * elements * lin.fields.nbytes / fields, lin.payload)
