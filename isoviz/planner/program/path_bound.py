"""The constraint program of one path as one linear program in PuLP: maximise log TP (Isometry, section 4.2).

Bisection finds the optimum (`bisection`), and the linear program proves it by another way. In the logarithms of block sizes all
rows are linear except those with log tp:

1. Where log tp is made of straight pieces and concave, it is the minimum of its pieces.
2. A smooth function is below its tangent at the optimum, which says as much there as the function itself. So the linear program
   has the same optimum, and is built and solved once.
3. Where log tp is not concave, its concave hull takes its place. Then the linear program gives an upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from isoviz.document import aligned
from isoviz.errors import InputError
from isoviz.machines import Constant, LatencyBandwidth, Sampled, ThroughputFunction
from isoviz.planner.program.bisection import Bisection, Step, bisect, least_sizes
from isoviz.planner.program.mip_rows import RateLine, Rows, corners_of, is_smooth, lines_through, tangent
from isoviz.planner.program.program_rows import (
    Monomial,
    Optimum,
    PathProgram,
    ResourceRow,
    RowState,
    SpaceRow,
    ThroughputRow,
    Variable,
)
from isoviz.planner.program.tuning import NOT_CONCAVE, ROUNDING, SAME_CORNER, WHOLE
from isoviz.units import format_rate

# The block sizes with which a path reaches a throughput (Isometry, section 4.2).


def feasible_region(
    program: PathProgram, throughput: float, x: str, y: str, samples: int = 1, at: Mapping[str, float] | None = None
) -> tuple[tuple[float, float], ...]:
    """The sizes (x, y) with which a path reaches a throughput (bytes per second): the vertices of a polygon, in order.

    The polygon has straight edges in the logarithms of the sizes. On linear axes the edges are curves, so every edge gets
    `samples` points, its first vertex among them. The result is empty where no sizes reach the throughput; it may be a point or a
    line. Other variables of the program have the sizes in `at`.

    Raises:
        InputError: x or y is not a variable of the program, x equals y, or another variable has no size in `at`.
    """
    highs = program.highs
    fixed = {name: size for name, size in (at or {}).items() if name not in (x, y)}
    for name in (x, y):
        if name not in highs:
            raise InputError(f"feasible region: unknown variable {name}; known are {', '.join(highs) or 'none'}")
    missing = [name for name in highs if name not in (x, y) and name not in fixed]
    if x == y or missing:
        wrong = f"{x} stands for both axes" if x == y else f"no size for {', '.join(missing)}"
        raise InputError(f"feasible region: {wrong}; expected two variables and a size for every other")
    if throughput > program.upper_bound * (1 + ROUNDING):
        return ()
    least = least_sizes(program, throughput)
    if any(size < least.get(name, 0.0) * (1 - ROUNDING) for name, size in fixed.items()):
        return ()
    (left, right), (low, high) = ((max(0.0, math.log(least[name]) - ROUNDING), math.log(highs[name])) for name in (x, y))
    corners = [(left, low), (right, low), (right, high), (left, high)]
    for row in program.space:
        factors = row.shuffle.factors
        room = math.log(row.limit / row.shuffle.value({**fixed, x: 1.0, y: 1.0}))
        corners = _clipped(corners, (factors.count(x), factors.count(y), room + ROUNDING))
    distinct = [here for k, here in enumerate(corners) if k == 0 or math.dist(here, corners[k - 1]) > SAME_CORNER]
    if len(distinct) > 1 and math.dist(distinct[0], distinct[-1]) <= SAME_CORNER:
        distinct.pop()
    shares = [sample / max(1, samples) for sample in range(max(1, samples) if len(distinct) > 1 else 1)]
    return tuple(
        (math.exp(here[0] + share * (there[0] - here[0])), math.exp(here[1] + share * (there[1] - here[1])))
        for here, there in zip(distinct, distinct[1:] + distinct[:1], strict=True)
        for share in shares
    )


def _clipped(corners: list[tuple[float, float]], plane: tuple[float, float, float]) -> list[tuple[float, float]]:
    """The part of a convex polygon where a·x + b·y ≤ c."""
    a, b, c = plane
    excess = [a * px + b * py - c for px, py in corners]
    kept: list[tuple[float, float]] = []
    for k, (here, there) in enumerate(zip(corners, corners[1:] + corners[:1], strict=True)):
        e0, e1 = excess[k], excess[(k + 1) % len(corners)]
        if e0 <= 0:
            kept.append(here)
        if (e0 < 0 < e1) or (e1 < 0 < e0):
            share = e0 / (e0 - e1)
            kept.append((here[0] + share * (there[0] - here[0]), here[1] + share * (there[1] - here[1])))
    return kept


__all__ = [
    "Bisection",
    "Monomial",
    "PathProgram",
    "ResourceRow",
    "RowState",
    "Solution",
    "SpaceRow",
    "Step",
    "ThroughputRow",
    "Variable",
    "bisect",
    "feasible_region",
    "in_pulp",
    "solve",
]

LOG_TP = "log_TP"
"""The variable of the throughput: log (TP / the program's simple upper bound)."""


@dataclass(frozen=True)
class LinearRow:
    """Σ coefficient × variable ≤ `bound`, in logarithms."""

    name: str
    terms: tuple[tuple[str, float], ...]
    bound: float


@dataclass(frozen=True)
class Solution(Optimum):
    """The optimum of a path's program, and what the linear program says of it.

    `bound` is the optimum of the linear program, in bytes per second. It is the throughput itself if it is `exact`: all functions
    are concave within reach. Otherwise a concave hull replaced some function, and `bound` is an upper bound. `text` is the
    program in textbook form, with its optimum. `linear` holds the rows of the linear program, `limits` the largest logarithm of
    each block size. `programs` counts the linear programs that were solved, and `solver_seconds` is the time for solving them.
    """

    programs: int
    solver_seconds: float
    bound: float
    exact: bool
    text: str
    linear: tuple[LinearRow, ...]
    limits: tuple[tuple[str, float], ...]

    @property
    def lp(self) -> str:
        """The linear program as the text of an LP file; `log_TP` is relative to the program's simple upper bound."""
        return in_pulp(self.linear, self.limits).text


def solve(program: PathProgram, *, prices: bool = True) -> Solution:
    """The highest throughput of a path, by bisection and as a linear program; with `prices`, every row with its shadow price.

    Raises:
        LimitError: no blocks fit the limits; the message names the rows.
    """
    found = bisect(program, prices=prices)
    hull = replace(program, throughput=tuple(replace(row, throughput=_hull(row, program)) for row in program.throughput))
    exact = hull == program
    best = found if exact else bisect(hull, prices=False)
    lines = [_lines(row, hull, best.sizes) for row in hull.throughput]
    linear, limits = _linear(hull, lines), tuple((_log(each.name), math.log(each.high)) for each in program.variables)
    rows = in_pulp(linear, limits)
    point = rows.solve(whole=False)
    bound = program.upper_bound
    if point is None:  # blocks of one element are feasible, so this is a numerical failure; the simple bound still holds
        exact = False
    else:
        bound *= math.exp(point.objective)
    text = _text(program, found, [len(each) for each in lines], None if exact else bound)
    return Solution(found.throughput, found.values, found.rows, rows.solves, rows.seconds, bound, exact, text, linear, limits)


def _hull(row: ThroughputRow, program: PathProgram) -> ThroughputFunction:
    """The least function on or above a hop's that is concave, in logarithms, within the runs that blocks can reach.

    It is the function itself where that is concave. A function of a kind that machine files do not know is below its highest
    value.
    """
    function, (low, high) = row.throughput, _reach(row, program)
    if low >= high or isinstance(function, LatencyBandwidth):
        return function
    if not isinstance(function, Sampled | Constant) or low < 0:
        return Constant(function(math.exp(high)))
    points = corners_of(function, low, high)
    kept: list[tuple[float, float]] = []
    for x, y in points:
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (y1 - y0) * (x - x0) > (y - y0) * (x1 - x0):
                break
            kept.pop()
        kept.append((x, y))
    lines = lines_through(kept)
    if all(min(line.at(x) for line in lines) - y <= NOT_CONCAVE for x, y in points):
        return function
    return Sampled(tuple((math.exp(x), math.exp(y)) for x, y in kept))


def _reach(row: ThroughputRow, program: PathProgram) -> tuple[float, float]:
    """The logarithms of the shortest and the longest run of a hop."""
    return math.log(row.run.value(program.ones)), math.log(row.run.value(program.highs))


def _lines(row: ThroughputRow, program: PathProgram, sizes: Mapping[str, float]) -> list[RateLine]:
    """Lines on or above log tp within reach whose minimum at these sizes is log tp itself."""
    function, (low, high) = row.throughput, _reach(row, program)
    top = RateLine(0.0, math.log(function(math.exp(high))))
    if low >= high:
        return [top]
    if isinstance(function, LatencyBandwidth):
        return list(dict.fromkeys((tangent(function, math.log(row.run.value(sizes))), top)))
    assert isinstance(function, Sampled | Constant)
    lines = lines_through(corners_of(function, low, high))
    return [*lines, top] if lines[-1].slope else lines


def _linear(program: PathProgram, lines: Sequence[Sequence[RateLine]]) -> tuple[LinearRow, ...]:
    """The rows of the linear program; throughputs are relative to the program's simple upper bound."""
    reference, rows = math.log(program.upper_bound), []
    for row, found in zip(program.throughput, lines, strict=True):
        for number, line in enumerate(found, start=1):
            terms = [(_log(name), -line.slope) for name in row.run.factors if line.slope]
            bound = line.at(math.log(row.run.coefficient)) - reference
            rows.append(LinearRow(f"hop_{row.hop}_{number}", ((LOG_TP, 1.0), *terms), bound))
    for number, space in enumerate(program.space):
        if space.shuffle.factors:
            powers = tuple((_log(name), float(count)) for name, count in space.shuffle.exponents)
            rows.append(LinearRow(f"space_{number}", powers, math.log(space.limit / space.shuffle.coefficient)))
    peaks = {f"resource_{each.name}": math.log(each.peak) for each in program.resources if each.weight}
    return (*rows, *(LinearRow(name, ((LOG_TP, 1.0),), peak - reference) for name, peak in peaks.items()))


def in_pulp(linear: Sequence[LinearRow], limits: Sequence[tuple[str, float]]) -> Rows:
    """A linear program as a PuLP problem: `linear` are its rows, `limits` the largest logarithm of each block size."""
    rows = Rows("path")
    rows.variable(LOG_TP, None, 0.0)
    for name, high in limits:
        rows.variable(name, 0.0, high)
    for row in linear:
        rows.at_most(row.name, row.terms, row.bound)
    rows.maximise([(LOG_TP, 1.0)])
    return rows


def _log(variable: str) -> str:
    return f"log_{variable}"


# ---- the program as text


def _text(program: PathProgram, found: Optimum, pieces: Sequence[int], bound: float | None) -> str:
    """The program and its optimum, one row per line.

    `pieces` counts the linear rows that stand for each throughput row. `bound` is the optimum of the linear program (bytes per
    second), where that is only a bound.
    """
    lines = []
    for row, count in zip(program.throughput, pieces, strict=True):
        what = "tangent" if is_smooth(row.throughput) and count > 1 else "piece"
        lines.append((f"log TP ≤ log tp_{row.channel}({row.run.label})", f"hop {row.hop}, {count} {what}{'s'[: count > 1]}"))
    for space in program.space:
        where = space.name if space.hop is None else f"{space.name}, hop {space.hop}"
        lines.append((f"{_logs(space.shuffle)} ≤ log {plain_number(space.limit)}", where))
    for resource in program.resources:
        if resource.weight:
            weight = "" if resource.weight == 1 else f" + log {plain_number(resource.weight)}"
            lines.append((f"log TP{weight} ≤ log {plain_number(resource.capacity)}", f"resource {resource.name}"))
    lines += [(f"0 ≤ log {variable.name} ≤ log {plain_number(variable.high)}", "block size") for variable in program.variables]
    blocks = "".join(f", {name} = {plain_number(size)}" for name, size in found.values)
    tail = [f"  TP = {format_rate(found.throughput)}{blocks}"]
    if bound is not None:
        tail.append(f"  no more than {format_rate(bound)} with concave hulls; bisection decided")
    for state in found.binding:
        exponent = f"{state.price * state.bound / found.throughput + 0.0:.3g}"
        price = "" if math.isnan(state.price) else f", d log TP / d log bound = {exponent}"
        tail.append(f"  binding: {state.label}{price}")
    rows = [f"  {line}" for line in aligned([(text, f"({note})") for text, note in lines], (0, 1))]
    return "\n".join(["maximise", "  log TP", "subject to", *rows, "optimum", *tail])


def _logs(monomial: Monomial) -> str:
    powers = [f"{f'{count} ' if count > 1 else ''}log {name}" for name, count in monomial.exponents]
    constant = [] if monomial.coefficient == 1 and powers else [f"log {plain_number(monomial.coefficient)}"]
    return " + ".join((*powers, *constant))


def plain_number(value: float) -> str:
    """A number as text; a size next to a whole number is rounded to it."""
    near = round(value)
    return str(near) if abs(value - near) <= WHOLE * value and near < 1e16 else f"{value:.6g}"
