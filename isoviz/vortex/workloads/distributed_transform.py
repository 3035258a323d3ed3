"""Fourier transforms of a matrix whose rows are spread over the nodes, and its transposition, on both networks.

On a Data Vortex the transposition is in the delivery: words go straight to their places (Gioiosa et al., section VI). With MPI a
node puts what goes to each node together, sends it, and puts what came in its place: its memory copies everything twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt, log2
from typing import Any, Protocol

import numpy as np

from isoviz.checks import count, expect
from isoviz.errors import InputError
from isoviz.machines.networks.vortex_shares import measured_share
from isoviz.machines.presets.vortex import VortexFigures
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.packet import WORDS
from isoviz.vortex.patterns import transposed
from isoviz.vortex.program import Vic
from isoviz.vortex.system import Costs

FLOPS = 15e9
"""Operations a second of a node that transforms rows: assumed, 4 % of the peak of its eight Haswell cores. Memory limits it."""
COUNTER = 0
HOPS = 20
"""Some cycles of a packet in a switch, with deflections."""
NETWORKS = ("Data Vortex", "InfiniBand")

Matrix = np.ndarray[Any, np.dtype[np.complex128]]


class Turner(Protocol):
    """A node, and how it transposes a matrix that is spread over all nodes."""

    rank: int
    nodes: int

    @property
    def seconds(self) -> float:
        """Modelled seconds since the node began."""

    def compute(self, seconds: float, /) -> None:
        """The host works for `seconds`, modelled."""

    def barrier(self) -> None:
        """Wait until all nodes are here."""

    def turn(self, rows: Matrix, /) -> Matrix:
        """The rows that this node has of the transposed matrix."""


class TurnedByDelivery:
    """Transposition in the delivery, in pieces: while one is stored, the next one is on its way."""

    def __init__(self, vic: Vic, pieces: int | None = None) -> None:
        self._vic, self._pieces = vic, pieces
        self.rank, self.nodes, self.compute, self.barrier = vic.rank, vic.nodes, vic.compute, vic.barrier

    @property
    def seconds(self) -> float:
        return self._vic.seconds

    def turn(self, rows: Matrix, /) -> Matrix:
        pieces = self._pieces or pieces_of(2 * rows.size, rows.shape[1] // self.nodes)
        return transposed(self._vic, rows, counter=COUNTER, pieces=pieces)


class TurnedInMemory:
    """Transposition before and after an exchange of messages."""

    def __init__(self, comm: Communicator) -> None:
        self._comm, self._copy = comm, VortexFigures().copy
        self.rank, self.nodes, self.compute, self.barrier = comm.rank, comm.size, comm.compute, comm.Barrier

    @property
    def seconds(self) -> float:
        return self._comm.seconds

    def turn(self, rows: Matrix, /) -> Matrix:
        nodes, r, c = self.nodes, len(rows), rows.shape[1] // self.nodes
        self.compute(rows.nbytes / self._copy)
        sent = np.ascontiguousarray(rows.reshape(r, nodes, c).transpose(1, 2, 0))
        came = np.empty_like(sent)
        self._comm.Alltoall(sent, came)
        self.compute(rows.nbytes / self._copy)
        return np.ascontiguousarray(came.transpose(1, 0, 2)).reshape(c, nodes * r)


def pieces_of(words: int, rows: int) -> int:
    """In how many pieces so many words come, in so many rows: two of them have to fit in the memory of a VIC.

    More are better while what they overlap is more than the barriers between them, some 4 µs each: the square root of how often
    the words take so long.
    """
    return max(1, min(rows, max(-(-2 * words // WORDS), isqrt(words // 2200))))


def transformed(here: Turner, rows: Matrix, *, inverse: bool = False) -> Matrix:
    """Fourier transforms of all rows of a node."""
    here.compute(row_seconds(rows.size, rows.shape[1]))
    return np.fft.ifft(rows, axis=1) if inverse else np.fft.fft(rows, axis=1)


def row_seconds(points: int, length: int) -> float:
    """What transforms of rows of a `length` take, of so many points in all: 5 log₂ length operations a point."""
    return 5 * points * log2(max(length, 2)) / FLOPS


@dataclass(frozen=True)
class TurnModel:
    """What a transposition takes, without simulation: for matrices that are too large to compute.

    - `network`: one of `NETWORKS`. `nodes`: how many.
    - `costs`, `share`: of the Data Vortex; `share` is what the switch carries per port and cycle, by default what was measured of
      one with a height for each node, at least 32, and ports at one of four angles. `figures`: of InfiniBand.
    """

    network: str
    nodes: int
    costs: Costs = field(default_factory=Costs)
    figures: VortexFigures = field(default_factory=VortexFigures)
    share: float | None = None

    def __post_init__(self) -> None:
        expect("TurnModel, network", self.network, str, "the name of a network")
        if self.network not in NETWORKS:
            raise InputError(f"TurnModel, network: expected one of {', '.join(map(repr, NETWORKS))}, got {self.network!r}")
        count("TurnModel", "nodes", self.nodes, low=1, high=1 << 16)

    def seconds(self, nbytes: int, rows: int, pieces: int | None = None) -> float:
        """Seconds of a transposition with so many bytes on each node, in so many rows of the result: on a Data Vortex in pieces,
        by default as many as `fourier` takes."""
        if self.network == NETWORKS[1]:
            return self._in_memory(nbytes)
        costs, pieces = self.costs, pieces or pieces_of(nbytes // 8, rows)
        heights = max(32, 1 << (self.nodes - 1).bit_length())
        share = measured_share("TurnModel", heights, 4, 1) if self.share is None else self.share
        through, part = HOPS * costs.cycle, nbytes / pieces
        barrier = 2 * (costs.latency + through + costs.latency) + costs.turn
        sent = costs.start + part / min(costs.dma, 8 * share / costs.cycle) + costs.latency + through + costs.latency
        stored = costs.start + part / costs.dma + 2 * costs.latency
        return pieces * (barrier + sent) + stored

    def _in_memory(self, nbytes: int) -> float:
        given, others = self.figures, self.nodes - 1
        part = nbytes // self.nodes
        asked = given.rendezvous if part > given.eager else 0.0
        every = others * max(given.message, part / given.link)
        beside = max(others * given.message + part / given.copy, given.message + asked + every)
        last = given.latency + part / given.mpi_rate - part / given.link if others else 0.0
        return 2 * nbytes / given.copy + (beside if others else part / given.copy) + last
