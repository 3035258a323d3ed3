"""What `isoviz bench predictions` found, as tables, as JSON and as a page."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoviz.bench.predictions.regret import GOAL, plan_words, share_within
from isoviz.bench.table import Row, Table
from isoviz.document import Points, Prose, Section
from isoviz.planner.time.spread import spread_prediction
from isoviz.runtime.ledger.prediction_document import prediction_document
from isoviz.runtime.ledger.prediction_errors import (
    MEDIAN_GOAL,
    TAIL_GOAL,
    Outcome,
    factor_text,
    percent_text,
    quantile,
    summarized,
)
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.bench.predictions.regret import Regret
    from isoviz.machines import Machine
    from isoviz.measure.trial import Trial
    from isoviz.planner import Plan, Transfer
    from isoviz.planner.time.spread import Prediction


# What a benchmark of predictions measures: for every transfer and round what was predicted, and what its runs took.


@dataclass(frozen=True)
class Sample:
    """One transfer in one round: its plan, the trial just before (None: nothing could be tried) and the seconds of its runs."""

    transfer: Transfer
    plan: Plan
    machine: Machine
    times: tuple[float, ...]
    trial: Trial | None = None

    @property
    def seconds(self) -> float:
        """The median of its runs."""
        return statistics.median(self.times)

    @property
    def by_model(self) -> Prediction | None:
        """The prediction of the model alone; None where its channels have no spread, and so no interval."""
        return spread_prediction(self.plan, self.machine)

    @property
    def by_trial(self) -> Prediction | None:
        """The prediction with the trial; None without one."""
        return None if self.trial is None else self.trial.prediction

    @property
    def cost(self) -> float | None:
        """The seconds of the trial as a multiple of those of the transfer; None without one."""
        return None if self.trial is None else self.trial.spent / self.seconds

    def outcome(self, said: Prediction | None, seconds: float | None = None) -> Outcome:
        """A prediction beside some seconds (None: the median of its runs). Without one the plan's own seconds count."""
        path = " → ".join(hop.kind for hop in self.plan.hops)
        predicted, interval = (self.plan.seconds, None) if said is None else (said.seconds, (said.low, said.high))
        measured = self.seconds if seconds is None else seconds
        return Outcome(path, transfer_words(self.transfer), self.plan.bytes, predicted, measured, interval)


@dataclass
class Measurements:
    """What has been measured so far."""

    samples: list[Sample] = field(default_factory=list)
    regrets: list[Regret] = field(default_factory=list)
    too_long: int = 0
    """Transfers that were drawn and left out, because they would have taken longer than the time left."""
    given_up: list[str] = field(default_factory=list)
    """Transfers whose runs were given up, because they took much longer than predicted."""
    seconds: float = 0.0

    @property
    def transfers(self) -> int:
        """The number of transfers that were measured."""
        return len({id(each.transfer) for each in self.samples})

    @property
    def tried(self) -> list[Sample]:
        """The samples with a trial."""
        return [each for each in self.samples if each.trial is not None]

    @property
    def model(self) -> list[Outcome]:
        """The model alone beside the medians of the runs."""
        return [each.outcome(each.by_model) for each in self.samples]

    @property
    def trials(self) -> list[Outcome]:
        """Trials beside the medians of the runs after them."""
        return [each.outcome(each.by_trial) for each in self.tried]


def held_share(samples: Iterable[Sample], *, with_trial: bool) -> tuple[float, int, int] | None:
    """How many runs lay in their intervals: the mean share over all samples, the runs inside, and all runs.

    None where there is no interval. Short transfers run up to a hundred times after one trial: in the mean every sample counts
    once.
    """
    shares, inside, runs = [], 0, 0
    for each in samples:
        said = each.by_trial if with_trial else each.by_model
        if said is not None:
            held = sum(map(said.holds, each.times))
            shares.append(held / len(each.times))
            inside, runs = inside + held, runs + len(each.times)
    return (statistics.fmean(shares), inside, runs) if shares else None


