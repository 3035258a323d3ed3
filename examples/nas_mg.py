"""NAS MG: a multigrid solver whose ranks put the faces of their blocks into the ghost cells of their neighbours.

It is the kernel MG of the NAS Parallel Benchmarks: Poisson's equation on a cube with twenty point charges, solved by V-cycles
over ever coarser grids. Every rank has a block of each grid, with a layer of ghost cells around it. After each step the faces go
to the neighbours. The same program does it in three ways, and compares them in one run:

- `put`: every face is put straight from the grid into the neighbour's ghost cells, strided at both ends (`isoviz.rma`);
- `buffered`: it is packed, put as one piece, and unpacked by the neighbour;
- `mpi`: it is packed, sent as a message, and unpacked: MPI's two-sided calls.

The ways have to agree in every bit, with each other and with a run on one rank, and the norm of the residual has to be the one
that NAS published for the class. Run it as a program of 1, 2, 4 or 8 ranks:

    mpiexec -n 2 python -P examples/nas_mg.py
    mpiexec -n 4 python -P examples/nas_mg.py --class B --size 64
    mpiexec -n 2 python -P examples/nas_mg.py --ranks-along 2,1,1

Classes A and B are 256 × 256 × 256 points, 4 and 20 cycles: minutes on a computer of two cores. `--size` scales them. Then there
is no published norm, and everything else is verified. `--ranks-along` divides other axes than NAS does (x, y, z; x varies
fastest): the faces across x are runs of 8 bytes, those across y are rows, those across z are planes.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

import isoviz
from isoviz.errors import InputError, RankLost
from isoviz.launch.this_rank import RankSession, rank_session

Array = np.ndarray[Any, np.dtype[np.float64]]
Triple = tuple[int, int, int]
Block = tuple[slice, slice, slice]

RESIDUAL = (-8 / 3, 0.0, 1 / 6, 1 / 12)
RESTRICTION = (1 / 2, 1 / 4, 1 / 8, 1 / 16)
FIRST_SMOOTHER = (-3 / 8, 1 / 32, -1 / 64, 0.0)
SECOND_SMOOTHER = (-3 / 17, 1 / 33, -1 / 61, 0.0)
"""Weights of a point, and of its neighbours that differ in one, two and three coordinates (NPB, MG)."""


class Problem(NamedTuple):
    """A class of the benchmark: points along each axis, V-cycles, smoother, and the published norm (None: there is none)."""

    size: int
    cycles: int
    smoother: tuple[float, ...]
    norm: float | None


CLASSES = {
    "S": Problem(32, 4, FIRST_SMOOTHER, 0.5307707005734e-04),
    "W": Problem(128, 4, FIRST_SMOOTHER, 0.6467329375339e-05),
    "A": Problem(256, 4, FIRST_SMOOTHER, 0.2433365309069e-05),
    "B": Problem(256, 20, SECOND_SMOOTHER, 0.1800564401355e-05),
}
"""The norms are those of NPB 3, whose class W is another one than that of NPB 2.4."""
TOLERANCE = 1e-8
"""How far a norm may be from the published one, relatively."""
SEED, FACTOR, MODULUS = 314159265, 5**13, 1 << 46
"""The generator of the benchmark: x becomes FACTOR × x modulo MODULUS."""
CHARGES = 10
"""Points with charge 1, at the largest random numbers, and with charge -1, at the smallest."""
SLAB = 1 << 15
"""Points of the planes that a stencil takes at a time, about: what it makes on the way stays in the caches."""


# ---- the block of a rank


@dataclass
class Face:
    """A face of a block: `mine` goes to rank `to`, into its ghost cells `there`; `ghost` gets what that neighbour sends.

    `slot` numbers the ghost cells of a rank: 2 × axis, and 1 more on the upper side. `into` is the neighbour's slot for `mine`.
    `kept` is what a way keeps for it.
    """

    to: int
    slot: int
    mine: Array
    ghost: Array
    there: tuple[int | slice, ...]
    kept: Any = None

    @property
    def into(self) -> int:
        return self.slot ^ 1


@dataclass
class Grid:
    """This rank's block of a grid, (z, y, x), with its ghost cells, and its faces by axis."""

    array: Array
    faces: list[list[Face]] = field(default_factory=list)

    @property
    def inner(self) -> Array:
        """The block without ghost cells."""
        return self.array[1:-1, 1:-1, 1:-1]


