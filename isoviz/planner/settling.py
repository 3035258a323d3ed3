"""From the fastest sizes to those worth having: larger chunks, in powers of two, where they cost next to nothing.

T hardly changes around its minimum, and it often lies at chunks of a few KiB: the throughput functions hold what a run costs,
not what a chunk costs an engine. So a transfer of very many chunks takes the largest ones that cost less than a thousandth of
T, in sizes that kernels like. Transfers of few chunks stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.planner.blocked import Blocked
from isoviz.planner.sizes import at_least

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    best = choice
    while problem.nbytes > MANY * best.chunk:
        larger = [each for each in _larger(problem, best, clock) if each.seconds <= goal]
        if not larger:
            break
        best = min(larger, key=lambda each: each.key)
    return best


def _larger(problem: Problem, choice: Choice, clock: Clock) -> Iterator[Choice]:
    """The choice with about twice the chunk: a larger block where that is possible, else more blocks."""
    blocks = False
    if choice.shape is not None:
        search = Blocked(problem, choice.route, clock, choice.shape)
        for a, b in ((_doubled(search.a, choice.a), choice.b), (choice.a, _doubled(search.b, choice.b))):
            larger = search.at(a, b, choice.per_chunk)
            if larger is not None and larger.chunk > choice.chunk:
                blocks = True
                yield larger
    boxes = choice.every_block_a_box or (choice.shape is not None and choice.shape.scattered)
    if not blocks and not boxes and 2 * choice.slot <= problem.limit(choice.route.inside):
        chunk = min(2 * choice.chunk, problem.nbytes)
        seconds = clock.seconds(chunk, choice.runs)
        yield replace(choice, seconds=seconds, per_chunk=2 * choice.per_chunk, chunk=chunk, slot=2 * choice.slot)


def _doubled(sizes: Sequence[int], size: int) -> int:
    """The next power of two where a digit can be cut there, else the first possible cut above, or the largest."""
    power = 1 << size.bit_length()
    return power if sizes[-1] > power and power in sizes else at_least(sizes, power)
