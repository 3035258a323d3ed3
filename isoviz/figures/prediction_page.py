"""A page about predictions: how far off they were, as a scatter, a histogram and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from isoviz.figures.html_page import html_document
from isoviz.figures.html_parts import facts, heading, paragraph, table
from isoviz.figures.prediction_scatter import prediction_scatter_svg
from isoviz.figures.svg import escape
from isoviz.figures.theme import ThemeName
from isoviz.runtime.prediction_errors import MEDIAN_GOAL, TAIL_GOAL, ErrorSummary, Outcome, by_path, summarized
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


def prediction_facts(every: ErrorSummary) -> str:
    """Key figures of a number of predictions."""
    key: list[tuple[str, object]] = [
        ("runs", f"{every.count:,}"),
        (f"median error (aimed at: {_percent(MEDIAN_GOAL)})", _percent(every.median)),
        (f"95 % below (aimed at: {_percent(TAIL_GOAL)})", _percent(every.tail)),
        ("measured ÷ predicted, median", f"{every.ratio:.3g}"),
    ]
    if every.coverage is not None:
        key.append(("in their interval", _percent(every.coverage)))
    return facts(key)


def error_table(summaries: Sequence[ErrorSummary]) -> str:
    """Errors by path, the last row for all."""
    rows = [
        (
            each.path,
            f"{each.count:,}",
            _percent(each.median),
            _percent(each.tail),
            f"{each.ratio:.3g}",
            f"{each.worst:.3g}",
            "–" if each.coverage is None else _percent(each.coverage),
        )
        for each in summaries
    ]
    return table(
        "Errors, |predicted − measured| ÷ measured, by the channels of the path",
        ("path", "runs", "median error", "95 % below", "measured ÷ predicted", "worst factor", "in their interval"),
        rows,
        numbers=range(1, 7),
        marked=[len(rows) - 1],
    )


def outcome_table(outcomes: Sequence[Outcome]) -> str:
    """Every run, the largest errors first."""
    ordered = sorted(outcomes, key=lambda each: (-each.error, each.label))
    rows = [
        (
            each.label,
            each.path,
            format_bytes(each.nbytes),
            format_seconds(each.predicted),
            "–" if each.interval is None else f"{format_seconds(each.interval[0])} to {format_seconds(each.interval[1])}",
            format_seconds(each.measured),
            _percent(each.error),
        )
        for each in ordered[:MOST_ROWS]
    ]
    left = f"; {len(ordered) - MOST_ROWS:,} more are not shown" if len(ordered) > MOST_ROWS else ""
    return table(
        f"The points of the picture, largest errors first{left}",
        ("transfer", "path", "bytes", "predicted", "interval", "measured", "error"),
        rows,
        numbers=(2, 3, 4, 5, 6),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"
