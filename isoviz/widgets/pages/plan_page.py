"""The page of a plan: what `isoviz show`, `simulate` and `run` write, and what the explorer exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from isoviz._version import __version__
from isoviz.errors import IsovizError
from isoviz.schema import named
from isoviz.widgets.chosen.machine_choice import DescribedMachine
from isoviz.widgets.commands.answers import exported_file, trace_answer
from isoviz.widgets.contract import Exported, Side
from isoviz.widgets.pages.page_contract import PageEnd, PageKind, PageLine, PagePart
from isoviz.widgets.pages.page_frame import Embedded, html_page
from isoviz.widgets.pages.state_of_plan import state_of_plan, with_explanation, with_map, with_traces, with_views
from isoviz.widgets.panes.network_pane import vortex_of
from isoviz.widgets.panes.pane_table import VIEWS
from isoviz.widgets.panes.requests_pane import MOST_PIECES, shown_pieces
from isoviz.widgets.panes.trace_pane import trace_part
from isoviz.widgets.snapshot import snapshot, traits
from isoviz.widgets.trace_contract import TraceKind
from isoviz.widgets.traces.session_traces import session_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Machine
    from isoviz.planner import ChunkCurve, Explanation, Instance, Options, Plan, Transfer, WinnerMap
    from isoviz.runtime import Report, Trace
    from isoviz.widgets.chosen.machine_choice import MachineChoice
    from isoviz.widgets.state import State

_VIEWS: dict[PageKind, tuple[str, ...]] = {
    "show": ("ends", "hops", "why", "machine"),
    "simulate": ("timeline", "ends", "hops", "machine"),
    "run": ("timeline", "ends", "hops", "machine"),
    "explorer": ("ends", "hops", "why", "timeline", "machine", "run"),
}
"""The views behind the summary, by the kind of the page. The switch of a Data Vortex comes after the hops, where there is one."""
_OPENED: dict[PageKind, tuple[str, ...]] = {"show": (), "simulate": ("timeline",), "run": (), "explorer": ()}
"""The views that are open at first."""


_TRACES: tuple[TraceKind, ...] = ("simulated", "stored", "measured")
"""The traces of a page, where there are any."""
MOST_REQUESTS = 200_000
"""Requests of a trace that a page holds at most: a few megabytes."""


def plan_page(
    plan: Plan,
    machine: Machine,
    *,
    kind: PageKind = "show",
    choice: MachineChoice | None = None,
    options: Options | None = None,
    report: Report | None = None,
    explanation: Explanation | None = None,
    rivals: bool = False,
    trace: Trace | None = None,
    stored: Trace | None = None,
    curve: ChunkCurve | None = None,
    winners: WinnerMap | None = None,
) -> str:
    """A complete HTML page about a plan for `machine`, which draws itself from what it holds.

    `choice` says how the machine was chosen and `options` which limits the plan has, for the session and the Python in the page.
    `report` is that of a run of the plan, `explanation` says why it is what it is (and what would
    make `rivals` win, where that was asked), `trace` what happened when (`stored`: the same
    stored and forwarded; `curve`: other sizes of chunks). `winners` says which path wins for which runs.

    Raises:
        MachineError: the plan was made for a machine with other memories or channels.
    """
    given = {view for view, value in (("why", explanation), ("timeline", trace)) if value is not None}
    views = [view for view in _demanded(kind) if view not in given]
    choice = choice or DescribedMachine(machine)
    state = state_of_plan(plan, machine, choice=choice, options=options, report=report, views=views)
    if explanation is not None:
        state = with_explanation(state, explanation, options, rivals=rivals)
    if winners is not None:
        state = with_map(state, winners, options)
    if trace is not None:
        state = with_traces(state, trace, stored)
    said, lines = _summary(trace), _lines(plan, report, trace, stored)
    static = _static(
        plan, machine, report=report, explanation=explanation, trace=trace, stored=stored, curve=curve, winners=winners
    )
    return _page(state, kind, said, lines, static)


def state_page(state: State) -> str:
    """The page of what an explorer shows: its plan, and its last run where that was a run of this plan.

    Raises:
        InputError: there is no plan.
    """
    from isoviz.errors import InputError

    plan, machine, report = state.derived.plan, state.derived.planned_on, state.run.report
    if plan is None or machine is None or "plan" in state.derived.stale:
        raise InputError("There is no plan to export.")
    ran = report if report is not None and report.plan == plan else None
    whole = with_views(state, _demanded("explorer"))
    return _page(whole, "explorer", [], [], _static(plan, machine, report=ran))


def _page(state: State, kind: PageKind, said: list[str], lines: list[PageLine], static: Sequence[str]) -> str:
    plan = state.derived.plan
    assert plan is not None
    snapshot_of_page = snapshot(state, 1, "page")
    menus = {**snapshot_of_page["menus"], "machines": [], "dtypes": [], "planners": [], "examples": []}
    ends = {entry["name"] for entry in snapshot_of_page["menus"]["memories"]} & set(plan.every_memory)
    menus["memories"] = [entry for entry in snapshot_of_page["menus"]["memories"] if entry["name"] in ends]
    part: PagePart = {
        "kind": kind,
        "version": __version__,
        "said": said,
        "lines": lines,
        "ends": {"source": _end(plan.transfer, "source"), "destination": _end(plan.transfer, "destination")},
        "views": _views(kind, state.derived.machine),
        "opened": list(_OPENED[kind]),
    }
    answers, left_out = _traces(state)
    content = {
        "page": part,
        "traits": {
            **traits(snapshot_of_page),
            "menus": menus,
            "part_trace": {**trace_part(state), **left_out},
            "array_values": state.array_values,
        },
    }
    return html_page(_title(state), content, static, [*_exports(state), *answers])


def _views(kind: PageKind, machine: Machine | None) -> list[str]:
    views = list(_VIEWS[kind])
    if vortex_of(machine) is not None:
        views.insert(views.index("hops") + 1, "switch")
    return views


def _demanded(kind: PageKind) -> tuple[str, ...]:
    """The views of a page that need more than the plan, as `VIEWS` calls them, and what the inspector of a hop needs."""
    return "requests", *[view for view in _VIEWS[kind] if view in VIEWS]


def _traces(state: State) -> tuple[list[tuple[dict[str, Any], Embedded]], dict[str, None]]:
    """The traces that the page holds, as answers; and those that it leaves out."""
    found: list[tuple[dict[str, Any], Embedded]] = []
    left_out: dict[str, None] = {}
    for which in _TRACES:
        trace = session_trace(state, which)
        if trace is None:
            continue
        if len(trace.trace.requests) > MOST_REQUESTS:
            left_out[which] = None
            continue
        message, buffers = trace_answer(state, which)
        found.append(({"kind": "trace", "which": which, "run": ""}, Embedded({**message}, buffers)))
    return found, left_out


def _title(state: State) -> str:
    source, destination = state.settings.source.memory, state.settings.destination.memory
    return f"{source} → {destination} on {state.settings.machine.name}"


def _exports(state: State) -> list[tuple[dict[str, Any], Embedded]]:
    """The exports that need no kernel later."""
    found: list[tuple[dict[str, Any], Embedded]] = []
    for what in get_args(Exported):
        if what in ("page", "trace", "runs-json", "runs-csv"):
            continue  # the page is there; a trace is embedded where the page shows one; other runs are not what it is about
        try:
            name, text = exported_file(what, state)
        except IsovizError:
            continue
        message = {"kind": "export", "what": what, "name": name, "text": text, "error": ""}
        found.append(({"kind": "export", "what": what}, Embedded(message)))
    return found


# ---- the summary


def _summary(trace: Trace | None) -> list[str]:
    """A sentence on the bottleneck of a simulation; the hops describe the plan itself."""
    from isoviz.figures.traces.critical_parts import critical_path_text

    return [] if trace is None else [critical_path_text(trace)]


def _lines(plan: Plan, report: Report | None, trace: Trace | None, stored: Trace | None) -> list[PageLine]:
    """The times of the whole transfer, each as it is known."""

    def line(name: str, seconds: float, nbytes: float) -> PageLine:
        return {"name": name, "seconds": seconds, "rate": nbytes / seconds if seconds > 0 else 0.0}

    if trace is None or report is not None:
        return []
    several = len(trace.transfers)
    found = [line("predicted, one alone" if several > 1 else "predicted by the plan", plan.seconds, plan.bytes)]
    found.append(line(f"simulated, {several:,} at once" if several > 1 else "simulated", trace.seconds, trace.nbytes))
    if stored is not None:
        found.append(line("stored and forwarded", stored.seconds, stored.nbytes))
    return found


# ---- the ends


def _end(transfer: Transfer, side: Side) -> PageEnd:
    from isoviz.figures.plans.plan_html import moved_part
    from isoviz.planner import ListedTransfer
    from isoviz.planner.explanation.hop_descriptors import moved_pieces

    end: Instance = getattr(transfer, side)
    sizes = zip(end.fields.names, end.fields.sizes, strict=True)
    return {
        "dims": named(end.space.as_dict()),
        "fields": [{"name": name, "size": size} for name, size in sizes],
        "layout": str(end.layout),
        "moved": moved_part(transfer, end),
        "listed": shown_pieces(moved_pieces(transfer, MOST_PIECES)[side == "destination"])
        if isinstance(transfer, ListedTransfer)
        else None,
    }


# ---- the same without scripts


def _static(
    plan: Plan,
    machine: Machine,
    *,
    report: Report | None = None,
    explanation: Explanation | None = None,
    trace: Trace | None = None,
    stored: Trace | None = None,
    curve: ChunkCurve | None = None,
    winners: WinnerMap | None = None,
) -> list[str]:
    """The picture of each value with its tables, for viewers without scripts and for paper."""
    from isoviz.figures.charts.svg import escape
    from isoviz.figures.machines.machine_html import machine_html
    from isoviz.figures.plans.explanation_html import explanation_html, winner_map_html
    from isoviz.figures.plans.plan_html import plan_html, plan_title, transfer_html
    from isoviz.figures.plans.report_html import report_html
    from isoviz.figures.traces.trace_html import comparison_html, curve_html, trace_html
    from isoviz.figures.vortex.switch_picture import switch_html

    shown = [f"<header><h1>{escape(plan_title(plan))}</h1></header>"]
    shown += [report_html(report, machine)] if report is not None else []
    shown += [trace_html(trace)] if trace is not None else []
    if trace is not None and stored is not None:
        shown.append(comparison_html(trace, stored, names=("pipelined", "stored and forwarded")))
    shown += [curve_html(curve, plots=False)] if curve is not None else []
    shown.append(plan_html(plan, machine))
    shown += [explanation_html(explanation, plots=False)] if explanation is not None else []
    shown += [winner_map_html(winners, plots=False)] if winners is not None else []
    shown += [transfer_html(plan.transfer), machine_html(machine)]
    shown += [switch_html(switch)] if (switch := vortex_of(machine)) is not None else []
    return [*(f"<section>{each}</section>" for each in shown), f"<footer>isoviz {escape(__version__)}</footer>"]
