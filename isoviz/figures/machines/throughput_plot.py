"""Throughput functions of channels, log-log, as static SVG (Isometry, figure 5), with the operating points of a plan."""

from __future__ import annotations

import math
from collections.abc import Sequence

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.figures.machines.curves import Bounds, Curve, OperatingPoint, bounds, curves, kind_token
from isoviz.machines import Channel
from isoviz.units import format_bytes, format_rate

_LEFT, _BOTTOM, _LEGEND = 74.0, 44.0, 256.0
_SHIFTS = ((0, 0), (0, -28), (0, 28), (-28, 0), (-28, -26), (-28, 26), (-56, 0), (0, -52), (0, 52), (28, -26), (28, 26))
_DASHES = (None, "7 3", "2 3", "9 3 2 3")


def throughput_svg(
    channels: Sequence[Channel],
    points: Sequence[OperatingPoint] = (),
    *,
    width: float = 760,
    height: float = 320,
    remark: str = "",
    theme: ThemeName = "auto",
) -> str:
    """The throughput of each channel over the length of runs: bytes per second over bytes, both logarithmic.

    Channels of one kind with the same function share a line; lines of one kind differ in their dashes. `points` mark the
    operating points of the hops of a plan. `remark` is a sentence below.
    """
    found = curves(channels)
    drawing = Drawing("Throughput functions", _description(found, points), theme, remark=remark)
    if not found:
        drawing.text(MARGIN, 34, "No channels: nothing to draw.", size=13, fill="muted")
        return drawing.render(width, 54)
    entries = found[:14]
    height = max(height, 44.0 + 34 * len(entries) + (22 if len(found) > len(entries) else 0))
    frame = (MARGIN + _LEFT, MARGIN + 6, width - 2 * MARGIN - _LEFT - _LEGEND, height - MARGIN * 2 - _BOTTOM)
    box = bounds(found, points)
    grid(drawing, box, frame)
    seen: dict[str, int] = {}
    dashes: list[str | None] = []
    for curve in found:
        dashes.append(_DASHES[seen.get(curve.kind, 0) % len(_DASHES)])
        seen[curve.kind] = seen.get(curve.kind, 0) + 1
    for curve, dash in zip(found, dashes, strict=True):
        places = [place(run, rate, box, frame) for run, rate in clipped(curve, box)]
        data = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        tip = f"{curve.label}: up to {format_rate(curve.peak)} ({curve.names})"
        drawing.path(data, stroke=kind_token(curve.kind), width=2.2, stroke_dasharray=dash, stroke_linejoin="round", tip=tip)
    _marks(drawing, points, box, frame)
    _legend(drawing, list(zip(entries, dashes, strict=False)), points, width - MARGIN - _LEGEND + 22, MARGIN + 6, len(found))
    return drawing.render(width, height)


Frame = tuple[float, float, float, float]
"""x, y, width and height of the area between the axes."""


def place(run: float, rate: float, box: Bounds, frame: Frame) -> tuple[float, float]:
    """The position of a point in the frame, both axes logarithmic; rates out of range lie on its edge."""
    x, y, wide, high = frame
    across = math.log(run / box.low_run) / math.log(box.high_run / box.low_run)
    up = math.log(max(rate, box.low_rate) / box.low_rate) / math.log(box.high_rate / box.low_rate)
    return x + wide * across, y + high * (1 - min(1.0, up))


def clipped(curve: Curve, box: Bounds) -> list[tuple[float, float]]:
    """The points of a curve within the range of runs."""
    return [(run, rate) for run, rate in curve.points if box.low_run <= run <= box.high_run]