def interval_width(samples: Iterable[Sample], *, with_trial: bool) -> float | None:
    """The median of upper ÷ lower end of the intervals; None where there is no interval."""
    said = (each.by_trial if with_trial else each.by_model for each in samples)
    widths = [found.high / found.low for found in said if found is not None]
    return statistics.median(widths) if widths else None


def transfer_words(transfer: Transfer) -> str:
    """A transfer in short: `12 MiB node0.sys <F, x> → node0.dsk <x, F> (x=1024; fields of 4, 8 B)`."""
    sizes = f"{transfer.space}; fields of {', '.join(map(str, transfer.fields.sizes))} B"
    return f"{format_bytes(transfer.nbytes)} {transfer.source} → {transfer.destination} ({sizes})"


TRIAL = "Predicted by a trial just before. Errors and intervals stand beside the median of the runs after it."
MODEL = "Predicted by the throughput functions of the channels alone. Errors and intervals stand beside the same medians."
COVERAGE_GOAL = (0.85, 0.95)
"""The share of runs that intervals of nine of ten should hold, at least and at most."""
NOTED = 3
"""The predictions furthest off that are named."""
LONGEST_LABEL = 72
"""Characters of a transfer's name in a table for people."""
TRANSFERS_WITHIN = 0.9
"""The share of transfers whose regret is to be within the goal."""


@dataclass(frozen=True, repr=False)
class PredictionTable(Table):
    """Errors of the model and of trials by path; besides, the transfers themselves and regret."""

    model: Sequence[Outcome] = ()
    trials: Sequence[Outcome] = ()
    regret: Table | None = None
    transfers: Sequence[Row] = ()
    summary: Row | None = None

    def to_json(self) -> dict[str, Any]:
        found = super().to_json()
        found["summary"] = dict(self.summary or {})
        found["regret"] = [] if self.regret is None else [dict(row) for row in self.regret.rows]
        found["transfers"] = [dict(row) for row in self.transfers]
        return found

    def __str__(self) -> str:
        first = super().__str__()
        if self.regret is None:
            return first
        lines = str(self.regret).splitlines()
        return "\n".join([first, "", lines[0], *lines[2:]])  # the machine has been named

    def to_page(self) -> str:
        """A page: predicted against measured as plots and as tables."""
        from isoviz.figures.page import document_page

        regret = self.regret
        more = [] if regret is None else [Section("Regret", [Prose(regret.title), regret.table(), Points(regret.notes)])]
        more.append(Section("Measured on", [Prose(self.known()), Points(self.notes)]))
        ways = [("By a trial", TRIAL, self.trials), ("By the model alone", MODEL, self.model)]
        return document_page(prediction_document(self.title[0].upper() + self.title[1:], ways, more))


def tabled(found: Measurements, machine: Machine, seed: int, sizes: tuple[int, int], repeat: int) -> PredictionTable:
    """The tables of what was found."""
    groups: dict[str, list[Sample]] = {}
    for each in found.samples:
        groups.setdefault(each.outcome(None).path, []).append(each)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    rows = [_row(path, group) for path, group in [*ordered, ("all", found.samples)] if group]
    return PredictionTable(
        "predictions",
        f"predicted against measured: {found.transfers} random transfers of {format_bytes(sizes[0])} to"
        f" {format_bytes(sizes[1])} on {machine.name}, medians of {repeat} runs or more",
        {
            "path": ("path", str),
            "transfers": ("transfers", str),
            "samples": ("rounds", str),
            "model_median_error": ("model alone: median error", _share_text),
            "model_p95_error": ("95 % below", _share_text),
            "model_coverage": ("runs in interval", _share_text),
            "trial_median_error": ("with a trial: median error", _share_text),
            "trial_p95_error": ("95 % below", _share_text),
            "trial_coverage": ("runs in interval", _share_text),
            "trial_cost": ("trial ÷ transfer", _factor_text),
        },
        rows,
        _notes(found, seed, machine.provenance),
        model=found.model,
        trials=found.trials,
        regret=_regrets(found.regrets),
        transfers=[_transfer(each) for each in found.samples],
        summary=_summary(found, rows[-1] if rows else None),
    )


