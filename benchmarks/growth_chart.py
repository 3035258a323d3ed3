"""Planning time over the number of channels of a machine: a point for every machine and transfer, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from isoviz.figures.charts.svg import Drawing, text_width
from isoviz.figures.charts.theme import MARGIN, ThemeName
from isoviz.figures.predictions.prediction_marks import Frame, draw_mark
from isoviz.units import format_seconds

WIDE, TALL = 720.0, 380.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 66.0, 22.0, 200.0, 46.0
AIMS = ((0.1, "aim for 20 memories"), (1.0, "aim for 40 memories"))
"""Planning time to aim for, in seconds, and the machine that it applies to (all-to-all)."""

Row = Mapping[str, Any]


def planning_growth_svg(rows: Sequence[Row], *, theme: ThemeName = "auto") -> str:
    """Rows with `family`, `what`, `case`, `channels` and `seconds`: a mark and a colour for each family of machines."""
    drawing = Drawing("Planning time over channels", _description(rows), theme)
    if not rows:
        drawing.text(MARGIN, 34, "No machines: nothing to draw.", size=13, fill="muted")
        return drawing.render(400, 54)
    families = list(dict.fromkeys(row["family"] for row in rows))
    frame = (MARGIN + _LEFT, MARGIN + _TOP, WIDE, TALL)
    across = _span([row["channels"] for row in rows])
    up = _span([*(row["seconds"] for row in rows), *(seconds for seconds, _ in AIMS)])
    _grid(drawing, frame, across, up)
    for row in rows:
        x, y = _place(row["channels"], row["seconds"], frame, across, up)
        tip = f"{row['what']}, {row['case']}: {row['channels']:,} channels, {format_seconds(row['seconds'])}"
        draw_mark(drawing, x, y, families.index(row["family"]), radius=4.6, tip=tip)
    y = frame[1] + TALL + _BOTTOM + 22
    x = frame[0]
    for number, family in enumerate(families):
        draw_mark(drawing, x + 6, y - 4, number, radius=5.2)
        drawing.text(x + 18, y, family, size=12.5)
        x += 42 + text_width(family, 12.5)
    return drawing.render(frame[0] + WIDE + _RIGHT, y + MARGIN)


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values) / 1.6, max(values) * 1.6


def _place(
    channels: float, seconds: float, frame: Frame, across: tuple[float, float], up: tuple[float, float]
) -> tuple[float, float]:
    x, y, wide, tall = frame
    return x + wide * _along(channels, across), y + tall * (1 - _along(seconds, up))


def _along(value: float, span: tuple[float, float]) -> float:
    return math.log(value / span[0]) / math.log(span[1] / span[0])


def _grid(drawing: Drawing, frame: Frame, across: tuple[float, float], up: tuple[float, float]) -> None:
    x, y, wide, tall = frame
    drawing.rect(x, y, wide, tall, fill="panel", stroke="faint")
    for tick in _ticks(across, (1, 3)):
        px, _ = _place(tick, up[0], frame, across, up)
        drawing.line(px, y, px, y + tall, stroke="faint")
        drawing.text(px, y + tall + 17, f"{tick:,.0f}", size=11.5, fill="muted", anchor="middle")
    for tick in _ticks(up, (1,)):
        _, py = _place(across[0], tick, frame, across, up)
        drawing.line(x, py, x + wide, py, stroke="faint")
        drawing.text(x - 8, py + 4, format_seconds(tick), size=11.5, fill="muted", anchor="end")
    for seconds, said in AIMS:
        _, py = _place(across[0], seconds, frame, across, up)
        drawing.line(x, py, x + wide + 8, py, stroke="muted", width=1.3, stroke_dasharray="5 4")
        drawing.text(x + wide + 14, py + 4, said, size=11.5, fill="muted")
    drawing.text(x + wide / 2, y + tall + 38, "channels", size=12.5, anchor="middle")
    drawing.text(x, y - 8, "planning time", size=12.5)


def _ticks(span: tuple[float, float], parts: Sequence[int]) -> list[float]:
    powers = range(math.floor(math.log10(span[0])), math.ceil(math.log10(span[1])) + 1)
    return [tick for power in powers for part in parts if span[0] <= (tick := part * 10.0**power) <= span[1]]


def _description(rows: Sequence[Row]) -> str:
    if not rows:
        return "No machines."
    slowest = max(rows, key=lambda row: row["seconds"])
    return (
        f"{len(rows)} plans on machines of {min(row['channels'] for row in rows):,} to"
        f" {max(row['channels'] for row in rows):,} channels; the longest took {format_seconds(slowest['seconds'])}:"
        f" {slowest['what']}, {slowest['case']}."
    )
