"""Breadth-first search by the rules of Graph500 (Gioiosa et al., section VI, figure 8), level by level, on both networks.

Vertex v is on node v mod n. A node goes along the edges of those of its vertices that the last level has found. To each
neighbour goes a visit: which vertex is visited, and from where. The node of that vertex keeps the first visit to it.

- On a Data Vortex, visits go as they come to the FIFO of their node, a word each; only the way over PCIe is shared.
- With MPI, they go in messages of up to `COALESCED` visits, as in the reference of Graph500, or all those of a level at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from isoviz.checks import count, expect, flag_argument
from isoviz.errors import InputError, VerificationError
from isoviz.machines.presets.vortex import VortexFigures
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.modelled_mpi.system import MessageSystem, Request
from isoviz.vortex.packet import FIFO
from isoviz.vortex.program import Vic
from isoviz.vortex.system import Costs
from isoviz.vortex.systems import System
from isoviz.vortex.traffic import Whole

# Graphs by the rules of Graph500: the edges of a Kronecker graph, the keys to search from, and what a search must
# give.
#
# The rules are those of the specification of Graph500 (graph500.org), for benchmark 1, "Search". Vertices are whole
# numbers from 0 to 2^scale − 1. Edges are the two rows of an array; they have no direction. Some are there twice, and
# some join a vertex to itself.

MOST_SCALE = 30
EDGE_FACTOR = 16
"""Edges for each vertex, by the rules."""
A, B, C = 0.57, 0.19, 0.19
"""The chances of three quarters of the adjacency matrix, by the rules."""


def kronecker(scale: int, edge_factor: int = EDGE_FACTOR, seed: int = 0) -> Whole:
    """The edges of a Kronecker graph of 2^scale vertices, an array of shape (2, edge_factor · 2^scale).

    Each bit of both ends of an edge is drawn from a quarter of the adjacency matrix. Vertices and edges are then shuffled.

    Raises:
        InputError: an argument is out of range.
    """
    call = "kronecker"
    count(call, "scale", scale, low=1, high=MOST_SCALE)
    count(call, "edge_factor", edge_factor, low=1, high=1 << 10)
    draw = np.random.default_rng((count(call, "seed", seed), scale))
    edges = np.zeros((2, edge_factor << scale), np.int64)
    for bit in range(scale):
        low = draw.random(edges.shape[1]) > A + B
        right = draw.random(edges.shape[1]) > np.where(low, C / (1 - A - B), A / (A + B))
        edges += np.array([low, right]) * (1 << bit)
    edges = draw.permutation(1 << scale)[edges]
    return edges[:, draw.permutation(edges.shape[1])]


def search_keys(edges: Whole, number: int = 64, seed: int = 0) -> Whole:
    """Different vertices to search from, each with an edge to another one.

    Raises:
        InputError: there are fewer than that, or an argument is out of range.
    """
    count("search_keys", "number", number, low=1)
    joined = np.unique(edges[:, edges[0] != edges[1]])
    if number > len(joined):
        raise InputError(f"search_keys, number: expected at most {len(joined)}, the vertices with an edge; got {number}")
    return np.random.default_rng((count("search_keys", "seed", seed), 1)).choice(joined, number, replace=False)


def validate(edges: Whole, key: int, parents: Whole, levels: Whole) -> None:
    """Check what a search from `key` found, by the five rules of Graph500.

    `parents` and `levels` have an element for each vertex: −1 where the search did not come, and `key` is its own parent.

    Raises:
        VerificationError: a rule is broken, with its number and a vertex or an edge that breaks it.
    """
    reached = np.flatnonzero(parents >= 0)
    ancestors = np.where(parents >= 0, parents, np.arange(len(parents)))
    for _ in range(len(parents).bit_length()):
        ancestors = ancestors[ancestors]
    _rule(1, "is the key and has another parent", np.array([key]), parents[[key]] != key)
    _rule(1, "does not lead to the key by its parents", reached, ancestors[reached] != key)
    children = reached[reached != key]
    _rule(2, "is not one level below its parent", children, levels[children] != levels[parents[children]] + 1)
    _rule(2, "has a level, or none, against what its parent says", np.arange(len(levels)), (levels >= 0) != (parents >= 0))
    one, other = levels[edges]
    here = (one >= 0) & (other >= 0)
    _rule(3, "joins levels that are not neighbours", edges.T, here & (abs(one - other) > 1))
    _rule(4, "leads out of the tree", edges.T, (one >= 0) != (other >= 0))
    pairs = np.sort(np.stack([children, parents[children]]), axis=0)
    known = np.sort(edges, axis=0)
    there = np.isin(pairs[0] << 32 | pairs[1], known[0] << 32 | known[1])
    _rule(5, "has no edge to its parent", children, ~there)


def _rule(number: int, what: str, things: Whole, wrong: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> None:
    if wrong.any():
        first = things[np.flatnonzero(wrong)[0]]
        name = f"vertex {first}" if first.ndim == 0 else f"the edge of vertices {first[0]} and {first[1]}"
        raise VerificationError(
            f"breadth-first search, rule {number} of Graph500: {name} {what}; so it is for {int(wrong.sum())}"
        )


SCAN, VISIT = 4e-9, 4e-9
"""Seconds in which a node goes along an edge, and in which it looks at a visit: assumed. They are a miss of the caches each, of
which the eight cores of a node have many at a time."""
BATCH, COALESCED = 4096, 256
"""Visits that go over PCIe together, and those in a message, as in the reference of Graph500."""
LOW = (1 << 32) - 1

Take = Callable[[Whole], None]
Phase = Callable[[Whole, Whole, Take, Callable[[], int]], int]
"""Words go to nodes, both given as arrays; `Take` gets all that come, in parts. The sum of what each node then gives at last."""
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


def bfs(
    system: System, scale: int = 10, edge_factor: int = EDGE_FACTOR, keys: int = 64, seed: int = 0, *, gathered: bool = False
) -> Bfs:
    """Make a Kronecker graph of 2^scale vertices on the nodes, search it from so many keys, and validate every search.

    `gathered`: with MPI, the visits of a level go in one message to each node, all at once; else as in the reference of Graph500.

    Raises:
        InputError: an argument is out of range.
        VerificationError: a search breaks a rule of Graph500.
    """
    expect("bfs", system, System, "a system, as isoviz.vortex.simulated(), on_ranks() or messages() makes it")
    flag_argument("bfs", "gathered", gathered)
    edges = kronecker(scale, edge_factor, seed)
    start = search_keys(edges, count("bfs", "keys", keys, low=1), seed)
    if isinstance(system, MessageSystem):
        run = system.run(on_messages, edges, 1 << scale, start, gathered)
    else:
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
    return _found(vic, vic.nodes, vic.barrier, Surprises(vic).phase, edges, vertices, keys)


def on_messages(comm: Communicator, edges: Whole, vertices: int, keys: Whole, gathered: bool = False) -> Found:
    """The same with MPI: `gathered` as in `bfs`."""
    phase = Gathered(comm).phase if gathered else Coalesced(comm).phase
    return _found(comm, comm.size, comm.Barrier, phase, edges, vertices, keys)


class Surprises:
    """Words to the FIFOs of all nodes. Where one is full, they come back, and go again.

    How many words are for it, a node learns from a word of each node. Once it has them it says so to all, with its `value`. What
    it waits for in a phase is set before it says so in the phase before, and so before anybody can send it.
    """

    def __init__(self, vic: Vic) -> None:
        self._vic, self._odd = vic, 0
        for counter in range(4):
            vic.set_counter(counter, vic.nodes)
        vic.barrier()

    def phase(self, goals: Whole, words: Whole, take: Take, value: Callable[[], int]) -> int:
        vic, every = self._vic, np.arange(self._vic.nodes)
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
        return np.asarray(self._vic.memory[row * self._vic.nodes : (row + 1) * self._vic.nodes])

    def _send_again(self) -> None:
        to, words = self._vic.returned()
        if len(to):
            self._vic.send(to, FIFO, words)


class Coalesced:
    """Words in messages of up to `COALESCED`, as the reference of Graph500 sends them.

    A node has one buffer for each other one, which is in use until its message has been sent, and one for what comes. It sends
    both numbers of a word in full. At the end it tells one node after another, by an empty message, that no more will come.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm, self._rank, self._nodes, self._compute = comm, comm.rank, comm.size, comm.compute
        self._buffer = np.empty(2 * COALESCED, np.int64)
        self._take: Take = lambda _: None
        self._going: dict[int, Request] = {}
        self._senders = 0

    def phase(self, goals: Whole, words: Whole, take: Take, value: Callable[[], int]) -> int:
        self._take, self._senders = take, self._nodes - 1
        self._receive()
        take(words[goals == self._rank])
        order = np.argsort(goals, kind="stable")
        ends = np.cumsum(np.bincount(goals, minlength=self._nodes))
        queues = [order[first:end] for first, end in zip([0, *ends[:-1]], ends, strict=True)]
        queues[self._rank] = order[:0]
        done = 0
        for place, node, first in sorted(_calls(queues)):
            self._compute((place - done) * SCAN)
            done = place
            if first < 0:
                self._finish(node)
            else:
                self._send(node, words[queues[node][first : first + COALESCED]])
        self._compute((len(words) - done) * SCAN)
        for step in range(1, self._nodes):
            node = (self._rank + step) % self._nodes
            if rest := len(queues[node]) % COALESCED:
                self._send(node, words[queues[node][-rest:]])
            self._send(node, words[:0])
            self._finish(node)
        while self._senders:
            self._coming.Wait()
            self._came()
        total = np.empty(1, np.int64)
        self._comm.Allreduce(np.array([value()]), total)
        return int(total[0])

    def _send(self, node: int, words: Whole) -> None:
        self._finish(node)
        self._going[node] = self._comm.Isend(np.stack([words >> 32, words & LOW], axis=1).reshape(-1), node)
        while self._senders and self._coming.Test():
            self._came()

    def _finish(self, node: int) -> None:
        """Wait until the buffer for a node is free; meanwhile take what comes."""
        while node in self._going:
            if Request.Waitany([self._going[node], *[self._coming] * (self._senders > 0)]):
                self._came()
            else:
                del self._going[node]

    def _receive(self) -> None:
        if self._senders:
            self._buffer[:] = -1
            self._coming = self._comm.Irecv(self._buffer, tag=0)

    def _came(self) -> None:
        """A message is in the buffer."""
        goals, values = self._buffer[self._buffer >= 0].reshape(-1, 2).T
        if len(goals):
            self._take(goals << 32 | values)
        else:
            self._senders -= 1
        self._receive()


