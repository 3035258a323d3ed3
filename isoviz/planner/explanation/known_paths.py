"""The best plan on paths that are known: an answer in milliseconds where a parameter changes a little."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.planner.build_plan import make_plan
from isoviz.planner.full import RouteKey, search
from isoviz.planner.one_path.fewest_hops import FewestHops
from isoviz.planner.one_path.hop_facts import conversion_hop
from isoviz.planner.one_path.optimum import (
    best_feasible_choice,
    clock_of,
    lower_bounds,
    with_comparable_chunks,
    with_larger_chunks,
)
from isoviz.planner.options import options_about
from isoviz.planner.paths.routes import Route
from isoviz.planner.planning_work import Work
from isoviz.planner.problem import Problem, channels_in_mean
from isoviz.planner.tuning import ASKED_STEPS, WORKED_OUT_STEPS

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.options import Options
    from isoviz.planner.plan import Plan

MOST_PATHS = 60
"""The most paths that are remembered for a plan: those with the least bounds."""


def compared_paths(plan: Plan, machine: Machine, options: Options) -> tuple[RouteKey, ...]:
    """The paths that the planner `full` compares for the transfer of a plan on a machine, the path of the plan first.

    Raises:
        TransferError: the plan has several paths. Others as `isoviz.planner.full.search`.
    """
    own = path_of(plan)
    found = search(Problem(plan.transfer, machine, options_about(plan, options)), own, everything=True)
    by_bound = sorted(found.bounds, key=lambda each: each[1])[:MOST_PATHS]
    return tuple(dict.fromkeys([own, *((route.names, route.converting) for route, _ in by_bound)]))


def path_of(plan: Plan) -> RouteKey:
    """The path of a plan, as `best_of_paths` takes it."""
    return tuple(hop.channel for hop in plan.hops), conversion_hop(plan.transfer, plan.orders)


def best_of_paths(problem: Problem, paths: Sequence[RouteKey], work: Work | None = None) -> Plan | None:
    """The fastest plan on some paths; None where none has room. As in a search, a path whose bound cannot win is not worked out.

    The first path is worked out in any case, the others by growing bound, until `work` is done (None: all).

    Raises:
        MachineError: a channel that the machine does not have.
    """
    routes = [Route(channels_in_mean(problem, names), hop) for names, hop in paths]
    bounds = lower_bounds(problem, routes)
    first, *others = range(len(routes))
    work = work or Work(math.inf)
    known = FewestHops(problem)
    for place in [first, *sorted(others, key=bounds.__getitem__)]:
        if known.winner is not None and (bounds[place] > known.goal(len(routes[place].channels)) or work.is_done):
            continue
        clock = clock_of(problem, routes[place])
        choice = best_feasible_choice(problem, routes[place], clock)
        work.add(WORKED_OUT_STEPS + ASKED_STEPS * clock.asked)
        if choice is None or math.isinf(choice.seconds):
            continue
        known.add(with_comparable_chunks(problem, choice, clock))
    best = known.winner
    if best is None:
        return None
    clock = clock_of(problem, best.route)
    done = problem.machine.limits.chunk_seconds > 0  # the comparison took larger chunks already
    return make_plan(problem, best if done else with_larger_chunks(problem, best, clock), clock, "full")
