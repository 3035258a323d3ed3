"""The prediction of a plan: its seconds, and the interval in which its runs are expected.

The plan's own seconds come from the model: throughput functions and the pipeline. A measured channel keeps the spread of its
repetitions beside every sample of its throughput function. `spread_prediction` applies that spread to the model of the pipeline:
all hops at the fast end of their spread, and all at the slow end. A trial just before a run corrects the model
(`isoviz.measure.trials`); its interval comes from `isoviz.runtime.ledger.trial_interval`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from isoviz.planner.time.path_time import Clock
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Machine
    from isoviz.machines.throughput import ThroughputFunction
    from isoviz.planner.plan import Plan

Basis = Literal["model", "trial"]


@dataclass(frozen=True)
class Prediction:
    """The predicted seconds of a plan, and the interval from `low` to `high` in which its runs are expected.

    With `basis` `"model"` the seconds are the plan's own, and the interval follows from the spread of its channels. With
    `"trial"` a part of the transfer was tried just before (`isoviz.measure.trials`), and the seconds follow from that
    measurement. `scatter` is the scatter of the repeats: half of log(slowest / fastest), a natural logarithm. `runs` is the
    number of earlier runs with a trial that determine the interval. The interval is meant to hold nine of ten runs.
    """

    seconds: float
    low: float
    high: float
    basis: Basis = "model"
    runs: int = 0
    scatter: float | None = None

    @property
    def tried(self) -> bool:
        """Whether a trial was made."""
        return self.basis == "trial"

    def holds(self, seconds: float) -> bool:
        """Whether a measured time lies in the interval."""
        return self.low <= seconds <= self.high

    def to_json(self) -> dict[str, Any]:
        """The members that `--json` adds to a plan or a report: `expected_seconds`, their `interval`, and the basis of both."""
        basis: dict[str, Any] = {"from": self.basis}
        if self.tried:
            basis |= {"runs": self.runs, "scatter": self.scatter}
        return {"expected_seconds": self.seconds, "interval": [self.low, self.high], "interval_basis": basis}

    @property
    def why(self) -> str:
        """The basis of seconds and interval, in words."""
        if not self.tried:
            return "by the model alone"
        if not self.runs:
            return "tried just before"
        return f"tried just before; {self.runs} earlier {'run counts' if self.runs == 1 else 'runs count'}"

    def __str__(self) -> str:
        return f"predicted {format_seconds(self.seconds)} ({range_text(self.low, self.high)}, {self.why})"


def range_text(low: float, high: float) -> str:
    """Two durations; a common unit appears once: `10.9 to 14.1 ms`."""
    first, last = format_seconds(low), format_seconds(high)
    number, unit = first.split(" ")
    return f"{number} to {last}" if last.endswith(f" {unit}") else f"{first} to {last}"


def spread_at(function: ThroughputFunction, run_bytes: float) -> float | None:
    """The relative spread, (largest − smallest) / median, of the measurements of a throughput function at runs of `run_bytes`.

    None if the function was not measured or its spread was not kept. Between two samples the spread is interpolated over
    log(run).
    """
    found: Any = getattr(function, "spread", None)
    if not isinstance(found, tuple) or not found or len(found) != len(function.samples):
        return None
    spreads: list[float] = [float(each) for each in found]
    runs = [run for run, _ in function.samples]
    k = bisect_right(runs, run_bytes)
    if k == 0 or k == len(runs):
        return spreads[min(k, len(runs) - 1)]
    share = math.log(run_bytes / runs[k - 1]) / math.log(runs[k] / runs[k - 1])
    return spreads[k - 1] + share * (spreads[k] - spreads[k - 1])


def spread_prediction(plan: Plan, machine: Machine) -> Prediction | None:
    """The prediction of a plan by the model alone.

    The interval has all hops at the fast end of their channels' spread, and all at the slow end. It holds the plan's own seconds:
    hops that take turns may end later when they are faster. The result is None if a channel of the path was not measured, because
    nothing is known about its error.

    Raises:
        MachineError: the machine lacks a channel of the plan.
    """
    factors = []
    for hop in plan.every_hop:
        spread = spread_at(machine.channel(hop.channel).throughput, hop.request_bytes)
        if spread is None:
            return None
        factors.append(1 + spread / 2)
    slower = [1 / factor for factor in factors]
    ends = plan.seconds, seconds_at(plan, machine, factors), seconds_at(plan, machine, slower)
    return Prediction(plan.seconds, min(ends), max(ends))


def seconds_at(plan: Plan, machine: Machine, factors: Sequence[float]) -> float:
    """The predicted seconds of a plan with the throughput of every hop multiplied by its factor.

    A faster hop holds its resources for a shorter time, so the shares of the resources are computed anew.
    """
    left, paths = iter(zip(plan.every_hop, factors, strict=True)), []
    for path in plan.paths:
        hops = [hop._replace(throughput=hop.throughput * factor) for hop, factor in islice(left, len(path.hops))]
        clock = Clock(machine, [machine.channel(hop.channel) for hop in hops], path.bytes, path.slots)
        paths.append(replace(path, hops=tuple(hops), shares=clock.shares([hop.throughput for hop in hops])))
    return replace(plan, paths=tuple(paths)).seconds
