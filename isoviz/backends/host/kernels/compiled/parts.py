"""All parts of a transfer in one call: the loop of a lane (`isoviz.runtime.engine.program`)."""

from __future__ import annotations

import numpy as np
from numba import njit, types

from isoviz.backends.host.kernels.compiled.elements import nested
from isoviz.backends.host.kernels.compiled.vectors import seen, word
from isoviz.backends.host.kernels.kernel_cache import kept
from isoviz.backends.host.kernels.many import MOST_LOOPS

_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.intp))
"""The clock of the C library, found by its name. Its number 1 is `CLOCK_MONOTONIC`, that of `time.perf_counter`."""
MOVED = 3
"""From this word on: the chunks that each hop has moved. The first word asks the loop to stop. The next two are the clock's."""


@njit(nogil=True)
def _now(clock):
    _clock_gettime(1, clock)
    return 1_000_000_000 * word(clock) + word(clock + 8)


@kept
def move_parts(hops, first, rows, loops, stores, slots, chunks, words, until, times):
    """See `isoviz.runtime.protocols.PartLoop.move`.

    The last hop that can continue goes first: its chunk is still in the caches.
    """
    count, parts = len(hops), 0
    index = np.zeros(MOST_LOOPS, np.int64)
    address = np.int64(words.ctypes.data)
    clock = address + 8
    moved = words[MOVED : MOVED + count]
    begin = _now(clock)
    while not seen(address):
        hop = count - 1
        while hop >= 0:
            chunk = moved[hop]
            if (
                chunk < chunks
                and (hop == 0 or chunk < moved[hop - 1])
                and (hop == count - 1 or chunk - moved[hop + 1] < slots[hop + 1])
            ):
                break
            hop -= 1
        if hop < 0:
            break
        chunk = moved[hop]
        whole, turn = hops[hop, 0], hops[hop, 1]
        at = hops[hop, 4]
        here, there = stores[hop, chunk % slots[hop]], stores[hop + 1, chunk % slots[hop + 1]]
        if chunk < whole:
            turns = chunk // turn
            at += chunk - turns * turn
            here += turns * hops[hop, 2]
            there += turns * hops[hop, 3]
        else:
            at += turn + chunk - whole
        for row in range(first[at], first[at + 1]):
            nested(here + rows[row, 0], there + rows[row, 1], rows[row, 2], loops, rows[row, 3], rows[row, 4], index)
        moved[hop] = chunk + 1
        end = _now(clock)
        if len(times):
            times[parts, 0], times[parts, 1], times[parts, 2], times[parts, 3] = hop, chunk, begin, end
        parts += 1
        begin = end
        if end >= until or parts == len(times):
            break
    return parts
