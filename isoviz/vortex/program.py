"""What a program sees of the VIC of its node: the programming model of Gioiosa et al., section III."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from isoviz.checks import amount, count, items
from isoviz.errors import InputError, show
from isoviz.vortex.node import Node
from isoviz.vortex.packet import WORDS, To, group_counter, headers, words
from isoviz.vortex.traffic import Whole, whole_numbers, within

ENTRIES = 8192
"""Entries of the table of DMA transactions. One names words that follow one another."""
WAYS = ("direct", "cached", "DMA")


class Vic:
    """The VIC of a node, for the program on it. Made by `System.run`; a program is given its own.

    - `rank`, `nodes`: its number, and how many there are.
    - `memory`: 2²² words (32 MB), as `vic.memory[:1024]`; indices as those of an array, and a copy is returned. Reading and
      writing are direct, word by word over PCIe; `load` and `store` are for many.
    - `fifo`: `vic.fifo.take()`.

    Words are arrays of 8 bytes an element: `i8`, `u8` or `f8`; what is read is `i8`, and `.view("f8")` shows it as another.
    A number in place of an array stands for all packets of a call. Packets arrive in any order. A packet is counted by the group
    counter that it names, from 0 to 60, at the VIC where it arrives.
    """

    def __init__(self, node: Node) -> None:
        self.rank, self.nodes = node.rank, node.system.nodes
        self.memory, self.fifo = DvMemory(node), FifoRing(node)
        self._node = node

    @property
    def seconds(self) -> float:
        """Modelled seconds since this node began."""
        return (self._node.clock - self._node.began) * self._node.system.cycle

    def compute(self, seconds: float) -> None:
        """The host works for so many modelled seconds."""
        node = self._node.own("compute")
        node.clock += amount("compute", "seconds", seconds) / node.system.cycle

    def set_counter(self, counter: int, number: int, of: Any = None) -> None:
        """Set a group counter to the number of packets to come. It counts down as they arrive.

        `of`: other VICs, to which a packet goes. It may arrive after packets that were sent later, and those are then lost to
        the counter: preset it at its own VIC, and call `barrier` before anybody sends.

        Raises:
            InputError: the counter is reserved, `number` is below 0, or a VIC does not exist.
        """
        node = self._node.own("set_counter")
        counter, number = group_counter("set_counter", counter), count("set_counter", "number", number)
        if of is not None:
            to, values = headers("set_counter", of, counter, None, self.nodes, To.COUNTER, np.array([number]))
            node.send(to, values, "direct")
            return
        node.clock += node.pace["direct"]
        node.reach()
        node.state.set_counter(counter, number, node.at)

    def counter(self, counter: int) -> int:
        """The value of a group counter, read over PCIe; below 0 where packets came before it was set."""
        node = self._node.own("counter")
        counter = group_counter("counter", counter)
        node.reach()
        node.heard()
        return int(node.state.counters[counter])

    def wait(self, counter: int, timeout: float | None = None) -> None:
        """Wait until a group counter has reached zero, at most `timeout` modelled seconds.

        Raises:
            RunError: it did not in time, or nothing is under way that could count it down; with what was expected and is missing.
            InputError: the counter is reserved: for the scratch counter nobody can wait.
        """
        node = self._node.own("wait")
        counter = group_counter("wait", counter)
        node.until(lambda: node.state.zero_at[counter], timeout, lambda: _count_of(node, counter))
        node.state.waited(counter)

    def barrier(self, some: Any = None) -> None:
        """Wait until all nodes, or those that `some` names, are here. Packets that were sent before may arrive after it.

        Raises:
            InputError: `some` does not name this node, or one that does not exist.
            RunError: a node will not come.
        """
        node = self._node.own("barrier")
        members = range(self.nodes) if some is None else whole_numbers("barrier, some", items("barrier, some", some, "nodes"))
        within("barrier, some", np.array(members), self.nodes, "nodes")
        ranks = tuple(sorted({int(each) for each in members}))
        if self.rank not in ranks:
            raise InputError(f"barrier, some: names nodes {', '.join(map(str, ranks))}, and not {self.rank}, which calls it")
        group = node.system.group(ranks)
        to, values = headers("barrier", ranks[0], 0, None, self.nodes, To.BARRIER, np.array([group]))
        node.send(to, values, "direct")
        releases, here = node.state.releases.setdefault(group, []), node.system.here[group]
        here.add(self.rank)
        node.until(lambda: releases[0] if releases else None, None, lambda: _absent(ranks, here))
        here.discard(self.rank)
        releases.pop(0)
        node.state.looked()

    def send(self, vics: Any, addresses: Any, values: Any, counter: int | None = None, *, by: str = "DMA") -> None:
        """Send words, one packet each: `values[i]` to the word `addresses[i]` of the memory of VIC `vics[i]`.

        - `addresses`: `isoviz.vortex.FIFO` sends to the FIFOs. Where one is full, its VIC sends the word back: see `returned`.
        - `by`, the way over PCIe: `"direct"` writes headers and values; `"cached"` writes values, and the headers are in the
          memory already; `"DMA"` has an engine fetch the values.

        When it returns, the arrays may be changed; the packets are under way.

        Raises:
            InputError: a VIC does not exist, an address is beyond 32 MB, a counter is reserved, or lengths differ.
        """
        node = self._node.own("send")
        if by not in WAYS:
            raise InputError(f"send, by: expected one of {', '.join(map(repr, WAYS))}, got {show(by)}")
        node.send(*headers("send", vics, addresses, counter, self.nodes, To.MEMORY, words("send, values", values)), by)

    def send_packets(self, to: Whole, values: Whole) -> None:
        """Send words with headers that `Aggregated` has checked."""
        self._node.own("send").send(to, values, "DMA")

    def query(self, vics: Any, addresses: Any, reply_to: tuple[Any, Any], counter: int | None = None) -> None:
        """Ask for the words `addresses[i]` of VIC `vics[i]`: the VICs send them to `reply_to` without their hosts.

        `reply_to`: VICs, which may be any, and addresses there, or `FIFO`. `counter` counts the replies where they arrive.
        """
        node = self._node.own("query")
        if len(items("query, reply_to", reply_to, "a pair of VICs and addresses")) != 2:
            raise InputError(f"query, reply_to: expected a pair of VICs and addresses, got {show(reply_to)}")
        replies = headers("query, reply_to", *reply_to, counter, self.nodes)[0]
        node.send(*headers("query", vics, addresses, None, self.nodes, To.QUERY, replies), "direct")

    def send_on(self, vics: Any, addresses: Any, values: Any) -> None:
        """Send words that VICs send on: the word at `addresses[i]` of VIC `vics[i]` is the header with which that VIC sends
        `values[i]` on, without its host. `isoviz.vortex.header` makes such words."""
        node = self._node.own("send_on")
        node.send(*headers("send_on", vics, addresses, None, self.nodes, To.SEND_ON, words("send_on, values", values)), "DMA")

    def returned(self) -> tuple[Whole, Whole]:
        """Words that came back, as the FIFOs they were sent to were full: the VICs, and the values. They are given once."""
        node = self._node.own("returned")
        node.reach()
        found, node.state.returned = node.state.returned, []
        node.heard()
        return tuple(np.array(found, np.int64).reshape(-1, 2).T)  # type: ignore[return-value]  # two rows

    def load(self, addresses: Any, values: Any, *, wait: bool = True) -> None:
        """A DMA engine writes an array into the own memory, from a first address on, or at an array of addresses.

        With `wait=False` it does so while the program goes on; `finish` waits for it. Loads and stores overlap.

        Raises:
            InputError: an address is beyond 32 MB, or the addresses have more than 8,192 runs, the entries of the DMA table.
        """
        node = self._node.own("load")
        array = words("load, values", values).copy()
        place, cost = _entries("load", addresses, len(array)), self._dma(len(array))
        state = node.state
        state.engine_in = max(node.clock, state.engine_in) + cost

        def written() -> None:
            state.memory[place] = array

        node.system.later(math.ceil(state.engine_in + node.pace["latency"]), written)
        if wait:
            self.finish()

    def store(self, addresses: Any, into: Any, *, wait: bool = True) -> None:
        """A DMA engine reads the own memory into a host array, from an address on, or at an array of addresses: see `load`."""
        node = self._node.own("store")
        if not isinstance(into, np.ndarray) or not into.flags.writeable or not into.flags.c_contiguous or into.itemsize != 8:
            raise InputError(
                f"store, into: expected a contiguous array of 8 bytes an element that can be written, got {show(into)}"
            )
        flat = into.reshape(-1).view(np.int64)
        place, state = _entries("store", addresses, len(flat)), node.state
        state.engine_out = max(node.clock, state.engine_out) + self._dma(len(flat))

        def read() -> None:
            flat[:] = state.memory[place]
            state.looked()

        node.system.later(math.ceil(state.engine_out + node.pace["latency"]), read)
        if wait:
            self.finish()

    def finish(self) -> None:
        """Wait until loads and stores are done."""
        node = self._node.own("finish")
        node.clock = max(node.clock, node.state.engine_in, node.state.engine_out)
        node.reach()
        node.heard()

    def _dma(self, length: int) -> float:
        pace = self._node.pace
        return pace["start"] + length * pace["DMA"]


class DvMemory:
    """The memory of a VIC as its program reads and writes it over PCIe."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def __len__(self) -> int:
        return WORDS

    def __getitem__(self, place: Any) -> Any:
        node = self._node.own("memory")
        place = _indexed(place)
        node.reach()
        found = node.state.memory[place].copy()
        node.state.looked()
        node.heard(found.size)
        return found

    def __setitem__(self, place: Any, values: Any) -> None:
        node = self._node.own("memory")
        place = _indexed(place)
        array = words("memory", values)
        size = node.state.memory[place].size
        if len(array) not in (1, size):
            raise InputError(f"memory: {len(array)} values for {size} words")
        node.clock += size * node.pace["direct"]
        node.reach()
        node.state.memory[place] = array if isinstance(place, slice | np.ndarray) else array[0]


