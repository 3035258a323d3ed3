"""What stands in the static picture of each view: drawings and tables, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from isoviz.widgets.consequences.drawings import picture_of, shown_by
from isoviz.widgets.contract import Side
from isoviz.widgets.panes.network_pane import vortex_of

if TYPE_CHECKING:
    from isoviz.widgets.state import State

MOST_REQUESTS = 50_000
"""Requests of a trace that is drawn."""
_TRANSFER = {"path": "Path", "source": "Source", "destination": "Destination"}
_OF_PANES: dict[str, dict[str, str]] = {
    "machine": {"machine": "Machine"},
    "timeline": {"timeline": "Timeline"},
    "plan": {"path": "Path", "constraints": "Constraints"},
    "why": {"path": "Path", "constraints": "Constraints"},
    "switch": {"switch": "Switch"},
    "run": {"report": "The last run", "path": "Path"},
}


def parts_of_pane(pane: str, side: str) -> dict[str, str]:
    """The parts of a view by name, in their order, with what stands above each."""
    if side != "both":
        return {side: "Layout"}
    return _OF_PANES.get(pane, _TRANSFER)


def shown_in(name: str, state: State) -> object:
    """The value that the part with this name shows, or None."""
    derived = state.derived
    if name == "machine":
        return derived.machine
    if name == "switch":
        return state.given_switch or vortex_of(derived.machine)
    if name == "timeline":
        return derived.later.get("simulation")
    if name == "constraints":
        return derived.later.get("explanation")
    return state.run.report if name == "report" else shown_by(name, derived)


def part_of(name: str, state: State, width: int) -> str:
    """The part of that name as HTML or SVG; "" where there is nothing to show. `width` is that of a linearization plot."""
    shown: Any = shown_in(name, state)
    if name in (*get_args(Side), "path"):
        return picture_of(name, state.derived, width)
    if shown is None:
        return ""
    from isoviz.figures import html, timeline_svg
    from isoviz.figures.plans.constraint_table import constraint_table_html

    if name == "switch":
        from isoviz.figures.vortex.switch_picture import switch_html

        return switch_html(shown)
    if name == "timeline":
        trace = shown.trace
        return "" if trace is None or len(trace.requests) > MOST_REQUESTS else timeline_svg(trace)
    if name == "constraints":
        return "" if shown.explanation is None else constraint_table_html(shown.explanation)
    return html(shown)
