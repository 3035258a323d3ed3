"""Figure 7: Fourier transforms, whose transpositions are in the delivery on a Data Vortex (section VI)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isoviz.machines.networks.vortex_shares import measured_share
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
from isoviz.vortex.workloads import TurnModel, fourier, modelled_fourier
from isoviz.vortex.workloads.distributed_transform import NETWORKS

POINTS, COMPUTED = 1 << 33, 1 << 16
"""Points of the paper, which are modelled, and those that are computed here."""


def gap(found: Any, nodes: int, of: str = "modelled") -> float:
    """Operations a second on a Data Vortex over those by MPI."""
    rates = {row["network"]: row[of] for row in found if row["nodes"] == nodes}
    return float(rates[VICS] / rates[MPI])


def _least(found: Any) -> float:
    return min(gap(found, row["nodes"]) for row in found)


def apart(found: Any) -> float:
    """The largest factor between what is modelled for few points and what their simulation gives."""
    return max(max(each, 1 / each) for each in (float(row["as modelled"] / row["computed"]) for row in found))


def _curves(of: str) -> Curves:
    return Curves(by_column("nodes", of, by="network"), ("nodes", "number"), ("Gflop/s", "count"), COLOURS.__getitem__)


@experiment(
    "figure 7",
    "Fourier transforms",
    section="VI",
    quick={"nodes": (2, 8, 32), "computed": 1 << 14},
    claims=(
        Claim("2³³ points, by the model: Data Vortex over MPI, least", "better", (1.0, None), _least, "times").because(
            "MPI moves faster, but the memory of its nodes copies all data twice for each transposition; a Data Vortex delivers"
            " them to their places"
        ),
        Claim(
            "2³³ points, by the model: Data Vortex over MPI, 32 nodes beside 2",
            "the gap increases",
            (1.0, None),
            lambda found: gap(found, 32) / gap(found, 2),
            "times",
        ).because("more of the data leave their nodes; of two nodes, half of the data stay"),
        Claim(
            lambda found: f"2^{found[0]['points'].bit_length() - 1} points on 32 nodes, simulated: Data Vortex over MPI",
            "no figure",
            None,
            lambda found: gap(found, 32, "computed"),
            "times",
        ).because(
            lambda found: (
                "so few points are messages of a few words, and latency decides. The model is at most"
                f" {apart(found):.2f} × off what was simulated"
            )
        ),
    ),
    shows=(under("2³³ points, by the model", "a", _curves("modelled")), under("few points, simulated", "b", _curves("computed"))),
    depends=(
        Depends(
            "figure 7: 2³³ points, 32 nodes, Data Vortex over MPI",
            "times",
            lambda found: gap(found, 32),
            "cycle latency message rendezvous",
            nodes=(32,),
            computed=1 << 10,
        ),
    ),
)
def figure7(given: VortexAssumptions, nodes: Sequence[int] = NODES, computed: int = COMPUTED) -> list[dict[str, Any]]:
    """Operations a second in 10⁹, by network and nodes: `modelled` for the paper's points; `computed` and verified for fewer, and
    the same `as modelled`."""
    costs, figures, share = costs_of(given), figures_of(given), measured_share("reproduce", *given.switch)
    systems: dict[str, Callable[..., Any]] = {VICS: vics, MPI: messages_of}
    rows = []
    for number in nodes:
        for (network, system), name in zip(systems.items(), NETWORKS, strict=True):
            model = TurnModel(name, number, costs, figures, share)
            with system(given, number) as running:
                rate = fourier(running, computed).rate
            rows.append(
                {
                    "network": network,
                    "nodes": number,
                    "points": computed,
                    "computed": rate / 1e9,
                    "as modelled": modelled_fourier(model, computed).rate / 1e9,
                    "modelled": modelled_fourier(model, POINTS).rate / 1e9,
                }
            )
    return rows
