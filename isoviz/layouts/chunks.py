"""Chunks: the units that move through a pipeline. A chunk is a run of consecutive blocks of the common suffix.

The slowest components of an intermediate layout number its blocks. A chunk is one contiguous byte range in every layout that ends
with these components, and a few boxes of the index space. If `F` is one of these components, a block holds one field, and the
size of a block depends on its field.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import LayoutError
from isoviz.layouts.layout import Linearization
from isoviz.layouts.modes import FieldsComponent, Mode
from isoviz.layouts.spaces import Box

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.layouts.modes import NormalPart


class ChunkPart(NamedTuple):
    """The entries of a box, restricted to some fields. `fields` has their names, in the order of the layout's fields."""

    box: Box
    fields: tuple[str, ...]


class Chunk(NamedTuple):
    """One chunk: its number, its content, and its byte range in the layout.

    No (index, field) is in two of its `parts`, and no two parts have the same box. The range begins at `first_byte` and has
    `nbytes` bytes, padding included. `payload_bytes` of them belong to entries.
    """

    index: int  # type: ignore[assignment]  # the chunk's number, not the method of tuples
    parts: tuple[ChunkPart, ...]
    first_byte: int
    nbytes: int
    payload_bytes: int


@dataclass(frozen=True)
class ChunkSequence:
    """The chunks of a linearization. The `outer` slowest components number the blocks; a chunk has `per_chunk` blocks.

    Every (index, field) is in exactly one chunk, and chunks come in the order of the layout. The last chunk may be short.

    Raises:
        LayoutError: `outer` exceeds the number of components, or `per_chunk` is less than 1.
    """

    linearization: Linearization
    outer: int
    per_chunk: int = 1

    def __post_init__(self) -> None:
        expect("chunks", self.linearization, Linearization, "a linearization")
        parts = len(self.linearization.parts)
        object.__setattr__(self, "outer", checks.count("chunks", "outer components", self.outer, high=parts, error=LayoutError))
        blocks = checks.count("chunks", "blocks in a chunk", self.per_chunk, low=1, error=LayoutError)
        object.__setattr__(self, "per_chunk", blocks)

    @cached_property
    def digits(self) -> tuple[NormalPart, ...]:
        """The components that number the blocks, fastest first; `F` counts the fields."""
        parts = self.linearization.parts
        return parts[len(parts) - self.outer :]

    @cached_property
    def _extents(self) -> tuple[int, ...]:
        fields = len(self.linearization.fields)
        return tuple(part.extent if isinstance(part, Mode) else fields for part in self.digits)

    @cached_property
    def _fields_at(self) -> int | None:
        """The position of `F` among the digits; None if a block holds all fields."""
        return next((i for i, part in enumerate(self.digits) if isinstance(part, FieldsComponent)), None)

    @cached_property
    def blocks(self) -> int:
        """The number of blocks."""
        return math.prod(self._extents)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        return dict(zip(self.linearization.fields.names, self.linearization.fields.sizes, strict=True))

    @cached_property
    def _entries(self) -> int:
        """Entries in a block, padding included."""
        return self.linearization.count * (1 if self._fields_at is None else len(self.linearization.fields)) // self.blocks

    @cached_property
    def _like(self) -> int:
        """The number of consecutive blocks of the same field, which all have the same size."""
        return 1 if self._fields_at is None else math.prod(self._extents[: self._fields_at])

    @cached_property
    def _turn(self) -> int:
        """The period of the fields in blocks: this many consecutive blocks hold every field equally often."""
        return 1 if self._fields_at is None else self._like * len(self.linearization.fields)

    @property
    def _turn_bytes(self) -> int:
        return self._entries * self._like * self.linearization.fields.nbytes

    @cached_property
    def block_bytes(self) -> int:
        """Bytes of the largest block in the layout, padding included."""
        fields = self.linearization.fields
        return self._entries * (fields.nbytes if self._fields_at is None else max(fields.sizes))

    @property
    def chunk_bytes(self) -> int:
        """Bytes that are enough for every chunk. If blocks differ in size, this may exceed the largest chunk.

        It is at most `per_chunk` times `block_bytes`, and at most the size of the linearization.
        """
        turns, rest = divmod(min(self.per_chunk, self.blocks), self._turn)
        return turns * self._turn_bytes + min(rest * self.block_bytes, self._turn_bytes)

    def __len__(self) -> int:
        return -(-self.blocks // self.per_chunk)

    def first_byte(self, index: int) -> int:
        """The byte of the layout at which a chunk begins; for `len(self)`, the end of the last chunk."""
        if type(index) is not int or not 0 <= index <= len(self):
            index = checks.count("chunks", "chunk", index, high=len(self), error=LayoutError)
        return self._byte(min(index * self.per_chunk, self.blocks))

    def __getitem__(self, index: int) -> Chunk:
        if type(index) is not int:
            index = checks.count("chunks", "chunk", index, low=-checks.BYTES_LIMIT, error=LayoutError)
        if not 0 <= index < len(self):
            raise IndexError(f"chunk {index} of {len(self)}")
        first = index * self.per_chunk
        parts = self._parts_of(first, min(first + self.per_chunk, self.blocks))
        fields, sizes = self.linearization.fields, self._sizes
        whole, entry = len(fields), fields.nbytes
        payload = sum(box.volume * (entry if len(names) == whole else sum(sizes[name] for name in names)) for box, names in parts)
        start = self.first_byte(index)
        return Chunk(index, parts, start, self.first_byte(index + 1) - start, payload)

    def padded_parts(self, index: int, padding: Sequence[int]) -> tuple[ChunkPart, ...]:
        """The parts of a chunk (`Chunk.parts`), extended by the padding behind every dimension that lies in the chunk.

        `padding` is the largest number of padding coordinates by dimension. The linearization has room for them.
        """
        if type(index) is not int or not 0 <= index < len(self):
            index = checks.count("chunks", "chunk", index, high=len(self) - 1, error=LayoutError)
        padding = checks.items("chunks, padding", padding, "whole numbers")
        if len(padding) != len(self.linearization.space):
            raise LayoutError(f"chunks, padding: expected {len(self.linearization.space)} numbers, got {len(padding)}")
        for each in padding:
            if type(each) is not int or each < 0:
                checks.count("chunks", "padding", each, error=LayoutError)
        first = index * self.per_chunk
        return self._parts_of(first, min(first + self.per_chunk, self.blocks), padding)

    def __iter__(self) -> Iterator[Chunk]:
        return (self[i] for i in range(len(self)))

    def of_bytes(self, first: int, end: int) -> tuple[tuple[ChunkPart, ...], tuple[tuple[ChunkPart, int, int], ...]]:
        """The content of a range of bytes of the layout. Every block must be one element (`outer`: all components).

        The first result holds the elements that lie in the range as a whole. The second one holds up to two elements that an edge
        of the range cuts, each with the first byte of it in the range and the one after the last.
        """
        low, begun = self._block_at(first)
        high, more = self._block_at(end)
        if low == high:
            return (), ((self._element(low), begun, more),) if more > begun else ()
        size = self._byte(low + 1) - self._byte(low)
        cut = [(self._element(low), begun, size)] if begun else []
        cut += [(self._element(high), 0, more)] if more else []
        return self._parts_of(low + (begun > 0), high), tuple(cut)

    def _element(self, block: int) -> ChunkPart:
        return self._parts_of(block, block + 1)[0]

    def _block_at(self, byte: int) -> tuple[int, int]:
        """The block that holds a byte, and the number of its bytes before that one."""
        turns, rest = divmod(byte, self._turn_bytes)
        fields, unit = self.linearization.fields, self._entries * self._like
        field = bisect_right(fields.starts, rest // unit) - 1
        number, inside = divmod(rest - unit * fields.starts[field], self._entries * fields.sizes[field])
        return turns * self._turn + field * self._like + number, inside

    def _byte(self, block: int) -> int:
        """The byte at which a block begins; for `blocks`, the end of the last block."""
        turns, rest = divmod(block, self._turn)
        field, number = divmod(rest, self._like)
        fields = self.linearization.fields
        return turns * self._turn_bytes + self._entries * (self._like * fields.starts[field] + number * fields.sizes[field])

    def _parts_of(self, first: int, last: int, padding: Sequence[int] = ()) -> tuple[ChunkPart, ...]:
        """The content of the blocks first … last − 1. Fields with the same box are in one part: they are copied together."""
        found: dict[Box, tuple[str, ...]] = {}
        for ranges in _digit_boxes(first, last, self._extents):
            names = self.linearization.fields.names
            if self._fields_at is not None:
                names = names[slice(*ranges[self._fields_at])]
            for box in self._boxes_of(ranges, padding or (0,) * len(self._dims)):
                if box.volume:
                    found[box] = found.get(box, ()) + names
        return tuple(ChunkPart(box, names) for box, names in found.items())

    def _boxes_of(self, ranges: tuple[tuple[int, int], ...], padding: Sequence[int]) -> Iterator[Box]:
        """The boxes of digit ranges: one box, unless a faster digit of a dimension is fixed while a slower one varies."""
        per_dim: list[list[tuple[int, int]]] = []
        for (size, room, digits), more in zip(self._dims, padding, strict=True):
            found = _coordinates([(step, *(whole if place is None else ranges[place])) for step, place, whole in digits])
            end = size + more
            # Coordinates behind this layout's own room are padding of other layouts. They belong to the last block.
            per_dim.append([(lo, end if hi == room else min(hi, end)) for lo, hi in found if lo < end])
        for box in itertools.product(*per_dim):
            yield Box.unchecked(tuple([lo for lo, _ in box]), tuple([hi for _, hi in box]))

    @cached_property
    def _dims(self) -> tuple[tuple[int, int, tuple[tuple[int, int | None, tuple[int, int]], ...]], ...]:
        """For every dimension: its size, its room, and its digits, fastest first.

        The room is the size with padding, or 0 if coordinates behind it would belong to several blocks. A digit is (step,
        position among the components that number the blocks, full range). The position is None for a digit inside the blocks.
        """
        places = {part: place for place, part in enumerate(self.digits) if isinstance(part, Mode)}
        modes = sorted((part for part in self.linearization.parts if isinstance(part, Mode)), key=lambda mode: mode.step)
        found = []
        for dim, size in self.linearization.space.as_dict().items():
            own = [mode for mode in modes if mode.dim == dim]
            inside = [mode not in places for mode in own]
            room = size + self.linearization.padding[dim] if inside == sorted(inside, reverse=True) else 0
            digits = tuple([(mode.step, places.get(mode), (0, mode.extent)) for mode in own])
            found.append((size, room, digits))
        return tuple(found)


def _coordinates(digits: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The coordinate ranges in which every digit lies in lo ≤ digit < hi. `digits` are triples (step, lo, hi), fastest first."""
    found = [(0, 1)]
    for step, lo, hi in digits:
        if found == [(0, step)]:
            found = [(lo * step, hi * step)]
        else:
            found = [(start + k * step, end + k * step) for k in range(lo, hi) for start, end in found]
    return found


def _digit_boxes(first: int, last: int, extents: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The block numbers first … last − 1 as products of digit ranges, in order. `extents` is by digit, fastest first."""
    if first >= last:
        return
    if not extents:
        yield ()
        return
    *faster, _ = extents
    inner = math.prod(faster)
    top = first // inner
    if first % inner or last < (top + 1) * inner:
        end = min(last, (top + 1) * inner)
        for box in _digit_boxes(first - top * inner, end - top * inner, tuple(faster)):
            yield (*box, (top, top + 1))
        yield from _digit_boxes(end, last, extents)
        return
    full = last // inner
    yield (*((0, extent) for extent in faster), (top, full))
    yield from _digit_boxes(full * inner, last, extents)
