"""What `isoviz bench predictions` found, as tables, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoviz.bench.predictions.regret import GOAL, plan_words, share_within
from isoviz.bench.table import Row, Table
from isoviz.runtime.ledger.prediction_errors import (
    MEDIAN_GOAL,
    TAIL_GOAL,
    ErrorSummary,
    Outcome,
    by_path,
    factor_text,
    percent_text,
    quantile,
    summarized,
)
from isoviz.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from isoviz.bench.predictions.accuracy import Found, Measured, Round
    from isoviz.bench.predictions.regret import Regret
    from isoviz.machines import Machine
    from isoviz.measure.rehearsal import Rehearsal

MODEL = (
    "What the plan says by the throughput functions of its channels, nothing being tried, beside the median over all rounds of"
    " the same transfers."
)
REHEARSED = (
    "The same runs beside what a rehearsal said before: the first chunks were moved, of short transfers all of them, and the rest"
    " was taken to go on like that."
)
BASES = {
    "spread": "the spread of the measured channels",
    "trial": "what repeats of a trial differed in",
    "history": "earlier runs",
}
"""What intervals go by."""
NOTED = 3
"""So many of the predictions that were furthest off are named."""
LONGEST_LABEL = 72
"""Characters of a transfer's name in a table for people."""
TRANSFERS_WITHIN = 0.9
"""The share of transfers whose regret is to be within the goal."""


@dataclass(frozen=True)
class PredictionTable(Table):
    """Errors by path; the transfers themselves, what throughput functions alone and rehearsals said, and regret besides."""

    outcomes: Sequence[Outcome] = ()
    usual: Sequence[Outcome] = ()
    rehearsed: Sequence[Outcome] = ()
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

    def to_html(self) -> str:
        """A page: predicted against measured as a scatter, errors as a histogram, tables of both."""
        from isoviz.figures.charts.html_parts import heading, items, paragraph, table
        from isoviz.figures.pages.prediction_page import prediction_page, prediction_section

        more = []
        if self.usual:
            more.append(prediction_section("By throughput functions alone", MODEL, self.usual))
        if self.rehearsed:
            more.append(prediction_section("By rehearsal", REHEARSED, self.rehearsed))
        if self.regret is not None:
            headings = [text for text, _ in self.regret.columns.values()]
            cells = [[write(row[key]) for key, (_, write) in self.regret.columns.items()] for row in self.regret.rows]
            shown = table(self.regret.title, headings, cells, numbers=range(1, len(headings) - 1))
            more.append(heading("Regret", 2) + shown + items(self.regret.notes))
        known = ", ".join(f"{value}{' cores' if key == 'cores' else ''}" for key, value in self.machine.items())
        more.append(heading("Measured on", 2) + paragraph(known) + items(self.notes))
        return prediction_page(self.title[0].upper() + self.title[1:], self.outcomes, more)


def tabled(found: Found, machine: Machine, seed: int, sizes: tuple[int, int], repeat: int) -> PredictionTable:
    """The tables of what was found."""
    outcomes = found.outcomes
    summaries = _summaries(outcomes)
    singles = {each.path: each for each in _summaries(found.singles)}
    usual = {each.path: each for each in _summaries(found.usual)}
    rehearsed = {each.path: each for each in _summaries(found.rehearsed)}
    rows = [
        {
            **each.to_json(),
            "transfers": usual[each.path].count,
            **_coverage(singles.get(each.path)),
            **_errors("model", usual.get(each.path)),
            **_errors("rehearsed", rehearsed.get(each.path)),
        }
        for each in summaries
    ]
    return PredictionTable(
        "predictions",
        f"predicted against measured: {len(found.measured)} random transfers of {format_bytes(sizes[0])} to"
        f" {format_bytes(sizes[1])} on {machine.name}, medians of {repeat} runs or more",
        {
            "path": ("path", str),
            "transfers": ("transfers", str),
            "count": ("predictions", str),
            "median_error": ("median error", percent_text),
            "p95_error": ("95 % below", percent_text),
            "median_ratio": ("measured ÷ predicted", factor_text),
            "worst_factor": ("worst factor", factor_text),
            "coverage": ("runs in their interval", _share_text),
            "model_median_error": ("by throughput alone: median error", _share_text),
            "model_p95_error": ("95 % below", _share_text),
            "rehearsed_median_error": ("rehearsed: median error", _share_text),
            "rehearsed_p95_error": ("95 % below", _share_text),
        },
        rows,
        _notes(found, seed),
        outcomes=outcomes,
        usual=found.usual,
        rehearsed=found.rehearsed,
        regret=_regrets(found.regrets),
        transfers=[_transfer(each) for each in found.measured],
        summary=_summary(found, summaries),
    )


def _summaries(outcomes: Sequence[Outcome]) -> list[ErrorSummary]:
    """One for every path, and one for all."""
    return [*by_path(outcomes), summarized(outcomes)] if outcomes else []


