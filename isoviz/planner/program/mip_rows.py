"""A mixed-integer linear program in PuLP: variables and rows by name, solved repeatedly with HiGHS in this process.

PuLP and HiGHS are loaded when the first program is built.
"""

from __future__ import annotations

import math
import re
import signal
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.machines import Constant, LatencyBandwidth, Sampled, ThroughputFunction
from isoviz.planner.planning_work import Work
from isoviz.planner.program.tuning import (
    FIRST_TANGENTS,
    LINEAR_STEPS,
    MIP_GAP,
    MIP_OPTIONS,
    NODE_STEPS,
    ROUNDING,
    SMALLEST_SLOPE,
    SOLVE_STEPS,
)

if TYPE_CHECKING:
    from types import FrameType


# Throughput functions as lines in the logarithms of run and throughput, exactly: concave parts, and a choice between
# them.
#
# 1. log tp never decreases as log run grows. Where it is concave on an interval, it is the minimum of its lines there.
# 2. A function that is not concave is cut into the fewest concave parts.
# 3. A program chooses a part k. Its run is at least the beginning of k, and its rate is below the lines of k and below
#    the value at the end of k.
# 4. Every such point lies below the function, because the function never decreases. And every point below the function
#    is such a point, for the part that contains its run. So the choice between parts is exact.


@dataclass(frozen=True)
class RateLine:
    """log tp ≤ `value` + `slope` × log run, with run in bytes and tp in bytes per second."""

    slope: float
    value: float

    def at(self, log_run: float) -> float:
        """The value at a run."""
        return self.value + self.slope * log_run


@dataclass(frozen=True)
class Part:
    """A part of a throughput function whose logarithm is concave there.

    From log run `low` on it is the minimum of `lines`. The last of them is flat, at the value at the end of the part.
    """

    low: float
    lines: tuple[RateLine, ...]


def parts_of(function: ThroughputFunction, low: float, high: float) -> tuple[Part, ...]:
    """The parts of a function for log runs from `low` to `high`, in ascending order; one part where its logarithm is concave.

    A smooth function (`is_smooth`) has tangents at a few runs; more are added where they are needed. A function of a kind that
    machine files do not know has a single line, its highest value.
    """
    top = RateLine(0.0, math.log(function(math.exp(high))))
    if high - low <= SMALLEST_SLOPE:
        return (Part(low, (top,)),)
    if isinstance(function, LatencyBandwidth):
        runs = [low + (high - low) * k / (FIRST_TANGENTS - 1) for k in range(FIRST_TANGENTS)]
        return (Part(low, (*dict.fromkeys(tangent(function, run) for run in runs), top)),)
    if not isinstance(function, Sampled | Constant):
        return (Part(low, (top,)),)
    points = corners_of(function, low, high)
    found: list[list[tuple[float, RateLine, float]]] = []
    for (x0, _), (_, y1), line in zip(points, points[1:], lines_through(points), strict=False):
        if not found or line.slope > found[-1][-1][1].slope * (1 + ROUNDING) + SMALLEST_SLOPE:
            found.append([])
        found[-1].append((x0, line, y1))
    return tuple(Part(each[0][0], (*(line for _, line, _ in each), RateLine(0.0, each[-1][2]))) for each in found)


def corners_of(function: Sampled | Constant, low: float, high: float) -> list[tuple[float, float]]:
    """Points (log run, log rate) between which the logarithm of a function is straight, from log run `low` to `high`."""
    runs = [low, *(math.log(run) for run, _ in function.samples if low < math.log(run) < high), high]
    return [(x, math.log(function(math.exp(x)))) for x in runs]


def lines_through(points: Sequence[tuple[float, float]]) -> list[RateLine]:
    """The line through each point and the next one; flat ones are at the height of the later point."""
    lines = []
    for (x0, y0), (x1, y1) in pairwise(points):
        slope = (y1 - y0) / (x1 - x0)
        lines.append(RateLine(slope, y0 - slope * x0) if slope >= SMALLEST_SLOPE else RateLine(0.0, y1))
    return lines


def is_smooth(function: ThroughputFunction) -> bool:
    """Whether lines only approximate the function, so that a solution may need a further tangent."""
    return isinstance(function, LatencyBandwidth)


def is_known(function: ThroughputFunction) -> bool:
    """Whether the parts of `parts_of` are the function itself."""
    return isinstance(function, LatencyBandwidth | Sampled | Constant)