def _calls(queues: Sequence[Whole]) -> Iterator[tuple[int, int, int]]:
    """When a node that goes through its words calls MPI: after how many words, for which node, and for its words from which on.

    −1 stands for the next word for that node: the buffer must be free again.
    """
    for node, queue in enumerate(queues):
        for first in range(0, len(queue) - COALESCED + 1, COALESCED):
            yield int(queue[first + COALESCED - 1]) + 1, node, first
            if first + COALESCED < len(queue):
                yield int(queue[first + COALESCED]), node, -1


class Gathered:
    """All words of a phase at once, those for each node in one message."""

    def __init__(self, comm: Communicator) -> None:
        self._comm, self._rank, self._nodes, self._compute = comm, comm.rank, comm.size, comm.compute

    def phase(self, goals: Whole, words: Whole, take: Take, value: Callable[[], int]) -> int:
        self._compute(len(words) * SCAN)
        sent, counts, total = np.bincount(goals, minlength=self._nodes), np.empty(self._nodes, np.int64), np.empty(1, np.int64)
        self._comm.Alltoall(sent, counts)
        came = np.empty(counts.sum(), np.int64)
        self._comm.Alltoallv([words[np.argsort(goals, kind="stable")], sent], [came, counts])
        take(came)
        self._comm.Allreduce(np.array([value()]), total)
        return int(total[0])


