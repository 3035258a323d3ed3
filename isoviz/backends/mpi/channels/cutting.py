"""Strided copies cut into pieces for messages, and each piece as a copy into the message and a copy out of it.

The bytes of a message have the order of the destination. A piece that is contiguous in the source, but not in the destination,
keeps the order of the source: it needs no packing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from isoviz.layouts import StridedCopy
from isoviz.layouts.copies import ListedCopy, listed, step_of
from isoviz.layouts.recurring import shifted

PlainCopy = tuple[Any, ...]
"""A copy as a plain tuple. Its pickle is a fraction of that of the class."""


class Piece(NamedTuple):
    """The bytes of one message.

    - `copies`: the copies from the source to the destination, in the order of the message.
    - `pack`: the copies from the source into the message.
    - `unpack`: the copies from the message into the destination.
    - `source`: the offset in the source if the message is a contiguous part of it, else None. `destination` likewise.
    """

    nbytes: int
    copies: list[StridedCopy]
    pack: list[StridedCopy]
    unpack: list[StridedCopy]
    source: int | None
    destination: int | None


def pieces(copies: Iterable[StridedCopy], most: int) -> Iterator[Piece]:
    """The copies in pieces of at most `most` bytes."""
    held: list[StridedCopy] = []
    nbytes = 0
    for copy in copies:
        for part in cut(copy, most):
            if nbytes + part.nbytes > most and held:
                yield piece(held)
                held, nbytes = [], 0
            held.append(part)
            nbytes += part.nbytes
    if held:
        yield piece(held)


def cut(copy: StridedCopy, most: int) -> Iterator[StridedCopy]:
    """A copy in parts of at most `most` bytes, its loops in the order of the destination. A list stays in its own order."""
    loops = tuple(sorted(copy.loops, key=lambda loop: -loop[2]))
    if isinstance(copy, ListedCopy):
        ordered = ListedCopy(copy.bases, copy.places, copy.run, loops)
        entry = copy.nbytes // copy.entries
        if entry <= most:
            count = most // entry
            yield from (ordered.part(first, first + count) for first in range(0, copy.entries, count))
        else:
            for each in ordered.one_by_one():
                yield from cut(each, most)
    elif copy.nbytes <= most:
        yield copy._replace(loops=loops)
    elif not loops:
        for at in range(0, copy.run, most):
            run = min(most, copy.run - at)
            yield StridedCopy(copy.source_offset + at, copy.destination_offset + at, run)
    else:
        (extent, here, there), inner = loops[0], loops[1:]
        count = max(1, most // (copy.nbytes // extent))
        for first in range(0, extent, count):
            turns = min(count, extent - first)
            part = StridedCopy(
                copy.source_offset + first * here,
                copy.destination_offset + first * there,
                copy.run,
                ((turns, here, there), *inner) if turns > 1 else inner,
            )
            if part.nbytes <= most:
                yield part
            else:
                yield from cut(part, most)


def piece(copies: Sequence[StridedCopy]) -> Piece:
    """The copies as one message."""
    pack, unpack = _through(copies)
    there = _contiguous([copy.reversed() for copy in unpack])
    here = _contiguous(pack)
    if here is None and there is None:
        ordered = by_source(copies)
        other, behind = _through(ordered)
        here = _contiguous(other)
        if here is not None:
            copies, pack, unpack = ordered, other, behind
    return Piece(sum([copy.nbytes for copy in pack]), list(copies), pack, unpack, here, there)


def filled(copies: Sequence[StridedCopy]) -> Piece | None:
    """The copies as one message in the order of the destination; None if they leave gaps there.

    Fields that become structs leave none: each of them has gaps, which the others fill. `pack` has the order of the copies.
    """
    low, high = reach(copies)
    nbytes = sum([copy.nbytes for copy in copies])
    if high - low != nbytes:
        return None
    pack = shifted(list(copies), 0, -low)
    return Piece(nbytes, list(copies), pack, [StridedCopy(0, low, nbytes)], None, low)


def by_source(copies: Sequence[StridedCopy]) -> list[StridedCopy]:
    """The copies, and the loops of each, in the order of the source. Lists stay in their own order."""
    lists = [copy for copy in copies if isinstance(copy, ListedCopy)]
    others = [copy for copy in copies if not isinstance(copy, ListedCopy)]
    loops = [tuple(sorted(copy.loops, key=lambda loop: -loop[1])) for copy in others]
    return [*lists, *sorted(copy._replace(loops=ordered) for copy, ordered in zip(others, loops, strict=True))]


def _through(copies: Sequence[StridedCopy]) -> tuple[list[StridedCopy], list[StridedCopy]]:
    """The copies into a message, one after the other in the order of their loops, and out of it."""
    pack: list[StridedCopy] = []
    unpack: list[StridedCopy] = []
    at = 0
    for copy in copies:
        source, destination, run, loops = copy
        step = run
        into, out = [], []
        for extent, here, there in reversed(loops):
            into.append((extent, here, step))
            out.append((extent, step, there))
            step *= extent
        if isinstance(copy, ListedCopy):
            message = np.arange(copy.entries, dtype=np.int64) * step
            pack.append(_entries((copy.source_base, at), (copy.source_places, message), run, into[::-1]))
            unpack.append(_entries((at, copy.destination_base), (message, copy.destination_places), run, out[::-1]))
            step *= copy.entries
        else:
            pack.append(StridedCopy(source, at, run, tuple(reversed(into))))
            unpack.append(StridedCopy(at, destination, run, tuple(reversed(out))))
        at += step
    return pack, unpack


def _entries(bases: tuple[int, int], places: tuple[Any, Any], run: int, loops: Sequence[tuple[int, int, int]]) -> StridedCopy:
    """The copy of entries in this order. Where they lie at equal distances at both ends, they are its slowest loop."""
    here, there = (step_of(table) for table in places)
    if here is None or there is None or min(here, there) <= 0 < len(places[0]) - 1:
        return listed(bases, *places, run, tuple(loops))
    first = [base + int(table[0]) for base, table in zip(bases, places, strict=True)]
    count = len(places[0])
    return StridedCopy(first[0], first[1], run, ((count, here, there), *loops) if count > 1 else tuple(loops))


def _contiguous(pack: Sequence[StridedCopy]) -> int | None:
    """The source offset of a message that is contiguous there, in the same order; else None."""
    first = pack[0].source_offset - pack[0].destination_offset
    for copy in pack:
        is_apart = isinstance(copy, ListedCopy) or copy.source_offset - copy.destination_offset != first
        if is_apart or any(here != there for _, here, there in copy.loops):
            return None
    return first


def plain(copies: Iterable[StridedCopy]) -> list[PlainCopy]:
    """The copies as plain tuples, for a message."""
    return [
        (*copy.bases, copy.run, copy.loops, *map(_table, copy.places))
        if isinstance(copy, ListedCopy)
        else (copy.source_offset, copy.destination_offset, copy.run, copy.loops)
        for copy in copies
    ]


def _table(places: Any) -> Any:
    """A table of offsets for a message: its first one, step and length, or its least one and what the others add to it."""
    step = step_of(places)
    if step is not None:
        return int(places[0]), step, len(places)
    least = int(places.min())
    beyond = places - least
    return least, beyond.astype(np.int32) if int(beyond.max()) < 1 << 31 else beyond


def _places(table: Any) -> Any:
    """What `_table` was made of."""
    if len(table) == 3:
        first, step, count = table
        return first + np.arange(count, dtype=np.int64) * step
    return table[0] + table[1].astype(np.int64)


def copies_of(parts: Iterable[PlainCopy]) -> list[StridedCopy]:
    """The copies that `plain` turned into tuples."""
    return [
        StridedCopy(*part) if len(part) == 4 else ListedCopy(part[:2], (_places(part[4]), _places(part[5])), part[2], part[3])
        for part in parts
    ]


def is_run(copy: StridedCopy) -> bool:
    """Whether a copy is a single run."""
    return not copy.loops and not isinstance(copy, ListedCopy)


def reach(copies: Iterable[StridedCopy]) -> tuple[int, int]:
    """The first byte and the end of the bytes that copies write."""
    low, high = None, 0
    for copy in copies:
        if isinstance(copy, ListedCopy):
            first, last = copy.spans()[1]
        else:
            first, last = copy.destination_offset, copy.destination_offset + copy.run
            for extent, _, there in copy.loops:
                first += min(0, (extent - 1) * there)
                last += max(0, (extent - 1) * there)
        low = first if low is None else min(low, first)
        high = max(high, last)
    return low or 0, high
