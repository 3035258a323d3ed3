"""Chunks: what moves through a pipeline at a time (DESIGN: a run of consecutive blocks of the common suffix).

The slowest components of an intermediate layout number its blocks. A chunk is a run of consecutive blocks: one contiguous byte
range in every layout that ends with these components, and a few boxes of the index space. Where `F` is among them, a block
holds one field, and blocks of fields of different sizes have different bytes.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import LayoutError
from isoviz.layouts.components import FieldsComponent
from isoviz.layouts.layout import Linearization
from isoviz.layouts.modes import Mode
from isoviz.layouts.spaces import Box

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoviz.layouts.modes import NormalPart


class ChunkPart(NamedTuple):
    """The entries of a box, with the names of those of their fields that are meant, in the order of the layout's fields."""

    box: Box
    fields: tuple[str, ...]


class Chunk(NamedTuple):
    """One chunk: its number, what is in it, and the bytes it takes in the layout.

    No (index, field) is in two of its `parts`, and no two parts have the same box. It takes `nbytes` bytes from `first_byte` on,
    padding included; `payload_bytes` of them belong to entries.
    """

    index: int  # type: ignore[assignment]  # the chunk's number, not the method of tuples
    parts: tuple[ChunkPart, ...]
    first_byte: int
    nbytes: int
    payload_bytes: int


@dataclass(frozen=True)
class ChunkSequence:
    """The chunks of a linearization whose `outer` slowest components number the blocks, `per_chunk` blocks in a chunk.

    Every (index, field) is in exactly one chunk, and chunks come in the order of the layout. The last chunk may be short.

    Raises:
        LayoutError: more components than the layout has, or chunks of no block.
    """

    linearization: Linearization
    outer: int
    per_chunk: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.outer <= len(self.linearization.parts):
            raise LayoutError(f"chunks: {self.outer} outer components of {len(self.linearization.parts)}")
        if self.per_chunk < 1:
            raise LayoutError(f"chunks: {self.per_chunk} blocks in a chunk; expected at least 1")

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
        """The place of `F` among the digits; None where a block holds all fields."""
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
        """How many blocks in a row have the same bytes: those of one field. Then the next field follows."""
        return 1 if self._fields_at is None else math.prod(self._extents[: self._fields_at])

    @cached_property
    def _turn(self) -> int:
        """After how many blocks the fields begin again: so many blocks in a row hold all fields equally often."""
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
        """Bytes that hold any of the chunks: those of the largest chunk, where blocks differ in size at least as many.

        At most `per_chunk` times `block_bytes`, and at most the bytes of the linearization.
        """
        turns, rest = divmod(min(self.per_chunk, self.blocks), self._turn)
        return turns * self._turn_bytes + min(rest * self.block_bytes, self._turn_bytes)

    def __len__(self) -> int:
        return -(-self.blocks // self.per_chunk)

    def first_byte(self, index: int) -> int:
        """The byte of the layout at which a chunk begins; for `len(self)`, the end of the last one."""
        return self._byte(min(index * self.per_chunk, self.blocks))

    def __getitem__(self, index: int) -> Chunk:
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
        """What is in a chunk, as `Chunk.parts`, with as much of the padding behind every dimension as lies in the chunk: up to so
        many coordinates, which the linearization has."""
        first = index * self.per_chunk
        return self._parts_of(first, min(first + self.per_chunk, self.blocks), padding)

    def __iter__(self) -> Iterator[Chunk]:
        return (self[i] for i in range(len(self)))

    def _byte(self, block: int) -> int:
        """Where a block begins; for `blocks`, the end of the last one."""
        turns, rest = divmod(block, self._turn)
        field, number = divmod(rest, self._like)
        fields = self.linearization.fields
        return turns * self._turn_bytes + self._entries * (self._like * fields.starts[field] + number * fields.sizes[field])

    def _parts_of(self, first: int, last: int, padding: Sequence[int] = ()) -> tuple[ChunkPart, ...]:
        """What the blocks first … last − 1 hold. Fields that have the same box come together: they are copied as one."""
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
        """Digit ranges → boxes: one, unless a faster digit of a dimension is fixed while a slower one varies."""
        per_dim: list[list[tuple[int, int]]] = []
        for (size, room, digits), more in zip(self._dims, padding, strict=True):
            found = _coordinates([(step, *(whole if place is None else ranges[place])) for step, place, whole in digits])
            end = size + more
            # Behind this layout's own room there is only padding of others; it goes with the last block.
            per_dim.append([(lo, end if hi == room else min(hi, end)) for lo, hi in found if lo < end])
        for box in itertools.product(*per_dim):
            yield Box.unchecked(tuple([lo for lo, _ in box]), tuple([hi for _, hi in box]))

    @cached_property
    def _dims(self) -> tuple[tuple[int, int, tuple[tuple[int, int | None, tuple[int, int]], ...]], ...]:
        """For every dimension its size, the room for it (0 where what lies behind that belongs to several blocks), and its
        digits, fastest first: step, place among the components that number the blocks (None: it is inside of them), and the
        range that is all of it."""
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
    """The coordinate ranges whose digits (step, lo, hi), fastest first, lie in lo ≤ digit < hi."""
    found = [(0, 1)]
    for step, lo, hi in digits:
        if found == [(0, step)]:
            found = [(lo * step, hi * step)]
        else:
            found = [(start + k * step, end + k * step) for k in range(lo, hi) for start, end in found]
    return found


def _digit_boxes(first: int, last: int, extents: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The block numbers first … last − 1 as products of digit ranges, in order; `extents` belong to the digits, fastest first."""
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
