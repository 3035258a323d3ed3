"""The host of a VIC on a rank: its processor does what the VIC would do, on memory that all ranks map."""

from __future__ import annotations

import math
import os
import threading
import time
import zlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.atomics import atomics
from isoviz.backends.host.kernels.kernel_cache import made_ready
from isoviz.errors import Cancelled, MissingPartError, RunError
from isoviz.launch.this_rank import current_rank
from isoviz.vortex.packet import COUNTERS, WORDS, To, headers, not_sent_on
from isoviz.vortex.ranks import places
from isoviz.vortex.ranks.places import ENDED, FAILED, RUNNING, WAITING
from isoviz.vortex.systems import Stopped, absent, awaited, never, not_own, too_few
from isoviz.vortex.traffic import Whole
from isoviz.vortex.vic import MOST_RACES, Race

if TYPE_CHECKING:
    from types import ModuleType

    from isoviz.rma import Heap

SPINS = 100
"""Yields of the processor, each about a microsecond, before a rank that waits sleeps."""
NAP, LONGEST_NAP, LATE = 20e-6, 10e-3, 8
"""Seconds of its first sleep and of the longest one. In between it sleeps an eighth of the time that it has waited."""


@cache
def delivery() -> ModuleType:
    """The compiled delivery: loaded in half a second, and compiled once in some seconds."""
    try:
        from isoviz.vortex.ranks import delivery as found
    except ImportError:
        raise MissingPartError("numba") from None
    made_ready(found.APART, lambda: found.deliver(*found.nothing()))  # type: ignore[no-untyped-call]  # Numba's Python
    return found


