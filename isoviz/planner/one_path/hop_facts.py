"""The facts about the hops of a plan, derived from its layouts, its chunks and the machine.

Planners search with formulas of their own: families of layouts whose runs follow from a few numbers
(`intermediate.intermediate_layouts`). Every finished plan takes its facts from this module instead: plans of the search, plans by
hand (`by_hand`) and plans in other chunks (`explanation.curves.chunk_curve`). The facts are which hops convert, how long the runs
are, which throughput they sustain, and T.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import ChunkSequence, FieldsComponent, Mode, View
from isoviz.layouts.compare import run_bytes
from isoviz.planner.intermediate.part_runs import end_runs
from isoviz.planner.time.one_time import one_time_seconds
from isoviz.planner.time.path_time import Clock, Pace

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.layouts.windows import Keyed
    from isoviz.machines import Channel, Machine
    from isoviz.planner.transfer import Transfer


class PlanFacts(NamedTuple):
    """The facts about a plan.

    Per hop: `converts` says whether it converts (`converting_hops`). `runs` is the upper bound on its runs in bytes, before the
    chunk bounds them (infinite where whole chunks move); `requests` is the same bound with the chunk (PREFIX, Isometry, section
    4.2). `rates` is in bytes per second.

    `chunk` is the size of a full chunk in bytes; where fields differ in size, it counts the mean field. `seconds` is T,
    `throughput` the steady state in bytes per second. `setup` and `kept` are in seconds; they, `shares` and `resources` are as in
    `PathPlan`.
    `latencies` are in seconds per chunk (`Hop.latency`).
    """

    converts: tuple[bool, ...]
    runs: tuple[float, ...]
    requests: tuple[float, ...]
    rates: tuple[float, ...]
    chunk: float
    seconds: float
    throughput: float
    setup: float
    kept: float
    shares: tuple[tuple[float, ...], ...]
    resources: tuple[str, ...]
    latencies: tuple[float, ...]


class PathOrders(NamedTuple):
    """The orders along a path, with what follows from them.

    There is one order more than hops. `runs` and `converts` have an entry per hop (`hop_runs`, `converting_hops`).
    """

    orders: tuple[Linearization, ...]
    runs: tuple[float, ...]
    converts: tuple[bool, ...]


def path_orders(transfer: Transfer, orders: Sequence[Linearization]) -> PathOrders:
    """The orders along a path of a transfer, with the runs and conversions of its hops."""
    return PathOrders(tuple(orders), hop_runs(transfer, orders), converting_hops(orders))


def plan_facts(
    transfer: Transfer,
    machine: Machine,
    channels: Sequence[Channel],
    path: PathOrders,
    chunks: ChunkSequence,
    slots: int,
    pace: Pace | None = None,
    *,
    reuse: int = 1,
) -> PlanFacts:
    """The facts about a plan that goes over `channels`, with the orders `path` and these chunks.

    `channels` cost what they cost in the mean of `reuse` starts (`Problem.in_mean`). `pace` is theirs, if it is known already.
    """
    runs, chunk = path.runs, chunk_bytes(chunks)
    clock = path_clock(transfer, machine, channels, path, slots, pace)
    requests = tuple([min(run, chunk) for run in runs])
    rates, seconds = tuple(clock.rates(chunk, runs)), clock.seconds(chunk, runs)
    throughput = clock.throughput(chunk, rates) if all(rates) else 0.0
    shares = clock.shares(rates)
    latencies = _latencies(clock, chunks, runs, rates)
    setup, kept = first_setup(clock, path, chunk, reuse)
    shared = shares, clock.shared_names
    return PlanFacts(path.converts, runs, requests, rates, chunk, seconds, throughput, setup, kept, *shared, latencies)


def first_setup(clock: Clock, path: PathOrders, chunk: float, reuse: int) -> tuple[float, float]:
    """The set-up of the first of `reuse` starts, and what later starts save of it, in seconds.

    The channels of `clock` cost what they cost in the mean.
    """
    setup, kept = clock.setup + clock.sized_seconds(chunk, path.runs), 0.0
    if any(cost.kept for channel in clock.channels for cost in channel.costs):
        kept = one_time_seconds(clock.channels, path.converts, path.orders, kept=True)
        kept += clock.sized_seconds(chunk, path.runs, kept=True)
    setup += (reuse - 1) * kept
    return setup, min(setup, reuse * kept)


def _latencies(clock: Clock, chunks: ChunkSequence, runs: Sequence[float], rates: Sequence[float]) -> tuple[float, ...]:
    """What a chunk takes on every hop apart from its bytes, in seconds: with it the last chunk takes what its size takes."""
    full = clock.nbytes * min(1.0, chunks.per_chunk / chunks.blocks)
    last = clock.nbytes - (len(chunks) - 1) * full
    less = last if last < full * (1 - NEARLY) else full / 2
    found = []
    if any(resource.held for resource in clock.resources.values()):
        return (0.0,) * len(rates)  # what a byte holds a resource for follows from the rate of full chunks
    for rate, slower in zip(rates, clock.rates(less, runs), strict=True):
        seconds, fewer = (nbytes / each if each else 0.0 for nbytes, each in ((full, rate), (less, slower)))
        latency = (fewer * full - seconds * less) / (full - less)
        found.append(min(latency, seconds) if latency > NEARLY * seconds else 0.0)
    return tuple(found)


NEARLY = 1e-9
"""Sizes and times that differ by less than this share of them are equal: the rest is rounding."""


def path_clock(
    transfer: Transfer,
    machine: Machine,
    channels: Sequence[Channel],
    path: PathOrders,
    slots: int,
    pace: Pace | None = None,
    nbytes: int | None = None,
) -> Clock:
    """The clock of these channels, with the one-time costs of those that convert; `nbytes` where they move less than all."""
    converting = [hop for hop, converts in enumerate(path.converts) if converts]
    pace = pace or Pace(channels)
    setup = None if pace.has_fixed_costs else one_time_seconds(channels, path.converts, path.orders)
    gaps = (math.inf, math.inf) if pace.is_plain else end_runs(transfer)
    keys = [hop_keys(transfer, channel, path.orders, hop) for hop, channel in enumerate(pace.channels)]
    moved = transfer.nbytes if nbytes is None else nbytes
    return Clock(machine, channels, moved, slots, pace, converting, setup, gaps, stored_bytes(transfer), keys)


def hop_keys(transfer: Transfer, channel: Channel, orders: Sequence[Linearization], hop: int) -> Keyed | None:
    """What the keys of a hop map at both ends; None where the descriptors of the channel do not count at both ends.

    `orders` are those of the path. Both ends agree once on a window for the whole hop; it cuts every chunk.
    """
    if not channel.has_windows or channel.descriptors is None:
        return None
    return transfer.keyed(*_ends(transfer, orders, hop), channel.descriptors)


def _ends(transfer: Transfer, orders: Sequence[Linearization], hop: int) -> tuple[View, View, tuple[str, ...]]:
    """All that moves at both ends of a hop, in buffers as large as all of it: two views, and the fields."""
    here = transfer.source_view() if hop == 0 else View(orders[hop])
    there = transfer.destination_view() if hop == len(orders) - 2 else View(orders[hop + 1])
    return here, there, orders[1 if hop == 0 else hop].fields.names


def stored_bytes(transfer: Transfer) -> tuple[int, int]:
    """The bytes of the instances at both ends, with what does not move."""
    return transfer.source.linearization.nbytes, transfer.destination.linearization.nbytes


def converting_hops(orders: Sequence[Linearization]) -> tuple[bool, ...]:
    """Whether each hop converts.

    A hop converts if the common prefix of its two orders is no longer than that of both ends of the path, or is the shortest of
    all hops. A hop with a longer common prefix only gathers or scatters blocks. Some hop always has a run as short as that of the
    conversion, and usually exactly one has (`intermediate.intermediate_layouts`).
    """
    runs = [_prefix_bytes(here, there) for here, there in pairwise(orders)]
    shortest = max(_prefix_bytes(orders[0], orders[-1]), min(runs))
    return tuple([run <= shortest and not math.isinf(run) for run in runs])


def hop_runs(transfer: Transfer, orders: Sequence[Linearization]) -> tuple[float, ...]:
    """Upper bounds on the runs of each hop in bytes, before the chunk bounds them; infinite where whole chunks move.

    The bound is the common prefix of the two orders of the hop. Where a box or some of the fields move, or the fields change
    places, the hops at the ends have the mean run of the copies between the instance and the buffer.
    """
    found = [_prefix_bytes(here, there) for here, there in pairwise(orders)]
    if not transfer.is_whole:
        for hop in dict.fromkeys((0, len(found) - 1)):
            found[hop] = transfer.mean_run(*_ends(transfer, orders, hop))
    return tuple(found)


def _elements_in_first_block(lin: Linearization, outer: int) -> int:
    """The number of elements that exist in the first block of an order whose slowest `outer` parts number the blocks."""
    inside = lin.parts[: len(lin.parts) - outer]
    found = len(lin.fields) if any(isinstance(part, FieldsComponent) for part in inside) else 1
    digits: dict[str, list[Mode]] = {}
    for part in inside:
        if isinstance(part, Mode):
            digits.setdefault(part.dim, []).append(part)
    for dim, modes in digits.items():
        modes.sort(key=lambda mode: mode.step)
        if any(low.step * low.extent != high.step for low, high in pairwise(modes)):  # the block has gaps between its coordinates
            return sum(box.volume * len(names) for box, names in ChunkSequence(lin, outer)[0].parts)
        found *= min(math.prod(mode.extent for mode in modes), -(-lin.space[dim] // modes[0].step))
    return found


def _prefix_bytes(here: Linearization, there: Linearization) -> float:
    """The bytes of the common prefix of two orders; infinite where the orders are equal."""
    if here.same_as(there):
        return math.inf
    return run_bytes(here, there)


def conversion_hop(transfer: Transfer, orders: Sequence[Linearization]) -> int | None:
    """The hop that carries the conversion: of the hops that convert the one with the shortest run, the first of equals.

    None where no hop converts.
    """
    runs = hop_runs(transfer, orders)
    return min((hop for hop, converts in enumerate(converting_hops(orders)) if converts), key=lambda hop: runs[hop], default=None)


def chunk_bytes(chunks: ChunkSequence) -> float:
    """The bytes of the entries in a full chunk; where fields differ in size, of the mean field.

    All blocks of the chunk count like the first one, which has the least padding.
    """
    lin = chunks.linearization
    fields = len(lin.fields)
    elements = lin.count * fields // chunks.blocks
    if elements > 1 and lin.is_padded:
        elements = _elements_in_first_block(lin, chunks.outer)
    return min(chunks.per_chunk * elements * lin.fields.nbytes / fields, lin.payload)
