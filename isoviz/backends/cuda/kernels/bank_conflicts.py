"""The bank conflicts of a tile, counted (`isoviz.layouts.hardware`), and the walk with the fewest."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.layouts.hardware import WARP, bank_turns

if TYPE_CHECKING:
    from isoviz.backends.cuda.kernels.tile_shape import Side, TileShape

_SKEWS = (0, 7, 8, 9, 10, 5, 6)
"""Exponents n of the stretches that a skew moves; 0: no skew."""
_PADS = (0, 16, 32, 64)
"""Bytes that are left free behind every near row."""
_MOST_ROOM = 36 << 10
"""Bytes of shared memory that pads and a skew may make of an image: several blocks fit into a multiprocessor."""
_SLOT = 16
_TURN, _LOADED = 0.3, 0.25
"""What a further turn of shared memory costs, and a partial sector of a load, if a partial sector of a store costs 1.

Shared memory moves several times as many bytes in a second as the second-level cache.
"""
_AIM = 0.01
"""The cost with which the search ends."""

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Walk(NamedTuple):
    """How threads walk through a tile.

    - `shape`: the tile, with room behind its near rows.
    - `skew`: the skew's exponent.
    - `near_lanes`, `far_lanes`: the lanes of the near side and of every far side.
    - `turns`: the mean turns of an access (1: no conflict).
    """

    shape: TileShape
    skew: int
    near_lanes: int
    far_lanes: tuple[int, ...]
    turns: float

    @property
    def width(self) -> int:
        """Bytes of an access to the near rows of the image: a skew keeps no more than a word together."""
        return self.shape.word if self.skew else _SLOT

    @property
    def room(self) -> int:
        """Bytes of shared memory for the image with its skew, in whole slots."""
        return _room(self.shape, self.skew)


class _Ranked(NamedTuple):
    """What a number of lanes costs, the least first: turns and partial sectors, then short stretches of memory."""

    cost: float
    lanes: int
    turns: float


@functools.lru_cache(maxsize=4096)
def best_walk(shape: TileShape) -> Walk:
    """The walk with the fewest conflicts and the fewest partial sectors; among equals, the simplest."""
    best: tuple[float, Walk] | None = None
    for pad in _PADS if shape.near.across else _PADS[:1]:
        padded = shape.padded(pad)
        for skew in _SKEWS:
            if (pad or skew) and _room(padded, skew) > _MOST_ROOM:
                continue
            near = min(_ranked(padded, None, skew))
            far = [min(_ranked(padded, part, skew)) for part in range(len(shape.far))]
            cost, turns = ((near[k] + sum(each[k] for each in far)) / (1 + len(far)) for k in (0, 2))
            if best is None or cost < best[0] - 1e-9:
                best = cost, Walk(padded, skew, -near.lanes, tuple(-each.lanes for each in far), turns)
        if best is not None and best[0] <= _AIM:
            break
    assert best is not None
    return best[1]


def _room(shape: TileShape, skew: int) -> int:
    last = shape.image - 1
    skewed = last + (last >> skew) * shape.word if skew else last
    return -(-(skewed + 1) // _SLOT) * _SLOT


def _ranked(shape: TileShape, part: int | None, skew: int) -> list[_Ranked]:
    """Every sensible number of lanes, negated."""
    side = shape.near if part is None else shape.far[part]
    candidates = [1 << n for n in range(6)]
    least = min(_steps(side, lanes) for lanes in candidates)
    found = []
    for lanes in candidates:
        if _steps(side, lanes) <= max(least, least * 5 // 4):
            turns = _turns(shape, part, skew, lanes)
            found.append(_Ranked(_TURN * (turns - 1) + _partial(shape, part, lanes), -lanes, turns))
    return found


def _partial(shape: TileShape, part: int | None, lanes: int) -> float:
    """The sectors of 32 bytes that an access of a warp touches in excess, as a share. Loads find the rest of a sector in a cache
    later; stores do not."""
    side = shape.near if part is None else shape.far[part]
    together = min(lanes, side.slots)
    return (0.0 if side.in_sectors and together > 1 else 1 / together) * (
        1.0 if (part is None) != shape.near_is_source else _LOADED
    )


def _steps(side: Side, lanes: int) -> int:
    """Steps of a warp through a tile."""
    return -(-side.slots // lanes) * -(-side.rows // (WARP // lanes))


def slots_of(side: Side, lanes: int, numbers: Ints) -> tuple[Ints, Ints]:
    """The slot in its row and the number of its row, for numbers of steps; as the kernel computes them."""
    across = WARP // lanes
    high = -(-side.slots // lanes)
    warp = numbers // WARP
    return warp % high * lanes + numbers % lanes, warp // high * across + numbers // lanes % across


def _turns(shape: TileShape, part: int | None, skew: int, lanes: int) -> float:
    """Mean turns of the accesses of two warps: the first one and one in the middle."""
    side = shape.near if part is None else shape.far[part]
    found: list[float] = []
    for warp in dict.fromkeys((0, _steps(side, lanes) // 2)):
        slot, row = slots_of(side, lanes, np.arange(WARP) + warp * WARP)
        there = (slot < side.slots) & (row < side.rows)
        if not there.any():
            continue
        slot, row = slot[there], row[there]
        if part is None:
            width = shape.word if skew else _SLOT
            places = [row * shape.pitch + slot * 16 + j for j in range(0, 16, width)]
        else:
            width = side.unit * side.columns
            places = [_far_place(shape, side, row, slot * 16 + j) for j in range(0, 16, side.unit)][:4]
        found += [_turns_of(_skewed(place, skew, shape.word), width) for place in places]
    return sum(found) / len(found)


def _far_place(shape: TileShape, side: Side, row: Ints, at: Ints) -> Ints:
    """Place in the image of byte `at` of the slots of a far row. Bytes behind the row's end stand for its last ones.

    Rows that are not aligned begin after as many bytes of their first slot as their strides say, if the first row is aligned.
    """
    digits: dict[int, Ints] = {}
    for loop in side.across:
        steps = side.steps(shape.tile, loop)
        digits[loop] = row % steps * (shape.tile[loop] // steps)
        row = row // steps
    if not side.aligned:
        at = at - sum(digit * side.strides[loop] for loop, digit in digits.items()) % _SLOT
    at = np.maximum(at + (shape.lead.more * side.strides[shape.lead.loop] if shape.lead.more else 0), 0)
    number, inside = at // side.cell, at % side.cell
    for n, loop in enumerate(side.row):
        digits[loop] = number % shape.tile[loop] if n < len(side.row) - 1 else np.minimum(number, shape.held[loop] - 1)
        number = number // shape.tile[loop]
    place = inside + sum(digit * shape.weights[loop] for loop, digit in digits.items())
    if not shape.near.aligned:
        shift = sum(digits[loop] * (shape.near.strides[loop] % _SLOT) for loop in shape.near.across if loop in digits)
        place = place + shift % _SLOT
    return np.asarray(place, np.int64)


def _skewed(place: Ints, skew: int, word: int) -> Ints:
    return place + (place >> skew) * word if skew else place


def _turns_of(place: Ints, width: int) -> float:
    """Turns of one access, in units of what it takes without conflicts."""
    turns = bank_turns(place, width)
    return sum(turns) / len(turns)
