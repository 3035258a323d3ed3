"""Strided copies cut into pieces for messages, and each piece as a copy into the message and a copy out of it.

The bytes of a message have the order of the destination. A piece that is contiguous in the source, but not in the destination,
keeps the order of the source: it needs no packing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from isoviz.layouts import StridedCopy

Part = tuple[int, int, int, tuple[tuple[int, int, int], ...]]
"""A strided copy as a plain tuple. Its pickle is a fraction of that of the class."""


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
    """A copy in parts of at most `most` bytes, its loops in the order of the destination."""
    loops = tuple(sorted(copy.loops, key=lambda loop: -loop[2]))
    if copy.nbytes <= most:
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
    there = _contiguous([(copy.destination_offset, copy.source_offset, copy.run, copy.loops) for copy in unpack], 2, 1)
    here = _contiguous([(copy.source_offset, copy.destination_offset, copy.run, copy.loops) for copy in pack], 1, 2)
    if here is None and there is None:
        ordered = sorted(copy._replace(loops=tuple(sorted(copy.loops, key=lambda loop: -loop[1]))) for copy in copies)
        other, behind = _through(ordered)
        here = _contiguous([(copy.source_offset, copy.destination_offset, copy.run, copy.loops) for copy in other], 1, 2)
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
    pack = [copy._replace(destination_offset=copy.destination_offset - low) for copy in copies]
    return Piece(nbytes, list(copies), pack, [StridedCopy(0, low, nbytes)], None, low)


def _through(copies: Sequence[StridedCopy]) -> tuple[list[StridedCopy], list[StridedCopy]]:
    """The copies into a message, one after the other in the order of their loops, and out of it."""
    pack, unpack = [], []
    at = 0
    for source, destination, run, loops in copies:
        step = run
        into, out = [], []
        for extent, here, there in reversed(loops):
            into.append((extent, here, step))
            out.append((extent, step, there))
            step *= extent
        pack.append(StridedCopy(source, at, run, tuple(reversed(into))))
        unpack.append(StridedCopy(at, destination, run, tuple(reversed(out))))
        at += step
    return pack, unpack


def _contiguous(parts: list[tuple[int, int, int, tuple[tuple[int, int, int], ...]]], end: int, packed: int) -> int | None:
    """The offset at one end of a message that is contiguous there, in the same order; else None."""
    first = parts[0][0] - parts[0][1]
    for offset, at, _, loops in parts:
        if offset - at != first or any(loop[end] != loop[packed] for loop in loops):
            return None
    return first


def plain(copies: Iterable[StridedCopy]) -> list[Part]:
    """The copies as plain tuples, for a message."""
    return [(copy.source_offset, copy.destination_offset, copy.run, copy.loops) for copy in copies]


def copies_of(parts: Iterable[Part]) -> list[StridedCopy]:
    """The copies that `plain` turned into tuples."""
    return [StridedCopy(*part) for part in parts]


def reach(copies: Iterable[StridedCopy]) -> tuple[int, int]:
    """The first byte and the end of the bytes that copies write."""
    low, high = None, 0
    for copy in copies:
        first, last = copy.destination_offset, copy.destination_offset + copy.run
        for extent, _, there in copy.loops:
            last += (extent - 1) * there
        low = first if low is None else min(low, first)
        high = max(high, last)
    return low or 0, high
