"""Routes on which a hop between two buffers converts, between ends whose blocks do not nest (blocks of 4 and of 6).

No small set of layout families covers this case. Instead, blocks that nest with the digits of both ends are grown along both
orders. A long run at one end shortens the run at the other end, so all splits of the slot between the two ends by powers of two
are tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from isoviz.layouts import FIELDS, ChunkSequence, compare
from isoviz.planner.intermediate.part_layouts import grown, restricted
from isoviz.planner.intermediate.part_runs import buffer_orders
from isoviz.planner.one_path.choice import BlockedEnds, Choice

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def best_non_nesting(problem: Problem, route: Route, clock: Clock, *, costs: bool = False) -> Choice | None:
    """The best choice found, by T; with `costs`, by T and the cost of its chunks to an engine. None where no block fits."""
    choices = (_choice(problem, route, clock, each) for each in blocked_ends(problem, problem.limit(route.inside)))
    return min(choices, key=lambda choice: (problem.with_cost(choice) if costs else 0.0, *choice.key), default=None)


def blocked_ends(problem: Problem, limit: int) -> tuple[BlockedEnds, ...]:
    """The orders of both ends on boxes of up to `limit` bytes."""
    blocked = problem.blocked_ends_of.get(limit)
    if blocked is None:  # many routes have the same bound
        found = (_blocked_ends(problem, block) for block in _blocks(problem, limit))
        blocked = problem.blocked_ends_of[limit] = tuple(each for each in found if each.slot <= limit)
    return blocked


def _blocks(problem: Problem, limit: int) -> Iterator[dict[str, int]]:
    transfer = problem.transfer
    source, destination = transfer.source_order, transfer.destination_order
    unit = dict.fromkeys(transfer.space.dims, 1)
    entries = min(limit // problem.entry, transfer.space.volume)
    here, there = (page // math.gcd(page, problem.entry) for page in problem.pages)
    seen: set[tuple[int, ...]] = set()
    if entries == transfer.space.volume:
        seen.add(transfer.space.sizes)
        yield dict(zip(transfer.space.dims, transfer.space.sizes, strict=True))
    while entries >= 1:
        for shift in range(entries.bit_length()):
            block = grown(source, destination, unit, entries >> shift, here)
            block = grown(destination, source, block, entries, there)
            block = grown(source, destination, block, entries, here)
            if tuple(block.values()) not in seen:
                seen.add(tuple(block.values()))
                yield block
        entries //= 2


def _blocked_ends(problem: Problem, block: dict[str, int]) -> BlockedEnds:
    transfer = problem.transfer
    source, destination = transfer.source_order, transfer.destination_order
    order = source if problem.chunk_order == "source" else destination
    (before, outer), (after, _) = restricted(source, order, block), restricted(destination, order, block)
    first, last = buffer_orders(transfer, (before, after), 1)  # a block holds all fields
    return BlockedEnds(
        before,
        after,
        outer,
        math.prod(block.values()) * problem.entry,
        max(ChunkSequence(lin, outer).block_bytes for lin in (first, last)),
        compare(source, first).run_bytes,
        compare(first, last).run_bytes,
        compare(last, destination).run_bytes,
    )


def _choice(problem: Problem, route: Route, clock: Clock, ends: BlockedEnds) -> Choice:
    runs = list(problem.runs(len(route.channels), None))
    runs[0] = min(runs[0], ends.run_out)
    runs[-1] = min(runs[-1], ends.run_in)
    runs[route.converting or 0] = ends.run_between
    seconds = clock.seconds(ends.chunk, runs)
    blocked = (ends.before, ends.outer), (ends.after, ends.outer)
    chunk = min(ends.chunk, problem.nbytes)
    return Choice(seconds, route, None, 1, 1, 1, chunk, ends.slot, tuple(runs), problem.slots, *blocked, every_block_a_box=True)


def with_exact_runs(problem: Problem, choice: Choice, clock: Clock) -> Choice | None:
    """A choice of a family with the runs and the slot size that its layouts really have; None where it does not fit the
    limits."""
    assert choice.family is not None
    transfer, route = problem.transfer, choice.route
    follows = choice.family.follows or problem.chunk_order
    before, after, outer = problem.ends.layouts(choice.family, choice.a, choice.b, follows)
    apart = FIELDS in before.components[len(before.components) - outer :]
    first, last = buffer_orders(transfer, (before, after), 1 if not apart else 2 * (problem.chunk_order == "source"))
    slot = max(ChunkSequence(lin, outer).block_bytes for lin in (first, last)) * choice.per_chunk
    if slot > problem.limit(route.inside):
        return None
    runs = list(problem.runs(len(route.channels), None))
    runs[0] = min(runs[0], compare(transfer.source_order, first).run_bytes)
    runs[-1] = min(runs[-1], compare(last, transfer.destination_order).run_bytes)
    runs[route.converting or 0] = compare(first, last).run_bytes
    chunk = min(choice.per_chunk * _payload(problem, lin, outer) for lin in (first, last))
    seconds, chunk = clock.seconds(chunk, runs), min(chunk, problem.nbytes)
    blocked = (first.layout, outer), (last.layout, outer)
    return Choice(seconds, route, None, 1, 1, choice.per_chunk, chunk, slot, tuple(runs), problem.slots, *blocked, True)


def _payload(problem: Problem, lin: Linearization, outer: int) -> float:
    """The bytes of the first block without padding; where fields differ in size, of the mean field."""
    sequence = ChunkSequence(lin, outer)
    elements = lin.count * problem.field_count // sequence.blocks
    first = sequence[0]
    return elements * problem.mean * first.payload_bytes / first.nbytes