class RankHost:
    """The host of the VIC of this rank, whose `heap` has what `places` says. `room`: words of a ring, a power of two."""

    def __init__(self, heap: Heap, room: int, races: list[Race]) -> None:
        self.rank, self.nodes = heap.rank, heap.size
        self.packets = 0
        self._heap, self._room, self._races = heap, room, races
        self._boards = [heap.mapped(rank) for rank in range(heap.size)]
        self._board = heap.local
        self._memory = heap.local[:WORDS]
        self._back: list[Whole] = []
        self._told = [0] * self.nodes
        self._run, self._began, self._thread = 0, 0.0, 0
        self._pairs = places.FIFOS + places.PAIR * np.arange(self.nodes)
        self._rings = self._board[places.FIFOS + places.PAIR * self.nodes :].reshape(self.nodes, room)
        code = self._code = delivery()
        self._known = np.zeros(8, np.int64)
        self._known[: code.BACK] = (self.rank, room, *(atomics().address_of(name, 8) for name in ("fetch_and_add", "swap")))
        self._vics = np.zeros((self.nodes, code.COUNTS + COUNTERS), np.int64)
        self._vics[:, code.BASE] = [board.ctypes.data for board in self._boards]
        self._touched = np.empty(self.nodes * COUNTERS, np.int64)
        self._packet = *np.zeros((2, 1), np.int64), np.empty((1, 2), np.int64)
        self._one: Any = memoryview(self._packet[0])
        self._one_int: Any = memoryview(self._packet[1])
        self._one_float: Any = memoryview(self._packet[1].view("f8"))

    # ---- a run

    def begin(self) -> None:
        """A program begins in this thread."""
        self._run += 1
        self.packets, self._began, self._thread = 0, time.perf_counter(), threading.get_ident()
        self._is_now(RUNNING)

    def end(self, *, failed: bool) -> float:
        """The program has ended. How many seconds it took."""
        self._thread = 0
        seconds = self.seconds
        self._is_now(FAILED if failed else ENDED)
        return seconds

    def own(self, call: str) -> RankHost:
        """Check that the program of this node runs, and calls.

        Raises:
            InputError: it does not.
        """
        if threading.get_ident() != self._thread:
            raise not_own(call, self.rank)
        return self

    @property
    def seconds(self) -> float:
        """Seconds since the program began."""
        return time.perf_counter() - self._began

    # ---- what a Vic has its host do

    def compute(self, _seconds: float) -> None:
        """Let other ranks of this processor go on."""
        os.sched_yield()

    def set_counter(self, counter: int, number: int) -> None:
        """Set a group counter of the own VIC."""
        self._sent(*headers("set_counter", self.rank, counter, None, self.nodes, To.COUNTER, np.array([number])))

    def counter(self, counter: int) -> int:
        """The value of a group counter."""
        self._check()
        return self._counter(counter)[places.LEFT]

    def wait(self, counter: int, timeout: float | None) -> None:
        """Wait until a counter is zero, or has been since it was set."""

        def is_zero() -> bool:
            left, expected, _ = self._counter(counter)
            return left == 0 or left < 0 < expected

        def what() -> str:
            left, expected, early = self._counter(counter)
            return awaited(self.rank, counter, expected, left, early)

        self._until(is_zero, timeout, what)
        if self._counter(counter)[places.LEFT] < 0:
            self._board[places.SETS + places.LINE * counter + places.EXPECTED] = 0  # what has come too much is of no wait

    def barrier(self, ranks: tuple[int, ...]) -> None:
        """Give each of the others a sign, and wait for one of each. Signs of a pair are numbered."""
        group = zlib.crc32(repr(ranks).encode())
        others = [rank for rank in ranks if rank != self.rank]
        atomics().barrier()
        for rank in others:
            self._told[rank] += 1
            self._boards[rank][self._pairs[self.rank] + places.SIGN] = self._told[rank] << 32 | group

        def here() -> set[int]:
            signs = self._board[self._pairs + places.SIGN] >> 32
            return {rank for rank in ranks if rank == self.rank or signs[rank] >= self._told[rank]}

        self._until(lambda: len(here()) == len(ranks), None, lambda: absent(ranks, here()))
        for rank in others:
            sign = int(self._board[self._pairs[rank] + places.SIGN])
            if sign >> 32 == self._told[rank] and sign & 0xFFFFFFFF != group:
                raise RunError(f"is at a barrier of {len(ranks)} nodes, and node {rank} at one of others")

    def send(self, to: Whole, values: Whole, _by: str) -> None:
        """Deliver packets. Whatever it goes by, the processor writes the words."""
        self._sent(to, values)
        self.packets += len(to)

    def send_one(self, header: int, value: float, _by: str) -> None:
        """Deliver a packet to a memory."""
        self._one[0] = header
        (self._one_float if value.__class__ is float else self._one_int)[0] = value
        self._code.deliver(self._known, self._vics, self._touched, *self._packet)
        self.packets += 1

    def returned(self) -> Whole:
        """What has come back."""
        self._check()
        return self.came_back()

    def came_back(self) -> Whole:
        """The same at the end of a program, also where another one has failed."""
        found, self._back = self._back, []
        return np.concatenate([np.empty((0, 2), np.int64), *found])

    def read(self, place: Any) -> Any:
        """A copy of words of the memory."""
        self._check()  # a program may look again and again
        return self._memory[place].copy()

    def own_words(self, place: Whole) -> Whole:
        """The same, which are sent."""
        found: Whole = self._memory[place]
        return found

    def write(self, place: Any, values: Whole, _size: int) -> None:
        """Write words of the memory."""
        self._memory[place] = values if isinstance(place, slice | np.ndarray) else values[0]

    def load(self, place: Any, values: Whole) -> None:
        """Write words of the memory, at once."""
        self._memory[place] = values

    def store(self, place: Any, into: Whole) -> None:
        """Read words of the memory, at once."""
        into[:] = self._memory[place]

    def finish(self) -> None:
        """Do nothing: all is done."""

    def take(self, least: int, timeout: float | None) -> Whole:
        """Take what is in the rings of all senders."""
        self._check()
        if least:
            self._until(lambda: self._held().sum() >= least, timeout, lambda: too_few(self.rank, least, int(self._held().sum())))
        held, heads = self._held(), self._board[self._pairs + places.HEAD]
        atomics().barrier()
        found = []
        for rank in np.flatnonzero(held).tolist():
            ring, first, number = self._rings[rank], int(heads[rank]) % self._room, int(held[rank])
            found += [ring[first : first + number], ring[: max(0, first + number - self._room)]]
        words = np.concatenate(found) if found else np.empty(0, np.int64)
        atomics().barrier()
        self._board[self._pairs + places.HEAD] = heads + held
        return words

    # ---- how

    def _sent(self, to: Whole, values: Whole) -> None:
        code, known, back = self._code, self._known, np.empty((len(to), 2), np.int64)
        if not code.deliver(known, self._vics, self._touched, _plain(to), _plain(values), back):
            return
        found = back[: known[code.BACK]]
        if int(to[0]) >> 28 & 15 == To.COUNTER:
            counter = int(to[0]) & (COUNTERS - 1)
            self._races += [Race("counter", vic, counter, packets=early) for vic, early in found[:MOST_RACES].tolist()]
        elif len(found):
            self._back.append(found)
        if links := int(known[code.WRONG]):
            vic, address = int(known[code.VIC]), int(known[code.ADDRESS])
            raise not_sent_on(vic, address, int(self._boards[vic][address]), links)

    def _counter(self, counter: int) -> list[int]:
        """What is left to come, what was expected, and how many came before."""
        at = places.SETS + places.LINE * counter
        found: list[int] = self._board[at : at + 3].tolist()
        return found

    def _held(self) -> Whole:
        """How many words are in the ring of each sender."""
        held: Whole = self._board[self._pairs + places.TAIL] - self._board[self._pairs + places.HEAD]
        return held

    def _is_now(self, state: int) -> None:
        self._board[places.STATE + places.TURN] += 1
        self._board[places.STATE] = self._run << 2 | state
        atomics().barrier()

    def _until(self, is_over: Callable[[], bool], timeout: float | None, what: Callable[[], str]) -> None:
        """Wait for something that other ranks do: first without sleep, then looking ever more rarely."""
        for _ in range(SPINS):
            if is_over():
                atomics().barrier()
                return
            os.sched_yield()
        began = time.monotonic()
        limit = math.inf if timeout is None else began + timeout
        if timeout is None:
            self._is_now(WAITING)
        before = self._states()
        try:
            while True:
                now = self._states()
                waited = time.monotonic() - began
                is_late = began + waited >= limit or (timeout is None and self._is_idle(before, now))
                if is_over():
                    break
                if is_late:
                    raise never(what(), timeout)
                self._board[places.STATE + places.LOOKS] += 1
                self._check()
                if not np.array_equal(before[:, : places.LOOKS], now[:, : places.LOOKS]):
                    before = now
                time.sleep(min(max(NAP, waited / LATE), LONGEST_NAP, max(NAP, limit - began - waited)))
        finally:
            if timeout is None:
                self._is_now(RUNNING)
        atomics().barrier()

    def _states(self) -> Whole:
        """What all ranks do, a row each."""
        return np.array([board[places.STATE : places.FIFOS] for board in self._boards])

    def _is_idle(self, before: Whole, now: Whole) -> bool:
        """Whether no rank will do anything any more: each has ended, or has waited all the time and has looked in vain since.

        Nobody sends then, so what each waits for does not come. The second look that ends since has begun since.
        """
        states = before[:, 0] - (self._run << 2)
        looked = now[:, places.LOOKS] - before[:, places.LOOKS] >= 2
        is_same = (before[:, : places.LOOKS] == now[:, : places.LOOKS]).all()
        return bool(is_same and ((states == ENDED) | (states == WAITING) & looked).all())

    def _check(self) -> None:
        """Look for what ends this program.

        Raises:
            Stopped: another one has failed. RankLost: a rank is lost. Cancelled: the call of `isoviz.ranks` was cancelled.
        """
        for rank, board in enumerate(self._boards):
            self._heap.mapped(rank)
            if board[places.STATE] == self._run << 2 | FAILED:
                raise Stopped
        here = current_rank()
        if here is not None and here.cancel.is_set():
            raise Cancelled("cancelled while it waited for other ranks")


def _plain(array: Whole) -> Whole:
    """An array as the compiled function takes it."""
    return array if array.flags.carray else np.array(array)