def _found(
    here: Vic | Communicator,
    nodes: int,
    barrier: Callable[[], None],
    phase: Phase,
    edges: Whole,
    vertices: int,
    keys: Whole,
) -> Found:
    """What a node finds: construction, and the searches."""
    rank = here.rank
    begin, own, came = here.seconds, edges[:, rank::nodes], list[Whole]()
    own = own[:, own[0] != own[1]]
    to, joined = np.concatenate([own, own[::-1]], axis=1)
    phase(*_visits(to, joined, nodes), came.append, lambda: 0)
    here.compute(sum(map(len, came)) * VISIT)
    part = Vertices(rank, nodes, len(range(rank, vertices, nodes)), np.concatenate(came))
    built, times, trees = here.seconds - begin, list[float](), list[Whole]()
    for key in keys.tolist():
        barrier()
        begin, tree = here.seconds, Tree(part, key, here.compute)
        while phase(*tree.expanded(), tree.take, tree.found):
            pass
        times.append(here.seconds - begin)
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
        self.neighbours = words & LOW
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
        self.parents[local], self.levels[local] = words & LOW, self._level
        self.frontier = np.concatenate([self.frontier, np.unique(local)])


def modelled_bfs(
    nodes: int,
    scale: int,
    edge_factor: int = EDGE_FACTOR,
    *,
    levels: int = 7,
    costs: Costs | None = None,
    figures: VortexFigures | None = None,
) -> tuple[float, float]:
    """Traversed edges per second on a Data Vortex, and with MPI as in the reference of Graph500: for graphs too large to make.

    In these, few edges are there twice, all nodes have as much to do, and trees have some seven levels.
    """
    edges = edge_factor << scale
    times = (
        modelled_on_vics(nodes, 2 * edges / nodes, levels, costs),
        modelled_on_messages(nodes, 2 * edges / nodes, levels, figures),
    )
    return edges / times[0], edges / times[1]


