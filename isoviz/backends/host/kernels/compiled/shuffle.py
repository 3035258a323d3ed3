"""Compiled copies by byte shuffles: working out the lines of a pattern, and storing them along a loop.

They need vectors of 512 bits with byte shuffles. `isoviz.backends.host.kernels.pattern` chooses the copies.

A row of `pieces` is a run of one turn: its offsets in the source and in the destination, its bytes, its strides in the source
and in the destination along the loop, then along each outer loop. `rhythms` numbers the sets of strides of each piece, in the
source and in the destination: pieces with equal numbers keep their distance.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.host.kernels.compiled.planes import read_row
from isoviz.backends.host.kernels.compiled.shuffled_lines import STEP, line_shuffler, lines_shuffler
from isoviz.backends.host.kernels.compiled.vectors import LINE, fetch, settle
from isoviz.backends.host.kernels.compiled.walk import advanced
from isoviz.backends.host.kernels.kernel_cache import kept

_whole, _whole_past = line_shuffler(past_caches=False), line_shuffler(past_caches=True)
_part = line_shuffler(past_caches=False, whole=False)
_one, _two, _three, _four, _five, _six = (lines_shuffler(windows, past_caches=False) for windows in range(1, 7))
_one_past, _two_past, _three_past, _four_past, _five_past, _six_past = (
    lines_shuffler(windows, past_caches=True) for windows in range(1, 7)
)


@njit(nogil=True)
def _lines(step, windows, repeat, repeats, there, by, past_caches):
    """A whole line of a pattern, for a number of its repeats."""
    if windows > 6:
        for _ in range(repeats):
            if past_caches:
                _whole_past(step, windows, repeat, there, -1)
            else:
                _whole(step, windows, repeat, there, -1)
            repeat += 1
            there += by
    elif past_caches:
        if windows == 1:
            _one_past(step, repeat, repeats, there, by)
        elif windows == 2:
            _two_past(step, repeat, repeats, there, by)
        elif windows == 3:
            _three_past(step, repeat, repeats, there, by)
        elif windows == 4:
            _four_past(step, repeat, repeats, there, by)
        elif windows == 5:
            _five_past(step, repeat, repeats, there, by)
        else:
            _six_past(step, repeat, repeats, there, by)
    elif windows == 1:
        _one(step, repeat, repeats, there, by)
    elif windows == 2:
        _two(step, repeat, repeats, there, by)
    elif windows == 3:
        _three(step, repeat, repeats, there, by)
    elif windows == 4:
        _four(step, repeat, repeats, there, by)
    elif windows == 5:
        _five(step, repeat, repeats, there, by)
    else:
        _six(step, repeat, repeats, there, by)


@kept
def pattern(pieces, rhythms, turns, misalignment, ahead):
    """The (steps, their strides, lines, fetches) for `shuffle_lines` of a number of turns of `pieces`.

    There are no lines where a line of the destination has pieces with different strides. The sixth and seventh number of a step
    are the rhythms of its two windows; the last number of a line and of a fetch is its rhythm.
    """
    runs, own = _runs(pieces, turns, misalignment)
    chosen = _chosen(runs, own, pieces, rhythms, turns)
    windows, picks, masks = _windows(runs, chosen, rhythms)
    around = (pieces.shape[1] - 5) // 2
    steps, strides = np.zeros((len(windows), 16), np.int64), np.zeros((len(windows), 2 * around), np.int64)
    lines = np.zeros((len(chosen), 5 + around), np.int64)
    step = -1
    paired = True
    for k in range(len(windows)):
        line, piece = windows[k, 2], windows[k, 1]
        first = paired or windows[k - 1, 2] != line
        if first:
            step += 1
            lines[line, 0], lines[line, 1] = chosen[line] * LINE - misalignment, turns * pieces[piece, 4]
            lines[line, 2 : 2 + around], lines[line, 4 + around] = pieces[piece, 6::2], rhythms[piece, 1]
        lines[line, 2 + around] += 1
        paired = not first
        for end in range(0 if first else 1, 2):  # A last single window stands for both.
            steps[step, end], steps[step, 2 + end] = windows[k, 0], turns * pieces[piece, 3]
            steps[step, 5 + end] = rhythms[piece, 0]
            strides[step, end * around : (end + 1) * around] = pieces[piece, 5::2]
        steps[step, 4] |= masks[k]
        lines[line, 3 + around] |= masks[k]
        bytes_of = steps[step, 8:].view(np.uint8)
        for place in range(LINE):
            if masks[k] >> place & 1:
                bytes_of[place] = picks[k, place] + (0 if first else LINE)
    # Each line of the source is prefetched some repeats ahead.
    fetches = np.empty((len(windows), 3 + around), np.int64)
    fetched = np.empty(len(windows), np.int64)
    count = 0
    for k in range(len(windows)):
        here, piece = windows[k, 0], windows[k, 1]
        seen = False
        for other in fetched[:count]:
            same = windows[other, 0] // LINE == here // LINE
            seen = seen or (same and rhythms[windows[other, 1], 0] == rhythms[piece, 0])
        if not seen:
            by = turns * pieces[piece, 3]
            fetches[count, 0], fetches[count, 1] = here + (ahead + by - 1) // by * by, by
            fetches[count, 2 : 2 + around], fetches[count, 2 + around] = pieces[piece, 5::2], rhythms[piece, 0]
            fetched[count] = k
            count += 1
    return steps[: step + 1].copy(), strides[: step + 1].copy(), lines, fetches[:count].copy()


@njit(nogil=True)
def _runs(pieces, turns, misalignment):
    """The runs of a pattern and of the next one, cut at lines of the destination, and how many belong to the first.

    A run is (line, place in the line, offset in the source, bytes, piece).
    """
    most = 0
    for piece in range(len(pieces)):
        most += 2 * turns * (pieces[piece, 2] // LINE + 2)
    runs = np.empty((most, 5), np.int64)
    count = own = 0
    for turn in range(2 * turns):
        for piece in range(len(pieces)):
            here = pieces[piece, 0] + turn * pieces[piece, 3]
            there = pieces[piece, 1] + turn * pieces[piece, 4] + misalignment
            left = pieces[piece, 2]
            while left:
                place = there & (LINE - 1)
                size = min(left, LINE - place)
                runs[count, 0], runs[count, 1], runs[count, 2] = there // LINE, place, here
                runs[count, 3], runs[count, 4] = size, piece
                count += 1
                here += size
                there += size
                left -= size
        if turn == turns - 1:
            own = count
    return runs[:count], own


@njit(nogil=True)
def _chosen(runs, own, pieces, rhythms, turns):
    """The lines that a pattern stores, from its own `own` runs and those of the next pattern.

    Where a turn does not begin at a line, one line has bytes of two patterns: it is stored whole instead of as two halves. None
    where a line has pieces with different strides in the destination.
    """
    lines = np.unique(runs[:own, 0])
    rhythm, period = np.full(len(lines), -1), np.zeros(len(lines), np.int64)
    for k in range(own):
        at, piece = np.searchsorted(lines, runs[k, 0]), runs[k, 4]
        if rhythm[at] != -1 and rhythm[at] != rhythms[piece, 1]:
            return lines[:0]
        rhythm[at] = rhythms[piece, 1]
        period[at] = turns * pieces[piece, 4] // LINE
    chosen = np.empty(len(lines), np.int64)
    count = 0
    for k in range(len(lines)):
        if _has(lines, rhythm, lines[k] - period[k], rhythm[k]):
            continue
        split = _has(lines, rhythm, lines[k] + period[k], rhythm[k])
        if split and _has(lines, rhythm, lines[k] + 2 * period[k], rhythm[k]):
            return lines[:0]
        chosen[count] = lines[k] + (period[k] if split else 0)
        count += 1
    chosen = np.sort(chosen[:count])
    for k in range(own, len(runs)):
        if _has(chosen, chosen, runs[k, 0], runs[k, 0]):
            at = np.searchsorted(lines, runs[k, 0])
            if at == len(lines) or lines[at] != runs[k, 0] or rhythm[at] != rhythms[runs[k, 4], 1]:
                return lines[:0]
    return chosen


@njit(nogil=True)
def _windows(runs, chosen, rhythms):
    """The windows of the source from which lines are put together, line by line in the order of the source.

    A window is (offset, piece, number of the line). With it come the bytes it gives to each place of the line, and these places
    as bits.
    """
    first = runs[0, 2]
    for k in range(len(runs)):
        first = min(first, runs[k, 2])
    keys, own = np.empty(len(runs), np.int64), np.empty(len(runs), np.int64)
    count = 0
    for k in range(len(runs)):
        at = np.searchsorted(chosen, runs[k, 0])
        if at < len(chosen) and chosen[at] == runs[k, 0]:
            keys[count] = ((at * (len(rhythms) + 1) + rhythms[runs[k, 4], 0]) << 40) + runs[k, 2] - first
            own[count] = k
            count += 1
    order = own[:count][np.argsort(keys[:count])]
    windows = np.empty((2 * count, 3), np.int64)
    picks, masks = np.zeros((2 * count, LINE), np.uint8), np.zeros(2 * count, np.int64)
    last, start, line, moving = -1, 0, np.int64(-1), np.int64(-1)
    for k in order:
        piece = runs[k, 4]
        for byte in range(runs[k, 3]):
            here = runs[k, 2] + byte
            if runs[k, 0] != line or rhythms[piece, 0] != moving or not start <= here < start + LINE:
                last, start, line, moving = last + 1, here, runs[k, 0], rhythms[piece, 0]
                windows[last, 0], windows[last, 1], windows[last, 2] = here, piece, np.searchsorted(chosen, line)
            place = runs[k, 1] + byte
            picks[last, place] = here - start
            masks[last] |= np.int64(1) << place
    return windows[: last + 1], picks[: last + 1], masks[: last + 1]


@njit(nogil=True)
def _has(lines, rhythms, line, rhythm):
    """Whether a sorted table holds a line of this rhythm."""
    at = np.searchsorted(lines, line)
    return at < len(lines) and lines[at] == line and rhythms[at] == rhythm


@njit(nogil=True)
def _turns(source, destination, pieces, index, first, count):
    """Some turns, run by run."""
    for piece in range(len(pieces)):
        here = source + pieces[piece, 0] + first * pieces[piece, 3]
        there = destination + pieces[piece, 1] + first * pieces[piece, 4]
        for loop in range(len(index)):
            here += index[loop] * pieces[piece, 5 + 2 * loop]
            there += index[loop] * pieces[piece, 6 + 2 * loop]
        read_row(here, pieces[piece, 3], there, pieces[piece, 4], count, pieces[piece, 2])


@kept
def shuffle_lines(
    source, destination, extents, steps, strides, lines, fetches, pieces, turns, all_turns, repeats, together, past_caches
):
    """Carry out a pattern of `turns` turns, for `all_turns` of a loop and all turns of the outer loops.

    Byte shuffles store `repeats` patterns; the turns before and after them move run by run. A line of the pattern is stored for
    `together` repeats, then the next line.

    `steps` are as for `line_shuffler`, except for the address of the source; `strides` are those of both windows along the
    outer loops. A row of `lines` is a line of the destination: offset, stride from repeat to repeat, strides along the outer
    loops, number of windows, stored bytes as bits, rhythm. A row of `fetches` is a line of the source to prefetch: offset,
    stride, strides, rhythm.
    """
    around = len(extents)
    index = np.zeros(around, np.int64)
    own = steps.copy()
    ends, ahead = np.empty(len(lines), np.int64), np.empty(len(fetches), np.int64)
    while True:
        for k in range(len(steps)):
            own[k, 0], own[k, 1] = source + steps[k, 0], source + steps[k, 1]
            for loop in range(around):
                own[k, 0] += index[loop] * strides[k, loop]
                own[k, 1] += index[loop] * strides[k, around + loop]
        for k in range(len(lines)):
            ends[k] = destination + lines[k, 0]
            for loop in range(around):
                ends[k] += index[loop] * lines[k, 2 + loop]
        for k in range(len(fetches)):
            ahead[k] = source + fetches[k, 0]
            for loop in range(around):
                ahead[k] += index[loop] * fetches[k, 2 + loop]
        _turns(source, destination, pieces, index, 0, turns)
        for repeat in range(0, repeats, together):
            some = min(together, repeats - repeat)
            for later in range(repeat, repeat + some):
                for k in range(len(fetches)):
                    fetch(ahead[k] + later * fetches[k, 1])
            step = np.int64(own.ctypes.data)
            for k in range(len(lines)):
                windows, by, written = lines[k, 2 + around], lines[k, 1], lines[k, 3 + around]
                there = ends[k] + repeat * by
                if together > 1:
                    _lines(step, windows, repeat, some, there, by, past_caches)
                elif written != -1:
                    _part(step, windows, repeat, there, written)
                elif past_caches:
                    _whole_past(step, windows, repeat, there, written)
                else:
                    _whole(step, windows, repeat, there, written)
                step += (windows + 1) // 2 * STEP
        _turns(source, destination, pieces, index, repeats * turns, all_turns - repeats * turns)
        if not advanced(index, extents, -1, -1, -1):
            break
    if past_caches:
        settle()
