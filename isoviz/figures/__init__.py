"""Figures of layouts, machines, plans, runs and reports: static SVG and HTML that show everywhere, Bokeh for zoom and hover.

Static figures are strings without scripts, in both colour themes. Bokeh is loaded with the first interactive figure.
"""

from __future__ import annotations

from isoviz.figures.charts.bars import Measured, bars_svg
from isoviz.figures.charts.theme import FIELD_COLOUR, ThemeName, colour, dimension_tokens
from isoviz.figures.interactive import linearization_figure, throughput_figure
from isoviz.figures.layouts.layout_html import layout_html, linearization_html
from isoviz.figures.layouts.numpy_text import NumpyEquivalent, numpy_equivalent
from isoviz.figures.layouts.order_plot import captions, linearization_svg
from isoviz.figures.layouts.order_view import OrderView, default_axes, order_view
from isoviz.figures.machines.curves import OperatingPoint, channels_of, operating_points
from isoviz.figures.machines.machine_html import machine_html
from isoviz.figures.machines.measured_throughput import measured_throughput_svg
from isoviz.figures.machines.path_picture import path_svg
from isoviz.figures.machines.throughput_plot import throughput_svg
from isoviz.figures.pages.html_page import plan_sections
from isoviz.figures.pages.prediction_page import prediction_page
from isoviz.figures.plans.block_region import block_region_svg
from isoviz.figures.plans.candidate_ranking import candidate_ranking_svg
from isoviz.figures.plans.constraint_table import constraint_table_html
from isoviz.figures.plans.explanation_html import explanation_html, sweep_html
from isoviz.figures.plans.plan_html import hop_table, plan_html, plan_throughput_svg, report_html, transfer_html
from isoviz.figures.plans.sweep_figure import sweep_svg
from isoviz.figures.predictions.prediction_scatter import prediction_scatter_svg
from isoviz.figures.represent import REPRESENTED, html
from isoviz.figures.traces.buffer_fill import buffer_fill_svg
from isoviz.figures.traces.channel_use import channel_use_svg
from isoviz.figures.traces.chunk_curve_plot import chunk_curve_svg
from isoviz.figures.traces.critical_path_table import critical_parts, critical_path_svg, critical_said
from isoviz.figures.traces.step_text import steps_text
from isoviz.figures.traces.timeline import compare_svg, timeline_svg
from isoviz.figures.traces.trace_html import comparison_html, curve_html, trace_html

__all__ = [
    "FIELD_COLOUR",
    "REPRESENTED",
    "Measured",
    "NumpyEquivalent",
    "OperatingPoint",
    "OrderView",
    "ThemeName",
    "bars_svg",
    "block_region_svg",
    "buffer_fill_svg",
    "candidate_ranking_svg",
    "captions",
    "channel_use_svg",
    "channels_of",
    "chunk_curve_svg",
    "colour",
    "compare_svg",
    "comparison_html",
    "constraint_table_html",
    "critical_parts",
    "critical_path_svg",
    "critical_said",
    "curve_html",
    "default_axes",
    "dimension_tokens",
    "explanation_html",
    "hop_table",
    "html",
    "layout_html",
    "linearization_figure",
    "linearization_html",
    "linearization_svg",
    "machine_html",
    "measured_throughput_svg",
    "numpy_equivalent",
    "operating_points",
    "order_view",
    "path_svg",
    "plan_html",
    "plan_sections",
    "plan_throughput_svg",
    "prediction_page",
    "prediction_scatter_svg",
    "report_html",
    "steps_text",
    "sweep_html",
    "sweep_svg",
    "throughput_figure",
    "throughput_svg",
    "timeline_svg",
    "trace_html",
    "transfer_html",
]