def _row(path: str, samples: Sequence[Sample]) -> dict[str, Any]:
    """Errors and coverage of both ways for some samples; None where there is nothing to say."""
    tried = [each for each in samples if each.trial is not None]
    costs = sorted(each.cost for each in tried if each.cost is not None)
    return {
        "path": path,
        "transfers": len({id(each.transfer) for each in samples}),
        "samples": len(samples),
        **_errors("model", [each.outcome(each.by_model) for each in samples], samples),
        "tried": len(tried),
        **_errors("trial", [each.outcome(each.by_trial) for each in tried], tried),
        "trial_cost": quantile(costs, 0.5) if costs else None,
    }


def _errors(way: str, outcomes: Sequence[Outcome], samples: Sequence[Sample]) -> dict[str, Any]:
    """Errors beside the medians of runs; coverage of the single runs."""
    every = summarized(outcomes) if outcomes else None
    held = held_share(samples, with_trial=way == "trial")
    return {
        f"{way}_median_error": None if every is None else every.median,
        f"{way}_p95_error": None if every is None else every.tail,
        f"{way}_median_ratio": None if every is None else every.ratio,
        f"{way}_width": interval_width(samples, with_trial=way == "trial"),
        f"{way}_coverage": None if held is None else held[0],
        f"{way}_held": None if held is None else held[1],
        f"{way}_runs": None if held is None else held[2],
    }


def _share_text(share: float | None) -> str:
    return "-" if share is None else percent_text(share)


def _factor_text(factor: float | None) -> str:
    return "-" if factor is None else f"{factor_text(factor)} ×"


def _summary(found: Measurements, every: Row | None) -> dict[str, Any]:
    regrets, errors = found.regrets, dict(every or {})
    errors.pop("path", None)
    spent = sorted(each.trial.spent for each in found.samples if each.trial is not None)
    meets = {
        "errors": bool(found.tried) and summarized(found.trials).meets_goals,
        "coverage": bool(found.tried) and COVERAGE_GOAL[0] <= errors["trial_coverage"] <= COVERAGE_GOAL[1],
        "regret": bool(regrets) and share_within(regrets) >= TRANSFERS_WITHIN,
    }
    return {
        "goals": {
            "median_error": MEDIAN_GOAL,
            "p95_error": TAIL_GOAL,
            "coverage": list(COVERAGE_GOAL),
            "regret": GOAL,
            "transfers_within": TRANSFERS_WITHIN,
        },
        **errors,
        "trial_seconds": {"median": quantile(spent, 0.5), "most": spent[-1]} if spent else None,
        "regrets": len(regrets),
        "share_within_goal": share_within(regrets) if regrets else None,
        "share_within_goal_and_noise": share_within(regrets, with_noise=True) if regrets else None,
        "share_within_goal_of_five_tried": share_within(regrets, picked=True) if regrets else None,
        "meets_goals": meets,
        "left_out": found.too_long,
        "given_up": len(found.given_up),
        "seconds": found.seconds,
    }


