"""Prepared transfers between two ranks of a host (`isoviz.runtime.ranks.handles.Lanes`).

At preparation the ranks agree on the plan, and the sender gets the address of the destination. A start costs no message: the
receiver gives its credit, the sender writes and says that it is over. If the channel is idle, a small transfer is carried out by
the thread that starts it, and a larger one by the thread that waits for it. As soon as another transfer comes to the channel, the
scheduler gets the parts that are left, so that a more urgent transfer waits for one part at most. While the receiver waits for a
large transfer, it moves parts as well.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import Cancelled, EngineClosed, InputError, RankError
from isoviz.runtime.engine.device_errors import Closing, tidied
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.interrupts import defer_interrupts, signal_waits
from isoviz.runtime.engine.prepared_transfer import PreparedTransfer, never
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.engine.driver import Driver
    from isoviz.runtime.engine.idle_channels import IdleChannels
    from isoviz.runtime.engine.prepared_plans import PreparedPlans
    from isoviz.runtime.ranks.handles import RankDevices, ReceivingLane, SendingLane
    from isoviz.runtime.ranks.lanes.lane_sources import LaneSources
    from isoviz.runtime.ranks.rank_execution import RankExecution
    from isoviz.runtime.ranks.rank_peers import RankPeers

_LOG = logging.getLogger("isoviz")


class LaneRuntime:
    """What prepared transfers over lanes use of the engine of their rank, and those that are open (`transfers`)."""

    def __init__(self, driver: Driver, peers: RankPeers, idle: IdleChannels, plans: PreparedPlans, devices: RankDevices) -> None:
        self.driver, self.peers, self.devices = driver, peers, devices
        self.rank, self.gone = peers.rank, peers.mailbox.gone
        self.home = driver.home
        self.borrow = idle.borrow
        self.plan = plans.of
        self.later = peers.waiters.put
        self.transfers: set[LaneTransfer] = set()

    @defer_interrupts()
    def admit(self, execution: RankExecution) -> None:
        """Hand an execution over a lane to the scheduler."""
        self.driver.admit(execution)()


class LaneTransfer(PreparedTransfer, ABC):
    """A prepared transfer between two ranks, on one of them.

    The page of the lane says which turn it is. So Ctrl-C at any moment leaves both ranks with the same turn.
    """

    def __init__(self, runtime: LaneRuntime, plan: Plan, peer: int, closing: Closing) -> None:
        super().__init__(plan, self._started, never, None)
        self.runtime, self.peer = runtime, peer
        self._closing = closing
        self._starting = threading.Lock()

    def start(self) -> Event:
        runtime = self.runtime
        runtime.home.require()
        with self._starting:
            if self._closed:
                raise InputError(f"prepared transfer: it is closed; expected one that was prepared anew ({self.plan.transfer})")
            if self._latest is not None and not self._latest.done:
                raise InputError("prepared transfer: the transfer started before has not ended; wait for its event")
            if runtime.driver.is_closed:
                raise EngineClosed("the engine is closed")
            if self.peer in runtime.gone:
                raise lost_rank(self.peer, runtime.gone[self.peer])
            event = self._latest = self._started()
            return event

    @abstractmethod
    def _started(self) -> Event:
        """Start the next transfer of the lane."""

    def close(self) -> None:
        """Let go of both ends, as soon as nothing of the transfer moves any more. In a forked child it does nothing."""
        if self._closed or not self.runtime.home.is_here:
            return
        self._end()
        super().close()
        self.runtime.transfers.discard(self)
        tidied(self._closing.close)

    @abstractmethod
    def _end(self) -> None:
        """Wait until nothing of this transfer moves any more, and tell the other rank that no further one follows."""


class ReceivingTransfer(LaneTransfer):
    """A prepared transfer on the rank of the destination."""

    def __init__(self, runtime: LaneRuntime, plan: Plan, peer: int, closing: Closing, lane: ReceivingLane) -> None:
        super().__init__(runtime, plan, peer, closing)
        self.lane = lane
        self.pulling = threading.Lock()
        """Held by the thread that moves a part in this rank."""
        self.sources: LaneSources | None = None
        """The sources of the sender, where the lane is for submitted transfers."""

    def _started(self) -> Event:
        with self.pulling:
            turn = self.lane.next_turn()
        if not turn:  # Ctrl-C came after its credit
            raise InputError("prepared transfer: the transfer started before has not ended; wait for its event, or close it")
        return ReceivingEvent(self, turn)

    def _end(self) -> None:
        if not self.lane.is_free:
            ReceivingEvent(self, self.lane.turn).give_up()
            if self._latest is not None:
                self._latest.error()
        self.lane.close()


class ReceivingEvent(Event):
    """The event of a transfer that another rank carries out: it looks at the page of the lane."""

    def __init__(self, transfer: ReceivingTransfer, turn: int) -> None:
        super().__init__(transfer.plan, self._ask, None, transfer.runtime.driver.callbacks.put)
        self.transfer = transfer
        self._lane = transfer.lane
        self._turn = turn
        self._is_watched = False

    @property
    def done(self) -> bool:
        if not self._ended:
            self.home.require()
            self._look()
        return self._ended

    @property
    def bytes_done(self) -> int:
        if self.done:
            return self.plan.bytes if self._error is None else 0
        return min(self.plan.bytes, self._lane.moved(self._turn))

    def error(self, timeout: float | None = None) -> BaseException | None:
        if not self._ended:
            self.home.require()
            timeout = checks.timeout(timeout)
            until = None if timeout is None else time.monotonic() + timeout
            again = False
            while not self._lane.wait(self._turn, again=again) and not self._look():
                if until is not None and time.monotonic() >= until:
                    raise TimeoutError(f"the transfer has not ended after {timeout:g} s")
                if self._lane.has_parts:
                    self._pull(until)
                again = True
            self._look()
        return self._error

    @defer_interrupts()
    def _pull(self, until: float | None) -> None:
        """Move parts in this thread, as long as the sender leaves some."""
        lane, pulling = self._lane, self.transfer.pulling
        if not pulling.acquire(blocking=False):
            return
        try:
            while lane.turn == self._turn and lane.pull() and not has_to_stop(until):
                pass
        except Exception:  # noqa: BLE001  # the sender moves that part, and says what is wrong
            _LOG.info("%s: a part could not be moved here", self.plan.transfer, exc_info=True)
        finally:
            pulling.release()

    def add_done_callback(self, callback: Callable[[Event], object]) -> None:
        super().add_done_callback(callback)
        with self._lock:
            if self._ended or self._is_watched:
                return
            self._is_watched = True
        self.transfer.runtime.later(self._wait_for_end)

    def _wait_for_end(self) -> None:
        self.error()

    def give_up(self) -> None:
        """End it: at once if the sender has not begun, else when the sender has stopped."""
        if self._lane.cancel(self._turn):
            self.end(Cancelled("cancelled before it began"))
        else:
            self.error()

    def _ask(self) -> None:
        if self._lane.cancel(self._turn):
            self.end(Cancelled("cancelled before it began"))

    def _look(self) -> bool:
        """End the event if the transfer is over. Whether it has ended."""
        if self._ended:
            return True
        transfer = self.transfer
        if self._lane.is_over(self._turn):
            self.end(self._lane.error())
        elif transfer.peer in transfer.runtime.gone:
            with transfer.pulling:  # after this no byte moves here any more
                self.end(lost_rank(transfer.peer, transfer.runtime.gone[transfer.peer]))
        elif self._lane.sender_has_closed and not self._lane.is_over(self._turn) and self._lane.cancel(self._turn):
            self.end(has_closed(transfer.peer, self._lane))
        return self._ended


def has_closed(peer: int, lane: SendingLane | ReceivingLane) -> RankError | Cancelled:
    """The error of a transfer that the other rank takes no part in: it has closed the prepared transfer."""
    if lane.was_interrupted:
        return Cancelled(f"rank {peer} was interrupted")
    return RankError(f"rank {peer} has closed the prepared transfer", rank=peer)


def has_to_stop(until: float | None) -> bool:
    """Whether a thread that waits for a transfer has to do something else: at a time (`time.monotonic`), or for a signal."""
    return signal_waits() or (until is not None and time.monotonic() >= until)
