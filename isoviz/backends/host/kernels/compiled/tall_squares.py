"""Compiled transposes of small elements, several squares below each other, with several lines of a column stored in sequence.

DRAM is faster so than with single lines. Rows are copied into a stage first: rows a power of two apart share a set of the
first-level cache, which holds few of them. The prefetch of further rows is spread between the turns of squares, as a processor
tracks few outstanding lines, and it stops during non-temporal stores, which need the same line buffers. Vectors have 512 bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from isoviz.backends.host.kernels.compiled.rows import fetched, offset
from isoviz.backends.host.kernels.compiled.vectors import (
    LANE,
    LINE,
    _load,
    _picked,
    _store,
    _vector,
    keep_line,
    line_past_caches,
    store_part,
)

WIDTH = 4
"""Lines of every row that are read together, ..."""
HEIGHT = 8
"""... and squares, one below the other, that are turned before their columns are written."""
_ROW, _COLUMN = (WIDTH + 1) * LINE, (HEIGHT + 1) * LINE
"""Bytes from one row to the next in the stage, and from one column to the next in the room: a line more than they have, so that
they do not share sets of the first-level cache."""


def _turner(size: int):
    """`turn(stage, room)`: the first 16 bytes of the rows of a square, in the stage, become columns of one line each, in the
    room.

    Each lane of a vector holds another quarter of the rows, so rows are interleaved within lanes only.
    """
    quarter, side = LANE // size, LINE // size
    half = quarter // 2
    low = [place for lane in range(0, side, quarter) for k in range(half) for place in (lane + k, side + lane + k)]
    high = [place + half for place in low]

    @intrinsic
    def turn(context, stage, room):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            block = []
            for row in range(quarter):
                found = None
                for lane in range(0, side, quarter):
                    piece = _load(builder, values[0], _vector(size, quarter), (lane + row) * _ROW)
                    piece = _picked(builder, piece, piece, list(range(quarter)) * (side // quarter))
                    places = [k + (side if k // quarter * quarter == lane else 0) for k in range(side)]
                    found = piece if found is None else _picked(builder, found, piece, places)
                block.append(found)
            for _ in range(quarter.bit_length() - 1):
                pairs = list(zip(block[:half], block[half:], strict=True))
                block = [_picked(builder, *pair, places) for pair in pairs for places in (low, high)]
            for column, line in enumerate(block):
                _store(builder, line, values[1], column * _COLUMN)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return turn


@njit(nogil=True)
def _staged(source, row_step, row_table, first, count, width, stage):
    """Copy some rows of a strip, `width` bytes each, into the stage."""
    for k in range(count):
        row = source + offset(row_table, row_step, first + k)
        for line in range(0, width - LINE, LINE):
            keep_line(row + line, stage + k * _ROW + line)
        keep_line(row + width - LINE, stage + k * _ROW + width - LINE)


@njit(nogil=True)
def _write(column, start, some, to, whole):
    """Store some lines of a column that begins at `to`, from its row `start` (in bytes) on.

    The last bytes of the lines before stand in front of them, and the rest stays there. At the end of the `whole` lines it is
    stored, too.
    """
    begun = to & (LINE - 1)
    here, there = column + LINE - begun, to + start - begun
    if start:
        line_past_caches(here, there)
    else:
        store_part(here, there, np.int64(-1) << begun)
    for line in range(LINE, some, LINE):
        line_past_caches(here + line, there + line)
    if start + some < whole:
        keep_line(column + some, column)
    elif begun:
        store_part(here + some, there + some, (np.int64(1) << begun) - 1)


def tall_strips(size: int):
    """`turn_squares` for elements of `size` bytes, `tall`. The room holds the stage (64 / size rows) and the columns of a
    strip, with a readable line behind them."""
    turn, side, quarter = _turner(size), LINE // size, LANE // size

    @njit(nogil=True)
    def strips(source, destination, rows, row_step, row_table, columns, column_step, column_table, ahead, room):
        stage, columns_at = room, room + side * _ROW
        whole = rows - rows % side
        place = ahead % rows, ahead // rows * WIDTH * LINE
        for begin in range(0, columns, WIDTH * side):
            first = min(begin, columns - side)  # The last strip is moved back where it would be narrower than a line.
            count = min(WIDTH * side, columns - first)
            here, width = source + first * size, count * size
            turns = (count + quarter - 1) // quarter
            for top in range(0, whole, HEIGHT * side):
                some = min(HEIGHT * side, whole - top)
                for part in range(0, some, side):
                    _staged(here, row_step, row_table, top + part, side, width, stage)
                    done = 0
                    for k in range(turns):
                        upto = side * (k + 1) // turns
                        place = fetched(here, place, upto - done, rows, row_step, row_table, width, WIDTH * LINE, False)
                        done = upto
                        column = min(k * quarter, count - quarter)
                        turn(stage + column * size, columns_at + column * _COLUMN + LINE + part * size)
                for column in range(count):
                    to = destination + offset(column_table, column_step, first + column)
                    _write(columns_at + column * _COLUMN, top * size, some * size, to, whole * size)
            place = fetched(here, place, rows - whole, rows, row_step, row_table, width, WIDTH * LINE, False)
            place = place[0], place[1] - WIDTH * LINE
            if whole < rows:  # The last rows, together with some before them.
                _staged(here, row_step, row_table, rows - side, side, width, stage)
                for k in range(turns):
                    column = min(k * quarter, count - quarter)
                    turn(stage + column * size, columns_at + column * _COLUMN + LINE)
                for column in range(count):
                    to = destination + offset(column_table, column_step, first + column)
                    keep_line(columns_at + column * _COLUMN + LINE, to + (rows - side) * size)

    return strips
