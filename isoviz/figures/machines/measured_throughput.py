"""Measured throughput functions: every sample with its spread, and the curve that planning uses, as static SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isoviz.figures.charts.svg import Drawing, shorten, wrap
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.figures.machines.curves import Bounds, Curve, bounds, curves, kind_token
from isoviz.figures.machines.throughput_plot import Frame, clipped, grid, place
from isoviz.machines import Channel, Machine, Sampled
from isoviz.machines.memory import emulated_text
from isoviz.units import format_bytes, format_rate, format_seconds, format_share

_LEFT, _BOTTOM, _LEGEND = 74.0, 44.0, 312.0
_APART = 5.0
"""Pixels between the bars of two channels that were measured with the same runs."""


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
    found = []
    for k, ((run, planned), (_, middle)) in enumerate(zip(function.samples, middles, strict=True)):
        if function.ranges is not None:
            low, high = function.ranges[k]
        else:
            half = (function.spread[k] if function.spread else 0.0) / 2
            low, high = middle * max(0.01, 1 - half), middle * (1 + half)
        found.append(MeasuredRun(run, middle, planned, low, high))
    return tuple(found)


def measured_throughput_svg(machine: Machine, *, width: float = 860, height: float = 400, theme: ThemeName = "auto") -> str:
    """The measured throughput of each channel of a machine, on logarithmic axes.

    Every sample has a point at its middle and a bar from its lowest to its highest rate. A line shows the rates that planning
    uses. Channels without a measurement are lines only.
    """
    found = curves(machine.channels)
    remark = emulated_text(machine.emulated(memory.name for memory in machine.memories))
    drawing = Drawing("Measured throughput functions", _description(machine, found), theme, remark=remark)
    if not found:
        drawing.text(MARGIN, 34, "No channels: nothing was measured.", size=13, fill="muted")
        return drawing.render(width, 54)
    entries = found[:8]
    notes = _notes(machine)
    height = max(height, 90.0 + 54 * len(entries) + 16 * sum(len(lines) for lines in notes))
    frame = (MARGIN + _LEFT, MARGIN + 30, width - 2 * MARGIN - _LEFT - _LEGEND, height - 2 * MARGIN - _BOTTOM - 24)
    drawing.text(MARGIN, MARGIN + 14, shorten(_heading(machine), width - 2 * MARGIN, 12), size=12, fill="muted")
    box = _bounds(found)
    grid(drawing, box, frame)
    for k, curve in enumerate(found):
        _curve(drawing, curve, box, frame, (k + 1) // 2 * (-_APART if k % 2 else _APART))
    _legend(drawing, entries, notes, width - MARGIN - _LEGEND + 24, MARGIN + 34, len(found))
    return drawing.render(width, height)


def _bounds(found: Sequence[Curve]) -> Bounds:
    """Axes that include every sample with its spread, and no range below them."""
    samples = [sample for curve in found for sample in measured_samples(curve.channels[0])]
    if not samples:
        return bounds(found, ())
    runs = [sample.run for sample in samples]
    rates = [rate for sample in samples for rate in (sample.low, sample.high, sample.planned)]
    return bounds([], ()).around([*runs, 2 * max(runs)], rates)  # room for the last bars


def _curve(drawing: Drawing, curve: Curve, box: Bounds, frame: Frame, shift: float) -> None:
    token = kind_token(curve.kind)
    within = [(run, rate) for run, rate in clipped(curve, box) if rate >= box.low_rate]
    data = "M" + "L".join("{:.1f} {:.1f}".format(*place(run, rate, box, frame)) for run, rate in within)
    tip = f"{curve.label}, what planning takes: up to {format_rate(curve.peak)} ({curve.names})"
    drawing.path(data, stroke=token, width=2.2, stroke_linejoin="round", tip=tip)
    for sample in measured_samples(curve.channels[0]):
        x, y = place(sample.run, sample.middle, box, frame)
        x += shift
        _, top = place(sample.run, sample.high, box, frame)
        _, bottom = place(sample.run, sample.low, box, frame)
        drawing.line(x, top, x, bottom, stroke=token, width=1.4, stroke_opacity=0.65)
        for end in (top, bottom):
            drawing.line(x - 2.5, end, x + 2.5, end, stroke=token, width=1.4, stroke_opacity=0.65)
        tip = (
            f"{curve.label}, runs of {format_bytes(sample.run)}: {format_rate(sample.middle)},"
            f" {format_rate(sample.low)} to {format_rate(sample.high)}; planned with {format_rate(sample.planned)}"
        )
        # A hollow point differs from the curve.
        taken = abs(sample.middle / sample.planned - 1) < 0.02
        drawing.element("circle", cx=x, cy=y, r=3.6, fill=token if taken else "panel", stroke=token, stroke_width=1.6, tip=tip)


def _legend(drawing: Drawing, entries: Sequence[Curve], notes: Sequence[Sequence[str]], x: float, y: float, total: int) -> None:
    room = _LEGEND - 64
    for curve in entries:
        token, channel = kind_token(curve.kind), curve.channels[0]
        drawing.line(x, y + 7, x + 26, y + 7, stroke=token, width=2.6)
        drawing.element("circle", cx=x + 13, cy=y + 7, r=3.6, fill=token, stroke=token, stroke_width=1.6)
        drawing.text(x + 34, y + 11, shorten(curve.kind.words, room, 12, bold=True), size=12, bold=True, tip=curve.names)
        drawing.text(x + 34, y + 26, shorten(curve.names, room, 11), size=11, fill="muted", tip=curve.names)
        said = f"≤ {format_rate(curve.peak)}"
        if channel.max_in_flight > 1:
            said += f", {channel.max_in_flight} in flight"
        if channel.setup:
            said += f", set-up {format_seconds(channel.setup)}"
        tip = f"{said}; converting takes {format_seconds(channel.conversion_setup)} more to set up"
        words = shorten(said, room + 8, 11)
        drawing.text(x + 34, y + 40, words, size=11, fill="muted", tip=tip if channel.conversion_setup else None)
        y += 54
    if total > len(entries):
        drawing.text(x, y + 8, f"and {total - len(entries)} more functions", size=11, fill="muted")
        y += 18
    for lines in notes:
        y += 6
        for line in lines:
            drawing.text(x, y + 10, line, size=11, fill="muted")
            y += 15


def _notes(machine: Machine) -> list[list[str]]:
    """Notes on how to read the figure, and on shared resources."""
    said = ["bars: lowest to highest rate; points: the middle, hollow where planning takes another rate; lines: planning"]
    for resource in machine.resources:
        weights = {channel: dict(channel.resources).get(resource.name, 0.0) for channel in machine.channels}
        users = {channel: weight for channel, weight in weights.items() if weight}
        if resource.held and len(set(users.values())) > 1:
            parts = [f"{format_share(weight / resource.capacity)} by {channel.kind.words}" for channel, weight in users.items()]
            said.append(f"{resource.name}, held while at work: {', '.join(dict.fromkeys(parts))}")
            continue
        kinds = " and ".join(dict.fromkeys(str(channel.kind) for channel in users)) or "nobody"
        much = f"as much as {resource.capacity:.3g} at once" if resource.held else f"{format_rate(resource.capacity)} in all"
        said.append(f"{resource.name}, shared by {kinds}: {much}")
    return [wrap(each, _LEGEND - 30, 11) for each in said]


def _heading(machine: Machine) -> str:
    measurement = machine.measurement
    if measurement is None:
        return f"{machine.name}: {machine.provenance}" if machine.provenance else machine.name
    computer = measurement.computer
    model = f" ({computer.cpus} × {computer.processor})" if computer.processor else ""
    return f"{computer.host}{model}, {measurement.date[:16].replace('T', ' ')} UTC"


def _description(machine: Machine, found: Sequence[Curve]) -> str:
    said = [f"{_heading(machine)}. Bytes per second over the length of contiguous runs, both logarithmic."]
    for curve in found[:20]:
        samples = measured_samples(curve.channels[0])
        said.append(f"{curve.label}: {len(samples)} samples, up to {format_rate(curve.peak)}.")
    return " ".join(said)
