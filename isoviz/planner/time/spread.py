"""The prediction of a plan: its seconds, and the interval in which its runs are expected.

The plan's own seconds come from the model: throughput functions and the pipeline. The interval of `spread_prediction` is made of
two things that a measurement finds:

- **Spread.** A measured channel keeps, beside every sample of its throughput function, the lowest and the highest rate over all
  repetitions and job shapes. The interval has all hops at the slow end, and all at the fast end.
- **Checks.** At its end a measurement runs some transfers and compares them with their predictions. That has what the spread
  cannot show: fields and strides, interpolation, hops that slow each other down. The checks with the same slowest channel give
  an error that nine of ten transfers stay within (`Measurement.error`).

Each covers what the other leaves out, and part of what the other has. So each end of the interval is the wider of the two.

A trial just before a run corrects the model (`isoviz.measure.trial`); its interval comes from
`isoviz.runtime.ledger.trial_interval`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from isoviz.planner.kept import kept_with_plan
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

    With `basis` `"model"` the seconds are the plan's own, and the interval follows from the measurement of the machine. With
    `"trial"` a part of the transfer was tried just before (`isoviz.measure.trial`), and the seconds follow from that
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

    def __str__(self) -> str:
        name, basis = ("after the trial", "") if self.tried else ("predicted", ", by the model alone")
        if self.runs:
            basis = f"; {self.runs} earlier {'run counts' if self.runs == 1 else 'runs count'}"
        return f"{name} {format_seconds(self.seconds)} ({range_text(self.low, self.high)}{basis})"


class TrialRecord(NamedTuple):
    """How earlier runs with a trial came out: `nearer` of `runs` took a time nearer to the trial's than to the plan's."""

    nearer: int
    runs: int

    @property
    def leads(self) -> bool:
        """Whether the trial is the prediction: it was the nearer one in more than half of the runs."""
        return 2 * self.nearer > self.runs

    @property
    def words(self) -> str:
        """Which of the two figures is the prediction, and why."""
        if not self.runs:
            return "The plan is the prediction: no earlier run of this kind says that a trial comes nearer."
        leader = "trial" if self.leads else "plan"
        if self.runs == 1:
            return f"The {leader} is the prediction: the {leader} came nearer in the one earlier run of this kind."
        return f"The {leader} is the prediction: the trial came nearer in {self.nearer} of {self.runs} earlier runs of this kind."


NO_RECORD = TrialRecord(0, 0)
"""Of a kind that never ran with a trial."""


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
    return _between(function.samples, [float(each) for each in found], run_bytes)


def _between(samples: Sequence[tuple[float, float]], values: Sequence[float], run_bytes: float) -> float:
    """The value at runs of `run_bytes`, from one value for every sample."""
    runs = [run for run, _ in samples]
    k = bisect_right(runs, run_bytes)
    if k == 0 or k == len(runs):
        return values[min(k, len(runs) - 1)]
    share = math.log(run_bytes / runs[k - 1]) / math.log(runs[k] / runs[k - 1])
    return values[k - 1] + share * (values[k] - values[k - 1])


@kept_with_plan
def spread_prediction(plan: Plan, machine: Machine) -> Prediction | None:
    """The prediction of a plan by the model alone.

    The interval holds the plan's own seconds. The result is None if a channel of the path was not measured, because nothing is
    known about its error.

    Raises:
        MachineError: the machine lacks a channel of the plan.
    """
    slow, fast = [], []
    for hop in plan.every_hop:
        band = band_at(machine.channel(hop.channel).layout_rates, hop.request_bytes)
        if band is None:
            return None
        slow.append(band[0])
        fast.append(band[1])
    ends = plan.seconds, seconds_at(plan, machine, fast), seconds_at(plan, machine, slow)
    error = machine.measurement.error(slowest_channel(plan)) if machine.measurement is not None else None
    factor = math.exp(error or 0.0)
    return Prediction(plan.seconds, min(*ends, plan.seconds / factor), max(*ends, plan.seconds * factor))


def slowest_channel(plan: Plan) -> str:
    """The channel of the slowest hop of a plan."""
    return min(plan.every_hop, key=lambda hop: hop.throughput).channel


def band_at(function: ThroughputFunction, run_bytes: float) -> tuple[float, float] | None:
    """The lowest and the highest rate measured at runs of `run_bytes`, as multiples of the rate planned with: (0.8, 1.1).

    None if the function was not measured or nothing was kept of its repetitions. Between two samples the logarithms are
    interpolated over log(run). Without `ranges`, the spread counts to both sides.
    """
    ranges: Any = getattr(function, "ranges", None)
    if ranges is None:
        spread = spread_at(function, run_bytes)
        return None if spread is None else (1 / (1 + spread / 2), 1 + spread / 2)
    samples = function.samples
    low, high = (
        _between(samples, [math.log(ends[k] / rate) for ends, (_, rate) in zip(ranges, samples, strict=True)], run_bytes)
        for k in (0, 1)
    )
    return math.exp(min(low, 0.0)), math.exp(max(high, 0.0))


def seconds_at(plan: Plan, machine: Machine, factors: Sequence[float]) -> float:
    """The predicted seconds of a plan with the throughput of every hop multiplied by its factor.

    A faster hop holds its resources for a shorter time, so the shares of the resources are computed anew.
    """
    left, paths = iter(zip(plan.every_hop, factors, strict=True)), []
    for path in plan.paths:
        hops = [
            hop._replace(throughput=hop.throughput * factor, latency=hop.latency / factor)
            for hop, factor in islice(left, len(path.hops))
        ]
        clock = Clock(machine, [machine.channel(hop.channel) for hop in hops], path.bytes, path.slots)
        paths.append(replace(path, hops=tuple(hops), shares=clock.shares([hop.throughput for hop in hops])))
    return replace(plan, paths=tuple(paths)).seconds
