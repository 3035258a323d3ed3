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

import math
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.cuda.kernels.straight_kernels import power_of_two

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.cuda.kernels.field_parts import Group

SLOT = 16
"""Bytes of one access at either side."""
WORD = 4
"""Bytes of a bank of shared memory."""
_MOST_IMAGE = 24 << 10
"""Bytes of an image at most, without its skew: several blocks fit into a multiprocessor."""
_LEAST_IMAGE = 6 << 10
"""Bytes below which more is moved at once, if there is more."""
_REACHES = (4096, 2048, 1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
"""Bytes that a tile reaches along each side, longest first."""
_USUAL_REACH = 256
_LONG_ROW = 128
"""Bytes of a row that need not be longer: whole cache lines."""
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

    def steps(self, tile: tuple[int, ...], loop: int) -> int:
        """Steps of the threads along one of the loops `across`."""
        return tile[loop] // self.columns if loop == self.wide else tile[loop]


class TileShape(NamedTuple):
    """The extents of a tile and its two sides. `pitch` is the distance of two near rows in the image, in bytes.

    `word` is the granularity of the skew in bytes. `weights` are the image's strides for every loop of the group.
    """

    tile: tuple[int, ...]
    near: Side
    far: tuple[Side, ...]
    pitch: int
    word: int
    weights: tuple[int, ...]

    @property
    def image(self) -> int:
        """Bytes of the image without its skew."""
        return self.pitch * self.near.rows


def tile_shape(group: Group, source_alignment: int, destination_alignment: int) -> TileShape | None:
    """The shape of the tiles of a group; None if no image would be small enough."""
    best = None
    for reach in _REACHES[_REACHES.index(_USUAL_REACH) :]:
        best = _shape(group, _tile(group, reach), source_alignment, destination_alignment)
        if best.image <= _MOST_IMAGE:
            break
    else:
        return None
    for reach in _REACHES[: _REACHES.index(_USUAL_REACH)][::-1]:
        if best.image >= _LEAST_IMAGE:
            break
        larger = _shape(group, _tile(group, reach), source_alignment, destination_alignment)
        if larger.image > _MOST_IMAGE:
            break
        best = larger
    return best


def _tile(group: Group, reach: int) -> tuple[int, ...]:
    """Extents with which a tile reaches the wanted bytes along both sides.

    Small elements reach half of it: a square of bytes holds far more elements than a square of larger ones.
    """
    smallest = min(range(len(group.parts)), key=lambda p: group.parts[p].run)
    part = group.parts[smallest]
    if part.run <= 2 and reach > _USUAL_REACH // 2:
        reach //= 2
    tile = [1] * len(group.extents)
    for strides, cell in ((group.near, group.cell), (part.far, part.run)):
        covered = cell
        for loop in sorted(range(len(strides)), key=strides.__getitem__):
            if covered >= reach or (covered > cell and strides[loop] > 2 * covered):
                break
            extent = group.extents[loop]
            wanted = _balanced(extent, -(-reach // max(covered, cell)), part.run)
            tile[loop] = max(tile[loop], wanted)
            covered = max(covered, cell) * tile[loop]
            if tile[loop] < extent:
                break
    return tuple(tile)


def _balanced(extent: int, wanted: int, run: int) -> int:
    """About `wanted` of `extent` iterations: tiles are equally large, and begin at slots where units are small."""
    if wanted >= extent:
        return extent
    whole = max(1, SLOT // run)
    each = -(-extent // -(-extent // wanted))
    return min(extent, -(-each // whole) * whole)


def _shape(group: Group, tile: tuple[int, ...], source_alignment: int, destination_alignment: int) -> TileShape:
    near_alignment, far_alignment = source_alignment, destination_alignment
    if not group.near_is_source:
        near_alignment, far_alignment = far_alignment, near_alignment
    first = group.near_offset(group.parts[0])
    near = _side(group, tile, group.near, first, near_alignment, _near_row(group, tile), group.cell)
    units = []
    far = []
    for place, part in zip(group.places, group.parts, strict=True):
        row = _dense(group.extents, tile, part.far, part.run)
        side = _side(group, tile, part.far, group.far_offset(part), far_alignment, (row, 0), part.run)
        unit = power_of_two(side.unit, near_alignment, first, place, *group.near)
        far.append(side._replace(unit=unit, slots=_slots(tile, row, part.run, 0, unit, side.aligned)))
        units.append(unit)
    longest = _row_bytes(tile, near.row, near.cell, near.hole)
    pitch = -(-(longest + (0 if near.aligned else SLOT - near.unit)) // SLOT) * SLOT
    weights = [0] * len(tile)
    for loop in near.row:
        weights[loop] = group.near[loop]
    below = pitch
    for loop in near.across:
        weights[loop] = below
        below *= tile[loop]
    if group.near_is_source and near.aligned:
        far = [_widened(side, tile, weights, place) for side, place in zip(far, group.places, strict=True)]
    return TileShape(tile, near, tuple(far), pitch, max(WORD, *units), tuple(weights))


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
) -> Side:
    row, hole = row_and_hole
    across = tuple(loop for loop in sorted(range(len(tile)), key=strides.__getitem__) if tile[loop] > 1 and loop not in row)
    unit = power_of_two(alignment, offset, cell, *strides)
    steps = [strides[loop] for loop in across]
    steps += [strides[loop] * tile[loop] for loop in range(len(tile)) if tile[loop] < group.extents[loop]]
    aligned = power_of_two(alignment, offset, *steps) == SLOT
    slots = _slots(tile, row, cell, hole, unit, aligned)
    return Side(row, across, cell, hole, strides, slots, math.prod(tile[loop] for loop in across), unit, aligned)


def _slots(tile: tuple[int, ...], row: tuple[int, ...], cell: int, hole: int, unit: int, aligned: bool) -> int:
    longest = _row_bytes(tile, row, cell, hole)
    return -(-(longest + (0 if aligned else SLOT - unit)) // SLOT)


def _row_bytes(tile: Sequence[int], row: Sequence[int], cell: int, hole: int) -> int:
    return (cell + hole) * math.prod(tile[loop] for loop in row) - hole
