"""Statistics of repeated runs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TypedDict


class ShownSpread(TypedDict):
    """A figure of repeated runs, in their order: the figure of each, and the middle, the lowest and the highest of them."""

    values: list[float]
    median: float
    low: float
    high: float


def spread_of(values: Sequence[float]) -> ShownSpread:
    """The spread of at least one value. Of an even number, the middle lies between the two middle ones."""
    return {"values": list(values), "median": statistics.median(values), "low": min(values), "high": max(values)}


def relative(spread: ShownSpread) -> float:
    """The distance from the lowest to the highest value, as a share of the middle one."""
    return (spread["high"] - spread["low"]) / spread["median"] if spread["median"] else 0.0
