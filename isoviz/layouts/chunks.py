"""Chunks: what moves through a pipeline at a time (DESIGN: a run of consecutive blocks of the common suffix).

The slowest digits of an intermediate layout number its blocks. A chunk is a run of consecutive blocks: one contiguous byte
range in every layout that ends with these digits, and a few boxes of the index space.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz.errors import LayoutError
from isoviz.layouts.linearization import Linearization, Mode
from isoviz.layouts.spaces import Box

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Chunk:
    """One chunk: its number, its boxes, and the bytes it takes in the layout (`first_byte` up to `nbytes`, padding included)."""

    index: int
    boxes: tuple[Box, ...]
    first_byte: int
    nbytes: int

    @property
    def volume(self) -> int:
        """Entries in it."""
        return sum(box.volume for box in self.boxes)


@dataclass(frozen=True)
class ChunkSequence:
    """The chunks of a linearization whose `outer` slowest components number the blocks, `per_chunk` blocks in a chunk.

    Every index is in exactly one chunk, and chunks come in the order of the layout. The last chunk may be short.

    Raises:
        LayoutError: `F` is among the outer components (fields of one entry would fall into several chunks), or the numbers
            are out of range.
    """

    linearization: Linearization
    outer: int
    per_chunk: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.outer < len(self.linearization.parts):
            raise LayoutError(f"chunks: {self.outer} outer components of {len(self.linearization.parts)}")
        if not all(isinstance(part, Mode) for part in self.linearization.parts[len(self.linearization.parts) - self.outer :]):
            raise LayoutError(f"chunks of {self.linearization.layout}: F is among the {self.outer} outer components")
        if self.per_chunk < 1:
            raise LayoutError(f"chunks: {self.per_chunk} blocks in a chunk; expected at least 1")

    @cached_property
    def digits(self) -> tuple[Mode, ...]:
        """The digits that number the blocks, fastest first."""
        parts = self.linearization.parts
        return tuple(part for part in parts[len(parts) - self.outer :] if isinstance(part, Mode))

    @cached_property
    def blocks(self) -> int:
        """The number of blocks."""
        count = 1
        for digit in self.digits:
            count *= digit.extent
        return count

    @cached_property
    def block_bytes(self) -> int:
        """Bytes of one block in the layout, padding included."""
        return self.linearization.nbytes // self.blocks

    @property
    def chunk_bytes(self) -> int:
        """Bytes of a full chunk."""
        return min(self.per_chunk, self.blocks) * self.block_bytes

    def __len__(self) -> int:
        return -(-self.blocks // self.per_chunk)

    def __getitem__(self, index: int) -> Chunk:
        if not 0 <= index < len(self):
            raise IndexError(f"chunk {index} of {len(self)}")
        first = index * self.per_chunk
        last = min(first + self.per_chunk, self.blocks)
        boxes = tuple(box for digits in _digit_boxes(first, last, self.digits) for box in self._boxes_of(digits) if box.volume)
        return Chunk(index, boxes, first * self.block_bytes, (last - first) * self.block_bytes)

    def __iter__(self) -> Iterator[Chunk]:
        return (self[i] for i in range(len(self)))

    def _boxes_of(self, ranges: tuple[tuple[int, int], ...]) -> Iterator[Box]:
        """Digit ranges → boxes: one, unless a faster digit of a dimension is fixed while a slower one varies."""
        space = self.linearization.space
        chosen = dict(zip(self.digits, ranges, strict=True))
        per_dim: list[list[tuple[int, int]]] = []
        for dim in space:
            digits = sorted((mode.step, mode) for mode in self.linearization.parts if isinstance(mode, Mode) and mode.dim == dim)
            found = _coordinates([(step, *chosen.get(mode, (0, mode.extent))) for step, mode in digits])
            per_dim.append([(lo, min(hi, space[dim])) for lo, hi in found if lo < space[dim]])
        for box in itertools.product(*per_dim):
            yield Box(tuple(lo for lo, _ in box), tuple(hi for _, hi in box))


def _coordinates(digits: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The coordinate ranges whose digits (step, lo, hi), fastest first, lie in lo ≤ digit < hi."""
    found = [(0, 1)]
    for step, lo, hi in digits:
        if found == [(0, step)]:
            found = [(lo * step, hi * step)]
        else:
            found = [(start + k * step, end + k * step) for k in range(lo, hi) for start, end in found]
    return found


def _digit_boxes(first: int, last: int, digits: tuple[Mode, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The block numbers first … last − 1 as products of digit ranges, in order."""
    if first >= last:
        return
    if not digits:
        yield ()
        return
    inner = 1
    for digit in digits[:-1]:
        inner *= digit.extent
    top = first // inner
    if first % inner or last < (top + 1) * inner:
        end = min(last, (top + 1) * inner)
        for box in _digit_boxes(first - top * inner, end - top * inner, digits[:-1]):
            yield (*box, (top, top + 1))
        yield from _digit_boxes(end, last, digits)
        return
    full = last // inner
    yield (*((0, digit.extent) for digit in digits[:-1]), (top, full))
    yield from _digit_boxes(full * inner, last, digits)
