"""The delivery of packets between ranks, in the Python that Numba compiles: words go straight to the mapped memory of their VICs.

Each call writes all words of a batch first. Afterwards it counts, once for each VIC and group counter, and shows each FIFO its
new end. So a VIC that finds a counter at zero has all words that it counts.
"""

from __future__ import annotations

import numpy as np

from isoviz.backends.host.kernels.compiled.vectors import word
from isoviz.backends.host.kernels.kernel_cache import hash_of, kept
from isoviz.backends.mpi.helper import loop
from isoviz.backends.mpi.helper.loop import call, load, put, store
from isoviz.vortex import packet
from isoviz.vortex.packet import COUNTERS, LINK, MARK, MOST_LINKS, MOST_NODES, SCRATCH, WORDS, To
from isoviz.vortex.ranks import places
from isoviz.vortex.ranks.places import EARLY, EXPECTED, FIFOS, HEAD, LEFT, LINE, PAIR, SETS, TAIL

APART = f"vortex-ranks-{hash_of((__file__, packet.__file__, places.__file__, loop.__file__))}"
"""Where the compiled function is kept."""
ME, ROOM, ADD, SWAP, BACK, WRONG, VIC, ADDRESS = range(8)
"""Places in `known`: this VIC; the words of a ring, a power of two; the addresses of `fetch_and_add` and `swap` on 8 bytes; how
many rows `back` got; the links of a packet that cannot be sent on, or 0, and where that is."""
BASE, END, BEGIN, COUNTS = range(4)
"""Columns of `vics`: the address of what a VIC has, the end and the known begin of the ring of this VIC's words there, and from
here on how many packets of this batch each group counter counts."""
_MEMORY, _FIFO, _QUERY, _SEND_ON = (int(to) for to in (To.MEMORY, To.FIFO, To.QUERY, To.SEND_ON))


def _deliver(known, vics, touched, to, values, back):
    """Deliver packets. `back` gets VICs and words that found no place in a FIFO, or VICs and packets of counters that were set
    after those had come. `touched` is room for the VICs and counters of a batch."""
    me, room, nodes = known[ME], known[ROOM], vics.shape[0]
    pair = FIFOS + PAIR * me
    ring = FIFOS + PAIR * nodes + room * me
    many = number = known[WRONG] = 0
    for row in range(to.size):
        header, value = to[row], values[row]
        kind, links = header >> 28 & 15, 0
        while kind >= _QUERY:
            links += 1
            known[VIC], known[ADDRESS] = header >> 32 & (MOST_NODES - 1), header & (WORDS - 1)
            there = word(vics[known[VIC], BASE] + 8 * known[ADDRESS])
            if kind == _QUERY:
                header, value = value, there
            else:
                header = there
            kind = header >> 28 & 15
            is_known = kind in (_MEMORY, _FIFO, _SEND_ON)
            if header >> LINK != MARK >> LINK or header >> 32 & (MOST_NODES - 1) >= nodes or not is_known or links > MOST_LINKS:
                known[WRONG] = links
                break
        if known[WRONG]:
            break
        vic, counter, address = header >> 32 & (MOST_NODES - 1), header >> 22 & (COUNTERS - 1), header & (WORDS - 1)
        base = vics[vic, BASE]
        if kind == _MEMORY:
            put(base + 8 * address, value)
        elif kind == _FIFO:
            end = vics[vic, END]
            if end - vics[vic, BEGIN] >= room:
                vics[vic, BEGIN] = load(base + 8 * (pair + HEAD))
            if end - vics[vic, BEGIN] >= room:
                back[number, 0], back[number, 1] = vic, value
                number += 1
                continue
            put(base + 8 * (ring + (end & (room - 1))), value)
            vics[vic, END] = end + 1
        else:
            at = base + 8 * (SETS + LINE * address)
            before = call(known[SWAP], at + 8 * LEFT, value, 0, 0, 0, 0, 0)
            put(at + 8 * EARLY, max(0, -before))
            store(at + 8 * EXPECTED, value)
            if before < 0 and value:
                back[number, 0], back[number, 1] = vic, -before
                number += 1
            continue
        if vics[vic, COUNTS + counter] == 0:
            touched[many] = vic * COUNTERS + counter
            many += 1
        vics[vic, COUNTS + counter] += 1
    for place in range(many):
        vic, counter = touched[place] // COUNTERS, touched[place] % COUNTERS
        base = vics[vic, BASE]
        store(base + 8 * (pair + TAIL), vics[vic, END])
        if counter != SCRATCH:
            at = base + 8 * (SETS + LINE * counter + LEFT)
            call(known[ADD], at, -vics[vic, COUNTS + counter], 0, 0, 0, 0, 0)
        vics[vic, COUNTS + counter] = 0
    known[BACK] = number
    return number + known[WRONG]


deliver = kept(_deliver, APART)


def nothing():
    """Arguments with which nothing is delivered, of the types that it is compiled for."""
    known, vics = np.zeros(8, np.int64), np.zeros((1, COUNTS + COUNTERS), np.int64)
    return known, vics, known, known[:0], known[:0], np.empty((0, 2), np.int64)
