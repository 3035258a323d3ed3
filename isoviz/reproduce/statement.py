"""A statement of a paper beside the figure of isoviz, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isoviz.units import format_bytes, format_rate, format_seconds

TOLERANCE = 0.1
"""A figure agrees that lies within the paper's, give or take a tenth of it."""


@dataclass(frozen=True)
class Statement:
    """`ours` beside the paper's statement, which lies between `low` and `high` (None: no bound; both None: no figure).

    `where` is the section, table or figure. `unit` says how to write `ours` (`UNITS`). `given` marks a figure that follows from
    a value of the paper that was put in. `why` explains a difference, or the worth of an agreement.
    """

    where: str
    what: str
    paper: str
    low: float | None
    high: float | None
    ours: float
    unit: str
    why: str = ""
    given: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether ours lies within the paper's figures, give or take `TOLERANCE`; None where there is nothing to agree with."""
        if self.given or (self.low is None and self.high is None):
            return None
        above = self.low is None or self.ours >= self.low - TOLERANCE * abs(self.low)
        return above and (self.high is None or self.ours <= self.high + TOLERANCE * abs(self.high))

    @property
    def verdict(self) -> str:
        """In a word or two: "more" and "less" are of the effect, so −90 % is more than −60 %."""
        if self.agrees is None:
            return "put in" if self.given else "no figure"
        if self.agrees:
            return "agrees"
        bounds = [abs(bound) for bound in (self.low, self.high) if bound is not None]
        return "more" if abs(self.ours) > max(bounds) else "less"

    @property
    def text(self) -> str:
        """Ours, written."""
        return UNITS[self.unit](self.ours)

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "where": self.where,
            "what": self.what,
            "paper": self.paper,
            "paper_low": self.low,
            "paper_high": self.high,
            "ours": self.ours,
            "unit": self.unit,
            "verdict": self.verdict,
            "why": self.why,
        }


def change(value: float) -> str:
    """A relative change: −0.62 → `−62 %`."""
    percent = 100 * value
    digits = 2 if 99.5 <= abs(percent) < 100 else 0 if abs(percent) >= 0.95 else 1
    text = f"{abs(percent):.{digits}f} %"
    return f"−{text}" if percent < 0 and float(text[:-2]) else text


def times(value: float) -> str:
    """A ratio: `2.2 ×`."""
    return f"{value:,.0f} ×" if value >= 99.5 else f"{value:.3g} ×" if value >= 9.95 else f"{value:.2f} ×"


def share(value: float) -> str:
    """A share: `36 %`."""
    return f"{100 * value:.1f} %" if 0.99 <= value < 1 else f"{100 * value:.0f} %"


UNITS: dict[str, Callable[[float], str]] = {
    "change": change,
    "times": times,
    "share": share,
    "rate": format_rate,
    "seconds": format_seconds,
    "bytes": format_bytes,
    "size": lambda value: f"{value / 1e9:.3g} GB",
    "count": lambda value: f"{value:.0f}",
}
"""How figures are written."""
