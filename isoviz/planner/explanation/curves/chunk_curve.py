"""The predicted time of a plan over the size of its chunks: the window of a pipeline.

Small chunks fill the pipeline early and let the hops overlap, but pay the cost per request more often. A single chunk with all
the data lets no hops overlap: it is stored and forwarded. The minimum lies between the two. It corresponds to the window of the
Blue Gene/Q proxies, which was found by experiment. Here it follows from the time model. The plan keeps its path, layouts and
blocks, and the number of blocks per chunk varies. A chunk smaller than a block needs smaller blocks, so the same path is planned
anew for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz import checks
from isoviz.checks import expect
from isoviz.document import Document, Part, Picture, Prose, Quantity, Section, Table, Told
from isoviz.errors import LimitError, TransferError
from isoviz.layouts import ChunkSequence
from isoviz.machines import Machine, MachineLike
from isoviz.machines.memory import emulated_text
from isoviz.planner.build_plan import make_plan
from isoviz.planner.one_path.hop_facts import chunk_bytes, conversion_hop, path_clock, path_orders, plan_facts
from isoviz.planner.one_path.optimum import best_feasible_choice, with_larger_chunks
from isoviz.planner.options import Options, options_about
from isoviz.planner.paths.routes import Route
from isoviz.planner.plan import Plan
from isoviz.planner.planners import machine_of
from isoviz.planner.problem import Problem, channels_in_mean, machine_in_mean
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.planner.time.path_time import Clock, Runs

SPAN = 4096
"""The smallest chunks that are tried are smaller than the plan's own by this factor."""


class ChunkPoint(NamedTuple):
    """A chunk size with its predicted times.

    `per_chunk` is the number of the plan's blocks per chunk; 0 if the blocks are smaller than the plan's. `chunks` is the number
    of chunks. `seconds` is the time of the whole transfer. `stored_seconds` is the time of store and forward: every hop moves all
    chunks of this size before the next hop begins. `fits` says whether the slots for this size keep the limits.
    """

    chunk_bytes: float
    per_chunk: int
    chunks: int
    seconds: float
    stored_seconds: float
    fits: bool


@dataclass(frozen=True, repr=False)
class ChunkCurve(Told):
    """Predicted seconds over chunk bytes, for the path of a plan.

    `points` are sorted by size. `chosen` is the point of the plan itself. `limit` is the bound on a slot in bytes; None if the
    path has no buffers.
    """

    plan: Plan
    points: tuple[ChunkPoint, ...]
    chosen: ChunkPoint
    limit: int | None

    @cached_property
    def best(self) -> ChunkPoint:
        """The fastest of the points that fit; among equally fast points the one with the smallest chunks."""
        fitting = [point for point in self.points if point.fits] or [self.chosen]
        least = min(point.seconds for point in fitting)
        return next(point for point in fitting if point.seconds <= least * (1 + 1e-9))

    def document(self) -> Document:
        """The minimum and the choice in words, and all points as a plot and as a table."""
        best, own = self.best, self.chosen
        said = (
            f"Least time {format_seconds(best.seconds)} with chunks of {format_bytes(best.chunk_bytes)}; the plan takes"
            f" {format_bytes(own.chunk_bytes)}: {format_seconds(own.seconds)}, stored and forwarded"
            f" {format_seconds(own.stored_seconds)}"
        ) + (f"; {emulated}" if (emulated := emulated_text(self.plan.emulated)) else "")
        rows = [
            (
                Quantity(point.chunk_bytes, "bytes"),
                f"{point.per_chunk:,}" if point.per_chunk else "smaller blocks",
                Quantity(point.chunks, "count"),
                Quantity(point.seconds, "seconds"),
                Quantity(point.stored_seconds, "seconds"),
                "the plan" if point == own else "minimum" if point == best else "" if point.fits else "does not fit",
            )
            for point in self.points
        ]
        header = ("chunk", "blocks", "chunks", "pipelined", "stored and forwarded", "")
        chosen = [number for number, point in enumerate(self.points) if point == own]
        parts: list[Part] = [
            Prose(f"{said}."),
            Picture("chunk_curve_figure", (self,)),
            Table(header, rows, numbers=(1,), marked=chosen),
        ]
        return Document("Predicted time over the chunk size", [Section("Chunks of other sizes, on the same path", parts)], said)


def chunk_curve(plan: Plan, machine: MachineLike | None = None, options: Options | None = None) -> ChunkCurve:
    """Predicted seconds of a plan over the size of its chunks. `options` are the options that the plan was made with.

    Raises:
        TransferError: the plan was made for another machine. InputError: `machine` is None and this process does not know the
        machine of the plan.
    """
    machine = _checked(plan, machine)
    options = options_about(plan, options)
    problem = Problem(plan.transfer, machine, options)
    way = path_orders(plan.transfer, plan.orders)
    clock = path_clock(plan.transfer, machine, channels_in_mean(problem, [hop.channel for hop in plan.hops]), way, plan.slots)
    runs = way.runs
    inside = [hop.destination for hop in plan.hops[:-1]]
    limit = problem.limit(inside) if inside else None
    own = _chunk(plan, plan.per_chunk)
    points = [
        _point(clock, _rechunked(plan, count, machine), runs, count, fits=limit is None or _slot(plan, count) <= limit)
        for count in _counts(plan, own / SPAN)
    ]
    chosen = next(point for point in points if point.per_chunk == plan.per_chunk)
    least = min(point.chunk_bytes for point in points)
    smaller = [] if limit is None else _smaller(plan, machine, options, clock, least, own / SPAN)
    return ChunkCurve(plan, tuple(sorted([*smaller, *points])), chosen, limit)


