"""LLVM instructions that transpose squares of elements in registers, a line wide and a line high, for vectors of any width."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from isoviz.backends.host.kernels.compiled.vectors import _I64, LANE, LINE, WIDE, _at, _load, _picked, _store, _vector


def turned(builder, rows, offset, size: int):
    """Each column of a square: its number, and its elements in as many vectors as a line has. Rows are read `offset` bytes from
    the addresses in a table.

    Within lanes of 16 bytes, as many rows as a lane has elements are interleaved; then the lanes of such groups of rows change
    places. Vectors narrower than a line transpose the part of each row that they read, then the next part.
    """
    side, wide, quarter = LINE // size, WIDE // size, LANE // size
    half, lanes = quarter // 2, WIDE // LANE
    low = [place for lane in range(lanes) for k in range(half) for place in (lane * quarter + k, wide + lane * quarter + k)]
    high = [place + half for place in low]
    for start in range(0, side, wide):
        groups = []
        for first in range(0, side, quarter):
            block = []
            for row in range(first, first + quarter):
                address = builder.add(builder.load(_at(builder, rows, _I64, 8 * row)), offset)
                block.append(_load(builder, address, _vector(size, wide), start * size))
            for _ in range(quarter.bit_length() - 1):
                pairs = list(zip(block[:half], block[half:], strict=True))
                block = [_picked(builder, *pair, places) for pair in pairs for places in (low, high)]
            groups.append(block)  # Vector j holds column j of each lane.
        for j in range(quarter):
            pieces = [
                _exchanged(builder, [block[j] for block in groups[k : k + lanes]], quarter) for k in range(0, len(groups), lanes)
            ]
            for lane in range(lanes):
                yield start + lane * quarter + j, [piece[lane] for piece in pieces]


def _exchanged(builder, vectors: list[Any], quarter: int) -> list[Any]:
    """As many vectors as a vector has lanes, of `quarter` elements each: lane k of all of them becomes vector k."""
    if len(vectors) == 1:
        return vectors
    lanes = len(vectors)
    even, odd = ([lane * quarter + k for lane in range(start, 2 * lanes, 2) for k in range(quarter)] for start in (0, 1))
    halves = list(zip(vectors[::2], vectors[1::2], strict=True))
    if lanes == 2:
        return [_picked(builder, *halves[0], places) for places in (even, odd)]
    found = []
    for places in (even, odd):
        upper, lower = (_picked(builder, *pair, places) for pair in halves)
        found.append([_picked(builder, upper, lower, each) for each in (even, odd)])
    return [found[0][0], found[1][0], found[0][1], found[1][1]]


def _put(builder, pieces: list[Any], address, offset: int = 0, *, past_caches: bool = False) -> None:
    for k, piece in enumerate(pieces):
        _store(builder, piece, address, offset + k * WIDE, past_caches=past_caches)


def to_lines(size: int, *, past_caches: bool):
    """`turn(rows, offset, columns, at)`: a square whose columns are stored `at` bytes behind the addresses in a table of
    columns; with `past_caches` by non-temporal stores of whole lines."""

    @intrinsic
    def turn(context, rows, offset, columns, at):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            rows, offset, columns, at = values
            for column, line in turned(builder, rows, offset, size):
                address = builder.load(_at(builder, columns, _I64, 8 * column))
                _put(builder, line, builder.add(address, at), past_caches=past_caches)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return turn


def to_room(size: int, pitch: int):
    """`turn(rows, offset, room)`: a square whose columns are stored `pitch` bytes apart."""

    @intrinsic
    def turn(context, rows, offset, room):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            for column, line in turned(builder, *values[:2], size):
                _put(builder, line, values[2], column * pitch)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return turn
