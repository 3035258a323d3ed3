"""Strided copies as the copy engines of a GPU take them: contiguous bytes, rows, or planes of rows.

`cudaMemcpy2D` and `cudaMemcpy3D` have one distance between rows at each end, and a plane is a whole number of rows long. A copy
with other strides is done by a kernel, or as several such copies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from isoviz.layouts import StridedCopy
from isoviz.layouts.geometry import merged
from isoviz.layouts.recurring import split_together

LONGEST_PITCH = 2**31 - 1
"""Bytes between two rows at most."""
ALIGNED = 16
"""Bytes: packed copies begin at multiples of this, so that kernels use wide accesses."""
GAPS = 64
"""Bytes of runs from which a processor picks them one by one as fast as it moves all."""


class Rows(NamedTuple):
    """`depth` planes of `height` rows of `width` bytes.

    The offsets and pitches (distances between rows) are in bytes, the distances between planes (`source_rows`,
    `destination_rows`) in rows.
    """

    source_offset: int
    destination_offset: int
    width: int
    height: int = 1
    depth: int = 1
    source_pitch: int = 0
    destination_pitch: int = 0
    source_rows: int = 1
    destination_rows: int = 1

    @property
    def is_contiguous(self) -> bool:
        """Whether it is a single row."""
        return self.height == self.depth == 1


def rows_of(copy: StridedCopy) -> Rows | None:
    """A copy as contiguous bytes, rows or planes; None if it is none of these."""
    at, to, run = copy.source_offset, copy.destination_offset, copy.run
    if not copy.loops:
        return Rows(at, to, run)
    height, here, there = copy.loops[-1]
    if len(copy.loops) > 2 or not (run <= here <= LONGEST_PITCH and run <= there <= LONGEST_PITCH):
        return None
    if len(copy.loops) == 1:
        return Rows(at, to, run, height, 1, here, there, height, height)
    depth, far_here, far_there = copy.loops[0]
    planes = [(far_here, here), (far_there, there)]
    if any(far % near or far < height * near for far, near in planes):
        return None
    return Rows(at, to, run, height, depth, here, there, far_here // here, far_there // there)


def all_rows(copy: StridedCopy) -> Iterator[Rows]:
    """Any copy as a sequence of rows and planes, as few as possible."""
    for keep in (2, 1, 0):
        if keep > len(copy.loops):
            continue
        outer, inner = copy.loops[: len(copy.loops) - keep], copy.loops[len(copy.loops) - keep :]
        first = rows_of(copy._replace(loops=inner))
        if first is None:
            continue
        for turn in itertools.product(*(range(extent) for extent, _, _ in outer)):
            at = sum(k * loop[1] for k, loop in zip(turn, outer, strict=True))
            to = sum(k * loop[2] for k, loop in zip(turn, outer, strict=True))
            yield first._replace(source_offset=first.source_offset + at, destination_offset=first.destination_offset + to)
        return


class Packing(NamedTuple):
    """A copy in two steps, through `nbytes` packed bytes: `into` ends there, `out` begins there."""

    into: StridedCopy
    out: StridedCopy


def packed(copy: StridedCopy, at: int, by: str) -> Packing:
    """A copy through packed bytes from offset `at` on, in the order of the "source" or the "destination" (`by`)."""
    end = 1 if by == "source" else 2
    dense, into, out = copy.run, [], []
    for loop in sorted(copy.loops, key=lambda loop: loop[end]):
        into.append((loop[0], loop[1], dense))
        out.append((loop[0], dense, loop[2]))
        dense *= loop[0]
    return Packing(merged(copy.source_offset, at, copy.run, into), merged(at, copy.destination_offset, copy.run, out))


class Steps(NamedTuple):
    """Copies in two steps through a buffer: `into` it, and `out` of it."""

    into: list[StridedCopy]
    out: list[StridedCopy]


def stretched(copies: Sequence[StridedCopy], by: str, most: int) -> Steps | None:
    """Copies through a buffer that holds the stretch of memory in which they lie at the "source" or the "destination" (`by`).

    One step is a single copy of the stretch. It also moves the gaps between the copies, which is quicker than to pick short runs
    one by one. None if that is not so, if there are gaps in a destination, or if the stretch has more than `most` bytes.
    """
    is_source = by == "source"
    begin, end = math.inf, 0
    for copy in copies:
        at = copy.source_offset if is_source else copy.destination_offset
        reach = sum([(turns - 1) * (here if is_source else there) for turns, here, there in copy.loops])
        begin, end = min(begin, at), max(end, at + reach + copy.run)
    first, payload = int(begin), sum([copy.nbytes for copy in copies])
    length = end - first
    picks = payload < length and (not is_source or 2 * payload < length or max(copy.run for copy in copies) >= GAPS)
    at = first % ALIGNED  # The copies are as aligned in the buffer as they are in memory.
    if picks or at + length > most:
        return None
    moved = at - first
    if is_source:
        return Steps(
            [StridedCopy(first, at, length)], [copy._replace(source_offset=copy.source_offset + moved) for copy in copies]
        )
    return Steps(
        [copy._replace(destination_offset=copy.destination_offset + moved) for copy in copies], [StridedCopy(at, first, length)]
    )


def pieces(copies: Sequence[StridedCopy], most: int) -> Iterator[list[tuple[StridedCopy, int]]]:
    """Copies cut and grouped into pieces of at most `most` packed bytes, with the packed offset of each copy.

    The fields of structs are cut together: a piece has the same structs of all fields, which lie side by side in memory.
    """
    nbytes = sum([copy.nbytes for copy in copies])
    parts = 1 if nbytes <= most or len(copies) == 1 else -(-nbytes * 17 // (16 * most))  # parts are not quite equal
    for part in split_together(copies, parts, ALIGNED):
        yield from _grouped(part, most)


def _grouped(copies: Iterable[StridedCopy], most: int) -> Iterator[list[tuple[StridedCopy, int]]]:
    piece: list[tuple[StridedCopy, int]] = []
    end = 0
    for copy in (part for whole in copies for part in _cut(whole, most)):
        if piece and end + copy.nbytes > most:
            yield piece
            piece, end = [], 0
        piece.append((copy, end))
        end += -(-copy.nbytes // ALIGNED) * ALIGNED
    if piece:
        yield piece


def _cut(copy: StridedCopy, most: int) -> Iterator[StridedCopy]:
    """Parts of a copy of at most `most` bytes each."""
    if copy.nbytes <= most:
        yield copy
        return
    at, to, run, loops = copy
    if not loops:
        for begin in range(0, run, most):
            yield StridedCopy(at + begin, to + begin, min(most, run - begin))
        return
    (extent, here, there), rest = loops[0], loops[1:]
    turns = max(1, most // (copy.nbytes // extent))
    for begin in range(0, extent, turns):
        count = min(turns, extent - begin)
        part = StridedCopy(at + begin * here, to + begin * there, run, ((count, here, there), *rest) if count > 1 else rest)
        yield from _cut(part, most)
