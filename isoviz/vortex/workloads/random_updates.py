"""GUPS: random updates of a table that is spread over all nodes (Gioiosa et al., section VI, figure 6; HPC Challenge).

A word drawn at random says by its lowest bits which word of the table it changes, by exclusive or. The host that has that part of
the table does the update. A node may look ahead at `AHEAD` updates.

- On a Data Vortex, a word goes as it is to the FIFO of its node. Only the way over PCIe is shared.
- With MPI, the words that a node may look ahead at are sorted by their nodes: a message to each has about `AHEAD` / n words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isoviz.checks import count, expect
from isoviz.errors import InputError, VerificationError
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.modelled_mpi.system import MessageSystem
from isoviz.vortex.packet import FIFO
from isoviz.vortex.program import Vic
from isoviz.vortex.systems import ProgramRun, System
from isoviz.vortex.traffic import Whole

AHEAD = 1024
"""Updates that a node may look ahead, by the rules."""
RANGES = 4096
"""Ranges of addresses whose nodes are in the memory of every VIC, at most."""
COUNTER = 0
UPDATE = 5e-9
"""Seconds in which a node makes a random word and does an update: assumed. An update misses the caches, and eight cores have
many at a time; 200 million a second is some 25 million a core."""


@dataclass(frozen=True, eq=False)
class Gups:
    """The result of GUPS: the number of updates, the seconds (modelled or measured), the verified table, and the run of the
    program."""

    updates: int
    seconds: float
    table: Whole
    run: ProgramRun

    @property
    def rate(self) -> float:
        """Updates per second; 10⁹ are one GUPS."""
        return self.updates / self.seconds


def gups(system: System, updates: int = 1 << 15, table: int = 1 << 16, seed: int = 0) -> Gups:
    """Run GUPS, and verify the table against NumPy: none of the updates may be lost.

    - `updates`: the number on each node; `table`: the words of the table on each node, a power of two; `seed`: that of the random
      words.

    Raises:
        InputError: an argument is out of range, or the number of nodes is not a power of two.
        VerificationError: the table is not what NumPy makes of it.
    """
    expect("gups", system, System, "a system, as isoviz.vortex.simulated() or on_ranks() makes it")
    count("gups", "updates", updates, low=1, high=1 << 30)
    count("gups", "table", table, low=1, high=1 << 30)
    seed = count("gups", "seed", seed)
    if table & (table - 1) or system.nodes & (system.nodes - 1):
        raise InputError(f"gups: expected powers of two, got a table of {table} words on each of {system.nodes} nodes")
    run = system.run(on_messages if isinstance(system, MessageSystem) else on_vics, updates, table, seed)
    found = np.concatenate(run.results)
    right = np.arange(len(found))
    for node in range(system.nodes):
        words = drawn(seed, node, updates)
        np.bitwise_xor.at(right, words & (len(right) - 1), words)
    if not np.array_equal(found, right):
        raise VerificationError(f"gups: {int((found != right).sum())} of {len(right)} words of the table are wrong")
    return Gups(updates * system.nodes, run.seconds, found, run)


def drawn(seed: int, node: int, updates: int) -> Whole:
    """The random words of a node."""
    return np.random.default_rng((seed, node)).integers(1 << 62, size=updates)


def on_vics(vic: Vic, updates: int, table: int, seed: int) -> Whole:
    """The program of a node of a Data Vortex: its updates, and those that others send to it; gives its part of the table."""
    own = np.arange(vic.rank * table, (vic.rank + 1) * table)
    every = vic.nodes * table

    def update(words: Whole) -> None:
        vic.compute(len(words) * UPDATE)
        np.bitwise_xor.at(own, words & (table - 1), words)

    # The map of addresses is in the memory of the VIC, behind a word for each node.
    ranges = min(RANGES, every) if every // RANGES <= table else vic.nodes
    wide = every // ranges
    vic.load(vic.nodes, np.arange(ranges) * wide // table)
    nodes_of = np.empty(ranges, np.int64)
    vic.store(vic.nodes, nodes_of)
    vic.set_counter(COUNTER, vic.nodes)
    vic.barrier()
    words, sent, taken = drawn(seed, vic.rank, updates), np.zeros(vic.nodes, np.int64), 0
    for first in range(0, updates, AHEAD):
        some = words[first : first + AHEAD]
        goals = nodes_of[(some & (every - 1)) // wide]
        there = goals != vic.rank
        update(some[~there])
        vic.send(goals[there], FIFO, some[there])
        sent += np.bincount(goals[there], minlength=vic.nodes)
        came = vic.fifo.take()
        update(came)
        taken += len(came)
    # How many each node has sent, to all others.
    vic.send(np.arange(vic.nodes), vic.rank, sent, counter=COUNTER)
    vic.wait(COUNTER)
    counts = np.empty(vic.nodes, np.int64)
    vic.store(0, counts)
    update(vic.fifo.take(int(counts.sum()) - taken))
    return own


def on_messages(comm: Communicator, updates: int, table: int, seed: int) -> Whole:
    """The program of a node with MPI. The first word of a message says how many follow."""
    rank, nodes = comm.rank, comm.size
    own, words = np.arange(rank * table, (rank + 1) * table), drawn(seed, rank, updates)
    others = [(rank + step) % nodes for step in range(1, nodes)]
    into = np.empty((nodes, 1 + AHEAD), np.int64)

    def update(some: Whole) -> None:
        comm.compute(len(some) * UPDATE)
        np.bitwise_xor.at(own, some & (table - 1), some)

    for first in range(0, updates, AHEAD):
        some = words[first : first + AHEAD]
        goals = some // table % nodes
        requests = [comm.Irecv(into[other], other) for other in others]
        requests += [comm.Isend(np.insert(part, 0, len(part)), other) for other in others for part in [some[goals == other]]]
        update(some[goals == rank])
        for request in requests:
            request.Wait()
        for other in others:
            update(into[other, 1 : 1 + into[other, 0]])
    return own
