"""The traces that a session has: simulated, stored and forwarded, measured, and the one that a view alone was given."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, NamedTuple

from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State
from isoviz.widgets.trace_contract import TraceKind
from isoviz.widgets.traces.packed_trace import PackedTrace, packed

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.runtime import Trace
    from isoviz.widgets.traces.simulating import Simulation

STAGES: dict[TraceKind, str] = {"simulated": "simulation", "stored": "stored_simulation"}
"""The stage of a simulated trace (`isoviz.widgets.consequences.derive`)."""


class TraceThere(NamedTuple):
    """A trace that there is: its name, the machine that it is of (if it is known), the seconds and keys
    of its transfers (`isoviz.widgets.traces.packed_trace`), and a note.

    `fresh` says whether it is of the plan that is shown now.
    """

    name: str
    trace: Trace
    machine: Machine | None
    about: dict[int, tuple[float, int]]
    note: str
    fresh: bool


_names: Remembered[str] = Remembered(16)
_packed: Remembered[PackedTrace] = Remembered(4)


def trace_there(state: State, which: TraceKind) -> TraceThere | None:
    """The trace of that kind; None if there is none."""
    if which in STAGES:
        found = simulation_there(state, which)
        if found is None or found.trace is None:
            return None
        about = {number: (each.plan.seconds, each.key) for number, each in enumerate(found.transfers)}
        return TraceThere(_name(found.trace), found.trace, found.machine, about, found.note, is_fresh(state, found))
    if which == "given":
        return None if state.given is None else TraceThere(_name(state.given), state.given, state.given_machine, {}, "", True)
    run = next((each for each in (state.run, *state.history) if each.report is not None), state.run)
    report = run.report
    trace = None if report is None else run.trace or report.trace
    if report is None or trace is None or not trace.requests:
        return None
    machine = state.derived.planned_on
    known = machine is not None and machine.digest == report.plan.machine_digest
    fresh = report.plan == state.derived.plan
    return TraceThere(_name(trace), trace, machine if known else None, {}, _left_out(trace), fresh)


def simulation_there(state: State, which: TraceKind) -> Simulation | None:
    """The newest simulation of that kind; None if there is none."""
    found: Simulation | None = state.derived.later.get(STAGES[which])
    return found


def is_fresh(state: State, simulation: Simulation) -> bool:
    """Whether a simulation is of the plan that is shown now."""
    return simulation.plan is state.derived.plan and "plan" not in state.derived.stale


def packed_trace(there: TraceThere) -> PackedTrace:
    """The trace packed for the browser; the latest ones are remembered."""
    return _packed.of(lambda: packed(there.trace, there.name, there.machine, there.about, there.note), there.trace)


def _name(trace: Trace) -> str:
    return _names.of(lambda: uuid.uuid4().hex[:12], trace)


def _left_out(trace: Trace) -> str:
    """What a measured trace lacks: the requests of a long run are not all kept."""
    count = sum(path.chunks * sum(path.requests) for each in trace.transfers for path in each.work.paths)
    kept = len(trace.requests)
    return "" if kept >= count else f"The first {kept:,} of {count:,} requests were kept."
