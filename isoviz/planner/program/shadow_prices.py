"""Shadow prices of the rows of a path's program: what another bound would do to the highest throughput.

Near the optimum each throughput function is a line in log-log, one above the optimal throughput and perhaps another below it. A
program of these lines, solved again with one bound a little larger or smaller, gives the price; that holds where log tp is not
concave too, and at kinks, where the dual values of one program would be any of several.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from isoviz.machines import LatencyBandwidth
from isoviz.planner.program.linear_program import (
    LOG_TP,
    SMALLEST_SLOPE,
    LinearProgram,
    LinearRow,
    Meter,
    log_limits,
    log_terms,
    space_row,
)
from isoviz.planner.program.program_rows import PathProgram, ProgramRow, SpaceRow, ThroughputRow, row_states

BOUND_SHIFT = 1e-6
"""How far a bound is moved, as a logarithm."""
BESIDE = 1e-9  # where "just above" and "just below" the optimum is: more than the optimum's own error
SECANT_WIDTH = 1e-6  # over how much of log run a slope is taken


def shadow_prices(
    program: PathProgram, throughput: float, sizes: Mapping[str, float], meter: Meter
) -> dict[int, tuple[float, float]]:
    """Pairs (price of raising the bound, price of lowering it) of the binding rows, by number of the row.

    The unit is bytes/s of throughput per unit of the bound. A row that has slack at some optimum has no price: a smaller bound
    leaves that optimum feasible. Lowering is priced infinite where nothing is feasible then.
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
    worst = math.inf if isinstance(moved, SpaceRow) else 1.0  # scaling one function by a factor never costs more than the factor
    return worst if found is None else min(worst, max(0.0, -found / BOUND_SHIFT))


def _best(program: PathProgram, throughput: float, moved: ProgramRow, shift: float, meter: Meter) -> float | None:
    """By how much log TP changes at best with one bound moved by `shift`; None where nothing near the optimum is feasible."""
    rows: list[LinearRow] = []
    for number, row in enumerate(program.rows):
        by = shift if row is moved else 0.0
        if isinstance(row, SpaceRow):
            if row.shuffle.factors:
                rows.append(space_row(number, row, by))
            elif by < 0:
                return None
        elif isinstance(row, ThroughputRow):
            # A function scaled up is asked for less than the optimum, so its line below counts; scaled down, the line above.
            above = shift < 0 if row is moved else shift > 0
            line = _line(row, throughput, above)
            if line is None and row is moved:
                return None  # flat: throughput falls by as much as the function
            if line is None:
                return 0.0  # flat: however long the runs, no more than now
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
    smooth = slope > BESIDE  # so close to its peak that it is not, a smooth function is as good as flat
    point = tp.inverse(throughput if smooth else throughput * (1 + BESIDE if above else 1 - BESIDE))
    if math.isinf(point) or (above and run.cap is not None and point > run.cap * (1 - BESIDE)):
        return None
    if not smooth:
        near = tp(point * math.exp(SECANT_WIDTH if above else -SECANT_WIDTH))
        slope = abs(math.log(near / tp(point))) / SECANT_WIDTH
    return slope, math.log(tp(point) / throughput) + slope * math.log(run.coefficient / point)
