"""The full planner: the best of all paths, layouts, blocks and chunks (Isometry, section 4.2).

Two cases are treated differently.

1. The machine is small or uniform. Then few of its paths are undominated: no other path is at least as good for every transfer.
   These routes are listed once per machine (`paths.routes`). A transfer works out a route only while the lower bound of the route
   is below the best time found. The bound assumes that every run is as long as it can be and that filling the pipeline costs
   nothing.
2. The machine has too many paths to list, such as a dozen memories, each with links of its own. Then every transfer is searched
   separately by branch and bound (`search`), best bound first. The search stops when its work is done (`planning_work`). It then
   says how far from the optimum its best choice can be at most.

The search alone would suffice, but it is slower: on 40 transfers (four presets) both found the same optimum, and the search took
16 to 23 ms in the median, once 6.6 s, the list 2 to 13 ms.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import NoPathError
from isoviz.machines import shortest_path
from isoviz.planner.one_path.fewest_hops import FewestHops
from isoviz.planner.one_path.optimum import best_choice, clock_of, lower_bounds, with_comparable_chunks
from isoviz.planner.paths.route_search import RouteQuery
from isoviz.planner.paths.routes import Route, forget_routes, routes_of
from isoviz.planner.planning_work import Work, work_of
from isoviz.planner.problem import limits_too_small, no_throughput
from isoviz.planner.search.best_first import BestFirst
from isoviz.planner.search.first_look import first_look
from isoviz.planner.search.links import forget_links
from isoviz.planner.search.tuning import listed_steps
from isoviz.planner.tuning import BOUND_SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Channel
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.time.path_time import Clock


class Candidate(NamedTuple):
    """A route that was considered, with its lower bound in seconds and its best choice.

    `choice` is None where the bound alone excluded the route. Where the machine has a cost per chunk, the bound and the choice
    include it.
    """

    route: Route
    bound: float
    choice: Choice | None
    clock: Clock


@dataclass(frozen=True)
class SearchResult:
    """The result of the search.

    `bounds` holds every route that was considered with its lower bound, in the order of the search. `choices` holds the best
    choice of each route; None where the bound alone excluded it. No choice takes less than `lower` seconds. `left_out` counts the
    dominated paths; it is None where the paths were too many to list. `stopped` says whether the planning time was used up first.
    """

    problem: Problem
    bounds: tuple[tuple[Route, float], ...]
    choices: tuple[Choice | None, ...]
    best: Choice
    lower: float
    left_out: int | None
    stopped: bool = False

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All routes that were considered, in the order of the search."""
        found = zip(self.bounds, self.choices, strict=True)
        return tuple(Candidate(route, bound, choice, self.clock(route)) for (route, bound), choice in found)

    @property
    def gap(self) -> float | None:
        """The largest share by which the best choice can lie above the optimum; None where nothing is proved.

        The search covers all plans only where that is promised. Elsewhere the bound of a first look holds, which is weaker.
        """
        problem, lower = self.problem, 0.0
        if problem.bound_is_proved:
            lower = self.lower
        if problem.bounded and (self.stopped or not problem.bound_is_proved):
            lower = max(lower, first_look(problem).lower)
        return max(0.0, problem.with_cost(self.best) / lower - 1) if lower else None

    def clock(self, route: Route) -> Clock:
        """The clock of a route."""
        return clock_of(self.problem, route)


RouteKey = tuple[tuple[str, ...], int | None]
"""A route by the names of its channels and the number of the hop that converts (None: none converts)."""


