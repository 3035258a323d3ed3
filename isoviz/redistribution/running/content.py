"""Generated data of distributed arrays: every entry follows from its point in the index space, on every rank.

The data are written, and compared, by other means than the copies that move them (`isoviz.backends.verify`). Both go tile by
tile within a memory budget.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.boxes import Boxes, Ranges, word_of
from isoviz.layouts.given_arrays import Array

if TYPE_CHECKING:
    from isoviz.backends.pages import Bytes
    from isoviz.planner import Instance
    from isoviz.redistribution.distributed_instance import DistributedInstance, IntArray

Coordinates = Mapping[str, "IntArray"]
"""For each dimension, coordinates of the whole index space: the points are all their combinations."""

BUDGET = 8 << 20
"""Bytes of memory that generating and comparing may use."""
_ODD = 0x9E3779B97F4A7C15  # 2⁶⁴ / golden ratio: it spreads consecutive numbers over all bytes
_MIXED = 0xD6E8FEB86659FD93
_WORDS = 64  # bytes per entry that the tile, its comparison and the steps in between take at most
_U64 = np.uint64


def expected(instance: DistributedInstance, points: Coordinates, field: str) -> Array:
    """The generated elements of a field as integers.

    There is one axis per dimension in the order of `points`, and a last axis for the words of an element. The values do not
    depend on the distribution, on the layout, or on the order of the dimensions.
    """
    space, size = instance.space, instance.fields.sizes[instance.fields.index(field)]
    word = word_of(size)
    count = size // word.itemsize
    number: Array = np.zeros((), _U64)
    stride = count
    stride_of: dict[str, int] = {}
    for dim in sorted(space.dims, reverse=True):
        stride_of[dim] = stride
        stride *= space[dim]
    with np.errstate(over="ignore"):
        for dim, coordinates in points.items():
            number = number[..., None] + coordinates.astype(_U64) * _U64(stride_of[dim] % 2**64)
        number = number[..., None] + np.arange(1, count + 1, dtype=_U64)
        number *= _U64(_ODD)
        number ^= number >> _U64(32)
        number *= _U64(_MIXED)
        number += _U64(_seed(field))
    number >>= _U64(64 - 8 * word.itemsize)
    return number.astype(word)


def _seed(field: str) -> int:
    seed = 0
    for byte in field.encode():
        seed = (seed * 257 + byte + 1) * _ODD % 2**64
    return seed


def generate(instance: DistributedInstance, rank: int, array: Bytes, check: Callable[[], None] | None = None) -> None:
    """Fill the array of a rank's part with the generated data. Padding keeps its bytes."""
    part = instance.part(rank)
    if part is None:
        return
    writer = Boxes(array, part.linearization, part.space.dims)
    points = instance.coordinates(rank)
    for tile in tiles(part):
        for field in part.fields.names:
            if check is not None:
                check()
            writer.write(tile, field, expected(instance, {dim: points[dim][slice(*tile[dim])] for dim in part.space}, field))


def tiles(part: Instance, budget: int = BUDGET) -> Iterator[Ranges]:
    """Tiles of a part in local coordinates, long in its storage order, within a budget."""
    sizes = part.space.as_dict()
    entries = max(1, budget // (6 * part.fields.nbytes + _WORDS))
    tile = dict.fromkeys(sizes, 1)
    for dim in part.layout.dims:
        tile[dim] = max(1, min(sizes[dim], entries // math.prod(tile.values())))
    for corner in itertools.product(*(range(0, size, tile[dim]) for dim, size in sizes.items())):
        yield {dim: (at, min(at + tile[dim], sizes[dim])) for dim, at in zip(sizes, corner, strict=True)}
