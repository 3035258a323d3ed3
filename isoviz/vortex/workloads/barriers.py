"""Barriers of all nodes (Gioiosa et al., section V, figure 4): that of the VICs, one of words from all to all, that of MPI."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isoviz.checks import count, expect, is_one_of
from isoviz.errors import InputError, VerificationError, show
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.modelled_mpi.system import MessageSystem
from isoviz.vortex.program import Vic
from isoviz.vortex.systems import System

WAYS = ("intrinsic", "all to all")
COUNTERS = (0, 1)
"""Two take turns: nobody is two barriers ahead of another node."""
LATE = 100e-6
"""Seconds by which a node is late, to see that all others wait for it."""


@dataclass(frozen=True)
class Barrier:
    """Modelled `seconds` of a barrier of so many nodes, the mean of so many `times`. All were seen to wait for the last one."""

    nodes: int
    way: str
    times: int
    seconds: float


def barrier(system: System, times: int = 10, way: str = WAYS[0]) -> Barrier:
    """Have so many barriers in a row, and one more for which a node is late.

    `way`, on a Data Vortex: `"intrinsic"` is the barrier of the VICs; with `"all to all"` each node sends a word to all ("Fast
    Barrier").

    Raises:
        InputError: an argument is out of range.
        VerificationError: a node did not wait for the late one.
    """
    expect("barrier", system, System, "a system, as isoviz.vortex.simulated() or messages() makes it")
    count("barrier", "times", times, low=1)
    if not is_one_of(way, WAYS):
        raise InputError(f"barrier, way: expected one of {', '.join(map(repr, WAYS))}, got {show(way)}")
    if isinstance(system, MessageSystem):
        way, run = "MPI", system.run(on_messages, times)
    else:
        run = system.run(on_vics, times, way)
    seconds, waited = zip(*run.results, strict=True)
    early = [rank for rank, each in enumerate(waited) if each < 0.9 * LATE]
    if early:
        raise VerificationError(f"barrier: node {early[0]} did not wait for node {system.nodes - 1}")
    return Barrier(system.nodes, way, times, max(seconds))


def on_vics(vic: Vic, times: int, way: str = WAYS[0]) -> tuple[float, float]:
    """The program of a node of a Data Vortex: seconds of a barrier, and how long the last one took, for which a node is late."""
    call: Callable[[], None] = vic.barrier if way == WAYS[0] else AllToAll(vic)
    return _timed(vic, call, vic.rank == vic.nodes - 1, times)


def on_messages(comm: Communicator, times: int) -> tuple[float, float]:
    """The program of a node with MPI: as `on_vics`."""
    return _timed(comm, comm.Barrier, comm.rank == comm.size - 1, times)


class AllToAll:
    """A barrier in which a node sends a word to all, and waits for a word of all."""

    def __init__(self, vic: Vic) -> None:
        self._vic, self._every, self._number = vic, np.arange(vic.nodes), 0
        for counter in COUNTERS:
            vic.set_counter(counter, vic.nodes)
        vic.barrier()

    def __call__(self) -> None:
        vic, counter = self._vic, COUNTERS[self._number % 2]
        self._number += 1
        vic.send(self._every, vic.rank, self._number, counter, by="cached")
        vic.wait(counter)
        vic.set_counter(counter, vic.nodes)


def _timed(here: Vic | Communicator, call: Callable[[], None], late: bool, times: int) -> tuple[float, float]:
    call()
    begin = here.seconds
    for _ in range(times):
        call()
    each = (here.seconds - begin) / times
    begin = here.seconds
    if late:
        here.compute(LATE)
    call()
    return each, here.seconds - begin
