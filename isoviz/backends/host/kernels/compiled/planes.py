"""Compiled transposes of planes of elements, a few rows at a time in registers.

Elements of 1 to 8 bytes: W rows at a time, interleaved log2 W times. Two to four fields of a struct are too few for that: every
second to fourth element is picked. Lines further on are prefetched while elements are read.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.host.kernels.compiled.turned import to_lines
from isoviz.backends.host.kernels.compiled.vectors import (
    FAR,
    LANE,
    LINE,
    WIDE,
    fetch,
    fetch_rows,
    interleaver,
    move,
    some_bytes,
    unzipper,
    word,
    zipper,
)

_wide_1, _wide_2, _wide_4, _wide_8 = (interleaver(size, WIDE) for size in (1, 2, 4, 8))
_lane_1, _lane_2, _lane_4, _lane_8 = (interleaver(size, LANE) for size in (1, 2, 4, 8))


@njit(nogil=True, inline="always")
def _element(source, destination, size):
    """One element of any size, by two overlapping moves where the size is not a power of two."""
    if size == 4:
        move(source, destination, 4)
    elif size == 8:
        move(source, destination, 8)
    elif size == 2:
        move(source, destination, 2)
    elif size == 1:
        move(source, destination, 1)
    elif size >= 16:
        for at in range(0, size - 15, 16):
            move(source + at, destination + at, 16)
        if size & 15:
            move(source + size - 16, destination + size - 16, 16)
    elif size > 8:
        move(source, destination, 8)
        move(source + size - 8, destination + size - 8, 8)
    elif size > 4:
        move(source, destination, 4)
        move(source + size - 4, destination + size - 4, 4)
    else:  # 3
        move(source, destination, 2)
        move(source + 2, destination + 2, 1)


def _plane(size: int, wide, lane):
    """`plane(source, source_stride, destination, destination_stride, rows, columns, ahead, first)`: a transposed matrix of
    elements of `size` bytes.

    `ahead` is the address of a table: for each row from `first` on, the distance of its prefetch in the source. The last rows
    and columns that fill no vector move together with some before them, a second time.
    """
    group, per_wide = LANE // size, WIDE // size

    @njit(nogil=True)
    def rows_of_vectors(source, source_stride, destination, destination_stride, columns, ahead):
        here, there, column = source, destination, 0
        while column + per_wide <= columns:
            if ahead:
                for k in range(group):
                    fetch_rows(here + k * source_stride + ahead)
            wide(here, source_stride, there, destination_stride)
            here += WIDE
            there += per_wide * destination_stride
            column += per_wide
        if ahead:
            last = source + columns * size - 1 + ahead  # Rows seldom begin at a line.
            for k in range(group):
                if column < columns:
                    fetch_rows(here + k * source_stride + ahead)
                fetch_rows(last + k * source_stride)
        while column + group <= columns:
            lane(here, source_stride, there, destination_stride)
            here += LANE
            there += group * destination_stride
            column += group
        if column < columns:
            if columns >= group:
                back = group - (columns - column)
                lane(here - back * size, source_stride, there - back * destination_stride, destination_stride)
            else:
                for _ in range(columns - column):
                    for k in range(group):
                        move(here + k * source_stride, there + k * size, size)
                    here += size
                    there += destination_stride

    @njit(nogil=True)
    def plane(source, source_stride, destination, destination_stride, rows, columns, ahead, first):
        row = 0
        while row + group <= rows:
            here, there = source + row * source_stride, destination + row * size
            rows_of_vectors(here, source_stride, there, destination_stride, columns, word(ahead + 8 * (first + row)))
            row += group
        if row < rows:
            if rows >= group:
                row = rows - group
                here, there = source + row * source_stride, destination + row * size
                rows_of_vectors(here, source_stride, there, destination_stride, columns, word(ahead + 8 * (first + row)))
            else:
                for column in range(columns):
                    for k in range(rows):
                        move(
                            source + k * source_stride + column * size, destination + column * destination_stride + k * size, size
                        )

    return plane


def _pairs(size: int, fields: int):
    """`unzip` and `zip` for any number of structs of `fields` elements. The last ones that fill no vector move with some before
    them, a second time."""
    one_way, other_way = unzipper(size, fields), zipper(size, fields)
    count, entry = WIDE // size, size * fields

    @njit(nogil=True)
    def unzip(source, destination, stride, entries, ahead):
        for at in range(0, entries - count + 1, count):
            for line in range(0, fields * WIDE, LINE):
                fetch(source + at * entry + line + ahead)
            one_way(source + at * entry, destination + at * size, stride)
        if entries % count and entries >= count:
            at = entries - count
            one_way(source + at * entry, destination + at * size, stride)
        elif entries < count:
            for at in range(entries):
                for field in range(fields):
                    move(source + at * entry + field * size, destination + field * stride + at * size, size)

    @njit(nogil=True)
    def zipped(source, stride, destination, entries, ahead):
        for at in range(0, entries - count + 1, count):
            for field in range(fields):
                fetch(source + field * stride + at * size + ahead)
            other_way(source + at * size, stride, destination + at * entry)
        if entries % count and entries >= count:
            at = entries - count
            other_way(source + at * size, stride, destination + at * entry)
        elif entries < count:
            for at in range(entries):
                for field in range(fields):
                    move(source + field * stride + at * size, destination + at * entry + field * size, size)

    return unzip, zipped


(_unzip_1_2, _zip_1_2), (_unzip_1_3, _zip_1_3), (_unzip_1_4, _zip_1_4) = (_pairs(1, fields) for fields in (2, 3, 4))
(_unzip_2_2, _zip_2_2), (_unzip_2_3, _zip_2_3), (_unzip_2_4, _zip_2_4) = (_pairs(2, fields) for fields in (2, 3, 4))
(_unzip_4_2, _zip_4_2), (_unzip_4_3, _zip_4_3), (_unzip_4_4, _zip_4_4) = (_pairs(4, fields) for fields in (2, 3, 4))
(_unzip_8_2, _zip_8_2), (_unzip_8_3, _zip_8_3), (_unzip_8_4, _zip_8_4) = (_pairs(8, fields) for fields in (2, 3, 4))
_plane_1, _plane_2 = _plane(1, _wide_1, _lane_1), _plane(2, _wide_2, _lane_2)
_plane_4, _plane_8 = _plane(4, _wide_4, _lane_4), _plane(8, _wide_8, _lane_8)


def _squares(size: int):
    """`squares(source, source_stride, destination, destination_stride, rows, columns, planes, plane, ahead, first)`: planes
    transposed together, in squares.

    The planes are contiguous in each row of the source and lie `plane` bytes apart in the destination. Rows, and columns of all
    planes, fill at least a line. `ahead` and `first` are as for one plane.
    """
    turn, side = to_lines(size, past_caches=False), LINE // size

    @njit(nogil=True)
    def squares(source, source_stride, destination, destination_stride, rows, columns, planes, plane, ahead, first):
        here, there = np.empty(side, np.int64), np.empty(planes * columns + side, np.int64)
        here_at, there_at = np.int64(here.ctypes.data), np.int64(there.ctypes.data)
        width = 0
        for k in range(planes):
            for column in range(columns):
                there[width] = destination + k * plane + column * destination_stride
                width += 1
        for begin in range(0, rows, side):
            row = min(begin, rows - side)
            for k in range(side):
                here[k] = source + (row + k) * source_stride
            for start in range(0, width, side):
                column = min(start, width - side)
                for k in range(begin - row, side):
                    later = word(ahead + 8 * (first + row + k))
                    if later:
                        fetch_rows(here[k] + start * size + later)
                turn(here_at, column * size, there_at + 8 * column, row * size)

    return squares


_squares_1, _squares_2, _squares_4, _squares_8 = (_squares(size) for size in (1, 2, 4, 8))


@njit(nogil=True)
def read_squares(a, a_stride, b, b_stride, rows, columns, element, planes, b_plane, ahead, first):
    """Planes of elements of 1 to 8 bytes together, in squares."""
    if element == 4:
        _squares_4(a, a_stride, b, b_stride, rows, columns, planes, b_plane, ahead, first)
    elif element == 8:
        _squares_8(a, a_stride, b, b_stride, rows, columns, planes, b_plane, ahead, first)
    elif element == 2:
        _squares_2(a, a_stride, b, b_stride, rows, columns, planes, b_plane, ahead, first)
    else:
        _squares_1(a, a_stride, b, b_stride, rows, columns, planes, b_plane, ahead, first)


@njit(nogil=True)
def _plane_16(source, source_stride, destination, destination_stride, rows, columns, ahead, first):
    for row in range(rows):
        here, there = source + row * source_stride, destination + row * 16
        for column in range(columns):
            if column & 3 == 0:
                fetch(here + word(ahead + 8 * (first + row)))
            move(here, there, 16)
            here += 16
            there += destination_stride


@njit(nogil=True)
def _plane_any(source, source_stride, destination, destination_stride, rows, columns, size, ahead, first):
    for row in range(rows):
        here, there = source + row * source_stride, destination + row * size
        for _ in range(columns):
            for line in range(0, size, LINE):
                fetch(here + word(ahead + 8 * (first + row)) + line)
            if size == 32:
                move(here, there, 16)
                move(here + 16, there + 16, 16)
            elif size & 15 == 0:
                for at in range(0, size, 16):
                    move(here + at, there + at, 16)
            else:
                _element(here, there, size)
            here += size
            there += destination_stride


def _row(size: int):
    """`row(source, source_stride, destination, destination_stride, count)`: a row of elements with any strides."""

    @njit(nogil=True)
    def row(source, source_stride, destination, destination_stride, count):
        here, there = source, destination
        # Elements far apart need a line each. The prefetch inside this loop also keeps LLVM from using gather instructions,
        # which take ten times as long.
        ahead = 32 * source_stride if source_stride > LINE else FAR
        skip = 0
        while skip < LINE - 1 and 2 * (skip + 1) * source_stride <= LINE:
            skip = 2 * skip + 1
        for k in range(count):
            if k & skip == 0:
                fetch(here + ahead)
            move(here, there, size)
            here += source_stride
            there += destination_stride

    return row


_row_1, _row_2, _row_4, _row_8, _row_16 = (_row(size) for size in (1, 2, 4, 8, 16))


@njit(nogil=True)
def read_row(source, source_stride, destination, destination_stride, count, size):
    """A row of elements with any strides."""
    if size == 4:
        _row_4(source, source_stride, destination, destination_stride, count)
    elif size == 8:
        _row_8(source, source_stride, destination, destination_stride, count)
    elif size == 2:
        _row_2(source, source_stride, destination, destination_stride, count)
    elif size == 1:
        _row_1(source, source_stride, destination, destination_stride, count)
    elif size == 16:
        _row_16(source, source_stride, destination, destination_stride, count)
    elif size > 256:
        for k in range(count):
            some_bytes(source + k * source_stride, destination + k * destination_stride, size)
    else:
        for k in range(count):
            if source_stride > LINE:
                fetch(source + (k + 16) * source_stride)
            _element(source + k * source_stride, destination + k * destination_stride, size)


@njit(nogil=True)
def _unzipped(source, destination, stride, entries, element, fields, ahead):
    if element == 1 and fields == 2:
        _unzip_1_2(source, destination, stride, entries, ahead)
    elif element == 1 and fields == 3:
        _unzip_1_3(source, destination, stride, entries, ahead)
    elif element == 1 and fields == 4:
        _unzip_1_4(source, destination, stride, entries, ahead)
    elif element == 2 and fields == 2:
        _unzip_2_2(source, destination, stride, entries, ahead)
    elif element == 2 and fields == 3:
        _unzip_2_3(source, destination, stride, entries, ahead)
    elif element == 2 and fields == 4:
        _unzip_2_4(source, destination, stride, entries, ahead)
    elif element == 4 and fields == 2:
        _unzip_4_2(source, destination, stride, entries, ahead)
    elif element == 4 and fields == 3:
        _unzip_4_3(source, destination, stride, entries, ahead)
    elif element == 4 and fields == 4:
        _unzip_4_4(source, destination, stride, entries, ahead)
    elif element == 8 and fields == 2:
        _unzip_8_2(source, destination, stride, entries, ahead)
    elif element == 8 and fields == 3:
        _unzip_8_3(source, destination, stride, entries, ahead)
    elif element == 8 and fields == 4:
        _unzip_8_4(source, destination, stride, entries, ahead)


@njit(nogil=True)
def _zipped(source, stride, destination, entries, element, fields, ahead):
    if element == 1 and fields == 2:
        _zip_1_2(source, stride, destination, entries, ahead)
    elif element == 1 and fields == 3:
        _zip_1_3(source, stride, destination, entries, ahead)
    elif element == 1 and fields == 4:
        _zip_1_4(source, stride, destination, entries, ahead)
    elif element == 2 and fields == 2:
        _zip_2_2(source, stride, destination, entries, ahead)
    elif element == 2 and fields == 3:
        _zip_2_3(source, stride, destination, entries, ahead)
    elif element == 2 and fields == 4:
        _zip_2_4(source, stride, destination, entries, ahead)
    elif element == 4 and fields == 2:
        _zip_4_2(source, stride, destination, entries, ahead)
    elif element == 4 and fields == 3:
        _zip_4_3(source, stride, destination, entries, ahead)
    elif element == 4 and fields == 4:
        _zip_4_4(source, stride, destination, entries, ahead)
    elif element == 8 and fields == 2:
        _zip_8_2(source, stride, destination, entries, ahead)
    elif element == 8 and fields == 3:
        _zip_8_3(source, stride, destination, entries, ahead)
    elif element == 8 and fields == 4:
        _zip_8_4(source, stride, destination, entries, ahead)


@njit(nogil=True)
def read_planes(a, a_stride, b, b_stride, rows, columns, element, planes, a_plane, b_plane, ahead, first):
    """Planes of elements one after the other."""
    if element <= 8 and element & (element - 1) == 0 and 2 <= columns <= 4 and a_stride == columns * element:
        for _ in range(planes):
            _unzipped(a, b, b_stride, rows, element, columns, FAR)
            a, b = a + a_plane, b + b_plane
    elif element <= 8 and element & (element - 1) == 0 and 2 <= rows <= 4 and b_stride == rows * element:
        for _ in range(planes):
            _zipped(a, a_stride, b, columns, element, rows, FAR)
            a, b = a + a_plane, b + b_plane
    elif element == 4:
        for _ in range(planes):
            _plane_4(a, a_stride, b, b_stride, rows, columns, ahead, first)
            a, b, first = a + a_plane, b + b_plane, first + rows
    elif element == 8:
        for _ in range(planes):
            _plane_8(a, a_stride, b, b_stride, rows, columns, ahead, first)
            a, b, first = a + a_plane, b + b_plane, first + rows
    elif element == 2:
        for _ in range(planes):
            _plane_2(a, a_stride, b, b_stride, rows, columns, ahead, first)
            a, b, first = a + a_plane, b + b_plane, first + rows
    elif element == 1:
        for _ in range(planes):
            _plane_1(a, a_stride, b, b_stride, rows, columns, ahead, first)
            a, b, first = a + a_plane, b + b_plane, first + rows
    elif element == 16:
        for _ in range(planes):
            _plane_16(a, a_stride, b, b_stride, rows, columns, ahead, first)
            a, b, first = a + a_plane, b + b_plane, first + rows
    else:
        for _ in range(planes):
            _plane_any(a, a_stride, b, b_stride, rows, columns, element, ahead, first)
            a, b, first = a + a_plane, b + b_plane, first + rows
