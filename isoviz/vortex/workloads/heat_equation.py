"""The heat equation in three dimensions, explicitly (Gioiosa et al., section VII, figure 9), on both networks.

Each node has a block of points, and in each step needs the faces of its neighbours' blocks. Beyond the border it is cold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from isoviz.checks import count, expect, flag_argument, items
from isoviz.errors import InputError, VerificationError
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.modelled_mpi.system import MessageSystem, Request
from isoviz.vortex.packet import WORDS
from isoviz.vortex.program import Vic
from isoviz.vortex.systems import System
from isoviz.vortex.workloads.decomposition import Slices, block, grid

POINT, COPIED = 0.5e-9, 1e-9
"""Seconds in which a node computes a point, and copies a word between a face and a buffer: assumed. Its memory moves some
50 GB/s, and a point takes 24 bytes."""
DIFFUSION = 0.125
"""How far heat spreads in a step: the sum of the neighbours less six times the point itself is taken so often."""
FACES = 6
CORE = (slice(1, -1),) * 3

Points = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Heat:
    """`steps` steps of the heat equation, in modelled seconds, and the temperatures at the end, which have been verified."""

    nodes: int
    steps: int
    seconds: float
    temperatures: Points

    @property
    def rate(self) -> float:
        """Points computed per modelled second."""
        return self.temperatures.size * self.steps / self.seconds


def heat(
    system: System,
    points: tuple[int, int, int] = (32, 32, 32),
    steps: int = 4,
    seed: int = 0,
    *,
    aggregated: bool = True,
    restructured: bool = True,
    processes: int = 1,
) -> Heat:
    """Let drawn temperatures spread for some steps, and verify them against NumPy, bit for bit.

    - `aggregated`: on a Data Vortex, all faces go over PCIe together, in and out; else one after another.
    - `restructured`: on a Data Vortex, nodes take turns with two places for the faces and need no barrier, and compute what needs
      no neighbour while faces are under way; else a step is a barrier, an exchange and a computation.
    - `processes`: with MPI, on each node; each has a part of its points, and own messages. Inside a node they cost nothing.

    Raises:
        InputError: an argument is out of range, or there are too few points for the nodes, or faces too large for 32 MB.
        VerificationError: the temperatures are not those that NumPy gives.
    """
    expect("heat", system, System, "a system, as isoviz.vortex.simulated(), on_ranks() or messages() makes it")
    sizes = tuple(count("heat", "points", each, low=1) for each in items("heat, points", points, "three sizes"))
    if len(sizes) != 3:
        raise InputError(f"heat, points: expected three sizes, got {len(sizes)}")
    count("heat", "steps", steps, low=1)
    flag_argument("heat", "aggregated", aggregated)
    flag_argument("heat", "restructured", restructured)
    count("heat", "processes", processes, low=1, high=1 << 10)
    sides = grid(system.nodes, 3)
    boxes = [block("heat", sizes, sides, rank).box for rank in range(system.nodes)]
    begin = np.random.default_rng(count("heat", "seed", seed)).random(sizes)
    if 2 * FACES * HeatBlock(begin, system.nodes, 0).room > WORDS:
        raise InputError(f"heat: two places for each of {FACES} faces do not fit in the {WORDS} words of a VIC")
    if isinstance(system, MessageSystem):
        run = system.run(on_messages, begin, steps, processes)
    else:
        run = system.run(on_vics, begin, steps, aggregated, restructured)
    found = np.empty_like(begin)
    for box, (_, part) in zip(boxes, run.results, strict=True):
        found[box] = part
    if not np.array_equal(found, reference(begin, steps)):
        raise VerificationError("heat: the temperatures are not those that NumPy gives")
    return Heat(system.nodes, steps, max(seconds for seconds, _ in run.results), found)


def reference(temperatures: Points, steps: int) -> Points:
    """The same by NumPy, on the whole."""
    padded = np.pad(temperatures, 1)
    for _ in range(steps):
        padded[CORE] = spread(padded)
    return padded[CORE]


def spread(padded: Points) -> Points:
    """The temperatures of a block after a step, from those before it with a layer of points around them."""
    inside = slice(1, -1)
    own = padded[CORE]
    total = -6 * own
    for axis in range(3):
        for part in (slice(None, -2), slice(2, None)):
            place = [inside] * 3
            place[axis] = part
            total += padded[tuple(place)]
    return own + DIFFUSION * total


class Face(NamedTuple):
    """A face of a block: which of the six, the node beyond it, and where in the padded block its points and that node's are."""

    number: int
    node: int
    own: Slices
    halo: Slices


