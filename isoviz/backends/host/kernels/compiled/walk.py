"""Compiled copies of any kind, tile by tile through a buffer; and long runs.

For each tile, the source is read in runs as long as the tile allows, into a small buffer in the order of the destination:
elements of 1 to 8 bytes in registers, W rows at a time, interleaved log₂ W times. Then the buffer goes to the destination in
whole lines with non-temporal stores, while lines of the next tile are prefetched. Scattered lines cost the most, so runs have
several lines at both ends, and the buffer between them has no strides of a power of two.

Addresses are plain integers. `recipe` makes sure that no kernel touches bytes outside of source and destination.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.host.kernels.compiled.planes import read_planes, read_row, read_squares
from isoviz.backends.host.kernels.compiled.vectors import (
    FAR,
    LINE,
    fetch,
    fetch_rows,
    keep_line,
    line_past_caches,
    settle,
    some_bytes,
)
from isoviz.backends.host.kernels.kernel_cache import kept

STORES_AHEAD = 2
"""Runs whose lines in the destination are fetched before they are written."""


@njit(nogil=True)
def _stream(source, destination, count):
    """Copy a run with non-temporal stores."""
    head = min((-destination) & (LINE - 1), count)
    if head:
        some_bytes(source, destination, head)
        source += head
        destination += head
        count -= head
    while count >= LINE:
        line_past_caches(source, destination)
        source += LINE
        destination += LINE
        count -= LINE
    if count:
        some_bytes(source, destination, count)


@njit(nogil=True)
def _written(source, destination, count, past_caches):
    """Copy a run, with non-temporal stores or with ordinary ones."""
    if past_caches:
        _stream(source, destination, count)
    else:
        some_bytes(source, destination, count)


@njit(nogil=True)
def advanced(index, most, one, two, three):
    """Count an index up, its last place fastest, leaving out three places; False at the end."""
    for place in range(len(index) - 1, -1, -1):
        if place in (one, two, three):
            continue
        index[place] += 1
        if index[place] < most[place]:
            return True
        index[place] = 0
    return False


@njit(nogil=True)
def moved_on(start, tiles, extents):
    """Advance to the next tile, the last loop fastest; after the last tile False, and back to the first."""
    for loop in range(len(start) - 1, -1, -1):
        start[loop] += tiles[loop]
        if start[loop] < extents[loop]:
            return True
        start[loop] = 0
    return False


@njit(nogil=True)
def write_out(destination, buffer, extents, tiles, start, size, index, outs, chain, past_caches):
    """Write a tile out of the buffer, with non-temporal stores or ordinary ones.

    The tile begins at `start` and has `size` turns; `index` is a scratch array; the rest is as in `walk`.
    """
    loops = len(extents)
    for out in outs:
        there, here = destination + out[0], buffer + out[1]
        wide = out[2] * tiles[chain] >= 2 * LINE
        for loop in range(loops):
            there += start[loop] * out[3 + loop]
        index[:] = 0
        while True:
            a, b = here, there
            for loop in range(loops):
                a += index[loop] * out[3 + loops + loop]
                b += index[loop] * out[3 + loop]
            count = out[2] * size[chain]
            row_start = a
            if wide and start[chain]:  # The bytes of this line that the previous tile had stand in front.
                part = b & (LINE - 1)
                a, b, count = a - part, b - part, count + part
            if wide and start[chain] + size[chain] < extents[chain]:
                part = (b + count) & (LINE - 1)
                count -= part
                _written(a, b, count, past_caches)
                keep_line(a + count, row_start - part)
            else:
                _written(a, b, count, past_caches)
            turned = False
            for loop in range(loops - 1, -1, -1):
                if out[3 + loops + loop] < 0:
                    continue
                index[loop] += 1
                if index[loop] < size[loop]:
                    turned = True
                    break
                index[loop] = 0
            if not turned:
                break


@kept
def walk(source, destination, buffer, extents, tiles, jobs, outs, chain, ahead, joined, past_caches):
    """Carry out a recipe (`isoviz.backends.host.kernels.recipe`) tile by tile.

    `extents` and `tiles` are the turns of each loop, in all and in a tile, slowest first.

    A row of `jobs` is one strided copy into the buffer: offset in the source, offset in the buffer, bytes of an element, the
    loop along which the source is contiguous, the loop along which the buffer is (-1: there is no plane, and the other one is
    the innermost loop), the loop that repeats planes (-1: none), then the strides of all loops in the source and in the buffer.

    A row of `outs` is one run out of the buffer: offset in the destination, offset in the buffer, bytes per turn of the loop
    `chain`, then the strides of all loops in the destination and in the buffer (-1: within the run). Without `outs` the buffer
    is the destination.

    `ahead` is the distance of the prefetch in bytes for each row of the planes of a tile. `joined` says that repeated planes
    are contiguous in the rows of the source; `ahead` counts such a row once. `past_caches` asks for non-temporal stores of
    tiles.
    """
    loops = len(extents)
    start, size, index = np.zeros(loops, np.int64), np.zeros(loops, np.int64), np.zeros(loops, np.int64)
    staged = len(outs) > 0
    ahead_at = np.int64(ahead.ctypes.data)
    while True:
        for loop in range(loops):
            size[loop] = min(tiles[loop], extents[loop] - start[loop])
        for job in jobs:
            here, there = source + job[0], buffer + job[1]
            element, along, across, batch = job[2], job[3], job[4], job[5]
            for loop in range(loops):
                here += start[loop] * job[6 + loop]
                if not staged:
                    there += start[loop] * job[6 + loops + loop]
            index[:] = 0
            row = 0
            while True:
                a, b = here, there
                for loop in range(loops):
                    a += index[loop] * job[6 + loop]
                    b += index[loop] * job[6 + loops + loop]
                if across >= 0:
                    planes, a_plane, b_plane = 1, 0, 0
                    if batch >= 0:
                        planes, a_plane, b_plane = size[batch], job[6 + batch], job[6 + loops + batch]
                    a_stride, b_stride = job[6 + across], job[6 + loops + along]
                    rows, columns = size[across], size[along]
                    if joined and min(rows, planes * columns) * element >= LINE:
                        read_squares(a, a_stride, b, b_stride, rows, columns, element, planes, b_plane, ahead_at, row)
                    elif joined:  # The rest at the end of a loop.
                        for plane in range(planes):
                            here_too, there_too = a + plane * a_plane, b + plane * b_plane
                            read_planes(here_too, a_stride, there_too, b_stride, rows, columns, element, 1, 0, 0, ahead_at, row)
                    else:
                        read_planes(a, a_stride, b, b_stride, rows, columns, element, planes, a_plane, b_plane, ahead_at, row)
                    row += rows if joined else planes * rows
                else:
                    read_row(a, job[6 + along], b, job[6 + loops + along], size[along], element)
                if not advanced(index, size, along, across, batch):
                    break
        write_out(destination, buffer, extents, tiles, start, size, index, outs, chain, past_caches)
        if not moved_on(start, tiles, extents):
            break
    if staged and past_caches:
        settle()


@njit(nogil=True)
def _stored(source, destination, count):
    """Copy a run of at least a line with ordinary stores: the end is stored together with the line before it."""
    for at in range(0, count - LINE, LINE):
        keep_line(source + at, destination + at)
    keep_line(source + count - LINE, destination + count - LINE)


@kept
def stream_rows(source, destination, extents, source_strides, destination_strides, run, past_caches, ahead):
    """Long runs: `run` bytes for all turns of the loops, with non-temporal stores or ordinary ones.

    Runs shorter than a page are prefetched in the source, `ahead` turns of the last loop ahead, as the hardware prefetcher does
    not cross pages. Where `ahead` is 0 and stores are ordinary, runs shorter than half a page are prefetched in the destination.
    """
    inner = len(extents) - 1
    count, step, by = (extents[inner], source_strides[inner], destination_strides[inner]) if inner >= 0 else (1, 0, 0)
    ahead = ahead * step if run < FAR else 0
    short = LINE <= run < FAR // 2 and not ahead and not past_caches
    index = np.zeros(len(extents), np.int64)
    while True:
        here, there = source, destination
        for loop in range(inner):
            here += index[loop] * source_strides[loop]
            there += index[loop] * destination_strides[loop]
        if short:
            for _ in range(count):
                for line in range(0, run, LINE):
                    fetch(there + STORES_AHEAD * by + line)
                _stored(here, there, run)
                here += step
                there += by
        else:
            for _ in range(count):
                if ahead:
                    for line in range(0, run, LINE):
                        fetch_rows(here + ahead + line)
                _written(here, there, run, past_caches)
                here += step
                there += by
        if not advanced(index, extents, inner, -1, -1):
            break
    if past_caches:
        settle()
