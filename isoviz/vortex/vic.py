"""What a VIC holds, and what arriving packets do to it (Gioiosa et al., sections II and III)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from isoviz.vortex.moving import Moving
from isoviz.vortex.packet import ASKS, COUNTERS, LINK, MARK, MOST_LINKS, SCRATCH, WORDS, To, goes_to, headers, not_sent_on
from isoviz.vortex.switch import Switch
from isoviz.vortex.traffic import Recorded, Whole

# Packets under way between VICs, through a switch that moves on bit by bit, or in an order that is drawn.
#
# A table of packets has a column for each, and the rows `TIME` (the cycle in which it arrives at its input, or
# leaves), `SOURCE` (a VIC), `HEADER` and `VALUE`.

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


MOST_RACES = 1000
"""How many races are kept."""


@dataclass(frozen=True)
class Race:
    """Something that another order of arrival would change.

    - `what`: `"slot"`: two VICs wrote the word at `place` of this VIC's memory, and its host did not read it in between.
      `"counter"`: the group counter `place` was set after `packets` of its packets had arrived, so that the rest cannot bring it
      to zero.
    - `senders`: the two VICs; empty for a counter.
    """

    what: str
    vic: int
    place: int
    senders: tuple[int, ...] = ()
    packets: int = 0

    def __str__(self) -> str:
        if self.what == "slot":
            return f"VIC {self.vic}, word {self.place}: written by VICs {self.senders[0]} and {self.senders[1]}, unread between"
        return f"VIC {self.vic}, counter {self.place}: set after {self.packets} of its packets had come"


class Fifo:
    """Words that came without an address. They wait in `room` places of the VIC, and go one by one, every `pace` cycles, into a
    ring of `ring` places in the host's memory."""

    def __init__(self, room: int, ring: int, pace: float) -> None:
        self._room, self._all, self._pace = room, room + ring, pace
        self._times, self._values = np.empty(0), np.empty(0, np.int64)
        self._last = 0.0

    @property
    def held(self) -> int:
        """Words that the host has not taken."""
        return len(self._times)

    def put(self, times: Whole, values: Whole) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Take words that arrive in these cycles; which of them found a place."""
        number = np.arange(len(times))
        drained = np.maximum.accumulate(np.maximum(times - self._pace * number, self._last)) + self._pace * (number + 1)
        held = self.held
        every = np.concatenate([self._times, drained])
        stays = held + number - np.searchsorted(every, times, side="right")
        taken = np.ones(len(times), np.bool_)
        if held + len(times) > self._all or (len(stays) and stays.max() >= self._room):
            taken, drained = self._one_by_one(times)
            every = np.concatenate([self._times, drained])
        if len(drained):
            self._last = float(drained[-1])
        self._times, self._values = every, np.concatenate([self._values, values[taken]])
        return taken

    def _one_by_one(self, times: Whole) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], np.ndarray[Any, np.dtype[np.float64]]]:
        """The same where some find no place."""
        taken, drained, last, before = np.zeros(len(times), np.bool_), list[float](), self._last, self._times
        done = 0
        for number, time in enumerate(times.tolist()):
            while done < len(drained) and drained[done] <= time:
                done += 1
            waiting = len(before) - int(np.searchsorted(before, time, side="right")) + len(drained) - done
            if waiting < self._room and len(before) + len(drained) < self._all:
                taken[number] = True
                last = max(last, time) + self._pace
                drained.append(last)
        return taken, np.array(drained)

    def when(self, least: int) -> float | None:
        """The time at which the ring of the host has `least` words; None: not yet."""
        if least == 0:
            return 0.0
        return float(self._times[least - 1]) if len(self._times) >= least else None

    def take(self, until: float) -> Whole:
        """The words that were in the ring by then; they leave it."""
        number = int(np.searchsorted(self._times, until, side="right"))
        found, self._values, self._times = self._values[:number], self._values[number:], self._times[number:]
        return found


class VicState:
    """Memory, group counters, FIFO and barriers of the VIC `rank`, and what has come back to it.

    `turn`: cycles after which it sends a packet that another one asked for. `groups`: the VICs of each barrier, by its number.
    """

    def __init__(self, rank: int, nodes: int, turn: int, fifo: Fifo, groups: list[tuple[int, ...]], races: list[Race]) -> None:
        self.rank, self.nodes, self.fifo = rank, nodes, fifo
        self.memory = np.zeros(WORDS, np.int64)
        self.counters, self.expected, self.early = (np.zeros(COUNTERS, np.int64) for _ in range(3))
        self.zero_at: list[int | None] = [0] * COUNTERS
        self.releases: dict[int, list[int]] = {}
        self.returned: list[tuple[int, int]] = []
        self.engine_in = self.engine_out = 0.0
        self._fresh = [False] * COUNTERS
        self._came: dict[int, int] = {}
        self._writers, self._epoch = np.zeros(WORDS, np.int64), 1
        self._turn, self._groups, self._races = turn, groups, races

    def looked(self) -> None:
        """The host has seen what came; who writes from now on overwrites nothing unread."""
        self._epoch += 1

    def set_counter(self, counter: int, number: int, time: int) -> None:
        """A counter gets a value. Where packets have come before it, they are lost to it."""
        before = int(self.counters[counter])
        self.early[counter] = max(0, -before)
        if before < 0 and number:
            self._report(Race("counter", self.rank, counter, packets=-before))
        self.counters[counter] = self.expected[counter] = number
        self.zero_at[counter], self._fresh[counter] = None if number else time, False

    def waited(self, counter: int) -> None:
        """The host has seen that a counter is zero."""
        self._fresh[counter] = False
        if self.counters[counter] < 0:
            self.zero_at[counter] = None
        self.looked()

    def arrive(self, came: Whole) -> Whole:
        """Packets arrive, in order: what the VIC sends because of them, without its host.

        Raises:
            RunError: a word that should be a header is not one.
        """
        kinds = came[HEADER] >> 28 & 15
        # Memory and FIFO do not know of one another; everything else depends on what came before.
        sort = np.where(kinds == To.FIFO, To.MEMORY, kinds)
        ends = [*(np.flatnonzero(np.diff(sort)) + 1).tolist(), len(sort)]
        sent, begin = [NONE], 0
        for end in ends:
            if end > begin:
                sent.append(self._arrive_alike(To(int(sort[begin])), came[:, begin:end], kinds[begin:end]))
            begin = end
        return np.concatenate(sent, axis=1) if len(sent) > 2 else sent[-1]

    def _arrive_alike(self, to: To, came: Whole, kinds: Whole) -> Whole:
        times, addresses = came[TIME], came[HEADER] & (WORDS - 1)
        if to is To.MEMORY:
            return self._take(came, addresses, kinds == To.FIFO)
        if to is To.QUERY:
            return self._send_on(came, came[VALUE], self.memory[addresses])
        if to is To.SEND_ON:
            return self._send_on(came, self.memory[addresses], came[VALUE])
        answers = [NONE]
        for time, source, value, address in zip(
            times.tolist(), came[SOURCE].tolist(), came[VALUE].tolist(), addresses.tolist(), strict=True
        ):
            if to is To.COUNTER:
                self.set_counter(address, value, time)
            elif to is To.RETURNED:
                self.returned.append((source, value))
            elif to is To.RELEASE:
                self.releases.setdefault(value, []).append(time)
            else:
                answers.append(self._gather(value, time))
        return np.concatenate(answers, axis=1)

    def _gather(self, group: int, time: int) -> Whole:
        """One more has come to a barrier. The last one releases all."""
        members = self._groups[group]
        self._came[group] = (self._came.get(group, 0) + 1) % len(members)
        if self._came[group]:
            return NONE
        to = headers("barrier", members, 0, None, self.nodes, To.RELEASE)[0]
        return packets(np.full(len(to), time + self._turn), self.rank, to, np.full(len(to), group))

    def _take(self, came: Whole, addresses: Whole, surprise: np.ndarray[Any, np.dtype[np.bool_]]) -> Whole:
        """Words for the memory and the FIFO: what finds no place goes back to its sender."""
        taken = np.ones(len(addresses), np.bool_)
        if surprise.any():
            taken[surprise] = self.fifo.put(came[TIME, surprise], came[VALUE, surprise])
        written = ~surprise
        if written.any():
            self._write(addresses[written], came[SOURCE, written], came[VALUE, written])
        self._count(came[TIME, taken], (came[HEADER, taken] >> 22) & (COUNTERS - 1))
        if taken.all():
            return NONE
        back = came[:, ~taken]
        to = headers("returned", back[SOURCE], 0, None, self.nodes, To.RETURNED)[0]
        return packets(back[TIME] + self._turn, self.rank, to, back[VALUE])

    def _write(self, addresses: Whole, sources: Whole, values: Whole) -> None:
        stamps = self._epoch << 20 | (sources + 1)
        old = self._writers[addresses]
        self._writers[addresses] = stamps
        self.memory[addresses] = values  # of one address, the last one stays
        now = self._writers[addresses]
        for others, which in ((old, (old >> 20 == self._epoch) & (old != stamps)), (now, now != stamps)):
            for row in np.flatnonzero(which)[:MOST_RACES].tolist():
                pair = sorted((int(others[row] & 0xFFFFF) - 1, int(sources[row])))
                self._report(Race("slot", self.rank, int(addresses[row]), tuple(pair)))

    def _count(self, times: Whole, counters: Whole) -> None:
        """Packets count their counters down."""
        for counter, number in enumerate(np.bincount(counters, minlength=COUNTERS).tolist()):
            if not number or counter == SCRATCH:
                continue
            before = int(self.counters[counter])
            self.counters[counter] -= number
            if 0 < before <= number:
                self.zero_at[counter] = int(times[np.flatnonzero(counters == counter)[before - 1]])
                self._fresh[counter] = True
            elif before <= 0 and not self._fresh[counter]:
                self.zero_at[counter] = None

    def _send_on(self, came: Whole, to: Whole, values: Whole) -> Whole:
        links = (came[HEADER] >> LINK & 0x3FFF) + 1
        is_known = np.isin(to >> 28 & 15, (To.MEMORY, To.FIFO, To.SEND_ON))
        wrong = np.flatnonzero((to >> LINK != MARK >> LINK) | (goes_to(to) >= self.nodes) | ~is_known | (links > MOST_LINKS))
        if len(wrong):
            first = wrong[0]
            raise not_sent_on(self.rank, int(came[HEADER, first] & (WORDS - 1)), int(to[first]), int(links[first]))
        return packets(came[TIME] + self._turn, self.rank, to | links << LINK, values)

    def _report(self, race: Race) -> None:
        if len(self._races) < MOST_RACES and race not in self._races[-64:]:
            self._races.append(race)