def search(
    problem: Problem,
    first: RouteKey | None = None,
    *,
    everything: bool = False,
    work: Work | None = None,
    seeds: Sequence[Route] = (),
    within: float = 0.0,
) -> SearchResult:
    """Find the best choice over all routes.

    `first` names a route to begin with; `seeds` are further routes to try early. Where the routes are listed, neither affects the
    best choice. `everything` asks for rivals as well: all routes, or the best of them where they are too many to list. `work`
    bounds the search and counts its steps; None takes the bound of the options. Of listed routes, those are left out that can be
    faster by a share of `within` at most.

    Raises:
        NoPathError: no channels lead to the destination, or every path moves nothing.
        LimitError: on no path do the smallest chunks fit the limits.
    """
    transfer, machine = problem.transfer, problem.part
    work = work or work_of(problem.options)
    routes = listed_routes(problem)
    here, there = transfer.source.memory, transfer.destination.memory
    if routes is None:
        return _best_first(problem, first, seeds, everything=everything, work=work)
    if not routes:
        shortest_path(machine, here, there)  # raises an error that names the reachable memories
        raise NoPathError(f"machine {machine.name}: no channels lead from {here} back to it")
    work.add(listed_steps(problem, len(routes)))  # a path from the cache must not change the count
    # Where requests or runs have costs of their own, a route takes long: all of them may be more than the bound allows.
    slow = any(each.has_windows or any(cost.is_sized for cost in each.costs) for each in machine.channels)
    problem.work = work if slow else Work(math.inf)
    order = sorted(with_bounds(problem, routes), key=lambda each: each[1])
    if first is not None and not slow:  # what a search finds that is stopped depends on the path that it begins with
        order.sort(key=lambda each: (each[0].names, each[0].converting) != first)
    known = FewestHops(problem)
    choices: list[Choice | None] = []
    stopped_at = None
    for route, bound in order:
        choice = None
        if slow and known.winner is not None and work.is_done:
            stopped_at = bound if stopped_at is None else stopped_at
            choices.append(choice)
            continue
        # A bound may exceed the time by rounding: with the slack the best choice does not depend on the order of the routes.
        if everything or bound * (1 - BOUND_SLACK) * (1 + within) <= known.goal(len(route.channels)):
            clock = clock_of(problem, route)
            choice = best_choice(problem, route, clock)
            if choice is not None:
                choice = with_comparable_chunks(problem, choice, clock)
                known.add(choice)
        choices.append(choice)
    best = known.winner
    if best is None:
        raise limits_too_small(problem, [route.inside for route in routes])
    if math.isinf(best.seconds):
        raise no_throughput(problem)
    left_out = routes_of(machine).left_out(route_query(problem))
    lower = problem.with_cost(best) / (1 + within)
    stopped = stopped_at is not None and stopped_at < lower
    if stopped_at is not None:
        lower = min(lower, stopped_at)
    return SearchResult(problem, tuple(order), tuple(choices), best, lower, left_out, stopped)


def with_bounds(problem: Problem, routes: Sequence[Route]) -> list[tuple[Route, float]]:
    """Routes with their lower bounds in seconds: T with all bytes at their best rate, and the cost of a single chunk."""
    bounds = lower_bounds(problem, routes)
    costs = (problem.chunk_cost(problem.nbytes, len(route.channels)) for route in routes)
    return [(route, bound + cost) for route, bound, cost in zip(routes, bounds, costs, strict=True)]


def route_query(problem: Problem) -> RouteQuery:
    """The properties of a problem on which its list of routes depends."""
    ends = problem.transfer.source.memory, problem.transfer.destination.memory
    paired = problem.machine.limits.overlap and problem.slots == 1
    whole = problem.moves_whole and not problem.has_short_runs
    return RouteQuery(*ends, problem.ends.converts, problem.uniform_slots, whole, paired)


def _shortest_cycle(problem: Problem) -> tuple[Channel, ...]:
    """The channels of a short path from a memory back to itself."""
    machine, here = problem.part, problem.transfer.source.memory
    cycles: list[tuple[Channel, ...]] = []
    for channel in machine.outgoing(here):
        with contextlib.suppress(NoPathError):
            back = () if channel.is_self_loop else shortest_path(machine, channel.destination, here)
            cycles.append((channel, *back))
    if not cycles:
        raise NoPathError(f"machine {machine.name}: no channels lead from {here} back to it")
    return min(cycles, key=len)


def listed_routes(problem: Problem) -> tuple[Route, ...] | None:
    """The undominated routes of a problem; None where they are too many to list."""
    return routes_of(problem.part).between(route_query(problem))


def forget_machines() -> None:
    """Drop everything cached per machine: its routes, and its channels as arrays."""
    forget_routes()
    forget_links()


def _best_first(
    problem: Problem, first: RouteKey | None, seeds: Sequence[Route], *, everything: bool, work: Work
) -> SearchResult:
    """Branch and bound, where the paths are too many to list."""
    machine = problem.part
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    shortest = shortest_path(machine, here, there) if here != there else _shortest_cycle(problem)  # raises if there is none
    known = [*seeds]
    if first is not None:
        known.append(Route(tuple(machine.channel(name) for name in first[0]), first[1]))
    begun = BestFirst(problem, routes_of(machine).nodes(here, there), known, work)
    found = begun.run()
    if found.best is None:
        raise limits_too_small(problem, [tuple(channel.destination for channel in shortest[:-1])])
    if math.isinf(found.best.seconds):
        raise no_throughput(problem)
    tried = begun.rivals() if everything else found.tried
    bounds = tuple(with_bounds(problem, [route for route, _ in tried]))
    return SearchResult(problem, bounds, tuple(choice for _, choice in tried), found.best, found.lower, None, found.stopped)
