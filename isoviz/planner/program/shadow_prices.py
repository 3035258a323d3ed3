"""Shadow prices of the rows of a path's program: the effect of a changed bound on the highest throughput.

Near the optimum each throughput function is a line in log-log, possibly with different slopes above and below the optimal
throughput. A program of these lines, solved again with one bound a little larger or smaller, gives the price. This also works
where log tp is not concave, and at kinks, where the dual values of a single program are not unique.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from isoviz.machines import LatencyBandwidth
from isoviz.planner.program.linear_program import (
    LOG_TP,
    LinearProgram,
    LinearRow,
    Meter,
    log_limits,
    log_terms,
    space_row,
)
from isoviz.planner.program.program_rows import PathProgram, ProgramRow, SpaceRow, ThroughputRow, row_states
from isoviz.planner.program.tuning import BESIDE, BOUND_SHIFT, SECANT_WIDTH, SMALLEST_SLOPE


def shadow_prices(
    program: PathProgram, throughput: float, sizes: Mapping[str, float], meter: Meter
) -> dict[int, tuple[float, float]]:
    """Pairs (price of raising the bound, price of lowering it) of the binding rows, by number of the row.

    The unit is bytes per second of throughput per unit of the bound. A row that has slack at some optimum has no price, because
    that optimum stays feasible with a smaller bound. The price of lowering is infinite where nothing is feasible any more.
    """
    found = {}
    for number, (row, state) in enumerate(zip(program.rows, row_states(program, throughput, sizes, None), strict=True)):
        if state.binding:
            scale = throughput / state.bound
            found[number] = (_up(program, throughput, row, meter) * scale, _down(program, throughput, row, meter) * scale)
    return found


def _up(program: PathProgram, throughput: float, moved: ProgramRow, meter: Meter) -> float:
    """The derivative d log TP / d log bound for a larger bound."""
    found = _best(program, throughput, moved, BOUND_SHIFT, meter)
    return 0.0 if found is None else max(0.0, found / BOUND_SHIFT)


def _down(program: PathProgram, throughput: float, moved: ProgramRow, meter: Meter) -> float:
    """The derivative d log TP / d log bound for a smaller bound."""
    found = _best(program, throughput, moved, -BOUND_SHIFT, meter)
    worst = math.inf if isinstance(moved, SpaceRow) else 1.0  # scaling one function costs at most the factor itself
    return worst if found is None else min(worst, max(0.0, -found / BOUND_SHIFT))


def _best(program: PathProgram, throughput: float, moved: ProgramRow, shift: float, meter: Meter) -> float | None:
    """The largest change of log TP with one bound moved by `shift`; None where nothing near the optimum is feasible."""
    rows: list[LinearRow] = []
    for number, row in enumerate(program.rows):
        by = shift if row is moved else 0.0
        if isinstance(row, SpaceRow):
            if row.shuffle.factors:
                rows.append(space_row(number, row, by))
            elif by < 0:
                return None
        elif isinstance(row, ThroughputRow):
            # A function scaled up has to reach less than the optimum, so its line below counts; scaled down, the line above.
            above = shift < 0 if row is moved else shift > 0
            line = _line(row, throughput, above)
            if line is None and row is moved:
                return None  # flat: the throughput falls by the same share as the function
            if line is None:
                return 0.0  # flat: longer runs bring nothing
            slope, bound = line
            terms = log_terms(row.run.exponents, -slope) if slope >= SMALLEST_SLOPE else ()
            rows.append(LinearRow(f"hop_{number}", ((LOG_TP, 1.0), *terms), bound + by))
            if row is moved and shift > 0:
                rows.append(LinearRow(f"most_{number}", ((LOG_TP, 1.0),), by))
        elif row.weight:
            rows.append(LinearRow(f"resource_{number}", ((LOG_TP, 1.0),), math.log(row.peak / throughput) + by))
    limits = {LOG_TP: (None, None if shift > 0 else 0.0), **log_limits(program)}
    point = LinearProgram("price", {LOG_TP: 1.0}, limits, rows).solve(meter)
    return None if point is None else point[LOG_TP]


def _line(row: ThroughputRow, throughput: float, above: bool) -> tuple[float, float] | None:
    """The line of log (tp / throughput) over Σ log block sizes just above or below a throughput: slope and value at 0.

    None where no run is faster.
    """
    tp, run = row.throughput, row.run
    if not run.factors:
        return 0.0, math.log(tp(run.value({})) / throughput)
    slope = 1 - throughput / tp.peak if isinstance(tp, LatencyBandwidth) else 0.0
    smooth = slope > BESIDE  # very close to its peak a smooth function counts as flat
    point = tp.inverse(throughput if smooth else throughput * (1 + BESIDE if above else 1 - BESIDE))
    if math.isinf(point) or (above and run.cap is not None and point > run.cap * (1 - BESIDE)):
        return None
    if not smooth:
        near = tp(point * math.exp(SECANT_WIDTH if above else -SECANT_WIDTH))
        slope = abs(math.log(near / tp(point))) / SECANT_WIDTH
    return slope, math.log(tp(point) / throughput) + slope * math.log(run.coefficient / point)
