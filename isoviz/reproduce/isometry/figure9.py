"""Figure 9: the paths that the planners find, without and with a conversion from AOS to SOA (section 6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.reproduce.figure import OURS, Bar, Bars, Figure, Grid, Group, Section
from isoviz.reproduce.isometry.assumptions import sapling
from isoviz.reproduce.isometry.microbenchmarks import AOS, PLANNED, SOA, Pair, isometry_throughput, planned
from isoviz.reproduce.statement import Statement, times
from isoviz.units import format_rate

if TYPE_CHECKING:
    from isoviz.reproduce.isometry.assumptions import Assumptions

PLANNERS = ("full", "simple", "spsl", "spdl")
WITHOUT = ("full", "simple")
"""Without a conversion all shortest paths are the same."""
_COLOURS = {"full": OURS, "simple": "dim0", "spsl": "dim1", "spdl": "dim4"}


@dataclass(frozen=True)
class PlannerThroughput:
    """A pair of memories: bytes per second and path by planner."""

    pair: Pair
    throughput: dict[str, float]
    paths: dict[str, tuple[str, ...]]


def figure9(given: Assumptions, *, converting: bool, pairs: tuple[Pair, ...] = PLANNED) -> tuple[PlannerThroughput, ...]:
    """Figure 9a, or 9b where `converting`."""
    machine = sapling(given)
    rows = []
    for pair in pairs:
        plans = {name: planned(machine, pair, name, SOA if converting else AOS) for name in (PLANNERS if converting else WITHOUT)}
        rates = {name: isometry_throughput(machine, plan, given) for name, plan in plans.items()}
        rows.append(PlannerThroughput(pair, rates, {name: plan.memories for name, plan in plans.items()}))
    return tuple(rows)


def statements(plain: tuple[PlannerThroughput, ...], converted: tuple[PlannerThroughput, ...]) -> tuple[Statement, ...]:
    """Beside the paper."""
    by_label = {row.pair.label: row.throughput for row in plain}
    network, disk = by_label["SYS → SYS*"], by_label["FBM → DSK"]
    to_disk = {row.pair.label: row.throughput for row in converted}["SYS → DSK"]
    worst = min(rates["simple"] / rates["full"] for rates in (row.throughput for row in converted))
    return (
        Statement(
            "6.3, figure 9a",
            "SYS → SYS*: full (through REG) against simple",
            "17 % faster",
            1.17,
            1.17,
            network["full"] / network["simple"],
            "times",
        ),
        Statement(
            "6.3, figure 9a", "FBM → DSK: full against simple", "the same", 1.0, 1.0, disk["full"] / disk["simple"], "times"
        ),
        Statement(
            "6.3, figure 9b",
            "SYS → DSK, AOS to SOA: the better of SPSL and SPDL as a share of full",
            "poor (read as: below half)",
            None,
            0.5,
            max(to_disk["spsl"], to_disk["spdl"]) / to_disk["full"],
            "share",
            "each run of 4 bytes is a request to the disk here, and costs its latency; a file system's cache would gather some",
        ),
        Statement(
            "6.3, figure 9b",
            "SYS → DSK, AOS to SOA: simple as a share of full",
            "both efficient (read as: equal)",
            1.0,
            1.0,
            to_disk["simple"] / to_disk["full"],
            "share",
        ),
        Statement(
            "6.3, figure 9b",
            "AOS to SOA: simple as a share of full, where it is least",
            "reasonably well (read as: at least half)",
            0.5,
            None,
            worst,
            "share",
        ),
    )


def section(plain: tuple[PlannerThroughput, ...], converted: tuple[PlannerThroughput, ...]) -> Section:
    """Throughput by planner, full's being the full width."""
    return Section(
        "Figure 9: planners",
        (
            Figure(
                "figure9a",
                _picture(plain, "Throughput by planner, no conversion"),
                (_grid("Figure 9a: no conversion", plain, WITHOUT),),
                "Without a conversion",
            ),
            Figure(
                "figure9b",
                _picture(converted, "Throughput by planner, AOS to SOA"),
                (_grid("Figure 9b: AOS to SOA", converted, PLANNERS),),
                "AOS to SOA",
            ),
        ),
    )


def _picture(rows: tuple[PlannerThroughput, ...], title: str) -> Bars:
    groups = [
        Group(
            row.pair.label,
            "",
            tuple(Bar(((_COLOURS[name], rate),), f"{format_rate(rate)}") for name, rate in row.throughput.items()),
            times(row.throughput["full"] / row.throughput["simple"]),
            row.throughput["full"],
        )
        for row in rows
    ]
    legend = [(_COLOURS[name], name) for name in rows[0].throughput]
    return Bars(groups, legend, title=title, right="full ÷ simple")


def _grid(title: str, rows: tuple[PlannerThroughput, ...], names: tuple[str, ...]) -> Grid:
    return Grid(
        title,
        ("transfer", "full's path", *names),
        [
            (
                row.pair.label,
                " → ".join(map(_short, row.paths["full"])),
                *(format_rate(row.throughput[name]) for name in names),
            )
            for row in rows
        ],
        2,
    )


def _short(memory: str) -> str:
    """The name of a memory in the paper's figures; `*` is the other node."""
    node, _, name = memory.partition(".")
    return name.rstrip("0123456789").upper() + "*" * (node != "node0")
