"""Figure 4: barriers of 2 to 32 nodes (section V)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isoviz.reproduce import Claim, Curves, Depends, by_column, experiment
from isoviz.reproduce.data_vortex.assumptions import COLOURS, MPI, NODES, VICS, VortexAssumptions, messages_of, vics
from isoviz.vortex.workloads import barrier

FAST = "Fast Barrier"


def seconds(found: Any, way: str, nodes: int) -> float:
    """Seconds of a barrier."""
    return next(float(row["seconds"]) for row in found if (row["way"], row["nodes"]) == (way, nodes))


def growth(way: str, low: int = 2, high: int = 32) -> Callable[[Any], float]:
    """How many times as long a barrier of `high` nodes takes as one of `low` nodes."""
    return lambda found: seconds(found, way, high) / seconds(found, way, low)


def _kink(found: Any) -> float:
    """What a doubling beyond 8 nodes adds, over what one up to 8 adds."""
    beyond = (seconds(found, MPI, 32) - seconds(found, MPI, 8)) / 2
    return beyond / ((seconds(found, MPI, 8) - seconds(found, MPI, 2)) / 2)


@experiment(
    "figure 4",
    "barriers",
    section="V",
    quick={"times": 3},
    claims=(
        Claim("Data Vortex, 32 nodes over 2", "does not vary much", (None, 1.25), growth(VICS), "times").because(
            "PCI Express takes 1 µs, and packets through the switch the rest; up to a quarter is taken as not much"
        ),
        Claim("Fast Barrier, 32 nodes over 2", "does not vary much", (None, 1.5), growth(FAST), "times").because(
            "each node writes 32 words to its card, 0.4 µs; the figure is lost, and half as much again is taken as not much"
        ),
        Claim("MPI, 32 nodes over 2", "increases considerably", (2.0, None), growth(MPI), "times").because(
            "log₂ n steps with a short message each; twice as long counts as considerable"
        ),
        Claim(
            "MPI, 32 nodes: over the Data Vortex",
            "Data Vortex is faster",
            (1.0, None),
            lambda f: seconds(f, MPI, 32) / seconds(f, VICS, 32),
            "times",
        ),
        Claim(
            "MPI: what a doubling beyond 8 nodes adds over one up to 8", "especially beyond 8", (1.25, None), _kink, "times"
        ).because("a step costs the same at any size, so that this kink does not come out; the paper names no cause"),
    ),
    shows=(
        Curves(
            by_column("nodes", "seconds", by="way"),
            ("nodes", "number"),
            ("time of a barrier", "seconds"),
            (COLOURS | {FAST: "dim1"}).__getitem__,
        ),
    ),
    depends=(
        Depends(
            "figure 4: Data Vortex, 32 nodes over 2", "times", growth(VICS), "latency turn switch cycle", quick="turn", times=2
        ),
        Depends(
            "figure 4: Data Vortex, 32 nodes",
            "seconds",
            lambda found: seconds(found, VICS, 32),
            "latency turn switch cycle",
            times=2,
        ),
        Depends("figure 4: Fast Barrier, 32 nodes over 2", "times", growth(FAST), "latency cached switch cycle", times=2),
        Depends(
            "figure 4: MPI over the Data Vortex, 32 nodes",
            "times",
            lambda f: seconds(f, MPI, 32) / seconds(f, VICS, 32),
            "latency mpi_latency message",
            times=2,
        ),
    ),
)
def figure4(given: VortexAssumptions, nodes: Sequence[int] = NODES, times: int = 10) -> list[dict[str, Any]]:
    """Mean seconds of a barrier, by way and nodes."""
    rows = []
    for number in nodes:
        for name, way in ((VICS, "intrinsic"), (FAST, "all to all")):
            with vics(given, number) as system:
                rows.append({"way": name, "nodes": number, "seconds": barrier(system, times, way).seconds})
        with messages_of(given, number) as system:
            rows.append({"way": MPI, "nodes": number, "seconds": barrier(system, times).seconds})
    return rows
