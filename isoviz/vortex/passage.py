"""Packets under way between VICs, through a switch that moves on bit by bit, or in an order that is drawn.

A table of packets has a column for each, and the rows `TIME` (the cycle in which it arrives at its input, or leaves), `SOURCE`
(a VIC), `HEADER` and `VALUE`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from isoviz.vortex.moving import Moving
from isoviz.vortex.packet import ASKS, goes_to
from isoviz.vortex.switch import Switch
from isoviz.vortex.traffic import Recorded, Whole

TIME, SOURCE, HEADER, VALUE = range(4)
NONE = np.empty((4, 0), np.int64)


class Passage(Protocol):
    """How packets go from VIC to VIC."""

    @property
    def busy(self) -> bool:
        """Whether any are inside."""

    def move(self, new: Whole, until: int, /) -> Whole:
        """Take packets that arrive before a cycle, and give those that leave before it, in the order in which they do."""


class InSwitch(Moving):
    """Packets in a switch to which others come."""

    def __init__(self, switch: Switch, seed: int) -> None:
        shape = switch.heights, switch.angles, switch.inputs, switch.outputs
        super().__init__(*shape, Recorded([], []), seed, None, record=False)
        self._columns = NONE
        self.busy = False

    def move(self, new: Whole, until: int, /) -> Whole:
        if not self.busy and not new.shape[1]:
            return new
        self._renew(new)
        self._go(until, stop=True)
        left = self._table[4]
        rows = np.flatnonzero(left >= 0)
        rows = rows[np.lexsort((self._table[1, rows], left[rows]))]
        self.busy = len(rows) < len(left)
        found = self._columns.take(rows, axis=1)
        found[TIME] = left[rows]
        return found

    def _renew(self, new: Whole) -> None:
        """A table without the packets that have left and with the new ones. Those that wait stand before those that come."""
        place, clock, table = self._place, self._clock, self._table
        inside = np.flatnonzero((table[3] >= 0) & (table[4] < 0))
        outside = np.concatenate([self._columns.compress(table[3] < 0, axis=1), new], axis=1)
        outside = outside.take(np.lexsort((outside[TIME], outside[SOURCE])), axis=1)
        rows = np.empty(table.shape[1], np.int64)
        rows[inside] = np.arange(len(inside))
        flights = self._cells[self._cells >= 0] >> place.FLIGHT
        self._flights[flights, 0] = rows[self._flights[flights, 0]]
        self._columns = np.concatenate([self._columns.take(inside, axis=1), outside], axis=1)
        coming = np.zeros((6, outside.shape[1]), np.int64)
        coming[0], coming[1], coming[2], coming[3:5] = outside[SOURCE], goes_to(outside[HEADER]), outside[TIME], -1
        self._table = np.concatenate([table.take(inside, axis=1), coming], axis=1)  # rows that lie together, as compiled for
        each = np.bincount(outside[SOURCE], minlength=len(self._ends))
        self._ends = len(inside) + np.cumsum(each)
        self._places = self._ends - each
        self._rooms = np.maximum(each, 1)
        self._bases = np.cumsum(self._rooms) - self._rooms
        self._queue = np.empty(self._rooms.sum(), np.int64)
        self._heads[:], self._waiting[:] = 0, 0
        clock[place.WAITING], clock[place.TO_COME] = 0, outside.shape[1]


class AnyOrder:
    """Packets that take from 1 to `longest` cycles each, as drawn: they overtake one another at will."""

    def __init__(self, longest: int, seed: int) -> None:
        self._draw, self._longest = np.random.default_rng(seed), longest
        self._inside = NONE

    @property
    def busy(self) -> bool:
        return self._inside.shape[1] > 0

    def move(self, new: Whole, until: int, /) -> Whole:
        new = new.copy()
        new[TIME] += self._draw.integers(1, self._longest + 1, new.shape[1])
        inside = np.concatenate([self._inside, new], axis=1)
        inside = inside[:, np.argsort(inside[TIME], kind="stable")]
        gone = int(np.searchsorted(inside[TIME], until))
        self._inside = inside[:, gone:]
        return inside[:, :gone]


class UnderWay:
    """All packets between VICs: those that have not reached their inputs, and those beyond. `now`: all before it has happened.

    `sent`: how many there have been; `asking`: how many are under way that VICs may answer without their hosts.
    """

    def __init__(self, passage: Passage) -> None:
        self._passage, self._coming, self.now, self.sent = passage, list[Whole](), 0, 0
        self.asking = 0

    @property
    def busy(self) -> bool:
        return bool(self._coming) or self._passage.busy

    def send(self, packets: Whole) -> None:
        """Packets in the order in which they reach their input, none of them before `now`."""
        if packets.shape[1]:
            self._coming.append(packets)
            self.sent += packets.shape[1]
            self.asking += _asking(packets)

    def until(self, cycle: int) -> Whole:
        """Move on to a cycle: the packets that leave before it."""
        due, later = [NONE], []
        for packets in self._coming:
            number = int(packets[TIME].searchsorted(cycle))
            if number:
                due.append(packets[:, :number])
            if number < packets.shape[1]:
                later.append(packets[:, number:])
        self._coming, self.now = later, cycle
        came = self._passage.move(np.concatenate(due, axis=1), cycle)
        self.asking -= _asking(came)
        return came


def _asking(packets: Whole) -> int:
    return int(((packets[HEADER] >> 28 & 15) >= ASKS).sum())


def packets(times: Whole, source: int, headers: Whole, values: Whole) -> Whole:
    """A table of packets."""
    table = np.empty((4, len(times)), np.int64)
    table[TIME], table[SOURCE], table[HEADER], table[VALUE] = times, source, headers, values
    return table
