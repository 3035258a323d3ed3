"""Errors of predictions: measured / predicted over the predicted time, and a histogram of this ratio.

Both plots share a logarithmic axis of the ratio, upwards. In the left one bars show the intervals of the predictions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isoviz.figures.charts.svg import Drawing
from isoviz.figures.predictions.prediction_marks import BANDS, MOST_PATHS, Frame, draw_mark, mark_token, said_of
from isoviz.runtime.ledger.prediction_errors import Outcome
from isoviz.units import format_seconds

BINS_PER_DOUBLING = 6
GAP = 10.0
"""Pixels between the two plots."""


class RatioAxis:
    """The axis of measured / predicted in a frame: bins of equal width in the logarithm, the same on either side of 1."""

    def __init__(self, outcomes: Sequence[Outcome], top: float, height: float) -> None:
        off = sorted(abs(math.log2(each.ratio)) for each in outcomes)
        most = off[math.ceil(0.98 * len(off)) - 1]
        # Enough for 98 of 100 runs; from half to twice at least, eight times at most. What lies beyond is drawn at the edge.
        self.doublings = min(3, max(1, math.ceil(most)))
        self.is_cut = off[-1] > self.doublings
        self.bins = 2 * self.doublings * BINS_PER_DOUBLING
        self.top, self.height = top, height
        self.step = height / self.bins

    def place(self, ratio: float) -> float:
        """Where a ratio is, in pixels; ratios beyond are at the edge."""
        share = (math.log2(ratio) / self.doublings + 1) / 2 if ratio > 0 else 0.0
        return self.top + self.height * (1 - min(1.0, max(0.0, share)))

    def bin(self, ratio: float) -> int:
        """The number of the bin that a ratio is in, from below."""
        place = math.floor((math.log2(ratio) + self.doublings) * BINS_PER_DOUBLING)
        return min(max(place, 0), self.bins - 1)

    def bounds(self, number: int) -> str:
        """What is in a bin, in words."""
        low, high = (2 ** ((number + end) / BINS_PER_DOUBLING - self.doublings) for end in (0, 1))
        if number == 0:
            return f"less than {high:.2f}"
        return f"{low:.2f} or more" if number == self.bins - 1 else f"{low:.2f} to {high:.2f}"

    @property
    def ticks(self) -> tuple[float, ...]:
        """Ratios to name."""
        if self.doublings == 1:
            return (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.6, 2)
        return tuple(2.0**k for k in range(-self.doublings, self.doublings + 1))

    def draw(self, drawing: Drawing, frame: Frame) -> None:
        """Background, bands and the line of right predictions, in a frame of this height."""
        x, y, wide, tall = frame
        drawing.rect(x, y, wide, tall, fill="panel", stroke="faint")
        for share, opacity in BANDS:
            top, bottom = self.place(1 / (1 - share)), self.place(1 / (1 + share))
            drawing.rect(x, top, wide, bottom - top, fill="dim2", opacity=opacity)
        drawing.line(x, self.place(1), x + wide, self.place(1), stroke="muted", width=1.3)


def draw_residuals(
    drawing: Drawing, frame: Frame, axis: RatioAxis, outcomes: Sequence[Outcome], marks: Mapping[str, int], ticks: Sequence[float]
) -> None:
    """Measured / predicted over the predicted seconds, which `ticks` name, with intervals as bars."""
    x, y, wide, tall = frame
    axis.draw(drawing, frame)
    found = [each.predicted for each in outcomes]
    low, high = min(found) / 1.4, max(found) * 1.4

    def across(seconds: float) -> float:
        return x + wide * math.log(seconds / low) / math.log(high / low)

    for k, ratio in enumerate(axis.ticks):
        beyond = "" if not axis.is_cut else "≤ " if k == 0 else "≥ " if k == len(axis.ticks) - 1 else ""
        drawing.line(x - 4, axis.place(ratio), x, axis.place(ratio), stroke="line")
        drawing.text(x - 8, axis.place(ratio) + 4, f"{beyond}{ratio:.3g} ×", size=11.5, fill="muted", anchor="end")
    for tick in ticks:
        if low <= tick <= high:
            drawing.line(across(tick), y, across(tick), y + tall, stroke="line", opacity=0.4)
            drawing.text(across(tick), y + tall + 17, format_seconds(tick), size=11.5, fill="muted", anchor="middle")
    for each in outcomes:
        if each.interval is not None:
            bottom, top = (axis.place(end / each.predicted) for end in each.interval)
            at, look = across(each.predicted), {"stroke": mark_token(marks[each.path]), "width": 1.6, "opacity": 0.55}
            drawing.line(at, top, at, bottom, **look)  # type: ignore[arg-type]
    for each in outcomes:
        draw_mark(drawing, across(each.predicted), axis.place(each.ratio), marks[each.path], tip=said_of(each))
    drawing.text(x, y - 8, "measured ÷ predicted", size=12.5)
    drawing.text(x + wide / 2, y + tall + 38, "predicted", size=12.5, anchor="middle")


def draw_histogram(
    drawing: Drawing, frame: Frame, axis: RatioAxis, outcomes: Sequence[Outcome], marks: Mapping[str, int]
) -> None:
    """How many runs are in each bin of the axis, by path."""
    x, _, wide, tall = frame
    axis.draw(drawing, frame)
    bins = [[0] * (MOST_PATHS + 1) for _ in range(axis.bins)]
    for each in outcomes:
        bins[axis.bin(each.ratio)][marks[each.path]] += 1
    most = max(map(sum, bins))
    for k, found in enumerate(bins):
        at, top = x, axis.top + axis.height - (k + 1) * axis.step
        for number, hits in enumerate(found):
            if hits:
                length = (wide - 30) * hits / most
                tip = f"{hits} of {len(outcomes)}: measured {axis.bounds(k)} times the predicted time"
                drawing.rect(at, top + 1, length, axis.step - 2, fill=mark_token(number), tip=tip)
                at += length
        if sum(found):
            drawing.text(at + 4, top + axis.step / 2 + 4, f"{sum(found)}", size=11, fill="muted")
    drawing.text(x + wide / 2, axis.top + tall + 17, "runs", size=11.5, fill="muted", anchor="middle")
