"""The planner `auto`: it plans while that costs less than it can save."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isoviz.planner.full import listed_routes, with_bounds
from isoviz.planner.multipath.reasons import are_links_named, may_pay
from isoviz.planner.multipath.tuning import AUTO_GAIN
from isoviz.planner.one_path.fewest_hops import FewestHops
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of, with_comparable_chunks
from isoviz.planner.planners.full_planner import full_within, made_plan, routes_along, shortest, simple, simple_path
from isoviz.planner.planners.multipath_planner import multipath
from isoviz.planner.planning_work import NO_COST, PLAN_STEPS, ROUTE_STEPS, STEPS_PER_SECOND, Work, work_of
from isoviz.planner.search.first_look import first_look
from isoviz.planner.search.tuning import listed_steps, look_steps, search_steps, worked_out_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.paths.routes import Route
    from isoviz.planner.plan import Plan
    from isoviz.planner.problem import Problem


def auto(problem: Problem) -> Plan:
    """The plan for which planning and transfer together take least, as far as counted steps can tell.

    Isometry (section 4.4) switches from `simple` to `full` where the transfer is large. Here the saving decides:

    1. The shortest path is known at once, and so is a lower bound of its T. A small transfer ends here, with the plan of `simple`
       or a plan of the same path that converts elsewhere.
    2. If it may pay, all paths are bounded. Where they are listed, each has its bound. Where they are too many to list, a first
       look (`search.first_look`) gives a lower bound for all of them, and routes that may come close to it.
    3. These routes are worked out, the least bound first, while the next one can save more than it costs.
    4. `full` searches on while it costs less than it can still save: the best T so far less the least bound.

    Where `full` costs next to nothing beside the transfer, it plans at once, since it proves its plan. In the end several paths
    are planned, where a bound on their rate allows that they save enough (`reasons`). They are taken where they save more
    than 5 %, and where all their channels name the links that they share. Steps are counted, not measured (`planning_work`), so
    the plan is the same on every computer.
    """
    work = work_of(problem.options, sparing=True)
    one = _one_path(problem, work)
    if not may_pay(problem, one.mean, work):
        return one
    several = multipath(problem, work, one)
    pays = len(several.paths) > 1 and several.mean < one.mean * (1 - AUTO_GAIN)
    return several if pays and are_links_named(several, problem.machine) else one


def _one_path(problem: Problem, work: Work) -> Plan:
    short = with_bounds(problem, _short_routes(problem))
    least = min(bound for _, bound in short)
    if _costs_nothing(problem, least):
        return full_within(problem, work_of(problem.options))
    known, tried = _bounds_that_pay(problem, least, work), FewestHops(problem)
    found = _best_that_pays(problem, [*short, *known.routes], known.lower, work, tried)
    if found is not None and known is _NOTHING_KNOWN:  # T may be far above its bound
        known = _bounds_that_pay(problem, problem.with_cost(found), work)
        found = _best_that_pays(problem, known.routes, known.lower, work, tried)
    if found is None or _search_pays(problem, problem.with_cost(found) - known.lower, work):
        return full_within(problem, work, known.seeds)
    if found.route in _simple_routes(problem):
        return simple(problem)
    return made_plan(problem, found, clock_of(problem, found.route), "auto")


class _Known(NamedTuple):
    """What is known of all paths: a lower bound of T in seconds, routes with their bounds, and those to begin a search with."""

    lower: float
    routes: Sequence[tuple[Route, float]]
    seeds: tuple[Route, ...] = ()


_NOTHING_KNOWN = _Known(0.0, ())


def _bounds_that_pay(problem: Problem, seconds: float, work: Work) -> _Known:
    """Bounds of all paths, if they cost less than they can save of `seconds`: the least bound of T of the shortest path, or T."""
    if not work.may_continue(seconds, PLAN_STEPS):
        return _NOTHING_KNOWN  # a list of routes takes time on a machine that is new
    listed = listed_routes(problem)
    steps = look_steps(problem) if listed is None else ROUTE_STEPS * len(listed)
    if not work.may_continue(seconds, steps):
        return _NOTHING_KNOWN
    work.add(steps)
    if listed is None:
        lower, seeds = first_look(problem)
        return _Known(lower, with_bounds(problem, seeds), seeds)
    bounds = with_bounds(problem, listed)
    return _Known(min((bound for _, bound in bounds), default=0.0), bounds)


def _short_routes(problem: Problem) -> list[Route]:
    """The routes of `simple`, and those of the shortest path that convert at an end."""
    path = shortest(problem.part, problem.transfer)
    ends = (0, len(path) - 2) if problem.ends.converts else (None,)
    more = [route for at in ends for route in routes_along(problem, path, at)]
    return list(dict.fromkeys((*_simple_routes(problem), *more)))


def _simple_routes(problem: Problem) -> list[Route]:
    path, converting = simple_path(problem)
    return [route for at in converting for route in routes_along(problem, path, at)]


def _best_that_pays(
    problem: Problem,
    bounds: Sequence[tuple[Route, float]],
    lower: float,
    work: Work,
    known: FewestHops,
) -> Choice | None:
    """The best choice of those routes that are worth working out, where no plan takes less than `lower` seconds; None where no
    chunk fits.

    `bounds` holds the routes with their lower bounds; `known` holds the best choices so far.
    """
    steps = worked_out_steps(problem)
    for route, bound in sorted(bounds, key=lambda each: each[1]):
        best, hops = known.winner, len(route.channels)
        if best is not None:
            may_win = hops < len(best.route.channels) and bound <= known.goal(hops)  # with fewer hops: it need not save
            if not may_win and not work.may_continue(problem.with_cost(best) - max(bound, lower), steps):
                continue
        if (route.names, route.converting) in problem.choices:
            continue
        problem.work = work
        clock = clock_of(problem, route)
        choice = best_feasible_choice(problem, route, clock)
        if choice is not None:
            known.add(with_comparable_chunks(problem, choice, clock))
    return known.winner


def _costs_nothing(problem: Problem, seconds: float) -> bool:
    """Whether `full` costs nothing beside a transfer of `seconds` seconds a start: its paths are listed, and few."""
    most = NO_COST * seconds * problem.reuse * STEPS_PER_SECOND
    if most < listed_steps(problem, 0):
        return False
    routes = listed_routes(problem)
    return routes is not None and listed_steps(problem, len(routes)) <= most


def _search_pays(problem: Problem, saving: float, work: Work) -> bool:
    """Whether `full` may save more than it costs, where it can save at most `saving` seconds."""
    if not work.may_continue(saving, listed_steps(problem, 0)):
        return False  # a list of routes takes time on a machine that is new
    routes = listed_routes(problem)
    return work.may_continue(saving, search_steps(problem) if routes is None else listed_steps(problem, len(routes)))
