"""Throughput functions of channels (Isometry, figure 5): measured samples with their spread, operating points of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz.figures.charts.theme import colour
from isoviz.figures.machines.curves import bounds, channels_of, curves, kind_token, operating_points
from isoviz.figures.plots.bokeh_plot import DASHES, Axis, add_hover, add_legend, new_plot, text_style
from isoviz.machines import Channel, Sampled, machine_argument
from isoviz.machines.memory import emulated_text
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bokeh.plotting import figure

    from isoviz.figures.machines.curves import Bounds, Curve, OperatingPoint
    from isoviz.machines import MachineLike
    from isoviz.planner import Plan

MOST_NAMED = 14
"""Most lines that the legend names."""


class MeasuredRun(NamedTuple):
    """A sample: run, middle rate, rate that planning uses, lowest and highest rate, in bytes and bytes per second."""

    run: float
    middle: float
    planned: float
    low: float
    high: float


def measured_samples(channel: Channel) -> tuple[MeasuredRun, ...]:
    """The samples of a measured channel; empty for other channels."""
    function = channel.throughput
    if not isinstance(function, Sampled) or (function.ranges is None and function.spread is None):
        return ()
    middles = function.measured or function.samples
    samples = []
    for k, ((run, planned), (_, middle)) in enumerate(zip(function.samples, middles, strict=True)):
        if function.ranges is not None:
            low, high = function.ranges[k]
        else:
            half = (function.spread[k] if function.spread else 0.0) / 2
            low, high = middle * max(0.01, 1 - half), middle * (1 + half)
        samples.append(MeasuredRun(run, middle, planned, low, high))
    return tuple(samples)


def throughput_figure(
    channels: Iterable[Channel], points: Sequence[OperatingPoint] = (), *, remark: str = "", height: int = 360
) -> figure:
    """Bytes per second over the length of contiguous runs, both logarithmic.

    Channels of one kind with the same function share a line; lines of one kind differ in their dashes. Measured samples are
    points at their middles with bars from the lowest to the highest rate; a hollow point differs from the rate that planning
    uses. `points` mark the operating points of a plan with the numbers of its hops. `remark` is a sentence below.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    lines = curves(channels)
    box = _box(lines, points)
    title = "Throughput functions" if lines else "No channels: nothing to draw"
    across = Axis("length of contiguous runs", "bytes", box.low_run, box.high_run)
    plot = new_plot(title, across, Axis("throughput", "rate", box.low_rate, box.high_rate), height=height, remark=remark)
    seen: dict[str, int] = {}
    hovered: list[Any] = []
    entries: list[tuple[str, list[Any]]] = []
    for curve in lines:
        dash = DASHES[seen.get(curve.kind, 0) % len(DASHES)]
        seen[curve.kind] = seen.get(curve.kind, 0) + 1
        glyphs = [_line(plot, curve, dash), *_samples(plot, curve)]
        hovered += glyphs
        entries.append((_entry(curve, points), glyphs))
    if points:
        hovered.append(_operating_points(plot, points, box))
    if lines:
        add_hover(plot, hovered)
        left_out = len(entries) - MOST_NAMED
        shown = entries[:MOST_NAMED] + ([(f"and {left_out} more", entries[-1][1])] if left_out > 0 else [])
        add_legend(plot, shown, columns=2 if len(shown) > 4 else 1)
    return cast("figure", plot)


def plan_throughput_figure(machine: MachineLike, plan: Plan) -> figure:
    """The throughput functions of a plan's channels, with the operating point of each hop."""
    machine = machine_argument("figure", machine)
    return throughput_figure(channels_of(machine, plan), operating_points(plan), remark=emulated_text(plan.emulated))


def machine_throughput_figure(machine: MachineLike) -> figure:
    """The throughput functions of all channels of a machine, measured ones with their samples."""
    machine = machine_argument("figure", machine)
    emulated = machine.emulated(memory.name for memory in machine.memories)
    return throughput_figure(machine.channels, remark=emulated_text(emulated), height=420)


