"""Figure 6: random updates of a table that is spread over all nodes, GUPS (section VI)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isoviz.document import change
from isoviz.reproduce import Claim, Curves, Depends, by_column, experiment, under
from isoviz.reproduce.data_vortex.assumptions import COLOURS, MPI, NODES, VICS, VortexAssumptions, messages_of, vics
from isoviz.vortex import System, gups

UPDATES = (4096, 12288)
"""Updates of a node in two runs. Their difference is free of what begins and ends a run."""


def rate(found: Any, network: str, nodes: int) -> float:
    """Updates per second and node."""
    return next(float(row["rate"]) for row in found if (row["network"], row["nodes"]) == (network, nodes))


def drop(network: str, low: int, high: int) -> Callable[[Any], float]:
    """The change of the rate of a node from `low` to `high` nodes."""
    return lambda found: rate(found, network, high) / rate(found, network, low) - 1


def gap(found: Any, nodes: int) -> float:
    """Updates on a Data Vortex over those by MPI."""
    return rate(found, VICS, nodes) / rate(found, MPI, nodes)


def _remote(low: int, high: int) -> str:
    """The change that the share of remote updates alone gives."""
    return change((1 - 1 / low) / (1 - 1 / high) - 1)


@experiment(
    "figure 6",
    "random updates (GUPS)",
    section="VI",
    quick={"updates": (1024, 3072)},
    claims=(
        Claim(
            "Data Vortex, 4 to 8 nodes: updates a second and node", "a reduction", (None, 0.0), drop(VICS, 4, 8), "change"
        ).because(f"the share of remote updates alone gives {_remote(4, 8)}, if only they took time"),
        Claim(
            "Data Vortex, 32 nodes over 8: updates a second and node",
            "constant",
            1.0,
            lambda f: rate(f, VICS, 32) / rate(f, VICS, 8),
            "times",
        ).because(f"the share of remote updates alone gives {_remote(8, 16)} and {_remote(16, 32)}"),
        Claim(
            "MPI, 32 nodes over 4: updates a second and node",
            "decreases constantly",
            (None, 0.75),
            lambda f: rate(f, MPI, 32) / rate(f, MPI, 4),
            "times",
        ).because(
            "1,024 updates that may be looked ahead are messages of 1,024 / n; three quarters is taken as a clear decrease"
        ),
        Claim("32 nodes: Data Vortex over MPI", "much higher", (1.5, None), lambda found: gap(found, 32), "times"),
        Claim(
            "what is ahead at 32 nodes over what is at 4",
            "the gap increases",
            (1.0, None),
            lambda f: gap(f, 32) / gap(f, 4),
            "times",
        ),
    ),
    shows=(
        under(
            "per node",
            "a",
            Curves(
                by_column("nodes", "million", by="network"),
                ("nodes", "number"),
                ("million updates a second and node", "count"),
                COLOURS.__getitem__,
            ),
        ),
        under(
            "all nodes",
            "b",
            Curves(
                by_column("nodes", "all", by="network"),
                ("nodes", "number"),
                ("million updates a second", "count"),
                COLOURS.__getitem__,
            ),
        ),
    ),
    depends=(
        Depends(
            "figure 6: 32 nodes over 4, MPI",
            "times",
            lambda f: rate(f, MPI, 32) / rate(f, MPI, 4),
            "mpi_latency message rendezvous eager",
            nodes=(4, 32),
            updates=(1024, 2048),
        ),
        Depends(
            "figure 6: 32 nodes over 8, Data Vortex",
            "times",
            lambda f: rate(f, VICS, 32) / rate(f, VICS, 8),
            "switch cycle latency start",
            nodes=(8, 32),
            updates=(1024, 2048),
        ),
        Depends(
            "figure 6: 32 nodes, Data Vortex over MPI",
            "times",
            lambda found: gap(found, 32),
            "switch cycle latency start mpi_latency message",
            nodes=(32,),
            updates=(1024, 2048),
        ),
    ),
)
def figure6(given: VortexAssumptions, nodes: Sequence[int] = NODES[1:], updates: Sequence[int] = UPDATES) -> list[dict[str, Any]]:
    """Updates a second and node, by network and nodes: between two numbers of updates of a node."""
    rows = []
    for number in nodes:
        for network, system in ((VICS, vics), (MPI, messages_of)):
            few, many = (_seconds(system(given, number), each) for each in updates)
            found = (updates[1] - updates[0]) / (many - few)
            rows.append({"network": network, "nodes": number, "rate": found, "million": found / 1e6, "all": found * number / 1e6})
    return rows


def _seconds(system: System, updates: int) -> float:
    with system:
        return gups(system, updates).seconds
