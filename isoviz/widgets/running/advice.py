"""What to do after a run, in words, and the command that does it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.machines import ChannelKind
from isoviz.widgets.chosen.machine_choice import PresetMachine
from isoviz.widgets.consequences.run_places import RANKS
from isoviz.widgets.running.shown_runs import relative, spread_of
from isoviz.widgets.state import Run, State

if TYPE_CHECKING:
    from isoviz.runtime import Report

CLOSE = 0.1
"""A prediction held where measured and predicted differ by no more than this share, or where its interval holds the run."""
OFF = 0.15
"""The share by which a hop has to differ from its prediction to be told of."""
NOISY = 0.15
"""The spread of repeated runs, as a share of the middle one, from which on more runs are needed."""
FEW = 5
"""Runs that tell a middle from a chance."""

Act = Literal["", "measure", "repeat", "run", "planner"]


class ShownAdvice(TypedDict):
    """One thing to do next: a sentence, and the button that does it: its label and what it asks for ("" where there is none).

    `value` is the number of runs for "repeat", and the planner for "planner".
    """

    text: str
    label: str
    act: Act
    value: str


def advice(state: State) -> list[ShownAdvice]:
    """What to do after the run of a state, the most important first."""
    run = state.run
    if run.phase in ("failed", "cancelled"):
        again = "Run all of it again." if run.transfers else "Run it again."
        return (
            [_advice(again, "Run again", "run")]
            if run.phase == "cancelled"
            else [_advice(_after_failure(state), "Run again", "run")]
        )
    if run.phase != "done" or run.report is None:
        return []
    noise = _of_noise(run)
    candidates = [_of_emulated(run), noise or _of_hops(state, run.report), _of_prediction(run)]
    return [each for each in candidates if each is not None]


def _advice(
    text: str, label: str = "", act: Literal["", "measure", "repeat", "run", "planner"] = "", value: str = ""
) -> ShownAdvice:
    return {"text": text, "label": label, "act": act, "value": value}


def _after_failure(state: State) -> str:
    run = state.run
    if run.ranks and state.ranks.phase in ("lost", "failed"):
        return "The next run starts new ranks."
    several = any(each.reports for each in run.transfers)
    rest = " The other transfers were not disturbed." if several else ""
    return f"Correct what the message names, then run again.{rest}"


def emulated_memories(run: Run) -> list[str]:
    """The memories of a run that were held in other memories."""
    plans = [each.plan for each in run.transfers] or ([] if run.plan is None else [run.plan])
    machine = run.machine
    names = dict.fromkeys(name for plan in plans for name in plan.every_memory)
    return [] if machine is None else [name for name in names if machine.memory(name).emulated]


def _of_emulated(run: Run) -> ShownAdvice | None:
    if not (names := emulated_memories(run)):
        return None
    what = f"{' and '.join(names)} {'was' if len(names) == 1 else 'were'} emulated in main memory"
    return _advice(f"{what}: the bytes are right, the times say nothing about the hardware.")


def _of_hops(state: State, report: Report) -> ShownAdvice | None:
    """The hop that differs most from its prediction."""
    if emulated_memories(state.run) or state.run.transfers:
        return None
    pairs = zip(report.plan.every_hop, report.expected.every_rate, report.hops, strict=True)
    ratios = [(measured.throughput / rate, number, hop) for number, (hop, rate, measured) in enumerate(pairs) if rate > 0]
    ratios = [each for each in ratios if each[0] > 0]
    if not ratios:
        return None
    basis = "after the trial" if report.trial_leads else "in the plan"
    ratio, number, hop = max(ratios, key=lambda each: abs(math.log(each[0])))
    words = f"Hop {number} ({ChannelKind(hop.kind).words}) reached {ratio:.2f} of its rate {basis}"
    if abs(math.log(ratio)) < math.log1p(OFF) or _held(report):
        return None
    if len(state.run.reports) < FEW:
        return _advice(f"{words}. One run may be chance: repeat it.", f"Repeat {FEW} times", "repeat", str(FEW))
    choice = state.settings.machine
    if isinstance(choice, PresetMachine) and choice.is_this_computer:
        return _advice(f"{words}, in {len(state.run.reports)} runs. The figures of its channel are out of date.",
                       "Measure this computer again", "measure")  # fmt: skip
    advice_text = f"{words}. The figures of its channel were not measured on this computer."
    if state.run.ranks > 1 and isinstance(choice, PresetMachine) and choice.name == RANKS:
        advice_text = f"{advice_text} isoviz.probe(ranks={state.run.ranks}) measures them; choose the machine again then."
    return _advice(advice_text)


def _of_noise(run: Run) -> ShownAdvice | None:
    if len(run.reports) < 2:
        return None
    spread = spread_of([each.seconds for each in run.reports])
    if relative(spread) < NOISY or spread["low"] <= 0:
        return None
    more, factor = str(min(100, 2 * len(run.reports))), spread["high"] / spread["low"]
    words = f"The slowest of {len(run.reports)} runs took {factor:.2g} times as long as the quickest"
    return _advice(f"{words}: other work on this computer disturbs them.", f"Repeat {more} times", "repeat", more)


def _held(report: Report) -> bool:
    prediction = report.prediction
    within = prediction is not None and prediction.tried == report.trial_leads and prediction.holds(report.seconds)
    seconds = report.expected.seconds
    return within or (seconds > 0 and abs(report.seconds - seconds) <= CLOSE * seconds)


def _of_prediction(run: Run) -> ShownAdvice | None:
    report = run.report
    if report is None or run.transfers or emulated_memories(run) or not _held(report):
        return None
    other = "simple" if report.plan.planner != "simple" else "full"
    return _advice("The prediction held. See what another plan would take.", f"Plan with {other}", "planner", other)
