"""Figures 10 and 11: the sizes of 1,024 processes in both patterns, and the bytes of all workloads (section 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.reproduce import Bars, Claim, Columns, Group, Row, Shown, bars_of, experiment
from isoviz.reproduce.bgq.workloads import MOST, RANKS, Hacc, Pareto, Uniform
from isoviz.reproduce.plots import OURS
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions
    from isoviz.reproduce.bgq.workloads import Workload

PROCESSES = 1024
BINS = 16
FEWEST, LARGEST = 128, 8192
"""Nodes: 2,048 and 131,072 cores."""
SIDES = 768, 2816
"""Particles along a side on the fewest nodes and on the most (section 6.2)."""
_FEW = (
    "10 % of the nodes with 16 ranks of up to 8 MB write this. 8 GB is what all ranks write, and then 550 GB on 131,072"
    " cores. The numbers of the paper do not go together; isoviz takes the distribution and the 10 % from its text"
)
_PARTICLE = "38 bytes a particle, as in the benchmark"


def workloads(nodes: int, given: BgqAssumptions) -> dict[str, Workload]:
    """The three workloads of a partition, by name. The particles of HACC grow evenly, in logarithms, with the nodes."""
    grown = np.log(nodes / FEWEST) / np.log(LARGEST / FEWEST)
    side = round(SIDES[0] * (SIDES[1] / SIDES[0]) ** grown)
    return {
        "pattern 1": Uniform(nodes, given.pattern_share),
        "pattern 2": Pareto(nodes, given.exponent),
        "HACC I/O": Hacc(nodes, side),
    }


def _claims(*rows: tuple[str, int, float, str]) -> Iterator[Claim]:
    """The bytes of some workloads: name, nodes, the paper's bytes, why ours differ."""
    for name, nodes, paper, why in rows:
        what, bound = f"{name}: bytes on {nodes * RANKS:,} cores", (1.5e9, 2.5e9) if paper == 2e9 else paper
        where = "6.2" if name == "HACC I/O" else "6.1"
        yield Claim(what, f"{paper / 1e9:g} GB", bound, ("bytes", nodes, name), "size", where).because(why)


def _histogram(name: str) -> tuple[Shown, Shown]:
    def rows(found: Any) -> list[Row]:
        edges = [format_bytes(MOST * k / BINS) for k in range(BINS + 1)]
        return [{"size": f"{edges[k]} to {edges[k + 1]}", "processes": count} for k, count in enumerate(found["sizes"][name])]

    def groups(found: Any) -> list[Group]:
        return [Group(row["size"], "", bars_of(row, {"processes": OURS}, "count")) for row in rows(found)]

    share = ("share", lambda row: row["processes"] / PROCESSES, "share")
    return Bars(((OURS, "processes"),), groups), Columns((("size", "size"), ("processes", "processes", "count"), share), rows)


@experiment(
    "figure 10",
    "pattern 1, sizes of 1,024 processes",
    section="6.1",
    claims=(Claim("pattern 1: bytes of dense data", "50 %", 0.5, ("dense", "pattern 1"), "share"),),
    shows=_histogram("pattern 1"),
)
def figure10(given: BgqAssumptions) -> dict[str, Any]:
    """The sizes of 1,024 processes that all take part, counted in bins, and their bytes as a share of dense data, by pattern; and
    the bytes of all workloads by nodes."""
    nodes = PROCESSES // RANKS
    samples = {"pattern 1": Uniform(nodes, 1.0).rank_bytes(), "pattern 2": Pareto(nodes, given.exponent).rank_bytes()}
    return {
        "sizes": {name: np.histogram(sizes, BINS, (0, MOST))[0].tolist() for name, sizes in samples.items()},
        "dense": {name: float(sizes.sum()) / (PROCESSES * MOST) for name, sizes in samples.items()},
        "bytes": {
            count: {name: float(each.rank_bytes().sum()) for name, each in workloads(count, given).items()}
            for count in (FEWEST, LARGEST)
        },
    }


figure11 = figure10.further(
    "figure 11",
    "pattern 2, sizes of 1,024 processes",
    section="6.1",
    claims=(
        Claim("pattern 2: bytes of dense data", "20 %", 0.2, ("dense", "pattern 2"), "share").put_in(
            "the mean of the distribution is set to it"
        ),
        *_claims(
            ("pattern 1", FEWEST, 8e9, _FEW),
            ("pattern 1", LARGEST, 274e9, _FEW),
            ("pattern 2", FEWEST, 3.4e9, ""),
            ("pattern 2", LARGEST, 119e9, "the paper's bytes grow 35 times on 64 times as many cores; ours grow with the cores"),
            ("HACC I/O", FEWEST, 2e9, f"{_PARTICLE}; 1.5 to 2.5 GB are 2 GB when rounded"),
            ("HACC I/O", LARGEST, 85e9, _PARTICLE),
        ),
    ),
    shows=_histogram("pattern 2"),
)
