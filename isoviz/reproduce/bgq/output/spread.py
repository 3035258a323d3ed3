"""Sparse output over several paths: the bytes of every node divided among paths to all I/O nodes (section 6.1).

The plan is algorithm 1 with amounts. If everything is to arrive within T seconds, a link carries T times its rate. Each node in
turn gets a path with the fewest links to any I/O node, over links with something left, for as many bytes as fit. This is repeated
until all bytes have a path. T is the smallest of a few multiples of the time that the I/O nodes take with even loads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.reproduce.bgq.messages import link_graph, stops_of
from isoviz.reproduce.bgq.output.collective import SINGLE, Stage
from isoviz.reproduce.bgq.output.flows import ends
from isoviz.reproduce.bgq.output.workloads import node_bytes

if TYPE_CHECKING:
    from isoviz.machines.networks import Link
    from isoviz.reproduce.bgq.output.flows import Partition
    from isoviz.reproduce.bgq.output.workloads import Workload

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
