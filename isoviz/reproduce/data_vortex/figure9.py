"""Figure 9: applications, and what aggregation and restructuring contribute (section VII)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from isoviz.machines.networks.vortex_shares import measured_share
from isoviz.reproduce import Bars, Claim, Columns, Depends, Group, bars_of, experiment
from isoviz.reproduce.data_vortex.assumptions import MPI, VortexAssumptions, costs_of, figures_of, messages_of, vics
from isoviz.vortex import System
from isoviz.vortex.workloads import TurnModel, heat, modelled_vorticity, sweep, vorticity
from isoviz.vortex.workloads.distributed_transform import NETWORKS

PLAIN, AGGREGATED, RESTRUCTURED = "plain port", "aggregated", "restructured"
WAYS: Mapping[str, Mapping[str, Any]] = {
    PLAIN: {"aggregated": False, "restructured": False},
    AGGREGATED: {"restructured": False},
    RESTRUCTURED: {},
}
SNAP, HEAT = "SNAP", "Heat"
_BARS = {MPI: "predicted", AGGREGATED: "dim0", RESTRUCTURED: "measured"}
COLOURS = {MPI: "predicted", PLAIN: "dim1", AGGREGATED: "dim0", RESTRUCTURED: "measured"}
_LATENCY = (
    "a message of MPI takes 1.3 µs here, and a word between programs on VICs about 2 µs: where nodes wait for each other, these"
    " cannot be far ahead. What MPI cost on the paper's nodes beyond this is not in its text"
)


def speedup(found: Any, application: str, way: str, over: str = MPI) -> float:
    """How many times as fast an application is by a way as by another one."""
    return float(found[application][over] / found[application][way])


def _speedup(application: str, way: str, over: str = MPI) -> Callable[[Any], float]:
    return lambda found: speedup(found, application, way, over)


_COLUMNS = (("problem", "problem"), ("way", "way"), ("time", "seconds", "seconds"), ("speedup over MPI", "speedup", "times"))


def _rows(found: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    return [
        {"problem": name, "way": way, "seconds": seconds, "speedup": row[MPI] / seconds}
        for name, row in found.items()
        for way, seconds in row.items()
    ]


@experiment(
    "figure 9",
    "applications on 32 nodes",
    section="VII",
    quick={"nodes": 4, "points": 8, "cells": (2, 4, 4)},
    claims=(
        Claim("SNAP, aggregated: speedup", "1.19 ×", 1.19, _speedup(SNAP, AGGREGATED), "times", full=True).because(
            "the size of the paper's problem is not in its text, and it decides: see what directions do. A message of MPI that is"
            " asked for waits for its receiver, and words of a Data Vortex do not"
        ),
        Claim("SNAP, plain port: speedup", "not good", (None, 1.0), _speedup(SNAP, PLAIN), "times").because(
            "faces go word by word over PCI Express"
        ),
        Claim(
            "SNAP, aggregated over plain port", "improved considerably", (1.5, None), _speedup(SNAP, AGGREGATED, PLAIN), "times"
        ).because("faces go over PCI Express by DMA, and both together; half as fast again is taken as considerable"),
        Claim(
            "Heat, restructured: speedup", "2.46 × or 3.41 ×", (2.46, 3.41), _speedup(HEAT, RESTRUCTURED), "times", full=True
        ).because(
            lambda found: (
                f"{_LATENCY}. Aggregation gives {speedup(found, HEAT, AGGREGATED, PLAIN):.2f} ×, and restructuring"
                f" {speedup(found, HEAT, RESTRUCTURED, AGGREGATED):.2f} × more"
            )
        ),
        Claim(
            "Heat, restructured, over SNAP, aggregated: speedups",
            "restructuring gains more",
            (1.0, None),
            lambda found: speedup(found, HEAT, RESTRUCTURED) / speedup(found, SNAP, AGGREGATED),
            "times",
            full=True,
        ),
    ),
    shows=(
        Bars(
            [(token, way) for way, token in COLOURS.items()],
            lambda found: [
                Group(name, "", bars_of(row, COLOURS, "seconds"), full=max(row.values())) for name, row in found.items()
            ],
        ),
        Columns(_COLUMNS, _rows),
    ),
    depends=(
        Depends(
            "figure 9: SNAP on 8 nodes, aggregated: speedup",
            "times",
            _speedup(SNAP, AGGREGATED),
            "angles latency start mpi_latency rendezvous",
            nodes=8,
            points=8,
            cells=(4, 8, 16),
        ),
        Depends(
            "figure 9: Heat on 8 nodes, restructured: speedup",
            "times",
            _speedup(HEAT, RESTRUCTURED),
            "latency start processes mpi_latency message",
            nodes=8,
            points=16,
            cells=(2, 4, 4),
        ),
    ),
)
def figure9(
    given: VortexAssumptions, nodes: int = 32, points: int = 32, cells: tuple[int, int, int] = (8, 16, 16)
) -> dict[str, dict[str, float]]:
    """Seconds of each application by MPI and on a Data Vortex, by way. All results are verified."""
    runs: dict[str, Callable[..., Any]] = {
        SNAP: lambda system, **way: sweep(system, cells, angles=given.angles, **way),
        HEAT: lambda system, **way: heat(system, (points,) * 3, **way),
    }

    def seconds(run: Callable[..., Any], system: System, way: Mapping[str, Any]) -> float:
        with system:
            return float(run(system, **way).seconds)

    return {
        name: {MPI: seconds(run, messages_of(given, nodes), {"processes": given.processes} if name == HEAT else {})}
        | {way: seconds(run, vics(given, nodes), options) for way, options in WAYS.items()}
        for name, run in runs.items()
    }


SIDE = 128
"""Points of a side of what is computed."""
_MODELLED = "modelled "


def _problems(found: Mapping[str, float]) -> dict[str, dict[str, float]]:
    names = {f"{found['computed']}², simulated": "", f"{found['side']:,}², by the model": _MODELLED}
    return {name: {way: found[before + way] for way in _BARS} for name, before in names.items()}


@experiment(
    "figure 9b",
    "vorticity on 32 nodes",
    section="VII",
    quick={"nodes": 8, "side": 32},
    claims=(
        Claim(
            lambda found: f"Vorticity, {found['side']:,}², by the model, restructured: speedup",
            "2.46 × or 3.41 ×",
            (2.46, 3.41),
            lambda found: found[_MODELLED + MPI] / found[_MODELLED + RESTRUCTURED],
            "times",
        ).because(
            lambda found: (
                "transpositions in the delivery give"
                f" {found[_MODELLED + MPI] / found[_MODELLED + AGGREGATED]:.2f} ×, and one for each transform, not two,"
                f" {found[_MODELLED + AGGREGATED] / found[_MODELLED + RESTRUCTURED]:.2f} × more. The paper's text has no size"
            )
        ),
        Claim(
            "Vorticity, 128², simulated, restructured: speedup",
            "2.46 × or 3.41 ×",
            (2.46, 3.41),
            lambda found: found[MPI] / found[RESTRUCTURED],
            "times",
            full=True,
        ).assumed("so small a problem was taken that it can be computed; the size decides, as short messages of MPI cost most"),
    ),
    shows=(
        Bars(
            [(token, way) for way, token in _BARS.items()],
            lambda found: [
                Group(name, "", bars_of(row, _BARS, "seconds"), full=row[MPI]) for name, row in _problems(found).items()
            ],
        ),
        Columns(_COLUMNS, lambda found: _rows(_problems(found))),
    ),
    depends=(
        Depends(
            "figure 9: Vorticity by the model, restructured: speedup",
            "times",
            lambda found: found[_MODELLED + MPI] / found[_MODELLED + RESTRUCTURED],
            "side cycle latency start message",
            side=32,
        ),
    ),
)
def figure9b(given: VortexAssumptions, nodes: int = 32, side: int = SIDE) -> dict[str, float]:
    """Seconds by way: of two steps, simulated and verified, and of one that is modelled for the assumed side. MPI turns fields
    back after each transform."""
    found: dict[str, float] = {"computed": side, "side": given.side}
    share = measured_share("reproduce", *given.switch)
    for way, make, network, restructured in (
        (MPI, messages_of, NETWORKS[1], False),
        (AGGREGATED, vics, NETWORKS[0], False),
        (RESTRUCTURED, vics, NETWORKS[0], True),
    ):
        with make(given, nodes) as system:
            found[way] = vorticity(system, side, 2, restructured=restructured).seconds
        model = TurnModel(network, nodes, costs_of(given), figures_of(given), share)
        found[_MODELLED + way] = modelled_vorticity(model, given.side, restructured=restructured).seconds
    return found