class Blocks(NamedTuple):
    """How many ranks divide the axes (z, y, x), and which one this is; their numbers go along x first."""

    along: Triple
    rank: int = 0

    def neighbour(self, axis: int, step: int) -> int:
        """The rank next to this one; the grid is periodic."""
        place = list(np.unravel_index(self.rank, self.along))
        place[axis] = (place[axis] + step) % self.along[axis]
        return int(np.ravel_multi_index(place, self.along))

    def block(self, size: int) -> Block:
        """The points that this rank has of a grid of `size` points along each axis."""
        places = np.unravel_index(self.rank, self.along)
        z, y, x = (slice(int(k) * size // n, (int(k) + 1) * size // n) for k, n in zip(places, self.along, strict=True))
        return z, y, x


# ---- ways to exchange faces


class Way:
    """Faces go to the neighbours axis by axis, x first: so edges and corners arrive, too. This way is for one rank."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.seconds = 0.0
        """Spent in exchanges with other ranks."""

    def grid(self, size: int) -> Grid:
        """A grid of `size` points along each axis, of zeros. All ranks make it together."""
        z, y, x = (size // parts + 2 for parts in self.blocks.along)
        grid = Grid(self.room((z, y, x)))
        for axis in range(3):
            others = [slice(1, -1) if each < axis else slice(None) for each in range(3)]  # x is exchanged first
            faces = []
            for side, places in enumerate(((1, 0, -1), (-2, -1, 0))):
                mine, ghost, there = ((*others[:axis], place, *others[axis + 1 :]) for place in places)
                to = self.blocks.neighbour(axis, 2 * side - 1)
                faces.append(Face(to, 2 * axis + side, grid.array[mine], grid.array[ghost], there))
                if to != self.blocks.rank:
                    self.keep(faces[-1])
            grid.faces.append(faces)
        return grid

    def exchange(self, grid: Grid) -> None:
        """Fill the ghost cells of a grid from its neighbours."""
        for axis in (2, 1, 0):
            faces = grid.faces[axis]
            if self.blocks.along[axis] == 1:
                for face, other in (faces, faces[::-1]):
                    face.ghost[:] = other.mine
            else:
                began = time.perf_counter()
                self.swap(faces)
                self.seconds += time.perf_counter() - began

    def room(self, extents: Triple) -> Array:
        """Zeros for a block with its ghost cells."""
        return np.zeros(extents)

    def keep(self, face: Face) -> None:
        """Make ready what a face needs."""

    def swap(self, faces: list[Face]) -> None:
        """Exchange two faces with two neighbours, which are one rank where two ranks divide the axis."""
        raise NotImplementedError

    def run(self, step: Callable[[], None]) -> None:
        """Do a step of the solver, in the thread that suits this way."""
        step()

    def close(self) -> None:
        """Free what the way has; all ranks together."""


class Puts(Way):
    """A put of every face into the ghost cells, a fence, and a flag with the number of the exchange.

    Nobody asks whether the neighbour has read the ghost cells of the exchange before. Between two exchanges of a grid there is
    one of another grid, and a rank takes part in that one only after it has read the ghost cells of the first.
    """

    def __init__(self, blocks: Blocks, session: RankSession, size: int) -> None:
        super().__init__(blocks)
        self.lost = session.world.transport.lost
        self.flags = isoviz.rma.malloc(6, "i8")
        self.heaps = [self.flags]
        self.own = [self.flags.place(to=blocks.rank, at=slot) for slot in range(6)]
        self.count = [0] * 6
        """The exchanges of each slot."""

    def room(self, extents: Triple) -> Array:
        self.heaps.append(isoviz.rma.malloc(extents, "f8"))
        local: Array = self.heaps[-1].local
        return local

    def keep(self, face: Face) -> None:
        face.kept = self.flags.place(to=face.to, at=face.into), self.heaps[-1], self.heaps[-1].place(to=face.to, at=face.there)

    def swap(self, faces: list[Face]) -> None:
        for face in faces:
            face.kept[2].put(face.mine)
        self.signal(faces)

    def signal(self, faces: list[Face]) -> None:
        """Tell the neighbours that their faces are in place, and wait for this rank's."""
        for face in faces:
            self.count[face.slot] += 1
            flag, heap, *_ = face.kept
            heap.fence(face.to)
            flag.put(self.count[face.slot])
        for face in faces:
            while self.own[face.slot].get() < self.count[face.slot]:
                os.sched_yield()
                if face.to in self.lost:
                    raise RankLost(f"rank {face.to} is lost, and its face will not come")

    def close(self) -> None:
        for heap in self.heaps:
            heap.free()


class Buffered(Puts):
    """The face is packed, put as one piece into a buffer of the neighbour, and unpacked there.

    Buffers alternate: a neighbour may put its next face while this rank unpacks one.
    """

    def __init__(self, blocks: Blocks, session: RankSession, size: int) -> None:
        super().__init__(blocks, session, size)
        self.buffers = isoviz.rma.malloc((2, 6, (size + 2) ** 2), "f8")
        self.heaps.append(self.buffers)

    def room(self, extents: Triple) -> Array:
        return np.zeros(extents)

    def keep(self, face: Face) -> None:
        packed = np.empty(face.mine.size)
        places = [self.buffers.place(to=face.to, at=(turn, face.into, slice(packed.size))) for turn in range(2)]
        came = [self.buffers.local[turn, face.slot, : packed.size].reshape(face.ghost.shape) for turn in range(2)]
        face.kept = self.flags.place(to=face.to, at=face.into), self.buffers, packed, places, came

    def swap(self, faces: list[Face]) -> None:
        turn = self.count[faces[0].slot] % 2
        for face in faces:
            _, _, packed, places, _ = face.kept
            packed.reshape(face.mine.shape)[:] = face.mine
            places[turn].put(packed)
        self.signal(faces)
        for face in faces:
            face.ghost[:] = face.kept[4][turn]


class Messages(Way):
    """MPI's two-sided messages of packed faces. Steps run in the thread that makes all calls of MPI: none is handed over."""

    def __init__(self, blocks: Blocks, session: RankSession, size: int) -> None:
        super().__init__(blocks)
        self.thread = session.world.thread
        self.comm = self.thread.call(self.thread.mpi.COMM_WORLD.Dup)

    def keep(self, face: Face) -> None:
        face.kept = np.empty(face.mine.shape), np.empty(face.mine.shape)

    def swap(self, faces: list[Face]) -> None:
        requests = [self.comm.Irecv(face.kept[1], face.to, face.slot) for face in faces]
        for face in faces:
            face.kept[0][:] = face.mine
            requests.append(self.comm.Isend(face.kept[0], face.to, face.into))
        self.thread.mpi.Request.Waitall(requests)
        for face in faces:
            face.ghost[:] = face.kept[1]

    def run(self, step: Callable[[], None]) -> None:
        self.thread.call(step)

    def close(self) -> None:
        self.thread.call(self.comm.Free)


WAYS: dict[str, Callable[[Blocks, RankSession, int], Way]] = {"put": Puts, "buffered": Buffered, "mpi": Messages}


# ---- the solver


def stencil(a: Array, weights: tuple[float, ...], step: int = 1) -> Iterator[tuple[slice, Array]]:
    """Weighted sums over a point and its 26 neighbours, for all inner points or every second one: planes and their values."""
    low, middle, high = slice(step - 1, -2, step), slice(step, -1, step), slice(step + 1, None, step)
    planes, count = (len(a) - 2) // step, max(1, SLAB // a[0].size)
    for begin in range(0, planes, count):
        part = slice(begin, min(begin + count, planes))
        b = a[step * part.start : step * part.stop + 2]
        near = b[middle, low] + b[middle, high] + b[low, middle] + b[high, middle]
        diagonal = b[low, low] + b[low, high] + b[high, low] + b[high, high]
        total = weights[0] * b[middle, middle, middle]
        if weights[1]:
            total += weights[1] * (b[middle, middle, low] + b[middle, middle, high] + near[..., middle])
        total += weights[2] * (diagonal[..., middle] + near[..., low] + near[..., high])
        if weights[3]:
            total += weights[3] * (diagonal[..., low] + diagonal[..., high])
        yield part, total


class Solver:
    """V-cycles over grids of 2, 4, … points along each axis, with the faces exchanged in one way."""

    def __init__(self, way: Way, problem: Problem, right: Array) -> None:
        self.way, self.problem, self.right = way, problem, right
        sizes = [2**level for level in range(1, problem.size.bit_length())]
        self.u, self.r = ([way.grid(size) for size in sizes] for _ in range(2))

    def solve(self) -> float:
        """Begin with zeros and do all V-cycles. Returns the seconds that it took."""
        self.u[-1].array[:] = 0
        self.way.seconds, began = 0.0, time.perf_counter()
        self.way.run(lambda: self.residual(-1, self.right))
        for _ in range(self.problem.cycles):
            self.way.run(self.cycle)
        return time.perf_counter() - began

    def cycle(self) -> None:
        """Restrict the residual down to the coarsest grid, solve there, interpolate and smooth upwards; then the new residual."""
        last = len(self.u) - 1
        for level in range(last, 0, -1):
            for planes, value in stencil(self.r[level].array, RESTRICTION, step=2):
                self.r[level - 1].inner[planes] = value
            self.way.exchange(self.r[level - 1])
        self.u[0].inner[:] = 0  # Ghost cells are the neighbours' to write.
        self.smooth(0)
        for level in range(1, last + 1):
            self.interpolate(level)
            self.residual(level, self.right if level == last else self.r[level].inner)
            self.smooth(level)
        self.residual(last, self.right)

    def residual(self, level: int, right: Array) -> None:
        """What is left of the right side."""
        for planes, value in stencil(self.u[level].array, RESIDUAL):
            np.subtract(right[planes], value, out=self.r[level].inner[planes])
        self.way.exchange(self.r[level])

    def smooth(self, level: int) -> None:
        """Add the smoothed residual to the solution."""
        for planes, value in stencil(self.r[level].array, self.problem.smoother):
            self.u[level].inner[planes] += value
        self.way.exchange(self.u[level])

    def interpolate(self, level: int) -> None:
        """Add the solution of the coarser grid to the finest one; in the others it is the first solution."""
        fine, is_finest = self.u[level].array, level == len(self.u) - 1
        for odd in itertools.product((0, 1), repeat=3):
            value = self.u[level - 1].array
            for axis, between in enumerate(odd):
                lower, upper = ((*[slice(None)] * axis, part) for part in (slice(None, -1), slice(1, None)))
                value = value[lower] + value[upper] if between else value[lower]
            points = tuple(slice(first, None, 2) for first in odd)
            value = 0.5 ** sum(odd) * value
            fine[points] = fine[points] + value if is_finest else value

    def squares(self) -> float:
        """The sum of the squares of this rank's residual."""
        return float(np.sum(self.r[-1].inner ** 2))


def right_side(size: int, block: Block) -> Array:
    """A block of the right side: charges at the largest and at the smallest numbers of the benchmark's generator."""
    row = np.array([pow(FACTOR, 1 + place, MODULUS) for place in range(size)], np.uint64)
    rows = np.array([pow(FACTOR, place * size, MODULUS) for place in range(size)], np.uint64)
    plane, mask = rows[:, None] * row, np.uint64(MODULUS - 1)  # modulo 2^64, and so right modulo 2^46
    found: list[tuple[int, int]] = []
    for z in range(size):
        numbers = (plane * np.uint64(SEED * pow(FACTOR, z * size * size, MODULUS) % MODULUS) & mask).reshape(-1)
        order = np.argpartition(numbers, (CHARGES, -CHARGES - 1))
        found += [(int(numbers[at]), int(at) + z * size * size) for at in (*order[:CHARGES], *order[-CHARGES:])]
        found.sort()
        del found[CHARGES:-CHARGES]
    whole = np.zeros([each.stop - each.start for each in block])
    for number, (_, place) in enumerate(found):
        point = np.unravel_index(place, (size, size, size))
        if all(each.start <= at < each.stop for at, each in zip(point, block, strict=True)):
            whole[tuple(at - each.start for at, each in zip(point, block, strict=True))] = -1 if number < CHARGES else 1
    return whole


# ---- the program


class Outcome(NamedTuple):
    """What a way took and found: seconds of all runs, their shares in exchanges, the norm, and a digest for every rank."""

    seconds: list[float]
    shares: list[float]
    norm: float
    digests: list[str]


def digest(solver: Solver, block: Block | tuple[()] = ()) -> str:
    """One for the bytes of the solution and the residual, or of a block of both."""
    ends = (np.ascontiguousarray(each[-1].inner[block]) for each in (solver.u, solver.r))
    return hashlib.sha256(b"".join(each.tobytes() for each in ends)).hexdigest()


def measure(session: RankSession, problem: Problem, along: Triple, names: list[str], repeat: int) -> dict[str, Outcome]:
    """Solve in every way, once to verify and then `repeat` times in turns. All ranks call together and get the same."""
    blocks, gather = Blocks(along, session.rank), session.engine.gather
    right = right_side(problem.size, blocks.block(problem.size))
    solvers = {name: Solver(WAYS[name](blocks, session, problem.size), problem, right) for name in names}
    outcomes: dict[str, Outcome] = {}
    for turn in range(1 + repeat):  # In turns, so that what else the computer does meets all of them.
        for name, solver in solvers.items():
            gather(None)
            seconds = solver.solve()
            told: list[Any] = gather((seconds, solver.way.seconds / seconds))
            if turn:
                outcomes[name].seconds.append(max(each for each, _ in told))
                outcomes[name].shares.append(max(share for _, share in told))
            else:
                found: list[Any] = gather((solver.squares(), digest(solver)))
                norm = math.sqrt(sum(each for each, _ in found) / problem.size**3)
                outcomes[name] = Outcome([], [], norm, [each for _, each in found])
    for solver in solvers.values():
        solver.way.close()
    return outcomes


def tell(outcomes: dict[str, Outcome], problem: Problem, along: Triple) -> bool:
    """Print norm, times and ratios. Returns whether the norm is the published one, and the bits are those of one rank."""
    alone = Blocks((1, 1, 1))
    solver = Solver(Way(alone), problem, right_side(problem.size, alone.block(problem.size)))
    solver.solve()
    expected = [digest(solver, Blocks(along, rank).block(problem.size)) for rank in range(math.prod(along))]
    (name, first), *_ = outcomes.items()
    close = problem.norm is None or abs(first.norm / problem.norm - 1) <= TOLERANCE
    published = "no norm is published for this size" if problem.norm is None else f"published {problem.norm:.12e}"
    print(f"norm of the residual {first.norm:.12e}, {published}{'' if close else ': THEY DIFFER'}")
    for way, each in outcomes.items():
        median = statistics.median(each.seconds)
        ratio = f"{median / statistics.median(first.seconds):5.2f} × the time of {name}"
        print(f"{way:9} {1e3 * median:9.1f} ms, {ratio}, {statistics.median(each.shares):.0%} of it in exchanges")
    differ = [way for way, each in outcomes.items() if each.digests != expected]
    print(f"NOT THE BITS OF ONE RANK: {', '.join(differ)}" if differ else "all ways give the bits of a run on one rank")
    print(f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores: who waits for a busy core waits long")
    return close and not differ


def divided(ranks: int, size: int, asked: str | None) -> Triple:
    """How many ranks there are along z, y and x: as NAS divides them, or as `asked` for (x, y, z).

    Raises:
        InputError: ranks cannot divide the grids in this way.
    """
    if size < 4 or size & (size - 1):
        raise InputError(f"--size {size}: expected a power of two from 4 on")
    if ranks not in (1, 2, 4, 8):
        raise InputError(f"{ranks} ranks: expected 1, 2, 4 or 8, since the coarsest grid has two points along each axis")
    if asked is None:
        asked = {1: "1,1,1", 2: "1,1,2", 4: "1,2,2", 8: "2,2,2"}[ranks]
    parts = asked.split(",")
    if len(parts) != 3 or not set(parts) <= {"1", "2"}:
        raise InputError(f"--ranks-along {asked}: expected three numbers, each 1 or 2, for x, y and z")
    x, y, z = map(int, parts)
    if x * y * z != ranks:
        raise InputError(f"--ranks-along {asked}: expected {ranks} ranks in all, got {x * y * z}")
    return z, y, x


def main() -> int:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description="NAS MG with three ways to exchange faces, compared in one run.")
    parser.add_argument("--class", dest="kind", choices=CLASSES, default="S", help="class of the benchmark")
    parser.add_argument("--size", type=int, help="points along each axis, to scale the class")
    parser.add_argument("--way", nargs="+", choices=WAYS, default=list(WAYS), help="ways; the first one is compared with")
    parser.add_argument("--ranks-along", help="ranks along x, y and z, with commas between")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way that are timed")
    given = parser.parse_args()
    problem, scaled = CLASSES[given.kind], ""
    if given.size not in (None, problem.size):
        scaled = f", scaled from {problem.size}"
        problem = problem._replace(size=given.size, norm=None)
    session = rank_session()
    try:
        if given.repeat < 1:
            raise InputError(f"--repeat {given.repeat}: expected at least 1")
        along = divided(session.size, problem.size, given.ranks_along)
    except InputError as error:
        if session.rank == 0:
            print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    outcomes = measure(session, problem, along, list(dict.fromkeys(given.way)), given.repeat)
    is_right = True
    if session.rank == 0:
        cube, ranks = " × ".join([str(problem.size)] * 3), ", ".join(map(str, along[::-1]))
        print(f"NAS MG, class {given.kind}: {cube} points{scaled}, {problem.cycles} cycles, ranks along x, y, z: {ranks}")
        is_right = tell(outcomes, problem, along)
    return 0 if all(session.engine.gather(is_right)) else 1


if __name__ == "__main__":
    sys.exit(main())