def tangent(function: LatencyBandwidth, log_run: float) -> RateLine:
    """The line that touches a smooth concave function at a run."""
    run = math.exp(log_run)
    slope = 1 / (1 + run / (function.latency * function.bandwidth))
    value = math.log(function(run))
    return RateLine(slope, value - slope * log_run) if slope >= SMALLEST_SLOPE else RateLine(0.0, math.log(function.peak))


Terms = Iterable[tuple[str, float]]


@dataclass(frozen=True)
class Point:
    """The result of a solve: the value of every variable, the objective, and a bound that no point exceeds."""

    values: dict[str, float]
    objective: float
    bound: float
    proved: bool

    def __getitem__(self, name: str) -> float:
        return self.values[name]


class Rows:
    """A program that grows: a PuLP problem with its variables and rows by name."""

    def __init__(self, name: str) -> None:
        import pulp

        self._pulp = pulp
        self.problem = pulp.LpProblem(name, pulp.LpMinimize)
        self._make = getattr(self.problem, "add_variable", pulp.LpVariable)
        self._variables: dict[str, Any] = {}
        self._binaries: list[str] = []
        self._rows: dict[str, tuple[tuple[tuple[str, float], ...], float]] = {}
        self._names: set[str] = set()
        self._fixed: tuple[str, ...] = ()
        self.seconds = 0.0
        """Seconds that all solves took."""
        self.solves = 0
        """The number of programs that were solved."""

    # ---- building

    def variable(self, name: str, low: float | None, high: float | None) -> str:
        """Add a variable between two bounds; None means unbounded."""
        self._variables[name] = self._make(self._pulp_name(name), low, high)
        return name

    def binary(self, name: str) -> str:
        """Add a variable that is 0 or 1."""
        self._variables[name] = self._make(self._pulp_name(name), 0, 1, self._pulp.LpInteger)
        self._binaries.append(name)
        return name

    def at_most(self, name: str, terms: Terms, bound: float) -> None:
        """Add the row Σ coefficient × variable ≤ bound."""
        self._add(name, terms, self._pulp.LpConstraintLE, bound)

    def equal(self, name: str, terms: Terms, value: float) -> None:
        """Add the row Σ coefficient × variable = value."""
        self._add(name, terms, self._pulp.LpConstraintEQ, value)

    def below_line(self, name: str, what: str, line: RateLine, run: str, low: float, when: Terms) -> None:
        """Add the row `what` ≤ line(run) for Σ `when` = 1, where `when` is a sum of binaries of at most 1. `what` is at most 0.

        This is a big-M row. For Σ `when` = 0 the line is lifted so that it is 0 at `low`, the least value of `run`; that is the
        smallest lift with which the row has no effect.
        """
        lift = max(0.0, -line.at(low))
        if lift > 0:
            terms = [(what, 1.0), (run, -line.slope), *((each, factor * lift) for each, factor in when)]
            self.at_most(name, terms, line.value + lift)

    def maximise(self, terms: Terms) -> None:
        """Set the objective."""
        self.problem.sense = self._pulp.LpMaximize
        self.problem.setObjective(self._expression(terms))

    def minimise(self, terms: Terms) -> None:
        """Set the objective."""
        self.problem.sense = self._pulp.LpMinimize
        self.problem.setObjective(self._expression(terms))

    # ---- asking

    def __contains__(self, name: str) -> bool:
        return name in self._variables

    @property
    def variable_count(self) -> int:
        """The number of variables."""
        return len(self._variables)

    @property
    def binary_count(self) -> int:
        """The number of variables that are 0 or 1."""
        return len(self._binaries)

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self._rows)

    def slacks(self, point: Point) -> dict[str, float]:
        """Per row, the bound minus the left side at a point; negative where the row is violated."""
        return {
            name: bound - sum(factor * point[variable] for variable, factor in terms)
            for name, (terms, bound) in self._rows.items()
        }

    def names_in(self, row: str) -> tuple[str, ...]:
        """The variables of a row."""
        return tuple(name for name, _ in self._rows[row][0])

    @property
    def text(self) -> str:
        """The program as the text of an LP file."""
        with tempfile.TemporaryDirectory(prefix="isoviz-") as folder:  # PuLP writes files alone
            path = Path(folder) / "program.lp"
            self.problem.writeLP(str(path))
            return path.read_text(encoding="utf-8")

    def solve(self, work: Work | None = None, *, whole: bool = True, gap: float = MIP_GAP) -> Point | None:
        """An optimum; None where there is none, or where none was found until `work` was done (None: no bound).

        The nodes of the tree are counted: HiGHS takes the same ones every time. `whole` asks for binaries of 0 or 1.
        The objective may be above the optimum by `gap`.
        """
        begin = time.perf_counter()
        work = work or Work(math.inf)
        size = self.variable_count + self.row_count
        is_mixed = whole and bool(self._binaries) and not self._fixed
        work.add(size * (SOLVE_STEPS if is_mixed else LINEAR_STEPS))
        solver = _interruptible(self._pulp)(
            most_nodes=max(1.0, work.left / (size * NODE_STEPS)) if is_mixed else math.inf,
            msg=False,
            mip=whole,
            gapRel=0.0,
            gapAbs=gap,
            **MIP_OPTIONS,
        )
        status = self.problem.solve(solver)
        self.seconds += time.perf_counter() - begin
        self.solves += 1
        model, flip = self.problem.solverModel, -1.0 if self.problem.sense == self._pulp.LpMaximize else 1.0
        if is_mixed:
            work.add(size * NODE_STEPS * max(0, model.getInfo().mip_node_count))
        if status != self._pulp.LpStatusOptimal or math.isinf(model.getObjectiveValue()):
            return None
        values = {name: _value(variable) for name, variable in self._variables.items()}
        info, objective = model.getInfo(), flip * model.getObjectiveValue()
        bound = flip * info.mip_dual_bound if is_mixed else objective
        return Point(values, objective, bound, self.problem.sol_status == self._pulp.LpSolutionOptimal and self._is_done(model))

    def duals(self) -> dict[str, float]:
        """Per row, the change of the optimum for each unit of a larger bound. The last solve had no binaries that were free."""
        found = self.problem.solverModel.getSolution().row_dual
        return dict(zip(self._rows, map(float, found), strict=True))

    def fix(self, point: Point) -> None:
        """Fix all binaries at their values in a point."""
        for name in self._binaries:
            value = float(round(point[name]))
            self._variables[name].lowBound = self._variables[name].upBound = value
        self._fixed = tuple(self._binaries)

    def free(self) -> None:
        """Let all binaries be 0 or 1 again."""
        for name in self._fixed:
            self._variables[name].lowBound, self._variables[name].upBound = 0, 1
        self._fixed = ()

    def _is_done(self, model: Any) -> bool:
        return str(model.getModelStatus()).endswith("kOptimal")

    def _add(self, name: str, terms: Terms, sense: int, bound: float) -> None:
        pairs = tuple(terms)
        self._rows[name] = pairs, bound
        self.problem.addConstraint(self._pulp.LpConstraint(self._expression(pairs), sense, self._pulp_name(name), bound))

    def _pulp_name(self, name: str) -> str:
        """A unique name for PuLP, without characters that LP files do not allow."""
        unique = re.sub(r"[^A-Za-z0-9_.]", "_", name)
        while unique in self._names:
            unique += "_"
        self._names.add(unique)
        return unique

    def _expression(self, terms: Terms) -> Any:
        return self._pulp.LpAffineExpression([(self._variables[key], factor) for key, factor in terms])


