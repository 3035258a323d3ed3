"""From strided copies to kernels.

A tile costs sectors of memory and instructions, as a multiple of a plain copy of its bytes. The figures of instructions are
counted from executed PTX (`tests/run/cuda/kernel_traffic.py`); they only choose between shapes.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from isoviz.backends.cuda.kernels.field_parts import group_of, shared_cells
from isoviz.backends.cuda.kernels.straight_kernels import LONG_RUN, WIDEST, of_any_shape, power_of_two, straight
from isoviz.backends.cuda.kernels.tile_kernels import tile_kernel
from isoviz.backends.cuda.kernels.tile_shape import SECTOR, Side, TileShape, shape_of, tile_reaching
from isoviz.errors import LayoutError
from isoviz.layouts import StridedCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.cuda.kernels.field_parts import Group
    from isoviz.backends.cuda.kernels.kernel_source import KernelSource

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


SMALL = 1 << 18
"""Bytes below which a copy gets no kernel of its own: moving them takes microseconds, compiling some 0.2 seconds. Ragged ends of
blocks are such copies, and can be hundreds of different shapes."""


def kernels_of(
    copies: Sequence[StridedCopy], source_alignment: int, destination_alignment: int, small: int = SMALL
) -> list[KernelSource]:
    """The kernels that carry out strided copies between two stores of a device. Their order does not matter.

    The alignments are those of the first bytes of the two stores, in bytes. Long runs, and copies whose fastest loop is the same
    at both ends, go straight. Copies that transpose go through tiles in shared memory. Fields that share the cells of an array of
    structs go through such tiles together. Copies of less than `small` bytes (at most 2^28) share kernels of any shape.

    Raises:
        LayoutError: an alignment is below 1, or a copy has an empty run, an empty loop or a negative offset.
    """
    if source_alignment < 1 or destination_alignment < 1:
        raise LayoutError(f"kernels: alignments {source_alignment} and {destination_alignment}; expected at least 1 byte")
    if not copies:
        return []
    # Chunks of one transfer differ by where they lie: their kernels come from the cache, with other arguments.
    here = min(copy.source_offset for copy in copies) // WIDEST * WIDEST
    there = min(copy.destination_offset for copy in copies) // WIDEST * WIDEST
    moved = tuple(
        StridedCopy(copy.source_offset - here, copy.destination_offset - there, copy.run, copy.loops) for copy in copies
    )
    if min(here, there) < 0:
        raise LayoutError(f"kernels: offsets {here} and {there}; expected at least 0")
    alignments = power_of_two(source_alignment), power_of_two(destination_alignment)
    return [kernel.moved(here, there) for kernel in _kernels(moved, *alignments, min(small, 1 << 28))]


@functools.lru_cache(maxsize=512)
def _kernels(
    copies: tuple[StridedCopy, ...], source_alignment: int, destination_alignment: int, small: int
) -> tuple[KernelSource, ...]:
    for copy in copies:
        if copy.run < 1 or any(loop[0] < 1 for loop in copy.loops):
            raise LayoutError(f"kernels: copy {copy}: expected a run and extents of at least 1")
    groups, single = shared_cells([copy._replace(loops=tuple(loop for loop in copy.loops if loop[0] > 1)) for copy in copies])
    found: list[KernelSource] = []
    for group in groups:
        if group.nbytes < small:
            single += group.copies
            continue
        shape = tile_shape(group, source_alignment, destination_alignment)
        if shape is None:
            ends = ((part.source_offset, part.destination_offset, part.run, part.far) for part in group.parts)
            raise LayoutError(f"kernels: cells of {group.cell} bytes fit in no tile: {list(ends)}")
        found.append(tile_kernel(group, shape))
    for copy in single:
        shape = None
        if copy.nbytes < small:
            found.append(of_any_shape(copy, source_alignment, destination_alignment))
            continue
        if transposes(copy):
            group = group_of([copy], near_is_source=True)
            shape = tile_shape(group, source_alignment, destination_alignment)
        found.append(straight(copy, source_alignment, destination_alignment) if shape is None else tile_kernel(group, shape))
    return tuple(found)


def transposes(copy: StridedCopy) -> bool:
    """Whether neighbours at the source are not neighbours at the destination, in pieces too short to make up for that.

    A piece is a run with its neighbours along the loops that come first at both ends.
    """
    if copy.run >= LONG_RUN or any(min(loop[1:]) <= 0 for loop in copy.loops):
        return False
    here, there = (sorted(copy.loops, key=lambda loop: loop[end]) for end in (1, 2))
    if any(len({loop[end] for loop in copy.loops}) < len(copy.loops) for end in (1, 2)):
        return False
    for first, other in zip(here, there, strict=True):
        if first != other:
            return True
        if first[0] * copy.run >= LONG_RUN:
            return False
    return False
