"""Breadth-first search by the rules of Graph500 (Gioiosa et al., section VI, figure 8), level by level, on both networks.

Vertex v is on node v mod n. A node goes along the edges of those of its vertices that the last level has found. To each
neighbour goes a visit: which vertex is visited, and from where. The node of that vertex keeps the first visit to it.

- On a Data Vortex, visits go as they come to the FIFO of their node, a word each; only the way over PCIe is shared.
- With MPI, the visits to each node are gathered, and go in messages of up to `COALESCED`, as in the reference of Graph500.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isoviz.checks import count, expect
from isoviz.vortex.packet import FIFO
from isoviz.vortex.program import Vic
from isoviz.vortex.systems import System
from isoviz.vortex.traffic import Whole
from isoviz.vortex.workloads.graph import EDGE_FACTOR, kronecker, search_keys, validate

SCAN, VISIT = 4e-9, 4e-9
"""Seconds in which a node goes along an edge, and in which it looks at a visit: assumed. They are a miss of the caches each, of
which the eight cores of a node have many at a time."""
BATCH = 4096
"""Visits that go over PCIe together."""

Take = Callable[[Whole], None]
Found = tuple[float, list[float], Whole]


@dataclass(frozen=True, eq=False)
class Bfs:
    """Searches of a Kronecker graph, all of which keep the five rules of Graph500.

    `edges`: how many the graph has; `construction`: modelled seconds. By key: `keys`, `seconds` (modelled), `traversed` (edges of
    the component, repeated ones included), and in a row each `parents` and `levels` of all vertices (−1: not reached).
    """

    nodes: int
    edges: int
    construction: float
    keys: Whole
    seconds: np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    traversed: Whole
    parents: Whole
    levels: Whole

    @property
    def rate(self) -> float:
        """Traversed edges per modelled second: the harmonic mean over the keys."""
        return len(self.keys) / float((self.seconds / self.traversed).sum())


def bfs(system: System, scale: int = 10, edge_factor: int = EDGE_FACTOR, keys: int = 64, seed: int = 0) -> Bfs:
    """Make a Kronecker graph of 2^scale vertices on the nodes, search it from so many keys, and validate every search.

    Raises:
        InputError: an argument is out of range.
        VerificationError: a search breaks a rule of Graph500.
    """
    expect("bfs", system, System, "a system, as isoviz.vortex.simulated() makes it")
    edges = kronecker(scale, edge_factor, seed)
    start = search_keys(edges, count("bfs", "keys", keys, low=1), seed)
    run = system.run(on_vics, edges, 1 << scale, start)
    built, times, trees = zip(*run.results, strict=True)
    every = np.empty((len(start), 2, 1 << scale), np.int64)
    for node, tree in enumerate(trees):
        every[:, :, node :: system.nodes] = tree
    parents, levels = every[:, 0], every[:, 1]
    for key, parent, level in zip(start.tolist(), parents, levels, strict=True):
        validate(edges, key, parent, level)
    traversed = (levels[:, edges[0]] >= 0).sum(axis=1)
    return Bfs(system.nodes, edges.shape[1], max(built), start, np.max(times, axis=0), traversed, parents, levels)


def on_vics(vic: Vic, edges: Whole, vertices: int, keys: Whole) -> Found:
    """The program of a node of a Data Vortex: seconds of construction and of each search, and parents and levels by key."""
    return _found(Surprises(vic), edges, vertices, keys)


class Mover(Protocol):
    """A node, and how it moves words between all nodes."""

    rank: int
    nodes: int

    @property
    def seconds(self) -> float:
        """Modelled seconds since the node began."""

    def compute(self, seconds: float, /) -> None:
        """The host works for so many modelled seconds."""

    def barrier(self) -> None:
        """Wait until all nodes are here."""

    def phase(self, goals: Whole, words: Whole, take: Take, value: Callable[[], int], /) -> int:
        """Words go to the nodes `goals`; `take` gets all that come, in parts. The sum of what all nodes then have as `value`."""


class Surprises:
    """Words to the FIFOs of all nodes. Where one is full, they come back, and go again.

    How many words are for it, a node learns from a word of each node. Once it has them it says so to all, with its `value`. What
    it waits for in a phase is set before it says so in the phase before, and so before anybody can send it.
    """

    def __init__(self, vic: Vic) -> None:
        self._vic, self._odd = vic, 0
        self.rank, self.nodes, self.compute, self.barrier = vic.rank, vic.nodes, vic.compute, vic.barrier
        for counter in range(4):
            vic.set_counter(counter, vic.nodes)
        vic.barrier()

    @property
    def seconds(self) -> float:
        return self._vic.seconds

    def phase(self, goals: Whole, words: Whole, take: Take, value: Callable[[], int], /) -> int:
        vic, every = self._vic, np.arange(self.nodes)
        taken = 0
        for first in range(0, len(words), BATCH):
            to, some = goals[first : first + BATCH], words[first : first + BATCH]
            vic.compute(len(some) * SCAN)
            there = to != vic.rank
            vic.send(to[there], FIFO, some[there])
            take(some[~there])
            taken += self._take(take)
        counts, done = self._odd, 2 + self._odd
        sent = np.bincount(goals, minlength=vic.nodes)
        sent[vic.rank] = 0
        vic.send(every, counts * vic.nodes + vic.rank, sent, counts)
        vic.wait(counts)
        expected = int(self._row(counts).sum())
        while taken < expected:
            taken += self._take(take)
            if taken < expected:
                self._send_again()
        vic.send(every, done * vic.nodes + vic.rank, value(), done)
        while vic.counter(done):
            self._send_again()
        total = int(self._row(done).sum())
        for counter in (counts, done):
            vic.set_counter(counter, vic.nodes)
        self._odd = 1 - self._odd
        return total

    def _take(self, take: Take) -> int:
        came = self._vic.fifo.take()
        take(came)
        return len(came)

    def _row(self, row: int) -> Whole:
        return np.asarray(self._vic.memory[row * self.nodes : (row + 1) * self.nodes])

    def _send_again(self) -> None:
        to, words = self._vic.returned()
        if len(to):
            self._vic.send(to, FIFO, words)


def _found(mover: Mover, edges: Whole, vertices: int, keys: Whole) -> Found:
    """What a node finds: construction, and the searches."""
    rank, nodes = mover.rank, mover.nodes
    begin, own, came = mover.seconds, edges[:, rank::nodes], list[Whole]()
    own = own[:, own[0] != own[1]]
    to, joined = np.concatenate([own, own[::-1]], axis=1)
    mover.phase(*_visits(to, joined, nodes), came.append, lambda: 0)
    mover.compute(sum(map(len, came)) * VISIT)
    part = Vertices(rank, nodes, len(range(rank, vertices, nodes)), np.concatenate(came))
    built, times, trees = mover.seconds - begin, list[float](), list[Whole]()
    for key in keys.tolist():
        mover.barrier()
        begin, tree = mover.seconds, Tree(part, key, mover.compute)
        while mover.phase(*tree.expanded(), tree.take, tree.found):
            pass
        times.append(mover.seconds - begin)
        trees.append(np.array([tree.parents, tree.levels]))
    return built, times, np.array(trees)


def _visits(to: Whole, parents: Whole, nodes: int) -> tuple[Whole, Whole]:
    """Where visits go, and the visits as words: the vertex among those of its node, and its parent."""
    return to % nodes, to // nodes << 32 | parents


class Vertices:
    """The vertices of a node, and the different neighbours of each."""

    def __init__(self, rank: int, nodes: int, vertices: int, joined: Whole) -> None:
        self.rank, self.nodes, self.vertices = rank, nodes, vertices
        words = np.unique(joined)
        self.neighbours = words & 0xFFFFFFFF
        self.ends = np.cumsum(np.bincount(words >> 32, minlength=vertices))

    def visits(self, local: Whole) -> tuple[Whole, Whole]:
        """Visits to all neighbours of some vertices."""
        ends = self.ends[local]
        degrees = ends - np.where(local > 0, self.ends[local - 1], 0)
        places = np.repeat(ends - np.cumsum(degrees), degrees) + np.arange(degrees.sum())
        return _visits(self.neighbours[places], np.repeat(local * self.nodes + self.rank, degrees), self.nodes)


class Tree:
    """A node's part of the tree of a search. `frontier`: those of its vertices that were found since it was last expanded."""

    def __init__(self, part: Vertices, key: int, compute: Callable[[float], None]) -> None:
        self._part, self._compute, self._level = part, compute, 0
        self.parents, self.levels = np.full((2, part.vertices), -1)
        self.frontier = np.array([key // part.nodes][: key % part.nodes == part.rank], np.int64)
        self.parents[self.frontier], self.levels[self.frontier] = key, 0

    def expanded(self) -> tuple[Whole, Whole]:
        """Visits to the neighbours of the frontier. A new one begins."""
        self._level += 1
        visits = self._part.visits(self.frontier)
        self.frontier = self.frontier[:0]
        return visits

    def found(self) -> int:
        """How many vertices the frontier has."""
        return len(self.frontier)

    def take(self, words: Whole) -> None:
        """Visits came; of a vertex that has no parent yet, one stays."""
        self._compute(len(words) * VISIT)
        words = words[self.parents[words >> 32] < 0]
        local = words >> 32
        self.parents[local], self.levels[local] = words & 0xFFFFFFFF, self._level
        self.frontier = np.concatenate([self.frontier, np.unique(local)])