class HeatBlock:
    """A node's block with a layer of points around it, and its faces that have a neighbour."""

    def __init__(self, begin: Points, nodes: int, rank: int) -> None:
        sides = grid(nodes, 3)
        own = block("heat", begin.shape, sides, rank)
        self.padded = np.pad(begin[own.box], 1)
        self.faces = list[Face]()
        for axis in range(3):
            for above, node in enumerate((own.below[axis], own.above[axis])):
                if node is not None:
                    places = [[slice(1, -1)] * 3, [slice(1, -1)] * 3]
                    places[0][axis], places[1][axis] = (slice(-2, -1), slice(-1, None)) if above else (slice(1, 2), slice(1))
                    self.faces.append(Face(2 * axis + above, node, tuple(places[0]), tuple(places[1])))
        self.sizes = [self.padded[face.own].size for face in self.faces]
        inside = int(np.prod([max(0, size - 2) for size in own.shape]))
        self.seconds, self.inside_seconds = self.padded[CORE].size * POINT, inside * POINT
        longest = [-(-size // side) for size, side in zip(begin.shape, sides, strict=True)]
        self.room = int(np.prod(sorted(longest)[1:]))

    def packed(self, faces: Sequence[int]) -> Points:
        """The points of some faces, one after another."""
        return np.concatenate([self.padded[self.faces[face].own].reshape(-1) for face in faces])

    def unpack(self, faces: Sequence[int], values: Points) -> None:
        """The points beyond some faces came."""
        for face in faces:
            halo = self.padded[self.faces[face].halo]
            halo[:] = values[: halo.size].reshape(halo.shape)
            values = values[halo.size :]

    def step(self) -> None:
        """The temperatures after a step."""
        self.padded[CORE] = spread(self.padded)


def on_vics(vic: Vic, begin: Points, steps: int, aggregated: bool, restructured: bool) -> tuple[float, Points]:
    """The program of a node of a Data Vortex: its modelled seconds, and the temperatures of its block."""
    part = HeatBlock(begin, vic.nodes, vic.rank)
    every = list(range(len(part.faces)))
    together = [every] if aggregated else [[face] for face in every]
    parcels = [Parcel(part, faces, aggregated) for faces in together if faces]
    for turn in (0, 1):
        for parcel in parcels:
            vic.set_counter(parcel.counter_here + turn, parcel.words)
    vic.barrier()
    started = vic.seconds
    meanwhile = part.inside_seconds if restructured else 0.0
    for step in range(steps):
        turn = step % 2
        if not restructured:
            vic.barrier()
        for parcel in parcels:
            vic.compute(parcel.words * COPIED)
            values = part.packed(parcel.faces)[parcel.order]
            vic.send(parcel.nodes, parcel.there + turn * FACES * part.room, values, parcel.counter_there + turn)
        # What needs no neighbour is computed while faces are under way, and while the DMA engine takes them to the host.
        vic.compute(meanwhile / 2)
        came = [np.empty(parcel.words) for parcel in parcels]
        for parcel, words in zip(parcels, came, strict=True):
            vic.wait(parcel.counter_here + turn)
            vic.set_counter(parcel.counter_here + turn, parcel.words)  # before the next faces go out, which ask for more
            vic.store(parcel.here + turn * FACES * part.room, words, wait=not restructured)
        vic.compute(meanwhile / 2)
        if restructured:
            vic.finish()
        for parcel, words in zip(parcels, came, strict=True):
            vic.compute(parcel.words * COPIED)
            part.unpack(parcel.faces, words)
        vic.compute(part.seconds - meanwhile)
        part.step()
    return vic.seconds - started, part.padded[CORE]


def on_messages(comm: Communicator, begin: Points, steps: int, processes: int = 1) -> tuple[float, Points]:
    """The same with MPI: a message for each face of each of a node's processes that has its neighbour on another node."""
    part = HeatBlock(begin, comm.size, comm.rank)
    sides = grid(processes, 3)
    every = list(enumerate(processes // sides[face.number // 2] for face in part.faces))
    came = [np.empty(size) for size in part.sizes]
    comm.Barrier()
    started = comm.seconds
    for _ in range(steps):
        comm.compute(sum(part.sizes) * COPIED)
        requests = [
            comm.Irecv(piece, part.faces[which].node, part.faces[which].number)
            for which, pieces in every
            for piece in np.array_split(came[which], pieces)
        ]
        requests += [
            comm.Isend(piece, part.faces[which].node, part.faces[which].number ^ 1)
            for which, pieces in every
            for piece in np.array_split(part.packed([which]), pieces)
        ]
        Request.Waitall(requests)
        comm.compute(sum(part.sizes) * COPIED + part.seconds)
        for which, values in enumerate(came):
            part.unpack([which], values)
        part.step()
    return comm.seconds - started, part.padded[CORE]


class Parcel:
    """Faces that go over PCIe together: where their words go, and where those of the neighbours arrive.

    A face arrives at its number times the room of a face. Words to different nodes alternate, as the switch likes them.
    """

    def __init__(self, part: HeatBlock, faces: Sequence[int], counted_together: bool) -> None:
        self.faces, sizes = faces, [part.sizes[face] for face in faces]
        own = [part.faces[face] for face in faces]
        within = np.concatenate([np.arange(size) for size in sizes])
        self.words, self.order = len(within), np.argsort(within, kind="stable")
        numbers = np.repeat([face.number for face in own], sizes)
        self.here, self.there = numbers * part.room + within, ((numbers ^ 1) * part.room + within)[self.order]
        self.nodes = np.repeat([face.node for face in own], sizes)[self.order]
        counters = 0 if counted_together else 2 * own[0].number, 0 if counted_together else 2 * (own[0].number ^ 1)
        self.counter_here, self.counter_there = counters
