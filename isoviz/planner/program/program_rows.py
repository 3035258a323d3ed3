"""The constraint program of one path as values: its rows, and the result of solving it (Isometry, section 4.2).

The unknowns are the throughput of the path, TP, and the extents of blocks, which are real numbers here. Every row bounds a
product of them. So in the logarithms all rows are linear except the throughput functions. A run is a number of bytes, or that
number times one extent. Runs, shuffle sizes and limits are in bytes, throughputs and capacities in bytes per second.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from isoviz.errors import InputError, LimitError
from isoviz.machines import ThroughputFunction
from isoviz.planner.program.tuning import BINDING, ROUNDING
from isoviz.units import format_bytes

SpaceKind = Literal["space", "memory-limit", "capacity"]
RowKind = Literal["throughput", "space", "memory-limit", "capacity", "resource"]


@dataclass(frozen=True)
class Monomial:
    """`coefficient` × the product of the block variables in `factors`, in bytes; at most `cap`, where that is set.

    `text` is the form for people, such as `|F| × x_in`. Without a text, the label consists of the numbers and names.

    Raises:
        InputError: the coefficient or the cap is not a finite number above 0.
    """

    coefficient: float
    factors: tuple[str, ...] = ()
    cap: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        for name, value in (("coefficient", self.coefficient), ("cap", self.cap)):
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"monomial {self.label}: {name} {value!r}: expected a finite number above 0")

    @property
    def label(self) -> str:
        """The text for people."""
        if self.text:
            return self.text
        product = " × ".join((_number(self.coefficient), *self.factors))
        return product if self.cap is None else f"min({product}, {_number(self.cap)})"

    @property
    def exponents(self) -> tuple[tuple[str, int], ...]:
        """Pairs (variable, its exponent), in order of first mention."""
        return tuple(Counter(self.factors).items())

    def value(self, sizes: Mapping[str, float]) -> float:
        """The bytes for blocks of the given sizes."""
        product = self.coefficient * math.prod(sizes[name] for name in self.factors)
        return product if self.cap is None else min(product, self.cap)


@dataclass(frozen=True)
class Variable:
    """The extent of a block: 1 ≤ `name` ≤ `high`.

    Raises:
        InputError: `high` is below 1 or not finite.
    """

    name: str
    high: float

    def __post_init__(self) -> None:
        if not 1 <= self.high < math.inf:
            raise InputError(f"variable {self.name}: largest size {self.high!r}: expected a finite number of at least 1")


@dataclass(frozen=True)
class ThroughputRow:
    """TP ≤ tp(run): hop `hop` goes through `channel` in contiguous runs of `run` bytes."""

    hop: int
    channel: str
    throughput: ThroughputFunction
    run: Monomial

    @property
    def label(self) -> str:
        """The row for people."""
        return f"TP ≤ tp_{self.channel}({self.run.label})"


@dataclass(frozen=True)
class SpaceRow:
    """`shuffle` ≤ `limit` bytes.

    `name` is the name of the limit. `hop` is None for a limit of the whole path. `kind` is `space` for the limit of one slot (the
    paper's TH), `memory-limit` for all buffers of the transfer together, and `capacity` for the free bytes of a memory.

    Raises:
        InputError: the limit is not a finite number above 0, or the shuffle size has a cap.
    """

    hop: int | None
    shuffle: Monomial
    limit: float
    kind: SpaceKind = "space"
    name: str = "TH"

    def __post_init__(self) -> None:
        if not 0 < self.limit < math.inf:
            raise InputError(f"row {self.shuffle.label} ≤ {self.name}: limit {self.limit!r}: expected a finite number above 0")
        if self.shuffle.cap is not None:
            raise InputError(f"row {self.shuffle.label} ≤ {self.name}: a size that a limit bounds has no cap")

    @property
    def label(self) -> str:
        """The row for people."""
        return f"{self.shuffle.label} ≤ {format_bytes(self.limit)} ({self.name})"


@dataclass(frozen=True)
class ResourceRow:
    """TP × `weight` ≤ `capacity`: `weight` resource bytes per payload byte, summed over the hops that share the resource.

    Raises:
        InputError: a weight below 0, or a capacity that is not a finite number above 0.
    """

    name: str
    weight: float
    capacity: float

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf or not 0 < self.capacity < math.inf:
            raise InputError(
                f"resource {self.name}: weight {self.weight!r}, capacity {self.capacity!r}: expected a finite weight of at"
                " least 0 and a finite capacity above 0"
            )

    @property
    def peak(self) -> float:
        """The highest throughput that it allows, in bytes per second."""
        return self.capacity / self.weight if self.weight else math.inf

    @property
    def label(self) -> str:
        """The row for people."""
        return f"{_number(self.weight)} × TP ≤ {self.name}"


ProgramRow = ThroughputRow | SpaceRow | ResourceRow


@dataclass(frozen=True)
class PathProgram:
    """All rows of one path: find the block sizes with the highest TP.

    Raises:
        InputError: there is no throughput row (TP would be unbounded), a variable occurs twice, a factor is not a variable, or a
            run has several factors.
    """

    variables: tuple[Variable, ...]
    throughput: tuple[ThroughputRow, ...]
    space: tuple[SpaceRow, ...] = ()
    resources: tuple[ResourceRow, ...] = ()

    def __post_init__(self) -> None:
        names = [variable.name for variable in self.variables]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"program of a path: the variable {name} stands twice")
        if not self.throughput:
            raise InputError("program of a path: expected at least one throughput row, got none")
        for row in self.throughput:
            if len(row.run.factors) > 1:
                raise InputError(
                    f"program of a path: run {row.run.label} of hop {row.hop}: expected one factor at most, got"
                    f" {len(row.run.factors)}"
                )
        for monomial in (*(row.run for row in self.throughput), *(row.shuffle for row in self.space)):
            for name in monomial.factors:
                if name not in names:
                    known = ", ".join(names) or "none"
                    raise InputError(f"program of a path: {monomial.label}: unknown variable {name}; known are {known}")

    @property
    def rows(self) -> tuple[ProgramRow, ...]:
        """All rows in order: throughput, space, resources."""
        return (*self.throughput, *self.space, *self.resources)

    @property
    def highs(self) -> dict[str, float]:
        """The largest size of every variable."""
        return {variable.name: variable.high for variable in self.variables}

    @property
    def ones(self) -> dict[str, float]:
        """The smallest blocks."""
        return {variable.name: 1.0 for variable in self.variables}

    @property
    def upper_bound(self) -> float:
        """A throughput that no block sizes exceed: every hop with the longest run that its blocks and its cap allow."""
        highs = self.highs
        hops = (row.throughput(row.run.value(highs)) for row in self.throughput)
        return min(*hops, *(row.peak for row in self.resources), math.inf)

    def throughput_at(self, sizes: Mapping[str, float]) -> float:
        """The throughput that blocks of these sizes reach, whether or not they satisfy the space rows."""
        hops = (row.throughput(row.run.value(sizes)) for row in self.throughput)
        return min(*hops, *(row.peak for row in self.resources), math.inf)

    def check_limits(self) -> None:
        """Check that blocks of one element satisfy every limit, so that the program has a solution.

        Raises:
            LimitError: they do not; the message names the rows.
        """
        ones = self.ones
        broken = [row for row in self.space if row.shuffle.value(ones) > row.limit * (1 + ROUNDING)]
        if broken:
            rows = "; ".join(
                f"{row.label}{'' if row.hop is None else f' of hop {row.hop}'} needs {_number(row.shuffle.value(ones))} bytes,"
                f" has {_number(row.limit)}"
                for row in broken
            )
            raise LimitError(f"no block is small enough for the path's limits: with blocks of one element, {rows}")


@dataclass(frozen=True)
class RowState:
    """A row at the optimum, in natural units: `left` ≤ `bound`.

    Units are bytes for `space`, `memory-limit` and `capacity`, bytes per second for `throughput` (TP ≤ tp(run)), and resource
    bytes per second for `resource`. `slack` is bound − left, `relative_slack` its share of the bound. `run` is the run of a
    throughput row in bytes.

    The prices are shadow prices, d TP / d bound. `price_up` is what one unit more of the bound adds to TP, `price_down` what one
    unit less takes from it. They differ only where the optimum has a kink; `price_down` is infinite where nothing less is
    feasible. The bound of a throughput row grows as its whole throughput function is scaled. Prices are NaN where they were not
    asked for.
    """

    kind: RowKind
    label: str
    hop: int | None
    left: float
    bound: float
    price_up: float
    price_down: float
    run: float | None = None

    @property
    def slack(self) -> float:
        """The unused part of the bound."""
        return max(0.0, self.bound - self.left)

    @property
    def relative_slack(self) -> float:
        """The slack as a share of the bound."""
        return self.slack / self.bound

    @property
    def binding(self) -> bool:
        """Whether the bound is used up (`BINDING`)."""
        return self.relative_slack <= BINDING

    @property
    def price(self) -> float:
        """The shadow price of raising the bound."""
        return self.price_up


@dataclass(frozen=True)
class Optimum:
    """The highest throughput of a path and the blocks that reach it.

    `throughput` is in bytes per second. `values` are pairs (variable, size). `rows` are in the order of `PathProgram.rows`.
    """

    throughput: float
    values: tuple[tuple[str, float], ...]
    rows: tuple[RowState, ...]

    @property
    def sizes(self) -> dict[str, float]:
        """The size of every variable."""
        return dict(self.values)

    @property
    def binding(self) -> tuple[RowState, ...]:
        """The rows without slack: they limit the throughput, or leave no free bytes."""
        return tuple(row for row in self.rows if row.binding)


def row_states(
    program: PathProgram, throughput: float, sizes: Mapping[str, float], prices: Mapping[int, tuple[float, float]] | None
) -> tuple[RowState, ...]:
    """All rows at a point.

    `prices` holds pairs (up, down) by number of the row; a row that is absent has price 0. None means that prices were not asked
    for.
    """
    states = []
    for number, row in enumerate(program.rows):
        up, down = (math.nan, math.nan) if prices is None else prices.get(number, (0.0, 0.0))
        if isinstance(row, ThroughputRow):
            run = row.run.value(sizes)
            states.append(RowState("throughput", row.label, row.hop, throughput, row.throughput(run), up, down, run))
        elif isinstance(row, SpaceRow):
            states.append(RowState(row.kind, row.label, row.hop, row.shuffle.value(sizes), row.limit, up, down))
        else:
            states.append(RowState("resource", row.label, None, throughput * row.weight, row.capacity, up, down))
    return tuple(states)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else f"{value:.6g}"