def _box(lines: Sequence[Curve], points: Sequence[OperatingPoint]) -> Bounds:
    """Axes that include every sample with its spread."""
    samples = [sample for curve in lines for sample in measured_samples(curve.channels[0])]
    if not samples:
        return bounds(lines, points)
    rates = [rate for sample in samples for rate in (sample.low, sample.high, sample.planned)]
    rates += [point.rate for point in points if point.rate > 0]
    return bounds([], points).around([*(sample.run for sample in samples), 2 * max(sample.run for sample in samples)], rates)


def _line(plot: Any, curve: Curve, dash: str) -> Any:
    columns = {
        "run": [run for run, _ in curve.points],
        "rate": [rate for _, rate in curve.points],
        "tip": [f"{curve.label}, runs of {format_bytes(run)}: {format_rate(rate)}" for run, rate in curve.points],
    }
    return plot.line("run", "rate", source=columns, line_width=2.5, line_dash=dash, line_color=colour(kind_token(curve.kind)))


def _samples(plot: Any, curve: Curve) -> list[Any]:
    samples = measured_samples(curve.channels[0])
    if not samples:
        return []
    token = colour(kind_token(curve.kind))
    columns = {
        "run": [each.run for each in samples],
        "rate": [each.middle for each in samples],
        "low": [each.low for each in samples],
        "high": [each.high for each in samples],
        "fill": [token if abs(each.middle / each.planned - 1) < 0.02 else colour("panel") for each in samples],
        "tip": [
            f"{curve.label}, runs of {format_bytes(each.run)}: {format_rate(each.middle)}, {format_rate(each.low)} to "
            f"{format_rate(each.high)}; planned with {format_rate(each.planned)}"
            for each in samples
        ],
    }
    bars = plot.segment("run", "low", "run", "high", source=columns, line_color=token, line_width=1.4, line_alpha=0.65)
    return [bars, plot.scatter("run", "rate", source=columns, size=8, fill_color="fill", line_color=token, line_width=1.6)]


def _operating_points(plot: Any, points: Sequence[OperatingPoint], box: Bounds) -> Any:
    """A numbered disc on each operating point; hops at the same point share a disc."""
    places: dict[tuple[float, float], list[OperatingPoint]] = {}
    for point in points:
        run = min(max(point.run_bytes, box.low_run), box.high_run)
        near = next((place for place in places if _near(place, (run, point.rate), box)), (run, point.rate))
        places.setdefault(near, []).append(point)
    columns = {
        "run": [run for run, _ in places],
        "rate": [rate for _, rate in places],
        "text": [", ".join(point.label for point in each) for each in places.values()],
        "size": [22 + 12 * (len(each) - 1) for each in places.values()],
        "tip": [
            "; ".join(f"hop {p.label}, {p.channel}: runs of {format_bytes(p.run_bytes)} at {format_rate(p.rate)}" for p in each)
            for each in places.values()
        ],
    }
    discs = plot.scatter("run", "rate", source=columns, size="size", fill_color=colour("path"), line_color=colour("paper"))
    bold = text_style("paper", text_align="center", text_font_style="bold")
    plot.text("run", "rate", text="text", source=columns, **bold)
    return discs


def _near(first: tuple[float, float], second: tuple[float, float], box: Bounds) -> bool:
    """Whether two discs would cover each other."""
    return all(
        abs(_share(a, low, high) - _share(b, low, high)) < 0.04
        for a, b, low, high in zip(first, second, (box.low_run, box.low_rate), (box.high_run, box.high_rate), strict=True)
    )


def _share(value: float, low: float, high: float) -> float:
    from math import log

    return log(max(value, low) / low) / log(high / low)


def _entry(curve: Curve, points: Sequence[OperatingPoint]) -> str:
    """A line in words: its kind and peak, the hops that use it, and what else holds of its channel."""
    words = [f"{curve.label}, up to {format_rate(curve.peak)}"]
    names = {channel.name for channel in curve.channels}
    if hops := [point.label for point in points if point.channel in names]:
        words.append(f"hop {', '.join(hops)}")
    channel = curve.channels[0]
    if measured_samples(channel):
        words += [f"{channel.max_in_flight} in flight"] if channel.max_in_flight > 1 else []
        words += [f"set-up {format_seconds(channel.setup)}"] if channel.setup else []
    return "; ".join(words)
