"""Figures 12 to 14: both patterns and HACC I/O, to `/dev/null` at the I/O nodes and to the file system (section 6).

The file system takes the bytes of all I/O nodes at the rate of its servers. It gives locks on parts of the file one after the
other, while others write.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.document import times
from isoviz.machines.presets import blue_gene
from isoviz.reproduce import Claim, Columns, Curves, Depends, Row, Shown, experiment
from isoviz.reproduce.bgq.figure10 import workloads
from isoviz.reproduce.bgq.flows import SINGLE, Partition, Stage, collective, ends, independent
from isoviz.reproduce.bgq.messages import link_graph, stops_of
from isoviz.reproduce.bgq.workloads import RANKS, node_bytes
from isoviz.reproduce.plots import TOKENS

if TYPE_CHECKING:
    from isoviz.machines.networks import Link
    from isoviz.reproduce.bgq.assumptions import BgqAssumptions
    from isoviz.reproduce.bgq.workloads import Workload


# Sparse output over several paths: the bytes of every node divided among paths to all I/O nodes (section 6.1).
#
# The plan is algorithm 1 with amounts. If everything is to arrive within T seconds, a link carries T times its rate.
# Each node in turn gets a path with the fewest links to any I/O node, over links with something left, for as many
# bytes as fit. This is repeated until all bytes have a path. T is the smallest of a few multiples of the time that the
# I/O nodes take with even loads.

SLACK = (1.03, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)
"""The multiples, one after the other."""
LITTLE = 1 << 16
"""Bytes that are not worth a path of their own: they go with the last one."""


class SharedPath(NamedTuple):
    """A path for some bytes: the nodes at which it stops. The last one is an I/O node."""

    stops: tuple[int, ...]
    nbytes: float


def planned(partition: Partition, sizes: Sequence[int]) -> list[SharedPath]:
    """The paths of all nodes, for the bytes of each of them."""
    graph = link_graph(partition.torus)
    links = {link: number for number, link in enumerate(link for leaving in graph.values() for link, _ in leaving)}
    numbered = [[(links[link], link, head) for link, head in graph[node]] for node in range(partition.nodes)]
    for slack in SLACK:
        room = slack * sum(sizes) / len(partition.bridges)  # of bytes, on each link
        left = [room] * len(links)
        own = dict.fromkeys(partition.bridges, room)
        found = _assigned(numbered, left, own, sizes)
        if found is not None:
            break
    assert found is not None, "ten times the time of even loads is enough"
    # The bridge node is no stop: its router passes bytes on.
    return [
        SharedPath((*(stops_of(partition.torus, taken)[:-1] if taken else (node,)), partition.ports[bridge]), amount)
        for node, bridge, taken, amount in found
    ]


_Assigned = tuple[int, int, list["Link"], float]
"""A node, a bridge node, the links between them, and the bytes that take them."""


def _assigned(
    graph: Sequence[Sequence[tuple[int, Link, int]]],
    left: list[float],
    own: dict[int, float],
    sizes: Sequence[int],
) -> list[_Assigned] | None:
    """Paths for all bytes, the nodes in turn; None where the room does not suffice."""
    found: list[_Assigned] = []
    waiting = [(node, float(nbytes)) for node, nbytes in enumerate(sizes) if nbytes]
    while waiting:
        again = []
        for node, nbytes in waiting:
            path = _shortest(graph, left, own, node)
            if path is None:
                return None
            bridge, steps = path
            amount = min([nbytes, own[bridge], *(left[number] for number, _ in steps)])
            amount = nbytes if nbytes - amount < LITTLE else amount
            own[bridge] -= amount
            for number, _ in steps:
                left[number] -= amount
            found.append((node, bridge, [link for _, link in steps], amount))
            if nbytes > amount:
                again.append((node, nbytes - amount))
        waiting = again
    return found


def _shortest(
    graph: Sequence[Sequence[tuple[int, Link, int]]], left: Sequence[float], own: dict[int, float], node: int
) -> tuple[int, list[tuple[int, Link]]] | None:
    """A bridge node with something left, and a path with the fewest links to it."""
    before: dict[int, tuple[int, int, Link]] = {}
    frontier = [node]
    if own.get(node, 0.0) > LITTLE:
        return node, []
    while frontier:
        reached = []
        for here in frontier:
            for number, link, head in graph[here]:
                if head not in before and head != node and left[number] > LITTLE:
                    before[head] = here, number, link
                    if own.get(head, 0.0) > LITTLE:
                        steps, at = [], head
                        while at != node:
                            at, number, link = before[at]
                            steps.append((number, link))
                        return head, steps[::-1]
                    reached.append(head)
        frontier = reached
    return None


def several_paths(partition: Partition, workload: Workload) -> Stage:
    """The whole output over several paths: planned, and simulated as streams in windows through their proxies."""
    given = partition.given
    paths = planned(partition, node_bytes(workload).tolist())
    each = given.pami_message + given.window / SINGLE
    found = ends(
        np.array([path.nbytes for path in paths]),
        np.full(len(paths), given.window / each),
        [partition.ways(path.stops) for path in paths],
        partition.capacity,
    )
    first = np.array([(len(path.stops) - 1) * each for path in paths])  # until the first window is there
    return Stage(0.0, float((found + first).max()), math.fsum(path.nbytes for path in paths), 2 * len(paths))


NODES = 128, 512, 2048, 8192
MIRA = 49152
PATTERNS = ("pattern 1", "pattern 2")
_SMALL = (
    "at small scale default I/O loses little more than the time in which data is exchanged: the bytes of the file are divided"
    " evenly, so all I/O nodes have even loads. The paper says that aggregators are not balanced among I/O nodes. Where ranks"
    " write 8 MiB apart they are not, and the speedup is {apart}"
)
_LARGE = "in every round each rank tells each other one how much it sends, which takes time in proportion to the ranks"
_FILES = (
    "the file system bounds both ways, so it adds little to what the network gains: in isoviz default I/O is balanced among I/O"
    " nodes and aligned to blocks, and only its rounds and its locks cost more"
)
_ALL = "default buffer count_seconds"


def speedup(row: Row, files: bool) -> float:
    """Several paths against default I/O, to the file system or to `/dev/null`."""
    return float(row["default_files"] / row["several_files"] if files else row["default"] / row["several"])


def _rows(found: Any, name: str, key: str = "output") -> list[Row]:
    return [row for row in found[key] if row["workload"] == name]


def _gain(name: str, files: bool, nodes: int, found: Any) -> float:
    return next(speedup(row, files) for row in _rows(found, name) if row["nodes"] == nodes)


def _apart(name: str, files: bool, found: Any) -> str:
    (apart,) = _rows(found, name, "output apart")
    return _SMALL.format(apart=times(speedup(apart, files)))


def _claims(files: bool, *rows: tuple[str, float, float]) -> Iterator[Claim]:
    """The paper's figures for 2,048 and for 131,072 cores."""
    for name, low, high in rows:
        for nodes, paper in ((NODES[0], low), (NODES[-1], high)):
            what = f"{name}, {'file system' if files else '/dev/null'}, {nodes * RANKS:,} cores: speedup"
            why = partial(_apart, name, files) if nodes == NODES[0] else _FILES if files else _LARGE
            ours, full = partial(_gain, name, files, nodes), nodes == NODES[-1]
            yield Claim(what, times(paper), paper, ours, "times", full=full).because(why)


