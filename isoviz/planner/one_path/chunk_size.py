"""From the fastest sizes to those worth having: larger chunks, in powers of two, where they cost next to nothing.

T hardly changes around its minimum, and it often lies at chunks of a few KiB: the throughput functions hold what a run costs,
not what a chunk costs an engine. So a transfer of very many chunks takes the largest ones that cost less than a thousandth of
T, in sizes that kernels like. Transfers of few chunks stay as they are, unless the machine says what a chunk costs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.planner.hop_facts import clock_along
from isoviz.planner.one_path.blocked import Blocked
from isoviz.planner.one_path.buffer_needs import checked, chunks_of, evaluated, held_by, way_of
from isoviz.planner.one_path.non_nesting import boxed
from isoviz.planner.one_path.one_layout import plain, shorter_run

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock

MANY = 256
"""So many chunks are few."""
SHARE = 1e-3
"""What larger chunks may cost, as a share of T."""


def settled(problem: Problem, choice: Choice, clock: Clock) -> Choice:
    """The choice with larger chunks: as large as pays where the machine says what a chunk costs, and as large as cost less than
    `SHARE` of its time where there are very many."""
    costs = problem.machine.limits.chunk_seconds > 0
    if len(choice.route.channels) == 1:
        return choice  # nothing holds a chunk: it is as large as it should be
    if problem.nbytes <= MANY * choice.chunk and not costs:
        return choice
    own = clock
    if any(channel.least_conversion for channel in choice.route.channels) or not choice.route.pace.has_fixed_costs:
        # which of them are paid the layouts tell
        way = way_of(problem, choice, held_by(problem, choice))
        own = clock_along(problem.transfer, problem.machine, choice.route.channels, way, problem.slots, choice.route.pace)
    search = None if choice.shape is None else Blocked(problem, choice.route, own, choice.shape)

    best = choice
    if costs:  # what cannot be made larger block by block is looked for anew
        at_an_end = choice.route.converting in (None, 0, len(choice.route.channels) - 1)
        anew = plain if at_an_end else boxed if choice.every_block_a_box else None
        other = anew(problem, choice.route, clock, costs=True) if anew is not None else None
        best = min((choice, evaluated(problem, other) if other is not None else choice), key=problem.with_cost)
    while costs and best.chunk < problem.nbytes:
        larger = min(_larger(problem, best, own, search), key=problem.with_cost, default=best)
        if problem.with_cost(larger) >= problem.with_cost(best):
            break
        best = larger
    goal = best.seconds * (1 + SHARE)
    while problem.nbytes > MANY * best.chunk:
        best_of = [each for each in _larger(problem, best, own, search) if each.seconds <= goal]
        if not best_of:
            break
        best = min(best_of, key=lambda each: each.key)
    return best if best is choice else checked(problem, best)


def compared(problem: Problem, choice: Choice, clock: Clock) -> Choice:
    """The choice as it is compared with those of other routes: with the chunks it would have, where the machine says what these
    cost. In large chunks another route may be the best, and one of fewer hops."""
    return settled(problem, choice, clock) if problem.machine.limits.chunk_seconds > 0 else choice


def _larger(problem: Problem, choice: Choice, clock: Clock, search: Blocked | None) -> list[Choice]:
    """The choice with about twice the chunk: a larger block where that is possible, else more blocks."""
    larger: list[Choice] = []
    if search is not None:
        for a, b in search.larger(choice):
            each = search.at(a, b, choice.per_chunk)
            if each is not None and each.chunk > choice.chunk:
                larger.append(each)
    boxes = choice.every_block_a_box or (search is not None and bool(search.scattered))
    if larger or boxes:
        return larger
    chunks = chunks_of(problem, held_by(problem, choice))
    if 2 * choice.chunk < problem.nbytes:
        times, chunk = 2.0, 2 * choice.chunk
        if choice.shape is None and choice.after is None:
            parts = round(chunk / problem.mean), shorter_run(problem, choice.route.inside, choice.runs)
            if parts[0] > parts[1] and parts[0] % parts[1]:
                return []
    else:  # everything, with all padding there is
        times, chunk = chunks.blocks / chunks.per_chunk, problem.nbytes
    slot = math.ceil(times * choice.slot)
    if slot > problem.limit(choice.route.inside):
        return []
    seconds = clock.seconds(chunk, choice.runs)
    return [choice._replace(seconds=seconds, per_chunk=math.ceil(times * choice.per_chunk), chunk=chunk, slot=slot)]
