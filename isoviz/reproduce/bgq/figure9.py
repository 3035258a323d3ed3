"""Figure 9: 64 nodes to 64 nodes (section 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isoviz.reproduce import Claim, Curves, Depends, experiment
from isoviz.reproduce.bgq.assumptions import MIB, BgqAssumptions, machine, torus_of
from isoviz.reproduce.bgq.messages import MESSAGES, one_path, paths_between, several_paths, throughput

NODES, GROUP = 512, 64


def several(found: Any, nbytes: int = 0) -> float:
    """The throughput of a pair over several paths; of the largest messages by default."""
    return float(found["several"][nbytes or max(found["several"])])


def speedup(found: Any) -> float:
    """Several paths against one, for the largest messages."""
    return several(found) / float(found["single"][max(found["single"])])


@experiment(
    "figure 9",
    "each of 64 nodes to one of 64 others",
    section="5.5",
    quick={"sizes": (4 * MIB,)},
    claims=(
        Claim("64 to 64 nodes: paths of a node", "3", 3, lambda found: max(found["paths"]), "count"),
        Claim("64 to 64 nodes: paths of the node with the fewest", "3", 3, lambda found: min(found["paths"]), "count"),
        Claim("64 to 64 nodes, 4 MB: throughput of a pair", "4.7 GB/s", 4.7e9, lambda found: several(found, 4 * MIB), "rate"),
        Claim("64 to 64 nodes, most: throughput of a pair", "4.7 GB/s", 4.7e9, several, "rate"),
        Claim("64 to 64 nodes, most: over one path by MPI", "almost 3 ×", (2.7, 3.0), speedup, "times"),
    ),
    shows=(Curves(lambda found: {"one path, MPI": found["single"], f"{max(found['paths'])} paths, PAMI": found["several"]}),),
    depends=(Depends("figure 9: a pair of 64, 4 MB", "rate", several, "pami_message", sizes=(4 * MIB,)),),
)
def figure9(given: BgqAssumptions, sizes: Sequence[int] = (*MESSAGES[::2], MESSAGES[-1])) -> dict[str, Any]:
    """Throughputs of each pair of nodes, over one path by MPI and over all `paths` by PAMI. Node k of the first block sends to
    node k of the last block."""
    partition = machine(NODES, given)
    pairs = [(node, NODES - GROUP + node) for node in range(GROUP)]
    paths = paths_between(torus_of(partition), pairs)
    single, several = {}, {}
    for nbytes in sizes:
        single[nbytes] = throughput([one_path(partition, pair, nbytes, "mpi", nbytes) for pair in pairs], partition) / GROUP
        several[nbytes] = throughput([several_paths(partition, each, nbytes) for each in paths], partition) / GROUP
    return {"single": single, "several": several, "paths": [len(each) for each in paths]}
