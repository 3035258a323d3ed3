"""Runs: the present run, and the results of the last successful run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.machines import ChannelKind
from isoviz.widgets.consequences.derive import EVERYTHING
from isoviz.widgets.consequences.run_places import PlaceName
from isoviz.widgets.consequences.where_it_runs import reason_not_to_run
from isoviz.widgets.contract import Phase, RanksPhase, Stage
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.running.advice import ShownAdvice, advice, emulated_memories
from isoviz.widgets.running.shown_runs import ShownSpread, spread_of
from isoviz.widgets.state import MovedTransfer, RanksNow, Run, State, sentence, whole_sentence

if TYPE_CHECKING:
    from isoviz.runtime import Report
    from isoviz.widgets.consequences.run_places import RunPlace


class ShownRun(TypedDict):
    """The run in hand or the last one. The stage has dealt with `bytesDone` of `bytes`; `over` of the `wanted` runs have ended.
    `ranks` is the number of MPI ranks that carry it out, 0 for this process.
    `together` is the number of transfers that the next run runs. `canRun` says whether *Run* begins one, `reason` why it does
    not, `offerLocal` whether the same transfer on this computer is offered, `offerEmulated` which memories main memory could
    stand in for, to run the plan here. `isOfPlan` says whether it was a run of the plan
    that is shown.
    """

    number: int
    phase: Phase
    stage: Stage
    bytesDone: int
    bytes: int
    wanted: int
    over: int
    together: int
    ranks: int
    error: str
    transfer: str
    canRun: bool
    reason: str
    offerLocal: bool
    offerEmulated: list[str]
    isOfPlan: bool


class ShownMeasure(TypedDict):
    """Throughput in bytes per second of a hop or overall: planned, after the trial (null: there was none) and measured.
    `spread` is of repeated runs, else null.
    """

    name: str
    title: str
    planned: float
    tried: float | None
    measured: float
    spread: ShownSpread | None


class ShownReport(TypedDict):
    """A run that ended well, in seconds. `triedSeconds` is the time after the trial, null where there was none. `trialLeads`
    says whether that is the prediction, else the plan is; `basis` says why, "" where there was no trial. `bufferSeconds` is
    the time before the run in which the system gave memory for its buffers; null where it is not worth a word. `spread` has
    the seconds of repeated runs, else null: then all other figures are those of the run in the middle.
    """

    number: int
    transfer: str
    verified: bool | None
    verdict: str
    seconds: float
    plannedSeconds: float
    triedSeconds: float | None
    trialLeads: bool
    basis: str
    bufferSeconds: float | None
    spread: ShownSpread | None
    rows: list[ShownMeasure]
    notes: list[str]


class ShownTransferRun(TypedDict):
    """One of several transfers that ran together. `alone` are the seconds of its plan, `simulated` those beside the others (null
    where nobody knows), from its begin to its end; `measured` those that it took (null where it failed).
    """

    key: int
    name: str
    edited: bool
    bytes: int
    priority: int
    begin: float
    alone: float
    simulated: float | None
    measured: float | None
    spread: ShownSpread | None
    verified: bool | None
    error: str


class ShownPlace(TypedDict):
    """A place for runs. `reason` says why the plan does not run there, "" where it does; `about` is what one should know of a run
    there. `ranks` is the number of MPI ranks, 0 for this process.
    """

    name: PlaceName
    ranks: int
    reason: str
    about: str


class ShownRanks(TypedDict):
    """The MPI ranks of the session: how many there are or were, their MPI and the numbers of their processes; `problem` says why
    they are lost, or did not start.
    """

    phase: RanksPhase
    count: int
    library: str
    pids: list[int]
    problem: str


class RunPart(TypedDict):
    """The run in hand, what the last run that ended well has shown, its transfers where there were several, and what to do next.

    `places` are those where the plan could run, `place` is the one where the next run runs, "" where that is none.
    `emulated` names memories of the run that were held in other memories. `count` is the number of runs of this session;
    `changes` grows whenever the list of runs changes.
    """

    now: ShownRun
    place: Literal["", "process", "ranks"]
    places: list[ShownPlace]
    ranks: ShownRanks
    report: ShownReport | None
    parts: list[ShownTransferRun]
    advice: list[ShownAdvice]
    emulated: list[str]
    count: int
    changes: int


@pane("run", "the runs", {"run": EVERYTHING})
def run_part(state: State) -> RunPart:
    """What the run pane shows."""
    run, where = state.run, state.derived.where
    return {
        "now": _now(state),
        "place": "" if where is None or where.place is None else where.place.name,
        "places": [] if where is None else [_place(each) for each in where.places],
        "ranks": _ranks(state.ranks),
        "report": None if run.report is None else _report(run, run.report),
        "parts": [_part(each) for each in run.transfers] if not run.active else [],
        "advice": advice(state),
        "emulated": emulated_memories(run),
        "count": len(state.history),
        "changes": state.notes + (state.history[0].number if state.history else 0),
    }


def _place(place: RunPlace) -> ShownPlace:
    return {"name": place.name, "ranks": place.ranks, "reason": place.reason, "about": place.about}


def _ranks(ranks: RanksNow) -> ShownRanks:
    return {"phase": ranks.phase, "count": ranks.count, "library": ranks.library, "pids": list(ranks.pids),
            "problem": ranks.problem}  # fmt: skip


def _now(state: State) -> ShownRun:
    run = state.run
    reason = reason_not_to_run(state)
    where, good = state.derived.where, "plan" not in state.derived.stale
    offers = state.planned and good and where is not None and where.place is None
    return {
        "number": run.number,
        "phase": run.phase,
        "stage": run.stage,
        "bytesDone": run.bytes_done,
        "bytes": run.bytes,
        "wanted": run.wanted,
        "over": run.over,
        "together": 1 + len(state.settings.beside),
        "ranks": run.ranks,
        "error": sentence(run.error),
        "transfer": run.transfer_text,
        "canRun": reason == "" and not run.active and state.planned,
        "reason": reason if state.planned else "",
        "offerLocal": offers,
        "offerEmulated": list(where.emulable) if where is not None and offers else [],
        "isOfPlan": run.plan is not None and good and run.plan == state.derived.plan,
    }


def verdict(report: Report) -> str:
    """Whether the bytes are right, in words."""
    if report.verified is None:
        return "Not verified"
    return "Verified bit for bit" if report.verified else "Wrong bytes"


def _report(run: Run, report: Report) -> ShownReport:
    assert run.plan is not None
    plan, tried = run.plan, report.tried
    several = len(run.reports) > 1
    rows: list[ShownMeasure] = [
        {
            "name": "overall",
            "title": "Overall",
            "planned": report.bytes / plan.seconds if plan.seconds else 0.0,
            "tried": None if tried is None else report.bytes / tried.seconds if tried.seconds else 0.0,
            "measured": report.throughput,
            "spread": spread_of([each.throughput for each in run.reports]) if several else None,
        }
    ]
    hops = zip(plan.every_hop, plan.every_rate, report.hops, strict=True)
    rows += [
        {
            "name": hop.channel,
            "title": f"{number} {ChannelKind(hop.kind).words}",
            "planned": rate,
            "tried": None if tried is None else tried.every_rate[number],
            "measured": measured.throughput,
            "spread": spread_of([each.hops[number].throughput for each in run.reports]) if several else None,
        }
        for number, (hop, rate, measured) in enumerate(hops)
    ]
    return {
        "number": run.number,
        "transfer": run.transfer_text,
        "verified": report.verified,
        "verdict": verdict(report),
        "seconds": report.seconds,
        "plannedSeconds": plan.seconds,
        "triedSeconds": None if tried is None else tried.seconds,
        "trialLeads": report.trial_leads,
        "basis": "" if tried is None or report.record is None else report.record.words,
        "bufferSeconds": report.buffer_seconds if report.waited_for_memory else None,
        "spread": spread_of([each.seconds for each in run.reports]) if several else None,
        "rows": rows,
        "notes": [whole_sentence(note) for note in report.notes],
    }


def _part(each: MovedTransfer) -> ShownTransferRun:
    seconds = spread_of(each.seconds) if each.seconds else None
    return {
        "key": each.key,
        "name": each.name,
        "edited": each.is_edited,
        "bytes": each.plan.bytes,
        "priority": each.plan.transfer.priority,
        "begin": each.begin,
        "alone": each.plan.seconds,
        "simulated": each.simulated,
        "measured": None if seconds is None or each.error else seconds["median"],
        "spread": seconds if seconds is not None and len(each.seconds) > 1 else None,
        "verified": each.reports[-1].verified if each.reports and not each.error else None,
        "error": each.error,
    }
