"""Sweeps of neutron transport, as the proxy SNAP does them (Gioiosa et al., section VII, figure 9), on both networks.

Neutrons fly in `angles` directions of each octant and have one of several energies (groups). What flies in a direction is known
in a cell once it is known in the three cells that it comes from: so work runs over the cells as a wave, from one corner. A node
has all cells along x of a block in y and z. It takes a chunk of them at a time, and hands the two faces where the wave leaves on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from isoviz.checks import count, expect, flag_argument, items
from isoviz.errors import InputError, VerificationError
from isoviz.vortex.modelled_mpi.communicator import Communicator
from isoviz.vortex.modelled_mpi.system import MessageSystem
from isoviz.vortex.packet import WORDS
from isoviz.vortex.program import Vic
from isoviz.vortex.systems import System
from isoviz.vortex.traffic import Whole
from isoviz.vortex.workloads.decomposition import Block, block, grid

CELL, COPIED = 2e-9, 1e-9
"""Seconds in which a node computes a direction in a cell, and copies a word between a face and a buffer: assumed. A core takes
some 16 ns for the first, and a node has eight."""
SCATTERED = 0.5
"""The share of the flux of a sweep that is a source in the next one."""
AHEAD = 8
"""Stages for which a node has places where faces arrive, in the restructured program."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Sweeps of all octants and groups, in modelled seconds, and the flux, which has been verified: by group and cell.

    `updates`: how many there were of a direction in a cell.
    """

    nodes: int
    updates: int
    seconds: float
    flux: Floats

    @property
    def rate(self) -> float:
        """Updates per modelled second."""
        return self.updates / self.seconds


class Problem(NamedTuple):
    """Sources by group and cell, directions in an octant, cells along x in a chunk, and how many sweeps."""

    sources: Floats
    angles: int
    chunk: int
    sweeps: int


def sweep(
    system: System,
    cells: tuple[int, int, int] = (8, 8, 8),
    groups: int = 2,
    angles: int = 50,
    *,
    chunk: int = 2,
    sweeps: int = 1,
    seed: int = 0,
    aggregated: bool = True,
    restructured: bool = True,
) -> Sweep:
    """Sweep drawn sources, and verify the flux against NumPy, which has all cells in one block.

    - `cells`: along x, y and z; `groups`: of energy; `angles`: directions in an octant; `chunk`: cells along x of a stage. SNAP
      has 50 to 250 directions, 30 to 100 groups and 1,000 to 4,000 cells for a process (NERSC, benchmarks of Trinity).
    - `aggregated`: on a Data Vortex, both faces go over PCIe together, in and out, by DMA; else cell by cell along x, by direct
      writes and reads.
    - `restructured`: on a Data Vortex, a node takes faces for several stages ahead; else for the one that it waits for, as a
      message that is asked for.

    Raises:
        InputError: an argument is out of range, there are too few cells for the nodes, or faces do not fit in 32 MB.
        VerificationError: the flux is not the one that NumPy gives.
    """
    expect("sweep", system, System, "a system, as isoviz.vortex.simulated(), on_ranks() or messages() makes it")
    sizes = tuple(count("sweep", "cells", each, low=1) for each in items("sweep, cells", cells, "three sizes"))
    if len(sizes) != 3:
        raise InputError(f"sweep, cells: expected three sizes, got {len(sizes)}")
    numbers = {"groups": groups, "angles": angles, "chunk": chunk, "sweeps": sweeps}
    for name, number in numbers.items():
        count("sweep", name, number, low=1, high=1 << 20)
    flag_argument("sweep", "aggregated", aggregated)
    flag_argument("sweep", "restructured", restructured)
    sides = grid(system.nodes, 2)
    boxes = [block("sweep", sizes[1:], sides, rank).box for rank in range(system.nodes)]
    sources = np.random.default_rng(count("sweep", "seed", seed)).random((groups, *sizes))
    problem = Problem(sources, angles, chunk, sweeps)
    if 2 * AHEAD * _room(problem, sides) > WORDS // 2:
        raise InputError(f"sweep: two faces for each of {AHEAD} stages do not fit in the {WORDS} words of a VIC")
    if isinstance(system, MessageSystem):
        run = system.run(on_messages, problem)
    else:
        run = system.run(on_vics, problem, aggregated, AHEAD if restructured else 1)
    flux = np.empty_like(sources)
    for box, (_, part) in zip(boxes, run.results, strict=True):
        flux[:, :, box[0], box[1]] = part
    if not np.allclose(flux, reference(problem), rtol=1e-10, atol=0):
        raise VerificationError("sweep: the flux is not the one that NumPy gives")
    return Sweep(system.nodes, sweeps * 8 * angles * sources.size, max(seconds for seconds, _ in run.results), flux)


def reference(problem: Problem) -> Floats:
    """The flux by NumPy, with all cells in one block."""
    part = SweepBlock(problem, 1, 0)
    for stage in part.stages:
        part.step(stage, *part.nothing(stage))
    return part.flux


class Stage(NamedTuple):
    """A chunk of cells along x, in one group, for the directions of an octant. `signs`: whether they go up along x, y and z."""

    sweep: int
    signs: tuple[bool, bool, bool]
    group: int
    chunk: slice


class SweepBlock:
    """A node's block of cells and what is computed in it."""

    def __init__(self, problem: Problem, nodes: int, rank: int) -> None:
        self.angles = problem.angles
        self.block: Block = block("sweep", problem.sources.shape[2:], grid(nodes, 2), rank)
        self.sources = problem.sources[:, :, self.block.box[0], self.block.box[1]]
        self.flux = np.zeros_like(self.sources)
        self._before, self._sweep = self.flux, -1
        self._edge = np.empty(0)
        self.stages = list(_stages(problem))
        draw = np.random.default_rng(0).dirichlet(np.ones(3), problem.angles)
        self.slopes = 2 * np.sqrt(draw).T  # twice the cosines of the directions, in cells as wide as they are deep
        self._total = 1 + self.slopes.sum(axis=0)

    def shapes(self, stage: Stage) -> list[tuple[int, int, int]]:
        """Of the faces across y and z."""
        length, (wide, high) = stage.chunk.stop - stage.chunk.start, self.block.shape
        return [(length, high, self.angles), (length, wide, self.angles)]

    def nothing(self, stage: Stage) -> list[Floats]:
        """The faces where no neutron comes in."""
        return [np.zeros(shape) for shape in self.shapes(stage)]

    def neighbours(self, stage: Stage, onward: bool) -> list[int | None]:
        """Where the wave goes on to, or comes from, along y and z."""
        return [(self.block.above if up is onward else self.block.below)[axis] for axis, up in enumerate(stage.signs[1:])]

    def seconds(self, stage: Stage) -> float:
        """Those of a stage."""
        return float(np.prod(self.shapes(stage)[0])) * self.block.shape[0] * CELL

    def step(self, stage: Stage, across_y: Floats, across_z: Floats) -> None:
        """Compute a stage. What came in over the faces is in these arrays, and then what goes out."""
        if stage.sweep != self._sweep:
            self._sweep, self._before, self.flux = stage.sweep, self.flux, np.zeros_like(self.flux)
        signs = stage.signs
        if stage.chunk.start == 0:
            self._edge = np.zeros((*self.block.shape, self.angles))
        turned = tuple(slice(None, None, 1 if up else -1) for up in signs)
        source = (self.sources[stage.group] + SCATTERED * self._before[stage.group])[turned][stage.chunk]
        flux, total = self.flux[stage.group][turned][stage.chunk], self._total
        faces = self._edge, across_y, across_z
        for x, y, z in _diagonals(source.shape):
            places = (y, z), (x, z), (x, y)
            came = [face[place] for face, place in zip(faces, places, strict=True)]
            there = (source[x, y, z, None] + sum(slope * each for slope, each in zip(self.slopes, came, strict=True))) / total
            for face, place, each in zip(faces, places, came, strict=True):
                face[place] = 2 * there - each
            flux[x, y, z] += there.mean(axis=1) / 8


