"""The cycle of the switch, in the Python that Numba compiles.

Every packet goes one angle further in each cycle. In the slot (angle − cycle) mod A it therefore stays as long as it is in the
switch, and a cycle is done in place, cylinder by cylinder, the innermost first: what comes within a cylinder is there before the
cylinder outside looks for a free place. A slot of a height is a cell, cell = height · A + slot. A packet is one word in a cell:

    row in the table of packets in flight << 40 | deflections << 24 | angle it goes to << 16 | height it goes to   (−1: no packet)
"""

from __future__ import annotations

import numpy as np
from numba import njit

from isoviz.backends.host.kernels.kernel_cache import hash_of, kept

APART = f"vortex-{hash_of((__file__,))}"
"""Where the compiled cycle is kept."""
OFFERED, REFUSED, ENTERED, DELIVERED, HOPS, DEFLECTIONS = range(6)
WAITED, STAYED, TURNED, LONGEST_WAIT, LONGEST_STAY, MOST_TURNED = range(6, 12)
"""Places of the counters in `tally`."""
CYCLE, SPAN, FREE, KEPT, WAITING, TO_COME, MOVED = range(7)
"""Places in `clock`: the next cycle; how many cycles a row of `load` sums; free rows of the table of packets in flight; recorded
packets; packets that wait at inputs; packets of a list that have not arrived; cycles in which something may have moved."""
COUNT, FLIGHT = 24, 40
"""Where the deflections and the row begin in a packet's word."""
PUT_DOWN = 1 << 15
"""Cycles after which deflections move from the words to a table. A packet is deflected at most once in a cycle."""
LAST = 4095
"""The last bin of a distribution; it counts everything from there on."""
LOAD, BURST, STOP, HOT_SHARE, HOT_PORT, OUTPUTS = range(6)
"""Places in `drawn`: chances × 2³² that a packet arrives or a burst begins, that traffic is bursty, and that a burst ends; the
share of the hot port × 2³², that port, and the number of outputs."""


@njit(nogil=True)
def _random(state):
    """32 random bits (xoshiro128**, Blackman and Vigna): the browser draws the same."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    x = np.uint32(s1 * np.uint32(5))
    x = np.uint32(np.uint32(x << np.uint32(7)) | np.uint32(x >> np.uint32(25)))
    s2 ^= s0
    s3 ^= s1
    state[1] = s1 ^ s2
    state[0] = s0 ^ s3
    state[2] = s2 ^ np.uint32(s1 << np.uint32(9))
    state[3] = np.uint32(np.uint32(s3 << np.uint32(11)) | np.uint32(s3 >> np.uint32(21)))
    return np.int64(np.uint32(x * np.uint32(9)))


@njit(nogil=True)
def _leave(inner, angles, cycle, leaving):
    """Take the packets that are at their angle out of the innermost cylinder, into `leaving`: how many, and how many stay."""
    out = there = 0
    shift = cycle % angles
    for base in range(0, inner.size, angles):
        for slot in range(angles):
            word = inner[base + slot]
            at = slot + shift
            at -= angles * (at >= angles)
            goes = (word >= 0) & ((word >> 16) & 255 == at)
            leaving[out] = word
            out += goes
            there += word >= 0
            inner[base + slot] = -1 if goes else word
    return out, there - out


@njit(nogil=True)
def _move(here, within, bit, step):
    """Move the packets of a cylinder: hops and deflections. Without branches, as they would be guessed wrong every other time."""
    hops = turned = 0
    for base in range(0, here.size, 2 * step):
        # The heights of a pair differ in the bit of this cylinder.
        low, high = here[base : base + step], here[base + step : base + 2 * step]
        in_low, in_high = within[base : base + step], within[base + step : base + 2 * step]
        for cell in range(step):
            first, second, free_low, free_high = low[cell], high[cell], in_low[cell], in_high[cell]
            first_right = (first >= 0) & (first & bit == 0)
            second_right = (second >= 0) & (second & bit != 0)
            first_in, first_turned = first_right & (free_low < 0), first_right & (free_low >= 0)
            second_in, second_turned = second_right & (free_high < 0), second_right & (free_high >= 0)
            in_low[cell] = first if first_in else free_low
            in_high[cell] = second if second_in else free_high
            high[cell] = -1 if first_in else first + (np.int64(first_turned) << COUNT)
            low[cell] = -1 if second_in else second + (np.int64(second_turned) << COUNT)
            hops += np.int64(first >= 0) + np.int64(second >= 0)
            turned += np.int64(first_turned) + np.int64(second_turned)
    return hops, turned


@njit(nogil=True)
def _put_down(cells, deflected):
    """Move the counts of deflections from the packets' words to the table, before one is too great for its bits."""
    for cylinder in range(cells.shape[0]):
        for cell in range(cells.shape[1]):
            word = cells[cylinder, cell]
            if word >= 0:
                bent = (word >> COUNT) & 65535
                deflected[word >> FLIGHT] += bent
                cells[cylinder, cell] = word - (bent << COUNT)


