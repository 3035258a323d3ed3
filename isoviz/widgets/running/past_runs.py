"""The list of runs: those of the session, and earlier ones of its transfer on this computer, which the ledger has."""

from __future__ import annotations

import csv
import io
import socket
from typing import TYPE_CHECKING

from isoviz.errors import IsovizError
from isoviz.machines import ChannelKind
from isoviz.widgets.panes.run_pane import verdict
from isoviz.widgets.running.begin_run import OF_SESSION
from isoviz.widgets.running.shown_runs import RunsMessage, ShownFact, ShownPastHop, ShownPastRun, spread_of
from isoviz.widgets.state import Run, State

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.ledger.ledger_entry import LedgerEntry

MOST_EARLIER = 100
"""Earlier runs in the list, the latest."""


def answer(number: int | None, state: State) -> RunsMessage:
    """The list of runs, or why there is none."""
    message: RunsMessage = {"kind": "runs", "number": number, "runs": [], "error": ""}
    try:
        return {**message, "runs": past_runs(state)}
    except Exception as error:  # noqa: BLE001 - a defect: told where the list was asked for
        return {**message, "error": f"{type(error).__name__}: {error}"}


def past_runs(state: State) -> list[ShownPastRun]:
    """The runs of the session, then the earlier ones of its transfer, each newest first."""
    own = [_of_session(run) for run in state.history]
    known = {key for run in state.history for key in run.keys}
    return [*own, *_earlier(state, known)]


def _of_session(run: Run) -> ShownPastRun:
    plan, report = run.plan, run.report
    seconds = spread_of([each.seconds for each in run.reports]) if run.reports else None
    outcome = {"failed": "Failed", "cancelled": "Cancelled"}.get(run.phase) or ("" if report is None else verdict(report))
    outcome += ", emulated" if plan is not None and plan.emulated else ""
    hops: list[ShownPastHop] = []
    if report is not None:
        for number, (hop, rate) in enumerate(zip(report.plan.every_hop, report.plan.every_rate, strict=True)):
            rates = spread_of([each.hops[number].throughput for each in run.reports])
            hops.append({"title": _hop_title(number, str(hop.kind)), "planned": rate, "measured": rates["median"],
                         "low": rates["low"], "high": rates["high"]})  # fmt: skip
    return {
        "name": f"{OF_SESSION}{run.number}",
        "number": run.number,
        "date": run.date,
        "transfer": run.transfer_text,
        "outcome": outcome,
        "good": run.phase == "done",
        "emulated": plan is not None and bool(plan.emulated),
        "bytes": run.bytes,
        "runs": max(1, len(run.reports)),
        "planned": None if plan is None else plan.seconds,
        "tried": None if report is None or report.tried is None else report.tried.seconds,
        "measured": None if seconds is None else seconds["median"],
        "low": None if seconds is None else seconds["low"],
        "high": None if seconds is None else seconds["high"],
        "note": run.note,
        "timeline": "kept" if run.trace is not None and report is not None else "dropped" if run.is_trace_dropped else "none",
        "facts": [] if plan is None else _facts_of(run, plan),
        "hops": hops,
    }


def _facts_of(run: Run, plan: Plan) -> list[ShownFact]:
    transfer = plan.transfer
    facts = [
        _fact("machine", plan.machine_name),
        _fact("where", where_words(run)),
        _fact("planner", plan.planner),
        _fact("index space", str(transfer.space)),
        _fact("fields", str(transfer.fields)),
        _fact("source", f"{transfer.source.memory} {transfer.source.layout.pretty}"),
        _fact("destination", f"{transfer.destination.memory} {transfer.destination.layout.pretty}"),
        _fact("channels", _channels([str(hop.kind) for hop in plan.every_hop])),
        _fact("chunk", "", plan.chunk_bytes),
        _fact("chunks", str(plan.chunk_count)),
        _fact("transfers", ", ".join(each.name for each in run.transfers) or "one"),
    ]
    if transfer.is_partial:
        facts.insert(3, _fact("part", f"from {transfer.source_origin} to {transfer.destination_origin}"))
    return facts


def where_words(run: Run) -> str:
    """Where a run took place, in words."""
    if not run.ranks:
        return "this process"
    return f"{run.ranks} rank{'s' * (run.ranks != 1)}{f' of {run.library}' if run.library else ''}"


