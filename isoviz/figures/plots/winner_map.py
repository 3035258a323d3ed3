"""The map of the fastest path by run length and number of runs."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, cast

from isoviz.figures.charts.theme import DIMENSION_COLOURS, FIELD_COLOUR, colour
from isoviz.figures.plots.bokeh_plot import Axis, add_hover, add_legend, bokeh, new_plot, text_style
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.curves.winner_map import letter, size_text
from isoviz.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bokeh.plotting import figure

    from isoviz.planner.explanation.curves.winner_map import MapPoint, MapTurn, WinnerMap

WAY_COLOURS = (*DIMENSION_COLOURS, FIELD_COLOUR)
"""Colours of paths in the order of the map; further paths share one, and are told by their letters."""


def winner_map_figure(found: WinnerMap) -> figure:
    """The regions in which each path wins, both axes logarithmic; a letter and a colour for each path, the transfer as a point.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    columns, rows = _edges(found.columns), _edges(found.rows)
    across = Axis("bytes of a run", "bytes", columns[0], columns[-1])
    up = Axis("number of runs", "number", rows[0], rows[-1])
    title = found.title if found.points else "No vector has a plan: nothing to draw"
    plot = new_plot(title, across, up, height=420, remark=emulated_text(found.emulated))
    plot.grid.visible = False
    cells = {way: _cells(plot, found, way, columns, rows) for way in range(len(found.ways))}
    _borders(plot, found, columns, rows)
    marks = {way: [cells[way]] for way in cells}
    for point in found.regions:
        text = plot.text([point.run], [point.runs], text=[letter(point.way)], **_letters())
        marks[point.way].append(text)
    for turn in found.turns:
        _turn(plot, turn)
    entries: list[tuple[str, Sequence[Any]]] = [(f"{letter(way)}: {found.names[way]}", marks[way]) for way in cells]
    if found.now is not None:
        entries.append((f"the transfer: {size_text(found.now.run, found.now.runs)}", [_now(plot, found, found.now)]))
    add_hover(plot, [*cells.values(), *(glyphs[0] for _, glyphs in entries[len(cells) :])])
    add_legend(plot, entries)
    return cast("figure", plot)


def _edges(values: Sequence[int]) -> list[float]:
    """The edges of the cells around values, on a logarithmic axis."""
    inner = [math.sqrt(low * high) for low, high in itertools.pairwise(values)]
    first, last = inner[0] if inner else values[0] * 1.4, inner[-1] if inner else values[-1] / 1.4
    return [values[0] ** 2 / first, *inner, values[-1] ** 2 / last]


def _cells(plot: Any, found: WinnerMap, way: int, columns: Sequence[float], rows: Sequence[float]) -> Any:
    """The cells in which a path wins."""
    points = [point for point in found.points if point.way == way]
    places = [(found.columns.index(point.run), found.rows.index(point.runs)) for point in points]
    token = colour(WAY_COLOURS[way] if way < len(WAY_COLOURS) else "predicted")
    data = {
        "left": [columns[i] for i, _ in places],
        "right": [columns[i + 1] for i, _ in places],
        "bottom": [rows[j] for _, j in places],
        "top": [rows[j + 1] for _, j in places],
        "tip": [_tip(found, point) for point in points],
    }
    source = bokeh()[0].ColumnDataSource(data)
    return plot.quad("left", "right", "bottom", "top", source=source, fill_color=token, fill_alpha=0.38, line_color=None)


def _borders(plot: Any, found: WinnerMap, columns: Sequence[float], rows: Sequence[float]) -> None:
    """Lines between neighbouring cells with different winners."""
    segments = []
    for i, run in enumerate(found.columns):
        for j, runs in enumerate(found.rows):
            here = found.at.get((run, runs))
            right = found.at.get((found.columns[i + 1], runs)) if i + 1 < len(found.columns) else here
            above = found.at.get((run, found.rows[j + 1])) if j + 1 < len(found.rows) else here
            if here and right and here.way != right.way:
                segments.append((columns[i + 1], rows[j], columns[i + 1], rows[j + 1]))
            if here and above and here.way != above.way:
                segments.append((columns[i], rows[j + 1], columns[i + 1], rows[j + 1]))
    sides = [list(side) for side in zip(*segments, strict=True)] or [[], [], [], []]
    plot.segment(*sides, line_color=colour("ink"), line_width=1.2)


def _turn(plot: Any, turn: MapTurn) -> None:
    """A boundary in the row or in the column of the transfer, with its value."""
    is_row = turn.axis == "runs"
    x, y = (turn.fixed, turn.value) if is_row else (turn.value, turn.fixed)
    side = {"x_offset": 9} if is_row else {"y_offset": 16, "text_align": "center"}
    plot.scatter([x], [y], size=12, marker="dash", angle=0 if is_row else math.pi / 2, line_color=colour("ink"), line_width=3)
    plot.text([x], [y], text=[f"{letter(turn.after)} from {turn.text}"], **text_style(**side))


def _now(plot: Any, found: WinnerMap, now: MapPoint) -> Any:
    style = {"marker": "circle_cross", "size": 14, "fill_color": colour("paper"), "line_color": colour("ink"), "line_width": 2}
    return plot.scatter("x", "y", source={"x": [now.run], "y": [now.runs], "tip": [_tip(found, now)]}, **style)


def _tip(found: WinnerMap, point: MapPoint) -> str:
    return f"{size_text(point.run, point.runs)}: {found.label(point.way)}, T = {format_seconds(point.seconds)}"


def _letters() -> dict[str, Any]:
    return {**text_style(text_align="center", text_font_style="bold"), "text_font_size": "15px"}
