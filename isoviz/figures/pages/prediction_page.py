"""A page about predictions: how far off they were, as a scatter, a histogram and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isoviz.figures.charts.html_parts import Markup, facts, heading, paragraph, table
from isoviz.figures.charts.svg import escape
from isoviz.figures.charts.theme import ThemeName
from isoviz.figures.pages.html_page import html_document
from isoviz.figures.predictions.prediction_scatter import prediction_scatter_svg
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


def prediction_page(title: str, ways: Sequence[Way], more: Iterable[str] = (), *, theme: ThemeName = "auto") -> str:
    """A complete HTML page, without scripts or anything to load: `prediction_sections` in a frame."""
    return html_document(title, prediction_sections(title, ways, more, theme=theme))


def prediction_sections(title: str, ways: Sequence[Way], more: Iterable[str] = (), *, theme: ThemeName = "auto") -> list[str]:
    """The sections of a page about predictions.

    Every way to predict has a section with key figures, a scatter with its histogram and errors by path; a way without outcomes
    is left out. The table of runs shows the first way. `more` are sections before it: HTML made by this package.
    """
    shown = [way for way in ways if way[2]]
    header = f"<header><h1>{escape(title)}</h1></header>"
    if not shown:
        return [header, paragraph("No runs."), *more]
    name, _, first = shown[0]
    return [
        header,
        *(f"<section>{prediction_section(*way, theme=theme)}</section>" for way in shown),
        *(f"<section>{each}</section>" for each in more),
        f"<section>{heading(f'Runs: {name[0].lower()}{name[1:]}', 2)}{outcome_table(first)}</section>",
    ]


def prediction_section(title: str, said: str, outcomes: Sequence[Outcome], *, theme: ThemeName = "auto") -> str:
    """One way to predict: a sentence on it, key figures, a scatter and errors by path."""
    every = summarized(outcomes)
    figure = prediction_scatter_svg(outcomes, theme=theme)
    errors = error_table([*by_path(outcomes), every])
    return heading(title, 2) + paragraph(said) + prediction_facts(every) + figure + errors


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
        f"The points of the picture, furthest off first{left}",
        ("transfer", "path", "bytes", "predicted", "interval", "measured", "error"),
        rows,
        numbers=(2, 3, 4, 5, 6),
    )