def _notes(found: Measurements, seed: int, rates: str) -> list[str]:
    goals = f"median {percent_text(MEDIAN_GOAL)}, 95 % below {percent_text(TAIL_GOAL)}"
    notes = [f"rates: {rates}", f"error: |predicted − measured| ÷ measured, beside the median of the runs; aimed at: {goals}"]
    for way, with_trial in (("the model alone", False), ("trial and ledger", True)):
        if held := held_share(found.samples, with_trial=with_trial):
            share, inside, runs = held
            width = interval_width(found.samples, with_trial=with_trial) or 1.0
            goal = f"; aimed at: {percent_text(COVERAGE_GOAL[0])} to {percent_text(COVERAGE_GOAL[1])}" if with_trial else ""
            notes.append(
                f"intervals by {way} held {percent_text(share)} of the runs in the mean over all rounds"
                f" ({inside:,} of {runs:,} single runs){goal}; upper ÷ lower end: {factor_text(width)} in the median"
            )
    if done := [each.trial for each in found.samples if each.trial is not None]:
        spent = sorted(trial.spent for trial in done)
        notes.append(
            f"trials: before {len(done)} of {len(found.samples)} rounds;"
            f" {format_seconds(quantile(spent, 0.5))} (median), {format_seconds(spent[-1])} at most"
        )
    worst = {each.label: each for each in sorted(found.trials, key=lambda outcome: outcome.factor)}  # its worst round
    for each in sorted(worst.values(), key=lambda outcome: outcome.factor, reverse=True)[:NOTED]:
        times = f"predicted {format_seconds(each.predicted)}, measured {format_seconds(each.measured)}"
        notes.append(f"furthest off with a trial: {each.label}: {times}")
    if found.too_long:
        notes.append(f"{found.too_long} transfer{'s'[: found.too_long > 1]} left out, which would have taken too long")
    notes += [f"given up, having taken much longer than predicted: {label}" for label in found.given_up]
    notes.append(f"seed {seed}; every plan was verified in a run that is not counted; {format_seconds(found.seconds)} in all")
    return notes


def _regrets(regrets: Sequence[Regret]) -> Table | None:
    if not regrets:
        return None
    ordered = sorted(regrets, key=lambda each: each.value, reverse=True)
    values = sorted(each.value for each in regrets)
    noises = sorted(each.noise for each in regrets)
    within, with_noise = share_within(regrets), share_within(regrets, with_noise=True)
    picked = percent_text(share_within(regrets, picked=True))
    said = (
        f"regret of at most {percent_text(GOAL)}: {percent_text(within)} of the transfers; with its noise allowed for:"
        f" {percent_text(with_noise)} (aimed at: {percent_text(TRANSFERS_WITHIN)})"
    )
    return Table(
        "regret",
        f"what the chosen plan takes longer than the best of its rivals: {len(regrets)} transfers",
        {
            "transfer": ("transfer", _shortened),
            "candidates": ("plans", str),
            "predicted_seconds": ("predicted", format_seconds),
            "chosen_seconds": ("chosen", format_seconds),
            "best_seconds": ("best", format_seconds),
            "regret": ("regret", percent_text),
            "noise": ("± noise", percent_text),
            "picked_regret": ("of five tried", percent_text),
            "best_words": ("best plan", str),
        },
        [
            {**each.to_json(), "best_words": "the chosen" if each.best is each.chosen else plan_words(each.best)}
            for each in ordered
        ],
        (
            said,
            f"median regret {percent_text(quantile(values, 0.5))}; median noise {percent_text(quantile(noises, 0.5))}",
            "regret: what the chosen plan takes over the best in the same round, median of all; noise: two standard errors",
            f"of five tried: regret of the plan that trials pick; at most {percent_text(GOAL)} for {picked} of the transfers",
            "rivals: the five best predicted and five drawn from all others, run in turn; figures from fresh runs of two",
        ),
    )


def _transfer(each: Sample) -> dict[str, Any]:
    return {
        "transfer": transfer_words(each.transfer),
        "bytes": each.plan.bytes,
        "path": each.outcome(None).path,
        "plan": plan_words(each.plan),
        "model": _said(each.by_model) or {"seconds": each.plan.seconds},
        "trial": _said(each.by_trial),
        "trial_spent": None if each.trial is None else each.trial.spent,
        "measured_seconds": each.seconds,
        "runs": list(each.times),
    }


def _said(said: Prediction | None) -> dict[str, Any] | None:
    if said is None:
        return None
    found: dict[str, Any] = {"seconds": said.seconds, "interval": [said.low, said.high]}
    return found | ({"scatter": said.scatter, "ledger_runs": said.runs} if said.tried else {})


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
