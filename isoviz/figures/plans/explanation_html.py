"""HTML of explanations and sweeps: the reasons for a plan, and the parameter values at which another plan is best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.figures.charts.html_parts import folded, heading, items, paragraph, representation, table
from isoviz.figures.plots.bokeh_plot import plot_html
from isoviz.figures.plots.planning import NAMES, sweep_figure, ways
from isoviz.figures.plots.winner_map import winner_map_figure
from isoviz.machines.memory import emulated_text
from isoviz.planner.explanation.curves.winner_map import letter, map_said
from isoviz.planner.explanation.explanation_words import (
    path_text,
)
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.planner.explanation.curves.winner_map import MapPoint, WinnerMap
    from isoviz.planner.explanation.explanation import Sweep


def sweep_html(sweep: Sweep, *, theme: ThemeName = "auto") -> str:
    """The best plan over a parameter: the figure, and its points as a table."""
    name = NAMES.get(sweep.parameter, sweep.parameter)
    letters = ways(sweep)
    rows = [
        (
            format_bytes(point.value) if sweep.unit == "B" else f"{point.value:,.6g}",
            format_seconds(point.seconds),
            format_rate(point.throughput),
            letters[point.channels, point.converting],
            path_text(point.memories, point.converting),
        )
        for point in sweep.points
    ]
    header = (name, "predicted time", "steady rate", "", "path (⇒ changes the order)")
    points = table(f"The best plan for every {name} tried", header, rows, numbers=(0, 1, 2))
    return representation(
        "sweep",
        heading(f"Predicted time over {name}"),
        paragraph(emulated_text(sweep.emulated)) if sweep.emulated else "",
        plot_html(sweep_figure, sweep, theme=theme),
        points,
    )


def winner_map_html(found: WinnerMap, *, theme: ThemeName = "auto", plots: bool = True) -> str:
    """Which path wins over two parameters: the map, what it says, and every point as a table.

    Without `plots` there are tables and sentences only.
    """
    named = enumerate(zip(found.names, found.ways, strict=True))
    ways = [(letter(number), name, path_text(way.memories, way.converting)) for number, (name, way) in named]
    rows = [(format_bytes(run), *(_map_cell(found.at.get((run, runs))) for runs in found.rows)) for run in found.columns]
    header = ("bytes of a run", *(f"{runs:,} {'run' if runs == 1 else 'runs'}" for runs in found.rows))
    points = table("The fastest path and T for every vector tried", header, rows, numbers=(0,))
    return representation(
        "winner-map",
        heading(found.title),
        paragraph(found.meaning),
        plot_html(winner_map_figure, found, theme=theme) if plots else "",
        items(map_said(found)),
        table("The paths", ("", "channels", "memories (⇒ changes the order)"), ways),
        folded("Every point as a table", points),
    )


def _map_cell(point: MapPoint | None) -> str:
    return "–" if point is None else f"{letter(point.way)} {format_seconds(point.seconds)}"