def rechunked(plan: Plan, per_chunk: int, machine: MachineLike | None = None) -> Plan:
    """The plan with `per_chunk` blocks in a chunk, and with the predicted times for that chunk.

    Raises:
        InputError: `per_chunk` is below 1 or above the number of blocks, or as `chunk_curve`. TransferError: as `chunk_curve`.
    """
    machine = _checked(plan, machine)
    return _rechunked(plan, checks.count("plan", "blocks in a chunk", per_chunk, low=1, high=plan.chunks.blocks), machine)


def _rechunked(plan: Plan, per_chunk: int, machine: Machine) -> Plan:
    if per_chunk == plan.per_chunk:
        return plan
    chunks = ChunkSequence(plan.chunks.linearization, plan.outer, per_chunk)
    in_mean = machine_in_mean(machine, plan.reuse)
    channels, way = [in_mean.channel(hop.channel) for hop in plan.hops], path_orders(plan.transfer, plan.orders)
    words = plan_facts(plan.transfer, machine, channels, way, chunks, plan.slots, reuse=plan.reuse)
    said = zip(plan.hops, words.requests, words.rates, words.latencies, strict=True)
    return plan.changed(
        hops=tuple(hop._replace(request_bytes=run, throughput=rate, latency=latency) for hop, run, rate, latency in said),
        per_chunk=per_chunk,
        objective=words.seconds,
        throughput=words.throughput,
        setup=words.setup,
        kept=words.kept,
        shares=words.shares,
        resources=words.resources,
    )


def _checked(plan: Plan, machine: MachineLike | None) -> Machine:
    expect("plan", plan, Plan, "a plan")
    machine = machine_of(plan, machine)
    if plan.machine_digest != machine.digest:
        raise TransferError(f"plan: made for a machine {plan.machine_name!r} that is not {machine.name!r} as it is; plan again")
    return machine


def _chunk(plan: Plan, per_chunk: int) -> float:
    """Bytes of a full chunk of `per_chunk` blocks; the mean if fields differ in size."""
    return chunk_bytes(ChunkSequence(plan.chunks.linearization, plan.outer, per_chunk))


def _slot(plan: Plan, per_chunk: int) -> int:
    """Bytes of the largest slot for chunks of `per_chunk` blocks, over all buffers."""
    return max(ChunkSequence(order, plan.outer, per_chunk).chunk_bytes for order in plan.orders[1:-1])


def _counts(plan: Plan, least: float) -> Sequence[int]:
    """The numbers of blocks per chunk to try: two per doubling, the plan's own number, and all blocks."""
    blocks = plan.chunks.blocks
    found = {round(2 ** (step / 2)) for step in range(2 * blocks.bit_length())}
    return sorted({count for count in found if count < blocks and _chunk(plan, count) >= least} | {plan.per_chunk, blocks})


def _point(clock: Clock, plan: Plan, runs: Runs, per_chunk: int, *, fits: bool) -> ChunkPoint:
    timing = clock.timing(_chunk(plan, plan.per_chunk), runs)
    bounds = [seconds * moved for seconds, moved in zip(timing.hop_seconds, plan.moved, strict=True)]  # with shared resources
    hops = [
        (max(full, least), max(last, least * last / full))
        for (full, last), least in zip(plan.only.chunk_seconds(), bounds, strict=True)
    ]
    setup = clock.setup + clock.sized_seconds(timing.chunk_bytes, runs)
    stored = setup + sum([(plan.chunk_count - 1) * full + last for full, last in hops])
    return ChunkPoint(timing.chunk_bytes, per_chunk, plan.chunk_count, plan.mean, stored, fits)


def _smaller(plan: Plan, machine: Machine, options: Options, clock: Clock, block: float, least: float) -> Iterator[ChunkPoint]:
    """Points for chunks smaller than a block of the plan: the best choice on its path under a smaller slot limit."""
    route = Route(clock.channels, conversion_hop(plan.transfer, plan.orders))
    seen: set[float] = set()
    for step in range(1, 2 * SPAN.bit_length()):
        bound = math.floor(block / 2 ** (step / 2))
        if bound < max(least, plan.transfer.fields.nbytes):
            return
        try:
            problem = Problem(plan.transfer, machine, replace(options, slot_limit=bound))
            choice = best_feasible_choice(problem, route, clock)
        except LimitError:
            return
        if choice is None:
            return
        choice = with_larger_chunks(problem, choice, clock)
        if choice.chunk not in seen:
            seen.add(choice.chunk)
            yield _point(clock, make_plan(problem, choice, clock, plan.planner), choice.runs, 0, fits=True)
