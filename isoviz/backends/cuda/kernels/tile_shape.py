"""The shape of a tile: which part of a group's loops one block moves at once through shared memory, and how its threads walk.

A tile has an extent for every loop. At each side it is a number of rows of contiguous bytes. Shared memory holds the *image* of
the tile: its near rows, one behind the other, each with the remainder (address mod 16) that it has in memory. So the near side
moves whole aligned slots of 16 bytes for cells of any size; the far side reads or writes the same slots of its own rows
and finds each unit by its place in the image.

Two numbers keep threads out of each other's banks. A *skew* moves every stretch of 2^n bytes of the image by one word more than
the stretch before. *Lanes* say how many neighbouring slots of one row a warp moves; its other threads move the slots of further
rows. Both are chosen by counting the conflicts of every candidate (`bank_conflicts`).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.cuda.kernels.straight_kernels import power_of_two
from isoviz.layouts.hardware import WARP, bank_turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.cuda.kernels.field_parts import Group


SLOT = 16
"""Bytes of one access at either side."""
SECTOR = 32
"""Bytes that memory moves at least."""
WORD = 4
"""Bytes of a bank of shared memory."""
_LONG_ROW = 128
"""Bytes of a row that need not be longer: whole cache lines."""
_SHARE = 4
"""A lead is at most one of as many parts of a tile."""
_SPARSEST = 4
"""A near source is read as a contiguous row if it is at most this number of times as long as what is needed of it."""


class Side(NamedTuple):
    """How a tile lies in memory at one side, for one part or (near) for all parts together.

    - `row`: the loops along a row, fastest first; `across`: the other loops of the tile, fastest first.
    - `cell`: contiguous bytes for each combination of counters; `hole`: bytes that follow a cell and belong to no part.
    - `strides`: bytes, for every loop of the group.
    - `slots`: slots of a row at most; `rows`: rows of a full tile.
    - `unit`: bytes of an access where a slot is not full.
    - `aligned`: whether every row begins at a multiple of 16.
    - `columns`: rows that a thread moves together, because their units are neighbours in a word of the image; they follow each
      other along the loop `wide`. `rows` counts them once.
    """

    row: tuple[int, ...]
    across: tuple[int, ...]
    cell: int
    hole: int
    strides: tuple[int, ...]
    slots: int
    rows: int
    unit: int
    aligned: bool
    columns: int = 1
    wide: int = -1

    @property
    def in_sectors(self) -> bool:
        """Whether every row begins and ends at a multiple of 32, if the first one does."""
        steps = [self.strides[loop] for loop in self.across] + [self.slots * SLOT]
        return self.aligned and all(step % SECTOR == 0 for step in steps)

    def steps(self, tile: tuple[int, ...], loop: int) -> int:
        """Steps of the threads along one of the loops `across`."""
        return tile[loop] // self.columns if loop == self.wide else tile[loop]


class Lead(NamedTuple):
    """How far rows are cut at slots although they begin anywhere.

    Each tile writes whole slots: it begins up to 15 bytes before its first iteration of `loop`, and leaves as many to the next
    tile. So its image holds `more` iterations, in front. Along the other loops of a far row a tile is complete.
    """

    loop: int = -1
    more: int = 0


class TileShape(NamedTuple):
    """The extents of a tile and its two sides. `pitch` is the distance of two near rows in the image, in bytes.

    `word` is the granularity of the skew in bytes. `weights` are the image's strides for every loop of the group.
    `near_is_source` is the group's.
    """

    tile: tuple[int, ...]
    near: Side
    far: tuple[Side, ...]
    pitch: int
    word: int
    weights: tuple[int, ...]
    near_is_source: bool
    lead: Lead

    @property
    def held(self) -> tuple[int, ...]:
        """The extents of the image."""
        return _held(self.tile, self.lead)

    def tiles(self, group: Group) -> list[int]:
        """The number of tiles along every loop of the group."""
        led = [extent + (self.lead.more if loop == self.lead.loop else 0) for loop, extent in enumerate(group.extents)]
        return [-(-extent // tile) for extent, tile in zip(led, self.tile, strict=True)]

    def padded(self, nbytes: int) -> TileShape:
        """The shape with some bytes more (a multiple of 16) behind every near row of the image."""
        pitch = self.pitch + nbytes
        weights = [w // self.pitch * pitch if loop in self.near.across else w for loop, w in enumerate(self.weights)]
        return self._replace(pitch=pitch, weights=tuple(weights))

    @property
    def image(self) -> int:
        """Bytes of the image without its skew."""
        return self.pitch * self.near.rows


def tile_reaching(group: Group, near: int, far: int) -> tuple[int, ...]:
    """Extents with which a tile reaches the wanted bytes along its near side and its far sides."""
    part = min(group.parts, key=lambda part: part.run)
    tile = [1] * len(group.extents)
    for strides, cell, reach in ((group.near, group.cell, near), (part.far, part.run, far)):
        covered = cell
        for loop in sorted(range(len(strides)), key=strides.__getitem__):
            if covered >= reach or (covered > cell and strides[loop] > 2 * covered):
                break
            extent = group.extents[loop]
            wanted = _balanced(extent, -(-reach // max(covered, cell)), part.run if cell <= part.run else SLOT)
            tile[loop] = max(tile[loop], wanted)
            covered = max(covered, cell) * tile[loop]
            if tile[loop] < extent:
                break
    return tuple(tile)


def _balanced(extent: int, wanted: int, run: int) -> int:
    """About `wanted` of `extent` iterations: tiles are equally large, also with a lead, and begin at slots."""
    if wanted >= extent:
        return extent
    whole = max(1, SLOT // run)
    led = extent + whole - 1
    each = -(-led // -(-led // wanted))
    return min(extent, -(-each // whole) * whole)


def shape_of(group: Group, tile: tuple[int, ...], source_alignment: int, destination_alignment: int) -> TileShape:
    """The shape of tiles with these extents."""
    near_alignment, far_alignment = source_alignment, destination_alignment
    if not group.near_is_source:
        near_alignment, far_alignment = far_alignment, near_alignment
    first = group.near_offset(group.parts[0])
    units = []
    far = []
    for place, part in zip(group.places, group.parts, strict=True):
        row = _dense(group.extents, tile, part.far, part.run)
        side = _side(group, tile, part.far, group.far_offset(part), far_alignment, (row, 0), part.run)
        unit = power_of_two(side.unit, near_alignment, first, place, *group.near)
        far.append(side._replace(unit=unit, slots=_slots(tile, row, part.run, 0, unit, side.aligned)))
        units.append(unit)
    lead = _lead(group, tile, far)
    if lead.more:
        far = [side._replace(slots=_row_bytes(tile, side.row, side.cell, 0) // SLOT) for side in far]
        first -= lead.more * group.near[lead.loop]
    held = _held(tile, lead)
    near = _side(group, tile, group.near, first, near_alignment, _near_row(group, tile), group.cell, held)
    longest = _row_bytes(held, near.row, near.cell, near.hole)
    pitch = -(-(longest + (0 if near.aligned else SLOT - near.unit)) // SLOT) * SLOT
    weights = [0] * len(tile)
    for loop in near.row:
        weights[loop] = group.near[loop]
    below = pitch
    for loop in near.across:
        weights[loop] = below
        below *= held[loop]
    if group.near_is_source and near.aligned:
        far = [_widened(side, tile, weights, place) for side, place in zip(far, group.places, strict=True)]
    return TileShape(tile, near, tuple(far), pitch, max(WORD, *units), tuple(weights), group.near_is_source, lead)


def _held(tile: tuple[int, ...], lead: Lead) -> tuple[int, ...]:
    return tuple(extent + (lead.more if loop == lead.loop else 0) for loop, extent in enumerate(tile))


def _lead(group: Group, tile: tuple[int, ...], far: Sequence[Side]) -> Lead:
    """The lead of a tile; none if far rows are aligned or not cut, or if it would add more than a quarter to the image."""
    loop, *other = dict.fromkeys(side.row[-1] if side.row else -1 for side in far)
    if not group.near_is_source or other or loop < 0 or tile[loop] == group.extents[loop] or all(side.aligned for side in far):
        return Lead()
    if any(_row_bytes(tile, side.row, side.cell, 0) % SLOT or set(side.row[:-1]) != set(far[0].row[:-1]) for side in far):
        return Lead()
    count = max(-(-(SLOT - side.unit) // side.strides[loop]) for side in far)
    return Lead(loop, count) if 0 < count * _SHARE <= tile[loop] else Lead()


def _widened(side: Side, tile: tuple[int, ...], weights: list[int], place: int) -> Side:
    """The side with rows of small units taken together, where every word of the image holds units of as many rows.

    A thread then loads words, and sorts their bytes in registers: a quarter of the accesses for single bytes.
    """
    columns = WORD // side.unit
    if columns < 2 or not side.aligned or side.cell != side.unit or place % WORD:
        return side
    for loop in side.across:
        others = [weights[other] for other in (*side.row, *side.across) if other != loop]
        if weights[loop] == side.unit and tile[loop] % columns == 0 and all(weight % WORD == 0 for weight in others):
            return side._replace(columns=columns, wide=loop, rows=side.rows // columns)
    return side


def _near_row(group: Group, tile: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """The loops along a near row, and the bytes of the hole behind each cell."""
    period = group.near[0]
    sparse = period <= _SPARSEST * group.cell if group.near_is_source else period == group.cell
    if tile[0] == 1 or not group.cell <= period or not sparse:
        return (), 0
    return _dense(group.extents, tile, group.near, period), period - group.cell


def _dense(extents: Sequence[int], tile: Sequence[int], strides: Sequence[int], first: int) -> tuple[int, ...]:
    """The loops whose strides chain up from `first`, so that a tile is contiguous along them. A row that has whole slots and is
    long enough ends there: a warp can then move slots of several rows, without bank conflicts."""
    row: list[int] = []
    expected = first
    for loop in sorted(range(len(strides)), key=strides.__getitem__):
        if tile[loop] == 1 or strides[loop] != expected:
            break
        row.append(loop)
        expected *= extents[loop]
        if tile[loop] < extents[loop] or (expected >= _LONG_ROW and expected % SLOT == 0):
            break
    return tuple(row)


def _side(
    group: Group,
    tile: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    alignment: int,
    row_and_hole: tuple[tuple[int, ...], int],
    cell: int,
    held: tuple[int, ...] | None = None,
) -> Side:
    row, hole = row_and_hole
    extents = held or tile
    across = tuple(loop for loop in sorted(range(len(tile)), key=strides.__getitem__) if tile[loop] > 1 and loop not in row)
    unit = power_of_two(alignment, offset, cell, *strides)
    steps = [strides[loop] for loop in across]
    steps += [strides[loop] * tile[loop] for loop in range(len(tile)) if tile[loop] < group.extents[loop]]
    aligned = power_of_two(alignment, offset, *steps) == SLOT
    slots = _slots(extents, row, cell, hole, unit, aligned)
    return Side(row, across, cell, hole, strides, slots, math.prod(extents[loop] for loop in across), unit, aligned)


def _slots(tile: tuple[int, ...], row: tuple[int, ...], cell: int, hole: int, unit: int, aligned: bool) -> int:
    longest = _row_bytes(tile, row, cell, hole)
    return -(-(longest + (0 if aligned else SLOT - unit)) // SLOT)


def _row_bytes(tile: Sequence[int], row: Sequence[int], cell: int, hole: int) -> int:
    return (cell + hole) * math.prod(tile[loop] for loop in row) - hole


# The bank conflicts of a tile, counted (`isoviz.layouts.hardware`), and the walk with the fewest.

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
