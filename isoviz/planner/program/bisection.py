"""The paper's way to the highest throughput of a path: bisection with a feasibility program (Isometry, section 4.2).

For a given throughput each hop needs a run of at least r′ bytes, the smallest with tp(r′) ≥ TP. With r′ fixed, every row is
linear in the logarithms of the block sizes. A lower throughput needs only shorter runs, so all that is feasible at TP is feasible
below it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from isoviz.errors import InputError
from isoviz.planner.program.linear_program import (
    LinearProgram,
    LinearRow,
    Meter,
    log_limits,
    log_name,
    log_terms,
    sizes_of,
    space_row,
)
from isoviz.planner.program.program_rows import Optimum, PathProgram, ThroughputRow, row_states
from isoviz.planner.program.shadow_prices import shadow_prices
from isoviz.planner.program.tuning import BISECTION_WIDTH, MOST_BISECTION_STEPS, ROUNDING, ROW_ERROR, SAME_CORNER, SMALL_SLACK

MARGIN = "margin"
"""The variable by which all runs exceed r′, as a logarithm."""


@dataclass(frozen=True)
class Step:
    """A throughput that was tried, whether it is feasible, and the interval that is left (bytes per second)."""

    throughput: float
    feasible: bool
    low: float
    high: float


@dataclass(frozen=True)
class Bisection(Optimum):
    """The result of a bisection, with all its steps."""

    steps: tuple[Step, ...]


def bisect(program: PathProgram, *, prices: bool = True) -> Bisection:
    """The highest throughput of a path by bisection; with `prices`, every row with its shadow price.

    Raises:
        LimitError: no blocks fit the limits; the message names the rows.
    """
    program.check_limits()
    meter = Meter()
    throughput, sizes, steps = bisect_throughput(program, meter, program.upper_bound)
    throughput, sizes = centred_sizes(program, throughput, sizes, meter)
    found = shadow_prices(program, throughput, sizes, meter) if prices else None
    states = row_states(program, throughput, sizes, found)
    return Bisection(throughput, tuple(sizes.items()), states, meter.programs, meter.seconds, steps)


def bisect_throughput(program: PathProgram, meter: Meter, upper: float) -> tuple[float, dict[str, float], tuple[Step, ...]]:
    """Bisection between the throughput of blocks of one element and `upper`, which no blocks exceed.

    Returns the throughput, sizes that reach it, and the steps. A single PuLP problem is built, and each step changes its right
    sides. It maximises the margin by which all runs exceed r′, as a logarithm. A throughput is feasible if the margin is not
    negative. The sizes found may reach more than was asked for.
    """
    sizes = program.ones
    low, high = min(program.throughput_at(sizes), upper), upper
    hops = [(number, row) for number, row in enumerate(program.throughput) if row.run.factors]
    if not hops or low >= high:
        return low, sizes, (Step(low, True, low, low),)
    space = [space_row(k, row) for k, row in enumerate(program.space) if row.shuffle.factors]
    runs = [LinearRow(f"run_{k}", ((MARGIN, 1.0), *log_terms(row.run.exponents, -1.0)), 0.0) for k, row in hops]
    lp = LinearProgram("feasible", {MARGIN: 1.0}, {MARGIN: (None, None), **log_limits(program)}, (*runs, *space))
    steps: list[Step] = []
    tried = high
    while len(steps) < MOST_BISECTION_STEPS:
        point = None
        for number, row in hops:
            lp.change(f"run_{number}", -_needed(program, row, tried))
        point = lp.solve(meter)
        feasible = point is not None and point[MARGIN] >= -ROW_ERROR
        if feasible:
            assert point is not None
            sizes = sizes_of(program, point)
            low = min(high, max(tried, program.throughput_at(sizes)))
        else:
            high = tried
        steps.append(Step(tried, feasible, low, high))
        if high - low <= BISECTION_WIDTH * high:
            break
        tried = math.sqrt(low) * math.sqrt(high)
        if not low < tried < high:
            break
    return low, sizes, tuple(steps)


def _needed(program: PathProgram, row: ThroughputRow, throughput: float) -> float:
    """The logarithm of the product of block sizes that the run of a hop needs for a throughput within its reach."""
    run = min(row.throughput.inverse(throughput), row.run.value(program.highs))  # rounding must not ask for an impossible run
    return math.log(run / row.run.coefficient)


def centred_sizes(
    program: PathProgram, throughput: float, sizes: dict[str, float], meter: Meter
) -> tuple[float, dict[str, float]]:
    """The most central blocks among those that reach a throughput: a row is tight only where it has to be.

    A first program finds the rows that can have any slack. A second one maximises the smallest slack among these rows. The
    throughput is returned with the sizes, lowered to what they reach exactly. Where rounding makes the programs infeasible,
    `sizes` is returned.
    """
    for wanted in (throughput, throughput * (1 - ROUNDING)):
        point = _centre(program, wanted, meter)
        if point is not None:
            better = sizes_of(program, point)
            reached = program.throughput_at(better)
            if reached >= throughput * (1 - 10 * ROUNDING):
                return min(throughput, reached), better
    return min(throughput, program.throughput_at(sizes)), sizes


def _centre(program: PathProgram, throughput: float, meter: Meter) -> dict[str, float] | None:
    rows = [
        LinearRow(f"run_{k}", log_terms(row.run.exponents, -1.0), -_needed(program, row, throughput))
        for k, row in enumerate(program.throughput)
        if row.run.factors
    ]
    rows += [space_row(k, row) for k, row in enumerate(program.space) if row.shuffle.factors]
    if not rows:
        return {log_name(name): 0.0 for name in program.ones}
    limits = log_limits(program)
    slacks = {f"slack_{row.name}": 1.0 for row in rows}
    first = LinearProgram(
        "slack",
        slacks,
        {**limits, **dict.fromkeys(slacks, (0.0, SMALL_SLACK))},
        [LinearRow(row.name, (*row.terms, (f"slack_{row.name}", 1.0)), row.bound) for row in rows],
    )
    point = first.solve(meter)
    if point is None:
        return None
    free = {row.name for row in rows if point[f"slack_{row.name}"] > SMALL_SLACK / 10}
    if not free:
        return point
    second = LinearProgram(
        "middle",
        {MARGIN: 1.0},
        {**limits, MARGIN: (0.0, None)},
        [LinearRow(row.name, (*row.terms, *(((MARGIN, 1.0),) if row.name in free else ())), row.bound) for row in rows],
    )
    return second.solve(meter) or point


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
    fixed = dict(at or {})
    for name in (x, y):
        if name not in highs:
            raise InputError(f"feasible region: unknown variable {name}; known are {', '.join(highs) or 'none'}")
    missing = [name for name in highs if name not in (x, y) and name not in fixed]
    if x == y or missing:
        wrong = f"{x} stands for both axes" if x == y else f"no size for {', '.join(missing)}"
        raise InputError(f"feasible region: {wrong}; expected two variables and a size for every other")
    planes = []
    for row in program.throughput:
        run = row.throughput.inverse(throughput)
        if row.run.cap is not None and run > row.run.cap * (1 + ROUNDING):
            return ()
        planes.append((row.run, -1.0, run))
    if any(row.peak < throughput * (1 - ROUNDING) for row in program.resources):
        return ()
    planes += [(row.shuffle, 1.0, row.limit) for row in program.space]
    corners = [(0.0, 0.0), (math.log(highs[x]), 0.0), (math.log(highs[x]), math.log(highs[y])), (0.0, math.log(highs[y]))]
    for monomial, sign, bound in planes:
        if math.isinf(bound):
            return ()
        if bound <= 0:  # no run at all is needed
            continue
        powers = dict(monomial.exponents)
        rest = math.log(monomial.coefficient) + sum(
            count * math.log(fixed[name]) for name, count in powers.items() if name not in (x, y)
        )
        plane = (sign * powers.get(x, 0), sign * powers.get(y, 0), sign * (math.log(bound) - rest) + ROUNDING)
        corners = _clipped(corners, plane)
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
