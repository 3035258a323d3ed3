"""The constraint program of one path, solved directly: maximise log TP (Isometry, section 4.2).

1. In the logarithms of block sizes all rows are linear except those with log tp.
2. Where log tp is concave in log r, it is the minimum of its pieces or tangents. The whole is then one linear program. Tangents
   of smooth functions are added where the solution needs them (Kelley's cutting planes).
3. Where log tp is not concave, its concave hull gives an upper bound, and bisection decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from isoviz.machines import Constant, LatencyBandwidth, Sampled
from isoviz.planner.program.bisection import Bisection, Step, bisect, bisect_throughput, centred_sizes, feasible_region
from isoviz.planner.program.linear_program import (
    LOG_TP,
    LinearProgram,
    LinearRow,
    Meter,
    log_limits,
    log_terms,
    sizes_of,
    space_row,
)
from isoviz.planner.program.program_rows import (
    Monomial,
    Optimum,
    PathProgram,
    ResourceRow,
    RowState,
    SpaceRow,
    ThroughputRow,
    Variable,
    row_states,
)
from isoviz.planner.program.program_text import program_text
from isoviz.planner.program.shadow_prices import shadow_prices
from isoviz.planner.program.tuning import MOST_CUTS, ROUNDING, SMALLEST_SLOPE, VIOLATION

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
    "solve",
]

Line = tuple[float, float]
"""Slope and value at log r = 0 of a line that lies on or above log tp."""


@dataclass(frozen=True)
class Solution(Optimum):
    """The result of the direct program.

    `bound` is the optimum of the linear program, in bytes per second. It is the throughput itself if it is `exact`: all functions
    are concave within reach. Otherwise a concave hull replaced some function, and `bound` is an upper bound. `text` is the
    program in textbook form, with its optimum. `linear` holds the rows of the linear program in its last round.
    """

    bound: float
    exact: bool
    text: str
    linear: tuple[LinearRow, ...]
    limits: tuple[tuple[str, float], ...]

    @property
    def lp(self) -> str:
        """The linear program as PuLP renders it; log_TP is relative to the program's simple upper bound."""
        limits: dict[str, tuple[float | None, float | None]] = {LOG_TP: (None, 0.0)}
        limits |= {name: (0.0, high) for name, high in self.limits}
        return LinearProgram("path", {LOG_TP: 1.0}, limits, self.linear, unit=1.0).text


def solve(program: PathProgram, *, prices: bool = True) -> Solution:
    """The highest throughput of a path by the direct program; with `prices`, every row with its shadow price.

    Raises:
        LimitError: no blocks fit the limits; the message names the rows.
    """
    program.check_limits()
    meter = Meter()
    reference = program.upper_bound
    lines = [_lines(row, program) for row in program.throughput]
    pieces = [0] * len(lines)
    rows = [_row(program, k, line, reference, pieces) for k, (found, _) in enumerate(lines) for line in found]
    rows += [space_row(k, row) for k, row in enumerate(program.space) if row.shuffle.factors]
    rows += [
        LinearRow(f"resource_{row.name}", ((LOG_TP, 1.0),), math.log(row.peak / reference))
        for row in program.resources
        if row.weight
    ]
    limits = log_limits(program)
    lp = LinearProgram("path", {LOG_TP: 1.0}, {LOG_TP: (None, 0.0), **limits}, rows)
    exact = all(sure for _, sure in lines)
    bound, sizes = reference, program.ones
    for _ in range(MOST_CUTS):
        point = lp.solve(meter)
        if point is None:  # blocks of one element are feasible, so this is a numerical failure; the last bound still holds
            exact = False
            break
        bound, sizes = reference * math.exp(point[LOG_TP]), sizes_of(program, point)
        cuts = _cuts(program, sizes, point[LOG_TP] + math.log(reference), reference, pieces)
        if not cuts:
            break
        for cut in cuts:
            lp.add(cut)
        rows += cuts
    throughput = bound
    if not exact:
        throughput, sizes, _ = bisect_throughput(program, meter, min(reference, bound * (1 + ROUNDING)))
    throughput, sizes = centred_sizes(program, throughput, sizes, meter)
    found = shadow_prices(program, throughput, sizes, meter) if prices else None
    states = row_states(program, throughput, sizes, found)
    return Solution(
        throughput,
        tuple(sizes.items()),
        states,
        meter.programs,
        meter.seconds,
        bound,
        exact,
        program_text(program, throughput, sizes, states, pieces, None if exact else bound),
        tuple(rows),
        tuple((name, high) for name, (_, high) in limits.items() if high is not None),
    )


def _row(program: PathProgram, hop: int, line: Line, reference: float, pieces: list[int]) -> LinearRow:
    """The row log TP ≤ line (log run), relative to the reference; `pieces` counts it."""
    slope, value = line
    pieces[hop] += 1
    run = program.throughput[hop].run
    bound = value + slope * math.log(run.coefficient) - math.log(reference)
    return LinearRow(f"hop_{hop}_{pieces[hop]}", ((LOG_TP, 1.0), *(log_terms(run.exponents, -slope) if slope else ())), bound)


def _lines(row: ThroughputRow, program: PathProgram) -> tuple[list[Line], bool]:
    """Lines on or above log tp within the runs that blocks can reach, and whether their minimum is log tp itself.

    For a smooth function it becomes log tp as tangents are added.
    """
    tp = row.throughput
    low, high = row.run.value(program.ones), row.run.value(program.highs)
    top = (0.0, math.log(tp(high)))
    if low >= high:
        return [top], True
    if isinstance(tp, LatencyBandwidth):
        return [_tangent(tp, low, top), _tangent(tp, high, top), top], True
    if not isinstance(tp, Sampled | Constant):
        return [top], False
    corners = [low, *(run for run, _ in tp.samples if low < run < high), high]
    points = [(math.log(run), math.log(tp(run))) for run in corners]
    hull = _hull(points)
    lines = []
    for (x0, y0), (x1, y1) in pairwise(hull):
        slope = (y1 - y0) / (x1 - x0) if x1 > x0 else 0.0
        lines.append((slope, y0 - slope * x0) if slope >= SMALLEST_SLOPE else (0.0, y1))
    if lines[-1][0]:
        lines.append(top)
    above = max(min(value + slope * x for slope, value in lines) - y for x, y in points)
    return lines, above <= VIOLATION


def _hull(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of the lowest concave function on or above the points; the points go from left to right."""
    hull: list[tuple[float, float]] = []
    for x, y in points:
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if (y1 - y0) * (x - x0) > (y - y0) * (x1 - x0):
                break
            hull.pop()
        hull.append((x, y))
    return hull


def _tangent(tp: LatencyBandwidth, run: float, top: Line) -> Line:
    slope = 1 / (1 + run / (tp.latency * tp.bandwidth))
    return (slope, math.log(tp(run)) - slope * math.log(run)) if slope >= SMALLEST_SLOPE else top


def _cuts(
    program: PathProgram, sizes: dict[str, float], log_throughput: float, reference: float, pieces: list[int]
) -> list[LinearRow]:
    """Tangents of the smooth functions that the solution violates, at the runs of the solution."""
    cuts = []
    for hop, row in enumerate(program.throughput):
        tp, run = row.throughput, row.run.value(sizes)
        if isinstance(tp, LatencyBandwidth) and log_throughput - math.log(tp(run)) > VIOLATION:
            line = _tangent(tp, run, (0.0, math.log(tp(row.run.value(program.highs)))))
            cuts.append(_row(program, hop, line, reference, pieces))
    return cuts
