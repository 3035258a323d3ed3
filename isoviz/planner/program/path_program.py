"""The constraint program of what was chosen for a route: its rows in the block sizes (Isometry, section 4.2 and table 3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.planner.intermediate.intermediate_layouts import F
from isoviz.planner.program.path_bound import Monomial, PathProgram, ResourceRow, SpaceRow, ThroughputRow, Variable

if TYPE_CHECKING:
    from isoviz.planner.intermediate.intermediate_layouts import Ends, Shape
    from isoviz.planner.one_path.choice import Choice
    from isoviz.planner.problem import Problem


def path_program(problem: Problem, choice: Choice, chunk: float = 0.0) -> PathProgram:
    """Maximise the steady-state throughput of the path over the sizes of its blocks.

    Without a hop between two buffers that converts there is nothing to choose: whole chunks move, as large as a slot may be.
    Without buffers there is no slot: chunks may be of `chunk` bytes, where these are more than planners take.
    """
    route, ends = choice.route, problem.ends
    shape = choice.shape
    most = problem.longest_chunk(route.inside)
    if not route.inside:
        most = max(most, chunk)
    names = _names(ends, shape) if shape is not None else {}
    variables = tuple(Variable(name, float(ends.digits[digit].extent)) for digit, name in names.items())
    rows = []
    for hop, channel in enumerate(route.channels):
        run = Monomial(min(choice.runs[hop], most), text=_constant_text(problem, choice, hop, most))
        if shape is not None and hop == 0 and not math.isinf(shape.first):
            run = _end(problem, choice, names, 0, most)
        elif shape is not None and hop == len(route.channels) - 1 and not math.isinf(shape.last):
            run = _end(problem, choice, names, 1, most)
        elif hop != route.converting and len(route.channels) > 1 and math.isinf(choice.runs[hop]):
            run = Monomial(most, text="chunk")
        rows.append(ThroughputRow(hop, str(channel.kind), channel.throughput, run))
    weights: dict[str, float] = {}
    for channel in route.channels:
        for name, weight in channel.resources:
            # What a held resource costs depends on the rates: with every hop at its peak it is a bound.
            held = problem.machine.resource(name).held
            weights[name] = weights.get(name, 0.0) + (weight / channel.peak if held else weight)
    resources = tuple(
        ResourceRow(name, weight, problem.machine.resource(name).capacity) for name, weight in weights.items() if weight > 0
    )
    space = _space(problem, choice, names) if shape is not None else ()
    return PathProgram(variables, tuple(rows), space, resources)


def _names(ends: Ends, shape: Shape) -> dict[int, str]:
    """A name for every digit that is cut: `x_in` for the lowest digit of a dimension, `x_1` and so on for the next ones."""
    found = {}
    for digit in dict.fromkeys((shape.cut_a, shape.cut_b)):
        if digit is not None:
            dim = ends.digits[digit].dim
            rank = sum(other.dim == dim and other.step < ends.digits[digit].step for other in ends.digits)
            found[digit] = f"{dim}_in" if rank == 0 else f"{dim}_{rank}"
    return found


def _end(problem: Problem, choice: Choice, names: dict[int, str], end: int, most: float) -> Monomial:
    """The run of the hop at one end: so many digits of its order, the last one cut."""
    shape, ends = choice.shape, problem.ends
    assert shape is not None
    coefficient, cut = (shape.first, shape.cut_a) if end == 0 else (shape.last, shape.cut_b)
    reach = shape.most_first if end == 0 else shape.most_last
    cap = min(reach, problem.end_runs[end], most)
    order = ends.orders[end].digits
    upto = order.index(cut) if cut in order else len(order)
    held = [_size_text(problem, digit) for digit in order[:upto]]
    if F not in order[:upto] and problem.field_count > 1:
        held.insert(0, "|f|")
    factors = (names[cut],) if cut is not None else ()
    return Monomial(coefficient, factors, cap, " × ".join((*held, *factors)))


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
    """What a block takes in a slot, against every limit there is."""
    shape, ends, route = choice.shape, problem.ends, choice.route
    assert shape is not None
    hop, inside = route.converting, route.inside
    room = problem.entry if F in shape.complete else problem.largest
    factors = tuple(names.values())
    digits = sorted((digit for digit in shape.complete if digit != F), key=lambda digit: ends.orders[0].digits.index(digit))
    unit = "|F|" if F in shape.complete else "|f|"
    text = " × ".join((unit, *(_size_text(problem, digit) for digit in digits), *factors))
    block = Monomial(float(shape.entries * room), factors, None, text)
    rows = [SpaceRow(hop, block, float(problem.own_slot_limit(inside)))]
    buffers = len(inside) * problem.slots
    if problem.memory_limit is not None:
        all_slots = Monomial(float(shape.entries * room * buffers), factors, None, f"{buffers} × {text}")
        rows.append(SpaceRow(None, all_slots, float(problem.memory_limit), "memory-limit", "memory limit"))
    if not problem.alike:
        for name in dict.fromkeys(inside):
            if problem.machine.memory(name).capacity is not None:
                count = inside.count(name) * problem.slots
                held = Monomial(float(shape.entries * room * count), factors, None, f"{count} × {text}")
                rows.append(SpaceRow(None, held, float(max(1, problem.free(name))), "capacity", f"free in {name}"))
    return tuple(rows)
