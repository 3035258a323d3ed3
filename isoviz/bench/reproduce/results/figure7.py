"""Figure 7: transfers of several hops, pipelined by Isometry, stored and forwarded by Realm (section 6.1); and direct ones,
which should be equal (section 6, table 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.bench.reproduce.assumptions import sapling
from isoviz.bench.reproduce.driving import hardware_limit, isometry_throughput, planned, realm_throughput
from isoviz.bench.reproduce.findings import Finding
from isoviz.bench.reproduce.patterns import AOS, DIRECT, MULTI_HOP, Pair

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions


@dataclass(frozen=True)
class Row:
    """A pair of memories: bytes per second of both, and of the slowest channel that cannot be avoided."""

    pair: Pair
    isometry: float
    realm: float
    limit: float

    @property
    def speedup(self) -> float:
        """Isometry's throughput as a multiple of Realm's."""
        return self.isometry / self.realm


def figure7(given: Assumptions, pairs: tuple[Pair, ...] = MULTI_HOP) -> tuple[Row, ...]:
    """Every pair of figure 7."""
    return tuple(_row(given, pair, "full") for pair in pairs)


def direct(given: Assumptions) -> tuple[Row, ...]:
    """Every kind of channel on its own."""
    return tuple(_row(given, pair, "direct") for pair in DIRECT)


def _row(given: Assumptions, pair: Pair, planner: str) -> Row:
    machine = sapling(given)
    ours = isometry_throughput(machine, planned(machine, pair, planner, AOS), given)
    direct = machine.between(pair.source, pair.destination) if planner == "direct" else ()
    limit = max((channel.peak for channel in direct), default=0.0) or hardware_limit(machine, pair)
    return Row(pair, ours, realm_throughput(machine, pair, given), limit)


def findings(rows: tuple[Row, ...], alone: tuple[Row, ...]) -> tuple[Finding, ...]:
    """Beside the paper."""
    best = max(rows, key=lambda row: row.speedup)
    worst = min(rows, key=lambda row: row.isometry / row.limit)
    apart = max(alone, key=lambda row: abs(row.speedup - 1.0))
    return (
        Finding(
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
        Finding(
            "6.1, figure 7",
            f"least share of the hardware limit ({worst.pair.label})",
            "near-optimal (read as: all of it)",
            1.0,
            1.0,
            worst.isometry / worst.limit,
            "share",
        ),
        Finding(
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
