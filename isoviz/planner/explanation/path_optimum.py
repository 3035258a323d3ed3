"""The most that a given path sustains, whichever of its hops converts: what a path by hand is compared with."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isoviz.errors import LimitError
from isoviz.planner.explanation.explanation import Region
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of
from isoviz.planner.paths.routes import Route
from isoviz.planner.program.bisection import bisect
from isoviz.planner.program.certificate import path_program
from isoviz.planner.program.path_bound import PathProgram, Solution, feasible_region, solve

if TYPE_CHECKING:
    from isoviz.machines import Channel
    from isoviz.planner.plan import Plan
    from isoviz.planner.problem import Problem


def path_optimum(
    problem: Problem, channels: Sequence[Channel], converting: int | None = None
) -> tuple[PathProgram, Solution] | None:
    """The program of a path that sustains the most, over the hops that may convert; of equal ones that of `converting`.

    None where no block fits the limits on this path.
    """
    hops: list[int | None] = [None]
    if problem.ends.converts:
        hops = sorted(range(len(channels)), key=lambda hop: hop != converting)
    best: tuple[PathProgram, float] | None = None
    for hop in hops:
        route = Route(tuple(channels), hop)
        choice = best_feasible_choice(problem, route, clock_of(problem, route))
        if choice is None or math.isinf(choice.seconds):
            continue
        program = path_program(problem, choice)
        try:
            throughput = bisect(program, prices=False).throughput
        except LimitError:
            continue
        if best is None or throughput > best[1] * (1 + 1e-9):
            best = program, throughput
    return None if best is None else (best[0], solve(best[0]))


def sizes_by_hand(program: PathProgram, plan: Plan) -> dict[str, float]:
    """The sizes that the buffers of a plan by hand have for the variables of a program; a dimension that is not cut has its whole
    size."""
    space, sizes = plan.transfer.space, dict[str, float]()
    text = " ".join(hop.destination_layout for hop in plan.hops[:-1])
    for variable in program.variables:
        match = re.search(rf"(?<![\w.]){re.escape(variable.name)}=(\d+)", text)
        dim = variable.name.rpartition("_")[0]
        if match:
            sizes[variable.name] = float(match[1])
        elif variable.name.endswith("_in") and dim in space and not re.search(rf"(?<![\w.]){re.escape(dim)}_", text):
            sizes[variable.name] = float(space[dim])
    return sizes


def region_of(program: PathProgram, throughput: float, sizes: Mapping[str, float]) -> Region | None:
    """The block sizes that sustain a throughput; None unless there are two sizes to choose, and `sizes` has both.

    The corners are empty where no sizes sustain it.
    """
    if len(program.variables) != 2:
        return None
    x, y = (variable.name for variable in program.variables)
    if x not in sizes or y not in sizes:
        return None
    throughput *= 1 - 1e-9
    return Region(x, y, throughput, tuple(feasible_region(program, throughput, x, y)), (sizes[x], sizes[y]))
