"""The distribution of prediction errors over runs.

The error of a prediction is |predicted − measured| / measured. If the prediction is too short, it never exceeds 100 %. Therefore
the ratio measured / predicted is reported as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MEDIAN_GOAL, TAIL_GOAL = 0.10, 0.30
"""The goals of predictions: half of all errors are below `MEDIAN_GOAL`, 95 % are below `TAIL_GOAL`."""


@dataclass(frozen=True)
class Outcome:
    """A prediction and the measured time, in seconds.

    `path` names the kinds of channels, `label` the transfer. `interval` is the interval of the prediction (None: there was none).
    """

    path: str
    label: str
    nbytes: int
    predicted: float
    measured: float
    interval: tuple[float, float] | None = None

    @property
    def error(self) -> float:
        """|predicted − measured| as a share of measured."""
        return abs(self.predicted - self.measured) / self.measured

    @property
    def ratio(self) -> float:
        """The ratio measured / predicted: above 1, the run took longer than predicted."""
        return self.measured / self.predicted

    @property
    def factor(self) -> float:
        """The factor between predicted and measured, in either direction: 1 or more."""
        return max(self.ratio, 1 / self.ratio)

    @property
    def held(self) -> bool | None:
        """Whether the measured time lies in the interval; None if there was none."""
        return None if self.interval is None else self.interval[0] <= self.measured <= self.interval[1]


@dataclass(frozen=True)
class ErrorSummary:
    """The errors of `count` predictions.

    - `median`, `tail`: the median and the 95th percentile of the errors.
    - `ratio`: the median of measured / predicted.
    - `worst`: the largest factor between predicted and measured.
    - `with_interval`: the number of predictions with an interval.
    - `held`: the number of intervals that held.
    """

    path: str
    count: int
    median: float
    tail: float
    ratio: float
    worst: float
    with_interval: int
    held: int

    @property
    def coverage(self) -> float | None:
        """The share of the intervals that held; None if there were none."""
        return self.held / self.with_interval if self.with_interval else None

    @property
    def meets_goals(self) -> bool:
        """Whether median and tail meet the goals of predictions."""
        return self.median <= MEDIAN_GOAL and self.tail <= TAIL_GOAL

    def to_json(self) -> dict[str, Any]:
        """The summary as a JSON object. Errors are shares."""
        return {
            "path": self.path,
            "count": self.count,
            "median_error": self.median,
            "p95_error": self.tail,
            "median_ratio": self.ratio,
            "worst_factor": self.worst,
            "with_interval": self.with_interval,
            "held": self.held,
            "coverage": self.coverage,
        }


def summarized(outcomes: Sequence[Outcome], path: str = "all") -> ErrorSummary:
    """The summary of at least one outcome."""
    errors = sorted(each.error for each in outcomes)
    ratios = sorted(each.ratio for each in outcomes)
    held = [each.held for each in outcomes if each.held is not None]
    worst = max(each.factor for each in outcomes)
    return ErrorSummary(
        path, len(outcomes), quantile(errors, 0.5), quantile(errors, 0.95), quantile(ratios, 0.5), worst, len(held), sum(held)
    )


def by_path(outcomes: Iterable[Outcome]) -> list[ErrorSummary]:
    """A summary for every path, the most frequent first."""
    groups: dict[str, list[Outcome]] = {}
    for each in outcomes:
        groups.setdefault(each.path, []).append(each)
    return sorted((summarized(group, path) for path, group in groups.items()), key=lambda found: (-found.count, found.path))


def quantile(values: Sequence[float], share: float) -> float:
    """The quantile of sorted values at `share`, with linear interpolation between neighbours."""
    place = share * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def percent_text(share: float) -> str:
    """A share as a percentage: `7.5 %`, `38 %`."""
    return f"{100 * share:.1f} %" if 0 < abs(share) < 0.0995 else f"{100 * share:.0f} %"


def factor_text(factor: float) -> str:
    """A factor with three digits: `0.942`, `12.3`, `1,360`."""
    return f"{factor:,.0f}" if factor >= 999.5 else f"{factor:.3g}"
