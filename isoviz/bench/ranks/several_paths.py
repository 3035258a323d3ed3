"""Several paths from one rank to another of the same host: directly, and through other ranks.

All paths share the memory and the processors of the host. So the figures say what proxies cost there, not what they gain: a gain
needs links of their own (`tests/ranks/test_several_hosts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isoviz.bench.aims import compared
from isoviz.bench.ranks.bench import Order, RankBench, rank_bench
from isoviz.layouts import FieldSpace, IndexSpace
from isoviz.planner import Plan, Transfer, plan, plan_of_paths
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.bench.ranks.bench import Way
    from isoviz.machines import Machine

MIB = 1 << 20
SIZES = (MIB, 64 * MIB)
DIRECT, RELAYED = "one path", "through one proxy"


def several_paths_on_rank(machine: Machine, order: Order) -> list[dict[str, Any]]:
    """From rank 0 to the last rank, between pageable and between registered memories. Every path has an equal share."""
    rows: list[dict[str, Any]] = []
    with rank_bench(machine, order) as rank:
        for nbytes in SIZES:
            for memory in ("sys", "reg") if nbytes <= order.nbytes else ():
                rows += _rows(rank, nbytes, memory, order.repeat)
    return rows


def _rows(rank: RankBench, nbytes: int, memory: str, repeat: int) -> list[dict[str, Any]]:
    last = rank.size - 1
    array = rank.array(memory, nbytes) if rank.rank in (0, last) else None
    ends = array, array if rank.rank == last else None
    here, there = f"node0.{memory}", f"node{last}.{memory}"
    moved = Transfer.whole(IndexSpace(x=nbytes), FieldSpace(v="u1"), here, "<F, x>", there, "<F, x>")
    proxied = [(here, f"node{proxy}.{memory}", there) for proxy in range(1, last)]

    def shared(ways: Sequence[tuple[str, ...]]) -> Plan:
        cuts = [nbytes * number // len(ways) for number in range(len(ways) + 1)]
        entries = [({"x": (cuts[number], cuts[number + 1])}, way) for number, way in enumerate(ways)]
        return rank.agreed(lambda: plan_of_paths(moved, rank.machine, entries))

    plans = {DIRECT: shared([(here, there)]), RELAYED: shared(proxied[:1])}
    for count in range(1, len(proxied) + 1):
        plans[f"{count + 1} paths"] = shared([(here, there), *proxied[:count]])
    chosen = rank.agreed(lambda: plan(moved, rank.machine, "multipath"))
    plans[f"`multipath`: {len(chosen.paths)} path{'s' * (len(chosen.paths) > 1)}"] = chosen
    ways: dict[str, Way] = {name: rank.submitted(made, *ends) for name, made in plans.items()}
    stored = f"{RELAYED}, stored and forwarded"
    ways[stored] = rank.submitted(plans[RELAYED], *ends, pipelined=False)
    times = rank.interleaved(ways, repeat)
    what = f"{format_bytes(nbytes)}, {memory.upper()} → {memory.upper()}*"
    return [
        *(
            compared("several paths", f"{what}, {name}", times, name, DIRECT, predicted=made.seconds)
            for name, made in plans.items()
            if name != DIRECT
        ),
        compared("several paths", f"{what}, {RELAYED}", times, RELAYED, stored, predicted=plans[RELAYED].seconds),
    ]
