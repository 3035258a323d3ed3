"""The best layouts, block sizes and chunk for one route: the least T within its limits.

1. Where log tp is concave in log r, T is convex in the logarithms of block sizes and chunk: it is a maximum of posynomials. So a
   section search finds its minimum.
2. Where some throughput function is not concave, all sizes are tried as long as there are few.
3. T is flat at its minimum. So large sizes are chosen among round numbers, with five significant bits. They are at most 3 % from
   the optimum, which costs T far less than a thousandth. Kernels and disks are faster with them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.layouts import ChunkSequence
from isoviz.planner.one_path.blocked import BlockSearch, best_blocked
from isoviz.planner.one_path.buffer_needs import buffer_layouts, chunk_sequence, evaluated, exact_if_needed, orders_along
from isoviz.planner.one_path.hop_facts import path_clock, stored_bytes
from isoviz.planner.one_path.non_nesting import best_non_nesting, with_exact_runs
from isoviz.planner.one_path.one_layout import best_one_layout, chunk_multiple
from isoviz.planner.time.path_time import Clock
from isoviz.planner.tuning import ASKED_STEPS, CHUNK_GROWTH_SHARE, FEW_CHUNKS, WORKED_OUT_STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem


# Larger chunks than those of the least T, where they cost next to nothing.
#
# T is flat around its minimum, and the minimum often lies at chunks of a few KiB: throughput functions include the
# cost of a run, but not the cost of a chunk to an engine. So a transfer of very many chunks takes the largest chunks
# that raise T by less than a thousandth, in sizes that suit kernels. A transfer of few chunks keeps its chunks, unless
# the machine states a cost per chunk.


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


def lower_bound(problem: Problem, route: Route, clock: Clock) -> float:
    """A lower bound on T of all choices for a route, in seconds: every run as long as it can be, nothing for filling the
    pipeline."""
    chunk = min(max(problem.limit(route.inside), problem.entry), problem.nbytes)
    runs = problem.runs(len(route.channels), _single_conversion_hop(problem, route))
    timing = clock.timing(chunk, runs, clock.most_rates(chunk, runs))
    return clock.setup + problem.nbytes / timing.throughput if timing.throughput > 0 else math.inf


def _single_conversion_hop(problem: Problem, route: Route) -> int | None:
    """The hop with the run of the conversion; None where other layouts may spread the conversion over several hops
    (`one_layout`)."""
    between = route.converting not in (None, 0, len(route.channels) - 1)
    spread = problem.has_short_runs and not (problem.ends.nesting and between)
    return None if spread and len(route.channels) > 1 else route.converting


def lower_bounds(problem: Problem, routes: Sequence[Route]) -> list[float]:
    """`lower_bound` for several routes."""
    steady = problem.machine.limits.overlap and problem.slots > 1 and problem.moves_whole
    found = []
    for route in routes:
        pace, at = route.pace, _single_conversion_hop(problem, route)
        if not steady or pace.uses_resources:
            found.append(lower_bound(problem, route, clock_of(problem, route)))
            continue
        # All hops but the converting one move whole chunks, and the slowest hop decides.
        chunk = min(max(problem.limit(route.inside), problem.entry), problem.nbytes)
        try:
            period = route.slowest(chunk)
            if at is not None:
                period = max(period, pace.hop_seconds(at, chunk, problem.ends.run))
        except ZeroDivisionError:  # such runs move nothing
            found.append(math.inf)
        else:
            more = 0.0 if route.converting is None else route.channels[route.converting].least_conversion
            found.append(pace.setup + more + problem.nbytes / (chunk / period))
    return found


def clock_of(problem: Problem, route: Route) -> Clock:
    """The clock of a route for this problem."""
    converting = () if route.converting is None else (route.converting,)
    gaps = problem.end_runs
    ends = stored_bytes(problem.transfer) if route.pace.has_sized_costs else None
    return Clock(problem.machine, route.channels, problem.nbytes, problem.slots, route.pace, converting, gaps=gaps, ends=ends)


def best_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    """The fastest choice for a route whose converting hop converts.

    None where the smallest chunk does not fit the limits, or where every choice is dominated by converting in another hop of the
    route.
    """
    found = _known_choice(problem, route, clock)
    if found is None or not problem.ends.regular or route.converting in (None, 0, len(route.channels) - 1):
        return found
    before, after, *_ = buffer_layouts(problem, found)
    return found if before != after else None  # with such small blocks the conversion is at one of the ends


def _known_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    key = route.names, route.converting
    if key not in problem.choices:  # several planners may ask for the same route
        before = clock.asked
        found = _best_choice(problem, route, clock)
        problem.work.add(WORKED_OUT_STEPS + ASKED_STEPS * (clock.asked - before))
        # Only the layouts say which hops pay costs that are not fixed.
        problem.choices[key] = found if found is None or route.pace.has_fixed_costs else evaluated(problem, found)
    return problem.choices[key]


def _best_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    if route.converting in (None, 0, len(route.channels) - 1):
        return best_one_layout(problem, route, clock)
    if problem.ends.regular:
        return best_blocked(problem, route, clock)
    found = [best_non_nesting(problem, route, clock)]
    if problem.ends.nesting and (choice := best_blocked(problem, route, clock)) is not None:
        found.append(with_exact_runs(problem, choice, clock))
    several = [evaluated(problem, choice) for choice in found if choice is not None]
    if not several:
        return None
    goal = min(choice.seconds for choice in several) * (1 + CHUNK_GROWTH_SHARE)
    return min((choice for choice in several if choice.seconds <= goal), key=lambda each: (_chunks(problem, each), *each.key))


def _chunks(problem: Problem, choice: Choice) -> int:
    """The exact number of chunks. T counts bytes, so it ignores the small blocks at the end of every row of a digit that is not
    cut evenly."""
    assert choice.layout_before is not None
    layout, outer = choice.layout_before
    return -(-ChunkSequence(layout.on(problem.transfer.space, problem.transfer.fields), outer).blocks // choice.per_chunk)


def best_feasible_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    """The best choice for a route, even where converting in another of its hops dominates it; None where nothing fits the limits.

    The families of layouts omit such choices (`intermediate.intermediate_layouts`). Planners that have only this route take
    blocks that are boxes.
    """
    found = _known_choice(problem, route, clock)
    between = route.converting not in (None, 0, len(route.channels) - 1)
    if found is None and between and (choice := best_non_nesting(problem, route, clock)) is not None:
        return evaluated(problem, choice)
    return found
