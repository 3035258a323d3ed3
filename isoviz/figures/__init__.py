"""Pictures of layouts, machines, plans, runs and reports, and plots of numbers.

- A value has one picture: a static SVG or a table, without scripts, in both colour themes. `html` gives it with the tables that
  belong to it.
- Plots of numbers are Bokeh figures, to zoom and hover. Bokeh is loaded with the first of them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoviz.figures.charts.theme import ThemeName
    from isoviz.figures.layouts.order_plot import linearization_svg as linearization_svg
    from isoviz.figures.machines.hop_cards import cards_svg as cards_svg
    from isoviz.figures.machines.network_picture import network_svg as network_svg
    from isoviz.figures.machines.path_picture import path_svg as path_svg
    from isoviz.figures.plans.handshake_picture import handshake_svg as handshake_svg
    from isoviz.figures.plans.report_picture import report_svg as report_svg
    from isoviz.figures.plots.block_region import block_region_figure as block_region_figure
    from isoviz.figures.plots.bokeh_plot import plot_html as plot_html
    from isoviz.figures.plots.planning import candidate_figure as candidate_figure
    from isoviz.figures.plots.planning import chunk_curve_figure as chunk_curve_figure
    from isoviz.figures.plots.planning import sweep_figure as sweep_figure
    from isoviz.figures.plots.planning import trade_off_figure as trade_off_figure
    from isoviz.figures.plots.predictions import prediction_figure as prediction_figure
    from isoviz.figures.plots.throughput import machine_throughput_figure as machine_throughput_figure
    from isoviz.figures.plots.throughput import plan_throughput_figure as plan_throughput_figure
    from isoviz.figures.plots.throughput import throughput_figure as throughput_figure
    from isoviz.figures.plots.traces import buffer_figure as buffer_figure
    from isoviz.figures.plots.traces import channel_use_figure as channel_use_figure
    from isoviz.figures.plots.winner_map import winner_map_figure as winner_map_figure
    from isoviz.figures.traces.timeline import compare_svg as compare_svg
    from isoviz.figures.traces.timeline import timeline_svg as timeline_svg
    from isoviz.figures.traces.trace_html import comparison_html as comparison_html
    from isoviz.figures.vortex.switch_picture import switch_svg as switch_svg

PICTURES = {
    "isoviz.layouts.layout.Layout": "layout_html.layout_html",
    "isoviz.layouts.layout.Linearization": "layout_html.layout_html",
    "isoviz.machines.machine.Machine": "document_html.told_html",
    "isoviz.planner.transfer.Transfer": "plans.transfer_html.transfer_html",
    "isoviz.planner.plan.Plan": "document_html.told_html",
    "isoviz.planner.explanation.explanation.Explanation": "document_html.told_html",
    "isoviz.planner.explanation.curves.sweeping.Sweep": "document_html.told_html",
    "isoviz.planner.explanation.handshake.Handshake": "document_html.told_html",
    "isoviz.planner.explanation.curves.winner_map.WinnerMap": "document_html.told_html",
    "isoviz.planner.explanation.curves.chunk_curve.ChunkCurve": "document_html.told_html",
    "isoviz.planner.layout_choice.choice.LayoutChoice": "document_html.told_html",
    "isoviz.runtime.trace.report.Report": "document_html.told_html",
    "isoviz.runtime.trace.trace.Trace": "document_html.told_html",
    "isoviz.redistribution.redistribution_plan.RedistributionPlan": "document_html.told_html",
    "isoviz.redistribution.running.redistribution_report.RedistributionReport": "document_html.told_html",
    "isoviz.vortex.switch.Switch": "vortex.switch_picture.switch_html",
}
"""The types that have a picture, and the functions of this package that draw them. Named, not loaded."""

_HOMES = {
    "block_region_figure": "plots.block_region",
    "buffer_figure": "plots.traces",
    "candidate_figure": "plots.planning",
    "cards_svg": "machines.hop_cards",
    "channel_use_figure": "plots.traces",
    "chunk_curve_figure": "plots.planning",
    "compare_svg": "traces.timeline",
    "comparison_html": "traces.trace_html",
    "handshake_svg": "plans.handshake_picture",
    "linearization_svg": "layouts.order_plot",
    "machine_throughput_figure": "plots.throughput",
    "network_svg": "machines.network_picture",
    "path_svg": "machines.path_picture",
    "plan_throughput_figure": "plots.throughput",
    "plot_html": "plots.bokeh_plot",
    "prediction_figure": "plots.predictions",
    "report_svg": "plans.report_picture",
    "sweep_figure": "plots.planning",
    "switch_svg": "vortex.switch_picture",
    "throughput_figure": "plots.throughput",
    "timeline_svg": "traces.timeline",
    "trade_off_figure": "plots.planning",
    "winner_map_figure": "plots.winner_map",
}
"""Name → the module of this package that holds it."""

__all__ = [
    "PICTURES",
    "block_region_figure",
    "buffer_figure",
    "candidate_figure",
    "cards_svg",
    "channel_use_figure",
    "chunk_curve_figure",
    "compare_svg",
    "comparison_html",
    "handshake_svg",
    "html",
    "linearization_svg",
    "machine_throughput_figure",
    "network_svg",
    "path_svg",
    "plan_throughput_figure",
    "plot_html",
    "prediction_figure",
    "report_svg",
    "sweep_figure",
    "switch_svg",
    "throughput_figure",
    "timeline_svg",
    "trade_off_figure",
    "winner_map_figure",
]


def html(value: object, *, theme: ThemeName = "auto") -> str:
    """The picture of a value and the tables beside it, as one HTML element that loads nothing. `str(value)` is the same as text.

    Explanations, sweeps and chunk curves have plots, which need a script in the page (`library_html`). Without it, a sentence
    stands in their place.

    Raises:
        TypeError: values of this type have no picture.
    """
    for kind in type(value).__mro__:
        if (function := PICTURES.get(f"{kind.__module__}.{kind.__qualname__}")) is not None:
            home, _, name = function.rpartition(".")
            return str(getattr(import_module(f"{__name__}.{home}"), name)(value, theme=theme))
    names = ", ".join(name.rpartition(".")[2] for name in PICTURES)
    raise TypeError(f"no picture for {type(value).__name__}; expected one of {names}")


def notebook_html(value: object) -> str:
    """`html` for the output of a notebook's cell. The first output with plots holds BokehJS for the others.

    It holds it again where its cell runs again, so that a saved notebook has it once.
    """
    global _library_cell
    shown = html(value)
    if "data-plot" not in shown:
        return shown
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell = str(parent.get("metadata", {}).get("cellId", "")) if isinstance(parent, dict) else ""
    if _library_cell is not None and (cell == "" or cell != _library_cell):
        return shown
    _library_cell = cell
    from isoviz.figures.plots.bokeh_plot import library_html

    return shown + library_html(shown)


_library_cell: str | None = None
"""The cell whose output holds BokehJS; "" where cells have no names, None before there is one."""


def __getattr__(name: str) -> Any:
    """Load a public name where it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
