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
from isoviz.planner.one_path.blocked import best_blocked
from isoviz.planner.one_path.buffer_needs import buffer_layouts, evaluated
from isoviz.planner.one_path.hop_facts import stored_bytes
from isoviz.planner.one_path.non_nesting import best_non_nesting, with_exact_runs
from isoviz.planner.one_path.one_layout import best_one_layout
from isoviz.planner.time.path_time import Clock
from isoviz.planner.tuning import ASKED_STEPS, CHUNK_GROWTH_SHARE, WORKED_OUT_STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem


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
    spread = problem.spread and not (problem.ends.nesting and between)
    return None if spread and len(route.channels) > 1 else route.converting


def lower_bounds(problem: Problem, routes: Sequence[Route]) -> list[float]:
    """`lower_bound` for several routes."""
    steady = problem.machine.limits.overlap and problem.slots > 1 and problem.whole
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
