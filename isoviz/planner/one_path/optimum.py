"""The best layouts, block sizes and chunk for one route: the least T that its limits allow.

Where log tp is concave in log r, T is convex in the logarithms of the block sizes and of the chunk (a maximum of posynomials),
so that a section search finds its minimum; where some function is not, every size is tried as long as there are few. T is flat
at its minimum: large sizes are therefore chosen among round numbers, with five significant bits. They are at most 3 % from the
optimum, which costs T far less than a thousandth, and kernels and disks like them better.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.layouts import ChunkSequence
from isoviz.planner.one_path.blocked import blocked
from isoviz.planner.one_path.buffer_needs import evaluated, held_by
from isoviz.planner.one_path.non_nesting import boxed, measured
from isoviz.planner.one_path.one_layout import plain
from isoviz.planner.time.path_time import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.problem import Problem

NEARLY = 1e-3
"""What fewer chunks may cost, as a share of T."""


def lower_bound(problem: Problem, route: Route, clock: Clock) -> float:
    """Less than this no choice for the route takes: every run as long as it can be, nothing to fill the pipeline with."""
    chunk = min(max(problem.limit(route.inside), problem.entry), problem.nbytes)
    runs = problem.runs(len(route.channels), _paying(problem, route))
    timing = clock.timing(chunk, runs, clock.most_rates(chunk, runs))
    return clock.setup + problem.nbytes / timing.throughput if timing.throughput > 0 else math.inf


def _paying(problem: Problem, route: Route) -> int | None:
    """The hop that has the run of the conversion; None where other layouts may spread it over several hops (`plain`)."""
    between = route.converting not in (None, 0, len(route.channels) - 1)
    spread = problem.spread and not (problem.ends.nesting and between)
    return None if spread and len(route.channels) > 1 else route.converting


def lower_bounds(problem: Problem, routes: Sequence[Route]) -> list[float]:
    """`lower_bound` of many routes."""
    steady = problem.machine.limits.overlap and problem.slots > 1 and problem.whole
    found = []
    for route in routes:
        pace, at = route.pace, _paying(problem, route)
        if not steady or pace.uses_resources:
            found.append(lower_bound(problem, route, clock_of(problem, route)))
            continue
        # Every hop moves whole chunks, but for the one that converts; and the slowest decides.
        chunk = min(max(problem.limit(route.inside), problem.entry), problem.nbytes)
        try:
            period = route.slowest(chunk)
            if at is not None:
                period = max(period, chunk / pace.functions[at](min(problem.ends.run, chunk)))
        except ZeroDivisionError:  # such runs move nothing
            found.append(math.inf)
        else:
            more = 0.0 if route.converting is None else route.channels[route.converting].least_conversion
            found.append(pace.setup + more + problem.nbytes / (chunk / period))
    return found


def clock_of(problem: Problem, route: Route) -> Clock:
    """The clock of a route for what moves."""
    converting = () if route.converting is None else (route.converting,)
    return Clock(problem.machine, route.channels, problem.nbytes, problem.slots, route.pace, converting)


def best_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    """The fastest choice for a route whose converting hop converts; None where not even the smallest chunk fits its limits, or
    where every choice for it loses against converting in another of its hops."""
    found = _known_choice(problem, route, clock)
    if found is None or not problem.ends.regular or route.converting in (None, 0, len(route.channels) - 1):
        return found
    before, after, *_ = held_by(problem, found)
    return found if before != after else None  # the blocks are so small that one of the ends converts


def _known_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    key = route.names, route.converting
    if key not in problem.choices:  # two planners ask for the same route
        found = _best_choice(problem, route, clock)
        # Of some costs only the layouts tell which hops pay them.
        problem.choices[key] = found if found is None or route.pace.has_fixed_costs else evaluated(problem, found)
    return problem.choices[key]


def _best_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    if route.converting in (None, 0, len(route.channels) - 1):
        return plain(problem, route, clock)
    if problem.ends.regular:
        return blocked(problem, route, clock)
    found = [boxed(problem, route, clock)]
    if problem.ends.nesting and (choice := blocked(problem, route, clock)) is not None:
        found.append(measured(problem, choice, clock))
    several = [evaluated(problem, choice) for choice in found if choice is not None]
    if not several:
        return None
    goal = min(choice.seconds for choice in several) * (1 + NEARLY)
    return min((choice for choice in several if choice.seconds <= goal), key=lambda each: (_chunks(problem, each), *each.key))


def _chunks(problem: Problem, choice: Choice) -> int:
    """How many chunks there really are. T counts bytes: it does not see the small blocks that are left over at the end of every
    row where a digit is not cut evenly."""
    assert choice.part is not None
    layout, outer = choice.part
    return -(-ChunkSequence(layout.on(problem.transfer.space, problem.transfer.fields), outer).blocks // choice.per_chunk)


def any_choice(problem: Problem, route: Route, clock: Clock) -> Choice | None:
    """The best choice for a route, even where every choice for it loses against converting in another of its hops.

    The families of layouts leave those out (`shapes`); planners that have only this route take boxes.
    """
    found = _known_choice(problem, route, clock)
    between = route.converting not in (None, 0, len(route.channels) - 1)
    if found is None and between and (choice := boxed(problem, route, clock)) is not None:
        return evaluated(problem, choice)
    return found