def _stages(problem: Problem) -> Iterator[Stage]:
    """All stages, in the order in which every node takes them: what begins in one corner of y and z follows one another."""
    length = problem.sources.shape[1]
    chunks = [slice(first, min(first + problem.chunk, length)) for first in range(0, length, problem.chunk)]
    ways = (True, False)
    for number, z, y, x, group in product(range(problem.sweeps), ways, ways, ways, range(len(problem.sources))):
        yield from (Stage(number, (x, y, z), group, chunk) for chunk in chunks)


@cache
def _diagonals(shape: tuple[int, int, int]) -> list[tuple[Whole, Whole, Whole]]:
    """The cells of a block in the order of a wave from its first corner: those of a diagonal plane do not need one another."""
    x, y, z = np.indices(shape).reshape(3, -1)
    planes = [np.flatnonzero(x + y + z == plane) for plane in range(sum(shape) - 2)]
    return [(x[plane], y[plane], z[plane]) for plane in planes]


def _room(problem: Problem, sides: Sequence[int]) -> int:
    """Words of the largest face."""
    widest = max(-(-size // side) for size, side in zip(problem.sources.shape[2:], sides, strict=True))
    return int(min(problem.chunk, problem.sources.shape[1]) * widest * problem.angles)


def on_vics(vic: Vic, problem: Problem, aggregated: bool, ahead: int) -> tuple[float, Floats]:
    """The program of a node of a Data Vortex: its modelled seconds, and the flux in its block."""
    part = SweepBlock(problem, vic.nodes, vic.rank)
    faces = Faces(vic, part, _room(problem, grid(vic.nodes, 2)), aggregated, ahead)
    started = vic.seconds
    for number, stage in enumerate(part.stages):
        came = faces.take(number)
        vic.compute(part.seconds(stage))
        part.step(stage, *came)
        faces.send(number, came)
    return vic.seconds - started, part.flux


def on_messages(comm: Communicator, problem: Problem) -> tuple[float, Floats]:
    """The same with MPI: a message for each face."""
    part = SweepBlock(problem, comm.size, comm.rank)
    comm.Barrier()
    started, going = comm.seconds, list[Any]()
    for stage in part.stages:
        faces = part.nothing(stage)
        for axis, node in enumerate(part.neighbours(stage, onward=False)):
            if node is not None:
                comm.Recv(faces[axis], node, axis)
                comm.compute(faces[axis].size * COPIED)
        comm.compute(part.seconds(stage))
        part.step(stage, *faces)
        for request in going:
            request.Wait()
        onward = [(face, node) for face, node in enumerate(part.neighbours(stage, onward=True)) if node is not None]
        comm.compute(sum(faces[face].size for face, _ in onward) * COPIED)
        going = [comm.Isend(faces[face], node, face) for face, node in onward]
    for request in going:
        request.Wait()
    return comm.seconds - started, part.flux


class Faces:
    """The faces of stages on their way between the VICs of a pipeline, without barriers.

    A node has places and a group counter for `ahead` stages. Once it has taken the faces of a stage, it sets the counter of the
    stage that gets the places next, and then lets the nodes before it send, by a packet to a counter of theirs. These counters
    are set for twice as many stages ahead: so far a neighbour can be, while the wave goes the other way.
    """

    def __init__(self, vic: Vic, part: SweepBlock, room: int, aggregated: bool, ahead: int) -> None:
        self._vic, self._part, self._room, self._aggregated, self._ahead = vic, part, room, aggregated, ahead
        self._wide = 2 * ahead + 2
        for number in range(self._wide):
            self._expect_leave(number)
            if number < ahead:
                self._expect_faces(number)
        vic.barrier()
        for number in range(ahead):
            self._give_leave(number)

    def take(self, number: int) -> list[Floats]:
        """The faces that come in for a stage."""
        vic, stage = self._vic, self._part.stages[number]
        faces = self._part.nothing(stage)
        places = self._places(number, faces, self._part.neighbours(stage, onward=False))
        if places:
            vic.wait(number % self._ahead)
        came = np.empty(sum(len(addresses) for _, _, addresses in places), np.int64)
        if places and self._aggregated:
            vic.store(np.concatenate([addresses for _, _, addresses in places]), came)
        elif places:
            came = np.concatenate([np.asarray(vic.memory[row]) for _, _, all_of in places for row in _rows(all_of, stage)])
        vic.compute(len(came) * COPIED)
        for face, _, addresses in places:
            faces[face][:] = came[: len(addresses)].view("f8").reshape(faces[face].shape)
            came = came[len(addresses) :]
        self._expect_faces(number + self._ahead)
        self._give_leave(number + self._ahead)
        return faces

    def send(self, number: int, faces: list[Floats]) -> None:
        """Send the faces of a stage on."""
        vic, stage = self._vic, self._part.stages[number]
        places = self._places(number, faces, self._part.neighbours(stage, onward=True))
        if places:
            vic.wait(self._ahead + number % self._wide)
        self._expect_leave(number + self._wide)
        vic.compute(sum(len(addresses) for _, _, addresses in places) * COPIED)
        counter = number % self._ahead
        if places and self._aggregated:
            nodes, addresses, values = (
                np.concatenate(each)
                for each in zip(
                    *((np.full(len(at), node), at, faces[face].reshape(-1)) for face, node, at in places), strict=True
                )
            )
            vic.send(nodes, addresses, values, counter)
        elif places:
            for face, node, all_of in places:
                for row, values in zip(_rows(all_of, stage), faces[face], strict=True):
                    vic.send(node, row, values.reshape(-1), counter, by="direct")

    def _places(self, number: int, faces: list[Floats], nodes: list[int | None]) -> list[tuple[int, int, Whole]]:
        """Of the faces that have a node at their other side: which one, the node, and the addresses where it arrives."""
        first = number % self._ahead * 2 * self._room
        return [
            (face, node, first + face * self._room + np.arange(faces[face].size))
            for face, node in enumerate(nodes)
            if node is not None
        ]

    def _expect_faces(self, number: int) -> None:
        if number < len(self._part.stages):
            stage = self._part.stages[number]
            shapes, nodes = self._part.shapes(stage), self._part.neighbours(stage, onward=False)
            words = sum(int(np.prod(shape)) for shape, node in zip(shapes, nodes, strict=True) if node is not None)
            self._vic.set_counter(number % self._ahead, words)

    def _expect_leave(self, number: int) -> None:
        if number < len(self._part.stages):
            nodes = self._part.neighbours(self._part.stages[number], onward=True)
            self._vic.set_counter(self._ahead + number % self._wide, sum(node is not None for node in nodes))

    def _give_leave(self, number: int) -> None:
        if number < len(self._part.stages):
            nodes = [node for node in self._part.neighbours(self._part.stages[number], onward=False) if node is not None]
            if nodes:
                place, counter = WORDS - self._vic.nodes + self._vic.rank, self._ahead + number % self._wide
                self._vic.send(np.array(nodes), place, 0, counter, by="direct")


def _rows(addresses: Whole, stage: Stage) -> Whole:
    """The addresses of a face, by cells along x."""
    return addresses.reshape(stage.chunk.stop - stage.chunk.start, -1)
