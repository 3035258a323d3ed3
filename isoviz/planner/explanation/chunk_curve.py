"""How long a plan would take with chunks of other sizes: the window of a pipeline.

Small chunks fill a pipeline soon and hide the hops behind each other, but pay what a request costs more often; a chunk that is
everything hides nothing: it is stored and forwarded. Between the two lies a minimum (the window of the Blue Gene/Q proxies, found
there by trying). Here it follows from the time model: path, layouts and blocks of the plan stay as they are, and a chunk has more
or fewer of the blocks. Chunks smaller than a block need smaller blocks: for them the same path is planned anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import InputError, LimitError, TransferError
from isoviz.layouts import ChunkSequence
from isoviz.planner.build_plan import make_plan
from isoviz.planner.one_path.chunk_size import with_larger_chunks
from isoviz.planner.one_path.hop_facts import chunk_bytes, conversion_hop, path_clock, path_orders, plan_facts
from isoviz.planner.one_path.optimum import best_feasible_choice
from isoviz.planner.options import Options
from isoviz.planner.paths.routes import Route
from isoviz.planner.planners import machine_of
from isoviz.planner.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.machines import Machine
    from isoviz.planner.plan import Plan
    from isoviz.planner.time.path_time import Clock, Runs

SPAN = 4096
"""By so much smaller than the plan's own are the smallest chunks that are tried."""


class ChunkPoint(NamedTuple):
    """A chunk size and what it gives: `seconds` for the whole transfer, `stored_seconds` where every hop moves everything, in
    chunks of this size, before the next one begins. `per_chunk` of the plan's blocks make a chunk; 0: of smaller blocks than the
    plan's. `fits` tells whether slots of this size keep the limits."""

    chunk_bytes: float
    per_chunk: int
    chunks: int
    seconds: float
    stored_seconds: float
    fits: bool


@dataclass(frozen=True)
class ChunkCurve:
    """Predicted seconds over chunk bytes, for the path of a plan. `points` by size, `chosen` is the plan's own among them;
    `limit` is how many bytes a slot may have, None where nothing is held."""

    plan: Plan
    points: tuple[ChunkPoint, ...]
    chosen: ChunkPoint
    limit: int | None

    @cached_property
    def best(self) -> ChunkPoint:
        """The fastest of the points that fit; the smallest of those that are."""
        fitting = [point for point in self.points if point.fits] or [self.chosen]
        least = min(point.seconds for point in fitting)
        return next(point for point in fitting if point.seconds <= least * (1 + 1e-9))

    def __str__(self) -> str:
        from isoviz.units import format_bytes, format_seconds

        best, own = self.best, self.chosen
        return (
            f"least time {format_seconds(best.seconds)} with chunks of {format_bytes(best.chunk_bytes)}; the plan takes"
            f" {format_bytes(own.chunk_bytes)}: {format_seconds(own.seconds)}, stored and forwarded"
            f" {format_seconds(own.stored_seconds)}"
        )


def chunk_curve(plan: Plan, machine: Machine | None = None, options: Options | None = None) -> ChunkCurve:
    """Predicted seconds of a plan over the size of its chunks. `options` are those it was made with.

    Raises:
        TransferError: the plan was made for another machine. InputError: its machine is not known in this process; hand it in.
    """
    machine = _checked(plan, machine)
    options = options or Options()
    problem = Problem(plan.transfer, machine, options)
    way = path_orders(plan.transfer, plan.orders)
    clock = path_clock(plan.transfer, machine, [machine.channel(hop.channel) for hop in plan.hops], way, plan.slots)
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


def rechunked(plan: Plan, per_chunk: int, machine: Machine | None = None) -> Plan:
    """The plan with so many of its blocks in a chunk, and with the times that this gives.

    Raises:
        InputError: less than a block, or more than there are. TransferError: as `chunk_curve`.
    """
    if not 1 <= per_chunk <= plan.chunks.blocks:
        raise InputError(f"plan: {per_chunk} blocks in a chunk; expected 1 to {plan.chunks.blocks}")
    return _rechunked(plan, per_chunk, _checked(plan, machine))


def _rechunked(plan: Plan, per_chunk: int, machine: Machine) -> Plan:
    if per_chunk == plan.per_chunk:
        return plan
    chunks = ChunkSequence(plan.chunks.linearization, plan.outer, per_chunk)
    channels = [machine.channel(hop.channel) for hop in plan.hops]
    words = plan_facts(plan.transfer, machine, channels, path_orders(plan.transfer, plan.orders), chunks, plan.slots)
    said = zip(plan.hops, words.requests, words.rates, strict=True)
    return plan.changed(
        hops=tuple(hop._replace(request_bytes=run, throughput=rate) for hop, run, rate in said),
        per_chunk=per_chunk,
        objective=words.seconds,
        throughput=words.throughput,
        shares=words.shares,
        resources=words.resources,
    )


def _checked(plan: Plan, machine: Machine | None) -> Machine:
    machine = machine_of(plan) if machine is None else machine
    if plan.machine_digest != machine.digest:
        raise TransferError(f"plan: made for a machine {plan.machine_name!r} that is not {machine.name!r} as it is; plan again")
    return machine


def _chunk(plan: Plan, per_chunk: int) -> float:
    """Bytes of a full chunk of so many blocks; where fields differ in size, the mean."""
    return chunk_bytes(ChunkSequence(plan.chunks.linearization, plan.outer, per_chunk))


def _slot(plan: Plan, per_chunk: int) -> int:
    """Bytes of the largest slot that holds so many blocks."""
    return max(ChunkSequence(order, plan.outer, per_chunk).chunk_bytes for order in plan.orders[1:-1])


def _counts(plan: Plan, least: float) -> Sequence[int]:
    """Blocks per chunk to try: two to each doubling, the plan's own, and all of them."""
    blocks = plan.chunks.blocks
    found = {round(2 ** (step / 2)) for step in range(2 * blocks.bit_length())}
    return sorted({count for count in found if count < blocks and _chunk(plan, count) >= least} | {plan.per_chunk, blocks})


def _point(clock: Clock, plan: Plan, runs: Runs, per_chunk: int, *, fits: bool) -> ChunkPoint:
    timing = clock.timing(_chunk(plan, plan.per_chunk), runs)
    hops = [seconds * moved for seconds, moved in zip(timing.hop_seconds, plan.moved, strict=True)]
    stored = clock.setup + clock.nbytes / timing.chunk_bytes * sum(hops)
    return ChunkPoint(timing.chunk_bytes, per_chunk, plan.chunk_count, plan.seconds, stored, fits)


def _smaller(plan: Plan, machine: Machine, options: Options, clock: Clock, block: float, least: float) -> Iterator[ChunkPoint]:
    """Points of chunks smaller than a block of the plan: the best for its path where a slot holds no more."""
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
