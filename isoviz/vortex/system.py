"""VICs and their switch, simulated: programs of many nodes run on them in modelled time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import count as numbers
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from isoviz.checks import amount, count, expect, is_one_of
from isoviz.errors import InputError, show
from isoviz.vortex.packet import MOST_NODES, To, entries, goes_to, headers, words
from isoviz.vortex.program import Vic
from isoviz.vortex.switch import Switch
from isoviz.vortex.systems import (
    ProgramRun,
    ProgramThread,
    System,
    absent,
    awaited,
    came_back,
    never,
    of_node,
    run_threads,
    too_few,
)
from isoviz.vortex.traffic import Whole
from isoviz.vortex.vic import HEADER, TIME, AnyOrder, Fifo, InSwitch, Passage, UnderWay, VicState, packets

# A node while its program runs: its thread, and its clock in cycles of the switch.
#
# A call of the program moves the clock on by what it costs. Before it looks at anything, it lets all other nodes come
# as far: so the order of all that happens depends on modelled time alone. One thread runs at a time.


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


ORDERS = ("switch", "random")


@dataclass(frozen=True)
class Costs:
    """What PCIe, a VIC and a cycle cost: seconds, and bytes of data per second.

    - `direct`, `cached`, `dma`: sending by writes of headers and values, of values alone, and by DMA (Gioiosa et al., section V:
      0.5 GB/s, "a little higher", 4.4 GB/s). `read`: direct reads (section III: DMA is 8 times faster).
    - `start`: a DMA transaction with one entry of the DMA table; `entry`: each further entry. Every run of words has an entry,
      and a further one for each further huge page of 4 MB.
    - `latency`: one way over PCIe; `turn`: until a VIC answers the query of another VIC; `cycle`: a cycle of the switch. These
      five are assumed, and so is the figure of `cached`.
    """

    direct: float = 0.5e9
    cached: float = 0.6e9
    dma: float = 4.4e9
    read: float = 0.55e9
    start: float = 0.2e-6
    entry: float = 0.05e-6
    latency: float = 0.5e-6
    turn: float = 0.1e-6
    cycle: float = 1.07e-9

    def __post_init__(self) -> None:
        for field in fields(self):
            amount("Costs", field.name, getattr(self, field.name), high=1e15, open_low=field.name not in ("start", "entry"))
        if min(self.latency, self.turn) < self.cycle:
            raise InputError("Costs: expected a latency and a turn of at least one cycle")


def simulated(
    nodes: int,
    seed: int = 0,
    *,
    switch: Switch | None = None,
    order: str = ORDERS[0],
    costs: Costs | None = None,
    fifo: int = 4096,
    ring: int = 1 << 20,
    skew: float = 1e-6,
) -> System:
    """Nodes of a Data Vortex, each with a VIC, simulated in this process.

    - `seed` decides how late each node begins, at most `skew` seconds. The same seed gives the same run.
    - `switch`: by default a switch with 4 angles and a height for each node, at least 32. One angle takes input.
    - `order`: `"switch"` simulates the switch packet by packet. With `"random"` each packet takes a random time of up to a
      microsecond, so packets overtake each other far more often.
    - `costs`: what PCIe and a cycle cost.
    - `fifo`, `ring`: how many words the FIFO of a VIC and the ring at its host hold.

    Raises:
        InputError: there are more nodes than ports, or an argument is out of range.
        MissingPartError: Numba is not installed, which the switch needs.
    """
    return Simulated(nodes, seed, switch, order, Costs() if costs is None else costs, (fifo, ring), skew)


class Simulated(System):
    """Simulated VICs and a switch. Made by `simulated`."""

    def __init__(
        self, nodes: int, seed: int, switch: Switch | None, order: str, costs: Costs, room: tuple[int, int], skew: float
    ) -> None:
        call = "simulated"
        super().__init__(count(call, "nodes", nodes, low=1, high=MOST_NODES))
        seed = count(call, "seed", seed, high=(1 << 32) - 1)
        expect(f"{call}, costs", costs, Costs, "isoviz.vortex.Costs")
        if switch is None:
            switch = Switch(max(32, 1 << (self.nodes - 1).bit_length()), 4, [0])
        expect(f"{call}, switch", switch, Switch, "a Switch")
        ports = min(switch.inputs_count, switch.outputs_count)
        if self.nodes > ports:
            raise InputError(f"{call}: {self.nodes} nodes; the switch has {ports} ports for them")
        if not is_one_of(order, ORDERS):
            raise InputError(f"{call}, order: expected one of {', '.join(map(repr, ORDERS))}, got {show(order)}")
        for name, value in zip(("fifo", "ring"), room, strict=True):
            count(call, name, value, low=1, high=1 << 30)
        self.cycle = cycle = costs.cycle
        self.pace = {"direct": costs.direct, "cached": costs.cached, "DMA": costs.dma, "read": costs.read}
        self.pace = {name: 8 / rate / cycle for name, rate in self.pace.items()}
        self.pace |= {
            "latency": float(math.ceil(costs.latency / cycle)),
            "start": costs.start / cycle,
            "entry": costs.entry / cycle,
        }
        self._turn = math.ceil(costs.turn / cycle)
        self._step = 2 * int(self.pace["latency"])  # what a host hears and then sends takes longer
        self._draw, self._skew = np.random.default_rng(seed), amount(call, "skew", skew, high=1) / cycle
        passage: Passage = AnyOrder(max(1, int(1e-6 / cycle)), seed) if order == ORDERS[1] else InSwitch(switch, seed)
        self.under_way = UnderWay(passage)
        self._groups: list[tuple[int, ...]] = []
        self.here: list[set[int]] = []
        self.vics = [
            VicState(rank, self.nodes, self._turn, Fifo(*room, self.pace["DMA"]), self._groups, self.races)
            for rank in range(self.nodes)
        ]
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = numbers()
        self._came: list[Whole] = []
        self._settled = 0

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        super().__exit__(kind, error, trace)
        self.vics.clear()

    def _run(self, program: Callable[..., Any], arguments: tuple[Any, ...]) -> ProgramRun:
        begin, sent = self.under_way.now, self.under_way.sent
        skews = self._draw.random(self.nodes) * self._skew
        every = [Node(self, vic, self.pace, begin + skew) for vic, skew in zip(self.vics, skews.tolist(), strict=True)]
        run_threads(every, [Vic(node) for node in every], program, arguments, partial(self._go, every))
        times = tuple((node.clock - begin) * self.cycle for node in every)
        return ProgramRun(tuple(node.result for node in every), max(times), times, self.under_way.sent - sent, tuple(self.races))

    def group(self, ranks: tuple[int, ...]) -> int:
        """The number of a barrier of some nodes."""
        if ranks not in self._groups:
            self._groups.append(ranks)
            self.here.append(set())
        return self._groups.index(ranks)

    def later(self, cycle: int, event: Callable[[], None]) -> None:
        """Have something happen at a cycle."""
        heapq.heappush(self._events, (cycle, next(self._numbers), event))

    def _go(self, every: Sequence[Node]) -> None:
        """Run each node until it looks at something, then let time pass, until all have ended and nothing is under way."""
        running = list(every)
        while True:
            for node in running:
                if node.next_cycle() <= self.under_way.now:
                    node.go()
            running = [node for node in running if not node.done]
            if not running and not self.under_way.busy and not self._events and not self._came:
                break
            self._pass_time(running)
        for node in every:
            if back := node.state.returned:
                raise of_node(node.rank, came_back(back))

    def _pass_time(self, running: Sequence[Node]) -> None:
        """On to the next cycle at which something may happen at a host, or a VIC may have sent something by itself."""
        ends = [node.next_cycle() for node in running]
        if self._events:
            ends.append(self._events[0][0])
        now = self.under_way.now
        if self.under_way.busy:
            ends.append(now + (min(self._turn, self._step) if self.under_way.asking else self._step))
        until = min(ends, default=math.inf)
        if until == math.inf and self._came:
            self._arrive(None)
            return
        if until == math.inf:
            running[0].go()  # its wait finds that nothing can end it
            return
        asking = self.under_way.asking > 0
        self._came.append(self.under_way.until(int(max(until, now))))
        now = self.under_way.now
        all_of_them = asking or self._events or now >= self._settled + self._step
        looking = None if all_of_them or not running else [node.rank for node in running if node.looks(now)]
        if looking is None or looking:
            self._arrive(looking)
        while self._events and self._events[0][0] <= now:
            heapq.heappop(self._events)[2]()

    def _arrive(self, looking: list[int] | None) -> None:
        """Packets arrive at VICs: all of them (None), or those whose hosts look now. The others keep for a while."""
        came = np.concatenate(self._came, axis=1) if len(self._came) > 1 else self._came[0]
        targets = goes_to(came[HEADER])
        ranks = np.unique(targets).tolist() if looking is None else looking
        for rank in ranks:
            mine = targets == rank
            if looking is None or mine.any():
                sent = self.vics[rank].arrive(came.compress(mine, axis=1))
                np.maximum(sent[TIME], self.under_way.now, out=sent[TIME])  # words that a full FIFO sends back may be late
                self.under_way.send(sent)
        if looking is None:
            self._came, self._settled = [], self.under_way.now
        else:
            self._came = [came.compress(~np.isin(targets, looking), axis=1)]
