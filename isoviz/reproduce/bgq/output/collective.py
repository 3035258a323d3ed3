"""Default collective I/O: the two phases of ROMIO on Blue Gene/Q, one after the other in every round.

Some of the nodes of each bridge node are aggregators. The file, from its first byte to its last one, is divided evenly among all
aggregators, in whole blocks of the file system. In a round every aggregator gets the next part of its share that fits its buffer,
and then writes it over the default route to the I/O node of its own bridge. First every rank tells every other rank how much it
sends in this round. Rounds do not overlap, nor do their phases.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.reproduce.bgq.output.flows import ends
from isoviz.reproduce.bgq.output.workloads import MOST, RANKS, node_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.reproduce.bgq.output.flows import Partition
    from isoviz.reproduce.bgq.output.workloads import Bytes, Workload

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
    given, sizes = partition.given, workload.rank_bytes()
    starts = np.arange(len(sizes)) * MOST if given.places == "apart" else np.cumsum(sizes) - sizes
    (writing,) = np.nonzero(sizes)
    begin, end = int(starts[writing[0]]), int(starts[writing[-1]] + sizes[writing[-1]])
    aggregators = aggregators_of(partition)
    blocks = math.ceil((end - begin) / given.block)
    domains = [min(end, begin + given.block * (blocks * k // len(aggregators))) for k in range(len(aggregators) + 1)]
    longest = max(high - low for low, high in itertools.pairwise(domains))
    told = partition.nodes * RANKS * given.count_seconds
    found = []
    for turn in range(math.ceil(longest / given.buffer)):
        exchanged, written = [], []
        for node, (low, high) in zip(aggregators, itertools.pairwise(domains), strict=True):
            first = min(high, low + turn * given.buffer)
            senders = _senders(starts, sizes, first, min(high, first + given.buffer))
            exchanged += [(sender, node, nbytes) for sender, nbytes in senders.items() if sender != node]
            if senders:
                written.append((node, partition.own_io_node(node), sum(senders.values())))
        moved = float(sum(nbytes for *_, nbytes in written))
        found.append(Stage(told + _seconds(partition, exchanged), _seconds(partition, written), moved, len(written)))
    return found


def aggregators_of(partition: Partition) -> list[int]:
    """The nodes that are aggregators: evenly spread over the nodes of each bridge node, which itself is none."""
    found = []
    for begin, end in itertools.pairwise([*partition.bridges, partition.nodes]):
        count = min(partition.given.aggregators, end - begin - 1)
        found += [begin + 1 + (end - begin - 1) * k // count for k in range(count)]
    return found


def _senders(starts: Bytes, sizes: Bytes, low: int, high: int) -> dict[int, int]:
    """The nodes whose ranks have bytes between two places of the file, and how many. `starts` are the places of the ranks."""
    found: dict[int, int] = {}
    first = max(0, int(np.searchsorted(starts, low, "right")) - 1)
    last = int(np.searchsorted(starts, high, "left"))
    for rank in range(first, last):
        place = int(starts[rank])
        nbytes = min(high, place + int(sizes[rank])) - max(low, place)
        if nbytes > 0:
            found[rank // RANKS] = found.get(rank // RANKS, 0) + nbytes
    return found


def _seconds(partition: Partition, messages: Sequence[tuple[int, int, int]]) -> float:
    """Seconds until the last of some messages (from, to, bytes) has ended that begin together."""
    if not messages:
        return 0.0
    ways = [partition.way(here, there) for here, there, _ in messages]
    nbytes = np.array([nbytes for *_, nbytes in messages], np.float64)
    found = ends(nbytes, np.full(len(ways), SINGLE), ways, partition.capacity)
    return float(found.max()) + partition.given.mpi_message
