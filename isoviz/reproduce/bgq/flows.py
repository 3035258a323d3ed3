"""Streams of bytes that share the links of a whole partition fairly, thousands of them at once.

The simulator of isoviz follows every window, which takes too long for 8,192 nodes. Here a stream has one rate until another
stream ends: rates are max-min fair, as in `isoviz.scheduling.fair_sharing`, and worked out with NumPy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.machines.presets import blue_gene
from isoviz.reproduce.bgq.assumptions import machine, torus_of
from isoviz.reproduce.bgq.messages import memory
from isoviz.reproduce.bgq.workloads import MOST, RANKS, node_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoviz.reproduce.bgq.assumptions import BgqAssumptions
    from isoviz.reproduce.bgq.workloads import Bytes, Workload

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


STEP = 0.01
"""Streams that end within this share of the time so far end together. So the time is too long by about this share at most."""
_ROUNDING = 1e-9


def ends(nbytes: Floats, most: Floats, links: Sequence[Sequence[int]], capacity: Floats) -> Floats:
    """The seconds after which each stream ends, if all begin at once. `links` are those of each stream; see `fair_rates`."""
    streams, used = uses(links)
    left, found, now = nbytes.astype(np.float64), np.zeros(len(nbytes)), 0.0
    active = left > 0
    while active.any():
        kept = active[streams]
        numbers = np.cumsum(active) - 1  # of the active streams among themselves
        rates = fair_rates(most[active], numbers[streams[kept]], used[kept], capacity)
        seconds = left[active] / rates
        step = max(float(seconds.min()), min(STEP * now, float(seconds.max())))
        places = np.flatnonzero(active)
        ending = seconds <= step * (1 + _ROUNDING)
        found[places[ending]] = now + seconds[ending]
        left[places] = np.where(ending, 0.0, left[places] - rates * step)
        active = left > 0
        now += step
    return found


def uses(links: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """For every use of a link by a stream: the stream and the link, stream after stream. `links` are those of each stream."""
    streams = np.repeat(np.arange(len(links)), [len(each) for each in links])
    return streams, np.fromiter((link for each in links for link in each), np.int64, len(streams))


def fair_rates(most: Floats, streams: Ints, used: Ints, capacity: Floats) -> Floats:
    """The rate of every stream, in bytes per second: max-min fair.

    - `most`: the highest rate of each stream. `streams`, `used`: `uses` of the links of each stream, at least one.
    - `capacity`: bytes per second of each link, by number.

    Progressive filling: a link that no stream of it can fill elsewhere first is full at its even share; all such links of the
    whole machine are filled at once."""
    rates, left = np.zeros(len(most)), capacity.copy()
    while len(streams):
        count = np.bincount(used, minlength=len(capacity))
        even = np.divide(left, count, out=np.full(len(capacity), np.inf), where=count > 0)
        first = np.flatnonzero(np.diff(streams, prepend=-1))
        names = streams[first]
        bound = np.minimum.reduceat(even[used], first)
        done = most[names] <= bound
        found = most[names]
        if not done.any():
            found = bound
            least = np.full(len(capacity), np.inf)
            np.minimum.at(least, used, np.repeat(bound, np.diff(first, append=len(streams))))
            full = (even <= least * (1 + _ROUNDING)) & (count > 0)
            done = np.logical_or.reduceat(full[used], first)
        rates[names[done]] = found[done]
        is_done = np.zeros(len(most), bool)
        is_done[names[done]] = True
        gone = is_done[streams]
        left = np.maximum(left - np.bincount(used[gone], rates[streams[gone]], len(capacity)), 0.0)
        streams, used = streams[~gone], used[~gone]
    return rates


class Partition:
    """The torus of a partition with its I/O nodes: numbers of its links, and their rates for data."""

    def __init__(self, nodes: int, given: BgqAssumptions) -> None:
        self.nodes, self.given = nodes, given
        self.torus = torus_of(machine(nodes, given))
        self.bridges = blue_gene.bridge_nodes(nodes)
        self.ports = {bridge: number for number, bridge in enumerate(self.bridges, nodes)}
        """By bridge node: its I/O node."""
        self._numbers: dict[str, int] = {}
        self._rates: list[float] = []
        self._ways: dict[tuple[int, int], tuple[int, ...]] = {}

    def own_io_node(self, node: int) -> int:
        """The I/O node that serves a compute node by default."""
        return blue_gene.io_node(self.nodes, node)

    @property
    def capacity(self) -> Floats:
        """Bytes of data per second of every link that some way takes, by its number."""
        return np.array(self._rates)

    def way(self, here: int, there: int) -> tuple[int, ...]:
        """The links of a message between two nodes, compute nodes or I/O nodes; with what receives it there."""
        found = self._ways.get((here, there))
        if found is None:
            names = self.torus.resources_between(memory(here), memory(there))
            assert names is not None
            found = self._ways[here, there] = tuple([self._number(name) for name in names])
        return found

    def ways(self, stops: Sequence[int]) -> tuple[int, ...]:
        """The links of a path with some stops."""
        return tuple([link for pair in itertools.pairwise(stops) for link in self.way(*pair)])

    def _number(self, name: str) -> int:
        found = self._numbers.get(name)
        if found is None:
            found = self._numbers[name] = len(self._rates)
            self._rates.append(self.torus.resource(name).capacity / self.torus.overhead)
        return found


# Default collective I/O: the two phases of ROMIO on Blue Gene/Q, one after the other in every round.
#
# Some of the nodes of each bridge node are aggregators. The file, from its first byte to its last one, is divided
# evenly among all aggregators, in whole blocks of the file system. In a round every aggregator gets the next part of
# its share that fits its buffer, and then writes it over the default route to the I/O node of its own bridge. First
# every rank tells every other rank how much it sends in this round. Rounds do not overlap, nor do their phases.

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
