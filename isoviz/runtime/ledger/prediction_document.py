"""Documents of predictions: how far off they were."""

from __future__ import annotations

from collections.abc import Sequence

from isoviz.document import Cell, Document, Facts, Picture, Prose, Quantity, Section, Table
from isoviz.runtime.ledger.prediction_errors import (
    MEDIAN_GOAL,
    TAIL_GOAL,
    ErrorSummary,
    Outcome,
    by_path,
    factor_text,
    percent_text,
    summarized,
)
from isoviz.units import format_seconds

MOST_ROWS = 500
"""Runs that the table lists."""

Way = tuple[str, str, Sequence[Outcome]]
"""A heading, a sentence, and predictions of one kind beside what was measured."""


def prediction_document(title: str, ways: Sequence[Way], more: Sequence[Section] = ()) -> Document:
    """Every way to predict in a section with key figures, plots and errors by path; a way without outcomes is left out.

    The table of runs shows the first way. `more` are sections before it.
    """
    shown = [way for way in ways if way[2]]
    sections = [Section(name, [Prose(said), *way_parts(outcomes)]) for name, said, outcomes in shown]
    if not shown:
        return Document(title, [Prose("No runs."), *more])
    name, _, outcomes = shown[0]
    runs = Section(f"Runs: {name[0].lower()}{name[1:]}", [outcome_table(outcomes)])
    return Document(title, [*sections, *more, runs])


def way_parts(outcomes: Sequence[Outcome]) -> tuple[Facts, Picture, Table]:
    """Key figures of one way to predict, its plots, and its errors by path."""
    every = summarized(outcomes)
    key: list[tuple[str, Cell]] = [
        ("runs", f"{every.count:,}"),
        (f"median error (aimed at: {percent_text(MEDIAN_GOAL)})", percent_text(every.median)),
        (f"95 % below (aimed at: {percent_text(TAIL_GOAL)})", percent_text(every.tail)),
        ("measured ÷ predicted, median", factor_text(every.ratio)),
    ]
    if every.coverage is not None:
        key.append(("in their interval", percent_text(every.coverage)))
    return Facts(key), Picture("prediction_figure", (outcomes,)), error_table([*by_path(outcomes), every])


def error_table(summaries: Sequence[ErrorSummary]) -> Table:
    """Errors by path; the last row may be for all."""
    rows = [
        (
            each.path,
            f"{each.count:,}",
            percent_text(each.median),
            percent_text(each.tail),
            factor_text(each.ratio),
            factor_text(each.worst),
            "–" if each.coverage is None else percent_text(each.coverage),
        )
        for each in summaries
    ]
    return Table(
        ("path", "runs", "median error", "95 % below", "measured ÷ predicted", "worst factor", "in their interval"),
        rows,
        "Errors, |predicted − measured| ÷ measured, by the channels of the path",
        numbers=range(1, 7),
        marked=[number for number, each in enumerate(summaries) if each.path == "all"],
    )


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """Every run, in descending order of its error factor."""
    ordered = sorted(outcomes, key=lambda each: (-each.factor, each.label))
    rows: list[tuple[Cell, ...]] = [
        (
            each.label,
            each.path,
            Quantity(each.nbytes, "bytes"),
            Quantity(each.predicted, "seconds"),
            "–" if each.interval is None else f"{format_seconds(each.interval[0])} to {format_seconds(each.interval[1])}",
            Quantity(each.measured, "seconds"),
            percent_text(each.error),
        )
        for each in ordered[:MOST_ROWS]
    ]
    left = f"; {len(ordered) - MOST_ROWS:,} more are not shown" if len(ordered) > MOST_ROWS else ""
    return Table(
        ("transfer", "path", "bytes", "predicted", "interval", "measured", "error"),
        rows,
        f"The points of the plots, furthest off first{left}",
        numbers=(4, 6),
    )
