"""How far off a predicted time may be: the interval that goes with it.

A measured channel keeps the spread of its repetitions beside every sample of its throughput function. Here it goes through the
model of the pipeline: the transfer with all its hops as fast, and as slow, as they were in the repetitions. What else makes a run
differ from its prediction, only runs can tell (`isoviz.runtime.ledger.calibration`).
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

Basis = Literal["spread", "history", "trial", "rehearsal"]


@dataclass(frozen=True)
class Prediction:
    """The predicted seconds of a plan, and the interval in which its runs are expected.

    `basis` says where the interval comes from: the `"spread"` of the measurements of its channels; a `"trial"` of a chunk
    (`isoviz.measure.trial`) or a `"rehearsal"` of `runs` of its chunks (`isoviz.measure.rehearsal`), from which the seconds
    come too; or the `"history"` of `runs` earlier runs, nine of ten of which it would have held (then it may leave `seconds`
    outside: runs are not as they were predicted). With `same_path` these went over the same kinds of channels, else over any of
    the machine. `tried` says that the seconds come from a trial, whatever the interval goes by.
    """

    seconds: float
    low: float
    high: float
    basis: Basis = "spread"
    runs: int = 0
    same_path: bool = True
    tried: bool = False

    def holds(self, seconds: float) -> bool:
        """Whether a measured time lies in the interval."""
        return self.low <= seconds <= self.high

    def to_json(self) -> dict[str, Any]:
        """What `--json` adds to a plan or a report: `expected_seconds` and their `interval`, and what these go by."""
        basis: dict[str, Any] = {"from": self.basis}
        if self.basis == "history":
            basis |= {"runs": self.runs, "same_path": self.same_path}
            basis |= {"tried": True} if self.tried else {}
        elif self.basis == "rehearsal":
            basis |= {"chunks": self.runs}
        return {"expected_seconds": self.seconds, "interval": [self.low, self.high], "interval_basis": basis}

    @property
    def why(self) -> str:
        """What the interval goes by, in words."""
        if self.basis == "history":
            went = f"as {self.runs} earlier runs {'over these channels' if self.same_path else 'on this machine'} went"
            return f"tried just before, {went}" if self.tried else went
        if self.basis == "trial":
            return "tried just before"
        if self.basis == "rehearsal":
            return f"as {self.runs} of its chunks went"
        return "by the spread of the measured channels"

    def __str__(self) -> str:
        return f"predicted {format_seconds(self.seconds)} ({range_text(self.low, self.high)}, {self.why})"


def range_text(low: float, high: float) -> str:
    """Two durations with their unit once where they share it: `10.9 to 14.1 ms`."""
    first, last = format_seconds(low), format_seconds(high)
    number, unit = first.split(" ")
    return f"{number} to {last}" if last.endswith(f" {unit}") else f"{first} to {last}"


def spread_at(function: ThroughputFunction, run_bytes: float) -> float | None:
    """The relative spread, (largest − smallest) / median, that a throughput function was measured with around runs of so many
    bytes; None where it was not measured, or its spread not kept. Between two samples in proportion to the logarithms."""
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
    """The prediction of a plan with the interval that the spreads of its channels give, all hops being fast or slow together.

    None where a channel of the path was not measured: then nothing is known of how far off it may be.

    Raises:
        MachineError: the machine has not the channels of the plan.
    """
    factors = []
    for hop in plan.every_hop:
        spread = spread_at(machine.channel(hop.channel).throughput, hop.request_bytes)
        if spread is None:
            return None
        factors.append(1 + spread / 2)
    slower = [1 / factor for factor in factors]
    return Prediction(plan.seconds, seconds_at(plan, machine, factors), seconds_at(plan, machine, slower))


def seconds_at(plan: Plan, machine: Machine, factors: Sequence[float]) -> float:
    """The predicted seconds of a plan with the throughput of every hop multiplied by a factor; what is held of a resource while a
    hop is at work is held for as much less."""
    left, paths = iter(zip(plan.every_hop, factors, strict=True)), []
    for path in plan.paths:
        hops = [hop._replace(throughput=hop.throughput * factor) for hop, factor in islice(left, len(path.hops))]
        clock = Clock(machine, [machine.channel(hop.channel) for hop in hops], path.bytes, path.slots)
        paths.append(replace(path, hops=tuple(hops), shares=clock.shares([hop.throughput for hop in hops])))
    return replace(plan, paths=tuple(paths)).seconds
