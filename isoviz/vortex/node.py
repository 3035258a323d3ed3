"""A node while its program runs: its thread, and its clock in cycles of the switch.

A call of the program moves the clock on by what it costs. Before it looks at anything, it lets all other nodes come as far: so
the order of all that happens depends on modelled time alone. One thread runs at a time.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from isoviz.vortex.packet import To, headers
from isoviz.vortex.passage import UnderWay, packets
from isoviz.vortex.systems import Stopped, absent, awaited, never, not_own, of_node, too_few
from isoviz.vortex.traffic import Whole
from isoviz.vortex.vic import VicState


class Surroundings(Protocol):
    """What a node needs of its system: `cycle` in seconds, the node that runs (`active`), who is at each barrier (`here`)."""

    nodes: int
    cycle: float
    under_way: UnderWay
    active: Node | None
    here: list[set[int]]

    def group(self, ranks: tuple[int, ...], /) -> int:
        """The number of a barrier of some nodes."""

    def later(self, cycle: int, event: Callable[[], None], /) -> None:
        """Have something happen at a cycle."""


class Node:
    """A node, its VIC's state and the cycles that things cost: `pace`."""

    def __init__(self, system: Surroundings, state: VicState, pace: dict[str, float], clock: float) -> None:
        self.system, self.rank, self.state, self.pace = system, state.rank, state, pace
        self.nodes = system.nodes
        self.clock, self.at, self._began = clock, 0, clock
        self.result: Any = None
        self.done = False
        self._error: BaseException | None = None
        self._condition: Callable[[], float | None] | None = None
        self._deadline = math.inf
        self._go, self._back, self._stopped = threading.Semaphore(0), threading.Semaphore(0), False
        self._thread = threading.Thread(target=lambda: None)

    def start(self, program: Callable[[], Any]) -> None:
        """Start the program's thread; the program begins with the first `go`."""
        self._thread = threading.Thread(target=self._run, args=(program,), name=f"isoviz-node-{self.rank}", daemon=True)
        self._thread.start()

    def _run(self, program: Callable[[], Any]) -> None:
        self._go.acquire()
        try:
            if not self._stopped:
                self.result = program()
        except Stopped:
            pass
        except BaseException as error:  # noqa: BLE001  # told by `go`
            self._error = error
        self.done = True
        self._back.release()

    def go(self) -> None:
        """Let the program go on until it looks at something that is to come.

        Raises:
            InputError, RankError: what went wrong in it, with the number of the node.
        """
        self.system.active = self
        self._go.release()
        self._back.acquire()
        self.system.active = None
        if (error := self._error) is not None:
            if not isinstance(error, Exception):
                raise error
            raise of_node(self.rank, error) from error

    def end(self) -> None:
        """End the program where it is, as far as it lets itself be ended."""
        self._stopped = True
        for _ in range(3):
            if self.done or not self._thread.is_alive():
                break
            self._go.release()
            self._back.acquire(timeout=1)

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
        if self.system.active is not self or threading.current_thread() is not self._thread:
            raise not_own(call, self.rank)
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
            begin = max(begin, self.state.engine_in) + self.pace["start"]
        self.clock = begin + len(to) * pace
        if by == "DMA":
            self.state.engine_in = self.clock
        times = np.ceil(begin + self.pace["latency"] + pace * np.arange(1, len(to) + 1)).astype(np.int64)
        self.system.under_way.send(packets(times, self.rank, to, values))

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

    def write(self, place: Any, values: Whole, size: int) -> None:
        """Write words of the memory, by direct writes."""
        self.clock += size * self.pace["direct"]
        self._reach()
        self.state.memory[place] = values if isinstance(place, slice | np.ndarray) else values[0]

    def load(self, place: Any, values: Whole) -> None:
        """Have the engine that fetches from the host do so, after what it has to do."""
        state, array = self.state, values.copy()
        state.engine_in = max(self.clock, state.engine_in) + self._dma(len(array))

        def written() -> None:
            state.memory[place] = array

        self.system.later(math.ceil(state.engine_in + self.pace["latency"]), written)

    def store(self, place: Any, into: Whole) -> None:
        """Have the engine that writes to the host do so, after what it has to do."""
        state = self.state
        state.engine_out = max(self.clock, state.engine_out) + self._dma(len(into))

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
            self._pause()

    def _heard(self, words: int = 0) -> None:
        """What the VIC answers in the cycle `at` is at the host, and so many words were read."""
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
            self._pause()
            self._condition = None
            found = condition()
        if found is None or found > self._deadline:
            raise never(what(), timeout)
        self.clock = max(self.clock, found + self.pace["latency"])

    def _dma(self, length: int) -> float:
        return self.pace["start"] + length * self.pace["DMA"]

    def _pause(self) -> None:
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise Stopped
