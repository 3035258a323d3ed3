"""Larger chunks than those of the least T, where they cost next to nothing.

T is flat around its minimum, and the minimum often lies at chunks of a few KiB: throughput functions include the cost of a run,
but not the cost of a chunk to an engine. So a transfer of very many chunks takes the largest chunks that raise T by less than a
thousandth, in sizes that suit kernels. A transfer of few chunks keeps its chunks, unless the machine states a cost per chunk.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.planner.one_path.blocked import BlockSearch
from isoviz.planner.one_path.buffer_needs import buffer_layouts, chunk_sequence, evaluated, exact_if_needed, orders_along
from isoviz.planner.one_path.hop_facts import path_clock
from isoviz.planner.one_path.non_nesting import best_non_nesting
from isoviz.planner.one_path.one_layout import best_one_layout, chunk_multiple
from isoviz.planner.tuning import CHUNK_GROWTH_SHARE, FEW_CHUNKS

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def with_larger_chunks(problem: Problem, choice: Choice, clock: Clock) -> Choice:
    """A choice with larger chunks.

    Where the machine states a cost per chunk, chunks grow while T and this cost together decrease. Where there are very many
    chunks, they grow while T rises by at most `CHUNK_GROWTH_SHARE`.
    """
    costs = problem.machine.limits.chunk_seconds > 0
    if len(choice.route.channels) == 1:
        return choice  # no buffer holds a chunk, so its size is right already
    if problem.nbytes <= FEW_CHUNKS * choice.chunk and not costs:
        return choice
    own = clock
    if any(channel.least_conversion for channel in choice.route.channels) or not choice.route.pace.has_fixed_costs:
        # The layouts say which hops pay which one-time costs.
        path = orders_along(problem, choice, buffer_layouts(problem, choice))
        own = path_clock(problem.transfer, problem.machine, choice.route.channels, path, problem.slots, choice.route.pace)
    search = None if choice.family is None else BlockSearch(problem, choice.route, own, choice.family)

    best = choice
    if costs:  # chunks that cannot grow block by block are searched again, with the cost per chunk
        at_an_end = choice.route.converting in (None, 0, len(choice.route.channels) - 1)
        anew = best_one_layout if at_an_end else best_non_nesting if choice.every_block_a_box else None
        other = anew(problem, choice.route, clock, costs=True) if anew is not None else None
        best = min((choice, evaluated(problem, other) if other is not None else choice), key=problem.with_cost)
    while costs and best.chunk < problem.nbytes:
        larger = min(_larger(problem, best, own, search), key=problem.with_cost, default=best)
        if problem.with_cost(larger) >= problem.with_cost(best):
            break
        best = larger
    goal = best.seconds * (1 + CHUNK_GROWTH_SHARE)
    while problem.nbytes > FEW_CHUNKS * best.chunk:
        cheap = [each for each in _larger(problem, best, own, search) if each.seconds <= goal]
        if not cheap:
            break
        best = min(cheap, key=lambda each: each.key)
    return best if best is choice else exact_if_needed(problem, best)


def with_comparable_chunks(problem: Problem, choice: Choice, clock: Clock) -> Choice:
    """A choice with the chunks in which routes are compared.

    Where the machine states a cost per chunk, these are the larger chunks: in large chunks another route may be the best one, and
    it may have fewer hops.
    """
    return with_larger_chunks(problem, choice, clock) if problem.machine.limits.chunk_seconds > 0 else choice


def _larger(problem: Problem, choice: Choice, clock: Clock, search: BlockSearch | None) -> list[Choice]:
    """The choices with about twice the chunk: with larger blocks where that is possible, else with more blocks."""
    larger: list[Choice] = []
    if search is not None:
        for a, b in search.larger(choice):
            each = search.choice_for(a, b, choice.per_chunk)
            if each is not None and each.chunk > choice.chunk:
                larger.append(each)
    boxes = choice.every_block_a_box or (search is not None and bool(search.scattered))
    if larger or boxes:
        return larger
    chunks = chunk_sequence(problem, buffer_layouts(problem, choice))
    if 2 * choice.chunk < problem.nbytes:
        times, chunk = 2.0, 2 * choice.chunk
        if choice.family is None and choice.layout_after is None:
            parts = round(chunk / problem.mean), chunk_multiple(problem, choice.route.inside, choice.runs)
            if parts[0] > parts[1] and parts[0] % parts[1]:
                return []
    else:  # one chunk with everything, padding included
        times, chunk = chunks.blocks / chunks.per_chunk, problem.nbytes
    slot = math.ceil(times * choice.slot)
    if slot > problem.limit(choice.route.inside):
        return []
    seconds = clock.seconds(chunk, choice.runs)
    return [choice._replace(seconds=seconds, per_chunk=math.ceil(times * choice.per_chunk), chunk=chunk, slot=slot)]
