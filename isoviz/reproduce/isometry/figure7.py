"""Figure 7: transfers of several hops, pipelined by Isometry, stored and forwarded by Realm (section 6.1); and table 5: direct
ones, which should be equal (section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.document import Quantity, times
from isoviz.reproduce import Bars, Claim, Columns, Depends, Group, Row, bars_of, experiment
from isoviz.reproduce.isometry.assumptions import Assumptions, sapling
from isoviz.reproduce.isometry.microbenchmarks import AOS, DIRECT, MULTI_HOP, Pair, hardware_limit, planned, throughputs
from isoviz.reproduce.plots import OURS, THEIRS

_COLUMNS = Columns(
    (
        ("transfer", "pair"),
        ("Isometry", "isometry", "rate"),
        ("Realm", "realm", "rate"),
        ("speedup", "speedup", "times"),
        ("hardware limit", "limit", "rate"),
        ("Isometry ÷ limit", lambda row: row["isometry"] / row["limit"], "share"),
    ),
    caption="Instances of 128 MiB",
)


def _fastest(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: float(row["speedup"]))


def _worst(rows: Sequence[Row]) -> Row:
    return min(rows, key=lambda row: float(row["isometry"] / row["limit"]))


def _apart(rows: Sequence[Row]) -> Row:
    return max(rows, key=lambda row: abs(float(row["speedup"]) - 1.0))


def _group(row: Row) -> Group:
    bars = bars_of(row, {"isometry": OURS, "realm": THEIRS}, "rate")
    return Group(row["pair"], f"limit {Quantity(row['limit'], 'rate')}", bars, times(row["speedup"]), row["limit"])


@experiment(
    "figure 7",
    "several hops, pipelined",
    section="6.1",
    claims=(
        Claim(
            lambda rows: f"largest speedup over Realm, several hops ({_fastest(rows)['pair']})",
            *("up to 2.2 ×", 2.2, lambda rows: _fastest(rows)["speedup"], "times"),
        ).because(
            "Realm's threads read from the GPU for all instances before they send the first one, so the first two hops add up."
            " The third overlaps with the second, since the other node's threads do it; the table of assumptions"
            " has the speedup without that overlap."
        ),
        Claim(
            lambda rows: f"least share of the hardware limit ({_worst(rows)['pair']})",
            *("near-optimal (read as: all of it)", 1.0, lambda rows: _worst(rows)["isometry"] / _worst(rows)["limit"], "share"),
        ),
    ),
    shows=(
        Bars(
            ((OURS, "Isometry"), (THEIRS, "Realm; full width: the hardware limit")),
            lambda rows: map(_group, rows),
            "speedup",
            "Throughput of transfers of several hops",
        ),
        _COLUMNS,
    ),
    depends=(
        Depends(
            *("figure 7: FBM → FBM*, speedup", "times", (0, "speedup")),
            "threads worker temporaries request_bytes latency",
            quick="threads",
            pairs=MULTI_HOP[:1],
        ),
    ),
)
def figure7(given: Assumptions, pairs: Sequence[Pair] = MULTI_HOP) -> list[dict[str, Any]]:
    """A pair of memories: bytes per second of both, and of the slowest channel that cannot be avoided."""
    return [_row(given, pair, "full", hardware_limit(sapling(given), pair)) for pair in pairs]


@experiment(
    "table 5",
    "the same over single channels",
    section="6",
    data=lambda rows: {"direct": rows},
    claims=(
        Claim(
            lambda rows: f"direct transfers: Isometry ÷ Realm, where it is furthest from 1 ({_apart(rows)['pair']})",
            *("the same bandwidth", 1.0, lambda rows: _apart(rows)["speedup"], "times"),
        ).because("both use the same throughput functions, so this tests only that neither model loses time elsewhere"),
    ),
    shows=(_COLUMNS,),
)
def table5(given: Assumptions) -> list[dict[str, Any]]:
    """Every kind of channel on its own."""
    limits = [max(each.peak for each in sapling(given).between(pair.source, pair.destination)) for pair in DIRECT]
    return [_row(given, pair, "direct", limit) for pair, limit in zip(DIRECT, limits, strict=True)]


def _row(given: Assumptions, pair: Pair, planner: str, limit: float) -> dict[str, Any]:
    machine = sapling(given)
    ours, theirs = throughputs(machine, pair, planned(machine, pair, planner, AOS), given)
    return {"pair": pair.label, "isometry": ours, "realm": theirs, "limit": limit, "speedup": ours / theirs}
