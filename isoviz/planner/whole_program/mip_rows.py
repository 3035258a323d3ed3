"""A mixed-integer linear program in PuLP: variables and rows by name, and one solve after another with HiGHS in this process.

PuLP and HiGHS are loaded when the first program is built.
"""

from __future__ import annotations

import math
import re
import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from isoviz.planner.whole_program.rate_lines import Line

Terms = Iterable[tuple[str, float]]

_OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "small_matrix_value": 1e-12,
    "random_seed": 0,
}


@dataclass(frozen=True)
class Point:
    """What a solve found: the value of every variable, the objective, and the value that no point exceeds."""

    values: dict[str, float]
    objective: float
    bound: float
    proved: bool

    def __getitem__(self, name: str) -> float:
        return self.values[name]


class Rows:
    """A program that grows: PuLP's problem with what this package knows about it."""

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
        """How many programs were solved."""

    # ---- building

    def variable(self, name: str, low: float | None, high: float | None) -> str:
        """A variable between two bounds; None: it has none."""
        self._variables[name] = self._make(self._pulp_name(name), low, high)
        return name

    def binary(self, name: str) -> str:
        """A variable that is 0 or 1."""
        self._variables[name] = self._make(self._pulp_name(name), 0, 1, self._pulp.LpInteger)
        self._binaries.append(name)
        return name

    def at_most(self, name: str, terms: Terms, bound: float) -> None:
        """The row Σ coefficient × variable ≤ bound."""
        self._add(name, terms, self._pulp.LpConstraintLE, bound)

    def equal(self, name: str, terms: Terms, value: float) -> None:
        """The row Σ coefficient × variable = value."""
        self._add(name, terms, self._pulp.LpConstraintEQ, value)

    def below_line(self, name: str, what: str, line: Line, run: str, low: float, when: Terms) -> None:
        """`what` ≤ line(run) wherever Σ `when` is 1, `when` a sum of binaries of at most 1; elsewhere no row, as `what` ≤ 0.

        `low` is the least value of `run`: the line is lifted there to 0, the least that makes the row void.
        """
        lift = max(0.0, -line.at(low))
        if lift > 0:
            terms = [(what, 1.0), (run, -line.slope), *((each, factor * lift) for each, factor in when)]
            self.at_most(name, terms, line.value + lift)

    def maximise(self, terms: Terms) -> None:
        """Take another objective."""
        self.problem.sense = self._pulp.LpMaximize
        self.problem.setObjective(self._expression(terms))

    def minimise(self, terms: Terms) -> None:
        """Take another objective."""
        self.problem.sense = self._pulp.LpMinimize
        self.problem.setObjective(self._expression(terms))

    # ---- asking

    def __contains__(self, name: str) -> bool:
        return name in self._variables

    @property
    def variable_count(self) -> int:
        """How many variables it has."""
        return len(self._variables)

    @property
    def binary_count(self) -> int:
        """How many of them are 0 or 1."""
        return len(self._binaries)

    @property
    def row_count(self) -> int:
        """How many rows it has."""
        return len(self._rows)

    def slacks(self, point: Point) -> dict[str, float]:
        """By row: the bound less the left side, for a point; negative where the row is broken."""
        return {
            name: bound - sum(factor * point[variable] for variable, factor in terms)
            for name, (terms, bound) in self._rows.items()
        }

    def names_in(self, row: str) -> tuple[str, ...]:
        """The variables of a row."""
        return tuple(name for name, _ in self._rows[row][0])

    def write(self, path: Path) -> None:
        """Write it as an LP file."""
        self.problem.writeLP(str(path))

    def solve(self, seconds: float = math.inf, *, whole: bool = True) -> Point | None:
        """An optimum; None where there is none, or none was found in so many seconds. `whole`: binaries are 0 or 1."""
        begin = time.perf_counter()
        solver = _interruptible(self._pulp)(
            msg=False,
            mip=whole,
            gapRel=0.0,
            gapAbs=1e-10,
            timeLimit=None if math.isinf(seconds) else max(seconds, 0.01),
            **_OPTIONS,
        )
        status = self.problem.solve(solver)
        self.seconds += time.perf_counter() - begin
        self.solves += 1
        if status != self._pulp.LpStatusOptimal:
            return None
        model, flip = self.problem.solverModel, -1.0 if self.problem.sense == self._pulp.LpMaximize else 1.0
        values = {name: _value(variable) for name, variable in self._variables.items()}
        info, objective = model.getInfo(), flip * model.getObjectiveValue()
        is_mixed = whole and bool(self._binaries) and not self._fixed
        bound = flip * info.mip_dual_bound if is_mixed else objective
        return Point(values, objective, bound, self.problem.sol_status == self._pulp.LpSolutionOptimal and self._is_done(model))

    def fix(self, point: Point) -> None:
        """Hold all binaries at their values in a point."""
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
        kept = tuple(terms)
        self._rows[name] = kept, bound
        self.problem.addConstraint(self._pulp.LpConstraint(self._expression(kept), sense, self._pulp_name(name), bound))

    def _pulp_name(self, name: str) -> str:
        """The name in PuLP: without signs that LP files cannot hold, and unique."""
        said = re.sub(r"[^A-Za-z0-9_.]", "_", name)
        while said in self._names:
            said += "_"
        self._names.add(said)
        return said

    def _expression(self, terms: Terms) -> Any:
        return self._pulp.LpAffineExpression([(self._variables[key], factor) for key, factor in terms])


@cache
def _interruptible(pulp: Any) -> Any:
    """PuLP's HiGHS, but for Ctrl-C: HiGHS asks between its steps whether it is to stop, and what was pressed comes after that."""

    class Interruptible(pulp.HiGHS):  # type: ignore[misc]
        def callSolver(self, lp: Any) -> None:  # noqa: N802  PuLP's name
            model, before = lp.solverModel, signal.getsignal(signal.SIGINT)
            pressed: list[tuple[int, FrameType | None]] = []

            def stop(number: int, frame: FrameType | None) -> None:
                pressed.append((number, frame))
                model.cancelSolve()

            # Signals come to the main thread; a linear program takes a millisecond.
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
