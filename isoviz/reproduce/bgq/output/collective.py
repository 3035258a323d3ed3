"""Default collective I/O: the two phases of ROMIO on Blue Gene/Q, one after the other in every round.

Some of the nodes of each bridge node are aggregators. The bytes of the file are divided evenly among all aggregators, in whole
blocks of the file system. In a round every aggregator gets the next part of its bytes that fits its buffer, and then writes it
over the default route to the I/O node of its own bridge. First every rank tells every other rank how much it sends in this round.
Rounds do not overlap, nor do their phases.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.reproduce.bgq.output.flows import ends
from isoviz.reproduce.bgq.output.workloads import RANKS, node_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.reproduce.bgq.output.partition import Partition
    from isoviz.reproduce.bgq.output.workloads import Workload

SINGLE = 1.7e9
"""Bytes per second of one message at most (section 5.2), as in the preset."""


class Stage(NamedTuple):
    """A part of the output that is written before the next one begins.

    It takes `before` seconds until bytes leave for the I/O nodes, then `network` seconds until the last of its `nbytes` is there.
    `locks` counts the parts of the file for which the file system gives a lock.
    """

    before: float
    network: float
    nbytes: float
    locks: int


def independent(partition: Partition, workload: Workload) -> list[Stage]:
    """Each node writes by itself, over the default route to its own I/O node."""
    sizes = node_bytes(workload).tolist()
    messages = [(node, partition.own_io_node(node), nbytes) for node, nbytes in enumerate(sizes) if nbytes]
    return [Stage(0.0, _seconds(partition, messages), float(sum(sizes)), 2 * len(messages))]


def collective(partition: Partition, workload: Workload) -> list[Stage]:
    """The rounds of collective I/O."""
    given, sizes = partition.given, node_bytes(workload)
    aggregators = aggregators_of(partition)
    total = int(sizes.sum())
    starts = np.concatenate(([0], np.cumsum(sizes)))
    blocks = math.ceil(total / given.block)
    domains = [min(total, given.block * (blocks * k // len(aggregators))) for k in range(len(aggregators) + 1)]
    domains[-1] = total
    longest = max(end - begin for begin, end in itertools.pairwise(domains))
    told = partition.nodes * RANKS * given.count_seconds
    found = []
    for turn in range(math.ceil(longest / given.buffer)):
        parts = []
        for node, (begin, end) in zip(aggregators, itertools.pairwise(domains), strict=True):
            low = min(end, begin + turn * given.buffer)
            parts.append((node, low, min(end, low + given.buffer)))
        exchange = _seconds(partition, [each for node, low, high in parts for each in _senders(starts, node, low, high)])
        written = [(node, partition.own_io_node(node), high - low) for node, low, high in parts if high > low]
        write = _seconds(partition, written)
        found.append(Stage(told + exchange, write, float(sum(nbytes for *_, nbytes in written)), len(written)))
    return found


def aggregators_of(partition: Partition) -> list[int]:
    """The nodes that are aggregators: evenly spread over the nodes of each bridge node, which itself is none."""
    found = []
    for begin, end in itertools.pairwise([*partition.bridges, partition.nodes]):
        count = min(partition.given.aggregators, end - begin - 1)
        found += [begin + 1 + (end - begin - 1) * k // count for k in range(count)]
    return found


def _senders(starts: np.ndarray, node: int, low: int, high: int) -> list[tuple[int, int, int]]:
    """The nodes whose bytes lie between two places of the file, each with the node that gets them and their number."""
    if high <= low:
        return []
    first, last = int(np.searchsorted(starts, low, "right")) - 1, int(np.searchsorted(starts, high, "left"))
    found = []
    for sender in range(first, last):
        nbytes = min(high, int(starts[sender + 1])) - max(low, int(starts[sender]))
        if nbytes > 0 and sender != node:
            found.append((sender, node, nbytes))
    return found


def _seconds(partition: Partition, messages: Sequence[tuple[int, int, int]]) -> float:
    """Seconds until the last of some messages (from, to, bytes) has ended that begin together."""
    if not messages:
        return 0.0
    ways = [partition.way(here, there) for here, there, _ in messages]
    nbytes = np.array([nbytes for *_, nbytes in messages], np.float64)
    found = ends(nbytes, np.full(len(ways), SINGLE), ways, partition.capacity)
    return float(found.max()) + partition.given.mpi_message
