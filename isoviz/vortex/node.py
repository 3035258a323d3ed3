"""A node while its program runs: its thread, and its clock in cycles of the switch.

A call of the program moves the clock on by what it costs. Before it looks at anything, it lets all other nodes come as far: so
the order of all that happens depends on modelled time alone. One thread runs at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from isoviz.vortex.packet import To, entries, headers, words
from isoviz.vortex.passage import UnderWay, packets
from isoviz.vortex.systems import absent, awaited, never, too_few
from isoviz.vortex.threads import ProgramThread
from isoviz.vortex.traffic import Whole
from isoviz.vortex.vic import VicState


class Surroundings(Protocol):
    """What a node needs of its system: `cycle` in seconds, and who is at each barrier (`here`)."""

    nodes: int
    cycle: float
    under_way: UnderWay
    here: list[set[int]]

    def group(self, ranks: tuple[int, ...], /) -> int:
        """The number of a barrier of some nodes."""

    def later(self, cycle: int, event: Callable[[], None], /) -> None:
        """Have something happen at a cycle."""


class Node(ProgramThread):
    """A node, its VIC's state and the cycles that things cost: `pace`."""

    def __init__(self, system: Surroundings, state: VicState, pace: dict[str, float], clock: float) -> None:
        super().__init__(state.rank)
        self.system, self.state, self.pace = system, state, pace
        self.nodes = system.nodes
        self.clock, self.at, self._began = clock, 0, clock
        self._condition: Callable[[], float | None] | None = None
        self._deadline = math.inf

    def next_cycle(self) -> float:
        """The cycle in which the program may go on, as far as is known."""
        if self._condition is None:
            return self.at
        found = self._condition()
        return self._deadline if found is None else min(self._deadline, math.ceil(found))

    def looks(self, now: int) -> bool:
        """Whether the program may look at what has come by now."""
        return self._condition is not None or self.at <= now

    def own(self, call: str) -> Node:
        """Check that the program of this node runs, and calls.

        Raises:
            InputError: it does not.
        """
        self.check_own(call, "the VIC")
        return self

    # ---- what a Vic has its host do

    @property
    def seconds(self) -> float:
        """Modelled seconds since this node began."""
        return (self.clock - self._began) * self.system.cycle

    def compute(self, seconds: float) -> None:
        """Move the clock on."""
        self.clock += seconds / self.system.cycle

    def set_counter(self, counter: int, number: int) -> None:
        """Set a group counter of the own VIC, by a direct write."""
        self.clock += self.pace["direct"]
        self._reach()
        self.state.set_counter(counter, number, self.at)

    def counter(self, counter: int) -> int:
        """The value of a group counter, by a direct read."""
        self._reach()
        self._heard()
        return int(self.state.counters[counter])

    def wait(self, counter: int, timeout: float | None) -> None:
        """Wait until the VIC has told that a counter is zero."""
        state = self.state

        def what() -> str:
            expected, left, early = (int(each[counter]) for each in (state.expected, state.counters, state.early))
            return awaited(self.rank, counter, expected, left, early)

        self._until(lambda: state.zero_at[counter], timeout, what)
        state.waited(counter)

    def barrier(self, ranks: tuple[int, ...]) -> None:
        """Send a packet to the first one of them, whose VIC releases all when it has one of each."""
        group = self.system.group(ranks)
        to, values = headers("barrier", ranks[0], 0, None, self.nodes, To.BARRIER, np.array([group]))
        self.send(to, values, "direct")
        releases, here = self.state.releases.setdefault(group, []), self.system.here[group]
        here.add(self.rank)
        self._until(lambda: releases[0] if releases else None, None, lambda: absent(ranks, here))
        here.discard(self.rank)
        releases.pop(0)
        self.state.looked()

    def send(self, to: Whole, values: Whole, by: str) -> None:
        """Send packets over PCIe: the clock is where the last one is on its way."""
        begin, pace = self.clock, self.pace[by]
        if by == "DMA":
            begin = max(begin, self.state.engine_in) + self._begins(entries(slice(0), len(to)))
        self.clock = begin + len(to) * pace
        if by == "DMA":
            self.state.engine_in = self.clock
        times = np.ceil(begin + self.pace["latency"] + pace * np.arange(1, len(to) + 1)).astype(np.int64)
        self.system.under_way.send(packets(times, self.rank, to, values))

    def send_one(self, header: int, value: float, by: str) -> None:
        """Send a packet."""
        self.send(np.array([header]), words("send", value), by)

    def returned(self) -> list[tuple[int, int]]:
        """What has come back, read over PCIe."""
        self._reach()
        found, self.state.returned = self.state.returned, []
        self._heard()
        return found

    def read(self, place: Any) -> Any:
        """A copy of words of the memory, by direct reads."""
        self._reach()
        found = self.state.memory[place].copy()
        self.state.looked()
        self._heard(found.size)
        return found

    def own_words(self, place: Whole) -> Whole:
        """Words of the memory as the VIC reads them, when the DMA before is done."""
        self._settle(max(self.clock, self.state.engine_in) + self.pace["latency"])
        self.state.looked()
        found: Whole = self.state.memory[place]
        return found

    def write(self, place: Any, values: Whole, size: int) -> None:
        """Write words of the memory, by direct writes."""
        self.clock += size * self.pace["direct"]
        self._reach()
        self.state.memory[place] = values if isinstance(place, slice | np.ndarray) else values[0]

    def load(self, place: Any, values: Whole) -> None:
        """Have the engine that fetches from the host do so, after what it has to do."""
        state, array = self.state, values.copy()
        state.engine_in = max(self.clock, state.engine_in) + self._dma(place, len(array))

        def written() -> None:
            state.memory[place] = array

        self.system.later(math.ceil(state.engine_in + self.pace["latency"]), written)

    def store(self, place: Any, into: Whole) -> None:
        """Have the engine that writes to the host do so, after what it has to do."""
        state = self.state
        state.engine_out = max(self.clock, state.engine_out) + self._dma(place, len(into))

        def read() -> None:
            into[:] = state.memory[place]
            state.looked()

        self.system.later(math.ceil(state.engine_out + self.pace["latency"]), read)

    def finish(self) -> None:
        """Wait until both engines are done."""
        self.clock = max(self.clock, self.state.engine_in, self.state.engine_out)
        self._reach()
        self._heard()

    def take(self, least: int, timeout: float | None) -> Whole:
        """Take what is in the ring."""
        fifo = self.state.fifo
        self._until(lambda: fifo.when(least), timeout, lambda: too_few(self.rank, least, fifo.held))
        heard = self.clock - self.pace["latency"]
        self._settle(heard)
        self.state.looked()
        return fifo.take(heard)

    # ---- its clock

    def _reach(self) -> None:
        """What the host asks for now reaches the VIC in the cycle `at`: let everything before it happen."""
        self._settle(self.clock + self.pace["latency"])

    def _settle(self, cycle: float) -> None:
        """Let everything before a cycle happen."""
        self.at = math.ceil(cycle)
        if self.at > self.system.under_way.now:
            self.pause()

    def _heard(self, words: int = 0) -> None:
        """The answer that the VIC gives in the cycle `at` is at the host, which has read `words` of it directly."""
        self.clock = self.at + self.pace["latency"] + words * self.pace["read"]

    def _until(self, condition: Callable[[], float | None], timeout: float | None, what: Callable[[], str]) -> None:
        """Wait for something that the VIC tells its host: `condition` gives the cycle in which it came, or None.

        Raises:
            RunError: it did not come.
        """
        self._deadline = math.inf
        if timeout is not None:
            self._deadline = math.ceil(self.clock + timeout / self.system.cycle)
        self._settle(self.clock - self.pace["latency"])
        found = condition()
        if found is None or found > self.system.under_way.now:
            self._condition = condition
            self.pause()
            self._condition = None
            found = condition()
        if found is None or found > self._deadline:
            raise never(what(), timeout)
        self.clock = max(self.clock, found + self.pace["latency"])

    def _begins(self, entries_of_table: int) -> float:
        return self.pace["start"] + (entries_of_table - 1) * self.pace["entry"]

    def _dma(self, place: Any, length: int) -> float:
        return self._begins(entries(place, length)) + length * self.pace["DMA"]
