"""The paper's way to the highest throughput of a path: bisection with a test of feasibility (Isometry, section 4.2).

1. For a given throughput each hop needs a run of at least r′ bytes, the smallest with tp(r′) ≥ TP.
2. A run is a number of bytes times one block size at most, so the runs give the least size of every block (`least_sizes`).
3. If any blocks fit the limits, the least ones do. So the test is to compare them with the limits: it needs no linear program,
   and functions that are not concave need no other treatment.
4. A lower throughput needs only shorter runs, so all that is feasible at TP is feasible below it.

Further questions are asked of the same rows in the logarithms, where they are lines (`_LogLines`): which blocks leave all rows as
much slack as possible, and what a changed bound does to the throughput (`prices_of`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from isoviz.machines import LatencyBandwidth
from isoviz.planner.program.program_rows import Optimum, PathProgram, ProgramRow, SpaceRow, ThroughputRow, row_states
from isoviz.planner.program.tuning import (
    BESIDE,
    BISECTION_WIDTH,
    BOUND_SHIFT,
    ROUNDING,
    SECANT_WIDTH,
    SMALL_SLACK,
    SMALLEST_SLOPE,
)


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
    highest, steps = _highest(program)
    sizes = _central_sizes(program, highest)
    throughput = min(highest, program.throughput_at(sizes))
    found = prices_of(program, throughput, sizes) if prices else None
    return Bisection(throughput, tuple(sizes.items()), row_states(program, throughput, sizes, found), steps)


def _highest(program: PathProgram) -> tuple[float, tuple[Step, ...]]:
    """Bisection between the throughput of blocks of one element and the one that no blocks exceed."""
    low, high = program.throughput_at(program.ones), program.upper_bound
    steps, tried = list[Step](), high
    while True:
        sizes = least_sizes(program, tried)
        feasible = all(row.shuffle.value(sizes) <= row.limit * (1 + ROUNDING) for row in program.space)
        low, high = (tried, high) if feasible else (low, tried)
        steps.append(Step(tried, feasible, low, high))
        tried = math.sqrt(low) * math.sqrt(high)
        if high - low <= BISECTION_WIDTH * high or not low < tried < high:
            return low, tuple(steps)


def least_sizes(program: PathProgram, throughput: float) -> dict[str, float]:
    """The smallest blocks with whose runs no hop is slower than a throughput, which may not exceed `PathProgram.upper_bound`."""
    sizes = program.ones
    for row, name in _block_rows(program):
        sizes[name] = max(sizes[name], _needed(program, row, throughput))
    return sizes


def _block_rows(program: PathProgram) -> list[tuple[ThroughputRow, str]]:
    """The hops whose runs depend on a block size, each with that variable."""
    return [(row, name) for row in program.throughput for name in row.run.factors]


def _needed(program: PathProgram, row: ThroughputRow, throughput: float) -> float:
    """The block size that a hop needs for a throughput within its reach."""
    run = min(row.throughput.inverse(throughput), row.run.value(program.highs))  # rounding must not ask for an impossible run
    return max(ROUNDING, run / row.run.coefficient)  # any run may do: its logarithm has to be a number


def _log_room(row: SpaceRow) -> float:
    """The largest logarithm of the product of block sizes that a limit allows."""
    return math.log(row.limit * (1 + ROUNDING) / row.shuffle.coefficient)


# ---- lines in the logarithms


class _Need(NamedTuple):
    """log size of `variable` ≥ `value` + `slope` × z."""

    variable: str
    slope: float
    value: float


class _Room(NamedTuple):
    """Σ log size of `variables` + `slope` × z ≤ `bound`."""

    variables: tuple[str, ...]
    slope: float
    bound: float


class _LogLines:
    """Rows in the logarithms of block sizes whose bounds change with a parameter z, so that larger z leave less room."""

    def __init__(self, program: PathProgram) -> None:
        self.needs: list[_Need] = []
        self.rooms: list[_Room] = []
        self.top = math.inf
        """The largest z that the rows without block sizes allow."""
        self._highs = {name: math.log(high) for name, high in program.highs.items()}

    def least(self, variable: str, z: float) -> tuple[float, float]:
        """The least logarithm of a size for z, and how much it grows with z."""
        lines = ((need.value + need.slope * z, need.slope) for need in self.needs if need.variable == variable)
        return max([(0.0, 0.0), *lines])

    def largest(self) -> float | None:
        """The largest z; infinite where nothing bounds it, None where no z is small enough.

        The room that the least sizes take is convex in z, and straight in parts. So Newton's method, from a z that is too large,
        ends at the answer after as many steps as there are parts.
        """
        z = min(
            self.top,
            *((self._highs[need.variable] - need.value) / need.slope for need in self.needs if need.slope > 0),
            *(room.bound / room.slope for room in self.rooms if room.slope > 0),
            math.inf,
        )
        for room in self.rooms if z < math.inf else ():
            for _ in range(len(self.needs) + 2):
                least = [self.least(name, z) for name in room.variables]
                excess = sum(value for value, _ in least) + room.slope * z - room.bound
                slope = sum(slope for _, slope in least) + room.slope
                if excess > 2 * ROUNDING and slope <= 0:
                    return None
                if excess <= 0 or slope <= 0:
                    break
                z -= excess / slope
        return z


def _central_sizes(program: PathProgram, throughput: float) -> dict[str, float]:
    """The most central blocks among those that reach a throughput: a row is tight only where it has to be.

    All rows that can have any slack get the same share of their bound as slack, as large as possible. Each block is the smallest
    one with that slack.
    """
    lines, sizes = _LogLines(program), least_sizes(program, throughput)
    least = {name: math.log(size) for name, size in sizes.items()}
    above = {name: math.log(high) - least[name] for name, high in program.highs.items()}
    for row in program.space:
        bound = _log_room(row)
        room = bound - sum(least[name] for name in row.shuffle.factors)
        for name in row.shuffle.factors:
            above[name] = min(above[name], room)
        lines.rooms.append(_Room(row.shuffle.factors, 1.0 if room > SMALL_SLACK else 0.0, bound))
    for hop, name in _block_rows(program):
        need = math.log(_needed(program, hop, throughput))
        lines.needs.append(_Need(name, 1.0 if least[name] - need + above[name] > SMALL_SLACK else 0.0, need))
    slack = lines.largest()
    if slack is None or math.isinf(slack):
        return sizes
    return {name: min(high, max(sizes[name], math.exp(lines.least(name, slack)[0]))) for name, high in program.highs.items()}


# ---- shadow prices


def prices_of(program: PathProgram, throughput: float, sizes: Mapping[str, float]) -> dict[int, tuple[float, float]]:
    """Pairs (price of raising the bound, price of lowering it) of the binding rows, by number of the row.

    The unit is bytes per second of throughput per unit of the bound. A row that has slack at some optimum has no price, because
    that optimum stays feasible with a smaller bound. The price of lowering is infinite where nothing is feasible any more.

    Near the optimum each throughput function is a line in log-log, possibly with different slopes above and below the optimal
    throughput. The price is what these lines give with one bound a little larger or smaller.
    """
    found = {}
    for number, (row, state) in enumerate(zip(program.rows, row_states(program, throughput, sizes, None), strict=True)):
        if state.binding:
            scale = throughput / state.bound
            up, down = (_change(program, throughput, row, by) for by in (BOUND_SHIFT, -BOUND_SHIFT))
            worst = math.inf if isinstance(row, SpaceRow) else 1.0  # scaling one function costs at most the factor itself
            more = 0.0 if up is None else max(0.0, up / BOUND_SHIFT)
            less = worst if down is None else min(worst, max(0.0, -down / BOUND_SHIFT))
            found[number] = (more * scale, less * scale)
    return found


def _change(program: PathProgram, throughput: float, moved: ProgramRow, shift: float) -> float | None:
    """The largest change of log TP with one bound moved by `shift`; None where nothing near the optimum is feasible."""
    lines = _LogLines(program)
    lines.top = math.inf if shift > 0 else 0.0
    for row in program.rows:
        by = shift if row is moved else 0.0
        if isinstance(row, SpaceRow):
            if row.shuffle.factors:
                lines.rooms.append(_Room(row.shuffle.factors, 0.0, _log_room(row) + by))
            elif by < 0:
                return None
        elif isinstance(row, ThroughputRow):
            # A function scaled up has to reach less than the optimum, so its line below counts; scaled down, the line above.
            line = _line(row, throughput, above=shift < 0 if row is moved else shift > 0)
            if line is None:  # flat: the throughput falls with the function, and longer runs bring nothing
                return None if row is moved else 0.0
            slope, value = line
            if slope >= SMALLEST_SLOPE:
                lines.needs += [_Need(name, 1 / slope, -(value + by) / slope) for name in row.run.factors]
            else:
                lines.top = min(lines.top, value + by)
            if row is moved and shift > 0:
                lines.top = min(lines.top, by)
        elif row.weight:
            lines.top = min(lines.top, math.log(row.peak / throughput) + by)
    return lines.largest()


def _line(row: ThroughputRow, throughput: float, *, above: bool) -> tuple[float, float] | None:
    """The line of log (tp / throughput) over log block size just above or below a throughput: slope and value at 0.

    None where no run is faster.
    """
    tp, run = row.throughput, row.run
    if not run.factors:
        return 0.0, math.log(tp(run.value({})) / throughput)
    slope = 1 - throughput / tp.peak if isinstance(tp, LatencyBandwidth) else 0.0
    smooth = slope > BESIDE  # very close to its peak a smooth function counts as flat
    point = max(ROUNDING, tp.inverse(throughput if smooth else throughput * (1 + BESIDE if above else 1 - BESIDE)))
    if math.isinf(point) or (above and run.cap is not None and point > run.cap * (1 - BESIDE)):
        return None
    if not smooth:
        near = tp(point * math.exp(SECANT_WIDTH if above else -SECANT_WIDTH))
        slope = abs(math.log(near / tp(point))) / SECANT_WIDTH
    return slope, math.log(tp(point) / throughput) + slope * math.log(run.coefficient / point)
