"""Small linear programs in the logarithms of sizes and throughput, built and solved with PuLP (HiGHS in this process).

PuLP and HiGHS are loaded when the first program is built.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoviz.planner.program.tuning import LP_OPTIONS, UNIT

if TYPE_CHECKING:
    from isoviz.planner.program.program_rows import PathProgram, SpaceRow

LOG_TP = "log_TP"
"""The variable of the throughput: log (TP / a reference)."""
Terms = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class LinearRow:
    """Σ coefficient × variable ≤ `bound`, in logarithms."""

    name: str
    terms: Terms
    bound: float


@dataclass
class Meter:
    """Counts the programs that were solved, and the seconds that solving took."""

    programs: int = 0
    seconds: float = 0.0


class LinearProgram:
    """Maximise Σ coefficient × variable under rows.

    It is one PuLP problem, which is solved again after rows are added or bounds are changed. `limits` gives the lowest and
    highest value of every variable, None where it has none. All numbers are logarithms; `unit` is the factor between them and the
    numbers of the PuLP problem.
    """

    def __init__(
        self,
        name: str,
        objective: Mapping[str, float],
        limits: Mapping[str, tuple[float | None, float | None]],
        rows: Iterable[LinearRow] = (),
        unit: float = UNIT,
    ) -> None:
        import pulp

        self._pulp = pulp
        self._unit = unit
        self._limits = dict(limits)
        self.problem = pulp.LpProblem(name, pulp.LpMaximize)
        # From PuLP 3.3.1 on variables are made by their problem, and the constructor warns.
        make = getattr(self.problem, "add_variable", pulp.LpVariable)
        self._variables: dict[str, Any] = {
            key: make(key, *(None if limit is None else limit * unit for limit in pair)) for key, pair in limits.items()
        }
        self._rows: dict[str, Any] = {}
        self.problem.setObjective(self._expression(objective.items()))
        for row in rows:
            self.add(row)

    def add(self, row: LinearRow) -> None:
        """Add a row; the next solve includes it."""
        name = re.sub(r"\W+", "_", row.name, flags=re.ASCII)
        while name in self._rows:
            name += "_"
        made = self._pulp.LpConstraint(self._expression(row.terms), self._pulp.LpConstraintLE, name, row.bound * self._unit)
        self._rows[name] = made
        self.problem.addConstraint(made)

    def change(self, name: str, bound: float) -> None:
        """Change the right side of a row."""
        self._rows[name].changeRHS(bound * self._unit)

    def solve(self, meter: Meter) -> dict[str, float] | None:
        """The values of all variables at an optimum; None where no values satisfy all rows."""
        begin = time.perf_counter()
        status = self.problem.solve(self._pulp.HiGHS(msg=False, **LP_OPTIONS))
        meter.seconds += time.perf_counter() - begin
        meter.programs += 1
        if status != self._pulp.LpStatusOptimal:
            return None
        found = {}
        for key, variable in self._variables.items():
            value = variable.varValue
            found[key] = (self._limits[key][0] or 0.0) if value is None else value / self._unit
        return found

    @property
    def text(self) -> str:
        """PuLP's own rendering of the problem."""
        return str(self.problem)

    def _expression(self, terms: Iterable[tuple[str, float]]) -> Any:
        return self._pulp.LpAffineExpression([(self._variables[key], factor) for key, factor in terms])


def log_name(variable: str) -> str:
    """The name of the logarithm of a block variable."""
    return f"log_{variable}"


def log_limits(program: PathProgram) -> dict[str, tuple[float | None, float | None]]:
    """The bounds of the logarithms of all block variables."""
    return {log_name(variable.name): (0.0, math.log(variable.high)) for variable in program.variables}


def log_terms(exponents: Iterable[tuple[str, int]], factor: float = 1.0) -> Terms:
    """Σ exponent × log variable, times a factor."""
    return tuple((log_name(name), factor * count) for name, count in exponents)


def space_row(number: int, row: SpaceRow, shift: float = 0.0) -> LinearRow:
    """The row log shuffle ≤ log limit + shift, with the constant part on the right side."""
    bound = math.log(row.limit / row.shuffle.coefficient) + shift
    return LinearRow(f"space_{number}", log_terms(row.shuffle.exponents), bound)


def sizes_of(program: PathProgram, point: Mapping[str, float]) -> dict[str, float]:
    """The block sizes of a solution, within their bounds."""
    return {v.name: min(v.high, max(1.0, math.exp(point[log_name(v.name)]))) for v in program.variables}
