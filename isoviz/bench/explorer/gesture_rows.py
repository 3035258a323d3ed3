"""A row of the table of the explorer: the median and the 95th percentile of many times."""

from __future__ import annotations

from collections.abc import Sequence

from isoviz.bench.table import Row
from isoviz.units import format_seconds


def spread_row(what: str, seconds: Sequence[float], aim: str) -> Row:
    """The row of times of one kind, in seconds; `aim` is what they should be, in words."""
    found = sorted(seconds)
    p95 = found[min(len(found) - 1, int(0.95 * len(found)))]
    median = found[len(found) // 2]
    return {
        "what": what, "median": format_seconds(median), "p95": format_seconds(p95), "aim": aim,
        "median_seconds": median, "p95_seconds": p95,
    }  # fmt: skip
