"""Prepared transfers over a lane, on the rank of the source; see `isoviz.runtime.ranks.lanes.lane_transfers`."""

from __future__ import annotations

import math
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from isoviz import checks
from isoviz.errors import Cancelled, EngineClosed, RankError, RunError
from isoviz.runtime.device_bases import BaseEndpoint
from isoviz.runtime.engine.device_errors import Closing, of_request
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.interrupts import defer_interrupts
from isoviz.runtime.ranks.lanes.lane_transfers import LaneRuntime, LaneTransfer, has_closed, has_to_stop
from isoviz.runtime.ranks.mailbox import lost_rank
from isoviz.runtime.ranks.rank_execution import RankExecution
from isoviz.scheduling.work import Work

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.prepared_plans import PreparedPlan
    from isoviz.runtime.ranks.handles import SendingLane
    from isoviz.scheduling.work import Issue

AT_ONCE = 1 << 20
"""Bytes. The thread that starts a transfer up to this size may carry it out itself."""


class SendingTransfer(LaneTransfer):
    """A prepared transfer on the rank of the source."""

    def __init__(
        self,
        runtime: LaneRuntime,
        plan: Plan,
        peer: int,
        closing: Closing,
        lane: SendingLane,
        prepared: PreparedPlan,
        priority: int,
    ) -> None:
        super().__init__(runtime, plan, peer, closing)
        self.lane, self.prepared, self.priority = lane, prepared, priority
        self.channel = runtime.driver.state_of(plan.every_hop[0].channel)
        self.is_small = len(lane.parts) <= 1 or sum(part.nbytes for part in lane.parts) <= AT_ONCE

    def _started(self) -> Event:
        lane, turn = self.lane, self.lane.turn + 1
        if self.is_small:
            event = Event(self.plan)  # before the credit comes
            if lane.has_credit(turn) and self.runtime.borrow(self.channel, event, partial(self._carry_out, turn, event)):
                return event
        sending = SendingEvent(self, turn)
        self.runtime.later(sending.carry_out)
        return sending

    def _carry_out(self, turn: int, event: Event) -> None:
        """Carry out a small transfer in this thread."""
        lane = self.lane
        try:
            lane.carry_out(turn)
        except Exception as raised:  # noqa: BLE001  # the event carries it
            error = of_request(raised, self.located)
            lane.end(turn, error)
            event.end(error)
        except BaseException as raised:
            lane.end(turn, raised)
            raise
        else:
            lane.end(turn, None)
            event.end()

    def located(self, kind: type[RunError], message: str) -> RunError:
        """An error of the hop."""
        return kind(message, hop=0, channel=self.channel.name, chunk=0)

    def _end(self) -> None:
        event = self._latest
        if event is not None and not event.done:
            event.cancel()
            event.error()
        self.lane.close()


