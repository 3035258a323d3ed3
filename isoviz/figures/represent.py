"""One door to the HTML representation of everything that has one."""

from __future__ import annotations

from isoviz.figures.charts.theme import ThemeName
from isoviz.layouts import Layout, Linearization
from isoviz.machines import Machine

REPRESENTED = (
    ("isoviz.layouts.layout", "Layout"),
    ("isoviz.layouts.layout", "Linearization"),
    ("isoviz.machines.machine", "Machine"),
    ("isoviz.planner.transfer", "Transfer"),
    ("isoviz.planner.plan", "Plan"),
    ("isoviz.planner.explanation.explanation", "Explanation"),
    ("isoviz.planner.explanation.explanation", "Sweep"),
    ("isoviz.runtime.trace.report", "Report"),
    ("isoviz.runtime.trace.trace", "Trace"),
    ("isoviz.planner.explanation.chunk_curve", "ChunkCurve"),
)
"""(module, class) of each type that `html` knows, so that display formatters can be registered without importing the types."""


def html(value: object, *, theme: ThemeName = "auto") -> str:
    """A self-contained HTML element: a picture, a table beside it, no scripts, nothing to load. Its text twin is `str(value)`.

    Raises:
        TypeError: a value of a type that has no picture.
    """
    if isinstance(value, Layout):
        from isoviz.figures.layouts.layout_html import layout_html

        return layout_html(value, theme=theme)
    if isinstance(value, Linearization):
        from isoviz.figures.layouts.layout_html import linearization_html

        return linearization_html(value, theme=theme)
    if isinstance(value, Machine):
        from isoviz.figures.machines.machine_html import machine_html

        return machine_html(value, theme=theme)
    from isoviz.figures.plans import explanation_html as explanations
    from isoviz.figures.plans import plan_html as plans
    from isoviz.figures.traces import trace_html as traces
    from isoviz.planner import ChunkCurve, Explanation, Plan, Sweep, Transfer
    from isoviz.runtime import Report, Trace

    if isinstance(value, Transfer):
        return plans.transfer_html(value, theme=theme)
    if isinstance(value, Plan):
        return plans.plan_html(value, theme=theme)
    if isinstance(value, Explanation):
        return explanations.explanation_html(value, theme=theme)
    if isinstance(value, Sweep):
        return explanations.sweep_html(value, theme=theme)
    if isinstance(value, Report):
        return plans.report_html(value, theme=theme)
    if isinstance(value, Trace):
        return traces.trace_html(value, theme=theme)
    if isinstance(value, ChunkCurve):
        return traces.curve_html(value, theme=theme)
    known = ", ".join(name for _, name in REPRESENTED)
    raise TypeError(f"no picture for {type(value).__name__}; expected one of {known}")
