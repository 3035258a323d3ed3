"""The upper bound on the throughput of a plan's own path: the solved program of the path, cached, and a check of the plan.

Planning finds blocks by search and needs no program. Where a plan is shown or explained, the program of its path says how far the
plan is from the most that its path sustains, and which constraint limits it.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from isoviz.checks import expect
from isoviz.errors import InternalError, LimitError, TransferError
from isoviz.forks import Lock
from isoviz.machines import Machine, MachineLike, machine_argument
from isoviz.planner.intermediate.intermediate_layouts import F
from isoviz.planner.one_path.hop_facts import conversion_hop
from isoviz.planner.one_path.optimum import best_feasible_choice, clock_of, with_comparable_chunks, with_larger_chunks
from isoviz.planner.options import Options, options_about
from isoviz.planner.paths.routes import Route
from isoviz.planner.plan import Plan
from isoviz.planner.problem import Problem, channels_in_mean
from isoviz.planner.program.bisection import bisect
from isoviz.planner.program.path_bound import (
    Monomial,
    PathProgram,
    ResourceRow,
    SpaceRow,
    ThroughputRow,
    Variable,
    plain_number,
    solve,
)
from isoviz.planner.program.tuning import BOUND_TOLERANCE
from isoviz.units import format_rate

if TYPE_CHECKING:
    from isoviz.planner.intermediate.intermediate_layouts import Ends, LayoutFamily
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.program.path_bound import RowState, Solution
    from isoviz.planner.time.path_time import Clock


# The constraint program of a choice: its rows in terms of the block sizes (Isometry, section 4.2 and table 3).


def path_program(problem: Problem, choice: Choice, chunk: float = 0.0) -> PathProgram:
    """The program that maximises the steady-state throughput of a path over the sizes of its blocks.

    Where no hop between two buffers converts there are no variables: whole chunks move, as large as a slot may be. A path without
    buffers has no slot; its chunks may have `chunk` bytes, where that is more than planners take.
    """
    route, ends = choice.route, problem.ends
    family = choice.family
    most = problem.longest_chunk(route.inside)
    if not route.inside:
        most = max(most, chunk)
    names = _names(ends, family) if family is not None else {}
    variables = tuple(Variable(name, float(ends.digits[digit].extent)) for digit, name in names.items())
    whole = problem.runs(len(route.channels), None)
    rows = []
    for hop, channel in enumerate(route.channels):
        run = Monomial(min(choice.runs[hop], most), text=_constant_text(problem, choice, hop, most))
        if family is not None and hop == 0 and not math.isinf(family.first):
            run = _end_run(problem, choice, names, 0, most)
        elif family is not None and hop == len(route.channels) - 1 and not math.isinf(family.last):
            run = _end_run(problem, choice, names, 1, most)
        elif hop != route.converting and len(route.channels) > 1 and math.isinf(choice.runs[hop]):
            run = Monomial(most, text="chunk")
        changes = choice.runs[hop] < min(whole[hop], problem.nbytes)  # a hop between two different layouts
        function = channel.layout_rates if changes else channel.throughput
        rows.append(ThroughputRow(hop, str(channel.kind), function, run))
    weights: dict[str, float] = {}
    for channel in route.channels:
        for name, weight in channel.resources:
            # The cost of a held resource depends on the rates. With every hop at its peak it is a lower bound.
            held = problem.machine.resource(name).held
            weights[name] = weights.get(name, 0.0) + (weight / channel.peak if held else weight)
    resources = tuple(
        ResourceRow(name, weight, problem.machine.resource(name).capacity) for name, weight in weights.items() if weight > 0
    )
    space = _space(problem, choice, names) if family is not None else ()
    return PathProgram(variables, tuple(rows), space, resources)


def _names(ends: Ends, family: LayoutFamily) -> dict[int, str]:
    """A name for every digit that is cut: `x_in` for the lowest digit of a dimension, `x_1` and so on for the next ones."""
    found = {}
    for digit in dict.fromkeys((family.cut_a, family.cut_b)):
        if digit is not None:
            dim = ends.digits[digit].dim
            rank = sum(other.dim == dim and other.step < ends.digits[digit].step for other in ends.digits)
            found[digit] = f"{dim}_in" if rank == 0 else f"{dim}_{rank}"
    return found


def _end_run(problem: Problem, choice: Choice, names: dict[int, str], end: int, most: float) -> Monomial:
    """The run of the hop at one end: some digits of its order, the last one cut."""
    family, ends = choice.family, problem.ends
    assert family is not None
    coefficient, cut = (family.first, family.cut_a) if end == 0 else (family.last, family.cut_b)
    reach = family.longest_first_run if end == 0 else family.longest_last_run
    cap = min(reach, problem.end_runs[end], most)
    order = ends.orders[end].digits
    upto = order.index(cut) if cut in order else len(order)
    texts = [_size_text(problem, digit) for digit in order[:upto]]
    if F not in order[:upto] and problem.field_count > 1:
        texts.insert(0, "|f|")
    factors = (names[cut],) if cut is not None else ()
    return Monomial(coefficient, factors, cap, " × ".join((*texts, *factors)))


def _constant_text(problem: Problem, choice: Choice, hop: int, most: float) -> str:
    if math.isinf(choice.runs[hop]):
        return "chunk"
    if hop == choice.route.converting:
        run, entry = problem.ends.run, problem.entry
        return "|F|" if run == entry else "|f|" if run == problem.mean else f"{run:g}"
    return "" if choice.runs[hop] < most else "chunk"


def _size_text(problem: Problem, digit: int) -> str:
    if digit == F:
        return "|F|"
    dim, step, extent, top = problem.ends.digits[digit]
    return f"|{dim}|" if top and step == 1 else str(extent)


def _space(problem: Problem, choice: Choice, names: dict[int, str]) -> tuple[SpaceRow, ...]:
    """The rows for a block's bytes in a slot: one for every limit."""
    family, ends, route = choice.family, problem.ends, choice.route
    assert family is not None
    hop, inside = route.converting, route.inside
    entry_slot_bytes = problem.entry if F in family.complete else problem.largest
    factors = tuple(names.values())
    digits = sorted(
        (digit for digit in sorted(family.complete) if digit != F), key=lambda digit: ends.orders[0].digits.index(digit)
    )
    unit = "|F|" if F in family.complete else "|f|"
    text = " × ".join((unit, *(_size_text(problem, digit) for digit in digits), *factors))
    block = Monomial(float(family.entries * entry_slot_bytes), factors, None, text)
    rows = [SpaceRow(hop, block, float(problem.own_slot_limit(inside)))]
    buffers = len(inside) * problem.slots
    if problem.memory_limit is not None:
        together = Monomial(float(family.entries * entry_slot_bytes * buffers), factors, None, f"{buffers} × {text}")
        rows.append(SpaceRow(None, together, float(problem.memory_limit), "memory-limit", "memory limit"))
    if not problem.uniform_slots:
        for name in dict.fromkeys(inside):
            if problem.machine.memory(name).capacity is not None:
                count = inside.count(name) * problem.slots
                all_slots = Monomial(float(family.entries * entry_slot_bytes * count), factors, None, f"{count} × {text}")
                rows.append(SpaceRow(None, all_slots, float(max(1, problem.free_bytes(name))), "capacity", f"free in {name}"))
    return tuple(rows)


MOST_CERTIFICATES = 16
"""Certificates that are cached, those used last."""
_CERTIFICATES: OrderedDict[tuple[Plan, Options], Certificate] = OrderedDict()
_LOCK = Lock()


class Certificate:
    """The certificate of a plan: the solved `program` of its path.

    `least` is the choice with the least T for the path, `choice` the same with larger chunks. No blocks and chunk on this path,
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