def _fact(name: str, text: str, nbytes: int | None = None) -> ShownFact:
    return {"name": name, "text": text, "bytes": nbytes}


def _channels(kinds: list[str]) -> str:
    return " → ".join(_kind_words(kind) for kind in kinds)


def _kind_words(kind: str) -> str:
    try:
        return ChannelKind(kind).words
    except ValueError:
        return kind


def _hop_title(number: int, kind: str) -> str:
    return f"{number} {_kind_words(kind)}"


def _earlier(state: State, known: set[str]) -> list[ShownPastRun]:
    """Runs of the ledger on this computer that moved the same from the same place to the same place."""
    from isoviz.runtime.ledger.ledger import ledger, read_notes

    book, transfer = ledger(), state.derived.transfer
    if book is None or transfer is None:
        return []
    same = (
        str(transfer.space), str(transfer.fields), transfer.source.memory, str(transfer.source.layout),
        transfer.destination.memory, str(transfer.destination.layout),
    )  # fmt: skip
    here = socket.gethostname()
    try:
        found = [each for each in book.recent() if each.host == here and _ends(each) == same and each.key not in known]
    except IsovizError:
        return []
    notes = read_notes(book.notes)
    return [_of_entry(each, notes.get(each.key, "")) for each in found[: -MOST_EARLIER - 1 : -1]]


def _ends(entry: LedgerEntry) -> tuple[str, ...]:
    return entry.space, entry.fields, entry.source, entry.source_layout, entry.destination, entry.destination_layout


def _of_entry(entry: LedgerEntry, note: str) -> ShownPastRun:
    from isoviz.layouts import Layout

    outcome = "Verified bit for bit" if entry.verified else "Not verified" if entry.verified is None else "Wrong bytes"
    outcome += ", emulated" if entry.emulated else ""
    facts = [
        _fact("machine", entry.machine),
        _fact("planner", entry.planner),
        _fact("index space", entry.space),
        _fact("fields", entry.fields),
        _fact("source", f"{entry.source} {Layout(entry.source_layout).pretty}"),
        _fact("destination", f"{entry.destination} {Layout(entry.destination_layout).pretty}"),
        _fact("channels", _channels(list(entry.kinds))),
        _fact("chunk", "", entry.chunk_bytes),
        _fact("chunks", str(entry.chunks)),
        _fact("transfers", "one" if entry.origin == "run" else entry.origin),
    ]
    return {
        "name": entry.key,
        "number": None,
        "date": entry.date,
        "transfer": f"{entry.source} {entry.source_layout} → {entry.destination} {entry.destination_layout}",
        "outcome": outcome,
        "good": entry.verified is not False,
        "emulated": entry.emulated,
        "bytes": entry.nbytes,
        "runs": 1,
        "planned": entry.by_model,
        "tried": entry.predicted if entry.tried else None,
        "measured": entry.measured,
        "low": entry.measured,
        "high": entry.measured,
        "note": note,
        "timeline": "none",
        "facts": facts,
        "hops": [
            {"title": _hop_title(number, hop.kind), "planned": hop.predicted, "measured": hop.measured,
             "low": hop.measured, "high": hop.measured}
            for number, hop in enumerate(entry.hops)
        ],
    }  # fmt: skip


def runs_json(state: State) -> str:
    """The list of runs as JSON: seconds, bytes, bytes per second."""
    from isoviz.schema import format_json

    return format_json({"isoviz": "runs", "version": 1, "runs": past_runs(state)}) + "\n"


def runs_csv(state: State) -> str:
    """The list of runs as a table with one line for each run: seconds, bytes, bytes per second."""
    runs = past_runs(state)
    hops = max((len(run["hops"]) for run in runs), default=0)
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    columns = ["run", "date", "transfer", "outcome", "bytes", "runs", "planned_seconds", "trial_seconds",
               "measured_seconds", "lowest_seconds", "highest_seconds", "note"]  # fmt: skip
    table.writerow([*columns, *(f"hop{k}_{what}" for k in range(hops) for what in ("title", "planned", "measured"))])
    for run in runs:
        row = [run["number"] or "earlier", *(run[name] for name in ("date", "transfer", "outcome", "bytes", "runs", "planned")),
               *(run[name] for name in ("tried", "measured", "low", "high", "note"))]  # fmt: skip
        table.writerow([*row, *(hop[what] for hop in run["hops"] for what in ("title", "planned", "measured"))])
    return file.getvalue()