class SendingEvent(Event):
    """The event of a transfer that this rank sends as turn number `turn` of the lane.

    The first thread that comes to it carries it out: one that waits for the event, or one of the lanes. It borrows the channel if
    that is idle. If another transfer comes to the channel meanwhile, the scheduler gets the parts that are left.
    """

    def __init__(self, transfer: SendingTransfer, turn: int) -> None:
        super().__init__(transfer.plan, self._ask, None, transfer.runtime.driver.callbacks.put)
        self.transfer, self.turn, self.priority = transfer, turn, transfer.priority
        self._carrier = threading.Lock()
        """Held by the thread that carries it out; for good, once it is over or the scheduler has it."""
        self._is_begun = self._is_stopped = False
        self._parts_done = 0
        self._execution: LaneExecution | None = None
        self.first, self.last = math.inf, -math.inf
        """When its first byte began to move, and its last one was in place."""

    def error(self, timeout: float | None = None) -> BaseException | None:
        if self._ended:
            return self._error
        self.home.require()
        timeout = checks.timeout(timeout)
        until = None if timeout is None else time.monotonic() + timeout
        if not self._carrier.locked():
            self.carry_out(until)
        return super().error(timeout if until is None else max(0.0, until - time.monotonic()))

    @defer_interrupts()
    def carry_out(self, until: float | None = None) -> None:
        """Carry it out in this thread, if no other thread does, until it is over or the scheduler has it.

        At the time `until` (`time.monotonic`), and at a signal, it goes on in another thread.
        """
        if not self._carrier.acquire(blocking=False):
            return
        transfer = self.transfer
        try:
            if not self._is_begun:
                has_begun = self._begin(until)
                if has_begun is None:
                    return
                if not has_begun:
                    self._carrier.release()
                    transfer.runtime.later(self.carry_out)
                    return
            transfer.runtime.borrow(transfer.channel, self, partial(self._move, until))
            if self._parts_done < len(transfer.lane.parts):
                transfer.lane.move_alone()
                self._hand_over()
                return
        except (Cancelled, EngineClosed, RankError) as raised:
            self._finish(raised)
        except Exception as raised:  # noqa: BLE001  # the event carries it
            self._finish(of_request(raised, transfer.located))
        else:
            self._finish(None)

    def _begin(self, until: float | None) -> bool | None:
        """Wait for the credit of the receiver, and begin. False if this thread has to stop waiting; None if nobody has to wait.

        Raises:
            Cancelled, RankError, EngineClosed: the receiver, or this rank, takes no part any more.
        """
        transfer = self.transfer
        runtime, lane, peer = transfer.runtime, transfer.lane, transfer.peer
        while not lane.wait(self.turn):
            if self._is_stopped:
                raise Cancelled("cancelled before it began")
            if peer in runtime.gone:
                raise lost_rank(peer, runtime.gone[peer])
            if lane.receiver_has_closed:
                raise has_closed(peer, lane)
            if runtime.driver.is_closed:
                raise EngineClosed("the engine is closed")
            if has_to_stop(until):
                return False
        self._is_begun = True
        lane.begin(self.turn)
        return True

    def _move(self, until: float | None) -> None:
        """Carry out parts on the borrowed channel until another transfer comes to it.

        Raises:
            Cancelled: it has to stop.
            RunError: the system does not write.
        """
        transfer = self.transfer
        lane, channel = transfer.lane, transfer.channel
        self.first = min(self.first, time.perf_counter())
        for number in range(self._parts_done, len(lane.parts)):
            lane.check(self.turn)
            if self._is_stopped:
                raise Cancelled("cancelled; some of its bytes may be in place")
            self.moved(lane.move(number))
            self._parts_done = number + 1
            self.last = time.perf_counter()
            if channel.top is not None or has_to_stop(until):
                return

    def _hand_over(self) -> None:
        """Hand the parts that are left to the scheduler.

        Raises:
            EngineClosed: the engine is closed.
        """
        transfer, runtime = self.transfer, self.transfer.runtime
        left, rank = len(transfer.lane.parts) - self._parts_done, runtime.rank
        work = Work.one_path((transfer.channel.name,), left, priority=self.priority, ranks=(rank,), receiver=rank)
        execution = LaneExecution(self, runtime.peers.number((rank,)), work, self._parts_done)
        runtime.admit(execution)
        self._execution = execution
        if self._is_stopped:  # perhaps before the scheduler had it
            runtime.driver.cancel(execution.number)

    def over(self, execution: Execution) -> None:
        """The scheduler has ended it: no byte of it moves any more."""
        assert isinstance(execution, LaneExecution)
        self.first, self.last = min(self.first, execution.spans.first), max(self.last, execution.spans.last)
        self._finish(execution.cancelled or execution.error)
        self.transfer.runtime.driver.forget(execution)

    def _finish(self, error: BaseException | None) -> None:
        """End it once the receiver moves nothing any more."""
        transfer = self.transfer
        lane, gone = transfer.lane, transfer.runtime.gone
        try:
            while not lane.settle(error is None):
                if transfer.peer in gone:
                    error = error or lost_rank(transfer.peer, gone[transfer.peer])
                    break
        except Exception as raised:  # noqa: BLE001  # the event carries it
            error = of_request(raised, transfer.located)
        lane.end(self.turn, error)
        self.end(error)

    def _ask(self) -> None:
        self._is_stopped = True
        execution = self._execution
        if execution is not None:
            self.transfer.runtime.driver.cancel(execution.number)


class _Sent(BaseEndpoint):
    """The destination as the sender of a lane sees it: it has nothing to flush, to publish or to read."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def read(self, offset: int, nbytes: int) -> bytes:  # noqa: ARG002  # the protocol's signature
        raise RunError("the destination is on another rank")


class LaneExecution(RankExecution):
    """The parts from number `first` on of a transfer over a lane, as requests of the scheduler."""

    opens_at_once = True

    def __init__(self, event: SendingEvent, number: int, work: Work, first: int) -> None:
        transfer, runtime, prepared = event.transfer, event.transfer.runtime, event.transfer.prepared
        ends, memories, channels = (None, None), prepared.memories, prepared.channels
        own = transfer.plan, work, event, ends, memories, channels, None, event.over, False, prepared
        super().__init__(runtime.rank, runtime.devices, number, *own)
        self._turn, self._lane, self._first = event.turn, transfer.lane, first
        self.cancelled: Cancelled | None = None
        """Set once it was cancelled, by this rank or by the receiver: the scheduler only knows that a request has failed."""
        self.is_asynchronous = [False]
        self.is_mine, self.is_small = False, (False,)
        self.submitted = time.perf_counter()

    def _open(self) -> None:
        self.admitted = time.perf_counter()
        self.destination = _Sent(self.plan.bytes)

    def move(self, issue: Issue) -> None:
        try:
            self.check()
            self._lane.check(self._turn)
            self._lane.move(self._first + issue.chunk)
        except Cancelled as error:
            self.cancelled = error
            raise
        except Exception as error:  # noqa: BLE001  # it is raised, typed
            raise self.placed(error, issue)  # noqa: B904  # it has its cause already

    def finished(self, issue: Issue) -> None:
        with self._lock:
            self.chunks_done += 1
            self.requests[0] += 1
        self.event.moved(self._lane.parts[self._first + issue.chunk].nbytes)
