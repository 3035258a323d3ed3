"""Planners of one path: `simple` (Isometry, section 4.4), `spsl` and `spdl` (section 6.3), and `direct`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.errors import NoPathError
from isoviz.planner.build_plan import make_plan
from isoviz.planner.failures import limits_too_small, no_throughput
from isoviz.planner.one_path.chunk_size import with_larger_chunks
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of
from isoviz.planner.planners.shortest_routes import Path, routes_along, shortest, with_memcpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.plan import Plan
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def simple(problem: Problem) -> Plan:
    """The shortest path, whose first Memcpy channel converts the layout.

    If the path has no Memcpy channel, the planner adds the Memcpy self-loop of the first CPU memory that has one (Isometry,
    section 4.4). If there is none either (a copy within a GPU), the hop that makes the path fastest converts, and a note says so.
    """
    choice, clock = simple_choice(problem)
    route, notes = choice.route, []
    if not route.has_memcpy and problem.ends.converts:
        channel = route.channels[route.converting or 0]
        way = f"from {channel.source} to {channel.destination}"
        notes.append(f"no Memcpy channel on this path: the layout is converted on the way {way}")
    return make_plan(problem, with_larger_chunks(problem, choice, clock), clock, "simple", notes)


def simple_choice(problem: Problem) -> tuple[Choice, Clock]:
    """The choice of `simple`, with the times of its route."""
    return best_along(problem, *simple_path(problem))


def simple_path(problem: Problem) -> tuple[Path, Sequence[int | None]]:
    """The path of `simple`, and the hops that may convert."""
    path = shortest(problem.part, problem.transfer)
    if not problem.ends.converts:
        return path, (None,)
    path, at = with_memcpy(problem.part, path)
    return path, (at,) if at is not None else range(len(path) - 1)


def spsl(problem: Problem) -> Plan:
    """Shortest path, source layout in every buffer: the last hop converts (Isometry, section 6.3)."""
    path = shortest(problem.part, problem.transfer)
    return _plan(problem, path, (len(path) - 2 if problem.ends.converts else None,), "spsl")


def spdl(problem: Problem) -> Plan:
    """Shortest path, destination layout in every buffer: the first hop converts (Isometry, section 6.3)."""
    path = shortest(problem.part, problem.transfer)
    return _plan(problem, path, (0 if problem.ends.converts else None,), "spdl")


def direct(problem: Problem) -> Plan:
    """One channel from source to destination, no intermediate buffer.

    Raises:
        NoPathError: no such channel.
    """
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    if not problem.machine.between(here, there):
        raise NoPathError(
            f"machine {problem.machine.name}: no channel leads directly from {here} to {there}; planner 'full' finds a path"
        )
    return _plan(problem, (here, there), (0 if problem.ends.converts else None,), "direct")


def _plan(problem: Problem, path: Path, converting: Sequence[int | None], planner: str) -> Plan:
    best, clock = best_along(problem, path, converting)
    return make_plan(problem, with_larger_chunks(problem, best, clock), clock, planner)


def best_along(problem: Problem, path: Path, converting: Sequence[int | None]) -> tuple[Choice, Clock]:
    """The best choice along one path of memories, over its parallel channels.

    Raises:
        LimitError: not even one entry fits the limits; the message says which limits would be enough.
    """
    best: tuple[Choice, Clock] | None = None
    for at in converting:
        for route in routes_along(problem, path, at):
            clock = clock_of(problem, route)
            choice = best_feasible_choice(problem, route, clock)
            if choice is not None and (best is None or choice.key < best[0].key):
                best = choice, clock
    if best is None:
        raise limits_too_small(problem, [path[1:-1]])
    choice, clock = best
    if math.isinf(choice.seconds):
        raise no_throughput(problem)
    return choice, clock
