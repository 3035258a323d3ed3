"""The traces of the session. The browser requests a trace when it draws it (`isoviz.widgets.commands.answers`)."""

from __future__ import annotations

from typing import TypedDict

from isoviz.widgets.consequences.derive import EVERYTHING, LAYOUTS
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import TraceKind
from isoviz.widgets.traces.session_traces import STAGES, is_fresh, latest_simulation, session_trace


class ShownTrace(TypedDict):
    """A trace that the browser can request by its `id`. `fresh` tells whether it belongs to the plan that is shown."""

    id: str
    requests: int
    seconds: float
    note: str
    fresh: bool


class TracePart(TypedDict):
    """The traces of the session, by kind. `problems` has the reasons for which the plan cannot be simulated, by kind."""

    simulated: ShownTrace | None
    stored: ShownTrace | None
    measured: ShownTrace | None
    given: ShownTrace | None
    problems: dict[str, str]


@pane(
    "trace",
    "the traces of the session",
    {"timeline": EVERYTHING | {"simulation"}, "stored": EVERYTHING | {"stored_simulation"}, "trace": LAYOUTS},
)
def trace_part(state: State) -> TracePart:
    """The traces of a session."""
    problems: dict[str, str] = {}
    for which in STAGES:
        simulation = latest_simulation(state, which)
        if simulation is not None and simulation.problem and is_fresh(state, simulation):
            problems[which] = simulation.problem
    return {
        "simulated": _shown(state, "simulated"),
        "stored": _shown(state, "stored"),
        "measured": _shown(state, "measured"),
        "given": _shown(state, "given"),
        "problems": problems,
    }


def _shown(state: State, which: TraceKind) -> ShownTrace | None:
    shown = session_trace(state, which)
    if shown is None:
        return None
    trace = shown.trace
    return {"id": shown.name, "requests": len(trace.requests), "seconds": trace.seconds, "note": shown.note, "fresh": shown.fresh}
