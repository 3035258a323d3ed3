"""Edits of throughput functions: by bandwidth, by latency, and point by point."""

from __future__ import annotations

from dataclasses import replace

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.channel import Channel
from isoviz.machines.edits.channel_edits import checked_function, with_channel
from isoviz.machines.machine import Machine
from isoviz.machines.throughput import (
    LATENCY_LIMIT,
    RATE_FLOOR,
    RATE_LIMIT,
    Constant,
    LatencyBandwidth,
    Sampled,
    Samples,
    ThroughputFunction,
)

_STEP = 4.0
"""The factor between the runs of two points of a function that had none."""
_AT_PEAK = 0.97
"""The share of the peak at which such points end."""


def editable_points(function: ThroughputFunction) -> Samples:
    """The points by which a function is edited; empty for a function that depends on more than the run."""
    if isinstance(function, Sampled):
        return function.samples
    if isinstance(function, Constant):
        return ((1.0, function.bandwidth),)
    if isinstance(function, LatencyBandwidth):
        last = function.inverse(_AT_PEAK * function.bandwidth)
        runs = [64.0]
        while runs[-1] < last and len(runs) < 40:
            runs.append(runs[-1] * _STEP)
        return tuple((run, function(run)) for run in runs)
    return ()


def measured_samples(function: ThroughputFunction) -> Samples:
    """The samples that a clock gave, before anything was drawn; empty where the function was never measured."""
    if not isinstance(function, Sampled):
        return ()
    if function.measured is not None:
        return function.measured
    return function.samples if function.date is not None else ()


def with_bandwidth(machine: Machine, name: str, bandwidth: float) -> Machine:
    """The machine in which the highest rate of a channel is `bandwidth`, in bytes per second; a curve keeps its form.

    Raises:
        MachineError: there is no such channel, the rate cannot be, or the function is one that is not edited.
    """
    bandwidth = checks.number(f"channel {name!r}", "bandwidth", bandwidth, low=RATE_FLOOR, high=RATE_LIMIT)
    function = _of(machine.channel(name))
    after: ThroughputFunction
    if isinstance(function, Constant | LatencyBandwidth):
        after = replace(function, bandwidth=bandwidth)
    else:
        factor = bandwidth / function.peak
        rates = [min(rate * factor, bandwidth) for _, rate in function.samples]
        rates[-1] = bandwidth
        after = _drawn(function, tuple((run, rate) for (run, _), rate in zip(function.samples, rates, strict=True)))
    return with_channel(machine, name, throughput=after)


def with_latency(machine: Machine, name: str, seconds: float) -> Machine:
    """The machine in which every run over a channel takes `seconds` before it moves at the channel's bandwidth.

    A function through samples becomes one of latency and bandwidth.

    Raises:
        MachineError: there is no such channel, the time cannot be, or the function is one that is not edited.
    """
    seconds = checks.number(f"channel {name!r}", "latency", seconds, high=LATENCY_LIMIT)
    function = _of(machine.channel(name))
    after = LatencyBandwidth(seconds, function.peak) if seconds else Constant(function.peak)
    return with_channel(machine, name, throughput=after)


def with_point(machine: Machine, name: str, point: int, run: float, rate: float) -> Machine:
    """The machine in which a point of a channel's function lies elsewhere.

    Raises:
        MachineError: there is no such channel or point, or the point would pass its neighbours.
    """
    points = list(_points(machine, name, point))
    points[point] = (run, rate)
    return _with_points(machine, name, points)


def with_another_point(machine: Machine, name: str, run: float, rate: float | None = None) -> Machine:
    """The machine in which a channel's function has one more point, without a `rate` on the function as it is.

    Raises:
        MachineError: there is no such channel, there is a point at this run, or rates would fall.
    """
    channel = machine.channel(name)
    points = _points(machine, name)
    if any(run == known for known, _ in points):
        raise MachineError(f"channel {name!r}: there is a point at {run:g} bytes already")
    if rate is None:
        below = [known for at, known in points if at < run]
        above = [known for at, known in points if at > run]
        rate = min(max([channel.rate(run), *below]), *above) if above else max([channel.rate(run), *below])
    return _with_points(machine, name, sorted([*points, (run, rate)]))


def without_point(machine: Machine, name: str, point: int) -> Machine:
    """The machine in which a point of a channel's function is gone.

    Raises:
        MachineError: there is no such channel or point, or it is the last one.
    """
    points = list(_points(machine, name, point))
    if len(points) == 1:
        raise MachineError(f"channel {name!r}: a throughput function has at least one point")
    del points[point]
    return _with_points(machine, name, points)


def _with_points(machine: Machine, name: str, points: list[tuple[float, float]]) -> Machine:
    function = machine.channel(name).throughput
    return with_channel(machine, name, throughput=_drawn(function, tuple(points)))


def _drawn(before: ThroughputFunction, points: Samples) -> Sampled:
    """A function through points that were drawn. What was measured stays beside them, to be compared."""
    measured = measured_samples(before)
    return Sampled(points, measured=measured or None)


def _of(channel: Channel) -> ThroughputFunction:
    return checked_function(channel.throughput if editable_points(channel.throughput) else None, channel.name)


def _points(machine: Machine, name: str, point: int = 0) -> Samples:
    points = editable_points(_of(machine.channel(name)))
    if not 0 <= point < len(points):
        raise MachineError(f"channel {name!r}: there is no point {point}; it has {len(points)}")
    return points
