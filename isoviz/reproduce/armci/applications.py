"""Figures 11 and 12: NAS MG and a product of matrices (SUMMA), by one-sided calls and by MPI (section 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from isoviz.machines.presets.armci import PUT, CallCosts
from isoviz.reproduce import Claim, Columns, Curves, Depends, experiment, under
from isoviz.reproduce.armci.assumptions import (
    ASSISTED,
    BUFFERED,
    MPI_LATENCY,
    OVERLAPPED,
    PIPELINED,
    ZERO_COPY,
    ArmciAssumptions,
    carried_out,
    copies_of,
    machine,
    scattered,
    seconds,
)
from isoviz.runtime import simulate

MPI = "MPI"
DOUBLE = 8
_WAITING = "how long MPI waits for the other end is assumed, and decides it"


def mpi_seconds(given: ArmciAssumptions, nbytes: int) -> float:
    """A message of MPI: short ones are copied at both ends, before long ones the receiver is asked, and answers."""
    moved = nbytes / CallCosts.put_rate
    return MPI_LATENCY + 2 * nbytes / given.copy + moved if nbytes <= given.eager else 3 * MPI_LATENCY + moved


# ---- NAS MG

POINTS, OPERATIONS = 256, 58
"""Points of each dimension in classes A and B, and the operations of an iteration for each point (NAS benchmarks 2.4)."""
ITERATIONS = {"A": 4, "B": 20}
PROCESSES = (4, 8, 16, 32)
WAYS = (MPI, BUFFERED, ZERO_COPY)


def process_grid(processes: int) -> tuple[int, int, int]:
    """Processes of each dimension: dimensions are halved in turn."""
    sizes = [1, 1, 1]
    for halving in range(processes.bit_length() - 1):
        sizes[halving % 3] *= 2
    return sizes[0], sizes[1], sizes[2]


def exchanges(processes: int) -> list[tuple[int, int, list[int]]]:
    """For each level of a V-cycle, the finest first: points of a process, how often faces are exchanged, and their bytes.

    A process sends two faces of every dimension that is divided. Faces are packed, with a rim of one point. Faces are exchanged
    after the residual, the smoothing and the restriction of a level; the coarsest one has no residual.
    """
    grid, found, size = process_grid(processes), [], POINTS
    while size >= 2:
        own = [max(1, size // parts) for parts in grid]
        faces = [math.prod(each + 2 for each in own) // (own[axis] + 2) * DOUBLE for axis in range(3) if grid[axis] > 1]
        found.append((math.prod(own), 2 if size == 2 else 3, faces))
        size //= 2
    return found


def iteration(given: ArmciAssumptions, way: str, processes: int) -> float:
    """Seconds of an iteration of NAS MG."""
    total = 0.0
    for points, count, faces in exchanges(processes):
        computed = OPERATIONS * 7 / 8 * points / given.stencil
        waited = given.waiting * computed if way == MPI else 0.0
        total += computed + waited + count * sum(2 * _message(given, way, face) for face in faces)
    return total


@lru_cache(maxsize=1024)
def _message(given: ArmciAssumptions, way: str, nbytes: int) -> float:
    """Seconds until a face is there, and the other end knows it: a put is followed by that of a flag."""
    if way == MPI:
        return mpi_seconds(given, nbytes)
    protocol, end = (ZERO_COPY, "reg") if way == ZERO_COPY else (PIPELINED, "sys")
    return seconds(protocol, scattered(1, nbytes, end), machine(given, call=PUT)) + CallCosts.post


def gains(found: Any, way: str) -> list[float]:
    """How much less time a way takes than MPI, by the number of processes."""
    return [1 - row[way] / row[MPI] for row in found]


def _most(way: str) -> Any:
    return lambda found: max(gains(found, way))


def _claims(letter: str, buffered: tuple[float, float], direct: tuple[float, float]) -> list[Claim]:
    claims = []
    for way, (low, high) in ((BUFFERED, buffered), (ZERO_COPY, direct)):
        said = f"{100 * low:.0f} % to {100 * high:.0f} %"
        what = f"class {letter}: {way} beside MPI, time saved, most"
        claims.append(Claim(what, said, (low, high), _most(way), "share").assumed(_WAITING))
    return claims


def _order(found: Any) -> float:
    return float(min(row[BUFFERED] / row[ZERO_COPY] for row in found))


@experiment(
    "figure 11",
    "NAS MG",
    section="6.1",
    quick={"processes": PROCESSES[::2]},
    claims=(
        *_claims("A", (0.08, 0.22), (0.14, 0.25)),
        *_claims("B", (0.05, 0.19), (0.14, 0.27)),
        Claim("buffered over zero-copy, least", "zero-copy is faster", (1.0, None), _order, "times").because(
            "by little: both compute for most of the time"
        ),
    ),
    shows=(
        Columns(
            (
                ("processes", "processes", "count"),
                ("iterations of class A", "A", "count"),
                ("of class B", "B", "count"),
                *((f"an iteration, {way}", way, "seconds") for way in WAYS),
            ),
            iter,
            "Classes A and B have the same 256³ points, so an iteration of either takes as long",
        ),
    ),
    depends=(
        *[
            Depends(f"figure 11: {way} beside MPI, time saved, most", "share", _most(way), on)
            for way, on in ((BUFFERED, "waiting stencil eager copy"), (ZERO_COPY, "waiting stencil eager"))
        ],
        Depends("figure 11: buffered over zero-copy, least", "times", _order, "stencil copy"),
    ),
)
def figure11(given: ArmciAssumptions, processes: Sequence[int] = PROCESSES) -> list[dict[str, Any]]:
    """Seconds of an iteration by three ways, by the number of processes."""
    return [{"processes": count, **ITERATIONS, **{way: iteration(given, way, count) for way in WAYS}} for count in processes]


# ---- SUMMA

ROWS, COLUMNS = 2, 4
"""The grid of the processes: eight, two on each of four nodes (from the paper; how they lie is assumed)."""
CHUNK, SIDE = 128, 512
SIZES = (128, 256, 512, 1024, 2000)
CALLS = (MPI, BUFFERED, ZERO_COPY, ASSISTED)
SQUARE, RECTANGULAR = "square", "rectangular"


def product(given: ArmciAssumptions, way: str, rows: int, columns: int, inner: int) -> float:
    """Seconds of a product of matrices, `rows` × `inner` and `inner` × `columns`.

    A process computes a block of the result. For each chunk of the inner dimension it needs its rows of the left matrix, which
    are contiguous, and its columns of the right one, runs of the length of the chunk. Half of them lie on its own node. So a
    node serves one get of either kind in each step, at once. One-sided calls get a chunk while the one before is multiplied;
    MPI passes chunks on by messages, along a row of four processes and a column of two, and multiplies then.
    """
    chunk = max(1, min(CHUNK, inner // COLUMNS))
    steps, high, wide = math.ceil(inner / chunk), rows // ROWS, columns // COLUMNS
    computed = 2 * high * wide * chunk / given.matrices
    if way == MPI:
        left, right = (mpi_seconds(given, nbytes * chunk * DOUBLE) for nbytes in (high, wide))
        packed = 2 * wide * chunk * DOUBLE / given.copy
        return steps * ((1 + given.waiting) * computed + 2 * left + right + packed)
    moved, copied = _gets(given, way, high, wide, chunk)
    own = computed + OVERLAPPED + copied
    return moved + (steps - 1) * max(moved, own) + own


@lru_cache(maxsize=1024)
def _gets(given: ArmciAssumptions, way: str, high: int, wide: int, chunk: int) -> tuple[float, float]:
    """Seconds of two gets from one node at once, and what a process copies for a get of its own and for another's, in the mean.

    Where data are copied, the helper shares its processor with the program, which computes.
    """
    on = machine(given, busy=way == BUFFERED, nodes=3)
    shapes = (1, high * chunk * DOUBLE), (wide, chunk * DOUBLE)
    plans = [carried_out(way, scattered(*shape, "reg", 0, there), on) for there, shape in enumerate(shapes, 1)]
    copied = [carried_out(way, scattered(*shape), machine(given)) for shape in shapes]
    own = sum(copies_of(each, end) for each in copied for end in (0, -1)) / len(copied)
    return simulate(plans, on).seconds, own


def faster(found: Any, shape: str, way: str, other: str = MPI) -> list[float]:
    """How much faster a way is than another one, by size."""
    return [row[other] / row[way] - 1 for row in found[shape]]


def _claim(shape: str, way: str, which: Any, paper: str, bound: Any) -> Claim:
    what = f"{shape}: {way} over MPI, {'least' if which is min else 'most'}"
    return Claim(what, paper, bound, lambda found: which(faster(found, shape, way)), "change").assumed(
        "MPI overlaps nothing here; that of the paper calls dgemv besides, so part of the gap is no communication"
    )


def _least(other: str) -> Any:
    return lambda found: 1 + min(gain for shape in found for gain in faster(found, shape, ASSISTED, other))


def _table(shape: str) -> Curves:
    return Curves(
        lambda found: {way: {row["size"]: row[way] for row in found[shape]} for way in CALLS},
        ("rows", "number"),
        ("time of a product", "seconds"),
    )


@experiment(
    "figure 12",
    "products of matrices",
    section="6.2",
    quick={"sizes": SIZES[::2]},
    claims=(
        _claim(SQUARE, BUFFERED, max, "up to 44 %", 0.44),
        _claim(SQUARE, ASSISTED, min, "18 % at least", 0.18),
        _claim(SQUARE, ASSISTED, max, "80 % at most", 0.8),
        Claim("host-assisted over buffered, least", "host-assisted is faster", (1.0, None), _least(BUFFERED), "times"),
        Claim("host-assisted over a get for each run, least", "no figure in the text", None, _least(ZERO_COPY), "times"),
    ),
    shows=(
        under("square matrices", "_square", _table(SQUARE)),
        under("the second dimension 512", "_rectangular", _table(RECTANGULAR)),
    ),
    depends=(
        Depends(
            "figure 12: square, host-assisted over MPI, most",
            "change",
            lambda found: max(faster(found, SQUARE, ASSISTED)),
            "waiting matrices eager copy",
        ),
        Depends("figure 12: host-assisted over buffered, least", "times", _least(BUFFERED), "left matrices copy"),
    ),
)
def figure12(given: ArmciAssumptions, sizes: Sequence[int] = SIZES) -> dict[str, list[dict[str, Any]]]:
    """Seconds of products by four ways: of square matrices, and of matrices with 512 columns."""
    shapes = {SQUARE: [(size, size, size) for size in sizes], RECTANGULAR: [(size, SIDE, SIDE) for size in sizes]}
    return {
        shape: [{"size": each[0], **{way: product(given, way, *each) for way in CALLS}} for each in of]
        for shape, of in shapes.items()
    }
