"""The constraints of a path (Isometry, section 4.2) with the figures of a plan: which of them hold, and what is missing.

The program of a path has the same constraints with block sizes as unknowns. Here all decisions are made, by a planner or by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from isoviz.planner.by_hand.limits import limits_of_path, limits_together
from isoviz.planner.options import Options
from isoviz.planner.path_plan import Constraint
from isoviz.planner.problem import Problem

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.plan import Plan


def constraints_of(plan: Plan, machine: Machine, throughput: float, options: Options | None = None) -> tuple[Constraint, ...]:
    """The constraints of every path of a plan for a wanted `throughput`, hop by hop, then those of whole paths.

    Several paths each take the share of the throughput that they have of the bytes. `options` are those that the plan was made
    with.
    """
    problem = Problem(plan.transfer, machine, Options.given(options))
    found: list[Constraint] = []
    hops = 0
    in_turn = _in_turn(plan)
    for path in plan.paths:
        found += _of_hops(path, plan, throughput * _share(plan, path), in_turn, hops)
        found += limits_of_path(path, problem, hops)
        found += _of_resources(path, problem, throughput * _share(plan, path))
        hops += len(path.hops)
    return (*found, *limits_together(plan.buffers, problem))


def _share(plan: Plan, path: PathPlan) -> float:
    """The share of a path of the bytes of its plan."""
    return path.bytes / plan.bytes if plan.bytes else 1.0


def _in_turn(plan: Plan) -> dict[str, float]:
    """For every channel that several hops use, the bytes per second of the plan that it sustains for all of them."""
    uses: dict[str, list[float]] = {}
    for path in plan.paths:
        for hop, rate in zip(path.hops, path.rates, strict=True):
            uses.setdefault(hop.channel, []).append(_share(plan, path) / rate if rate else math.inf)
    return {name: 1 / sum(seconds) for name, seconds in uses.items() if len(seconds) > 1}


def _of_hops(path: PathPlan, plan: Plan, throughput: float, in_turn: Mapping[str, float], first: int) -> Iterator[Constraint]:
    last, share = len(path.hops) - 1, _share(plan, path)
    asked = (each.allowed for each in plan.violations if each.constraint == "shuffle")
    held = min([path.chunk_bytes, *asked])
    for hop, rate in enumerate(path.rates):
        channel = path.hops[hop].channel
        yield Constraint("throughput", first + hop, channel, throughput, in_turn[channel] * share if channel in in_turn else rate)
        if 0 < hop < last and path.hops[hop].converts:
            yield Constraint("shuffle", first + hop, channel, path.shuffles[hop], held)


def _of_resources(path: PathPlan, problem: Problem, throughput: float) -> Iterator[Constraint]:
    for costs, name in zip(path.shares, path.resources, strict=True):
        capacity = problem.machine.resource(name).capacity
        yield Constraint("resource", None, name, throughput * sum(costs) * capacity, capacity)
