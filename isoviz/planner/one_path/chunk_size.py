"""From the fastest sizes to those worth having: larger chunks, in powers of two, where they cost next to nothing.

T hardly changes around its minimum, and it often lies at chunks of a few KiB: the throughput functions hold what a run costs,
not what a chunk costs an engine. So a transfer of very many chunks takes the largest ones that cost less than a thousandth of
T, in sizes that kernels like. Transfers of few chunks stay as they are, unless the machine says what a chunk costs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.planner.hop_facts import path_clock
from isoviz.planner.one_path.blocked import BlockSearch
from isoviz.planner.one_path.buffer_needs import buffer_layouts, chunk_sequence, evaluated, exact_if_needed, orders_along
from isoviz.planner.one_path.non_nesting import best_non_nesting
from isoviz.planner.one_path.one_layout import best_one_layout, chunk_multiple
from isoviz.planner.one_path.tuning import CHUNK_GROWTH_SHARE, FEW_CHUNKS

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def with_larger_chunks(problem: Problem, choice: Choice, clock: Clock) -> Choice:
    """The choice with larger chunks: as large as pays where the machine says what a chunk costs, and as large as cost less than
    `SHARE` of its time where there are very many."""
    costs = problem.machine.limits.chunk_seconds > 0
    if len(choice.route.channels) == 1:
        return choice  # nothing holds a chunk: it is as large as it should be
    if problem.nbytes <= FEW_CHUNKS * choice.chunk and not costs:
        return choice
    own = clock
    if any(channel.conversion_setup for channel in choice.route.channels):  # which of them are paid the layouts tell
        way = orders_along(problem, choice, buffer_layouts(problem, choice))
        own = path_clock(problem.transfer, problem.machine, choice.route.channels, way, problem.slots, choice.route.pace)
    search = None if choice.family is None else BlockSearch(problem, choice.route, own, choice.family)

    best = choice
    if costs:  # what cannot be made larger block by block is looked for anew
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


def as_compared(problem: Problem, choice: Choice, clock: Clock) -> Choice:
    """The choice as it is compared with those of other routes: with the chunks it would have, where the machine says what these
    cost. In large chunks another route may be the best, and one of fewer hops."""
    return with_larger_chunks(problem, choice, clock) if problem.machine.limits.chunk_seconds > 0 else choice


def _larger(problem: Problem, choice: Choice, clock: Clock, search: BlockSearch | None) -> list[Choice]:
    """The choice with about twice the chunk: a larger block where that is possible, else more blocks."""
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
    else:  # everything, with all padding there is
        times, chunk = chunks.blocks / chunks.per_chunk, problem.nbytes
    slot = math.ceil(times * choice.slot)
    if slot > problem.limit(choice.route.inside):
        return []
    seconds = clock.seconds(chunk, choice.runs)
    return [choice._replace(seconds=seconds, per_chunk=math.ceil(times * choice.per_chunk), chunk=chunk, slot=slot)]
