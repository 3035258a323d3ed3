"""What a program sees of the VIC of its node: the programming model of Gioiosa et al., section III."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from isoviz.checks import amount, count, flag_argument, is_one_of, items
from isoviz.errors import InputError, show
from isoviz.vortex.packet import ENTRIES, WORDS, To, entries, group_counter, headers, one_header, words
from isoviz.vortex.traffic import Whole, whole_numbers, within

WAYS = ("direct", "cached", "DMA")


class Host(Protocol):
    """The host of a VIC, simulated or a rank: what a `Vic` has it do, with arguments that are checked. Errors are those of `Vic`.

    A `place` is an index of the memory: a number, a slice or an array.
    """

    rank: int
    nodes: int

    @property
    def seconds(self) -> float: ...

    def own(self, call: str, /) -> Self:
        """Check that the program of this node runs, and calls."""

    def compute(self, seconds: float, /) -> None: ...

    def set_counter(self, counter: int, number: int, /) -> None: ...

    def counter(self, counter: int, /) -> int: ...

    def wait(self, counter: int, timeout: float | None, /) -> None: ...

    def barrier(self, ranks: tuple[int, ...], /) -> None: ...

    def send(self, to: Whole, values: Whole, by: str, /) -> None:
        """Send packets of any kind: their headers, and their values."""

    def send_one(self, header: int, value: float, by: str, /) -> None:
        """Send a packet to a memory."""

    def returned(self) -> list[tuple[int, int]] | Whole:
        """VICs and words, which are given once."""

    def read(self, place: Any, /) -> Any: ...

    def own_words(self, place: Whole, /) -> Whole: ...

    def write(self, place: Any, values: Whole, size: int, /) -> None:
        """Write `size` words; one value may stand for all."""

    def load(self, place: Any, values: Whole, /) -> None: ...

    def store(self, place: Any, into: Whole, /) -> None: ...

    def finish(self) -> None: ...

    def take(self, least: int, timeout: float | None, /) -> Whole: ...


class Vic:
    """The VIC of a node, for the program on that node. `System.run` makes it.

    - `rank`, `nodes`: the number of this node, and the number of nodes.
    - `memory`: 2²² words (32 MB), indexed like an array: `vic.memory[:1024]` returns a copy. Reading and writing go word by word
      over PCIe; use `load` and `store` for many words.
    - `fifo`: `vic.fifo.take()`.

    Words are arrays with elements of 8 bytes: `i8`, `u8` or `f8`. Words that are read are `i8`; `.view("f8")` gives them another
    type. A number in place of an array stands for all packets of a call. Packets arrive in any order. A packet is counted by the
    group counter that it names, from 0 to 60, at the VIC where it arrives.
    """

    def __init__(self, host: Host) -> None:
        self.rank, self.nodes = host.rank, host.nodes
        self.memory, self.fifo = DvMemory(host), FifoRing(host)
        self._host = host

    @property
    def seconds(self) -> float:
        """Seconds since this node began: modelled ones, or on ranks measured ones."""
        return self._host.seconds

    def compute(self, seconds: float) -> None:
        """Let the host work for `seconds` of modelled time. On ranks this does nothing: real work takes real time."""
        self._host.own("compute").compute(amount("compute", "seconds", seconds))

    def set_counter(self, counter: int, number: int, of: Any = None) -> None:
        """Set a group counter to the number of expected packets. It counts down as they arrive.

        `of` names other VICs, whose counter is then set by a packet. That packet may arrive after packets that were sent later,
        which are then not counted. So set a counter at its own VIC, and call `barrier` before any node sends.

        Raises:
            InputError: the counter is reserved, `number` is below 0, or a VIC does not exist.
        """
        host = self._host.own("set_counter")
        counter, number = group_counter("set_counter", counter), count("set_counter", "number", number)
        if of is None:
            host.set_counter(counter, number)
        else:
            to, values = headers("set_counter", of, counter, None, self.nodes, To.COUNTER, np.array([number]))
            host.send(to, values, "direct")

    def counter(self, counter: int) -> int:
        """The value of a group counter, read over PCIe; below 0 if packets arrived before it was set."""
        return self._host.own("counter").counter(group_counter("counter", counter))

    def wait(self, counter: int, timeout: float | None = None) -> None:
        """Wait until a group counter has reached zero, at most `timeout` modelled seconds, or on ranks measured ones.

        Raises:
            RunError: it did not reach zero in time, or nothing is under way that could count it down. The message has the
                expected and the missing number.
            InputError: the counter is reserved, such as the scratch counter.
            RankLost: a rank is lost.
        """
        self._host.own("wait").wait(group_counter("wait", counter), _timeout(timeout))

    def barrier(self, some: Any = None) -> None:
        """Wait until all nodes, or those that `some` names, are here. Packets that were sent before may arrive after it.

        Raises:
            InputError: `some` does not name this node, or one that does not exist.
            RunError: a node will not come.
            RankLost: a rank is lost.
        """
        host = self._host.own("barrier")
        members = range(self.nodes) if some is None else whole_numbers("barrier, some", items("barrier, some", some, "nodes"))
        within("barrier, some", np.array(members), self.nodes, "nodes")
        ranks = tuple(sorted({int(each) for each in members}))
        if self.rank not in ranks:
            raise InputError(f"barrier, some: names nodes {', '.join(map(str, ranks))}, and not {self.rank}, which calls it")
        host.barrier(ranks)

    def send(self, vics: Any, addresses: Any, values: Any, counter: int | None = None, *, by: str = "DMA") -> None:
        """Send words, one packet each: `values[i]` to the word `addresses[i]` of the memory of VIC `vics[i]`.

        - `addresses`: `isoviz.vortex.FIFO` sends to the FIFOs. If a FIFO is full, its VIC sends the word back (`returned`).
        - `by`: the way over PCIe. `"direct"` writes headers and values. `"cached"` writes values; the headers are already in the
          memory of the VIC. With `"DMA"` a DMA engine fetches the values.

        When it returns, the packets are under way and the arrays may be changed.

        Raises:
            InputError: a VIC does not exist, an address is beyond 32 MB, a counter is reserved, or lengths differ.
        """
        host = self._host.own("send")
        if not is_one_of(by, WAYS):
            raise InputError(f"send, by: expected one of {', '.join(map(repr, WAYS))}, got {show(by)}")
        one = one_header(vics, addresses, values, counter, self.nodes)
        if one is not None:
            host.send_one(one, values, by)
            return
        host.send(*headers("send", vics, addresses, counter, self.nodes, To.MEMORY, words("send, values", values)), by)

    def send_own(self, vics: Any, addresses: Any, places: Any, counter: int | None = None) -> None:
        """As `send`, with words that are already in this VIC's memory: `memory[places[i]]`. Only headers go over PCIe, by DMA.

        Raises:
            InputError: as for `send`, or a place is beyond 32 MB.
        """
        host = self._host.own("send_own")
        places = whole_numbers("send_own, places", places)
        within("send_own, places", places, WORDS, "words in the memory of a VIC")
        to, places = headers("send_own", vics, addresses, counter, self.nodes, values=places)
        host.send(to, host.own_words(places), "DMA")

    def send_packets(self, to: Whole, values: Whole) -> None:
        """Send words with headers that `Aggregated` has checked."""
        self._host.own("send").send(to, values, "DMA")

    def query(self, vics: Any, addresses: Any, reply_to: tuple[Any, Any], counter: int | None = None) -> None:
        """Ask for the words `addresses[i]` of VIC `vics[i]`: the VICs send them to `reply_to` without their hosts.

        `reply_to` is a pair: any VICs, and addresses there or `FIFO`. `counter` counts the replies at the VICs where they arrive.
        """
        host = self._host.own("query")
        if len(items("query, reply_to", reply_to, "a pair of VICs and addresses")) != 2:
            raise InputError(f"query, reply_to: expected a pair of VICs and addresses, got {show(reply_to)}")
        replies = headers("query, reply_to", *reply_to, counter, self.nodes)[0]
        host.send(*headers("query", vics, addresses, None, self.nodes, To.QUERY, replies), "direct")

    def send_on(self, vics: Any, addresses: Any, values: Any) -> None:
        """Send words that VICs forward without their hosts. The word at `addresses[i]` of VIC `vics[i]` is the header with which
        that VIC forwards `values[i]`. `isoviz.vortex.header` makes such words.

        Raises:
            InputError: a VIC does not exist, an address is beyond 32 MB, or lengths differ.
            RunError: a word is not a header, or a packet was forwarded 1,000 times.
        """
        host = self._host.own("send_on")
        host.send(*headers("send_on", vics, addresses, None, self.nodes, To.SEND_ON, words("send_on, values", values)), "DMA")

    def returned(self) -> tuple[Whole, Whole]:
        """The words that came back because their FIFO was full: the VICs and the values. Each word is returned once."""
        found = np.array(self._host.own("returned").returned(), np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def load(self, addresses: Any, values: Any, *, wait: bool = True) -> None:
        """Let a DMA engine write an array into this VIC's memory, from a first address on, or at an array of addresses.

        With `wait=False` the program goes on meanwhile; `finish` waits for the end. Loads and stores overlap.

        Raises:
            InputError: an address is beyond 32 MB, or the addresses have more than 8,192 runs, the entries of the DMA table.
        """
        host = self._host.own("load")
        flag_argument("load", "wait", wait)
        array = words("load, values", values)
        host.load(_entries("load", addresses, len(array)), array)
        if wait:
            host.finish()

    def store(self, addresses: Any, into: Any, *, wait: bool = True) -> None:
        """Let a DMA engine read this VIC's memory into a host array, from an address on, or at an array of addresses: see
        `load`."""
        host = self._host.own("store")
        flag_argument("store", "wait", wait)
        if not isinstance(into, np.ndarray) or not into.flags.writeable or not into.flags.c_contiguous or into.itemsize != 8:
            raise InputError(
                f"store, into: expected a contiguous array of 8 bytes an element that can be written, got {show(into)}"
            )
        flat = into.reshape(-1).view(np.int64)
        host.store(_entries("store", addresses, len(flat)), flat)
        if wait:
            host.finish()

    def finish(self) -> None:
        """Wait until loads and stores are done."""
        self._host.own("finish").finish()


class DvMemory:
    """The memory of a VIC as its program reads and writes it over PCIe."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __len__(self) -> int:
        return WORDS

    def __getitem__(self, place: Any) -> Any:
        return self._host.own("memory").read(_indexed(place))

    def __setitem__(self, place: Any, values: Any) -> None:
        host = self._host.own("memory")
        place = _indexed(place)
        array = words("memory", values)
        size = len(range(WORDS)[place]) if isinstance(place, slice) else np.size(place)
        if len(array) not in (1, size):
            raise InputError(f"memory: {len(array)} values for {size} words")
        host.write(place, array, size)


class FifoRing:
    """The FIFO of a VIC, drained into a ring in the memory of its host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def take(self, least: int = 0, timeout: float | None = None) -> Whole:
        """Take all words out of the ring, after waiting until there are at least `least`.

        They are in the order of their arrival. On ranks only the words of each sender are in order.

        Raises:
            RunError: they did not arrive within `timeout` modelled or measured seconds, or nothing is under way.
            RankLost: a rank is lost.
        """
        return self._host.own("fifo.take").take(count("fifo.take", "least", least), _timeout(timeout))


def _timeout(value: float | None) -> float | None:
    return None if value is None else amount("wait", "timeout", value, high=1e6)


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
    if (number := entries(found, length)) > ENTRIES:
        raise InputError(f"{call}, addresses: {number:,} runs of words; the DMA table has {ENTRIES:,} entries")
    return found
