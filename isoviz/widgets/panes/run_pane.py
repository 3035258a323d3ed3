"""Runs: the one in hand, the report of the last one that ended well, and the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from isoviz.machines import ChannelKind
from isoviz.widgets.consequences.where_it_runs import reason_not_to_run
from isoviz.widgets.contract import Phase, Stage
from isoviz.widgets.state import Run, State, sentence

if TYPE_CHECKING:
    from isoviz.runtime import Report


class ShownRun(TypedDict):
    """The run in hand or the last one. `bytesDone` of `bytes` have been moved. `canRun` says whether *Run* begins one, `reason`
    why it does not, `offerLocal` whether the same transfer on this computer is offered. `isOfPlan` says whether it was a run of
    the plan that is shown.
    """

    number: int
    phase: Phase
    stage: Stage
    bytesDone: int
    bytes: int
    error: str
    transfer: str
    canRun: bool
    reason: str
    offerLocal: bool
    isOfPlan: bool


class ShownMeasure(TypedDict):
    """Predicted and measured throughput in bytes per second, of a hop or overall."""

    name: str
    title: str
    predicted: float
    measured: float


class ShownReport(TypedDict):
    """A run that ended well, in seconds. `plannedSeconds` is what the plan said where a trial predicted another time, else
    null.
    """

    number: int
    transfer: str
    verified: bool | None
    verdict: str
    seconds: float
    predictedSeconds: float
    plannedSeconds: float | None
    rows: list[ShownMeasure]
    notes: list[str]


class ShownPastRun(TypedDict):
    """A run of the history; null is what nobody knows: bytes, and seconds predicted and measured."""

    number: int
    transfer: str
    outcome: str
    verified: bool | None
    bytes: int | None
    predicted: float | None
    measured: float | None


class RunPart(TypedDict):
    """The run in hand, the last report, and past runs, the newest first."""

    now: ShownRun
    report: ShownReport | None
    history: list[ShownPastRun]


def run_part(state: State) -> RunPart:
    """What the run pane shows."""
    run = state.run
    return {
        "now": _now(state),
        "report": None if run.report is None else _report(run, run.report),
        "history": [_past(each) for each in state.history],
    }


def _now(state: State) -> ShownRun:
    run = state.run
    reason = reason_not_to_run(state)
    return {
        "number": run.number,
        "phase": run.phase,
        "stage": run.stage,
        "bytesDone": run.bytes_done,
        "bytes": 0 if run.plan is None else run.plan.bytes,
        "error": run.error,
        "transfer": run.transfer_text,
        "canRun": reason == "" and not run.active and state.settled,
        "reason": reason if state.settled else "",
        "offerLocal": state.settled and state.derived.offer_local,
        "isOfPlan": run.plan is not None and "plan" not in state.derived.stale and run.plan == state.derived.plan,
    }


def _verdict(report: Report) -> str:
    if report.verified is None:
        return "Not verified"
    return "Verified bit for bit" if report.verified else "Wrong bytes"


def _report(run: Run, report: Report) -> ShownReport:
    assert run.plan is not None
    predicted = report.expected
    rows: list[ShownMeasure] = [
        {
            "name": "overall",
            "title": "Overall",
            "predicted": report.bytes / predicted.seconds if predicted.seconds else 0.0,
            "measured": report.throughput,
        }
    ]
    hops = zip(run.plan.every_hop, predicted.rates, report.hops, strict=True)
    rows += [
        {
            "name": hop.channel,
            "title": f"{number} {ChannelKind(hop.kind).words}",
            "predicted": rate,
            "measured": measured.throughput,
        }
        for number, (hop, rate, measured) in enumerate(hops)
    ]
    return {
        "number": run.number,
        "transfer": run.transfer_text,
        "verified": report.verified,
        "verdict": _verdict(report),
        "seconds": report.seconds,
        "predictedSeconds": predicted.seconds,
        "plannedSeconds": None if report.tried is None else run.plan.seconds,
        "rows": rows,
        "notes": [sentence(note) for note in report.notes],
    }


def _past(run: Run) -> ShownPastRun:
    report, plan = run.report, run.plan
    outcome = {"failed": "Failed", "cancelled": "Cancelled"}.get(run.phase, "")
    predicted = plan if report is None else report.expected
    return {
        "number": run.number,
        "transfer": run.transfer_text,
        "outcome": outcome if report is None else _verdict(report),
        "verified": None if report is None else report.verified,
        "bytes": None if plan is None else plan.bytes,
        "predicted": None if predicted is None else predicted.seconds,
        "measured": None if report is None else report.seconds,
    }
