"""Elements one by one, compiled: tiles of copies, every element of which is moved from and to places that a table says.

For any copies; `isoviz.backends.kernels.tiles` makes the tables.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.kernels.cache import kept
from isoviz.backends.kernels.many import MOST_LOOPS
from isoviz.backends.kernels.vectors import LINE, fetch, move, some_bytes, word
from isoviz.backends.kernels.walk import advanced


def _mover(first: int, second: int = 0):
    """`moved(source, destination, places, count, size)`: so many elements of `size` bytes, each by a move of `first` bytes
    and, if it is longer, one of `second` that ends where it ends. At `places` stand, for each, what is added to the addresses."""
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
def _places(tiles, jobs, places):
    """What is added to the addresses of a tile for each of its elements, job by job, of each job in the order of the source."""
    loops, at = len(tiles), 0
    index = np.zeros(loops, np.int64)
    for job in jobs:
        order = np.argsort(-job[3 : 3 + loops])
        while True:
            a, b = np.int64(0), np.int64(0)
            for loop in range(loops):
                a += index[loop] * job[3 + loop]
                b += index[loop] * job[3 + loops + loop]
            places[at, 0], places[at, 1] = a, b
            at += 1
            turned = False
            for k in range(loops - 1, -1, -1):
                loop = order[k]
                index[loop] += 1
                if index[loop] < tiles[loop]:
                    turned = True
                    break
                index[loop] = 0
            if not turned:
                break


@njit(nogil=True)
def _lines(jobs, places, loops, each):
    """The lines of the source that the elements of a tile lie in, by the job that comes to them first: the offsets from its
    address, and where those of every job begin."""
    lines, begins = np.empty(len(places), np.int64), np.zeros(len(jobs) + 1, np.int64)
    count = 0
    for k in range(len(jobs)):
        seen = False
        for other in range(k):  # another field of the same structs
            near = abs(jobs[k, 0] - jobs[other, 0]) < LINE
            for loop in range(loops):
                near = near and jobs[k, 3 + loop] == jobs[other, 3 + loop]
            seen = seen or near
        last = np.int64(-1)
        for at in range(k * each, 0 if seen else (k + 1) * each):
            if places[at, 0] // LINE != last:
                last = places[at, 0] // LINE
                lines[count] = places[at, 0]
                count += 1
        begins[k + 1] = count
    return lines[:count], begins


@kept
def copy_tiles(source, destination, extents, tiles, jobs, ahead):
    """Carry out copies tile by tile: `extents` and `tiles` say how often every loop turns, in all and in a tile. Where tiles do
    not divide a loop, the last one begins earlier and does some of what has been done once more.

    A row of `jobs` is a copy: offsets in the source and in the destination, bytes of an element, the strides of the loops in the
    source and in the destination. `ahead` is the loop along which the source of the next tile is fetched.
    """
    loops = len(extents)
    each = 1
    for tile in tiles:
        each *= tile
    places = np.empty((each * len(jobs), 2), np.int64)
    _places(tiles, jobs, places)
    lines, begins = _lines(jobs, places, loops, each)
    index, start = np.zeros(loops, np.int64), np.zeros(loops, np.int64)
    positions = (extents + tiles - 1) // tiles
    while True:
        table = np.int64(places.ctypes.data)  # in the loop: an array lives as long as it is named again
        for loop in range(loops):
            start[loop] = min(index[loop] * tiles[loop], extents[loop] - tiles[loop])
        for k in range(len(jobs)):
            a, b = source + jobs[k, 0], destination + jobs[k, 1]
            for loop in range(loops):
                a += start[loop] * jobs[k, 3 + loop]
                b += start[loop] * jobs[k, 3 + loops + loop]
            next_tile = a + tiles[ahead] * jobs[k, 3 + ahead]
            for line in range(begins[k], begins[k + 1]):
                fetch(next_tile + lines[line])
            _moved(a, b, table + 16 * k * each, each, jobs[k, 2])
        if not advanced(index, positions, -1, -1, -1):
            break


@njit(nogil=True)
def _strided(a, step, b, by, count, size):
    """So many runs, each so much further than the one before."""
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
    elif size <= 16:
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


@kept
def copy_many(source, destination, rows, loops):
    """Carry out many small copies one after the other. A row is one of them: offsets in the source and in the destination, bytes
    of a run, which of the `loops` (how often, strides in the source and in the destination) are its own: the first, and how many,
    the innermost last."""
    index = np.zeros(MOST_LOOPS, np.int64)
    for row in range(len(rows)):
        a, b, size, first, count = source + rows[row, 0], destination + rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4]
        inner = first + count - 1
        while True:
            _strided(a, loops[inner, 1], b, loops[inner, 2], loops[inner, 0], size)
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