@njit(nogil=True)
def _fold(load, clock):
    """Rows of twice as many cycles, half as many."""
    half = load.shape[0] // 2
    for row in range(half):
        load[row] = load[2 * row] + load[2 * row + 1]
    load[half:] = 0
    clock[SPAN] *= 2


@njit(nogil=True)
def _behind(bases, rooms, heads, waiting, port):
    """The place behind the last packet that waits at an input, in its ring."""
    place = heads[port] + waiting[port]
    return bases[port] + (place if place < rooms[port] else place - rooms[port])


@njit(nogil=True)
def _next_arrival(arrivals, places, ends):
    """The cycle in which the next packet of a list arrives."""
    first = np.int64(1) << 62
    for port in range(ends.size):
        if places[port] < ends[port]:
            first = min(first, arrivals[places[port]])
    return first


def _advance(
    angles, heights, until, most, stop, inputs, goals, limit, listed, keeps, to, drawn, random,
    cells, flights, deflected, free, leaving, queue, bases, rooms, heads, waiting, on, places, ends,
    sources, targets, arrivals, entries, exits, turns,
    clock, tally, waits, stays, bends, entered, left, load,
):  # fmt: skip
    """Cycles from `clock[CYCLE]` to before `until`, at most `most` of them; with `stop`, not beyond the last packet of a list.
    Returns early where the table of recorded packets is full.

    Ports count by the angles of `inputs`; `goals` has the angle << 16 | height of every output. `flights` has a row for each
    packet in flight: its row among the recorded packets (−1: none), and when it entered. Packets that wait at an input are in a
    ring of `queue` (`bases`, `rooms`, `heads`, `waiting`): rows of the list, or the cycles of their arrival.
    """
    ports = bases.size
    outputs, innermost = drawn[OUTPUTS], cells.shape[0] - 1
    for _ in range(most):
        cycle = clock[CYCLE]
        if cycle >= until:
            return
        in_flight = free.size - clock[FREE]
        if listed and in_flight == 0 and clock[WAITING] == 0:
            if stop and clock[TO_COME] == 0:
                return
            cycle = max(cycle, _next_arrival(arrivals, places, ends))
            if cycle >= until:
                clock[CYCLE] = until
                cycle = until - 1
        while cycle // clock[SPAN] >= load.shape[0]:
            _fold(load, clock)
        if clock[CYCLE] == until:
            return
        if keeps and not listed and clock[KEPT] + ports > arrivals.size:
            return
        if clock[MOVED] % PUT_DOWN == PUT_DOWN - 1:
            _put_down(cells, deflected)
        clock[MOVED] += 1
        now = load[cycle // clock[SPAN]]
        out, hops = _leave(cells[innermost], angles, cycle, leaving)
        now[innermost] += out + hops
        tally[DELIVERED] += out
        tally[HOPS] += hops
        for cylinder in range(innermost - 1, -1, -1):
            bit = 1 << (innermost - 1 - cylinder)
            hops, turned = _move(cells[cylinder], cells[cylinder + 1], bit, bit * angles)
            now[cylinder] += hops
            tally[HOPS] += hops
            tally[DEFLECTIONS] += turned
        for number in range(out):
            word = leaving[number]
            flight = word >> FLIGHT
            stay, bent = cycle - flights[flight, 1], deflected[flight] + ((word >> COUNT) & 65535)
            tally[STAYED] += stay
            tally[LONGEST_STAY] = max(tally[LONGEST_STAY], stay)
            tally[TURNED] += bent
            tally[MOST_TURNED] = max(tally[MOST_TURNED], bent)
            stays[min(stay, LAST)] += 1
            bends[min(bent, LAST)] += 1
            left[(word & 65535) * angles + ((word >> 16) & 255)] += 1
            if keeps:
                row = flights[flight, 0]
                exits[row] = cycle
                turns[row] = bent
            free[clock[FREE]] = flight
            clock[FREE] += 1
        for number in range(inputs.size):
            slot = (inputs[number] - cycle - 1) % angles
            for height in range(heights):
                port, cell = number * heights + height, height * angles + slot
                # Packets arrive.
                if listed:
                    while places[port] < ends[port] and arrivals[places[port]] <= cycle:
                        tally[OFFERED] += 1
                        clock[TO_COME] -= 1
                        if waiting[port] < limit:
                            queue[_behind(bases, rooms, heads, waiting, port)] = places[port]
                            waiting[port] += 1
                            clock[WAITING] += 1
                        else:
                            tally[REFUSED] += 1
                        places[port] += 1
                else:
                    arrives = True
                    if drawn[BURST]:
                        if not on[port]:
                            on[port] = _random(random) < drawn[LOAD]
                        arrives = on[port]
                        if arrives:
                            on[port] = _random(random) >= drawn[STOP]
                    elif drawn[LOAD] < 1 << 32:
                        arrives = _random(random) < drawn[LOAD]
                    if arrives:
                        tally[OFFERED] += 1
                        if waiting[port] < limit:
                            queue[_behind(bases, rooms, heads, waiting, port)] = cycle
                            waiting[port] += 1
                            clock[WAITING] += 1
                        else:
                            tally[REFUSED] += 1
                # One packet enters where its place is free.
                if waiting[port] == 0:
                    continue
                if cells[0, cell] >= 0:
                    continue
                row = np.int64(-1)
                arrived = queue[bases[port] + heads[port]]
                heads[port] = heads[port] + 1 if heads[port] + 1 < rooms[port] else 0
                waiting[port] -= 1
                clock[WAITING] -= 1
                if listed:
                    row = arrived
                    arrived = arrivals[row]
                    target = targets[row]
                elif to[port] >= 0:
                    target = to[port]
                elif drawn[HOT_SHARE] and _random(random) < drawn[HOT_SHARE]:
                    target = drawn[HOT_PORT]
                else:
                    target = (_random(random) * outputs) >> 32
                if keeps and not listed:
                    row = clock[KEPT]
                    clock[KEPT] += 1
                    sources[row], targets[row], arrivals[row] = port, target, arrived
                if keeps:
                    entries[row] = cycle
                clock[FREE] -= 1
                flight = free[clock[FREE]]
                flights[flight, 0], flights[flight, 1] = row, cycle
                deflected[flight] = 0
                cells[0, cell] = flight << FLIGHT | goals[target]
                wait = cycle - arrived
                tally[ENTERED] += 1
                tally[WAITED] += wait
                tally[LONGEST_WAIT] = max(tally[LONGEST_WAIT], wait)
                waits[min(wait, LAST)] += 1
                entered[port] += 1
        clock[CYCLE] = cycle + 1


advance = kept(_advance, APART)
