"""The list of runs as the browser gets it, and statistics of repeated runs: typed dictionaries of the contract."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal, TypedDict


class ShownFact(TypedDict):
    """What was chosen for a run: a name, and its value in words or in bytes."""

    name: str
    text: str
    bytes: int | None


class ShownPastHop(TypedDict):
    """A hop of a past run in bytes per second, as planned and as measured; of repeated runs, the middle with the lowest and the
    highest.
    """

    title: str
    planned: float
    measured: float
    low: float
    high: float


class ShownPastRun(TypedDict):
    """A run of the list. `name` names it in commands, `number` is null for earlier runs. Null is what nobody knows: seconds
    planned, after the trial (`tried`) and measured; of `runs` repeated runs `measured` is the middle. `timeline` says whether
    the session has the trace of the run, or of its last repeat: it may have none, or have dropped it to make room for those
    of newer runs. `emulated` says whether main memory stood in for a memory: then planned and measured cannot be compared.
    """

    name: str
    number: int | None
    date: str
    transfer: str
    outcome: str
    good: bool
    emulated: bool
    bytes: int
    runs: int
    planned: float | None
    tried: float | None
    measured: float | None
    low: float | None
    high: float | None
    note: str
    timeline: Literal["kept", "dropped", "none"]
    facts: list[ShownFact]
    hops: list[ShownPastHop]


class RunsMessage(TypedDict):
    """The list of runs, the newest first."""

    kind: Literal["runs"]
    number: int | None
    runs: list[ShownPastRun]
    error: str


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
