"""The bank conflicts of a tile, counted, and the skew and lanes with the fewest.

Shared memory has 32 banks of 4 bytes. An access of a warp takes one turn for every different word in its fullest bank. An access
of 8 bytes a thread is carried out for half a warp at a time, one of 16 bytes for a quarter.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from isoviz.backends.cuda.kernels.tile_shape import Side, TileShape

_SKEWS = (0, 7, 8, 9, 10, 5, 6)
"""Exponents n of the stretches that a skew moves; 0: no skew."""
_WARP = 32
_BANKS = 32

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Walk(NamedTuple):
    """The skew's exponent, the lanes of the near side and of every far side, and the mean turns of an access (1: no conflict)."""

    skew: int
    near_lanes: int
    far_lanes: tuple[int, ...]
    turns: float


@functools.lru_cache(maxsize=4096)
def best_walk(shape: TileShape) -> Walk:
    """The skew and the lanes with the fewest conflicts; among equals, the longest stretches of memory for a warp."""
    best: Walk | None = None
    for skew in _SKEWS:
        near = min(_ranked(shape, None, skew))
        far = [min(_ranked(shape, part, skew)) for part in range(len(shape.far))]
        turns = (near[0] + sum(each[0] for each in far)) / (1 + len(far))
        if best is None or turns < best.turns - 1e-9:
            best = Walk(skew, -near[1], tuple(-each[1] for each in far), turns)
        if best.turns <= 1:
            break
    assert best is not None
    return best


def _ranked(shape: TileShape, part: int | None, skew: int) -> list[tuple[float, int]]:
    """(turns, −lanes) of every sensible number of lanes."""
    side = shape.near if part is None else shape.far[part]
    candidates = [1 << n for n in range(6)]
    least = min(_steps(side, lanes) for lanes in candidates)
    return [
        (_turns(shape, part, skew, lanes), -lanes) for lanes in candidates if _steps(side, lanes) <= max(least, least * 5 // 4)
    ]


def _steps(side: Side, lanes: int) -> int:
    """Steps of a warp through a tile."""
    return -(-side.slots // lanes) * -(-side.rows // (_WARP // lanes))


def slots_of(side: Side, lanes: int, numbers: Ints) -> tuple[Ints, Ints]:
    """The slot in its row and the number of its row, for numbers of steps; as the kernel computes them."""
    across = _WARP // lanes
    high = -(-side.slots // lanes)
    warp = numbers // _WARP
    return warp % high * lanes + numbers % lanes, warp // high * across + numbers // lanes % across


def _turns(shape: TileShape, part: int | None, skew: int, lanes: int) -> float:
    """Mean turns of the accesses of two warps: the first one and one in the middle."""
    side = shape.near if part is None else shape.far[part]
    found: list[float] = []
    for warp in {0, _steps(side, lanes) // 2}:
        slot, row = slots_of(side, lanes, np.arange(_WARP) + warp * _WARP)
        there = (slot < side.slots) & (row < side.rows)
        if not there.any():
            continue
        slot, row = slot[there], row[there]
        if part is None:
            width = shape.word
            places = [row * shape.pitch + slot * 16 + j for j in range(0, 16, width)]
        else:
            width = side.unit * side.columns
            places = [_far_place(shape, side, row, slot * 16 + j) for j in range(0, 16, side.unit)][:4]
        found += [_turns_of(_skewed(place, skew, shape.word), width) for place in places]
    return sum(found) / len(found)


def _far_place(shape: TileShape, side: Side, row: Ints, at: Ints) -> Ints:
    """Place in the image of byte `at` of a far row. Bytes behind the row's end stand for its last ones."""
    number, inside = at // side.cell, at % side.cell
    place = inside
    for n, loop in enumerate(side.row):
        digit = number % shape.tile[loop] if n < len(side.row) - 1 else np.minimum(number, shape.tile[loop] - 1)
        number = number // shape.tile[loop]
        place = place + digit * shape.weights[loop]
    for loop in side.across:
        steps = side.steps(shape.tile, loop)
        place = place + row % steps * (shape.tile[loop] // steps) * shape.weights[loop]
        row = row // steps
    return place


def _skewed(place: Ints, skew: int, word: int) -> Ints:
    return place + (place >> skew) * word if skew else place


def _turns_of(place: Ints, width: int) -> float:
    """Turns of one access, in units of what it takes without conflicts."""
    together = _WARP * 4 // max(4, width)
    turns = groups = 0
    for first in range(0, len(place), together):
        words = np.unique((place[first : first + together, None] // 4 + np.arange(max(1, width // 4))).ravel())
        turns += int(np.bincount(words % _BANKS).max())
        groups += 1
    return turns / groups
