"""Compiled copies of entries that lie at places from tables.

Entries of up to a line are moved by a few vectors. Lines of entries to come are prefetched: they lie anywhere.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.host.kernels.compiled.elements import strided
from isoviz.backends.host.kernels.compiled.rows import offset
from isoviz.backends.host.kernels.compiled.vectors import LINE, fetch, move, some_bytes, word
from isoviz.backends.host.kernels.kernel_cache import kept

NEAR = 16
"""Entries between a prefetch and the move."""


def _walker(first: int, second: int, reads: bool, writes: bool):
    """The walk over entries of one size: a move of `first` bytes and, with `second`, one of as many that ends with the entry."""

    @njit(nogil=True)
    def walk(source, destination, here, there, from_here, to_there, low, high, size):
        back = size - second
        middle = max(low, high - NEAR)
        for entry in range(low, middle):
            if reads:
                fetch(source + word(here + 8 * (entry + NEAR)))
            if writes:
                fetch(destination + word(there + 8 * (entry + NEAR)))
            a = source + (word(here + 8 * entry) if reads else entry * from_here)
            b = destination + (word(there + 8 * entry) if writes else entry * to_there)
            move(a, b, first)
            if second:
                move(a + back, b + back, second)
        for entry in range(middle, high):
            a = source + (word(here + 8 * entry) if reads else entry * from_here)
            b = destination + (word(there + 8 * entry) if writes else entry * to_there)
            move(a, b, first)
            if second:
                move(a + back, b + back, second)

    return walk


def _walkers(reads: bool, writes: bool):
    """`walk(source, destination, here, there, from_here, to_there, low, high, size)` moves the entries `low` to `high` - 1.

    Where it `reads` by a list, the places of the entries stand in the table at the address `here`, else at multiples of
    `from_here`; likewise at the destination.
    """
    walk_1, walk_4, walk_8, walk_16 = (_walker(size, 0, reads, writes) for size in (1, 4, 8, 16))
    walk_2, walk_5, walk_9, walk_17, walk_33 = (_walker(size, size, reads, writes) for size in (2, 4, 8, 16, 32))

    @njit(nogil=True)
    def walk_long(source, destination, here, there, from_here, to_there, low, high, size):
        for entry in range(low, high):
            a = source + (word(here + 8 * entry) if reads else entry * from_here)
            b = destination + (word(there + 8 * entry) if writes else entry * to_there)
            some_bytes(a, b, size)

    @njit(nogil=True)
    def walk(source, destination, here, there, from_here, to_there, low, high, size):
        if size == 8:
            walk_8(source, destination, here, there, from_here, to_there, low, high, size)
        elif size == 4:
            walk_4(source, destination, here, there, from_here, to_there, low, high, size)
        elif size == 16:
            walk_16(source, destination, here, there, from_here, to_there, low, high, size)
        elif size == 1:
            walk_1(source, destination, here, there, from_here, to_there, low, high, size)
        elif size < 4:
            walk_2(source, destination, here, there, from_here, to_there, low, high, size)
        elif size < 8:
            walk_5(source, destination, here, there, from_here, to_there, low, high, size)
        elif size < 16:
            walk_9(source, destination, here, there, from_here, to_there, low, high, size)
        elif size <= 32:
            walk_17(source, destination, here, there, from_here, to_there, low, high, size)
        elif size <= LINE:
            walk_33(source, destination, here, there, from_here, to_there, low, high, size)
        else:
            walk_long(source, destination, here, there, from_here, to_there, low, high, size)

    return walk


_gather, _scatter, _exchange = _walkers(True, False), _walkers(False, True), _walkers(True, True)


@njit(nogil=True)
def _turned(index, loops, a, b):
    """The places after the next turn of loops, slowest first; whether there is one."""
    for loop in range(len(loops) - 1, -1, -1):
        a, b = a + loops[loop, 1], b + loops[loop, 2]
        index[loop] += 1
        if index[loop] < loops[loop, 0]:
            return a, b, True
        index[loop] = 0
        a, b = a - loops[loop, 0] * loops[loop, 1], b - loops[loop, 0] * loops[loop, 2]
    return a, b, False


@kept
def copy_listed(source, destination, here, there, steps, count, size, loops, block):
    """Carry out a copy of `count` entries, each of runs of `size` bytes in `loops`.

    `here` and `there` are the tables of places in the source and in the destination, in bytes; one of them may be empty: there,
    entries lie as many bytes apart as `steps` says. A loop is (turns, stride in the source, stride in the destination), slowest
    first. `block` entries go through the loops together, or, where it is 1, each entry with its innermost loop as a whole.
    """
    index = np.zeros(len(loops), np.int64)
    table = here.ctypes.data if len(here) else 0
    other = there.ctypes.data if len(there) else 0
    inner = len(loops) - 1
    for low in range(0, count, block):
        high = min(low + block, count)
        a, b, goes_on = source, destination, True
        if block == 1 and inner >= 0:
            a, b = a + offset(table, steps[0], low), b + offset(other, steps[1], low)
            while goes_on:
                strided(a, loops[inner, 1], b, loops[inner, 2], loops[inner, 0], size)
                a, b, goes_on = _turned(index, loops[:inner], a, b)
        else:
            while goes_on:
                if not other:
                    _gather(a, b, table, other, steps[0], steps[1], low, high, size)
                elif table:
                    _exchange(a, b, table, other, steps[0], steps[1], low, high, size)
                else:
                    _scatter(a, b, table, other, steps[0], steps[1], low, high, size)
                a, b, goes_on = _turned(index, loops, a, b)


@kept
def copy_runs(source, destination, here, there, lengths):
    """Carry out copies of contiguous bytes: their offsets in the source and in the destination, and their lengths."""
    for run in range(len(lengths)):
        some_bytes(source + here[run], destination + there[run], lengths[run])
