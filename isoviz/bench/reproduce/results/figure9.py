"""Figure 9: the paths that the planners find, without and with a conversion from AOS to SOA (section 6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.bench.reproduce.assumptions import sapling
from isoviz.bench.reproduce.driving import isometry_throughput, planned
from isoviz.bench.reproduce.findings import Finding
from isoviz.bench.reproduce.patterns import AOS, PLANNED, SOA, Pair

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions

PLANNERS = ("full", "simple", "spsl", "spdl")
WITHOUT = ("full", "simple")
"""Without a conversion all shortest paths are the same."""


@dataclass(frozen=True)
class Row:
    """A pair of memories: bytes per second and path by planner."""

    pair: Pair
    throughput: dict[str, float]
    paths: dict[str, tuple[str, ...]]


def figure9(given: Assumptions, *, converting: bool, pairs: tuple[Pair, ...] = PLANNED) -> tuple[Row, ...]:
    """Figure 9a, or 9b where `converting`."""
    machine = sapling(given)
    rows = []
    for pair in pairs:
        found = {name: planned(machine, pair, name, SOA if converting else AOS) for name in (PLANNERS if converting else WITHOUT)}
        rates = {name: isometry_throughput(machine, plan, given) for name, plan in found.items()}
        rows.append(Row(pair, rates, {name: plan.memories for name, plan in found.items()}))
    return tuple(rows)


def findings(plain: tuple[Row, ...], converted: tuple[Row, ...]) -> tuple[Finding, ...]:
    """Beside the paper."""
    by_label = {row.pair.label: row.throughput for row in plain}
    network, disk = by_label["SYS → SYS*"], by_label["FBM → DSK"]
    to_disk = {row.pair.label: row.throughput for row in converted}["SYS → DSK"]
    worst = min(rates["simple"] / rates["full"] for rates in (row.throughput for row in converted))
    return (
        Finding(
            "6.3, figure 9a",
            "SYS → SYS*: full (through REG) against simple",
            "17 % faster",
            1.17,
            1.17,
            network["full"] / network["simple"],
            "times",
        ),
        Finding("6.3, figure 9a", "FBM → DSK: full against simple", "the same", 1.0, 1.0, disk["full"] / disk["simple"], "times"),
        Finding(
            "6.3, figure 9b",
            "SYS → DSK, AOS to SOA: the better of SPSL and SPDL as a share of full",
            "poor (read as: below half)",
            None,
            0.5,
            max(to_disk["spsl"], to_disk["spdl"]) / to_disk["full"],
            "share",
            "each run of 4 bytes is a request to the disk here, and costs its latency; a file system's cache would gather some",
        ),
        Finding(
            "6.3, figure 9b",
            "SYS → DSK, AOS to SOA: simple as a share of full",
            "both efficient (read as: equal)",
            1.0,
            1.0,
            to_disk["simple"] / to_disk["full"],
            "share",
        ),
        Finding(
            "6.3, figure 9b",
            "AOS to SOA: simple as a share of full, where it is least",
            "reasonably well (read as: at least half)",
            0.5,
            None,
            worst,
            "share",
        ),
    )
