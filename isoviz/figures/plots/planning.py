"""Plots about a plan and its alternatives: candidate paths, layouts, the time over a parameter or over the chunk size."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, cast

from isoviz.figures.charts.theme import DIMENSION_COLOURS, colour
from isoviz.figures.plots.bokeh_plot import DASHES, Axis, add_hover, add_label, add_legend, bokeh, new_plot, row_names, text_style
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.curves.sweeping import value_text
from isoviz.planner.explanation.explanation_words import path_text
from isoviz.planner.explanation.rival_words import difference
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bokeh.plotting import figure

    from isoviz.planner.explanation.curves.chunk_curve import ChunkCurve, ChunkPoint
    from isoviz.planner.explanation.curves.sweeping import Sweep, SweepPoint
    from isoviz.planner.explanation.explanation import RankedPath
    from isoviz.planner.layout_choice.choice import LayoutChoice

MOST_CANDIDATES = 12
"""Most candidates that are drawn; the table has all."""
MOST_LINES = 12
"""Most paths of a sweep with their own lines; further paths share one."""
APART = 10.0
"""If times differ by more than this factor, the scale of candidates is logarithmic."""
_TALLEST = 300.0
"""The largest drawn time of a chunk curve, as a multiple of the minimum: small chunks take hours, which are not of interest."""


def candidate_figure(candidates: Sequence[RankedPath], *, most: int = MOST_CANDIDATES, remark: str = "") -> figure:
    """A bar for the predicted time of each candidate, at most `most` of them. The chosen one has the colour of paths.

    The scale starts at zero. If times differ by more than a factor of ten, it is logarithmic and labelled so. The bar of a
    candidate with only a bound has a dashed outline.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    shown = candidates[: max(1, most)]
    times = [each.least for each in shown if each.least > 0] or [1.0]
    is_log = max(times) > APART * min(times)
    low = 10.0 ** math.floor(math.log10(min(times) * 0.999)) if is_log else 0.0
    # Room for time and difference after the longest bar.
    high = max(times) * (max(times) / low) ** 0.45 if is_log else max(times) * 1.45
    across = Axis(f"predicted time, {'logarithmic' if is_log else 'linear'} scale", "seconds", low, high, is_log)
    left_out = len(candidates) - len(shown)
    title = "Candidate paths by predicted time" + (f"; {left_out:,} slower ones are left out" if left_out else "")
    height = 110 + 46 * len(shown)
    plot = new_plot(title, across, Axis("", "number", 0, 1, False), height=height, remark=remark)
    row_names(plot, [str(number + 1) for number in range(len(shown))])
    columns = {
        "row": [row + 0.18 for row in range(len(shown))],
        "name_row": [row - 0.25 for row in range(len(shown))],
        "left": [low] * len(shown),
        "right": [max(each.least, low * 1.02) for each in shown],
        "fill": [colour("path" if each.chosen else "predicted") for each in shown],
        "alpha": [0.15 if each.seconds is None else 1.0 for each in shown],
        "dash": ["dashed" if each.seconds is None else "solid" for each in shown],
        "path": [path_text(each.memories, each.converting) for each in shown],
        "time": [_against(each, candidates[0]) for each in shown],
        "tip": [f"{path_text(each.memories, each.converting)}: {_time(each)}; held back by {each.limit}" for each in shown],
    }
    source = bokeh()[0].ColumnDataSource(columns)
    bars = plot.hbar(
        y="row", left="left", right="right", height=0.32, source=source, fill_color="fill", fill_alpha="alpha",
        line_color="fill", line_dash="dash",
    )  # fmt: skip
    plot.text("left", "name_row", text="path", source=source, x_offset=6, **text_style())
    plot.text("right", "row", text="time", source=source, x_offset=8, **text_style("muted"))
    add_hover(plot, [bars])
    return cast("figure", plot)


def _time(each: RankedPath) -> str:
    return f"{'at least ' if each.seconds is None else ''}{format_seconds(each.least)}"


def _against(each: RankedPath, chosen: RankedPath) -> str:
    said = "chosen" if each.chosen else difference(each, chosen).removeprefix("≥ ")
    return f"{'≥ ' if each.seconds is None else ''}{format_seconds(each.least)}  {said}"


