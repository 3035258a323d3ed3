"""Compiled transposes from registers to lines: squares of elements, a line wide and a line high.

The source is read in strips of few lines, from the first row to the last, so that the destination gets few long sequences of
non-temporal stores. With square tiles, either end would touch too many places for DRAM. Rows and columns may begin anywhere, in
nested loops. Vectors may have any width. `isoviz.backends.host.kernels.direct` chooses the copies.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from isoviz.backends.host.kernels.compiled.rows import fetched, offset
from isoviz.backends.host.kernels.compiled.tall_squares import tall_strips
from isoviz.backends.host.kernels.compiled.turned import to_lines, to_room
from isoviz.backends.host.kernels.compiled.vectors import (
    LINE,
    SHUFFLES,
    WIDE,
    _load,
    _store,
    _vector,
    keep_line,
    line_past_caches,
    settle,
    some_bytes,
    store_part,
    word,
)
from isoviz.backends.host.kernels.compiled.walk import advanced
from isoviz.backends.host.kernels.kernel_cache import kept

PITCH = LINE if WIDE == LINE else 2 * LINE
"""Bytes from one column to the next in the room: its line, and, where lines are joined in memory, the one before it."""


def _joiner(size: int):
    """Functions for columns that begin within lines: `begin(before, after, part, order, there)`, `join(…)` and `end(…)`.

    A square gives a line `after` of a column that begins `part` bytes behind a line. `join` stores it, non-temporally, together
    with the end of the line `before` it. `begin` stores only the bytes behind `part`; `end` stores only the rest, and `there`
    is behind the last line. `after` becomes `before` for the next square.

    Vectors of 512 bits pick elements of `size` bytes (1 or 4) by the table `order`. Narrower vectors join the lines in memory.
    """
    if WIDE < LINE:

        @njit(nogil=True)
        def begin(before, after, part, order, there):  # noqa: ARG001
            some_bytes(after, there, LINE - part)
            keep_line(after, before)

        @njit(nogil=True)
        def join(before, after, part, order, there):  # noqa: ARG001
            line_past_caches(after - part, there - part)
            keep_line(after, before)

        @njit(nogil=True)
        def end(before, part, there):
            some_bytes(before + LINE - part, there - part, part)

        return begin, join, end

    count, name = LINE // size, {1: "qi", 4: "d"}[size]

    @intrinsic
    def picked(context, before, after, order, destination):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            line = _vector(size, count)
            before, after, order = (_load(builder, value, line) for value in values[:3])
            kind = ir.FunctionType(line, [line] * 3)
            pick = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.avx512.vpermi2var.{name}.512")
            _store(builder, builder.call(pick, [before, order, after]), values[3], past_caches=True)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    @njit(nogil=True)
    def begin(before, after, part, order, there):  # noqa: ARG001
        store_part(after - part, there - part, np.int64(-1) << part)

    @njit(nogil=True)
    def join(before, after, part, order, there):
        picked(before, after, order + part // size * LINE, there - part)

    @njit(nogil=True)
    def end(before, part, there):
        store_part(before + LINE - part, there - part, (np.int64(1) << part) - 1)

    return begin, join, end


def _strips(size: int):
    """`turn_squares` for elements of `size` bytes."""
    lines, places, side = to_lines(size, past_caches=True), to_room(size, PITCH), LINE // size
    # What begins within lines and is shorter than 4 bytes is for processors that shuffle bytes, or read them from memory.
    begin, join, end = _joiner(1 if size < 4 and SHUFFLES else 4)

    @njit(nogil=True)
    def strips(
        source, destination, rows, row_step, row_table, columns, column_step, column_table, wide, ahead, near, aligned,
        room, order,
    ):  # fmt: skip
        here, there = np.empty(side, np.int64), np.empty(wide * side, np.int64)
        here_at, there_at = np.int64(here.ctypes.data), np.int64(there.ctypes.data)
        before, after = room, room + (LINE if PITCH > LINE else wide * side * LINE)
        whole = rows - rows % side
        place = ahead % rows, ahead // rows * wide * LINE
        for first in range(0, columns, wide * side):
            count = min(wide * side, columns - first)
            squares = (count + side - 1) // side
            strip, width = source + first * size, count * size
            for square in range(squares):  # The last strip is moved back where it would be narrower.
                start = min(first + square * side, columns - side)
                for k in range(side):
                    there[square * side + k] = destination + offset(column_table, column_step, start + k)
            for row in range(0, whole, side):
                for k in range(side):
                    here[k] = source + offset(row_table, row_step, row + k)
                if ahead:
                    place = fetched(strip, place, side, rows, row_step, row_table, width, wide * LINE, near)
                if aligned:
                    for square in range(squares):
                        start = min(first + square * side, columns - side)
                        lines(here_at, start * size, there_at + 8 * side * square, row * size)
                    continue
                for square in range(squares):
                    start = min(first + square * side, columns - side)
                    places(here_at, start * size, after + square * side * PITCH)
                for column in range(squares * side):
                    to, at = word(there_at + 8 * column), PITCH * column
                    part = to & (LINE - 1)
                    if row:
                        join(before + at, after + at, part, order, to + row * size)
                    else:
                        begin(before + at, after + at, part, order, to)
                if PITCH == LINE:
                    before, after = after, before
            if not aligned:
                for column in range(squares * side):
                    to = word(there_at + 8 * column)
                    part = to & (LINE - 1)
                    if part:
                        end(before + PITCH * column, part, to + whole * size)
            if ahead:
                place = fetched(strip, place, rows - whole, rows, row_step, row_table, width, wide * LINE, near)
                place = place[0], place[1] - wide * LINE
            if whole < rows:  # The last rows, together with some before them.
                for k in range(side):
                    here[k] = source + offset(row_table, row_step, rows - side + k)
                for square in range(squares):
                    start = min(first + square * side, columns - side)
                    places(here_at, start * size, after + square * side * PITCH)
                for column in range(squares * side):
                    keep_line(after + PITCH * column, there[column] + (rows - side) * size)

    return strips


_strips_1, _strips_2, _strips_4, _strips_8, _strips_16 = (_strips(size) for size in (1, 2, 4, 8, 16))

if WIDE == LINE:
    _tall_1, _tall_2 = tall_strips(1), tall_strips(2)

    @njit(nogil=True)
    def _tall(source, destination, rows, row_step, row_table, columns, column_step, column_table, ahead, room, size):
        if size == 1:
            _tall_1(source, destination, rows, row_step, row_table, columns, column_step, column_table, ahead, room)
        else:
            _tall_2(source, destination, rows, row_step, row_table, columns, column_step, column_table, ahead, room)

else:

    @njit(nogil=True)
    def _tall(source, destination, rows, row_step, row_table, columns, column_step, column_table, ahead, room, size):  # noqa: ARG001
        return


@kept
def turn_squares(
    source, destination, extents, source_strides, destination_strides, size, rows, row_step, row_table, columns, column_step,
    column_table, wide, ahead, near, tall, aligned, order, room,
):  # fmt: skip
    """Transposes of elements of 1, 2, 4, 8 or 16 bytes, for all turns of the loops.

    Each of `rows` is contiguous in the source, each of `columns` in the destination; both fill at least a line. They begin at
    multiples of a step, or where their tables say, if these are not empty. `wide` is the number of lines of each row that are
    read together, `ahead` the rows of the prefetch, `near` whether it goes to the first-level cache. `aligned` says that all
    columns begin at a line; otherwise the table `order` joins lines. `room` has twice as many lines as a strip has columns, and
    one writable line in front of it.

    `tall` (elements of 1 or 2 bytes) selects `isoviz.backends.host.kernels.compiled.tall_squares`, with the room that it asks
    for; it ignores `wide`, `near` and `aligned`.
    """
    index = np.zeros(len(extents), np.int64)
    row_at = np.int64(row_table.ctypes.data) if len(row_table) else 0
    column_at = np.int64(column_table.ctypes.data) if len(column_table) else 0
    order_at = np.int64(order.ctypes.data)
    while True:
        a, b = source, destination
        for loop in range(len(extents)):
            a += index[loop] * source_strides[loop]
            b += index[loop] * destination_strides[loop]
        if tall:
            _tall(a, b, rows, row_step, row_at, columns, column_step, column_at, ahead, room, size)
        elif size == 4:
            _strips_4(a, b, rows, row_step, row_at, columns, column_step, column_at, wide, ahead, near, aligned, room, order_at)
        elif size == 8:
            _strips_8(a, b, rows, row_step, row_at, columns, column_step, column_at, wide, ahead, near, aligned, room, order_at)
        elif size == 2:
            _strips_2(a, b, rows, row_step, row_at, columns, column_step, column_at, wide, ahead, near, aligned, room, order_at)
        elif size == 1:
            _strips_1(a, b, rows, row_step, row_at, columns, column_step, column_at, wide, ahead, near, aligned, room, order_at)
        else:
            _strips_16(a, b, rows, row_step, row_at, columns, column_step, column_at, wide, ahead, near, aligned, room, order_at)
        if not advanced(index, extents, -1, -1, -1):
            break
    settle()
