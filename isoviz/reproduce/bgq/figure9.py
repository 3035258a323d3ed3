"""Figure 9: 64 nodes to 64 nodes (section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.reproduce.bgq.assumptions import MIB, machine, torus_of
from isoviz.reproduce.bgq.curves import Curve, throughput_figure
from isoviz.reproduce.bgq.messages import MESSAGES, one_path, several_paths, throughput
from isoviz.reproduce.bgq.paths import paths_between
from isoviz.reproduce.figure import Section
from isoviz.reproduce.statement import Statement

if TYPE_CHECKING:
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions

NODES, GROUP = 512, 64


@dataclass(frozen=True)
class Groups:
    """Throughputs of each pair of nodes, over one path by MPI and over all paths by PAMI; `paths` are those of each pair."""

    single: Curve
    several: Curve
    paths: tuple[int, ...]

    def speedup(self, nbytes: int) -> float:
        """Several paths against one."""
        return self.several[nbytes] / self.single[nbytes]


def figure9(given: BgqAssumptions, sizes: Sequence[int] = MESSAGES) -> Groups:
    """All sizes: node k of the first block sends to node k of the last block."""
    partition = machine(NODES, given)
    pairs = [(node, NODES - GROUP + node) for node in range(GROUP)]
    paths = paths_between(torus_of(partition), pairs)
    single, several = {}, {}
    for nbytes in sizes:
        single[nbytes] = throughput([one_path(partition, pair, nbytes, "mpi", nbytes) for pair in pairs], partition) / GROUP
        several[nbytes] = throughput([several_paths(partition, each, nbytes) for each in paths], partition) / GROUP
    return Groups(single, several, tuple(map(len, paths)))


def four_megabytes(given: BgqAssumptions) -> float:
    """The throughput of each pair over several paths, for messages of 4 MiB."""
    return figure9(given, (4 * MIB,)).several[4 * MIB]


def statements(found: Groups) -> tuple[Statement, ...]:
    """Beside the paper."""
    where, largest, some = "5.5, figure 9", max(found.several), 4 * MIB
    return (
        Statement(where, "64 to 64 nodes: paths of a node", "3", 3, 3, max(found.paths), "count"),
        Statement(where, "64 to 64 nodes: paths of the node with the fewest", "3", 3, 3, min(found.paths), "count"),
        Statement(where, "64 to 64 nodes, 4 MB: throughput of a pair", "4.7 GB/s", 4.7e9, 4.7e9, found.several[some], "rate"),
        Statement(where, "64 to 64 nodes, most: throughput of a pair", "4.7 GB/s", 4.7e9, 4.7e9, found.several[largest], "rate"),
        Statement(where, "64 to 64 nodes, most: over one path by MPI", "almost 3 ×", 2.7, 3.0, found.speedup(largest), "times"),
    )


def section(found: Groups) -> Section:
    """The figure."""
    curves = {"one path, MPI": found.single, f"{max(found.paths)} paths, PAMI": found.several}
    title = "Figure 9: each of 64 nodes to one of 64 others"
    return Section("Figure 9: groups", (throughput_figure("figure9", title, curves),))
