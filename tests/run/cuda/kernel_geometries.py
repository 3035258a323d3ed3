"""Random strided copies for kernels: parts of instances in random layouts, and copies with any strides, at several places."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import numpy as np

from isoviz.layouts import (
    FIELDS,
    Box,
    Component,
    FieldsComponent,
    FieldSpace,
    IndexSpace,
    Layout,
    StridedCopy,
    View,
    strided_copies,
)

DTYPES = (
    "u1",
    "u1",
    "<i2",
    "S3",
    "<f4",
    "<f4",
    "<f4",
    "<f8",
    "<f8",
    "<c16",
    "(5,)u1",
    "(3,)<f4",
    "(17,)<f4",
    "(70,)u1",
    "(100,)u1",
)
SIZES = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 64, 65, 100, 128, 130, 200, 257, 600)
RUNS = (1, 1, 2, 3, 4, 4, 4, 5, 8, 8, 12, 16, 16, 24, 31, 32, 48, 52, 63, 64, 65, 80, 100, 255, 256, 1000)
ALIGNMENTS = (1, 2, 4, 8, 16, 16, 16, 256, 256)
MOST = 30_000
"""Bytes of an instance at most."""


class Geometry(NamedTuple):
    """Copies between two arrays of these sizes, whose addresses are odd multiples of these alignments."""

    copies: tuple[StridedCopy, ...]
    sizes: tuple[int, int]
    alignments: tuple[int, int]

    def arrays(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The source with random bytes, and the destination, filled with 0xEE."""
        source, destination = (_array(size, alignment) for size, alignment in zip(self.sizes, self.alignments, strict=True))
        source[:] = rng.integers(0, 256, source.size)
        destination[:] = 0xEE
        return source, destination


def _array(size: int, alignment: int) -> np.ndarray:
    room = np.zeros(size + 4 * 256, np.uint8)
    start = -room.ctypes.data % (2 * alignment) + alignment
    return room[start : start + size]


def geometries(count: int, seed: int, places: int = 3) -> list[Geometry]:
    """`count` geometries: every shape at several places, so that they share kernels."""
    rng = random.Random(seed)
    found: list[Geometry] = []
    while len(found) < count:
        copies = rng.choices((_of_layouts, _of_strides, pitched), (6, 3, 2))[0](rng)
        if not copies:
            continue
        alignments = rng.choice(ALIGNMENTS), rng.choice(ALIGNMENTS)
        found += [_placed(rng, copies, alignments) for _ in range(min(places, count - len(found)))]
    return found


def _placed(rng: random.Random, copies: list[StridedCopy], alignments: tuple[int, int]) -> Geometry:
    """The copies moved by multiples of 16, in arrays that end with their last byte."""
    here, there = 16 * rng.randint(0, 40), 16 * rng.randint(0, 40)
    moved = tuple(
        copy._replace(source_offset=copy.source_offset + here, destination_offset=copy.destination_offset + there)
        for copy in copies
    )
    sizes = [
        max(copy[end] + copy.run + sum((loop[0] - 1) * loop[1 + end] for loop in copy.loops) for copy in moved) for end in (0, 1)
    ]
    return Geometry(moved, (sizes[0], sizes[1]), alignments)


def _of_layouts(rng: random.Random) -> list[StridedCopy]:
    fields = FieldSpace.of({f"f{k}": rng.choice(DTYPES) for k in range(rng.choice((1, 1, 1, 2, 3, 3, 4, 6)))})
    space = _space(rng, MOST // sum(fields.sizes))
    a, b = (_layout(rng, space).on(space, fields) for _ in range(2))
    low, high = [0] * len(space), list(space.sizes)
    origin = tuple(low)
    if rng.random() < 0.3:  # a part of an instance goes into an instance of its own
        low = [rng.randint(0, size - 1) for size in space.sizes]
        high = [rng.randint(first + 1, size) for first, size in zip(low, space.sizes, strict=True)]
        origin = tuple(rng.randint(0, first) for first in low)
        low = [first - at for first, at in zip(low, origin, strict=True)]
        high = [last - at for last, at in zip(high, origin, strict=True)]
    chosen = [name for name in fields.names if rng.random() < 0.9] or None
    order = rng.random() < 0.5
    views = (View(a, origin), View(b)) if order else (View(a), View(b, origin))
    return strided_copies(*views, Box(tuple(low), tuple(high)), chosen)


def _space(rng: random.Random, room: int) -> IndexSpace:
    sizes: dict[str, int] = {}
    for name in "xyzw"[: rng.choice((1, 1, 2, 2, 2, 2, 3, 3, 4))]:
        fitting = [size for size in SIZES if size <= max(1, room)]
        sizes[name] = rng.choice(fitting)
        room //= sizes[name]
    return IndexSpace.of(sizes)


def _layout(rng: random.Random, space: IndexSpace) -> Layout:
    parts: list[Component | FieldsComponent] = [FIELDS]
    for dim in space:
        extents: list[int] = []
        step = 1
        while rng.random() < 0.25 and space[dim] // step > 1:
            extents.append(rng.randint(1, space[dim] // step))
            step *= extents[-1]
        labels = [""] if not extents else [str(k) for k in range(len(extents) + 1)]
        parts += [
            Component(dim, label, k, extent) for k, (label, extent) in enumerate(zip(labels, [*extents, None], strict=True))
        ]
    rng.shuffle(parts)
    return Layout(parts)


def _of_strides(rng: random.Random) -> list[StridedCopy]:
    """One copy with loops in any orders, with gaps."""
    run = rng.choice(RUNS)
    extents: list[int] = []
    for _ in range(rng.randint(0, 5)):
        fitting = [size for size in SIZES[1:] if size * run * math.prod(extents) <= MOST]
        extents += [rng.choice(fitting)] if fitting else []
    ends = []
    for _ in range(2):
        order, strides, at = list(range(len(extents))), [0] * len(extents), run + rng.choice((0, 0, 0, 1, 4, 16, 60))
        rng.shuffle(order)
        for k in order:
            strides[k] = at
            at = at * extents[k] + rng.choice((0, 0, 0, 0, 1, 2, 4, 16))
        ends.append(strides)
    loops = sorted(zip(extents, *ends, strict=True), key=lambda loop: -loop[2])
    start = rng.choice((0, 0, 1, 2, 4, 8, 12)), rng.choice((0, 0, 1, 2, 4, 8, 12))
    return [StridedCopy(start[0], start[1], run, tuple(loops))]


def pitched(rng: random.Random) -> list[StridedCopy]:
    """A transposition of small elements whose rows begin at multiples of 16 and end anywhere."""
    run = rng.choice((1, 1, 2, 2, 4))
    extents = [rng.choice((3, 17, 33, 66, 100, 130, 150, 180, 200)) for _ in range(2)]
    pitches = [-(-extent * run // 16) * 16 + rng.choice((0, 16)) for extent in extents]
    if rng.random() < 0.5:  # only one side begins at multiples of 16
        end = rng.randrange(2)
        pitches[end] = extents[end] * run + run * rng.choice((0, 1))
    loops = [(extents[0], run, pitches[1]), (extents[1], pitches[0], run)]
    if rng.random() < 0.5:
        loops.append((2, pitches[0] * extents[1] + 16, pitches[1] * extents[0] + 32))
    return [StridedCopy(0, 0, run, tuple(sorted(loops, key=lambda loop: -loop[2])))]
