"""Predicted time over the chunk size: the minimum, and the plan's own choice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.figures.charts.svg import Drawing, text_width
from isoviz.figures.charts.theme import MARGIN
from isoviz.machines.memory import emulated_text
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner.explanation.chunk_curve import ChunkCurve, ChunkPoint

_LEFT, _BOTTOM = 78.0, 48.0
_TALLEST = 300.0
"""The largest drawn time, as a multiple of the minimum: small chunks take hours, which are not of interest."""


def chunk_curve_svg(curve: ChunkCurve, *, width: float = 860, height: float = 360, theme: ThemeName = "auto") -> str:
    """Predicted seconds over chunk bytes, both logarithmic, pipelined and stored and forwarded. Minimum and choice are marked."""
    drawing = Drawing("Predicted time over the chunk size", _description(curve), theme, remark=emulated_text(curve.plan.emulated))
    plot = _Plot(curve, (MARGIN + _LEFT, MARGIN + 20, width - 2 * MARGIN - _LEFT - 20, height - 2 * MARGIN - _BOTTOM - 20))
    plot.grid(drawing)
    plot.limit(drawing, curve.limit)
    stored = [plot.place(point.chunk_bytes, point.stored_seconds) for point in plot.points]
    drawing.path(_path(stored), stroke="dim1", width=2.2, stroke_dasharray="7 4", stroke_linejoin="round")
    # Blocks smaller than the plan's have other layouts: a thinner line, which meets that of the plan.
    own = [point for point in plot.points if point.per_chunk]
    smaller = [point for point in plot.points if not point.per_chunk]
    if smaller:
        line = [*smaller, *own[:1]]
        drawing.path(
            _path([plot.place(p.chunk_bytes, p.seconds) for p in line]), stroke="dim0", width=1.6, stroke_dasharray="2 3"
        )
    drawing.path(_path([plot.place(p.chunk_bytes, p.seconds) for p in own]), stroke="dim0", width=2.6, stroke_linejoin="round")
    for point in plot.points:
        x, y = plot.place(point.chunk_bytes, point.seconds)
        fill = "dim0" if point.fits else "paper"
        drawing.element("circle", cx=x, cy=y, r=2.8, fill=fill, stroke="dim0", stroke_width=1.2, tip=_tip(point))
    plot.mark(drawing, curve)
    y = height - 8
    entries = [
        ("dim0", None, "pipelined: hops work on different chunks at the same time"),
        ("dim1", "7 4", "stored and forwarded: one hop after the other"),
    ]
    if smaller:
        entries.append(
            (
                "dim0",
                "2 3",
                "pipelined, in chunks smaller than a block of the plan: the same path planned anew with smaller blocks",
            )
        )
    if not curve.plan.overlap:
        drawing.text(
            MARGIN + 8, y + 12.3, "The plan does not count on hops that overlap: both ways take the same time.", size=12.5
        )
        y += 21
    for token, dash, text in entries:
        drawing.line(MARGIN + 8, y + 8, MARGIN + 40, y + 8, stroke=token, width=2.4, stroke_dasharray=dash)
        drawing.text(MARGIN + 50, y + 12.3, text, size=12.5)
        y += 21
    return drawing.render(width, y + 8)


class _Plot:
    """The frame of the plot, the ranges of its axes, and the points in it."""

    def __init__(self, curve: ChunkCurve, frame: tuple[float, float, float, float]) -> None:
        self.frame = frame
        least = min(min(point.seconds, point.stored_seconds) for point in curve.points)
        top = max(_TALLEST * least, curve.chosen.seconds, curve.chosen.stored_seconds)
        self.points = [point for point in curve.points if max(point.seconds, point.stored_seconds) <= top] or [curve.chosen]
        sizes = [point.chunk_bytes for point in self.points]
        self.first, self.last = min(sizes), max(sizes)
        if self.last <= self.first:
            self.first, self.last = self.first / 2, self.last * 2
        times = [seconds for point in self.points for seconds in (point.seconds, point.stored_seconds)]
        room = max(0.06, 0.06 * math.log10(max(times) / min(times)))
        self.low, self.high = min(times) * 10**-room, max(times) * 10**room

    def place(self, size: float, seconds: float) -> tuple[float, float]:
        x, y, wide, high = self.frame
        across = math.log(size / self.first) / math.log(self.last / self.first)
        return x + wide * across, y + high * (1 - math.log(seconds / self.low) / math.log(self.high / self.low))

    def grid(self, drawing: Drawing) -> None:
        x, y, wide, high = self.frame
        drawing.rect(x, y, wide, high, fill="panel", stroke="faint")
        powers = range(math.ceil(math.log2(self.first) - 1e-9), math.floor(math.log2(self.last) + 1e-9) + 1)
        step = max(1, math.ceil(len(powers) / 9))
        for power in powers:
            if power % step == 0:
                px, _ = self.place(2.0**power, self.low)
                drawing.line(px, y, px, y + high, stroke="faint")
                drawing.text(px, y + high + 17, format_bytes(2.0**power), size=11.5, fill="muted", anchor="middle")
        for tick in _ticks(self.low, self.high):
            _, py = self.place(self.first, tick)
            drawing.line(x, py, x + wide, py, stroke="faint")
            drawing.text(x - 8, py + 4, format_seconds(tick), size=11.5, fill="muted", anchor="end")
        drawing.text(x + wide / 2, y + high + 37, "bytes of a chunk", size=12.5, anchor="middle")

    def limit(self, drawing: Drawing, limit: int | None) -> None:
        """Mark the limit: chunks to the right of it do not fit."""
        x, y, wide, high = self.frame
        if limit is None or not self.first < limit < self.last:
            return
        px, _ = self.place(limit, self.low)
        drawing.rect(px, y, x + wide - px, high, fill="faint", fill_opacity="0.7")
        drawing.line(px, y, px, y + high, stroke="muted", stroke_dasharray="3 3")
        text = f"slots over {format_bytes(limit)} do not fit"
        text = next((said for said in (text, "too large") if text_width(said, 11.5) + 12 < x + wide - px), "")
        drawing.text(px + 7, y + 16, text, size=11.5, fill="muted")

    def mark(self, drawing: Drawing, curve: ChunkCurve) -> None:
        """Mark the minimum and the plan's own choice, with their names at the top."""
        x, y, wide, _ = self.frame
        best, own = curve.best, curve.chosen
        same = best == own
        marks = [(own, "path", ("plan and minimum: " if same else "plan: ") + format_bytes(own.chunk_bytes))]
        if not same:
            marks.append((best, "good", f"minimum: {format_bytes(best.chunk_bytes)}"))
        taken: list[tuple[float, float]] = []
        for point, token, text in marks:
            px, py = self.place(point.chunk_bytes, point.seconds)
            drawing.line(px, y - 2, px, py, stroke=token, width=1.6, stroke_dasharray="4 3")
            drawing.element("circle", cx=px, cy=py, r=6, fill=token, stroke="paper", stroke_width=1.6, tip=_tip(point))
            room = text_width(text, 12.5, bold=True)
            left = min(max(px - room / 2, MARGIN), x + wide + 20 - room)
            for a, b in taken:
                if left < b + 12 and left + room > a - 12:
                    left = a - 12 - room if px < (a + b) / 2 and a - 12 - room > MARGIN else b + 12
            drawing.text(left, y - 8, text, size=12.5, fill=token, bold=True)
            taken.append((left, left + room))


def _ticks(low: float, high: float) -> list[float]:
    """Round times between two bounds: decades, and their parts if decades are few."""
    decades = math.log10(high / low)
    parts = (
        (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)
        if decades < 0.5
        else (1, 1.5, 2, 3, 5, 7)
        if decades < 1.2
        else (1, 2, 5)
        if decades < 3
        else (1,)
    )
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found = [part * 10.0**power for power in range(first, last + 1) for part in parts]
    found = [tick for tick in found if low <= tick <= high]
    return found[:: max(1, math.ceil(len(found) / 9))]


def _path(places: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _tip(point: ChunkPoint) -> str:
    blocks = f"{point.per_chunk:,} block{'s'[: point.per_chunk > 1]}, " if point.per_chunk else ""
    chunks = f"{point.chunks:,} chunk{'s'[: point.chunks > 1]}"
    return (
        f"{format_bytes(point.chunk_bytes)} ({blocks}{chunks}): {format_seconds(point.seconds)},"
        f" stored and forwarded {format_seconds(point.stored_seconds)}{'' if point.fits else '; does not fit'}"
    )


def _description(curve: ChunkCurve) -> str:
    return f"Predicted seconds over bytes of a chunk, both logarithmic: {curve}."
