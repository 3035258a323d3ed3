"""SUMMA: a product of matrices that are spread over ranks, which get the next chunk while they multiply the one before.

Each rank has a block of A, of B and of C = A · B. For its block of C it needs the rows of A and the columns of B that cross it.
They come chunk by chunk: some columns of A and the same rows of B. It asks nobody for them, but gets them from the memory of
their ranks (`isoviz.rma`). The same program does it in three ways, and compares them in one run:

- `overlap`: the next chunk is under way (`wait=False`) while this one is multiplied;
- `get`: every chunk is got when it is needed;
- `mpi`: the owners broadcast every chunk along the rows and columns of ranks.

The matrices hold small whole numbers, so the product is exact, and every rank compares its block with NumPy's. Run it as a
program of any number of ranks:

    mpiexec -n 2 python -P examples/summa.py
    OPENBLAS_NUM_THREADS=1 mpiexec -n 4 python -P examples/summa.py --size 2000

First all matrices are square, then A has `--second` columns and B as many rows. What is under way is copied by a helper of the
rank, which needs a core of its own: where ranks, and the threads of their products, take all of them, overlap gains nothing.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import isoviz
from isoviz.errors import InputError
from isoviz.launch.this_rank import RankSession, rank_session

Matrix = np.ndarray[Any, np.dtype[np.float64]]
LEAST = 128
"""Columns of the smallest chunk."""
LARGEST = 8
"""The numbers in the matrices are whole and between this and its negative, so that sums of their products are exact."""


class Chunk(NamedTuple):
    """Columns of A and rows of B: the ranks that have them, and where they lie in the blocks of these ranks."""

    a_of: int
    a_at: tuple[slice, slice]
    b_of: int
    b_at: tuple[slice, slice]


class Product:
    """C = A · B on this rank; A has `size` rows and `second` columns, B `second` rows and `size` columns. All ranks make it."""

    def __init__(self, session: RankSession, size: int, second: int, chunk: int) -> None:
        self.world, self.rank, ranks = session.world, session.rank, session.size
        self.down = max(each for each in range(1, math.isqrt(ranks) + 1) if ranks % each == 0)
        self.across = ranks // self.down
        self.row, self.column = divmod(self.rank, self.across)
        numbers = np.random.default_rng(1)
        whole_a, whole_b = (
            numbers.integers(-LARGEST, LARGEST + 1, shape).astype("f8") for shape in ((size, second), (second, size))
        )
        rows, columns = _cut(size, self.down)[self.row], _cut(size, self.across)[self.column]
        self.wanted = whole_a[rows] @ whole_b[:, columns]
        self.a = self._spread(whole_a)
        self.b = self._spread(whole_b)
        self.a.barrier()  # Now all ranks have filled their blocks.
        self.height, self.width = self.wanted.shape
        self.c = np.zeros_like(self.wanted)
        self.term = np.empty_like(self.wanted)
        self.chunks = self._chunks(second, chunk)
        longest = max(_length(each.a_at[1]) for each in self.chunks)
        self.room = [(np.empty(self.height * longest), np.empty(longest * self.width)) for _ in range(2)]
        self.waited = 0.0
        self.comms = self.world.thread.call(self._split)

    def _spread(self, whole: Matrix) -> Any:
        """A heap with a block of a matrix on every rank."""
        rows, columns = _cut(whole.shape[0], self.down), _cut(whole.shape[1], self.across)
        heap = isoviz.rma.malloc((max(map(_length, rows)), max(map(_length, columns))), "f8")
        mine = whole[rows[self.row], columns[self.column]]
        heap.local[: mine.shape[0], : mine.shape[1]] = mine
        return heap

    def _chunks(self, second: int, chunk: int) -> list[Chunk]:
        """All chunks, each within one block of A and one of B. Every rank begins elsewhere, so that not all get from one rank."""
        of_a, of_b = _cut(second, self.across), _cut(second, self.down)
        ends = sorted({0, *(each.stop for each in (*of_a, *of_b))})
        chunks = []
        for begin, end in itertools.pairwise(ends):
            column = next(place for place, each in enumerate(of_a) if each.start <= begin < each.stop)
            row = next(place for place, each in enumerate(of_b) if each.start <= begin < each.stop)
            for part in _cut(end - begin, max(1, (end - begin) // chunk)):
                a, b = (slice(begin + part.start - of.start, begin + part.stop - of.start) for of in (of_a[column], of_b[row]))
                a_of, b_of = self.row * self.across + column, row * self.across + self.column
                chunks.append(Chunk(a_of, (slice(0, self.wanted.shape[0]), a), b_of, (b, slice(0, self.wanted.shape[1]))))
        return chunks

    def _split(self) -> tuple[Any, Any]:
        """MPI's communicators of a row and of a column of ranks."""
        world = self.world.thread.mpi.COMM_WORLD
        return world.Split(self.row, self.column), world.Split(self.column, self.row)

    def _turned(self) -> list[Chunk]:
        """The chunks from the first one on that is here."""
        first = next((place for place, each in enumerate(self.chunks) if self.rank in (each.a_of, each.b_of)), 0)
        return [*self.chunks[first:], *self.chunks[:first]]

    def _rooms(self, chunk: Chunk, turn: int) -> tuple[Matrix, Matrix]:
        length = _length(chunk.a_at[1])
        a, b = self.room[turn % 2]
        return a[: self.height * length].reshape(self.height, length), b[: length * self.width].reshape(length, self.width)

    def _begin(self, chunk: Chunk, turn: int, *, wait: bool) -> list[Any]:
        """The two parts of a chunk: arrays, or handles of what is under way."""
        found: list[Any] = []
        rooms = self._rooms(chunk, turn)
        for heap, of, at, room in zip((self.a, self.b), (chunk.a_of, chunk.b_of), (chunk.a_at, chunk.b_at), rooms, strict=True):
            here = of == self.rank
            found.append(heap.local[at] if here else heap.get(of=of, at=at, into=room, wait=wait))
        return found

    def _add(self, a: Matrix, b: Matrix) -> None:
        np.matmul(a, b, out=self.term)
        np.add(self.c, self.term, out=self.c)

    def overlap(self) -> None:
        """Multiply a chunk while the next one comes."""
        chunks = self._turned()
        begun = self._begin(chunks[0], 0, wait=False)
        for turn in range(1, len(chunks) + 1):
            following = self._begin(chunks[turn], turn, wait=False) if turn < len(chunks) else []
            began = time.perf_counter()
            a, b = (each if isinstance(each, np.ndarray) else each.wait() for each in begun)
            self.waited += time.perf_counter() - began
            self._add(a, b)
            begun = following

    def get(self) -> None:
        """Get a chunk, then multiply it."""
        for turn, chunk in enumerate(self._turned()):
            began = time.perf_counter()
            a, b = self._begin(chunk, turn, wait=True)
            self.waited += time.perf_counter() - began
            self._add(a, b)

    def mpi(self) -> None:
        """Take part in the broadcasts of a chunk, then multiply it; in the thread that makes all calls of MPI."""
        for chunk in self.chunks:
            self.world.thread.call(lambda chunk=chunk: self._broadcast(chunk))  # type: ignore[misc]

    def _broadcast(self, chunk: Chunk) -> None:
        began = time.perf_counter()
        a, b = self._rooms(chunk, 0)
        for comm, heap, of, at, room in (
            (self.comms[0], self.a, chunk.a_of, chunk.a_at, a),
            (self.comms[1], self.b, chunk.b_of, chunk.b_at, b),
        ):
            if of == self.rank:
                room[:] = heap.local[at]
            comm.Bcast(room, of % self.across if comm is self.comms[0] else of // self.across)
        self.waited += time.perf_counter() - began
        self._add(a, b)

    def timed(self, way: Callable[[Product], None]) -> tuple[float, float, bool]:
        """Seconds of a product, those of them without computing, and whether it is right."""
        self.c[:] = 0
        self.waited = 0.0
        self.a.barrier()
        began = time.perf_counter()
        way(self)
        seconds = time.perf_counter() - began
        return seconds, self.waited, np.array_equal(self.c, self.wanted)

    def close(self) -> None:
        """Free what the ranks have together."""
        for comm in self.comms:
            self.world.thread.call(comm.Free)
        self.b.free()
        self.a.free()


WAYS: dict[str, Callable[[Product], None]] = {"overlap": Product.overlap, "get": Product.get, "mpi": Product.mpi}


def _cut(size: int, parts: int) -> list[slice]:
    """Parts of nearly the same length."""
    return [slice(size * part // parts, size * (part + 1) // parts) for part in range(parts)]


def _length(part: slice) -> int:
    return int(part.stop - part.start)


def compare(session: RankSession, size: int, second: int, chunk: int, names: list[str], repeat: int) -> bool:
    """Multiply in every way in turns, and print times and ratios on rank 0. Returns whether all products are exact."""
    product = Product(session, size, second, chunk)
    times: dict[str, list[float]] = {name: [] for name in names}
    waits: dict[str, list[float]] = {name: [] for name in names}
    exact = True
    for turn in range(1 + repeat):  # The first one warms up. In turns, so that what else the computer does meets all of them.
        for name in names:
            told: list[Any] = session.engine.gather(product.timed(WAYS[name]))
            exact = exact and all(each[2] for each in told)
            if turn:
                times[name].append(max(each[0] for each in told))
                waits[name].append(max(each[1] for each in told))
    shape = f"{product.down} × {product.across}"
    chunks = len(product.chunks)
    product.close()
    if session.rank == 0:
        verdict = "exact in all ways" if exact else "WRONG"
        print(f"A {size} × {second}, B {second} × {size}, ranks {shape}, {chunks} chunks: {verdict}")
        ours = statistics.median(times[names[0]])
        for name in names:
            median, waited = statistics.median(times[name]), statistics.median(waits[name])
            rate = f"{2e-9 * size * size * second / median:.1f} GFlop/s"
            ratio = f"{median / ours:5.2f} × the time of {names[0]}"
            print(f"  {name:8} {1e3 * median:9.1f} ms, {ratio}, {rate}, waits for chunks {1e3 * waited:.1f} ms")
    return exact


def check(given: argparse.Namespace, ranks: int) -> None:
    """Require that the arguments can be done.

    Raises:
        InputError: one of them is too small.
    """
    for name, least, why in (
        ("size", ranks, "one row for each rank"),
        ("second", ranks, "one column for each rank"),
        ("chunk", LEAST, "smaller chunks cost more than they gain"),
        ("repeat", 1, "something is to be timed"),
    ):
        if getattr(given, name) < least:
            raise InputError(f"--{name} {getattr(given, name)}: expected at least {least}: {why}")


def main() -> int:
    """Run as the arguments say."""
    parser = argparse.ArgumentParser(description="A product of matrices by one-sided gets, compared with broadcasts in one run.")
    parser.add_argument("--size", type=int, default=768, help="rows of A, and columns of B")
    parser.add_argument("--second", type=int, default=512, help="columns of A, and rows of B, of the product that is not square")
    parser.add_argument("--chunk", type=int, default=LEAST, help="columns of a chunk, at least")
    parser.add_argument("--way", nargs="+", choices=WAYS, default=list(WAYS), help="ways; the first one is compared with")
    parser.add_argument("--repeat", type=int, default=5, help="products in each way that are timed")
    given = parser.parse_args()
    session = rank_session()
    try:
        check(given, session.size)
    except InputError as error:
        if session.rank == 0:
            print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    names = list(dict.fromkeys(given.way))
    exact = [compare(session, given.size, second, given.chunk, names, given.repeat) for second in (given.size, given.second)]
    if session.rank == 0:
        cores = len(os.sched_getaffinity(0))
        free = "no core is free" if cores <= session.size else f"{cores - session.size} cores are free if a product takes one"
        print(f"overlap needs a free core: {session.size} of {cores} cores have a rank, load {os.getloadavg()[0]:.1f}; {free}")
    return 0 if all(exact) else 1


if __name__ == "__main__":
    sys.exit(main())