def _errors(way: str, summary: ErrorSummary | None) -> dict[str, Any]:
    """Errors of what throughput functions or rehearsals said."""
    median, tail = (None, None) if summary is None else (summary.median, summary.tail)
    return {f"{way}_median_error": median, f"{way}_p95_error": tail}


def _share_text(share: float | None) -> str:
    return "-" if share is None else percent_text(share)


def _rehearsals(found: Found) -> dict[str, Any]:
    """What rehearsals said, and what they cost: the share of its chunks that a rehearsal moves each time, and its seconds as a
    multiple of those that the transfer takes."""
    done = found.rehearsals
    if not done:
        return {}
    within = [made.prediction.holds(seconds) for _, moment, made in done for seconds in moment.times]
    moved = sorted(made.chunks / max(1, each.plan.chunk_count) for each, _, made in done)
    part = [(each, moment, made) for each, moment, made in done if made.chunks < each.plan.chunk_count]
    return {
        "transfers": len(done),
        **_errors_of(found.rehearsed),
        "runs": len(within),
        "held": sum(within),
        "median_share_of_chunks": quantile(moved, 0.5),
        "median_cost": _cost(done),
        "as_a_whole": sum(share == 1 for share in moved),
        "in_part": {
            "transfers": len(part),
            **_errors_of([each.outcome(moment.seconds, made.prediction) for each, moment, made in part]),
            "median_cost": _cost(part),
        }
        if part
        else {},
    }


def _cost(done: Sequence[tuple[Measured, Round, Rehearsal]]) -> float:
    """What rehearsals took, as a multiple of the transfers: the median."""
    return quantile(sorted(made.spent / moment.seconds for _, moment, made in done), 0.5)


def _trials(found: Found) -> dict[str, Any]:
    """What trials cost: in seconds, and as a multiple of those that the transfer takes."""
    done = found.trials
    if not done:
        return {}
    spent = sorted(trial.spent for _, trial in done)
    return {
        "transfers": sum(any(moment.trial is not None for moment in each.rounds) for each in found.measured),
        "count": len(done),
        "median_seconds": quantile(spent, 0.5),
        "most_seconds": spent[-1],
        "median_cost": quantile(sorted(trial.spent / moment.seconds for moment, trial in done), 0.5),
    }


def _errors_of(outcomes: Sequence[Outcome]) -> dict[str, float]:
    every = summarized(outcomes)
    return {"median_error": every.median, "p95_error": every.tail}


