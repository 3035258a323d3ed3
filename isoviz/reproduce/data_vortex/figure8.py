"""Figure 8: breadth-first search by the rules of Graph500 (section VI)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.reproduce import Claim, Curves, Depends, by_column, experiment, under
from isoviz.reproduce.data_vortex.assumptions import (
    COLOURS,
    MPI,
    NODES,
    VICS,
    VortexAssumptions,
    costs_of,
    figures_of,
    messages_of,
    vics,
)
from isoviz.vortex.workloads import bfs, modelled_bfs

OF_A_NODE = 8
"""Each node has 2⁸ vertices: so the graph grows with the nodes, as in the paper."""


LARGE = 26
"""And 2²⁶ in the model: 16 edges of each take some 16 GB of a node, with what a search needs. The paper does not say how many."""


def gap(found: Any, nodes: int, of: str = "million") -> float:
    """Traversed edges a second on a Data Vortex over those by MPI; `of`: "million" or "modelled"."""
    rates = {row["network"]: row[of] for row in found if row["nodes"] == nodes}
    return float(rates[VICS] / rates[MPI])


def _gaps(found: Any, of: str = "million") -> list[float]:
    return [gap(found, nodes, of) for nodes in sorted({row["nodes"] for row in found})]


def widening(found: Any, of: str = "million") -> float:
    """How many times as far the Data Vortex is ahead with the most nodes as with the fewest."""
    few, *_, many = _gaps(found, of)
    return many / few


def _curves(of: str) -> Curves:
    nodes = by_column("nodes", of, by="network")
    return Curves(nodes, ("nodes", "number"), ("million traversed edges a second", "count"), COLOURS.__getitem__)


@experiment(
    "figure 8",
    "breadth-first search",
    section="VI",
    quick={"nodes": (2, 8), "keys": 1},
    claims=(
        Claim(
            "computed graphs: Data Vortex over MPI, least", "consistently higher", (1.0, None), lambda f: min(_gaps(f)), "times"
        ).because("2⁸ vertices for each node; with two nodes, half of all visits go in one message"),
        Claim("computed graphs: the same, most nodes over fewest", "the gap widens", (1.0, None), widening, "times").because(
            "the reference of Graph500 gathers visits to each node in a message, so that messages become shorter with more nodes;"
            " words of a Data Vortex do not"
        ),
        Claim(
            "large graphs, by the model: Data Vortex over MPI, least",
            "consistently higher",
            (1.0, None),
            lambda found: min(_gaps(found, "modelled")),
            "times",
        ).because("2²⁶ vertices for each node: messages are full, but nodes wait for each of them"),
        Claim(
            "large graphs, by the model: the same, most nodes over fewest",
            "the gap widens",
            (1.0, None),
            lambda found: widening(found, "modelled"),
            "times",
        ).because("a larger share of the visits leaves its node"),
    ),
    shows=(
        under("computed graphs", "a", _curves("million")),
        under("large graphs, by the model", "b", _curves("modelled")),
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
    """Traversed edges a second, in 10⁶, by network and nodes: of validated searches from some keys, their harmonic mean; and
    `modelled` of large graphs."""
    rows = []
    for number in nodes:
        scale = OF_A_NODE + number.bit_length() - 1
        large = modelled_bfs(number, LARGE - OF_A_NODE + scale, costs=costs_of(given), figures=figures_of(given))
        for network, make, rate in zip((VICS, MPI), (vics, messages_of), large, strict=True):
            with make(given, number) as system:
                found = bfs(system, scale, keys=keys).rate
            rows.append({"network": network, "nodes": number, "million": found / 1e6, "modelled": rate / 1e6})
    return rows
