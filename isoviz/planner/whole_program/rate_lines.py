"""Throughput functions as lines in the logarithms of run and throughput, exactly: concave parts, and a choice between them.

log tp never falls as log run grows. Where it is concave on an interval it is the lowest of its lines there. A function that is
not concave is cut into the fewest parts that are. A program chooses a part k, has a run of at least its beginning, and stays
below the lines of k and below the value at the end of k. Each such point lies below the function, as the function never falls;
and each point below the function is such a point for the part that holds its run. So the choice between parts is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from isoviz.machines import Constant, LatencyBandwidth, Sampled, ThroughputFunction

FIRST_TANGENTS = 12
"""Tangents that stand for a smooth function before any is added where a solution needs it."""
FLAT = 1e-12
"""Lines that rise less are flat: a solver leaves smaller coefficients out."""


@dataclass(frozen=True)
class Line:
    """log tp ≤ `value` + `slope` × log run, run in bytes, tp in bytes per second."""

    slope: float
    value: float

    def at(self, log_run: float) -> float:
        """Its value at a run."""
        return self.value + self.slope * log_run


@dataclass(frozen=True)
class Part:
    """A part of a throughput function on which its logarithm is concave: from log run `low` on, the lowest of `lines`, which
    hold the value at the end of the part as a flat one."""

    low: float
    lines: tuple[Line, ...]


def parts_of(function: ThroughputFunction, low: float, high: float) -> tuple[Part, ...]:
    """The parts of a function for log runs between `low` and `high`, by growing run; one part where its logarithm is concave.

    Of a smooth function (`smooth`) there are tangents at a few runs: more are added where they are needed. Of a function of
    another kind than the machine files know, its highest value alone is a line.
    """
    top = Line(0.0, math.log(function(math.exp(high))))
    if high - low <= FLAT:
        return (Part(low, (top,)),)
    if isinstance(function, LatencyBandwidth):
        runs = [low + (high - low) * k / (FIRST_TANGENTS - 1) for k in range(FIRST_TANGENTS)]
        return (Part(low, (*dict.fromkeys(tangent(function, run) for run in runs), top)),)
    if not isinstance(function, Sampled | Constant):
        return (Part(low, (top,)),)
    corners = [low, *(math.log(run) for run, _ in function.samples if low < math.log(run) < high), high]
    points = [(x, math.log(function(math.exp(x)))) for x in corners]
    found: list[list[tuple[float, Line, float]]] = []
    for (x0, y0), (x1, y1) in pairwise(points):
        slope = (y1 - y0) / (x1 - x0)
        line = Line(slope, y0 - slope * x0) if slope >= FLAT else Line(0.0, y1)
        if not found or line.slope > found[-1][-1][1].slope * (1 + 1e-12) + FLAT:
            found.append([])
        found[-1].append((x0, line, y1))
    return tuple(Part(each[0][0], (*(line for _, line, _ in each), Line(0.0, each[-1][2]))) for each in found)


def is_smooth(function: ThroughputFunction) -> bool:
    """Whether lines only approach it, so that a solution may need another tangent."""
    return isinstance(function, LatencyBandwidth)


def is_known(function: ThroughputFunction) -> bool:
    """Whether `parts_of` is the function itself."""
    return isinstance(function, LatencyBandwidth | Sampled | Constant)


def tangent(function: LatencyBandwidth, log_run: float) -> Line:
    """The line that touches a smooth concave function at a run."""
    run = math.exp(log_run)
    slope = 1 / (1 + run / (function.latency * function.bandwidth))
    value = math.log(function(run))
    return Line(slope, value - slope * log_run) if slope >= FLAT else Line(0.0, math.log(function.peak))
