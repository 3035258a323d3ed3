"""From strided copies to kernels."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from isoviz.backends.cuda.kernels.field_parts import group_of, shared_cells
from isoviz.backends.cuda.kernels.straight_kernels import LONG_RUN, WIDEST, of_any_shape, power_of_two, straight
from isoviz.backends.cuda.kernels.tile_cost import tile_shape
from isoviz.backends.cuda.kernels.tile_kernels import tile_kernel
from isoviz.errors import LayoutError
from isoviz.layouts import StridedCopy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.cuda.kernels.kernel_source import KernelSource


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
