"""The upper bound on the throughput of a plan's own path: the solved program of the path, cached, and a check of the plan.

Planning finds blocks by search and needs no program. Where a plan is shown or explained, the program of its path says how far the
plan is from the most that its path sustains, and which constraint limits it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.checks import expect
from isoviz.errors import InternalError, LimitError, TransferError
from isoviz.machines import Machine, MachineLike, machine_argument
from isoviz.planner.one_path.chunk_size import with_comparable_chunks, with_larger_chunks
from isoviz.planner.one_path.hop_facts import conversion_hop
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of
from isoviz.planner.options import Options, options_about
from isoviz.planner.paths.routes import Route
from isoviz.planner.plan import Plan
from isoviz.planner.problem import Problem, channels_in_mean
from isoviz.planner.program.bisection import bisect
from isoviz.planner.program.path_bound import plain_number, solve
from isoviz.planner.program.path_program import path_program
from isoviz.planner.program.tuning import BOUND_TOLERANCE
from isoviz.units import format_rate

if TYPE_CHECKING:
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.program.path_bound import PathProgram, RowState, Solution
    from isoviz.planner.time.path_time import Clock

MOST_CERTIFICATES = 16
"""Certificates that are cached, those used last."""
_CERTIFICATES: OrderedDict[tuple[Plan, Options], Certificate] = OrderedDict()
_LOCK = threading.Lock()


class Certificate:
    """The certificate of a plan: the solved `program` of its path.

    `least` is the choice for the path with the least T, `choice` the same with larger chunks. No blocks and chunk on this path,
    in layouts of the kind that the plan has, sustain more than `bound` bytes per second.
    """

    def __init__(self, problem: Problem, route: Route, clock: Clock, least: Choice, choice: Choice, plan: Plan) -> None:
        self.problem, self.route, self.clock, self.least, self.choice = problem, route, clock, least, choice
        self.program = _program(problem, choice, plan)
        self.solution = solve(self.program)

    @property
    def bound(self) -> float:
        """The optimum of the program, in bytes per second."""
        return self.solution.throughput

    @property
    def binding(self) -> tuple[RowState, ...]:
        """The rows that limit the throughput, each with its shadow prices."""
        return self.solution.binding

    def __str__(self) -> str:
        first, *rest = certificate_lines(self.solution)
        return "\n".join([f"  {first}", *(f"    {line}" for line in rest)])


def certificate(plan: Plan, machine: MachineLike, options: Options | None = None) -> Certificate:
    """The solved program of a plan's path, cached. `options` are those of the plan.

    Raises:
        TransferError: the plan was made for another machine, or with other options.
        InternalError: the plan claims to sustain more than its path can.
    """
    expect("certificate", plan, Plan, "a plan")
    machine = machine_argument("certificate", machine)
    check_machine(plan, machine)
    options = replace(Options.given(options), planner="auto", planning_time=None)
    key = plan, options
    with _LOCK:
        found = _CERTIFICATES.get(key)
    if found is None:
        found = _certificate(plan, machine, options)
        with _LOCK:
            _CERTIFICATES[key] = found
            while len(_CERTIFICATES) > MOST_CERTIFICATES:
                _CERTIFICATES.popitem(last=False)
    return found


def check_machine(plan: Plan, machine: Machine) -> None:
    """Check that a plan was made for a machine.

    Raises:
        TransferError: it was made for another one.
    """
    if plan.machine_digest != machine.digest:
        raise TransferError(
            f"plan: made for a machine {plan.machine_name!r} that is not {machine.name!r} as it is now; plan again"
        )


def certificate_lines(solution: Solution) -> list[str]:
    """The bound of a path's program with the sizes of its blocks, then the binding rows with their dual values."""
    sizes = "".join(f", {name} = {plain_number(size)}" for name, size in solution.sizes.items())
    lines = [f"program of this path: at most {format_rate(solution.throughput)}{sizes}"]
    for row in solution.binding:
        dual = row.price_up * row.bound / solution.throughput + 0.0
        lines.append(f"binding: {row.label}, d log TP / d log bound = {dual:.3g}")
    return lines


def _certificate(plan: Plan, machine: Machine, options: Options) -> Certificate:
    problem = Problem(plan.transfer, machine, options_about(plan, options))
    route = Route(channels_in_mean(problem, [hop.channel for hop in plan.hops]), conversion_hop(plan.transfer, plan.orders))
    clock = clock_of(problem, route)
    choice = best_feasible_choice(problem, route, clock)
    if choice is None:
        raise TransferError("plan: its path has no room within the limits given; explain it with the options it was made with")
    least, choice = with_comparable_chunks(problem, choice, clock), with_larger_chunks(problem, choice, clock)
    found = Certificate(problem, route, clock, least, choice, plan)
    if plan.throughput > found.bound * (1 + BOUND_TOLERANCE):
        raise InternalError(
            f"plan of planner {plan.planner!r}: says {plan.throughput!r} B/s in the steady state, and the program of its path"
            f" {' → '.join(plan.memories)} allows at most {found.bound!r} B/s"
        )
    return found


def _program(problem: Problem, choice: Choice, plan: Plan) -> PathProgram:
    """The program of a choice.

    A plan with layouts of another family may be above its bound. Then the result is the program of the family that sustains the
    most.
    """
    program = path_program(problem, choice, min(plan.chunk_bytes, plan.bytes))
    highest = _highest(program)
    if choice.family is None or plan.throughput <= highest * (1 + BOUND_TOLERANCE):
        return program
    others = (path_program(problem, choice._replace(family=each, a=1, b=1)) for each in problem.ends.families)
    return max((program, *others), key=_highest)


def _highest(program: PathProgram) -> float:
    """The most that a program allows, in bytes per second; 0 where no block fits its limits."""
    try:
        return bisect(program, prices=False).throughput
    except LimitError:
        return 0.0
