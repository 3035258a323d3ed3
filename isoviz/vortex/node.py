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

from isoviz.checks import amount
from isoviz.errors import InputError, RankError, RunError, in_words
from isoviz.vortex.passage import UnderWay, packets
from isoviz.vortex.traffic import Whole
from isoviz.vortex.vic import VicState


class Stopped(BaseException):
    """The error of another node ends this program."""


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
        self.clock, self.at, self.began = clock, 0, clock
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
            if isinstance(error, InputError):
                raise InputError(f"node {self.rank}: {error}") from error
            if not isinstance(error, Exception):
                raise error
            what = str(error) if isinstance(error, RunError) else in_words(error)
            raise RankError(f"node {self.rank}: {what}", rank=self.rank) from error

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
            raise InputError(f"{call}: the VIC of node {self.rank} is for the program on that node, while it runs")
        return self

    def reach(self) -> None:
        """What the host asks for now reaches the VIC in the cycle `at`: let everything before it happen."""
        self.settle(self.clock + self.pace["latency"])

    def settle(self, cycle: float) -> None:
        """Let everything before a cycle happen."""
        self.at = math.ceil(cycle)
        if self.at > self.system.under_way.now:
            self._pause()

    def heard(self, words: int = 0) -> None:
        """What the VIC answers in the cycle `at` is at the host, and so many words were read."""
        self.clock = self.at + self.pace["latency"] + words * self.pace["read"]

    def until(self, condition: Callable[[], float | None], timeout: float | None, what: Callable[[], str]) -> None:
        """Wait for something that the VIC tells its host: `condition` gives the cycle in which it came, or None.

        Raises:
            RunError: it did not come.
        """
        self._deadline = math.inf
        if timeout is not None:
            self._deadline = math.ceil(self.clock + amount("wait", "timeout", timeout, high=1e6) / self.system.cycle)
        self.settle(self.clock - self.pace["latency"])
        found = condition()
        if found is None or found > self.system.under_way.now:
            self._condition = condition
            self._pause()
            self._condition = None
            found = condition()
        if found is None or found > self._deadline:
            limit = "nothing is under way that could end it" if timeout is None else f"timed out after {timeout:g} s"
            raise RunError(f"waits for {what()}; {limit}")
        self.clock = max(self.clock, found + self.pace["latency"])

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

    def _pause(self) -> None:
        self._back.release()
        self._go.acquire()
        if self._stopped:
            raise Stopped
