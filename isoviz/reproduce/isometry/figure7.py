"""Figure 7: transfers of several hops, pipelined by Isometry, stored and forwarded by Realm (section 6.1); and direct ones,
which should be equal (section 6, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.reproduce.figure import OURS, THEIRS, Bar, Bars, Figure, Grid, Group, Section
from isoviz.reproduce.isometry.assumptions import sapling
from isoviz.reproduce.isometry.microbenchmarks import (
    AOS,
    DIRECT,
    MULTI_HOP,
    Pair,
    hardware_limit,
    isometry_throughput,
    planned,
    realm_throughput,
)
from isoviz.reproduce.statement import Statement, share, times
from isoviz.units import format_rate

if TYPE_CHECKING:
    from isoviz.reproduce.isometry.assumptions import Assumptions


@dataclass(frozen=True)
class PairThroughput:
    """A pair of memories: bytes per second of both, and of the slowest channel that cannot be avoided."""

    pair: Pair
    isometry: float
    realm: float
    limit: float

    @property
    def speedup(self) -> float:
        """Isometry's throughput as a multiple of Realm's."""
        return self.isometry / self.realm


def figure7(given: Assumptions, pairs: tuple[Pair, ...] = MULTI_HOP) -> tuple[PairThroughput, ...]:
    """Every pair of figure 7."""
    return tuple(_row(given, pair, "full") for pair in pairs)


def direct(given: Assumptions) -> tuple[PairThroughput, ...]:
    """Every kind of channel on its own."""
    return tuple(_row(given, pair, "direct") for pair in DIRECT)


def _row(given: Assumptions, pair: Pair, planner: str) -> PairThroughput:
    machine = sapling(given)
    ours = isometry_throughput(machine, planned(machine, pair, planner, AOS), given)
    direct = machine.between(pair.source, pair.destination) if planner == "direct" else ()
    limit = max((channel.peak for channel in direct), default=0.0) or hardware_limit(machine, pair)
    return PairThroughput(pair, ours, realm_throughput(machine, pair, given), limit)


def statements(rows: tuple[PairThroughput, ...], alone: tuple[PairThroughput, ...]) -> tuple[Statement, ...]:
    """Beside the paper."""
    best = max(rows, key=lambda row: row.speedup)
    worst = min(rows, key=lambda row: row.isometry / row.limit)
    apart = max(alone, key=lambda row: abs(row.speedup - 1.0))
    return (
        Statement(
            "6.1, figure 7",
            f"largest speedup over Realm, several hops ({best.pair.label})",
            "up to 2.2 ×",
            2.2,
            2.2,
            best.speedup,
            "times",
            "Realm's threads read from the GPU for all instances before they send the first one, so the first two hops add up."
            " The third overlaps with the second, since the other node's threads do it; the table of assumptions"
            " has the speedup without that overlap.",
        ),
        Statement(
            "6.1, figure 7",
            f"least share of the hardware limit ({worst.pair.label})",
            "near-optimal (read as: all of it)",
            1.0,
            1.0,
            worst.isometry / worst.limit,
            "share",
        ),
        Statement(
            "6, table 5",
            f"direct transfers: Isometry ÷ Realm, where it is furthest from 1 ({apart.pair.label})",
            "the same bandwidth",
            1.0,
            1.0,
            apart.speedup,
            "times",
            "both use the same throughput functions, so this tests only that neither model loses time elsewhere",
        ),
    )


def section(rows: tuple[PairThroughput, ...], alone: tuple[PairThroughput, ...], given: Assumptions) -> Section:
    """Shares of the hardware limit, and the numbers of direct transfers as well."""
    groups = [
        Group(
            row.pair.label,
            f"limit {format_rate(row.limit)}",
            (Bar(((OURS, row.isometry),), format_rate(row.isometry)), Bar(((THEIRS, row.realm),), format_rate(row.realm))),
            times(row.speedup),
            row.limit,
        )
        for row in rows
    ]
    legend = ((OURS, "Isometry"), (THEIRS, "Realm; full width: the hardware limit"))
    bars = Bars(groups, legend, title="Throughput of transfers of several hops", right="speedup")
    instances = f"{given.instances} instances of 128 MiB"
    grids = (
        _grid(rows, f"Figure 7: {instances}, several hops", instances),
        _grid(alone, "Table 5: the same over single channels", "Direct transfers: both are equal"),
    )
    return Section("Figure 7: several hops, pipelined", (Figure("figure7", bars, grids),))


def _grid(rows: tuple[PairThroughput, ...], title: str, caption: str) -> Grid:
    return Grid(
        title,
        ("transfer", "Isometry", "Realm", "speedup", "hardware limit", "Isometry ÷ limit"),
        [
            (
                row.pair.label,
                format_rate(row.isometry),
                format_rate(row.realm),
                times(row.speedup),
                format_rate(row.limit),
                share(row.isometry / row.limit),
            )
            for row in rows
        ],
        caption=caption,
    )
