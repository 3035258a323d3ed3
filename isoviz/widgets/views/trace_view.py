"""A trace alone in a notebook: its timeline, to zoom, play and explain.

trace = isoviz.simulate(plan)
isoviz.TraceView(trace)
"""

from __future__ import annotations

from isoviz.errors import InputError, show
from isoviz.machines import MachineLike, machine_argument
from isoviz.runtime import Report, Trace
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.notebook.static_picture import summary_of
from isoviz.widgets.session import Session


class TraceView(Explorer):
    """The timeline of a trace, simulated or measured: the work of each channel, the fill of the buffers, and what waited for
    what.

        isoviz.TraceView(isoviz.simulate(plan))

    Of a `Report` its trace is shown. With a `machine`, channels and memories have names in words; otherwise they have their names
    in the plan. Of an explorer, a view or a session, the simulation of its plan is shown, which follows every edit.

    Raises:
        InputError: `trace` is none of these, a report has no trace, or the machine lacks a channel of the trace.
    """

    def __init__(self, trace: Trace | Report | Session | Explorer, *, machine: MachineLike | None = None) -> None:
        if isinstance(trace, Explorer | Session):
            if machine is not None:
                raise InputError("TraceView: the machine is that of the session; expected none beside it")
            super().__init__(trace.session if isinstance(trace, Explorer) else trace, pane="timeline")
            return
        given = trace.trace if isinstance(trace, Report) else trace
        if given is None:
            raise InputError("TraceView: the report has no trace")
        if not isinstance(given, Trace):
            raise InputError(f"TraceView: expected a trace, a report, a session or an explorer, got {show(given)}")
        known = None if machine is None else machine_argument("TraceView", machine)
        if known is not None and (missing := {name for name in given.channels if known.find_channel(name) is None}):
            raise InputError(f"TraceView: machine {known.name!r} has no channel {min(missing)!r}, which the trace uses")
        super().__init__(Session(both_ends=False, trace=given, trace_machine=known), pane="trace")
        self._owns_session = True

    def __repr__(self) -> str:
        given = self.session.state.given
        return "<isoviz timeline>" if given is None else f"<isoviz timeline: {summary_of(given)}>"