def _compared(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Errors of so many comparisons; nothing where there were none."""
    return {"count": len(outcomes), **_errors_of(outcomes)} if outcomes else {}


def _meets_goals_rehearsed(found: Found) -> bool:
    """Whether rehearsals say what transfers take, and which plan to choose, as well as predictions aim at."""
    outcomes, regrets = found.rehearsed, found.regrets
    if not outcomes or not regrets:
        return False
    return summarized(outcomes).meets_goals and share_within(regrets, rehearsed=True) >= TRANSFERS_WITHIN


def _coverage(singles: ErrorSummary | None) -> dict[str, Any]:
    """An interval is a promise about a run, not about a median."""
    if singles is None:
        return {}
    return {"with_interval": singles.with_interval, "held": singles.held, "coverage": singles.coverage}


def _summary(found: Found, summaries: Sequence[ErrorSummary]) -> dict[str, Any]:
    regrets = found.regrets
    every = summaries[-1] if summaries else None
    return {
        "goals": {
            "median_error": MEDIAN_GOAL,
            "p95_error": TAIL_GOAL,
            "regret": GOAL,
            "transfers_within": TRANSFERS_WITHIN,
        },
        "median_error": every.median if every else None,
        "p95_error": every.tail if every else None,
        "coverage": {basis: {"runs": runs, "held": held} for basis, (held, runs) in _bases(found).items()},
        "regrets": len(regrets),
        "share_within_goal": share_within(regrets) if regrets else None,
        "share_within_goal_and_noise": share_within(regrets, with_noise=True) if regrets else None,
        "share_within_goal_rehearsed": share_within(regrets, rehearsed=True) if regrets else None,
        "model": _compared(found.usual),
        "moments": _compared(found.moments),
        "trials": _trials(found),
        "rehearsed": _rehearsals(found),
        "repeated": _compared(found.repeated),
        "later": _compared(found.later),
        "meets_goals": bool(every and every.meets_goals and regrets and share_within(regrets) >= TRANSFERS_WITHIN),
        "meets_goals_rehearsed": _meets_goals_rehearsed(found),
        "left_out": found.too_long,
        "given_up": len(found.given_up),
        "seconds": found.seconds,
    }


def _bases(found: Found) -> dict[str, tuple[int, int]]:
    """By what intervals go by: how many runs were in them, and of how many."""
    result = dict.fromkeys(BASES, (0, 0))
    for each in found.measured:
        for moment in each.rounds:
            if moment.said is not None:
                held, runs = result[moment.said.basis]
                within = sum(moment.said.holds(seconds) for seconds in moment.times)
                result[moment.said.basis] = held + within, runs + len(moment.times)
    return {basis: counts for basis, counts in result.items() if counts[1]}


def _notes(found: Found, seed: int) -> list[str]:
    goals = f"median {percent_text(MEDIAN_GOAL)}, 95 % below {percent_text(TAIL_GOAL)}"
    notes = [f"error: |predicted − measured| ÷ measured; aimed at: {goals}"]
    for basis, (held, runs) in _bases(found).items():
        notes.append(f"intervals by {BASES[basis]} held {held} of {runs} single runs ({percent_text(held / runs)})")
    if trials := _trials(found):
        notes.append(
            f"of {trials['transfers']} of {len(found.measured)} transfers a few MiB were tried before; it took"
            f" {format_seconds(trials['median_seconds'])} (median), {format_seconds(trials['most_seconds'])} at most"
        )
    if model := _compared(found.usual):
        notes.append(
            f"by throughput functions alone, beside the medians over all rounds: {_errors_text(model)}; beside every single"
            f" round: {_errors_text(_compared(found.moments))}"
        )
    if done := _rehearsals(found):
        notes.append(
            f"rehearsed: the first chunks were moved before; {done['as_a_whole']} of {done['transfers']} transfers are so short"
            f" that all of them were; it took {factor_text(done['median_cost'])} times the transfer (median);"
            f" intervals held {done['held']} of {done['runs']} single runs ({percent_text(done['held'] / done['runs'])})"
        )
        if part := done["in_part"]:
            notes.append(
                f"of the {part['transfers']} of which a part was moved: {_errors_text(part)}, for"
                f" {factor_text(part['median_cost'])} times the transfer"
            )
    if again := _compared(found.repeated):
        notes.append(
            f"runs beside runs: of {again['count']} transfers the later half of the runs, beside the earlier half as if that"
            f" were a prediction: {_errors_text(again)}; so much the computer itself differs within seconds"
        )
    if again := _compared(found.later):
        notes.append(
            f"rounds beside rounds: of {again['count']} transfers the runs of later rounds, beside those of the first one:"
            f" {_errors_text(again)}; so much it differs within minutes"
        )
    worst = {each.label: each for each in sorted(found.outcomes, key=lambda outcome: outcome.factor)}  # of each the worst round
    for each in sorted(worst.values(), key=lambda outcome: outcome.factor, reverse=True)[:NOTED]:
        times = f"predicted {format_seconds(each.predicted)}, measured {format_seconds(each.measured)}"
        notes.append(f"furthest off: {each.label}: {times}")
    if found.too_long:
        count = f"{found.too_long} transfers were" if found.too_long > 1 else "1 transfer was"
        notes.append(f"{count} left out for want of time")
    notes += [f"given up, having taken much longer than predicted: {label}" for label in found.given_up]
    notes.append(f"seed {seed}; every plan was verified in a run that is not counted; {format_seconds(found.seconds)} in all")
    return notes


def _errors_text(found: dict[str, Any]) -> str:
    return f"median error {percent_text(found['median_error'])}, 95 % below {percent_text(found['p95_error'])}"


def _regrets(regrets: Sequence[Regret]) -> Table | None:
    if not regrets:
        return None
    ordered = sorted(regrets, key=lambda each: each.value, reverse=True)
    values = sorted(each.value for each in regrets)
    noises = sorted(each.noise for each in regrets)
    within, with_noise = share_within(regrets), share_within(regrets, with_noise=True)
    rehearsed = percent_text(share_within(regrets, rehearsed=True))
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
            "rehearsed_regret": ("rehearsed", _share_text),
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
            f"rehearsed: of the plan that was the quickest of five in rehearsal; at most {percent_text(GOAL)} for {rehearsed}",
            "rivals: the five best predicted and five drawn from all others, run in turn; figures from fresh runs of two",
        ),
    )


def _transfer(each: Measured) -> dict[str, Any]:
    outcome = each.outcome(each.seconds)
    return {
        "transfer": outcome.label,
        "bytes": outcome.nbytes,
        "path": outcome.path,
        "plan": plan_words(each.plan),
        "model_seconds": outcome.predicted,
        "measured_seconds": outcome.measured,
        "rounds": [_round(each, moment) for moment in each.rounds],
        "chunks": each.plan.chunk_count,
    }


def _round(each: Measured, moment: Round) -> dict[str, Any]:
    said = moment.said
    return {
        "predicted_seconds": each.plan.seconds if said is None else said.seconds,
        "interval": None if said is None else [said.low, said.high],
        "interval_from": None if said is None else said.basis,
        "tried": moment.trial is not None,
        "measured_seconds": moment.seconds,
        "runs": list(moment.times),
        "error": each.outcome(moment.seconds, said).error,
        "rehearsed_seconds": None if moment.rehearsal is None else moment.rehearsal.prediction.seconds,
        "rehearsed_chunks": None if moment.rehearsal is None else moment.rehearsal.chunks,
    }


def _shortened(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
