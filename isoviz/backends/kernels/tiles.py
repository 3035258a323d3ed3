"""Copies of any kind, tile by tile: small enough for the first-level cache, long at both ends.

What vectors cannot do together is done element by element, by a table of where each of a tile's elements comes from and goes to.
That is as fast for a few fields in blocks of blocks as for a plain transposition; what counts is that every line that is read or
written is used up while it is in the cache.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoviz.backends.kernels.recipe import LINE, WIDEST, Integers, integers

if TYPE_CHECKING:
    from isoviz.backends.kernels.pattern import Shape
    from isoviz.backends.kernels.recipe import Bare

BYTES = 24 << 10
"""Bytes of a tile at most, as far as runs of a line at both ends allow."""
TURNS = 32
"""Turns of a tile that may be more bytes: of many fields."""


class Tiles(NamedTuple):
    """The arguments of `isoviz.backends.kernels.elements.copy_tiles`."""

    extents: Integers
    tiles: Integers
    jobs: Integers
    ahead: int


def tiles_of(shapes: tuple[Shape, ...]) -> Tiles | None:
    """The recipe for copies that turn alike, their offsets relative to any address. None where they do not, or have long runs."""
    known = _anywhere(tuple([shape[2:] for shape in shapes]))
    if known is None:
        return None
    jobs = known.jobs.copy()
    jobs[:, :2] = [shape[:2] for shape in shapes]
    return known._replace(jobs=jobs)


@lru_cache(maxsize=1024)
def _anywhere(shapes: Bare) -> Tiles | None:
    """The same, wherever they begin: chunk after chunk that differs."""
    first = shapes[0][1]
    if not first or any([loop[0] for loop in loops] != [loop[0] for loop in first] for _, loops in shapes):
        return None
    if max(run for run, _ in shapes) > WIDEST:
        return None
    order = sorted(range(len(first)), key=lambda i: -first[i][2])  # neighbouring tiles lie side by side in the destination
    extents = [first[i][0] for i in order]
    strides = [[[loops[i][end] for i in order] for _, loops in shapes] for end in (1, 2)]
    tiles = _tiles(extents, strides, sum(run for run, _ in shapes))
    jobs = [[0, 0, run, *here, *there] for (run, _), here, there in zip(shapes, *strides, strict=True)]
    ahead = max((i for i, tile in enumerate(tiles) if tile < extents[i]), default=0)
    return Tiles(integers(extents), integers(tiles), np.array(jobs, np.int64), ahead)


def _tiles(extents: list[int], strides: list[list[list[int]]], entry: int) -> list[int]:
    """How often every loop turns in a tile: as long at both ends as fits."""
    # Of either end, the loops from the fastest on, with their mean strides.
    ends = [sorted((sum([each[i] for each in end]) / len(end), i, extent) for i, extent in enumerate(extents)) for end in strides]
    wanted = [LINE, LINE]
    tiles = _grown(ends, wanted)
    while max(wanted) < BYTES:
        first = wanted[0] < wanted[1]  # the end with the shorter runs
        for end in (0, 1) if first else (1, 0):
            larger = [2 * nbytes if k == end else nbytes for k, nbytes in enumerate(wanted)]
            grown = _grown(ends, larger)
            turns = math.prod(grown)
            if entry * turns <= BYTES or turns <= TURNS:
                wanted, tiles = larger, grown
                break
        else:
            break
    return [-(-extent // -(-extent // tile)) for extent, tile in zip(extents, tiles, strict=True)]


def _grown(ends: list[list[tuple[float, int, int]]], wanted: list[int]) -> list[int]:
    """Turns for places that lie together in so many bytes of the source, and of the destination."""
    tiles = [1] * len(ends[0])
    for end, nbytes in zip(ends, wanted, strict=True):
        for stride, i, extent in end:
            turns = int(-(-nbytes // stride))
            if turns < extent:
                tiles[i] = max(tiles[i], turns)
                break
            tiles[i] = extent
    return tiles
