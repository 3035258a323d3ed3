"""The full planner: every path that can win, best bound first (Isometry, section 4.2).

What keeps it short: `routes` leaves the paths that no other one beats, `shapes` the families of layouts that stand for all, and a
route is looked at only while its bound, every run as long as it can be and nothing to fill the pipeline with, is below the best
time found. Where a machine says what chunks cost an engine, that counts, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import NoPathError
from isoviz.planner.failures import moves_nothing, too_small
from isoviz.planner.optimum import best_choice, clock_of, lower_bounds
from isoviz.planner.routes import routes_of
from isoviz.planner.settling import compared

if TYPE_CHECKING:
    from isoviz.planner.choice import Choice
    from isoviz.planner.problem import Problem
    from isoviz.planner.routes import Route
    from isoviz.planner.timing import Clock


class Candidate(NamedTuple):
    """A route that was considered: its bound in seconds, and the best choice for it, unless its bound already lost. Where the
    machine says what chunks cost, both are of T and of that, and the choice has the chunks that it would have."""

    route: Route
    bound: float
    choice: Choice | None
    clock: Clock


@dataclass(frozen=True)
class Search:
    """What the search found: the `bounds` of all routes, in the order in which it went, and the best choices of those it looked
    at."""

    problem: Problem
    bounds: tuple[tuple[Route, float], ...]
    choices: tuple[Choice | None, ...]
    best: Choice

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All routes, in the order in which the search went."""
        found = zip(self.bounds, self.choices, strict=True)
        return tuple(Candidate(route, bound, choice, self.clock(route)) for (route, bound), choice in found)

    def clock(self, route: Route) -> Clock:
        """The clock of a route."""
        return clock_of(self.problem, route)


def search(problem: Problem, first: tuple[tuple[str, ...], int | None] | None = None, *, everything: bool = False) -> Search:
    """Find the best choice of all; with `everything`, work out the best choice of every route.

    `first` names a route to begin with: channels and the hop that converts. What is found does not depend on it.

    Raises:
        NoPathError: no channels lead there. LimitError: no path has room for the smallest chunk.
    """
    transfer, machine = problem.transfer, problem.machine
    converts = problem.ends.converts
    here, there = transfer.source.memory, transfer.destination.memory
    paired = machine.limits.overlap and problem.slots == 1
    routes = routes_of(machine).between(here, there, converts, alike=problem.alike, whole=problem.whole, paired=paired)
    if not routes:
        machine.shortest_path(here, there)  # says what can be reached
        raise NoPathError(f"machine {machine.name}: no channels lead from {here} back to it")
    bounds = [
        bound + problem.chunk_cost(problem.nbytes, len(route.channels))
        for route, bound in zip(routes, lower_bounds(problem, routes), strict=True)
    ]
    order = sorted(zip(routes, bounds, strict=True), key=lambda each: each[1])
    if first is not None:
        order.sort(key=lambda each: (each[0].names, each[0].converting) != first)
    best: Choice | None = None
    choices: list[Choice | None] = []
    for route, bound in order:
        choice = None
        if everything or best is None or bound <= problem.with_cost(best):
            clock = clock_of(problem, route)
            choice = best_choice(problem, route, clock)
            if choice is not None:
                choice = compared(problem, choice, clock)
                best = choice if best is None else min(best, choice, key=problem.key)
        choices.append(choice)
    if best is None:
        raise too_small(problem, [route.inside for route in routes])
    if math.isinf(best.seconds):
        raise moves_nothing(problem)
    return Search(problem, tuple(order), tuple(choices), best)