@cache
def _interruptible(pulp: Any) -> Any:
    """PuLP's HiGHS with a working Ctrl-C, and with a bound on the nodes of its tree that leaves the best point so far.

    HiGHS asks between its steps whether it should stop. The handler of the signal runs after HiGHS has stopped.
    """

    class Interruptible(pulp.HiGHS):  # type: ignore[misc]
        def __init__(self, most_nodes: float, **options: Any) -> None:
            super().__init__(**options)
            self.most_nodes = most_nodes

        def callSolver(self, lp: Any) -> None:  # noqa: N802  PuLP's name
            model, before = lp.solverModel, signal.getsignal(signal.SIGINT)
            pressed: list[tuple[int, FrameType | None]] = []

            def stop(number: int, frame: FrameType | None) -> None:
                pressed.append((number, frame))
                model.cancelSolve()

            def count(event: Any) -> None:
                if event.data_out.mip_node_count >= self.most_nodes:
                    event.interrupt()

            if not math.isinf(self.most_nodes):
                model.cbMipInterrupt += count
            # Only the main thread gets signals. A linear program takes a millisecond, so it need not be interrupted.
            if not self.mip or not callable(before) or threading.current_thread() is not threading.main_thread():
                model.run()
                return
            model.HandleUserInterrupt = True
            signal.signal(signal.SIGINT, stop)
            try:
                model.run()
            finally:
                signal.signal(signal.SIGINT, before)
            if pressed:
                before(*pressed[0])

    return Interruptible


def _value(variable: Any) -> float:
    value = variable.varValue
    return float(variable.lowBound or 0.0) if value is None else float(value)
