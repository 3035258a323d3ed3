"""Control messages between the ranks of an MPI job, signs of life, and the clocks of the ranks."""

from __future__ import annotations

import pickle
import struct
import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from isoviz.backends.mpi.fencing import Fence
from isoviz.backends.mpi.tags import BEAT, BYE, CLOCK, CLOCK_ANSWER, CONTROL
from isoviz.errors import EngineClosed, RunError
from isoviz.runtime.ranks.mailbox import lost_rank
from isoviz.runtime.ranks.transport import ClockOffset

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.backends.mpi.thread.mpi_thread import MpiThread
    from isoviz.backends.mpi.thread.slots import Slots
    from isoviz.runtime.ranks.transport import Lost, Receive

PERIOD, LIMIT = 0.5, 30.0
"""Seconds between two signs of life, and seconds of silence after which a rank counts as lost.

A rank of this host is then killed, so the limit is longer than a busy computer keeps a rank waiting."""
_PINGS = 32
"""Questions to a clock. The fastest answer counts."""


class MpiTransport:
    """A `Transport` over the MPI thread of a rank.

    Every rank sends a sign of life to every other rank each `period` seconds. A rank that was silent for `limit` seconds is lost,
    and so is a rank that leaves with an error. The time in which this rank itself was stopped does not count.
    """

    def __init__(self, thread: MpiThread, *, period: float = PERIOD, limit: float = LIMIT) -> None:
        self._thread = thread
        self.rank = thread.rank
        self.size = thread.size
        self.hosts: tuple[str, ...] = ()
        """The name of the host of each rank. Ranks of one host can map each other's memory."""
        self.slots: tuple[Slots, ...] = ()
        """Where all ranks tell each other small values; see `Transport`."""
        self.lost: dict[int, str] = {}
        """The ranks that no longer answer, and why."""
        self._period, self._limit = period, limit
        self._others = [rank for rank in range(self.size) if rank != self.rank]
        now = time.perf_counter()
        self._heard = dict.fromkeys(self._others, now)
        self._ticked = now
        self._turn = 0
        """How often `start` was called."""
        self._early: deque[tuple[int, int, object]] = deque()
        self._receive: Receive = _ignored
        self._lost: Lost = _ignored
        self._listeners: list[Lost] = []
        self._left: set[int] = set()
        self._ending: dict[int, str] = {}
        """The ranks that are being ended, because they are lost, and why."""
        self._held: deque[tuple[int, int, object]] = deque()
        """Messages that came meanwhile: they may say how transfers of those ranks have ended."""
        self._is_holding = False
        self._holding = threading.Lock()
        """To read and change `_held` and `_is_holding`: several threads deliver."""
        self.fence = Fence({})
        """Ends lost ranks of this host."""
        self.before_loss: Callable[[int, bool, bool], bool] = lambda *_: True
        """Called in the MPI thread with a rank that is about to count as lost, whether it has ended, and whether MPI may still
        write what it has begun to send. Returns whether this rank can go on with the others."""
        self._leaving = False
        self._farewell = threading.Condition()
        self._clock: _ClockProbe | None = None
        self._asking = threading.Lock()
        thread.when_failed = self.give_up
        thread.every(period, self._tick)

    def start(self, receive: Receive, lost: Lost) -> None:
        """Deliver messages from now on; see `Transport`. A later call replaces `receive` and `lost`, for another engine.

        All ranks call it equally often. What a rank sends after its call number n is delivered by call number n of the receiver,
        so that a rank which is ahead does not disturb the engine that another rank still has.
        """

        def begin() -> None:
            self._turn += 1
            self._receive, self._lost = receive, lost
            for rank, reason in self.lost.items():
                lost(rank, reason)
            early, self._early = self._early, deque()
            for sender, turn, message in early:
                self._deliver(sender, turn, message)

        self._thread.call(begin)

    @property
    def number(self) -> int:
        return self._turn

    def when_lost(self, lost: Lost) -> None:
        """Call `lost` in the MPI thread for every rank that is lost, also for those that are lost already."""
        self._thread.call(lambda: self._listen(lost))

    def _listen(self, lost: Lost) -> None:
        for rank, reason in self.lost.items():
            lost(rank, reason)
        self._listeners.append(lost)

    def send(self, rank: int, message: object) -> None:
        """Send a message and return at once. A message to a lost rank is dropped. Before `start`, it counts as sent after it.

        Raises:
            EngineClosed: the transport is closed.
        """
        turn = max(self._turn, 1)
        if rank == self.rank:
            self._thread.post(lambda: self._deliver(rank, turn, message))
        elif rank not in self.lost:
            self._thread.message(rank, CONTROL, pickle.dumps((turn, message), pickle.HIGHEST_PROTOCOL))

    def poll(self, is_over: Callable[[], bool]) -> None:
        """Deliver messages of ranks of this host in this thread for a moment; see `Transport`."""
        self._thread.poll(is_over)

    def close(self) -> None:
        """Deliver nothing from now on. The messages that were sent still arrive."""

        def end() -> None:
            self._receive = self._lost = _ignored

        if self._thread.is_alive:
            self._thread.call(end)

    def leave(self, reason: str | None = None) -> bool:
        """Tell the other ranks that this one leaves, and wait until they leave, too, or are lost. With a `reason`, the others
        count this rank as lost. Returns whether every rank has left in order, so that MPI can be finalised.
        """

        def tell() -> None:
            self._leaving = True
            for rank in self._others:
                if rank not in self.lost or rank in self._left:
                    self._thread.message(rank, BYE, (reason or "").encode())

        self._thread.call(tell)
        with self._farewell:
            while not all(rank in self._left or rank in self.lost for rank in self._others):
                self._farewell.wait(1.0)
                if not self._thread.is_alive:
                    raise EngineClosed("the MPI thread of this rank has ended")
        return all(rank in self._left for rank in self._others)

    def take(self, sender: int, tag: int, data: bytes) -> None:
        """Take a message of one of this transport's tags, in the MPI thread."""
        if self.is_given_up(sender) and tag != BYE:
            return
        self.hear(sender)
        if tag == CONTROL:
            self._deliver(sender, *pickle.loads(data))  # noqa: S301  # the ranks of a job trust each other
        elif tag == CLOCK:
            self._thread.message(sender, CLOCK_ANSWER, struct.pack("d", time.perf_counter()))
        elif tag == CLOCK_ANSWER:
            if self._clock is not None:
                self._clock.answered(sender, struct.unpack("d", data)[0])
        elif tag == BYE:
            self._left.add(sender)
            if data and not self.is_given_up(sender):
                self._drop(sender, data.decode(), has_ended=True)  # it has ended its transfers itself
            with self._farewell:
                self._farewell.notify_all()
        elif tag != BEAT:
            raise RunError(f"rank {sender} sent a message with the unknown tag {tag}")

    def hear(self, sender: int) -> None:
        """Note a sign of life."""
        self._heard[sender] = time.perf_counter()

    def give_up(self, rank: int, reason: str) -> None:
        """Count a rank as lost, in the MPI thread. Its requests fail as soon as it cannot write to this rank any more.

        If it is a rank of this host, it is killed. If it cannot be killed and MPI may still write to this rank for it, this rank
        makes no MPI call any more, its windows get pages of their own, and all other ranks count as lost, too.
        """
        if self.is_given_up(rank) or rank == self.rank:
            return
        with self._holding:
            self._is_holding = True
            self._ending[rank] = reason

        def ended(has_ended: bool) -> None:
            self._thread.post_quietly(partial(self._ended, rank, reason, has_ended))

        self.fence.end(rank, reason, ended)

    def why_silent(self, rank: int) -> str | None:
        """Why nothing more comes from a rank: it is lost, or it has left in order. None if it may still send something."""
        return self.lost.get(rank, "it has left the other ranks" if rank in self._left else None)

    def is_given_up(self, rank: int) -> bool:
        """Whether a rank is lost, or about to count as lost. Nothing that it sends counts any more."""
        return rank in self.lost or rank in self._ending

    def _ended(self, rank: int, reason: str, has_ended: bool) -> None:
        try:
            self._drop(rank, reason, has_ended=has_ended)
        finally:
            self._ending.pop(rank, None)
            while (message := self._next_held()) is not None:
                self._hand_over(*message)

    def _next_held(self) -> tuple[int, int, object] | None:
        """The next message that was held and can be delivered now."""
        with self._holding:
            if self._ending:
                return None
            if self._held:
                return self._held.popleft()
            self._is_holding = False
            return None

    def _drop(self, rank: int, reason: str, *, has_ended: bool) -> None:
        may_write = self._thread.drop(rank, lost_rank(rank, reason))
        goes_on = self.before_loss(rank, has_ended, may_write)
        if goes_on:
            self._tell_loss(rank, reason)
            return
        alone = f"rank {self.rank} has left the others: rank {rank} is lost ({reason}) and may still write to its memory"
        others = [other for other in self._others if other != rank and other not in self.lost]
        for other in others:
            self._thread.message(other, BYE, alone.encode(), ahead=True)
        self._thread.fall_silent()
        self._tell_loss(rank, reason)
        for other in others:
            self._thread.drop(other, RunError(alone))
            self._tell_loss(other, alone)

    def _tell_loss(self, rank: int, reason: str) -> None:
        self.lost[rank] = reason
        if self._clock is not None:
            self._clock.lost(rank)
        for listener in (*self._listeners, self._lost):
            listener(rank, reason)
        with self._farewell:
            self._farewell.notify_all()

    def clock_offsets(self) -> tuple[ClockOffset | None, ...]:
        """The clock of each rank against that of rank 0; None for a lost rank. Any rank may ask at any time.

        A question and its answer bound the other clock. The bound is narrowest for the fastest answer. So the uncertainty is half
        of its round trip; if this is not rank 0, that of rank 0 adds to it.

        Raises:
            RunError: rank 0 is lost.
        """
        with self._asking:
            found = {self.rank: ClockOffset(0.0, 0.0)}
            for rank in self._others:
                if rank in self.lost:
                    continue
                probe = _ClockProbe(self._thread, rank)
                self._clock = probe
                self._thread.post(probe.ask)
                while not probe.over.wait(1.0):
                    if not self._thread.is_alive:
                        raise EngineClosed("the MPI thread of this rank has ended")
                self._clock = None
                if probe.found is not None:
                    found[rank] = probe.found
        if 0 not in found:
            raise RunError(f"rank 0 is lost, so no clock can be compared with its clock: {self.lost.get(0)}")
        base = found[0]
        return tuple(
            None
            if (mine := found.get(rank)) is None
            else ClockOffset(0.0, 0.0)
            if rank == 0
            else ClockOffset(mine.offset - base.offset, mine.uncertainty + base.uncertainty)
            for rank in range(self.size)
        )

    def _deliver(self, sender: int, turn: int, message: object) -> None:
        """Deliver a message of this turn, keep one of a later turn, and drop one of an earlier turn."""
        if self._is_holding:
            with self._holding:
                if self._is_holding:
                    self._held.append((sender, turn, message))
                    return
        self._hand_over(sender, turn, message)

    def _hand_over(self, sender: int, turn: int, message: object) -> None:
        if turn == self._turn:
            self._receive(sender, message)
        elif turn > self._turn:
            self._early.append((sender, turn, message))

    def _tick(self) -> None:
        now = time.perf_counter()
        late = now - self._ticked - self._period
        self._ticked = now
        if late > self._period:  # this rank was stopped, or had no processor
            for rank in self._others:
                self._heard[rank] += late
        for rank in self._others:
            over = self._leaving and rank in self._left
            if self.is_given_up(rank) or over:
                continue
            if now - self._heard[rank] > self._limit:
                self.give_up(rank, f"no sign of life for {now - self._heard[rank]:.1f} s")
            else:
                self._thread.message(rank, BEAT, b"")


class _ClockProbe:
    """Questions to the clock of one rank, all in the MPI thread. `over` is set when `found` is known, or stays None."""

    def __init__(self, thread: MpiThread, rank: int) -> None:
        self._thread, self._rank = thread, rank
        self._left = _PINGS
        self._asked = 0.0
        self._best: ClockOffset | None = None
        self.over = threading.Event()
        self.found: ClockOffset | None = None

    def ask(self) -> None:
        self._asked = time.perf_counter()
        self._thread.message(self._rank, CLOCK, b"")

    def answered(self, rank: int, clock: float) -> None:
        now = time.perf_counter()
        if rank != self._rank or self.over.is_set():
            return
        half = (now - self._asked) / 2
        if self._best is None or half < self._best.uncertainty:
            self._best = ClockOffset(clock - self._asked - half, half)
        self._left -= 1
        if self._left:
            self.ask()
        else:
            self.found = self._best
            self.over.set()

    def lost(self, rank: int) -> None:
        if rank == self._rank:
            self.over.set()


def _ignored(_rank: int, _message: object) -> None:
    """Drop a message."""
