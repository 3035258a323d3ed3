"""Streams of bytes that share the links of a whole partition fairly, thousands of them at once.

The simulator of isoviz follows every window, which takes too long for 8,192 nodes. Here a stream has one rate until another
stream ends: rates are max-min fair, as in `isoviz.scheduling.fair_sharing`, and worked out with NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from isoviz.machines.presets import blue_gene
from isoviz.reproduce.bgq.assumptions import machine, torus_of
from isoviz.reproduce.bgq.messages import memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoviz.reproduce.bgq.assumptions import BgqAssumptions

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
