"""The constraint program of a choice: its rows in terms of the block sizes (Isometry, section 4.2 and table 3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.planner.intermediate.intermediate_layouts import F
from isoviz.planner.program.path_bound import Monomial, PathProgram, ResourceRow, SpaceRow, ThroughputRow, Variable

if TYPE_CHECKING:
    from isoviz.planner.intermediate.intermediate_layouts import Ends, LayoutFamily
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem


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
    if not problem.alike:
        for name in dict.fromkeys(inside):
            if problem.machine.memory(name).capacity is not None:
                count = inside.count(name) * problem.slots
                all_slots = Monomial(float(family.entries * entry_slot_bytes * count), factors, None, f"{count} × {text}")
                rows.append(SpaceRow(None, all_slots, float(max(1, problem.free(name))), "capacity", f"free in {name}"))
    return tuple(rows)
