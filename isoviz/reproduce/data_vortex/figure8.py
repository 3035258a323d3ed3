"""Figure 8: breadth-first search by the rules of Graph500 (section VI)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.reproduce import Claim, Curves, Depends, by_column, experiment
from isoviz.reproduce.data_vortex.assumptions import COLOURS, MPI, NODES, VICS, VortexAssumptions, messages_of, vics
from isoviz.vortex.workloads import bfs

OF_A_NODE = 8
"""Each node has 2⁸ vertices: so the graph grows with the nodes, as in the paper."""


def gap(found: Any, nodes: int) -> float:
    """Traversed edges a second on a Data Vortex over those by MPI."""
    rates = {row["network"]: row["million"] for row in found if row["nodes"] == nodes}
    return float(rates[VICS] / rates[MPI])


def _nodes(found: Any) -> list[int]:
    return sorted({row["nodes"] for row in found})


def _least(found: Any) -> float:
    return min(gap(found, nodes) for nodes in _nodes(found))


def widening(found: Any) -> float:
    """How many times as far the Data Vortex is ahead with the most nodes as with the fewest."""
    few, *_, many = _nodes(found)
    return gap(found, many) / gap(found, few)


@experiment(
    "figure 8",
    "breadth-first search",
    section="VI",
    quick={"nodes": (2, 8), "keys": 1},
    claims=(
        Claim("Data Vortex over MPI, least", "consistently higher", (1.0, None), _least, "times").because(
            "graphs of 2⁸ vertices for each node, searched and validated; the paper's fill the memory of all nodes"
        ),
        Claim("Data Vortex over MPI: most nodes over fewest", "the gap widens", (1.0, None), widening, "times").because(
            "the reference of Graph500 gathers visits to each node in a message, so that messages become shorter with more nodes;"
            " words of a Data Vortex do not"
        ),
    ),
    shows=(
        Curves(
            by_column("nodes", "million", by="network"),
            ("nodes", "number"),
            ("million traversed edges a second", "count"),
            COLOURS.__getitem__,
        ),
    ),
    depends=(
        Depends(
            "figure 8: 8 nodes, Data Vortex over MPI",
            "times",
            lambda found: gap(found, 8),
            "latency start mpi_latency message",
            nodes=(8,),
            keys=1,
        ),
    ),
)
def figure8(given: VortexAssumptions, nodes: Sequence[int] = NODES, keys: int = 2) -> list[dict[str, Any]]:
    """Traversed edges a second of validated searches, by network and nodes; the harmonic mean over some keys."""
    rows = []
    for number in nodes:
        scale = OF_A_NODE + number.bit_length() - 1
        for network, system in ((VICS, vics(given, number)), (MPI, messages_of(given, number))):
            with system:
                rate = bfs(system, scale, keys=keys).rate
            rows.append({"network": network, "nodes": number, "scale": scale, "million": rate / 1e6})
    return rows