def grid(drawing: Drawing, box: Bounds, frame: Frame) -> None:
    """The frame with its grid lines and their labels."""
    x, y, wide, high = frame
    drawing.rect(x, y, wide, high, fill="panel", stroke="faint")
    doublings = round(math.log2(box.high_run / box.low_run))
    step = max(2, math.ceil(doublings / 7 / 2) * 2)
    for power in range(0, doublings + 1, step):
        run = box.low_run * 2.0**power
        px, _ = place(run, box.low_rate, box, frame)
        drawing.line(px, y, px, y + high, stroke="faint")
        drawing.text(px, y + high + 17, format_bytes(run), size=11, fill="muted", anchor="middle")
    decades = round(math.log10(box.high_rate / box.low_rate))
    for power in range(0, decades + 1, max(1, math.ceil(decades / 6))):
        rate = box.low_rate * 10.0**power
        _, py = place(box.low_run, rate, box, frame)
        drawing.line(x, py, x + wide, py, stroke="faint")
        drawing.text(x - 8, py + 4, format_rate(rate), size=11, fill="muted", anchor="end")
    drawing.text(x + wide / 2, y + high + 38, "length of contiguous runs", size=12, fill="muted", anchor="middle")


def _marks(drawing: Drawing, points: Sequence[OperatingPoint], box: Bounds, frame: Frame) -> None:
    """A numbered disc on each operating point. Overlapping discs move apart and keep a thin line to their point."""
    taken: list[tuple[float, float]] = []
    placed: list[tuple[float, float, OperatingPoint]] = []
    for point in points:
        run = min(max(point.run_bytes, box.low_run), box.high_run)
        px, py = place(run, point.rate, box, frame)
        x, y = px, py
        for dx, dy in _SHIFTS:
            x, y = px + dx, py + dy
            inside = frame[1] + 11 <= y <= frame[1] + frame[3] - 11
            if (inside or (dx, dy) == (0, 0)) and all((x - a) ** 2 + (y - b) ** 2 >= 25**2 for a, b in taken):
                break
        taken.append((x, y))
        placed.append((x, y, point))
        if (x, y) != (px, py):
            drawing.line(px, py, x, y, stroke="path", width=1.4)
            drawing.element("circle", cx=px, cy=py, r=3.5, fill="path")
    for x, y, point in placed:
        tip = f"hop {point.label}, {point.channel}: runs of {format_bytes(point.run_bytes)} at {format_rate(point.rate)}"
        drawing.element("circle", cx=x, cy=y, r=10.5, fill="path", stroke="paper", stroke_width=1.5, tip=tip)
        drawing.text(x, y + 4.2, shorten(point.label, 20, 12, bold=True), size=12, fill="on-path", anchor="middle", bold=True)


def _legend(
    drawing: Drawing,
    entries: Sequence[tuple[Curve, str | None]],
    points: Sequence[OperatingPoint],
    x: float,
    y: float,
    total: int,
) -> None:
    hops: dict[str, list[str]] = {}
    for point in points:
        hops.setdefault(point.channel, []).append(point.label)
    for curve, dash in entries:
        token = kind_token(curve.kind)
        drawing.line(x, y + 7, x + 26, y + 7, stroke=token, width=2.6, stroke_dasharray=dash)
        room = _LEGEND - 60
        used = [hop for channel in curve.channels for hop in hops.get(channel.name, [])]
        drawing.text(x + 34, y + 11, shorten(curve.kind.words, room, 12, bold=True), size=12, bold=True, tip=curve.names)
        detail = f"up to {format_rate(curve.peak)}"
        if used:
            detail += f" · hop {', '.join(used)}"
        elif len(curve.channels) > 1:
            detail += f" · {len(curve.channels)} channels"
        else:
            detail += " · "
            detail += shorten(curve.names, room - text_width(detail, 11), 11)
        drawing.text(x + 34, y + 26, shorten(detail, room, 11), size=11, fill="muted", tip=curve.names)
        y += 34
    if total > len(entries):
        drawing.text(x, y + 11, f"and {total - len(entries)} more functions", size=11, fill="muted")


def _description(found: Sequence[Curve], points: Sequence[OperatingPoint]) -> str:
    said = [f"{curve.label}: up to {format_rate(curve.peak)}." for curve in found[:20]]
    said += [f"Hop {p.label}: runs of {format_bytes(p.run_bytes)} at {format_rate(p.rate)}." for p in points]
    return "Bytes per second over the length of contiguous runs, both logarithmic. " + " ".join(said)


__all__ = ["OperatingPoint", "throughput_svg"]
