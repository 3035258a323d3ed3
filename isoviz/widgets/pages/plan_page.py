"""The page of a plan: what `isoviz show`, `simulate` and `run` write, and what the explorer exports."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args

from isoviz._version import __version__
from isoviz.errors import IsovizError
from isoviz.figures.charts.html_parts import styles
from isoviz.figures.charts.svg import escape
from isoviz.figures.page import policy
from isoviz.schema import Named, named
from isoviz.widgets.chosen.machine_choice import DescribedMachine
from isoviz.widgets.commands.answers import exported_file, trace_answer
from isoviz.widgets.contract import Exported, Side
from isoviz.widgets.pages.state_of_plan import state_of_plan, with_explanation, with_map, with_traces, with_views
from isoviz.widgets.panes.layout_pane import ShownField
from isoviz.widgets.panes.network_pane import vortex_of
from isoviz.widgets.panes.pane_table import VIEWS
from isoviz.widgets.panes.requests_pane import MOST_PIECES, ShownPieces, shown_pieces
from isoviz.widgets.panes.trace_pane import trace_part
from isoviz.widgets.script import LOADER, SCRIPTS, STYLE, packed
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

# ---- what a page holds beside the state; `widgets/src/model/types.ts` is generated from it as well


PageKind = Literal["show", "simulate", "run", "explorer"]
"""What a page is about: a plan, its simulation, its run, or the state of an explorer."""


class PageLine(TypedDict):
    """A time of the whole transfer in seconds, with its rate in bytes per second. `name` says how it is known."""

    name: str
    seconds: float
    rate: float


class PageEnd(TypedDict):
    """One end of the transfer with its own spaces. `moved` says which part of it moves; it is empty where all of it does.

    `listed` are the bytes that move where a list names the entries: owners are thousandths of the way, so that the order can be
    seen. It is null without a list.
    """

    dims: Named[int]
    fields: list[ShownField]
    layout: str
    moved: str
    listed: ShownPieces | None


class PageEnds(TypedDict):
    """Both ends."""

    source: PageEnd
    destination: PageEnd


class PagePart(TypedDict):
    """The rest of a page: sentences and times for the summary, the ends, and the views behind it.

    `views` names the views that are folded below the summary, as the tabs of the dock are called; `opened` are those that are
    open at first.
    """

    kind: PageKind
    version: str
    said: list[str]
    lines: list[PageLine]
    ends: PageEnds
    views: list[str]
    opened: list[str]


# ---- the page


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
    from isoviz.runtime.trace.critical_path import critical_path_text

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
    from isoviz.planner import ListedTransfer
    from isoviz.planner.explanation.hop_descriptors import moved_pieces
    from isoviz.planner.explanation.plan_document import moved_part

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
    from isoviz.figures.document_html import told_html
    from isoviz.figures.plans.transfer_html import transfer_html
    from isoviz.figures.traces.trace_html import comparison_html
    from isoviz.figures.vortex.switch_picture import switch_html
    from isoviz.planner.explanation.plan_document import plan_title

    shown = [f"<header><h1>{escape(plan_title(plan))}</h1></header>"]
    shown += [told_html(report, machine)] if report is not None else []
    shown += [told_html(trace)] if trace is not None else []
    if trace is not None and stored is not None:
        shown.append(comparison_html(trace, stored, names=("pipelined", "stored and forwarded")))
    shown += [told_html(curve, plots=False)] if curve is not None else []
    shown.append(told_html(plan, machine))
    shown += [told_html(explanation, plots=False)] if explanation is not None else []
    shown += [told_html(winners, plots=False)] if winners is not None else []
    shown += [transfer_html(plan.transfer), told_html(machine)]
    shown += [switch_html(switch)] if (switch := vortex_of(machine)) is not None else []
    return [*(f"<section>{each}</section>" for each in shown), f"<footer>isoviz {escape(__version__)}</footer>"]


# ---- the frame of every page: one HTML file that holds the script of the explorer, what it shows, and the same without scripts
#
# Nothing is loaded from elsewhere, and a policy in the page forbids it. What is large is compressed (gzip, in base64); the
# browser unpacks it. Where no scripts run, and on paper, the static part stands in the place of the drawn one.

_STYLE = (
    "html{color-scheme:light dark}body{margin:0;background:var(--iv-paper)}"
    "html.isoviz-live #isoviz-static{display:none}"
    "#isoviz-static{max-width:1080px!important;margin:0 auto;padding:28px 24px 60px!important;font-size:16px!important}"
    "#isoviz-static h1{font-size:1.7em;line-height:1.25;margin:0 0 .3em}#isoviz-static h2{font-size:1.3em;margin:1.6em 0 .4em}"
    "#isoviz-static .facts dd{font-size:20px}#isoviz-static .facts dt{font-size:13px}#isoviz-static table{font-size:14.5px}"
    "#isoviz-static footer{color:var(--iv-muted);font-size:13px;margin-top:2.5em}"
    "@media print{#isoviz-page{display:none!important}html.isoviz-live #isoviz-static{display:block}"
    "#isoviz-static section{break-inside:avoid}}"
)
# The loader of the script looks for this entry of the page, and has drawn what it says.
_ENTRY = """(async () => {
  const root = document.documentElement;
  root.classList.add("isoviz-live");
  const bytes = async (name) => {
    const packed = atob(document.getElementById("isoviz-" + name).textContent);
    const stream = new Blob([Uint8Array.from(packed, (each) => each.charCodeAt(0))]).stream();
    return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };
  const text = async (name) => new TextDecoder().decode(await bytes(name));
  try {
    const content = JSON.parse(await text("content"));
    const failed = () => root.classList.remove("isoviz-live");
    globalThis[Symbol.for("isoviz.page.1")] = { content, bytes, failed, element: document.getElementById("isoviz-page") };
    const script = document.createElement("script");
    script.type = "module";
    script.textContent = await text("loader");
    document.head.append(script);
  } catch (error) {
    root.classList.remove("isoviz-live");
    console.error(error);
  }
})();"""


class Embedded(NamedTuple):
    """An answer that the page gives without a kernel: the message, and the binary data that go with it."""

    message: Mapping[str, Any]
    buffers: Sequence[bytes | memoryview] = ()


def html_page(
    title: str,
    content: Mapping[str, Any],
    static: Sequence[str],
    answers: Sequence[tuple[Mapping[str, Any], Embedded]] = (),
) -> str:
    """A complete page.

    `content` is what the script draws, plain JSON. `static` are sections of HTML made by this package, for viewers without
    scripts and for paper. `answers` maps commands (as the browser sends them, without `client` and `number`) to their answers.
    """
    parts = [_zipped("content", json.dumps(content, allow_nan=False).encode())]
    told, count = {}, 0
    for command, answer in answers:
        names = []
        for buffer in answer.buffers:
            names.append(f"data-{count}")
            parts.append(_zipped(names[-1], bytes(buffer)))
            count += 1
        told[command_key(command)] = {"message": dict(answer.message), "buffers": names}
    parts.append(_zipped("answers", json.dumps(told, allow_nan=False).encode()))
    parts += [_zipped("loader", LOADER.encode()), *(_embedded(name, packed(name)) for name in SCRIPTS)]
    root = styles("#isoviz-static").replace("#isoviz-static{--iv", ":root{--iv")
    style = STYLE.replace("</", "<\\/")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"{policy(' blob:')}"  # the parts of the script import each other by addresses that the page makes itself
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{root}{_STYLE}</style><style>{style}</style></head>'
        '<body><main id="isoviz-page"></main>'
        f'<main id="isoviz-static" class="isoviz-static" data-isoviz="page">{"".join(static)}</main>'
        f"{''.join(parts)}<script>{_ENTRY}</script></body></html>"
    )


def command_key(command: Mapping[str, Any]) -> str:
    """What a command is looked up by: its members in the order of their names (widgets/src/offline does the same)."""
    return json.dumps(sorted(command.items()), separators=(",", ":"), ensure_ascii=False)


def _zipped(name: str, content: bytes) -> str:
    return _embedded(name, gzip.compress(content, 9, mtime=0))


def _embedded(name: str, content: bytes) -> str:
    """An element with compressed data; base64 has no character that HTML reads."""
    return f'<script type="application/octet-stream" id="isoviz-{name}">{base64.b64encode(content).decode()}</script>'
