"""The constraint program of a path in textbook form, and its rows as JSON objects."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from isoviz.machines import LatencyBandwidth
from isoviz.planner.program.program_rows import Monomial, PathProgram, RowState
from isoviz.planner.program.tuning import WHOLE
from isoviz.units import format_rate


def program_text(
    program: PathProgram,
    throughput: float,
    sizes: Mapping[str, float],
    states: Sequence[RowState],
    pieces: Sequence[int],
    bound: float | None,
) -> str:
    """The program and its optimum, one row per line.

    `pieces` counts the linear rows that stand for each throughput row. `bound` is the optimum with concave hulls (bytes per
    second), where some function is not concave.
    """
    lines = []
    for row, count in zip(program.throughput, pieces, strict=True):
        what = "tangent" if isinstance(row.throughput, LatencyBandwidth) and count > 1 else "piece"
        lines.append((f"log TP ≤ log tp_{row.channel}({row.run.label})", f"hop {row.hop}, {count} {what}{'s'[: count > 1]}"))
    for space in program.space:
        where = space.name if space.hop is None else f"{space.name}, hop {space.hop}"
        lines.append((f"{_logs(space.shuffle)} ≤ log {plain_number(space.limit)}", where))
    for resource in program.resources:
        if resource.weight:
            weight = "" if resource.weight == 1 else f" + log {plain_number(resource.weight)}"
            lines.append((f"log TP{weight} ≤ log {plain_number(resource.capacity)}", f"resource {resource.name}"))
    lines += [(f"0 ≤ log {variable.name} ≤ log {plain_number(variable.high)}", "block size") for variable in program.variables]
    width = max(len(text) for text, _ in lines)
    blocks = "".join(f", {name} = {plain_number(size)}" for name, size in sizes.items())
    tail = [f"  TP = {format_rate(throughput)}{blocks}"]
    if bound is not None:
        tail.append(f"  no more than {format_rate(bound)} with concave hulls; bisection decided")
    for state in states:
        if state.binding:
            price = "" if math.isnan(state.price) else f", d log TP / d log bound = {_exponent(state, throughput)}"
            tail.append(f"  binding: {state.label}{price}")
    rows = [f"  {text:<{width}}  ({note})" for text, note in lines]
    return "\n".join(["maximise", "  log TP", "subject to", *rows, "optimum", *tail])


def _logs(monomial: Monomial) -> str:
    powers = [f"{f'{count} ' if count > 1 else ''}log {name}" for name, count in monomial.exponents]
    constant = [] if monomial.coefficient == 1 and powers else [f"log {plain_number(monomial.coefficient)}"]
    return " + ".join((*powers, *constant))


def _exponent(state: RowState, throughput: float) -> str:
    return f"{state.price * state.bound / throughput + 0.0:.3g}"


def plain_number(value: float) -> str:
    """A number as text; a size next to a whole number is rounded to it."""
    near = round(value)
    return str(near) if abs(value - near) <= WHOLE * value and near < 1e16 else f"{value:.6g}"


def row_to_json(row: RowState) -> dict[str, Any]:
    """A row of a program at its optimum as a JSON object; infinite and unknown numbers are null."""
    found = {
        "kind": row.kind,
        "label": row.label,
        "hop": row.hop,
        "left": row.left,
        "bound": row.bound,
        "slack": row.slack,
        "binding": row.binding,
        "price_up": row.price_up,
        "price_down": row.price_down,
        "run": row.run,
    }
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in found.items()}
