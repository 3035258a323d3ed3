"""Compiled copies without a buffer: small blocks transposed in registers, lines put together from elements or rows.

They need vectors of 512 bits. `isoviz.backends.host.kernels.direct` chooses the copies.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.host.kernels.compiled.vectors import (
    FAR,
    LINE,
    block_permuter,
    block_turner,
    fetch,
    fetch_rows,
    line_gatherer,
    line_turner,
    settle,
)
from isoviz.backends.host.kernels.compiled.walk import advanced
from isoviz.backends.host.kernels.kernel_cache import kept

_two, _four, _eight = (block_permuter(vectors, past_caches=False) for vectors in (2, 4, 8))
_two_past, _four_past, _eight_past = (block_permuter(vectors, past_caches=True) for vectors in (2, 4, 8))
_square, _turn_4, _turn_8 = (
    block_turner(vectors, size, back=False, past_caches=False) for vectors, size in ((4, 4), (8, 4), (8, 8))
)
_square_past, _turn_4_past, _turn_8_past = (
    block_turner(vectors, size, back=False, past_caches=True) for vectors, size in ((4, 4), (8, 4), (8, 8))
)
_back_4, _back_8 = (block_turner(8, size, back=True, past_caches=False) for size in (4, 8))
_back_4_past, _back_8_past = (block_turner(8, size, back=True, past_caches=True) for size in (4, 8))


@njit(nogil=True)
def _row_of_turns(source, destination, count, source_stride, destination_stride, vectors, turn, past_caches):
    for _ in range(count):
        for line in range(0, vectors * LINE, LINE):
            fetch(source + line + FAR)
        if past_caches:
            if vectors == 4:
                _square_past(source, destination)
            elif turn == 4:
                _turn_4_past(source, destination)
            elif turn == 8:
                _turn_8_past(source, destination)
            elif turn == -4:
                _back_4_past(source, destination)
            else:
                _back_8_past(source, destination)
        elif vectors == 4:
            _square(source, destination)
        elif turn == 4:
            _turn_4(source, destination)
        elif turn == 8:
            _turn_8(source, destination)
        elif turn == -4:
            _back_4(source, destination)
        else:
            _back_8(source, destination)
        source += source_stride
        destination += destination_stride


_apart_2, _apart_4, _apart_8 = (line_turner(count, 4, back=True) for count in (2, 4, 8))
_joined_2, _joined_4, _joined_8 = (line_turner(count, 4, back=False) for count in (2, 4, 8))


@njit(nogil=True)
def _turned(source, source_step, destination, destination_step, vectors, back):
    if back:
        if vectors == 8:
            _apart_8(source, source_step, destination, destination_step)
        elif vectors == 4:
            _apart_4(source, source_step, destination, destination_step)
        else:
            _apart_2(source, source_step, destination, destination_step)
    elif vectors == 8:
        _joined_8(source, source_step, destination, destination_step)
    elif vectors == 4:
        _joined_4(source, source_step, destination, destination_step)
    else:
        _joined_2(source, source_step, destination, destination_step)


@kept
def turn_lines(source, destination, extents, source_strides, destination_strides, lines, by, steps, vectors, back):
    """Structs of elements of 4 bytes split into one line per element, or joined from such lines, with non-temporal stores.

    For all turns of the loops, `lines` times 16 structs of `vectors` elements move. `by` are the bytes from one line to the
    next in the source and in the destination, `steps` those between the vectors of one line. Lines of the destination are whole
    and aligned.
    """
    index = np.zeros(len(extents), np.int64)
    while True:
        a, b = source, destination
        for loop in range(len(extents)):
            a += index[loop] * source_strides[loop]
            b += index[loop] * destination_strides[loop]
        for line in range(lines):
            if back:
                for k in range(vectors):
                    fetch(a + k * steps[0] + FAR)
            elif line % 8 == 0:  # Eight lines of an array in sequence: DRAM is faster so.
                for k in range(vectors):
                    for ahead in range(8 * LINE, 16 * LINE, LINE):
                        fetch(a + k * steps[0] + ahead)
            _turned(a, steps[0], b, steps[1], vectors, back)
            a += by[0]
            b += by[1]
        if not advanced(index, extents, -1, -1, -1):
            break
    settle()


_line_32, _line_64 = (line_gatherer(size) for size in (32, 64))


@kept
def gather_lines(source, destination, extents, source_strides, destination_strides, turns, by, inner, inner_by, step, run, ahead):
    """Lines put together from runs of 32 or 64 bytes that lie `step` apart in the source, with non-temporal stores.

    For all turns of the loops, `turns` times `inner` lines move; `by` and `inner_by` are their strides in the source and in the
    destination. `ahead` describes the prefetch: the number of arrays that are read in turn, their distance (0: one sequence),
    the distance of the prefetch, and its bytes at a time.
    """
    index = np.zeros(len(extents), np.int64)
    burst = max(1, ahead[3] // run)
    while True:
        here, there = source, destination
        for loop in range(len(extents)):
            here += index[loop] * source_strides[loop]
            there += index[loop] * destination_strides[loop]
        for turn in range(turns):
            if ahead[1]:
                if turn % burst == 0:  # Several lines of an array in sequence: DRAM is faster so.
                    for array in range(ahead[0]):
                        place = here + array * ahead[1] + ahead[2]
                        for line in range(0, ahead[3], LINE):
                            if ahead[2] > FAR:
                                fetch_rows(place + line)
                            else:
                                fetch(place + line)
            else:
                for line in range(0, by[0], LINE):
                    fetch(here + line + FAR)
            a, b = here, there
            for _ in range(inner):
                if run == 32:
                    _line_32(a, step, b)
                else:
                    _line_64(a, step, b)
                a += inner_by[0]
                b += inner_by[1]
            here += by[0]
            there += by[1]
        if not advanced(index, extents, -1, -1, -1):
            break
    settle()


@njit(nogil=True)
def _row_of_blocks(source, destination, count, source_stride, destination_stride, vectors, order, past_caches):
    for _ in range(count):
        for line in range(0, vectors * LINE, LINE):
            fetch(source + line + FAR)
        if past_caches:
            if vectors == 2:
                _two_past(source, destination, order)
            elif vectors == 4:
                _four_past(source, destination, order)
            else:
                _eight_past(source, destination, order)
        elif vectors == 2:
            _two(source, destination, order)
        elif vectors == 4:
            _four(source, destination, order)
        else:
            _eight(source, destination, order)
        source += source_stride
        destination += destination_stride


@kept
def permute_blocks(source, destination, extents, source_strides, destination_strides, vectors, turn, order, past_caches):
    """Blocks of `vectors` vectors, contiguous at both ends, with their words of 4 bytes permuted.

    The last loop is the innermost. `order` is a table for `block_permuter`. With a `turn`, blocks go through `block_turner` for
    elements of that many bytes instead, inverted where it is negative. `past_caches` asks for non-temporal stores: the
    destination then begins at a line, and its strides are whole lines.
    """
    inner = len(extents) - 1
    index = np.zeros(len(extents), np.int64)
    while True:
        here, there = source, destination
        for loop in range(inner):
            here += index[loop] * source_strides[loop]
            there += index[loop] * destination_strides[loop]
        count, step, by = extents[inner], source_strides[inner], destination_strides[inner]
        if turn:
            _row_of_turns(here, there, count, step, by, vectors, turn, past_caches)
        else:
            _row_of_blocks(here, there, count, step, by, vectors, order.ctypes.data, past_caches)
        if not advanced(index, extents, inner, -1, -1):
            break
    if past_caches:
        settle()
