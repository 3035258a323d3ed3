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


def prediction_page(title: str, outcomes: Sequence[Outcome], more: Iterable[str] = (), *, theme: ThemeName = "auto") -> str:
    """A complete HTML page, without scripts or anything to load: key figures, the scatter with its histogram, errors by path, and
    every run. `more` are sections that follow, HTML made by this package."""
    if not outcomes:
        return html_document(title, [f"<header><h1>{escape(title)}</h1></header>", paragraph("No runs."), *more])
    every = summarized(outcomes)
    sections = [
        f"<header><h1>{escape(title)}</h1>{prediction_facts(every)}</header>",
        "<section>",
        prediction_scatter_svg(outcomes, theme=theme),
        error_table([*by_path(outcomes), every]),
        "</section>",
        *(f"<section>{each}</section>" for each in more),
        f"<section>{heading('Runs', 2)}{outcome_table(outcomes)}</section>",
    ]
    return html_document(title, sections)


def prediction_section(title: str, said: str, outcomes: Sequence[Outcome], *, theme: ThemeName = "auto") -> str:
    """A section for `more`: other predictions of the same runs, with a sentence on them, key figures and a scatter."""
    every = summarized(outcomes)
    return heading(title, 2) + paragraph(said) + prediction_facts(every) + prediction_scatter_svg(outcomes, theme=theme)


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
    """Errors by path, the last row for all."""
    rows = [
        (
            Markup("<b>all</b>") if each.path == "all" else each.path,
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
    """Every run, those first whose predictions were furthest off."""
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
