"""A page about predictions: how far off they were, as plots and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isoviz.figures.charts.html_parts import Markup, facts, heading, paragraph, table
from isoviz.figures.charts.svg import escape
from isoviz.figures.page import page
from isoviz.figures.plots.bokeh_plot import plot_html
from isoviz.figures.plots.predictions import prediction_figure
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
from isoviz.units import format_bytes, format_seconds

MOST_ROWS = 500
"""Runs that the table lists."""


Way = tuple[str, str, Sequence[Outcome]]
"""A heading, a sentence, and predictions of one kind beside what was measured."""


def prediction_page(title: str, ways: Sequence[Way], more: Iterable[str] = ()) -> str:
    """A complete HTML page about predictions, with nothing to load.

    Every way to predict has a section with key figures, plots and errors by path; a way without outcomes is left out. The table
    of runs shows the first way. `more` are sections before it: HTML made by this package.
    """
    shown = [way for way in ways if way[2]]
    sections = [f"<header><h1>{escape(title)}</h1></header>", *(f"<section>{_way(*way)}</section>" for way in shown)]
    sections += [paragraph("No runs.")] if not shown else []
    sections += [f"<section>{each}</section>" for each in more]
    if shown:
        name, _, outcomes = shown[0]
        sections.append(f"<section>{heading(f'Runs: {name[0].lower()}{name[1:]}', 2)}{outcome_table(outcomes)}</section>")
    return page(title, sections)


def _way(title: str, said: str, outcomes: Sequence[Outcome]) -> str:
    """One way to predict: a sentence on it, key figures, plots and errors by path."""
    every = summarized(outcomes)
    plots = plot_html(prediction_figure, outcomes)
    errors = error_table([*by_path(outcomes), every])
    return heading(title, 2) + paragraph(said) + prediction_facts(every) + plots + errors


def prediction_facts(every: ErrorSummary) -> str:
    """Key figures of a number of predictions."""
    key: list[tuple[str, object]] = [
        ("runs", f"{every.count:,}"),
        (f"median error (aimed at: {percent_text(MEDIAN_GOAL)})", percent_text(every.median)),
        (f"95 % below (aimed at: {percent_text(TAIL_GOAL)})", percent_text(every.tail)),
        ("measured ÷ predicted, median", factor_text(every.ratio)),
    ]
    if every.coverage is not None:
        key.append(("in their interval", percent_text(every.coverage)))
    return facts(key)


def error_table(summaries: Sequence[ErrorSummary]) -> str:
    """Errors by path; the last row is for all."""
    rows = [
        (
            Markup("<strong>all</strong>") if each.path == "all" else each.path,
            f"{each.count:,}",
            percent_text(each.median),
            percent_text(each.tail),
            factor_text(each.ratio),
            factor_text(each.worst),
            "–" if each.coverage is None else percent_text(each.coverage),
        )
        for each in summaries
    ]
    return table(
        "Errors, |predicted − measured| ÷ measured, by the channels of the path",
        ("path", "runs", "median error", "95 % below", "measured ÷ predicted", "worst factor", "in their interval"),
        rows,
        numbers=range(1, 7),
    )


def outcome_table(outcomes: Sequence[Outcome]) -> str:
    """Every run, in descending order of its error factor."""
    ordered = sorted(outcomes, key=lambda each: (-each.factor, each.label))
    rows = [
        (
            each.label,
            each.path,
            format_bytes(each.nbytes),
            format_seconds(each.predicted),
            "–" if each.interval is None else f"{format_seconds(each.interval[0])} to {format_seconds(each.interval[1])}",
            format_seconds(each.measured),
            percent_text(each.error),
        )
        for each in ordered[:MOST_ROWS]
    ]
    left = f"; {len(ordered) - MOST_ROWS:,} more are not shown" if len(ordered) > MOST_ROWS else ""
    return table(
        f"The points of the plots, furthest off first{left}",
        ("transfer", "path", "bytes", "predicted", "interval", "measured", "error"),
        rows,
        numbers=(2, 3, 4, 5, 6),
    )