class FifoRing:
    """The FIFO of a VIC, drained into a ring in the memory of its host."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def take(self, least: int = 0, timeout: float | None = None) -> Whole:
        """All words that are in the ring, in the order of their arrival; they leave it. Waits until there are `least`.

        Raises:
            RunError: they did not come within `timeout` modelled seconds, or nothing is under way.
        """
        node = self._node.own("fifo.take")
        count("fifo.take", "least", least)
        fifo = node.state.fifo
        node.until(
            lambda: fifo.when(least), timeout, lambda: f"{least} words in the FIFO of VIC {node.rank}, which has {fifo.held}"
        )
        heard = node.clock - node.pace["latency"]
        node.settle(heard)
        node.state.looked()
        return fifo.take(heard)


def _count_of(node: Node, counter: int) -> str:
    """What a counter waits for."""
    state = node.state
    expected, left, early = (int(each[counter]) for each in (state.expected, state.counters, state.early))
    text = f"counter {counter} of VIC {node.rank}: expected {expected} packets, {max(left, 0)} missing"
    if early:
        text += f"; {early} came before the counter was set, and so it cannot reach zero"
    return text if left >= 0 else f"{text}; {-left} came and nobody had set it"


def _absent(ranks: tuple[int, ...], here: set[int]) -> str:
    """Which nodes did not come to a barrier."""
    absent = [str(rank) for rank in ranks if rank not in here]
    return f"a barrier of {len(ranks)} nodes, to which {', '.join(absent)} did not come"


def _indexed(place: Any) -> Any:
    """An index of the memory: a slice, a number, or an array of numbers."""
    if isinstance(place, slice):
        try:
            first, end, step = place.indices(WORDS)
            wrong = [each for each in (place.start, place.stop) if each is not None and each > WORDS]
        except TypeError:
            raise InputError(
                f"memory: expected whole numbers in a slice, got {show(place.start)} to {show(place.stop)}"
            ) from None
        if wrong:
            raise InputError(f"memory: {wrong[0]} is beyond the {WORDS} words of a VIC")
        return slice(first, end if end >= 0 else None, step)
    if isinstance(place, np.ndarray | list):
        found = whole_numbers("memory", place)
        within("memory", found, WORDS, "words in the memory of a VIC")
        return found
    return count("memory", "address", place, high=WORDS - 1)


def _entries(call: str, addresses: Any, length: int) -> Any:
    """A slice or an array of the addresses of a DMA transaction."""
    if isinstance(addresses, int | np.integer):
        first = count(call, "addresses", addresses, high=WORDS)
        if first + length > WORDS:
            raise InputError(f"{call}, addresses: {length} words from {first} on end beyond the {WORDS} words of a VIC")
        return slice(first, first + length)
    found = whole_numbers(f"{call}, addresses", addresses)
    within(f"{call}, addresses", found, WORDS, "words in the memory of a VIC")
    if len(found) != length:
        raise InputError(f"{call}: expected arrays of one length, got {len(found)} addresses for {length} words")
    runs = 1 + int((np.diff(found) != 1).sum())
    if runs > ENTRIES:
        raise InputError(f"{call}, addresses: {runs:,} runs of words; the DMA table has {ENTRIES:,} entries")
    return found
