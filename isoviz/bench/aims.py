"""Rows of benchmarks that have aims (a figure, the figure that it is compared with, their ratio, and the aim), and their
table."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from isoviz.bench.table import Row, Table, two_digits, where_known
from isoviz.units import format_seconds

Unit = Literal["s", "share"]
KEYS = ("part", "what", "figure", "unit", "beside", "limit", "ratio", "aim", "met", "predicted")
"""The keys of every row in JSON; see `row`."""


def row(
    part: str,
    what: str,
    figure: float,
    beside: str = "-",
    limit: float | None = None,
    aim: float | None = None,
    *,
    ratio: float | None = None,
    predicted: float | None = None,
    unit: Unit = "s",
) -> dict[str, Any]:
    """One row.

    - `figure`: what isoviz needs: seconds (unit "s"), or a plain share (unit "share").
    - `limit`: the same of what it stands `beside`: a peer, or a bound that is made of figures of the same run;
      None where it stands alone.
    - `ratio`: `limit` ÷ `figure`. Above 1, isoviz is the better one. If it is not given, it is computed.
    - `aim`: the least ratio that is wanted; None if the row is for information. `met` says whether it is reached.
    - `predicted`: the seconds that the plan says.
    """
    found = limit / figure if ratio is None and limit is not None else ratio
    met = None if aim is None or found is None else found >= aim
    return dict(zip(KEYS, (part, what, figure, unit, beside, limit, found, aim, met, predicted), strict=True))


def compared(
    part: str,
    what: str,
    times: Mapping[str, Sequence[float]],
    own: str,
    peer: str,
    aim: float | None = None,
    *,
    predicted: float | None = None,
) -> dict[str, Any]:
    """A row of two ways that ran in turn: medians, and the median of the ratios round by round."""
    ratio = statistics.median(theirs / mine for theirs, mine in zip(times[peer], times[own], strict=True))
    mine, theirs = statistics.median(times[own]), statistics.median(times[peer])
    return row(part, what, mine, peer, theirs, aim, ratio=ratio, predicted=predicted)


def quickest(times: Mapping[str, Sequence[float]], names: Sequence[str]) -> str:
    """The name of the way with the least median."""
    return min(names, key=lambda name: statistics.median(times[name]))


COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "part": ("part", str),
    "what": ("what", str),
    "figure": ("isoviz", str),
    "beside": ("beside", str),
    "limit": ("its figure", str),
    "ratio": ("ratio", where_known(two_digits)),
    "aim": ("aim", where_known(lambda aim: f"≥ {aim:g}")),
    "met": ("met", where_known(lambda met: "yes" if met else "NO")),
    "predicted": ("predicted", where_known(format_seconds)),
}


class AimsTable(Table):
    """A table whose figures are seconds or shares, as each row says."""

    def written(self) -> list[Row]:
        """The rows with their figures as text."""
        found: list[Row] = []
        for each in self.rows:
            write = format_seconds if each["unit"] == "s" else two_digits
            found.append({**each, **{key: "-" if each[key] is None else write(each[key]) for key in ("figure", "limit")}})
        return found
