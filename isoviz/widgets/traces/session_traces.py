"""The traces of a session: simulated, simulated stored and forwarded, measured, and the trace given to a `TraceView`."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, NamedTuple

from isoviz.widgets.remembered import Remembered
from isoviz.widgets.running.begin_run import OF_SESSION
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import TraceKind
from isoviz.widgets.traces.packed_trace import PackedTrace, packed

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.runtime import Trace
    from isoviz.widgets.traces.simulating import Simulation

STAGES: dict[TraceKind, str] = {"simulated": "simulation", "stored": "stored_simulation"}
"""The stage of a simulated trace (`isoviz.widgets.consequences.derive`)."""


class SessionTrace(NamedTuple):
    """A trace with its name and a note for the browser.

    `machine` is the machine of the trace, None if it is unknown. `about` has the predicted seconds and the key of each transfer
    (`isoviz.widgets.traces.packed_trace`). `fresh` tells whether the trace belongs to the plan that the explorer shows.
    """

    name: str
    trace: Trace
    machine: Machine | None
    about: dict[int, tuple[float, int]]
    note: str
    fresh: bool


_names: Remembered[str] = Remembered(16)
_packed: Remembered[PackedTrace] = Remembered(4)


def session_trace(state: State, which: TraceKind, run: str = "") -> SessionTrace | None:
    """The latest trace of a kind, None before the first. `run` names a run: its measured trace, None where it is not kept."""
    if which in STAGES:
        simulation = latest_simulation(state, which)
        if simulation is None or simulation.trace is None:
            return None
        about = {number: (each.plan.seconds, each.key) for number, each in enumerate(simulation.transfers)}
        return SessionTrace(
            _name(simulation.trace), simulation.trace, simulation.machine, about, simulation.note, is_fresh(state, simulation)
        )
    if which == "given":
        return None if state.given is None else SessionTrace(_name(state.given), state.given, state.given_machine, {}, "", True)
    return _measured(state, run)


def _measured(state: State, name: str) -> SessionTrace | None:
    for run in (state.run, *state.history):
        its_name = f"{OF_SESSION}{run.number}"
        report = run.report
        if report is None or (name and name != its_name):
            continue
        trace = run.trace or report.trace
        if trace is None or not trace.requests:
            return None
        machine = run.machine or state.derived.planned_on
        is_machine_of_run = machine is not None and machine.digest == report.plan.machine_digest
        fresh = report.plan == state.derived.plan
        return SessionTrace(its_name, trace, machine if is_machine_of_run else None, {}, _left_out(trace), fresh)
    return None


def latest_simulation(state: State, which: TraceKind) -> Simulation | None:
    """The latest simulation of a kind, None before the first."""
    simulation: Simulation | None = state.derived.later.get(STAGES[which])
    return simulation


def is_fresh(state: State, simulation: Simulation) -> bool:
    """Whether a simulation belongs to the plan that the explorer shows."""
    return simulation.plan is state.derived.plan and "plan" not in state.derived.stale


def packed_trace(trace: SessionTrace) -> PackedTrace:
    """A trace packed for the browser. The latest four are cached."""
    return _packed.of(lambda: packed(trace.trace, trace.name, trace.machine, trace.about, trace.note), trace.trace)


def _name(trace: Trace) -> str:
    return _names.of(lambda: uuid.uuid4().hex[:12], trace)


def _left_out(trace: Trace) -> str:
    """A note on a measured trace that lacks requests: a long run keeps only its first ones. "" if the trace is complete."""
    count = sum(path.chunks * sum(path.requests) for each in trace.transfers for path in each.work.paths)
    kept = len(trace.requests)
    return "" if kept >= count else f"The first {kept:,} of {count:,} requests were kept."
