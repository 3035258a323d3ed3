"""Compiled copies element by element: in tiles through a buffer, with tables of offsets, or as many small copies.

They work for any copy. `isoviz.backends.host.kernels.tiles` chooses the tiles and the layout of the buffer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.host.kernels.compiled.vectors import LINE, fetch, move, settle, some_bytes, word
from isoviz.backends.host.kernels.compiled.walk import moved_on, write_out
from isoviz.backends.host.kernels.kernel_cache import kept
from isoviz.backends.host.kernels.many import MOST_LOOPS


def _mover(first: int, second: int = 0):
    """`moved(source, destination, places, count, size)`: `count` elements of `size` bytes.

    Each element is one move of `first` bytes and, if it is longer, one of `second` bytes that ends where the element ends.
    `places` is the address of a table with the offsets of each element in the source and in the destination.
    """
    if second:

        @njit(nogil=True)
        def moved(source, destination, places, count, size):
            back = size - second
            for place in range(places, places + 16 * count, 16):
                a, b = source + word(place), destination + word(place + 8)
                move(a, b, first)
                move(a + back, b + back, second)

    else:

        @njit(nogil=True)
        def moved(source, destination, places, count, size):  # noqa: ARG001
            for place in range(places, places + 16 * count, 16):
                move(source + word(place), destination + word(place + 8), first)

    return moved


_move_1, _move_2, _move_4, _move_8, _move_16 = (_mover(size) for size in (1, 2, 4, 8, 16))
_move_3, _move_5, _move_9, _move_17 = _mover(2, 1), _mover(4, 4), _mover(8, 8), _mover(16, 16)


@njit(nogil=True)
def _moved(source, destination, places, count, size):
    if size == 4:
        _move_4(source, destination, places, count, size)
    elif size == 8:
        _move_8(source, destination, places, count, size)
    elif size == 1:
        _move_1(source, destination, places, count, size)
    elif size == 2:
        _move_2(source, destination, places, count, size)
    elif size == 16:
        _move_16(source, destination, places, count, size)
    elif size == 3:
        _move_3(source, destination, places, count, size)
    elif size < 8:
        _move_5(source, destination, places, count, size)
    elif size < 16:
        _move_9(source, destination, places, count, size)
    else:
        at = 0
        while size - at > 32:
            _move_16(source + at, destination + at, places, count, 16)
            at += 16
        _move_17(source + at, destination + at, places, count, size - at)


@njit(nogil=True)
def strided(a, step, b, by, count, size):
    """Runs with a constant stride at both ends."""
    if size == 4:
        for _ in range(count):
            move(a, b, 4)
            a, b = a + step, b + by
    elif size == 8:
        for _ in range(count):
            move(a, b, 8)
            a, b = a + step, b + by
    elif size == 1:
        for _ in range(count):
            move(a, b, 1)
            a, b = a + step, b + by
    elif size == 2:
        for _ in range(count):
            move(a, b, 2)
            a, b = a + step, b + by
    elif size == 16:
        for _ in range(count):
            move(a, b, 16)
            a, b = a + step, b + by
    elif size == 3:
        for _ in range(count):
            move(a, b, 2)
            move(a + 2, b + 2, 1)
            a, b = a + step, b + by
    elif size < 8:
        for _ in range(count):
            move(a, b, 4)
            move(a + size - 4, b + size - 4, 4)
            a, b = a + step, b + by
    elif size < 16:
        for _ in range(count):
            move(a, b, 8)
            move(a + size - 8, b + size - 8, 8)
            a, b = a + step, b + by
    elif size <= 64:
        for _ in range(count):
            for at in range(0, size - 16, 16):
                move(a + at, b + at, 16)
            move(a + size - 16, b + size - 16, 16)
            a, b = a + step, b + by
    else:
        for _ in range(count):
            some_bytes(a, b, size)
            a, b = a + step, b + by


@njit(nogil=True)
def _places(size, order, here, there, places):
    """Write the offsets of elements at both ends for all turns of the loops in `order`, fastest first; the result is their
    number."""
    places[0, 0], places[0, 1] = 0, 0
    count = 1
    for loop in order:
        for turn in range(1, size[loop]):
            a, b = turn * here[loop], turn * there[loop]
            for k in range(count):
                places[turn * count + k, 0] = places[k, 0] + a
                places[turn * count + k, 1] = places[k, 1] + b
        count *= size[loop]
    return count


@njit(nogil=True)
def _lines(columns, step, count, some, reach, lines, begins):
    """The cache lines of the source that columns of `reach` bytes touch, as offsets, and the first of them for every `some`
    columns.

    Columns lie `step` bytes apart; where `step` is 0, the table `columns` holds their offsets.
    """
    found = 0
    low = high = np.int64(-1)  # The lines between them are prefetched already.
    for column in range(count):
        if column % some == 0:
            begins[column // some] = found
        here = column * step if step else columns[column, 0]
        if not low <= here <= high:
            low = high = here
        while high < here + reach:
            lines[found] = high
            found += 1
            high += LINE
    begins[-(-count // some)] = found


@kept
def copy_tiles(source, destination, buffer, extents, tiles, jobs, outs, chain, order, columns, least, block, past_caches):
    """Carry out copies tile by tile. `extents` and `tiles` are the turns of each loop, in all and in a tile, slowest first.

    A row of `jobs` is one copy: its offsets in the source and in the buffer, the bytes of an element, the strides of the loops
    in the source and in the buffer, and the bytes of the source from an element on that are prefetched for the next tile (0:
    another job prefetches them). `outs` and `chain` describe the way out of the buffer, as in `walk`; without `outs` the buffer
    is the destination. The first `columns` loops of `order` are the loops of the columns, the others those of the rows, fastest
    first. All jobs move a part of at least `least` columns and about `block` bytes, which stays in the first-level cache, then
    the next part. `past_caches` asks for non-temporal stores out of the buffer.
    """
    loops, count = len(extents), len(jobs)
    start, size, last = np.zeros(loops, np.int64), np.zeros(loops, np.int64), np.zeros(loops, np.int64)
    index, following = np.zeros(loops, np.int64), np.zeros(loops, np.int64)
    along, around = order[:columns], order[columns:]
    across = down = 1
    for loop in along:
        across *= tiles[loop]
    for loop in around:
        down *= tiles[loop]
    entry, reach = np.int64(0), np.int64(0)
    for job in jobs:
        entry, reach = entry + job[2], max(reach, job[3 + 2 * loops])
    places = np.empty((count, 0 if columns == 1 else across, 2), np.int64)
    rows = np.empty((count, down, 2), np.int64)
    lines, begins = np.empty((count, across * (1 + reach // LINE)), np.int64), np.empty((count, across + 1), np.int64)
    ends = np.empty((count, 3), np.int64)
    wide = high = some = some_rows = 1
    done = False
    while not done:
        same = True
        for loop in range(loops):
            size[loop] = min(tiles[loop], extents[loop] - start[loop])
            same = same and size[loop] == last[loop]
        last[:] = size
        if not same:
            for k in range(count):
                here, there = jobs[k, 3 : 3 + loops], jobs[k, 3 + loops : 3 + 2 * loops]
                high = _places(size, around, here, there, rows[k])
                wide = size[order[0]] if columns == 1 else _places(size, along, here, there, places[k])
            # A row needs enough columns, so a part may have fewer rows.
            some_rows = min(high, max(1, np.int64(np.sqrt(block / entry))))
            some = min(wide, max(least, block // (entry * some_rows)))
            some_rows = min(high, max(1, block // (entry * some)))
            for k in range(count):
                step = jobs[k, 3 + order[0]] if columns == 1 else 0
                _lines(places[k], step, wide, some, jobs[k, 3 + 2 * loops], lines[k], begins[k])
        following[:] = start
        done = not moved_on(following, tiles, extents)
        for k in range(count):
            ends[k] = source + jobs[k, 0], buffer + jobs[k, 1], 0
            for loop in range(loops):
                ends[k, 0] += start[loop] * jobs[k, 3 + loop]
                ends[k, 2] += (following[loop] - start[loop]) * jobs[k, 3 + loop]
                if not len(outs):
                    ends[k, 1] += start[loop] * jobs[k, 3 + loops + loop]
        for first in range(0, wide, some):
            turns = min(some, wide - first)
            for row in range(0, high, some_rows):
                for k in range(count):
                    a, b, ahead, element = ends[k, 0], ends[k, 1], ends[k, 2], jobs[k, 2]
                    low, top = begins[k, first // some], 0 if done else begins[k, first // some + 1]
                    table = np.int64(places.ctypes.data) + 16 * (k * across + first)
                    step, by = jobs[k, 3 + order[0]], jobs[k, 3 + loops + order[0]]
                    for at in range(row, min(row + some_rows, high)):
                        here, there = a + rows[k, at, 0], b + rows[k, at, 1]
                        for line in range(low, top):
                            fetch(here + ahead + lines[k, line])
                        if columns == 1:
                            strided(here + first * step, step, there + first * by, by, turns, element)
                        else:
                            _moved(here, there, table, turns, element)
        if len(outs):
            write_out(destination, buffer, extents, tiles, start, size, index, outs, chain, past_caches)
        start[:] = following
    if len(outs) and past_caches:
        settle()


@njit(nogil=True)
def nested(a, b, size, loops, first, count, index):
    """One copy between two addresses: runs of `size` bytes for all turns of `count` loops, the innermost last.

    A loop is (turns, stride in the source, stride in the destination). `index` is zero before and afterwards.
    """
    inner = first + count - 1
    while True:
        strided(a, loops[inner, 1], b, loops[inner, 2], loops[inner, 0], size)
        turned = False
        for loop in range(inner - 1, first - 1, -1):
            at = loop - first
            a, b = a + loops[loop, 1], b + loops[loop, 2]
            index[at] += 1
            if index[at] < loops[loop, 0]:
                turned = True
                break
            index[at] = 0
            a, b = a - loops[loop, 0] * loops[loop, 1], b - loops[loop, 0] * loops[loop, 2]
        if not turned:
            break


@kept
def copy_many(source, destination, rows, loops):
    """Carry out many small copies one after the other.

    A row is one copy: its offsets in the source and in the destination, the bytes of a run, the first of its `loops` and their
    number (`nested`).
    """
    index = np.zeros(MOST_LOOPS, np.int64)
    for row in range(len(rows)):
        nested(source + rows[row, 0], destination + rows[row, 1], rows[row, 2], loops, rows[row, 3], rows[row, 4], index)