def modelled_on_vics(nodes: int, visits: float, levels: int, costs: Costs | None = None) -> float:
    """Seconds of a search on a Data Vortex.

    `visits`: from the node that has most, which is sent as many; `levels`: of the tree, the one of the key included.
    """
    costs = costs or Costs()
    word, remote = 8 / costs.dma, 1 - 1 / nodes
    row = 2 * costs.latency + nodes * 8 / costs.read
    told = costs.start + nodes * word + 2 * costs.latency
    # A phase ends with two words from each node to each, which are read, and a counter that is read twice.
    phase = 2 * (told + row) + 4 * costs.latency
    return visits * (SCAN + VISIT + remote * word) + max(levels, visits / BATCH) * costs.start + levels * phase


def modelled_on_messages(nodes: int, visits: float, levels: int, figures: VortexFigures | None = None) -> float:
    """The same with MPI, as in the reference of Graph500: a node waits for each of its messages, and computes between them."""
    figures = figures or VortexFigures()
    full = visits * (1 - 1 / nodes) / COALESCED

    def sent(words: float) -> float:
        asked = figures.rendezvous if 16 * words > figures.eager else 0.0
        return figures.message + asked + figures.latency + 16 * words / figures.mpi_rate

    # A level ends with an empty message to each node and a sum over all; and with what is left for each node, but for some three
    # levels that have hardly any visits.
    level, left = (nodes - 1) * figures.message + math.log2(nodes) * sent(0.5), (nodes - 1) * sent(COALESCED / 2)
    return visits * (SCAN + VISIT) + full * sent(COALESCED) + levels * level + max(1, levels - 3) * left
