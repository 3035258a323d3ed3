"""A switch while packets move in it: its arrays, and the compiled cycle that works on them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.kernels.kernel_cache import made_ready
from isoviz.checks import amount, count
from isoviz.errors import InputError, MissingPartError, show
from isoviz.vortex.run import Distribution, Packets, SwitchRun
from isoviz.vortex.traffic import Drawn, Recorded, Whole, within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

AT_ONCE = 20_000_000
"""Nodes that are moved before Python looks for Ctrl-C: about a tenth of a second."""
BACKLOG, MOST_WAITING = 1024, 1 << 27
"""Packets that may wait at an input for which nothing is said, and at all inputs together."""
ROWS = 4096
"""Rows of the load over time, at most."""
ROOM = 1 << 10
"""Rows for recorded packets at first."""


def _cycle() -> ModuleType:
    try:
        from isoviz.vortex import cycle
    except ImportError:
        raise MissingPartError("numba") from None
    return cycle


@cache
def _advance() -> Callable[..., None]:
    """The compiled cycle: loaded in about a second, and compiled once in some seconds."""
    cycle = _cycle()
    advance: Callable[..., None] = cycle.advance
    smallest = Moving(1, 1, (0,), (0,), Recorded([0], [0]), 0, None, False)
    made_ready(cycle.APART, lambda: advance(*smallest.arguments(1, 1, True)))
    return advance


class Moving:
    """A switch with traffic, from its first cycle on. The arguments are those of `Switch` and of `Switch.run`, and checked there.

    Raises:
        InputError: drawn traffic has figures out of range, or too many packets could wait.
    """

    def __init__(
        self,
        heights: int,
        angles: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        packets: Drawn | Recorded,
        seed: int,
        backlog: int | None,
        record: bool,
    ) -> None:
        self._place, self._seed = _cycle(), seed
        self._shape = (heights, angles, heights.bit_length())
        self._inputs, ports = np.array(inputs, np.int64), len(inputs) * heights
        goals = [angle << 16 | height for angle in outputs for height in range(heights)]
        self._goals = np.array(goals, np.int64)
        self._listed = isinstance(packets, Recorded)
        self._keeps = self._listed or record
        self._clock, self._tally = np.zeros(7, np.int64), np.zeros(12, np.int64)
        self._clock[self._place.SPAN] = 1
        if isinstance(packets, Recorded):
            self._limit = (1 << 62) if backlog is None else backlog
            self._take(packets, ports)
            self._drawn, self._to = np.zeros(6, np.int64), np.empty(0, np.int64)
        else:
            self._limit = BACKLOG if backlog is None else backlog
            self._table = _blank(ROOM + ports if record else 0)
            self._ends = np.zeros(ports, np.int64)
            self._drawn, self._to = _chances(packets, ports, len(goals))
        if self._listed:
            self._rooms = np.minimum(np.maximum(np.diff(self._ends, prepend=0), 1), self._limit)
        elif ports * self._limit > MOST_WAITING:
            raise InputError(
                f"Switch.run: {ports:,} inputs × a backlog of {self._limit:,}; at most {MOST_WAITING:,} packets may wait"
            )
        else:
            self._rooms = np.full(ports, self._limit)
        self._bases = np.cumsum(self._rooms) - self._rooms
        self._queue = np.empty(self._rooms.sum(), np.int64)
        self._heads, self._waiting, self._on = np.zeros(ports, np.int64), np.zeros(ports, np.int64), np.zeros(ports, np.bool_)
        self._places = np.concatenate([[0], self._ends[:-1]]).astype(np.int64)
        size = heights * angles
        nodes = size * self._shape[2]
        self._cells = np.full((self._shape[2], size), -1, np.int64)
        self._flights, self._deflected = np.zeros((nodes, 2), np.int64), np.zeros(nodes, np.int64)
        self._free = np.arange(nodes)[::-1].copy()
        self._clock[self._place.FREE] = nodes
        self._leaving = np.empty(size, np.int64)
        self._random = _seeded(seed)
        self._counts = np.zeros((3, self._place.LAST + 1), np.int64)
        self._entered, self._left = np.zeros(ports, np.int64), np.zeros(size, np.int64)
        self._load = np.zeros((ROWS, self._shape[2]), np.int64)

    def _take(self, packets: Recorded, ports: int) -> None:
        """Take a list, sorted by inputs and arrival."""
        self._given = np.lexsort((packets.cycles, packets.inputs))
        columns = packets.inputs, packets.outputs, packets.cycles
        self._table = _blank(len(self._given))
        for row, column in enumerate(columns):
            self._table[row] = column[self._given]
        self._ends = np.cumsum(np.bincount(packets.inputs, minlength=ports))
        self._clock[self._place.TO_COME] = len(self._given)

    def arguments(self, until: int, most: int, stop: bool) -> tuple[Any, ...]:
        """Those of the compiled cycle."""
        heights, angles, _ = self._shape
        return (
            *(angles, heights, until, most, stop, self._inputs, self._goals, self._limit, self._listed, self._keeps),
            *(self._to, self._drawn, self._random, self._cells, self._flights, self._deflected, self._free, self._leaving),
            *(self._queue, self._bases, self._rooms, self._heads, self._waiting, self._on, self._places, self._ends),
            *(*self._table, self._clock, self._tally, *self._counts, self._entered, self._left, self._load),
        )

    def run(self, cycles: int | None, warm: int) -> SwitchRun:
        """Run `cycles` cycles after the warm-up (None: until a list is delivered), and give what came of them.

        Raises:
            InputError: `cycles` is None, and the traffic is not a list.
        """
        if cycles is None and not self._listed:
            raise InputError("Switch.run, cycles: expected how many; only a list of packets has an end")
        if warm:
            self._go(warm, False)
            for counters in (self._tally, self._counts, self._entered, self._left):
                counters[:] = 0
        self._go(1 << 60 if cycles is None else warm + cycles, cycles is None)
        return self._result(warm)

    def _go(self, until: int, stop: bool) -> None:
        place, clock, advance = self._place, self._clock, _advance()
        most = max(1, AT_ONCE // self._cells.size)
        while clock[place.CYCLE] < until:
            if stop and clock[place.FREE] == len(self._free) and not clock[place.WAITING] and not clock[place.TO_COME]:
                return
            if self._keeps and not self._listed and clock[place.KEPT] + len(self._bases) > self._table.shape[1]:
                self._table = np.concatenate([self._table, _blank(self._table.shape[1])], axis=1)
            advance(*self.arguments(until, most, stop))

    def _result(self, warm: int) -> SwitchRun:
        place, clock, tally = self._place, self._clock.tolist(), self._tally.tolist()
        heights, angles, _ = self._shape
        goals = (self._goals & 65535) * angles + (self._goals >> 16)
        done, span = clock[place.CYCLE], clock[place.SPAN]
        rows = -(-done // span)
        lengths = np.minimum(span, done - span * np.arange(rows))
        sums = (tally[place.WAITED], tally[place.LONGEST_WAIT]), (tally[place.STAYED], tally[place.LONGEST_STAY])
        waits, latencies, turns = (
            Distribution(counts.copy(), total, most)
            for counts, (total, most) in zip(self._counts, (*sums, (tally[place.TURNED], tally[place.MOST_TURNED])), strict=True)
        )
        return SwitchRun(
            cycles=done - warm,
            seed=self._seed,
            offered=tally[place.OFFERED],
            refused=tally[place.REFUSED],
            entered=tally[place.ENTERED],
            delivered=tally[place.DELIVERED],
            waiting=clock[place.WAITING],
            in_flight=len(self._free) - clock[place.FREE],
            hops=tally[place.HOPS],
            deflections=tally[place.DEFLECTIONS],
            waits=waits,
            latencies=latencies,
            turns=turns,
            at_inputs=self._entered,
            at_outputs=self._left[goals],
            load=self._load[:rows] / (lengths * heights * angles)[:, None],
            span=span,
            packets=self._packets() if self._keeps else None,
        )

    def _packets(self) -> Packets:
        words = self._cells[self._cells >= 0]
        flights = words >> self._place.FLIGHT
        self._table[5, self._flights[flights, 0]] = self._deflected[flights] + ((words >> self._place.COUNT) & 65535)
        if not self._listed:
            return Packets(*self._table[:, : self._clock[self._place.KEPT]].copy())
        table = np.empty_like(self._table)
        table[:, self._given] = self._table
        return Packets(*table)


def _blank(rows: int) -> Whole:
    """A table for packets. None of them has entered or left."""
    table = np.zeros((6, rows), np.int64)
    table[3:5] = -1
    return table


def _chances(packets: Drawn, inputs: int, outputs: int) -> tuple[Whole, Whole]:
    """The figures of drawn traffic as whole numbers, and the output of every input."""
    if not isinstance(packets, Drawn):
        raise InputError(f"Switch.run: packets() of the traffic gives {show(packets)}; expected Drawn or Recorded")
    load, share = amount("Drawn", "load", packets.load, high=1), amount("Drawn", "share", packets.share, high=1)
    burst, begins, stops = amount("Drawn", "burst", packets.burst), load, 0.0
    if burst:
        begins = load and 1 / (1 + max(1.0, burst) * (1 - load) / load)
        stops = min(1.0, 1 / burst) if load < 1 else 0.0
    port = count("Drawn", "port", packets.port, high=outputs - 1)
    to = np.full(inputs, -1, np.int64) if packets.to is None else np.array(packets.to, np.int64)
    if to.shape != (inputs,):
        raise InputError(f"Drawn, to: expected an output for each of {inputs} inputs, got {len(np.atleast_1d(to))}")
    within("Drawn, to", to, outputs, "outputs")
    begins, stops, share = (int(chance * 2**32 + 0.5) for chance in (begins, stops, share))
    return np.array([begins, burst > 0, stops, share, port, outputs], np.int64), to


def _seeded(seed: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The state of the random numbers: the finalizer of MurmurHash3 of the seed and of four odd steps from it."""
    found = []
    for step in range(1, 5):
        word = (seed + step * 0x9E3779B9) & 0xFFFFFFFF
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            word = ((word ^ (word >> shift)) * factor) & 0xFFFFFFFF
        found.append(word)
    return np.array(found, np.uint32)
