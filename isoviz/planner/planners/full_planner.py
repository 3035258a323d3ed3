"""The planner `full`: every path, every intermediate layout and every block size (Isometry, section 4.2)."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.errors import LimitError, NoPathError
from isoviz.planner.build_plan import make_plan
from isoviz.planner.cache import CACHE
from isoviz.planner.full import RouteKey, listed_routes, search
from isoviz.planner.one_path.chunk_size import with_comparable_chunks, with_larger_chunks
from isoviz.planner.one_path.fewest_hops import FewestHops
from isoviz.planner.one_path.optimum import clock_of
from isoviz.planner.planners.one_path_planners import best_along, simple_choice
from isoviz.planner.planners.shortest_routes import shortest
from isoviz.planner.planning_work import Work, work_of
from isoviz.units import format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.plan import Plan
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


def full(problem: Problem) -> Plan:
    """The fastest path, layouts, blocks and chunk (Isometry, section 4.2).

    If the planning time does not suffice, the plan is the fastest one found, and never slower than that of `simple`.
    """
    return full_within(problem, work_of(problem.options))


def full_within(
    problem: Problem, work: Work, more: Sequence[Route] = (), *, first: RouteKey | None = None, within: float = 0.0
) -> Plan:
    """The plan of `full` within a bound of work; a search begins with the routes in `more`, a list of routes with `first`.

    `within`: see `search`.
    """
    if listed_routes(problem) is None:
        # No path from the cache: what a search finds that is stopped depends on the paths that it begins with.
        seeds = list(more)
        with contextlib.suppress(LimitError, NoPathError):  # another path may exist, or have room
            seeds.append(simple_choice(problem)[0].route)
        found = search(problem, work=work, seeds=seeds)
    else:
        found = search(problem, first or CACHE.path(problem), work=work, within=within)
        CACHE.keep_path(problem, found.best.route.names, found.best.route.converting)
    best = found.best.route
    choice, clock = found.best, found.clock(best)
    if not problem.ends.regular or (problem.machine.limits.overlap and problem.slots == 1):
        # The search does not try all paths separately here, so compare its result with the planners of one path.
        path = shortest(problem.part, problem.transfer)
        ends = (0, len(path) - 2) if problem.ends.converts else (None,)
        known = FewestHops(problem)
        known.add(choice)
        for planner in (simple_choice, lambda problem: best_along(problem, path, ends)):
            with contextlib.suppress(LimitError, NoPathError):  # that path has no room
                other, its_clock = planner(problem)
                known.add(with_comparable_chunks(problem, other, its_clock))
        choice = known.winner or choice
        clock = clock_of(problem, choice.route)
    made = made_plan(problem, choice, clock, "full")
    notes = (*made.notes, stopped_note(found.gap, used_up=work.is_done)) if found.stopped else made.notes
    return replace(made, gap=found.gap, notes=notes)


def stopped_note(gap: float | None, *, used_up: bool = True) -> str:
    """The note for a plan that was the best one when planning stopped: `planning_time` was used up, or planning cost too much."""
    said = "nothing is proved of what was not looked at" if gap is None else f"at most {format_share(gap)} above the optimum"
    why = "planning_time was used up before all was searched" if used_up else "it stopped where it cost more than it can save"
    return f"{why}: {said}"


def made_plan(problem: Problem, choice: Choice, clock: Clock, planner: str) -> Plan:
    """The plan of a choice, with larger chunks where these cost next to nothing."""
    done = problem.machine.limits.chunk_seconds > 0  # larger chunks were compared already
    return make_plan(problem, choice if done else with_larger_chunks(problem, choice, clock), clock, planner)
