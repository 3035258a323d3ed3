"""Traces: which ones there are. The browser asks for one when it draws it (`isoviz.widgets.commands.trace_answers`)."""

from __future__ import annotations

from typing import TypedDict

from isoviz.widgets.consequences.derive import EVERYTHING, LAYOUTS
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import TraceKind
from isoviz.widgets.traces.traces_there import STAGES, is_fresh, simulation_there, trace_there


class ShownTrace(TypedDict):
    """A trace that can be asked for. `id` names it. `fresh` says whether it is of the plan that is shown."""

    id: str
    requests: int
    seconds: float
    note: str
    fresh: bool


class TracePart(TypedDict):
    """The traces that there are, by kind. `problems` says why a plan cannot be simulated, by kind."""

    simulated: ShownTrace | None
    stored: ShownTrace | None
    measured: ShownTrace | None
    given: ShownTrace | None
    problems: dict[str, str]


@pane(
    "trace",
    "which traces there are",
    {"timeline": EVERYTHING | {"simulation"}, "stored": EVERYTHING | {"stored_simulation"}, "trace": LAYOUTS},
)
def trace_part(state: State) -> TracePart:
    """Which traces there are."""
    problems: dict[str, str] = {}
    for which in STAGES:
        found = simulation_there(state, which)
        if found is not None and found.problem and is_fresh(state, found):
            problems[which] = found.problem
    return {
        "simulated": _shown(state, "simulated"),
        "stored": _shown(state, "stored"),
        "measured": _shown(state, "measured"),
        "given": _shown(state, "given"),
        "problems": problems,
    }


def _shown(state: State, which: TraceKind) -> ShownTrace | None:
    there = trace_there(state, which)
    if there is None:
        return None
    trace = there.trace
    return {"id": there.name, "requests": len(trace.requests), "seconds": trace.seconds, "note": there.note, "fresh": there.fresh}
