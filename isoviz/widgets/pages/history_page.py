"""The page that `isoviz history` writes: how far off predictions were."""

from __future__ import annotations

from collections.abc import Sequence

from isoviz._version import __version__
from isoviz.figures.charts.svg import escape
from isoviz.figures.pages.prediction_page import MOST_ROWS, Way, prediction_sections
from isoviz.figures.predictions.prediction_scatter import prediction_scatter_svg
from isoviz.runtime.ledger.prediction_errors import MEDIAN_GOAL, TAIL_GOAL, ErrorSummary, Outcome, by_path, summarized
from isoviz.widgets.pages.page_contract import ErrorsOfPath, HistoryPart, PredictedRun, WayToPredict
from isoviz.widgets.pages.page_frame import html_page


def history_page(title: str, ways: Sequence[Way]) -> str:
    """A complete HTML page about predictions, which draws itself from what it holds. A way without outcomes is left out."""
    part: HistoryPart = {
        "kind": "history",
        "version": __version__,
        "title": title,
        "ways": [_way(*way) for way in ways if way[2]],
        "medianGoal": MEDIAN_GOAL,
        "tailGoal": TAIL_GOAL,
    }
    return html_page(title, {"page": part}, [*prediction_sections(title, ways), f"<footer>isoviz {escape(__version__)}</footer>"])


def _way(title: str, said: str, outcomes: Sequence[Outcome]) -> WayToPredict:
    ordered = sorted(outcomes, key=lambda each: (-each.factor, each.label))
    return {
        "title": title,
        "said": said,
        "all": _errors(summarized(outcomes)),
        "paths": [_errors(each) for each in by_path(outcomes)],
        "picture": prediction_scatter_svg(outcomes),
        "runs": [_run(each) for each in ordered[:MOST_ROWS]],
        "leftOut": max(0, len(ordered) - MOST_ROWS),
    }


def _errors(each: ErrorSummary) -> ErrorsOfPath:
    return {
        "path": each.path,
        "count": each.count,
        "median": each.median,
        "tail": each.tail,
        "ratio": each.ratio,
        "worst": each.worst,
        "coverage": each.coverage,
    }


def _run(each: Outcome) -> PredictedRun:
    low, high = (None, None) if each.interval is None else each.interval
    return {
        "transfer": each.label,
        "path": each.path,
        "bytes": each.nbytes,
        "predicted": each.predicted,
        "low": low,
        "high": high,
        "measured": each.measured,
        "error": each.error,
    }
