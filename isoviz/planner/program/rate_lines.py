"""Throughput functions as lines in the logarithms of run and throughput, exactly: concave parts, and a choice between them.

1. log tp never decreases as log run grows. Where it is concave on an interval, it is the minimum of its lines there.
2. A function that is not concave is cut into the fewest concave parts.
3. A program chooses a part k. Its run is at least the beginning of k, and its rate is below the lines of k and below the value at
   the end of k.
4. Every such point lies below the function, because the function never decreases. And every point below the function is such a
   point, for the part that contains its run. So the choice between parts is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from isoviz.machines import Constant, LatencyBandwidth, Sampled, ThroughputFunction
from isoviz.planner.program.tuning import FIRST_TANGENTS, ROUNDING, SMALLEST_SLOPE


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
