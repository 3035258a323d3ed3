"""Predicted against measured: a point for every run, with its interval, and beside it how far off predictions were.

Both axes of the scatter are seconds, logarithmic and alike, so that the diagonal is where predictions are right and a constant
factor is a constant distance from it. The bands are errors of 10 and 30 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from isoviz.figures.charts.svg import Drawing, shorten, text_width
from isoviz.figures.charts.theme import ThemeName
from isoviz.figures.predictions.prediction_marks import BANDS, MOST_PATHS, Frame, draw_mark, mark_token, said_of
from isoviz.figures.predictions.prediction_residuals import GAP, RatioAxis, draw_histogram, draw_residuals
from isoviz.runtime.ledger.prediction_errors import ErrorSummary, Outcome, by_path, percent_text, summarized
from isoviz.units import format_seconds

MARGIN = 16.0
_LEFT, _BOTTOM = 66.0, 46.0
_SIDE, _BETWEEN = 410.0, 74.0
_RESIDUALS, _HISTOGRAM = 290.0, 122.0
REST = "other paths"


def prediction_scatter_svg(outcomes: Sequence[Outcome], *, theme: ThemeName = "auto") -> str:
    """Predicted seconds (across) and measured seconds (up) of runs: a shape and a colour for each kind of path, a thin bar for
    the interval of the prediction; where the bar reaches the diagonal, it held. Beside it measured / predicted, over the
    predicted seconds and as a histogram."""
    drawing = Drawing("Predicted against measured", _description(outcomes), theme)
    if not outcomes:
        drawing.text(MARGIN, 34, "No runs: nothing to draw.", size=13, fill="muted")
        return drawing.render(400, 54)
    paths = [summary.path for summary in by_path(outcomes)]
    marks = {path: k if k < MOST_PATHS else MOST_PATHS for k, path in enumerate(paths)}
    frame = (MARGIN + _LEFT, MARGIN + 18, _SIDE, _SIDE)
    low, high = _span(outcomes)
    _grid(drawing, frame, low, high)
    for each in outcomes:
        _interval(drawing, frame, low, high, each, marks[each.path])
    for each in outcomes:
        x, y = _place(each.predicted, each.measured, frame, low, high)
        draw_mark(drawing, x, y, marks[each.path], tip=said_of(each))
    axis = RatioAxis(outcomes, frame[1], frame[3])
    x = frame[0] + _SIDE + _BETWEEN
    draw_residuals(drawing, (x, frame[1], _RESIDUALS, frame[3]), axis, outcomes, marks, _ticks(low, high))
    x += _RESIDUALS + GAP
    draw_histogram(drawing, (x, frame[1], _HISTOGRAM, frame[3]), axis, outcomes, marks)
    right = x + _HISTOGRAM
    y = _legend(drawing, by_path(outcomes), frame[1] + frame[3] + _BOTTOM + 20, right)
    return drawing.render(right + MARGIN, y)


# ---- the scatter


def _span(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """What both axes span: a little more than all points, at least a factor of ten; intervals may be cut off."""
    found = [value for each in outcomes for value in (each.predicted, each.measured)]
    low, high = min(found) / 1.5, max(found) * 1.5
    if high < 10 * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(10), middle * math.sqrt(10)
    return low, high


def _along(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, math.log(value / low) / math.log(high / low)))


def _place(predicted: float, measured: float, frame: Frame, low: float, high: float) -> tuple[float, float]:
    x, y, wide, tall = frame
    return x + wide * _along(predicted, low, high), y + tall * (1 - _along(measured, low, high))


def _grid(drawing: Drawing, frame: Frame, low: float, high: float) -> None:
    x, y, wide, tall = frame
    drawing.rect(x, y, wide, tall, fill="panel", stroke="faint")
    for share, opacity in BANDS:
        drawing.path(_band(share, frame, low, high), fill="dim2", opacity=opacity)
    for tick in _ticks(low, high):
        px, py = _place(tick, tick, frame, low, high)
        drawing.line(px, y, px, y + tall, stroke="faint")
        drawing.line(x, py, x + wide, py, stroke="faint")
        drawing.text(px, y + tall + 17, format_seconds(tick), size=11.5, fill="muted", anchor="middle")
        drawing.text(x - 8, py + 4, format_seconds(tick), size=11.5, fill="muted", anchor="end")
    drawing.line(x, y + tall, x + wide, y, stroke="muted", width=1.3)
    drawing.text(x + wide / 2, y + tall + 38, "predicted", size=12.5, anchor="middle")
    drawing.text(x, y - 8, "measured", size=12.5)
    drawing.text(x + 12, y + 22, "took longer than predicted", size=11.5, fill="muted", halo="panel")
    drawing.text(x + wide - 12, y + tall - 12, "took less", size=11.5, fill="muted", anchor="end", halo="panel")


def _band(share: float, frame: Frame, low: float, high: float) -> str:
    """The region in which |predicted − measured| ≤ share × measured, within the frame."""
    x, y, wide, tall = frame
    scale = wide / math.log(high / low)
    above, below = -math.log(1 - share) * scale, math.log(1 + share) * scale  # how far above and below the diagonal
    corners = (
        (x, y + tall),
        (x, y + tall - above),
        (x + wide - above, y),
        (x + wide, y),
        (x + wide, y + below),
        (x + below, y + tall),
    )
    return "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in corners) + "Z"


def _ticks(low: float, high: float) -> list[float]:
    decades = math.log10(high / low)
    parts = (1, 2, 5) if decades < 2.4 else (1, 3) if decades < 3.5 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [tick for power in powers for part in parts if low <= (tick := part * 10.0**power) <= high]


def _interval(drawing: Drawing, frame: Frame, low: float, high: float, each: Outcome, number: int) -> None:
    if each.interval is None:
        return
    first, y = _place(max(each.interval[0], low), each.measured, frame, low, high)
    last, _ = _place(max(each.interval[1], low), each.measured, frame, low, high)
    drawing.line(first, y, last, y, stroke=mark_token(number), width=1.4, opacity=0.65)
    for x, end in ((first, each.interval[0]), (last, each.interval[1])):
        if low <= end <= high:  # else it goes on beyond the picture
            drawing.line(x, y - 2.5, x, y + 2.5, stroke=mark_token(number), width=1.4, opacity=0.65)


# ---- in words


def _legend(drawing: Drawing, found: Sequence[ErrorSummary], y: float, right: float) -> float:
    """Marks with their paths and errors, in two columns; what bands and bars mean."""
    entries = [(k, each.path, _said(each)) for k, each in enumerate(found[:MOST_PATHS])]
    if len(found) > MOST_PATHS:
        entries.append((MOST_PATHS, REST, f"{sum(each.count for each in found[MOST_PATHS:])} runs"))
    column = (right - MARGIN) / 2
    for k, (number, path, detail) in enumerate(entries):
        x, at = MARGIN + column * (k % 2), y + 38 * (k // 2)
        draw_mark(drawing, x + 8, at - 4, number, radius=5.2)
        drawing.text(x + 24, at, shorten(path, column - 40, 12.5, bold=True), size=12.5, bold=True, tip=path)
        drawing.text(x + 24, at + 16, shorten(detail, column - 40, 11.5), size=11.5, fill="muted")
    y += 38 * math.ceil(len(entries) / 2) + 6
    x = MARGIN
    for opacity, text in ((0.26, "error below 10 %"), (0.12, "below 30 %")):
        drawing.rect(x, y - 11, 16, 13, fill="dim2", opacity=opacity, stroke="faint")
        drawing.text(x + 23, y, text, size=12, fill="muted")
        x += 44 + text_width(text, 12)
    if any(each.with_interval for each in found):
        drawing.line(x, y - 4, x + 22, y - 4, stroke="muted", width=1.4)
        for end in (x, x + 22):
            drawing.line(end, y - 6.5, end, y - 1.5, stroke="muted", width=1.4)
        said = "interval of the prediction: it held where it reaches the diagonal; on the right, where the mark is on it"
        drawing.text(x + 30, y, said, size=12, fill="muted")
    return y + 16


def _said(each: ErrorSummary) -> str:
    runs = f"{each.count:,} runs" if each.count > 1 else "1 run"
    said = f"{runs}: median error {percent_text(each.median)}, 95 % below {percent_text(each.tail)}"
    return said if each.coverage is None else f"{said}, {percent_text(each.coverage)} in interval"


def _description(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return "No runs."
    return " ".join(f"{each.path}: {_said(each)}." for each in (summarized(outcomes, "All runs"), *by_path(outcomes)))