def sweep_figure(sweep: Sweep) -> figure:
    """Predicted seconds of the best plan over the parameter, both logarithmic. Each path has a colour, a line style and a letter.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    models, _ = bokeh()
    name = sweep.words
    values = [point.value for point in sweep.points] or [1.0]
    across = Axis(name, "bytes" if sweep.unit == "B" else "number", *_span(values))
    up = Axis("predicted time", "seconds", *_span([point.seconds for point in sweep.points] or [1.0], 1.4))
    title = f"Predicted time over {name}" if sweep.points else "No value has a plan: nothing to draw"
    plot = new_plot(title, across, up, remark=emulated_text(sweep.emulated))
    letters = sweep.letters
    memories = {point.way: point.memories for point in sweep.points}
    glyphs: dict[Any, list[Any]] = {way: [] for way in letters}
    for way, first, last in _stretches(sweep):
        glyphs[way] += _stretch(plot, sweep, first, last, list(letters).index(way), letters[way])
    if across.low <= sweep.now <= across.high:
        now = models.Span(location=sweep.now, dimension="height", line_color=colour("ink"), line_dash="dashed", line_width=1.5)
        plot.add_layout(now)
        add_label(plot, sweep.now, up.high, f"now: {value_text(sweep, sweep.now)}", lift=-16)
    if sweep.points:
        add_hover(plot, [each for drawn in glyphs.values() for each in drawn[1:2]])
        entries = [(f"{letters[way]}: {path_text(memories[way], way[1])}", glyphs[way]) for way in letters]
        if len(entries) > MOST_LINES:
            entries = [*entries[:MOST_LINES], (f"and {len(entries) - MOST_LINES} more paths", entries[-1][1])]
        add_legend(plot, entries)
    return cast("figure", plot)


def _stretches(sweep: Sweep) -> list[tuple[Any, int, int]]:
    """Triples (path, first point, last point): consecutive points with the same winning path."""
    stretches = []
    for way, points in itertools.groupby(enumerate(sweep.points), key=lambda item: item[1].way):
        numbers = [number for number, _ in points]
        stretches.append((way, numbers[0], numbers[-1]))
    return stretches


def _stretch(plot: Any, sweep: Sweep, first: int, last: int, number: int, letter: str) -> list[Any]:
    """The line of one path where it wins, which meets its neighbours half-way; its points, and its letter in the middle."""
    points = sweep.points
    token = colour(DIMENSION_COLOURS[number % len(DIMENSION_COLOURS)] if number < MOST_LINES else "muted")
    line = [(point.value, point.seconds) for point in points[first : last + 1]]
    if first > 0:
        line.insert(0, _between(points[first - 1], points[first]))
    if last + 1 < len(points):
        line.append(_between(points[last], points[last + 1]))
    dash = DASHES[number % len(DASHES)] if number < MOST_LINES else "dotted"
    drawn = plot.line([x for x, _ in line], [y for _, y in line], line_color=token, line_width=2.6, line_dash=dash)
    columns = {
        "value": [point.value for point in points[first : last + 1]],
        "seconds": [point.seconds for point in points[first : last + 1]],
        "tip": [
            f"{value_text(sweep, point.value)}: {format_seconds(point.seconds)}, {path_text(point.memories, point.converting)}"
            for point in points[first : last + 1]
        ],
    }
    dots = plot.scatter("value", "seconds", source=columns, size=7, color=token)
    middle = points[(first + last) // 2]
    named = plot.text(
        [middle.value], [middle.seconds], text=[letter], y_offset=-14, text_color=token, text_align="center",
        text_baseline="middle", text_font_style="bold", text_font_size="13px",
    )  # fmt: skip
    return [drawn, dots, named]


def _between(first: SweepPoint, second: SweepPoint) -> tuple[float, float]:
    return math.sqrt(first.value * second.value), math.sqrt(first.seconds * second.seconds)


def trade_off_figure(choice: LayoutChoice, first: int = 0, second: int = 1) -> figure:
    """The trade-off between two uses: their seconds, with a point for each layout that no other layout beats in both.

    A dashed line joins the points. A point that is a candidate has its rank.

    Raises:
        InputError: there is no use of that number. MissingPartError: Bokeh is not installed.
    """
    points = choice.trade_off(first, second)
    times = [(each.times[first], each.times[second]) for each in points]
    across, up = (
        Axis(f"use {number + 1}: {choice.uses[number]}", "seconds", *_span([pair[k] for pair in times], 1.4))
        for k, number in enumerate((first, second))
    )
    title = f"What use {first + 1} gains and use {second + 1} loses"
    plot = new_plot(title, across, up, remark=emulated_text(choice.emulated))
    plot.line([x for x, _ in times], [y for _, y in times], line_color=colour("line"), line_width=1.6, line_dash="dashed")
    columns = {
        "first": [x for x, _ in times],
        "second": [y for _, y in times],
        "rank": [str(choice.candidates.index(each) + 1) if each in choice.candidates else "" for each in points],
        "fill": [colour("path" if each == choice.best else "dim0") for each in points],
        "tip": [f"{each.layout}: {format_seconds(each.times[first])}, {format_seconds(each.times[second])}" for each in points],
    }
    source = bokeh()[0].ColumnDataSource(columns)
    dots = plot.scatter("first", "second", source=source, size=10, fill_color="fill", line_color=colour("paper"))
    plot.text("first", "second", text="rank", source=source, x_offset=9, y_offset=-9, **text_style())
    add_hover(plot, [dots])
    return cast("figure", plot)


def chunk_curve_figure(curve: ChunkCurve) -> figure:
    """Predicted seconds over chunk bytes, both logarithmic, pipelined and stored and forwarded. Minimum and choice are marked.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    models, _ = bokeh()
    least = min(min(point.seconds, point.stored_seconds) for point in curve.points)
    top = max(_TALLEST * least, curve.chosen.seconds, curve.chosen.stored_seconds)
    points = [point for point in curve.points if max(point.seconds, point.stored_seconds) <= top] or [curve.chosen]
    across = Axis("bytes of a chunk", "bytes", *_span([point.chunk_bytes for point in points]))
    times = [seconds for point in points for seconds in (point.seconds, point.stored_seconds)]
    up = Axis("predicted time", "seconds", *_span(times, 1.25))
    remark = " ".join(filter(None, [_no_overlap(curve), emulated_text(curve.plan.emulated)]))
    plot = new_plot("Predicted time over the chunk size", across, up, remark=remark)
    if curve.limit is not None and across.low < curve.limit < across.high:
        plot.add_layout(models.BoxAnnotation(left=curve.limit, fill_color=colour("line"), fill_alpha=0.35, level="underlay"))
        add_label(plot, curve.limit, up.high, f"slots over {format_bytes(curve.limit)} do not fit", lift=-16)
    own, smaller = [point for point in points if point.per_chunk], [point for point in points if not point.per_chunk]
    entries = [("pipelined: hops work on different chunks at the same time", [_curve(plot, own, "seconds", "dim0", "solid")])]
    entries.append(("stored and forwarded: one hop after the other", [_curve(plot, points, "stored_seconds", "dim1", "dashed")]))
    if smaller:
        # Blocks smaller than the plan's have other layouts: a line of its own, which meets that of the plan.
        said = "pipelined, in chunks smaller than a block of the plan: the same path planned anew with smaller blocks"
        entries.append((said, [_curve(plot, [*smaller, *own[:1]], "seconds", "dim0", "dotted")]))
    columns = {
        "size": [point.chunk_bytes for point in points],
        "seconds": [point.seconds for point in points],
        "fill": [colour("dim0" if point.fits else "paper") for point in points],
        "tip": [_tip(point) for point in points],
    }
    dots = plot.scatter("size", "seconds", source=columns, size=6, fill_color="fill", line_color=colour("dim0"))
    marks = [(curve.chosen, "path", "the plan" if curve.chosen != curve.best else "the plan and the minimum")]
    marks += [(curve.best, "good", "the minimum")] if curve.best != curve.chosen else []
    entries += [(f"{said}: {format_bytes(point.chunk_bytes)}", [_mark(plot, point, token)]) for point, token, said in marks]
    add_hover(plot, [dots, *(glyphs[0] for _, glyphs in entries[-len(marks) :])])
    add_legend(plot, entries)
    return cast("figure", plot)


