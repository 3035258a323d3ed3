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
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.planner.planning_work import Work
from isoviz.planner.program.tuning import LINEAR_STEPS, MIP_GAP, MIP_OPTIONS, NODE_STEPS, SOLVE_STEPS

if TYPE_CHECKING:
    from types import FrameType

    from isoviz.planner.program.rate_lines import RateLine

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
