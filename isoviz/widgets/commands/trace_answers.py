"""Answers with traces: their columns as binary data, and the steps of a simulation in words."""

from __future__ import annotations

from isoviz.errors import IsovizError
from isoviz.widgets.commands.command import AskSteps, AskTrace
from isoviz.widgets.commands.read_command import Sender
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import StepsMessage, TraceMessage
from isoviz.widgets.traces.session_traces import latest_simulation, packed_trace, session_trace
from isoviz.widgets.traces.simulated_steps import MOST_STEPS, trace_steps


def trace_answer(command: AskTrace, sender: Sender, state: State) -> tuple[TraceMessage, tuple[memoryview, ...]]:
    """The trace that a command requests, with its columns; without such a trace, a message with the reason."""
    which = command.which
    message: TraceMessage = {"kind": "trace", "which": which, "number": sender.number, "trace": None, "error": ""}
    try:
        trace = session_trace(state, which, command.run)
        if trace is None:
            gone = f"The timeline of {command.run} is not kept." if command.run else "There is no such trace yet."
            return {**message, "error": gone}, ()
        head, buffers = packed_trace(trace)
    except Exception as error:  # noqa: BLE001 - a defect: told where the trace was asked for
        return {**message, "error": f"{type(error).__name__}: {error}"}, ()
    return {**message, "trace": head}, buffers


def steps_answer(command: AskSteps, sender: Sender, state: State) -> StepsMessage:
    """The steps that a command requests; without a simulation, a message with the reason."""
    first = max(0, command.first)
    message: StepsMessage = {
        "kind": "steps", "number": sender.number, "id": "", "first": first, "steps": [], "more": False, "error": "",
    }  # fmt: skip
    simulation, trace = latest_simulation(state, "simulated"), session_trace(state, "simulated")
    if simulation is None or trace is None:
        return {**message, "error": "There is no simulation yet."}
    try:
        steps = trace_steps(simulation, first, trace.trace.begin)
    except IsovizError as error:
        return {**message, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - a defect: told where the steps were asked for
        return {**message, "error": f"{type(error).__name__}: {error}"}
    return {**message, "id": trace.name, "steps": steps[:MOST_STEPS], "more": len(steps) > MOST_STEPS}
