"""What a tile costs, as a multiple of what a plain copy of its bytes costs: sectors of memory, and instructions.

The figures of instructions are counted from executed PTX (`tests/run/cuda/kernel_traffic.py`). They only choose between shapes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.backends.cuda.kernels.tile_shape import SECTOR, Side, TileShape, shape_of, tile_reaching

if TYPE_CHECKING:
    from isoviz.backends.cuda.kernels.field_parts import Group

_MOST_IMAGE = 32 << 10
"""Bytes of an image at most, without its skew: several blocks fit into a multiprocessor."""
_REACHES = (16384, 8192, 4096, 2048, 1024, 512, 384, 256, 192, 128, 64, 32, 16, 8, 4, 2, 1)
"""Bytes that a tile may reach along each side, longest first."""
_AFFORDABLE = 250
"""Instructions for 16 bytes that take a large GPU as long as the memory takes for them."""
_THREADS = 256
_PER_TILE, _PER_LOOP = 60, 20
"""Instructions of a thread for a tile, and for each loop more."""
_PER_SLOT, _PER_UNIT = 35, 8
"""Instructions for a slot, and for each unit of a far slot."""
_PER_EDGE = 150
"""Instructions for a slot that is stored in part: the other threads of its warp wait."""
_ENOUGH_TILES = 264
"""Tiles that give every multiprocessor of a large GPU two."""
_HIDDEN = 0.3
"""The share of the quicker of memory and instructions that the other one does not hide."""


def tile_shape(group: Group, source_alignment: int, destination_alignment: int) -> TileShape | None:
    """The shape of the tiles of a group with the least cost (`tile_cost`); None if no image would be small enough."""
    best: tuple[float, TileShape] | None = None
    tiles = dict.fromkeys(
        tile_reaching(group, near, far) for near in _REACHES for far in _REACHES if max(near, far) <= 32 * min(near, far)
    )
    for tile in tiles:
        shape = shape_of(group, tile, source_alignment, destination_alignment)
        if shape.image <= _MOST_IMAGE:
            cost = tile_cost(group, shape)
            if best is None or cost < best[0]:
                best = cost, shape
    return None if best is None else best[1]


def tile_cost(group: Group, shape: TileShape) -> float:
    """The cost of a tile with this shape; 1 is a plain copy."""
    payload = math.prod(shape.tile) * sum(part.run for part in group.parts)
    sectors, instructions = 0.0, float(_THREADS * (_PER_TILE + _PER_LOOP * len(shape.tile)))
    for side, is_near in ((shape.near, True), *((side, False) for side in shape.far)):
        stores = is_near != shape.near_is_source
        extents = shape.held if is_near else shape.tile
        nbytes = (side.cell + side.hole) * math.prod(extents[loop] for loop in side.row) - side.hole
        rows = side.rows * side.columns
        sectors += rows * (nbytes / SECTOR + _cut(side, stores, stores and bool(shape.lead.more)))
        units = 0 if is_near else 16 // max(4, side.unit) if side.columns > 1 else 16 // side.unit
        steps = -(-side.slots * side.rows // _THREADS) * _THREADS
        instructions += steps * (_PER_SLOT + _PER_UNIT * units)
        if stores and not side.aligned and not shape.lead.more:
            instructions += 2 * rows * (_PER_EDGE + _PER_UNIT * units)
    memory = sectors * SECTOR / (2 * payload)
    waste = math.prod(
        count * tile / extent for count, tile, extent in zip(shape.tiles(group), shape.tile, group.extents, strict=True)
    )
    issued = instructions * waste * 16 / payload / _AFFORDABLE
    tiles = math.prod(shape.tiles(group))
    return (max(memory, issued) + _HIDDEN * min(memory, issued)) * max(1.0, _ENOUGH_TILES / tiles)


def _cut(side: Side, stores: bool, leads: bool) -> float:
    """Sectors that a row touches beyond its bytes. Bytes that fill a slot in part are stored with several accesses."""
    if side.in_sectors:
        return 0.0
    if side.aligned or leads:  # a warp stores as many slots of a row together as a power of two divides
        return 0.5 * side.slots / min(side.slots & -side.slots, 32) if stores else 0.5
    return 2.5 if stores else 1.0
