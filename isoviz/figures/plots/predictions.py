"""Predicted against measured: a point for every run with its interval, how far off predictions were, and how often.

In the first plot both axes are seconds, logarithmic and alike: the diagonal is where predictions are right, and a constant factor
is a constant distance from it. The other two share an axis of measured / predicted. The bands are errors of 10 and 30 %.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from isoviz.figures.charts.theme import DIMENSION_COLOURS, colour
from isoviz.figures.plots.bokeh_plot import Axis, add_hover, add_legend, bokeh, new_plot
from isoviz.runtime.ledger.prediction_errors import by_path, percent_text
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bokeh.models import Column

    from isoviz.runtime.ledger.prediction_errors import ErrorSummary, Outcome

BANDS = ((0.30, 0.10), (0.10, 0.16))
"""The bands: errors as shares of the measured time, each with its opacity."""
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "hex")
"""Marks of paths; they differ even without colour. Further paths share the last one."""
BINS_PER_DOUBLING = 6


def prediction_figure(outcomes: Sequence[Outcome]) -> Column:
    """Predicted and measured seconds of runs: a mark and a colour for each path, a bar for the interval of the prediction.

    Beside it measured / predicted, over the predicted seconds and as a histogram.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    bokeh()
    from bokeh.layouts import column, row

    summaries = by_path(outcomes)
    marks = {summary.path: min(k, len(MARKERS) - 1) for k, summary in enumerate(summaries)}
    scatter, glyphs = _scatter(outcomes, marks)
    entries = [(_words(each), glyphs[each.path]) for each in summaries[: len(MARKERS) - 1]]
    if rest := summaries[len(MARKERS) - 1 :]:
        others = _words(rest[0]) if len(rest) == 1 else f"{len(rest)} other paths"
        entries.append((others, [glyph for each in rest for glyph in glyphs[each.path]]))
    add_legend(scatter, entries, "right")
    axis = _RatioAxis(outcomes)
    residuals, histogram = _residuals(outcomes, marks, axis), _histogram(outcomes, marks, axis)
    histogram.y_range = residuals.y_range
    errors = row(residuals, histogram, sizing_mode="stretch_width")
    return cast("Column", column(scatter, errors, sizing_mode="stretch_width"))


def _words(each: ErrorSummary) -> str:
    return f"{each.path}: {each.count:,} run{'s'[: each.count > 1]}, median error {percent_text(each.median)}"


def _tip(each: Outcome) -> str:
    """A run in a sentence."""
    label = f"{each.label}: predicted {format_seconds(each.predicted)}, measured {format_seconds(each.measured)}"
    if each.interval is not None:
        label += f" ({format_seconds(each.interval[0])} to {format_seconds(each.interval[1])} expected)"
    return f"{label}; {each.path}"


def _token(mark: int) -> str:
    return colour(DIMENSION_COLOURS[mark])


def _scatter(outcomes: Sequence[Outcome], marks: dict[str, int]) -> tuple[Any, dict[str, list[Any]]]:
    """Measured over predicted seconds, and the glyphs of each path."""
    span = _span(outcomes)
    across, up = Axis("predicted", "seconds", *span), Axis("measured", "seconds", *span)
    plot = new_plot("Above the diagonal: took longer than predicted", across, up, height=440)
    for share, opacity in BANDS:
        ends = {"y1": [end / (1 + share) for end in span], "y2": [end / (1 - share) for end in span]}
        plot.varea(x=list(span), fill_color=colour("dim2"), fill_alpha=opacity, **ends)
    plot.line(list(span), list(span), line_color=colour("muted"), line_width=1.3)
    glyphs = {}
    for path, mark in marks.items():
        runs = [each for each in outcomes if each.path == path]
        lows, highs = zip(*(each.interval or (each.predicted, each.predicted) for each in runs), strict=True)
        measured = [each.measured for each in runs]
        # Intervals may reach down to 0, which a logarithmic axis does not have.
        lows = tuple(max(low, span[0] / 10) for low in lows)
        bars = plot.segment(lows, measured, highs, measured, line_color=_token(mark), line_width=1.4, line_alpha=0.65)
        glyphs[path] = [bars, _dots(plot, runs, [each.predicted for each in runs], measured, mark)]
    add_hover(plot, [drawn[1] for drawn in glyphs.values()])
    return plot, glyphs


def _dots(plot: Any, runs: Sequence[Outcome], xs: Sequence[float], ys: Sequence[float], mark: int) -> Any:
    columns = {"x": xs, "y": ys, "tip": [_tip(each) for each in runs]}
    style = {"marker": MARKERS[mark], "size": 9, "fill_color": _token(mark), "line_color": colour("panel")}
    return plot.scatter("x", "y", source=columns, **style)


