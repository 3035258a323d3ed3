"""Plots of a run: the busy share of each channel, and the fill level of the buffers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.figures.charts.theme import colour
from isoviz.figures.charts.time_axis import sampled
from isoviz.figures.plots.bokeh_plot import Axis, add_hover, add_legend, new_plot, row_names, text_style
from isoviz.machines.memory import emulated_text
from isoviz.runtime.trace.trace_document import fills, overlap_text
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from bokeh.plotting import figure

    from isoviz.runtime import Trace

MOST_BUFFERS = 12
"""Most buffers that are drawn; the table has all."""
COLUMNS = 400
"""Columns of time in which the fill level of a buffer is drawn."""


def buffer_figure(trace: Trace) -> figure:
    """For each buffer, the slots in use over time, in front of the slots that its transfers hold. The height of a row is all
    slots.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    buffers = fills(trace)
    shown = buffers[:MOST_BUFFERS]
    title = "How full the buffers were" if buffers else "No buffer lies between the hops: nothing to draw"
    if len(buffers) > len(shown):
        title += f"; {len(buffers) - len(shown)} more are left out"
    seconds = trace.seconds if trace.seconds > 0 else 1e-9
    across = Axis("time since the first transfer was submitted", "seconds", 0, seconds, False)
    height = 130 + 62 * len(shown)
    plot = new_plot(title, across, Axis("", "number", 0, 1, False), height=height, remark=emulated_text(trace.emulated))
    row_names(plot, [f"{each.memory}, after hop {each.hop}: {100 * each.mean / each.slots:.0f} % full" for each in shown])
    edges = np.array([float(f"{edge:.5g}") for edge in np.linspace(0.0, seconds, COLUMNS + 1)])
    held, used, most = [], [], []
    for row, buffer in enumerate(shown):
        floor = row + 0.4
        tip = (
            f"{buffer.memory}, filled by hop {buffer.hop}: {buffer.mean:.2f} of {buffer.slots:g} slots in use on average, "
            f"{format_bytes(buffer.nbytes)} in all"
        )
        levels, _ = sampled(buffer.held, seconds, COLUMNS)
        held.append(_area(plot, edges, levels / buffer.slots, floor, "line", tip))
        mean, top = sampled(buffer.filled, seconds, COLUMNS)
        used.append(_area(plot, edges, mean / buffer.slots, floor, "dim0", tip))
        line = {"line_color": colour("dim0"), "line_alpha": 0.55, "mode": "after"}
        most.append(plot.step(edges[:-1].tolist(), (floor - 0.8 * top / buffer.slots).round(3).tolist(), **line))
    if shown:
        add_hover(plot, [*held, *used])
        names = ("slots in use, mean over a pixel", "the most in use", "slots that transfers hold")
        add_legend(plot, list(zip(names, (used, most, held), strict=True)), columns=3)
    return cast("figure", plot)


def _area(plot: Any, edges: Any, shares: Any, floor: float, token: str, tip: str) -> Any:
    """A filled step plot of shares of a row, as one patch, which hover finds."""
    xs = np.repeat(edges, 2).tolist()
    ys = [floor, *np.repeat((floor - 0.8 * shares).round(3), 2).tolist(), floor]
    columns = {"xs": [xs], "ys": [ys], "tip": [tip]}
    return plot.patches("xs", "ys", source=columns, fill_color=colour(token), fill_alpha=0.75, line_color=None)


def channel_use_figure(trace: Trace) -> figure:
    """The busy share of each channel in a run, and how much of the work overlapped.

    Raises:
        MissingPartError: Bokeh is not installed.
    """
    uses = trace.uses
    title = overlap_text(trace)
    across = Axis("share of the run", "share", 0, 1.5, False)
    height = 110 + 34 * max(1, len(uses))
    plot = new_plot(title, across, Axis("", "number", 0, 1, False), height=height, remark=emulated_text(trace.emulated))
    row_names(plot, [use.channel for use in uses])
    columns = {
        "row": list(range(len(uses))),
        "busy": [min(use.share, 1.0) for use in uses],
        "all": [1.0] * len(uses),
        "text": [
            f"{100 * use.share:.3g} %, {format_bytes(use.nbytes)}"
            + (f", {format_rate(use.nbytes / use.seconds)}" if use.seconds > 0 else "")
            for use in uses
        ],
        "tip": [f"{use.channel}: {format_seconds(use.seconds)} at work, {use.requests:,} requests" for use in uses],
    }
    idle = plot.hbar(y="row", right="all", height=0.6, source=columns, fill_color=colour("panel"), line_color=colour("line"))
    busy = plot.hbar(y="row", right="busy", height=0.6, source=columns, fill_color=colour("dim0"), line_color=None)
    plot.text("all", "row", text="text", source=columns, x_offset=8, **text_style("muted"))
    plot.xaxis.ticker = [0, 0.25, 0.5, 0.75, 1]
    if uses:
        add_hover(plot, [idle, busy])
        add_legend(plot, [("busy", [busy]), ("idle", [idle])], columns=2)
    return cast("figure", plot)