def _curve(plot: Any, points: Iterable[ChunkPoint], seconds: str, token: str, dash: str) -> Any:
    places = [(point.chunk_bytes, getattr(point, seconds)) for point in points]
    style = {"line_color": colour(token), "line_width": 2.4, "line_dash": dash}
    return plot.line([x for x, _ in places], [y for _, y in places], **style)


def _mark(plot: Any, point: ChunkPoint, token: str) -> Any:
    columns = {"size": [point.chunk_bytes], "seconds": [point.seconds], "tip": [_tip(point)]}
    return plot.scatter("size", "seconds", source=columns, size=13, fill_color=colour(token), line_color=colour("paper"))


def _tip(point: ChunkPoint) -> str:
    blocks = f"{point.per_chunk:,} block{'s'[: point.per_chunk > 1]}, " if point.per_chunk else ""
    chunks = f"{point.chunks:,} chunk{'s'[: point.chunks > 1]}"
    return (
        f"{format_bytes(point.chunk_bytes)} ({blocks}{chunks}): {format_seconds(point.seconds)},"
        f" stored and forwarded {format_seconds(point.stored_seconds)}{'' if point.fits else '; does not fit'}"
    )


def _no_overlap(curve: ChunkCurve) -> str:
    if curve.plan.overlap:
        return ""
    return "The plan does not count on hops that overlap: both ways take the same time."


def _span(values: Sequence[float], room: float = 1.1) -> tuple[float, float]:
    return min(values) / room, max(values) * room
