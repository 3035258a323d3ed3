"""The compiled half of the copy kernels: Numba and LLVM turn this into vector code for the processor it runs on.

A copy is walked in tiles. Of every tile first the source is read, in runs as long as a tile allows, and put into a small buffer
in the order of the destination: elements of 1 to 8 bytes in registers, W rows at a time, by interleaving vectors log₂ W times.
Then the buffer is written out in whole lines past the caches (non-temporal stores), while lines of the next tile's source are
fetched. Reading and writing scattered lines costs the most: hence runs of several lines at both ends, and a buffer between them,
in which strides of a power of two do no harm.

All addresses are plain integers; `recipe` makes sure that nothing outside of source and destination is touched.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.core import config

from isoviz.backends.kernels.cache import folder
from isoviz.backends.kernels.planes import read_planes, read_row
from isoviz.backends.kernels.vectors import (
    FAR,
    LINE,
    WIDE,
    block_permuter,
    block_turner,
    fetch,
    keep_line,
    line_gatherer,
    line_past_caches,
    line_turner,
    settle,
    some_bytes,
)

_elsewhere, config.CACHE_DIR = config.CACHE_DIR, str(folder())  # only for what is compiled here, see the end


@njit(nogil=True)
def _stream(source, destination, count):
    """A run to memory past the caches."""
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
def _advanced(index, most, one, two, three):
    """Count an index on, the last place fastest, three places left out; False at the end."""
    for place in range(len(index) - 1, -1, -1):
        if place in (one, two, three):
            continue
        index[place] += 1
        if index[place] < most[place]:
            return True
        index[place] = 0
    return False


@njit(cache=True, nogil=True)
def walk(source, destination, buffer, extents, tiles, jobs, outs, chain, ahead):
    """Carry out a recipe (`isoviz.backends.kernels.recipe`), tile by tile.

    `extents` and `tiles` are for every loop, the slowest first, how often it goes round, in all and in a tile. Every row of
    `jobs` is one strided copy into the buffer: source offset, buffer offset, bytes of an element, the loop along which the
    source is contiguous and the one along which the buffer is (-1: there is no plane, the other is the innermost loop), the
    loop that repeats planes (-1: none), then for every loop the strides of the source and of the buffer. Every row of `outs` is
    one run out of the buffer: destination offset, buffer offset, bytes per turn of the loop `chain`, then for every loop the
    strides of the destination and of the buffer (-1: within the run). No outs: the buffer is the destination itself. `ahead`
    is, for every row of a tile's planes, how far ahead the source is fetched, in bytes.
    """
    loops = len(extents)
    start, size, index = np.zeros(loops, np.int64), np.zeros(loops, np.int64), np.zeros(loops, np.int64)
    staged = len(outs) > 0
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
                    read_planes(a, a_stride, b, b_stride, rows, columns, element, planes, a_plane, b_plane, ahead, row)
                    row += planes * rows
                else:
                    read_row(a, job[6 + along], b, job[6 + loops + along], size[along], element)
                if not _advanced(index, size, along, across, batch):
                    break
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
                if wide and start[chain]:  # what the tile before had of this line lies in front
                    part = b & (LINE - 1)
                    a, b, count = a - part, b - part, count + part
                if wide and start[chain] + size[chain] < extents[chain]:
                    part = (b + count) & (LINE - 1)
                    count -= part
                    _stream(a, b, count)
                    keep_line(a + count, row_start - part)
                else:
                    _stream(a, b, count)
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
        done = True
        for loop in range(loops - 1, -1, -1):
            start[loop] += tiles[loop]
            if start[loop] < extents[loop]:
                done = False
                break
            start[loop] = 0
        if done:
            break
    if staged:
        settle()


@njit(cache=True, nogil=True)
def stream_rows(source, destination, extents, source_strides, destination_strides, run, past_caches):
    """Long runs: for all turns of the loops `run` bytes, past the caches or not."""
    index = np.zeros(len(extents), np.int64)
    while True:
        here, there = source, destination
        for loop in range(len(extents)):
            here += index[loop] * source_strides[loop]
            there += index[loop] * destination_strides[loop]
        if past_caches:
            _stream(here, there, run)
        else:
            some_bytes(here, there, run)
        if not _advanced(index, extents, -1, -1, -1):
            break
    if past_caches:
        settle()


if WIDE == LINE:
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

    _apart_2, _apart_4, _apart_8, _apart_16 = (line_turner(count, 4, back=True) for count in (2, 4, 8, 16))
    _joined_2, _joined_4, _joined_8, _joined_16 = (line_turner(count, 4, back=False) for count in (2, 4, 8, 16))

    @njit(nogil=True)
    def _turned(source, source_step, destination, destination_step, vectors, back):
        if back:
            if vectors == 16:
                _apart_16(source, source_step, destination, destination_step)
            elif vectors == 8:
                _apart_8(source, source_step, destination, destination_step)
            elif vectors == 4:
                _apart_4(source, source_step, destination, destination_step)
            else:
                _apart_2(source, source_step, destination, destination_step)
        elif vectors == 16:
            _joined_16(source, source_step, destination, destination_step)
        elif vectors == 8:
            _joined_8(source, source_step, destination, destination_step)
        elif vectors == 4:
            _joined_4(source, source_step, destination, destination_step)
        else:
            _joined_2(source, source_step, destination, destination_step)

    @njit(cache=True, nogil=True)
    def turn_lines(
        source, destination, extents, source_strides, destination_strides, lines, chunks, by, chunk_by, steps, vectors, back
    ):
        """Entries of elements of 4 bytes and a line for each of these, one from the other, past the caches, without a buffer
        between: for all turns of the loops, `lines` times 16 entries, their elements in `chunks` of so many `vectors`. `by` are
        the bytes from one line to the next in the source and in the destination, `chunk_by` those from one chunk to the next,
        `steps` those between the vectors of one. The destination's are whole lines."""
        index = np.zeros(len(extents), np.int64)
        ahead_by = FAR if chunks == 1 else 8 * by[0]
        while True:
            here, there = source, destination
            for loop in range(len(extents)):
                here += index[loop] * source_strides[loop]
                there += index[loop] * destination_strides[loop]
            for first in range(0, lines, 8):
                count = min(8, lines - first)
                if not back:  # eight lines of every array one after the other: memory likes that
                    for k in range(vectors):
                        for ahead in range(8 * LINE, 16 * LINE, LINE):
                            fetch(here + k * steps[0] + ahead)
                for chunk in range(chunks):
                    a, b = here + chunk * chunk_by[0], there + chunk * chunk_by[1]
                    for _ in range(count):
                        if back:
                            for k in range(vectors):
                                fetch(a + k * steps[0] + ahead_by)
                        _turned(a, steps[0], b, steps[1], vectors, back)
                        a += by[0]
                        b += by[1]
                here += count * by[0]
                there += count * by[1]
            if not _advanced(index, extents, -1, -1, -1):
                break
        settle()

    _line_32, _line_64 = (line_gatherer(size) for size in (32, 64))

    @njit(cache=True, nogil=True)
    def gather_lines(
        source, destination, extents, source_strides, destination_strides, turns, by, inner, inner_by, step, run, ahead
    ):
        """Lines of pieces of 32 or 64 bytes that lie `step` apart in the source, past the caches, without a buffer between: for
        all turns of the loops, `turns` times `inner` lines; `by` and `inner_by` are the bytes from one to the next in the source
        and in the destination. `ahead` are how many arrays are read in turn, and how far they lie apart (0: one, in sequence)."""
        index = np.zeros(len(extents), np.int64)
        burst = 8 * LINE // run
        while True:
            here, there = source, destination
            for loop in range(len(extents)):
                here += index[loop] * source_strides[loop]
                there += index[loop] * destination_strides[loop]
            for turn in range(turns):
                if ahead[1]:
                    if turn % burst == 0:  # eight lines of every array one after the other: memory likes that
                        for array in range(ahead[0]):
                            for line in range(8 * LINE, 16 * LINE, LINE):
                                fetch(here + array * ahead[1] + line)
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
            if not _advanced(index, extents, -1, -1, -1):
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

    @njit(cache=True, nogil=True)
    def permute_blocks(source, destination, extents, source_strides, destination_strides, vectors, turn, order, past_caches):
        """Blocks of so many vectors, each in one piece at both ends, their words of 4 bytes in another order: for all turns of
        the loops, the last one the innermost. `order` is an array as `block_permuter` takes it; with a `turn` they go
        through `block_turner` instead, for elements of so many bytes, back if it is negative. `past_caches` is whether
        blocks are written past the caches: then the destination has to begin with a line, and all its strides be whole lines."""
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
            if not _advanced(index, extents, inner, -1, -1):
                break
        if past_caches:
            settle()


config.CACHE_DIR = _elsewhere