def _span(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    """What both axes span: a little more than all points, at least a factor of ten; intervals may be cut off."""
    seconds = [value for each in outcomes for value in (each.predicted, each.measured)] or [1.0]
    low, high = min(seconds) / 1.5, max(seconds) * 1.5
    if high < 10 * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(10), middle * math.sqrt(10)
    return low, high


class _RatioAxis:
    """The axis of measured / predicted: bins of equal width in the logarithm, the same on either side of 1."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        off = sorted(abs(math.log2(each.ratio)) for each in outcomes) or [0.0]
        most = off[math.ceil(0.98 * len(off)) - 1]
        # Enough for 98 of 100 runs; from half to twice at least, eight times at most. What lies beyond is drawn at the edge.
        self.doublings = min(3, max(1, math.ceil(most)))
        self.bins = 2 * self.doublings * BINS_PER_DOUBLING

    @property
    def axis(self) -> Axis:
        return Axis("measured ÷ predicted", "factor", 2.0**-self.doublings / 1.02, 2.0**self.doublings * 1.02)

    def within(self, ratio: float) -> float:
        """The ratio, or the edge where it lies beyond."""
        return min(2.0**self.doublings, max(2.0**-self.doublings, ratio))

    def bin(self, ratio: float) -> int:
        """The number of the bin that a ratio is in, from below."""
        place = math.floor((math.log2(ratio) + self.doublings) * BINS_PER_DOUBLING)
        return min(max(place, 0), self.bins - 1)

    def edges(self, number: int) -> tuple[float, float]:
        """The lower and the upper end of a bin."""
        low, high = (2 ** ((number + end) / BINS_PER_DOUBLING - self.doublings) for end in (0, 1))
        return low, high

    def words(self, number: int) -> str:
        """What is in a bin."""
        low, high = self.edges(number)
        if number == 0:
            return f"less than {high:.2f}"
        return f"{low:.2f} or more" if number == self.bins - 1 else f"{low:.2f} to {high:.2f}"

    def draw_on(self, plot: Any) -> None:
        """The bands, and the line of right predictions."""
        models, _ = bokeh()
        for share, opacity in BANDS:
            ends = {"bottom": 1 / (1 + share), "top": 1 / (1 - share)}
            plot.add_layout(models.BoxAnnotation(**ends, fill_color=colour("dim2"), fill_alpha=opacity, level="underlay"))
        plot.add_layout(models.Span(location=1, dimension="width", line_color=colour("muted"), line_width=1.3))


def _residuals(outcomes: Sequence[Outcome], marks: dict[str, int], axis: _RatioAxis) -> Any:
    """Measured / predicted over the predicted seconds, with intervals as bars."""
    predicted = [each.predicted for each in outcomes] or [1.0]
    across = Axis("predicted", "seconds", min(predicted) / 1.4, max(predicted) * 1.4)
    plot = new_plot("A bar is the interval: it held where the mark is on it", across, axis.axis, height=340)
    axis.draw_on(plot)
    dots = []
    for path, mark in marks.items():
        runs = [each for each in outcomes if each.path == path]
        xs = [each.predicted for each in runs]
        ends = [each.interval or (each.predicted, each.predicted) for each in runs]
        lows, highs = ([axis.within(end[k] / x) for end, x in zip(ends, xs, strict=True)] for k in (0, 1))
        plot.segment(xs, lows, xs, highs, line_color=_token(mark), line_width=1.6, line_alpha=0.55)
        dots.append(_dots(plot, runs, xs, [axis.within(each.ratio) for each in runs], mark))
    add_hover(plot, dots)
    return plot


def _histogram(outcomes: Sequence[Outcome], marks: dict[str, int], axis: _RatioAxis) -> Any:
    """How many runs are in each bin of the axis, by path."""
    counts = [[0] * len(MARKERS) for _ in range(axis.bins)]
    for each in outcomes:
        counts[axis.bin(each.ratio)][marks[each.path]] += 1
    most = max(map(sum, counts))
    plot = new_plot("How many", Axis("runs", "number", 0, max(1, most) * 1.1, False), axis.axis, height=340)
    plot.sizing_mode, plot.width = "fixed", 220
    plot.yaxis.visible = False
    axis.draw_on(plot)
    columns: dict[str, list[Any]] = {name: [] for name in ("left", "right", "bottom", "top", "fill", "tip")}
    for number, runs in enumerate(counts):
        bottom, top = axis.edges(number)
        at = 0
        for mark, hits in enumerate(runs):
            if hits:
                tip = f"{hits} of {len(outcomes)}: measured {axis.words(number)} times the predicted time"
                for name, value in zip(columns, (at, at + hits, bottom, top, _token(mark), tip), strict=True):
                    columns[name].append(value)
                at += hits
    bars = plot.quad("left", "right", "top", "bottom", source=columns, fill_color="fill", line_color=colour("panel"))
    add_hover(plot, [bars])
    return plot
