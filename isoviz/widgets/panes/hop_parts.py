"""Further parts of a hop: its throughput function near the run of the hop, and the bound on its rate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypedDict

from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.machines import Channel
    from isoviz.planner import PathPlan

MOST_POINTS = 40
"""Points of a curve."""
_GRID = 24
"""Points of a curve that has no samples of its own to go through."""
_BELOW, _ABOVE = 2.0**12, 2.0**8
"""How far a curve reaches to both sides of the run, as factors."""
_LEAST, _MOST = 1.0, 2.0**40
"""The runs between which curves are drawn, in bytes."""
AT_PEAK = 0.95
"""The share of the highest rate from which on a hop works at its peak: longer runs would gain next to nothing."""
_SAME = 1e-6


class CurvePoint(TypedDict):
    """A point of a throughput function: a run in bytes, and the bytes per second that the channel sustains with such runs."""

    run: float
    rate: float


def curve_points(channel: Channel, run: float) -> list[CurvePoint]:
    """The throughput function around a run: at both ends, at the run, at its samples, and in even steps if these are few."""
    low, high = reach(channel, run)
    runs = {low, high}
    if low < run < high:
        runs.add(run)
    own = [sample for sample, _ in channel.throughput.samples if low < sample < high]
    if len(own) < 4:
        runs |= {low * (high / low) ** (step / _GRID) for step in range(1, _GRID)}
    room = MOST_POINTS - len(runs)
    runs |= set(own if len(own) <= room else [own[k * len(own) // room] for k in range(room)])
    return [{"run": each, "rate": channel.rate(each)} for each in sorted(runs)]


def measured_points(channel: Channel, run: float) -> list[CurvePoint]:
    """The samples that were measured, within the reach of the curve; none if the channel was not measured."""
    function = channel.throughput
    if getattr(function, "date", None) is None and not channel.provenance.startswith("measured"):
        return []
    low, high = reach(channel, run)
    samples = getattr(function, "measured", None) or function.samples
    found: list[CurvePoint] = [{"run": each, "rate": rate} for each, rate in samples if low <= each <= high]
    return found if len(found) <= MOST_POINTS else [found[k * len(found) // MOST_POINTS] for k in range(MOST_POINTS)]


def reach(channel: Channel, run: float) -> tuple[float, float]:
    """The shortest and the longest run of a curve: around the run, and far enough to show where the channel reaches its peak."""
    run_of_curve = min(max(run, _LEAST), _MOST)
    at_peak = channel.throughput.inverse(AT_PEAK * channel.peak)
    high = max(run_of_curve * _ABOVE, 4 * at_peak) if math.isfinite(at_peak) else run_of_curve * _ABOVE
    return max(_LEAST, run_of_curve / _BELOW), min(max(high, 2.0), _MOST)


def limit_words(path: PathPlan, hop: int, channel: Channel, first: int = 0) -> str:
    """What bounds the rate of a hop, as one sentence without a full stop. `first` is the number of the path's first hop."""
    found = path.hops[hop]
    if shared := next((words for pace in path.paces if hop in pace.hops and (words := pace.words(first))), ""):
        return shared
    if found.throughput >= AT_PEAK * channel.peak:
        return "It works at its peak"
    if words := _requests_words(path, hop, channel):
        return words
    run = format_bytes(found.request_bytes)
    if found.request_bytes < path.chunk_payload * (1 - _SAME):
        return f"Its runs are short: the layouts keep {run} together"
    if path.chunk_count == 1:
        return f"The transfer is small: all of it moves as one run of {run}"
    return f"Its chunks are short: each moves as one run of {run}"


def _requests_words(path: PathPlan, hop: int, channel: Channel) -> str:
    """That the requests of a hop take longer than its bytes, if they do: then its runs explain nothing."""
    found, nbytes = path.hops[hop], path.chunk_payload * path.moved[hop]
    if not channel.request_seconds or not found.throughput:
        return ""
    rates = channel.layout_rates if found.converts else channel.throughput
    whole, moving = nbytes / found.throughput, nbytes / rates(found.request_bytes)
    if whole <= 2 * moving:
        return ""
    return f"Its requests take longer than its bytes: {format_seconds(whole - moving)} of {format_seconds(whole)} for a chunk"
