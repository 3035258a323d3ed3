"""From the fastest sizes to those worth having: larger chunks, in powers of two, where they cost next to nothing.

T hardly changes around its minimum, and it often lies at chunks of a few KiB: the throughput functions hold what a run costs,
not what a chunk costs an engine. So a transfer of very many chunks takes the largest ones that cost less than a thousandth of
T, in sizes that kernels like. Transfers of few chunks stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.planner.blocked import Blocked

if TYPE_CHECKING:
    from isoviz.planner.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.timing import Clock

MANY = 256
"""So many chunks are few."""
SHARE = 1e-3
"""What larger chunks may cost, as a share of T."""


def settled(problem: Problem, choice: Choice, clock: Clock) -> Choice:
    """The choice with chunks as large as cost less than `SHARE` of its time."""
    if problem.nbytes <= MANY * choice.chunk or len(choice.route.channels) == 1:
        return choice
    goal = choice.seconds * (1 + SHARE)
    search = None if choice.shape is None else Blocked(problem, choice.route, clock, choice.shape)
    boxes = choice.every_block_a_box or (search is not None and bool(search.scattered))
    best = choice
    while problem.nbytes > MANY * best.chunk:
        # About twice the chunk: a larger block where that is possible, else more blocks.
        larger: list[Choice] = []
        if search is not None:
            for a, b in search.larger(best):
                each = search.at(a, b, best.per_chunk)
                if each is not None and each.chunk > best.chunk:
                    larger.append(each)
        if not larger and not boxes and 2 * best.slot <= problem.limit(best.route.inside):
            chunk = min(2 * best.chunk, problem.nbytes)
            seconds = clock.seconds(chunk, best.runs)
            larger = [best._replace(seconds=seconds, per_chunk=2 * best.per_chunk, chunk=chunk, slot=2 * best.slot)]
        larger = [each for each in larger if each.seconds <= goal]
        if not larger:
            break
        best = min(larger, key=lambda each: each.key)
    return best
