"""Answers of a session: its state as files, its traces and the steps of a simulation."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from isoviz.errors import InputError, IsovizError
from isoviz.widgets.chosen.python_text import python_text
from isoviz.widgets.chosen.session_file import session_text
from isoviz.widgets.contract import Exported
from isoviz.widgets.running.past_runs import runs_csv, runs_json
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import StepsMessage, TraceKind, TraceMessage
from isoviz.widgets.traces.session_traces import latest_simulation, packed_trace, session_trace
from isoviz.widgets.traces.simulating import MOST_STEPS, trace_steps

if TYPE_CHECKING:
    from isoviz.runtime import Trace

MOST_REQUESTS = 1_000_000
"""A trace with more requests is not written: its file would have hundreds of megabytes."""


def exported_file(what: Exported, state: State) -> tuple[str, str]:
    """The name of a file and its text.

    Raises:
        InputError: there is nothing of this kind.
    """
    from isoviz.schema import format_json

    derived = state.derived
    if what == "session":
        return "isoviz-session.json", session_text(state.settings)
    if what == "python":
        return "isoviz-session.py", python_text(state.settings)
    if what == "runs-json":
        return "isoviz-runs.json", runs_json(state)
    if what == "runs-csv":
        return "isoviz-runs.csv", runs_csv(state)
    if what == "machine":
        if derived.machine is None:
            raise InputError("There is no machine to export.")
        from isoviz.machines import machine_to_json

        return f"{_file_name(derived.machine.name)}.json", format_json(machine_to_json(derived.machine)) + "\n"
    if what == "report":
        if state.run.report is None:
            raise InputError("There is no report to export: nothing has run yet.")
        return "isoviz-report.json", format_json(state.run.report.to_json()) + "\n"
    if derived.plan is None or derived.planned_on is None or "plan" in derived.stale:
        raise InputError("There is no plan to export.")
    if what == "plan":
        from isoviz.planner import plan_to_json

        return "isoviz-plan.json", format_json(plan_to_json(derived.plan)) + "\n"
    if what == "trace":
        trace = shown_trace(state)
        return f"isoviz-trace-{trace.where}.json", json.dumps(trace.to_chrome(), allow_nan=False) + "\n"
    raise InputError(f"export {what}: it is no file of a session's own kinds")


def shown_trace(state: State) -> Trace:
    """The trace of the last run if it was a run of the shown plan, else the trace of the plan in virtual time.

    Raises:
        InputError: there is no plan, or it makes too many requests.
    """
    plan, machine, report = state.derived.plan, state.derived.planned_on, state.run.report
    if plan is None or machine is None:
        raise InputError("There is no plan to export.")
    if report is not None and report.plan == plan and (trace := state.run.trace or report.trace) is not None:
        return trace
    from isoviz.runtime import simulate

    if plan.chunk_count * len(plan.every_hop) > MOST_REQUESTS:
        raise InputError(f"The trace has more than {MOST_REQUESTS:,} requests: `isoviz simulate --chrome` writes it.")
    return simulate(plan, machine)


def _file_name(name: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "machine"


def trace_answer(
    state: State, which: TraceKind, number: int | None = None, run: str = ""
) -> tuple[TraceMessage, tuple[memoryview, ...]]:
    """A trace of a state with its columns, as the command with this number asks for it; without such a trace, the reason."""
    message: TraceMessage = {"kind": "trace", "which": which, "number": number, "trace": None, "error": ""}
    try:
        trace = session_trace(state, which, run)
        if trace is None:
            gone = f"The timeline of {run} is not kept." if run else "There is no such trace yet."
            return {**message, "error": gone}, ()
        head, buffers = packed_trace(trace)
    except Exception as error:  # noqa: BLE001 - a defect: told where the trace was asked for
        return {**message, "error": f"{type(error).__name__}: {error}"}, ()
    return {**message, "trace": head}, buffers


def steps_answer(state: State, first: int, number: int | None) -> StepsMessage:
    """The steps of the simulation from number `first` on, for the command with this number; without one, the reason."""
    first = max(0, first)
    message: StepsMessage = {
        "kind": "steps", "number": number, "id": "", "first": first, "steps": [], "more": False, "error": "",
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
