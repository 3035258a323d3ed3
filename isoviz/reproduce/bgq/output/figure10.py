"""Figures 10 and 11: the sizes of 1,024 processes in both patterns, and the bytes of all workloads (section 6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoviz.reproduce.bgq.output.workloads import MOST, RANKS, Hacc, Pareto, Uniform
from isoviz.reproduce.figure import OURS, Bar, Bars, Figure, Grid, Group, Section
from isoviz.reproduce.statement import Statement, share
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions
    from isoviz.reproduce.bgq.output.workloads import Bytes, Workload

PROCESSES = 1024
BINS = 16
FEWEST, LARGEST = 128, 8192
"""Nodes: 2,048 and 131,072 cores."""
SIDES = 768, 2816
"""Particles along a side on the fewest nodes and on the most (section 6.2)."""


def workloads(nodes: int, given: BgqAssumptions) -> dict[str, Workload]:
    """The three workloads of a partition, by name. The particles of HACC grow evenly, in logarithms, with the nodes."""
    grown = np.log(nodes / FEWEST) / np.log(LARGEST / FEWEST)
    side = round(SIDES[0] * (SIDES[1] / SIDES[0]) ** grown)
    return {
        "pattern 1": Uniform(nodes, given.pattern_share),
        "pattern 2": Pareto(nodes, given.exponent),
        "HACC I/O": Hacc(nodes, side),
    }


def samples(given: BgqAssumptions) -> dict[str, Bytes]:
    """The sizes of 1,024 processes that all take part, by pattern."""
    nodes = PROCESSES // RANKS
    return {
        "pattern 1": Uniform(nodes, 1.0).rank_bytes(),
        "pattern 2": Pareto(nodes, given.exponent).rank_bytes(),
    }


def statements(given: BgqAssumptions) -> tuple[Statement, ...]:
    """Beside the paper."""
    dense = {name: float(sizes.sum()) / (PROCESSES * MOST) for name, sizes in samples(given).items()}
    totals = [
        {name: float(each.rank_bytes().sum()) for name, each in workloads(nodes, given).items()} for nodes in (FEWEST, LARGEST)
    ]
    few = (
        "10 % of the nodes with 16 ranks of up to 8 MB write this. 8 GB is what all ranks write, and then 550 GB on 131,072"
        " cores. The numbers of the paper do not go together; isoviz takes the distribution and the 10 % from its text"
    )
    half = "the paper's bytes grow 35 times on 64 times as many cores; ours grow with the cores"
    rows = (
        ("pattern 1", 0, 8e9, few),
        ("pattern 1", 1, 274e9, few),
        ("pattern 2", 0, 3.4e9, ""),
        ("pattern 2", 1, 119e9, half),
        ("HACC I/O", 0, 2e9, "38 bytes a particle, as in the benchmark; 1.5 to 2.5 GB are 2 GB when rounded"),
        ("HACC I/O", 1, 85e9, "38 bytes a particle, as in the benchmark"),
    )
    return (
        Statement("6.1, figure 10", "pattern 1: bytes of dense data", "50 %", 0.5, 0.5, dense["pattern 1"], "share"),
        Statement(
            *("6.1, figure 11", "pattern 2: bytes of dense data", "20 %", 0.2, 0.2, dense["pattern 2"], "share"),
            "the mean of the distribution is set to it",
            given=True,
        ),
        *(
            Statement(
                "6.2" if name == "HACC I/O" else "6.1",
                f"{name}: bytes on {131072 if largest else 2048:,} cores",
                f"{paper / 1e9:g} GB",
                1.5e9 if paper == 2e9 else paper,
                2.5e9 if paper == 2e9 else paper,
                totals[largest][name],
                "size",
                why,
            )
            for name, largest, paper, why in rows
        ),
    )


def section(given: BgqAssumptions) -> Section:
    """Both histograms."""
    figures = []
    for number, (name, sizes) in enumerate(samples(given).items(), 10):
        counts = np.histogram(sizes, BINS, (0, MOST))[0].tolist()
        edges = [format_bytes(MOST * k / BINS) for k in range(BINS + 1)]
        ranges = [f"{edges[k]} to {edges[k + 1]}" for k in range(BINS)]
        groups = [
            Group(text, "", (Bar(((OURS, float(count)),), f"{count}"),)) for text, count in zip(ranges, counts, strict=True)
        ]
        title = f"Figure {number}: {name}, sizes of {PROCESSES:,} processes"
        rows = [(text, f"{count}", share(count / PROCESSES)) for text, count in zip(ranges, counts, strict=True)]
        grid = Grid(title, ("size", "processes", "share"), rows)
        figures.append(
            Figure(f"figure{number}", Bars(groups, ((OURS, "processes"),), title), (grid,), f"Figure {number}: {name}")
        )
    return Section("Figures 10 and 11: sizes", figures)