def _hacc(found: Any) -> list[float]:
    return [speedup(row, True) for row in _rows(found, "HACC I/O")]


def _mean(found: Any) -> str:
    (first, *_, last), gains = _rows(found, "HACC I/O"), _hacc(found)
    return (
        f"the mean of all sizes; {times(gains[0])} on {first['nodes'] * RANKS:,} cores, {times(gains[-1])} on"
        f" {last['nodes'] * RANKS:,}. The ranks that write are neighbours, but collective I/O spreads their bytes over all"
        " aggregators as well"
    )


def _shown(names: Sequence[str], files: bool) -> tuple[Shown, Shown]:
    after = "_files" if files else ""

    def curves(found: Any) -> dict[str, dict[float, float]]:
        return {
            f"{name}, {label}": {row["nodes"] * RANKS: row["nbytes"] / row[key + after] for row in _rows(found, name)}
            for name in names
            for label, key in (("several paths", "several"), ("default", "default"))
        }

    columns = (
        ("workload", "workload"),
        ("cores", lambda row: row["nodes"] * RANKS, "count"),
        ("bytes", "nbytes", "size"),
        ("rounds", "rounds", "count"),
        ("told and exchanged", "before", "seconds"),
        ("default", "default" + after, "seconds"),
        ("several paths", "several" + after, "seconds"),
        ("speedup", lambda row: speedup(row, files), "times"),
    )
    colours = {name: TOKENS[k] for k, name in enumerate(names)}
    return (
        Curves(curves, ("cores", "number"), colours=lambda label: colours[label.partition(",")[0]], table=False),
        Columns(columns, lambda found: [row for name in names for row in _rows(found, name)]),
    )


def _depends(figure: int, name: str, files: bool, on: str, quick: str = "") -> Depends:
    what = f"figure {figure}: {name}, {'file system' if files else '/dev/null'}, 8,192 cores: speedup"
    return Depends(what, "times", partial(_gain, name, files, 512), on, quick=quick, sizes=(512,), names=(name,))


@experiment(
    "figure 12",
    "sparse output to /dev/null at the I/O nodes",
    section="6.1",
    quick={"sizes": (128, 256)},
    data=lambda found: found,
    claims=tuple(_claims(False, ("pattern 1", 2.0, 3.0), ("pattern 2", 1.5, 2.0))),
    shows=_shown(PATTERNS, False),
    depends=(
        _depends(12, "pattern 1", False, f"pattern_share window places aggregators block {_ALL}", "default"),
        _depends(12, "pattern 2", False, f"exponent places aggregators {_ALL}"),
    ),
)
def figure12(
    given: BgqAssumptions, sizes: Sequence[int] = NODES, names: Sequence[str] = (*PATTERNS, "HACC I/O")
) -> dict[str, list[Row]]:
    """All workloads by nodes, and both patterns on the fewest nodes where ranks write 8 MiB apart."""
    apart = replace(given, places="apart")
    return {
        "output": [output(name, nodes, given) for nodes in sizes for name in names],
        "output apart": [output(name, NODES[0], apart) for name in PATTERNS if NODES[0] in sizes],
    }


figure13 = figure12.further(
    "figure 13",
    "sparse output to the file system",
    section="6.1",
    claims=tuple(_claims(True, ("pattern 1", 2.0, 5.0), ("pattern 2", 2.0, 5.0))),
    shows=_shown(PATTERNS, True),
    depends=(
        _depends(13, "pattern 1", True, "pattern_share lock_seconds servers"),
        _depends(13, "pattern 2", True, "lock_seconds servers"),
    ),
)
figure14 = figure12.further(
    "figure 14",
    "HACC I/O to the file system",
    section="6.2",
    claims=(Claim("HACC I/O, file system: gain", "50 %", 0.5, lambda found: fmean(_hacc(found)) - 1, "change").because(_mean),),
    shows=_shown(("HACC I/O",), True),
    depends=(_depends(14, "HACC I/O", True, f"window block lock_seconds servers {_ALL}"),),
)


def output(name: str, nodes: int, given: BgqAssumptions) -> Row:
    """A workload on some nodes: its bytes; seconds of default I/O and over several paths, to `/dev/null` and to the file system.

    `rounds` are those of default I/O; `before` are the seconds in which nothing leaves for the I/O nodes.
    """
    partition, workload = _partition(nodes, given), workloads(nodes, given)[name]
    default = collective(partition, workload) if given.default == "collective" else independent(partition, workload)
    several = several_paths(partition, workload)
    return {
        "workload": name,
        "nodes": nodes,
        "nbytes": several.nbytes,
        "default": sum(stage.before + stage.network for stage in default),
        "several": several.network,
        "default_files": sum(stage.before + _files_seconds(stage, nodes, given) for stage in default),
        "several_files": _files_seconds(several, nodes, given),
        "rounds": len(default),
        "before": sum(stage.before for stage in default),
    }


@lru_cache(maxsize=1)
def _partition(nodes: int, given: BgqAssumptions) -> Partition:
    """It knows the ways of its messages, which workloads share."""
    return Partition(nodes, given)


def _files_seconds(stage: Stage, nodes: int, given: BgqAssumptions) -> float:
    """Seconds until a stage is in the file system: its slowest part, as network, servers and locks work at the same time."""
    servers = len(blue_gene.file_servers(MIRA if given.servers == "whole" else nodes))
    disks = stage.nbytes / (servers * blue_gene.SERVER_DISK.value)
    return max(stage.network, disks, stage.locks * given.lock_seconds)
