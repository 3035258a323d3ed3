"""Prepared transfers between two ranks of a host (`isoviz.runtime.ranks.handles.Lanes`).

At preparation the ranks agree on the plan, and the sender gets the address of the destination. A start costs no message: the
receiver gives its credit, the sender writes and says that it is over. If the credit is there, the channel is idle and the
transfer is small, the thread that starts it carries it out. Otherwise the channel carries out its parts as requests of the
scheduler, so that a more urgent transfer waits for one part at most.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from isoviz.errors import Cancelled, EngineClosed, InputError, RankError, RunError
from isoviz.runtime.device_bases import BaseEndpoint
from isoviz.runtime.engine.device_errors import Closing, of_request, tidied
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.prepared_transfer import PreparedTransfer, never
from isoviz.runtime.ranks.letters import lost_rank
from isoviz.runtime.ranks.rank_execution import RankExecution
from isoviz.runtime.scheduling.work import Work

if TYPE_CHECKING:
    from isoviz.forks import Home
    from isoviz.planner import Plan
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.engine.prepared_plans import PreparedPlan
    from isoviz.runtime.ranks.handles import RankDevices, ReceivingLane, SendingLane
    from isoviz.runtime.scheduling.pool import ChannelState
    from isoviz.runtime.scheduling.work import Issue


@dataclass(frozen=True)
class LaneRuntime:
    """What prepared transfers use of the engine of their rank.

    - `home`: the process of the engine. `is_closed`: whether the engine is closed. `gone`: the ranks that are lost.
    - `size`: how many ranks there are.
    - `count`: counts a transfer of several ranks, as all ranks do, and gives its number. `own_number`: that of a transfer here.
    - `plan`: a plan, prepared. `state`: a channel in the scheduler. `at_once`: carries something out on an idle channel.
    - `admit`: hands an execution to the scheduler. `cancel`: stops the one with a number. `ended`: drops it.
    - `later`: runs a job that may wait for another rank. `call_back`: runs a callback.
    - `send`: sends a message to a rank. `offer`: waits for the offer of a rank for a prepared transfer.
    - `forget`: no longer closes a transfer together with the engine.
    """

    rank: int
    size: int
    devices: RankDevices
    home: Home
    gone: Mapping[int, str]
    is_closed: Callable[[], bool]
    count: Callable[[], int]
    own_number: Callable[[], int]
    plan: Callable[[Plan], PreparedPlan]
    state: Callable[[str], ChannelState]
    at_once: Callable[[Plan, ChannelState, Callable[[], BaseException | None]], Event | None]
    admit: Callable[[LaneExecution, Work], None]
    cancel: Callable[[int], None]
    ended: Callable[[Execution], None]
    later: Callable[[Callable[[], None]], None]
    call_back: Callable[[Callable[[], None]], None]
    send: Callable[[int, object], None]
    offer: Callable[[int, int], object]
    forget: Callable[[LaneTransfer], None]


AT_ONCE = 1 << 20
"""Bytes. The thread that starts a transfer up to this size may carry it out itself, as one part."""


class LaneTransfer(PreparedTransfer, ABC):
    """A prepared transfer between two ranks, on one of them.

    The page of the lane says which turn it is. So Ctrl-C at any moment leaves both ranks with the same turn.
    """

    def __init__(self, runtime: LaneRuntime, plan: Plan, peer: int, closing: Closing) -> None:
        super().__init__(plan, self._begun, never, None)
        self.runtime, self.peer = runtime, peer
        self._closing = closing
        self._starting = threading.Lock()

    def start(self) -> Event:
        self.runtime.home.require()
        with self._starting:
            return super().start()

    def _begun(self) -> Event:
        runtime = self.runtime
        if runtime.is_closed():
            raise EngineClosed("the engine is closed")
        if self.peer in runtime.gone:
            raise lost_rank(self.peer, runtime.gone[self.peer])
        return self._started()

    @abstractmethod
    def _started(self) -> Event:
        """Start the next transfer of the lane."""

    def close(self) -> None:
        """Let go of both ends, as soon as nothing of the transfer moves any more. In a forked child it does nothing."""
        if self._closed or not self.runtime.home.is_here:
            return
        self._end()
        super().close()
        self.runtime.forget(self)
        tidied(self._closing.close)

    @abstractmethod
    def _end(self) -> None:
        """Wait until nothing of this transfer moves any more, and tell the other rank that no further one follows."""


# ---- the rank of the destination


class ReceivingTransfer(LaneTransfer):
    """A prepared transfer on the rank of the destination."""

    def __init__(self, runtime: LaneRuntime, plan: Plan, peer: int, closing: Closing, lane: ReceivingLane) -> None:
        super().__init__(runtime, plan, peer, closing)
        self.lane = lane

    def _started(self) -> Event:
        turn = self.lane.turn
        if not self.lane.is_free:  # Ctrl-C came after its credit
            raise InputError("prepared transfer: the transfer started before has not ended; wait for its event, or close it")
        event = ReceivingEvent(self, turn + 1)
        self.lane.give_credit(turn + 1)
        return event

    def _end(self) -> None:
        if not self.lane.is_free:
            event = self._latest if isinstance(self._latest, ReceivingEvent) else ReceivingEvent(self, self.lane.turn)
            event.give_up()
        self.lane.close()


class ReceivingEvent(Event):
    """The event of a transfer that another rank carries out: it looks at the page of the lane."""

    def __init__(self, transfer: ReceivingTransfer, turn: int) -> None:
        super().__init__(transfer.plan, self._ask, None, transfer.runtime.call_back)
        self._transfer = transfer
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
            until = None if timeout is None else time.monotonic() + timeout
            again = False
            while not self._look():
                if until is not None and time.monotonic() >= until:
                    raise TimeoutError(f"the transfer has not ended after {timeout:g} s")
                self._lane.wait(self._turn, again=again)
                again = True
        return self._error

    def add_done_callback(self, callback: Callable[[Event], object]) -> None:
        super().add_done_callback(callback)
        with self._lock:
            if self._ended or self._is_watched:
                return
            self._is_watched = True
        self._transfer.runtime.later(self._wait_for_end)

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
        transfer = self._transfer
        if self._lane.is_over(self._turn):
            self.end(self._lane.error())
        elif transfer.peer in transfer.runtime.gone:
            self.end(lost_rank(transfer.peer, transfer.runtime.gone[transfer.peer]))
        elif self._lane.sender_has_closed and not self._lane.is_over(self._turn) and self._lane.cancel(self._turn):
            self.end(RankError(f"rank {transfer.peer} has closed the prepared transfer", rank=transfer.peer))
        return self._ended


# ---- the rank of the source


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
        self.lane = lane
        self._prepared = prepared
        name = plan.every_hop[0].channel
        self._state = runtime.state(name)
        rank = runtime.rank
        self._work = Work.one_path((name,), len(lane.parts), priority=priority, ranks=(rank,), receiver=rank)
        self._is_small = len(lane.parts) <= 1 or sum(part.nbytes for part in lane.parts) <= AT_ONCE

    def _started(self) -> Event:
        runtime, lane, turn = self.runtime, self.lane, self.lane.turn + 1
        has_credit = lane.has_credit(turn)
        if has_credit and self._is_small:
            event = runtime.at_once(self.plan, self._state, partial(self._carry_out, turn))
            if event is not None:
                return event
        execution = LaneExecution(self, turn, runtime.own_number(), self._work, self._prepared)
        if has_credit and lane.parts:
            self._admit(execution)
        else:
            runtime.later(partial(self._await_credit, execution))
        return execution.event

    def _carry_out(self, turn: int) -> BaseException | None:
        """Carry out a transfer in this thread. Returns its error."""
        error: BaseException | None = None
        try:
            self.lane.begin(turn)
            for number in range(len(self.lane.parts)):
                self.lane.move(number)
        except Exception as raised:  # noqa: BLE001  # the event carries it
            error = of_request(raised, self._located)
        except BaseException as raised:
            self.lane.end(turn, raised)
            raise
        self.lane.end(turn, error)
        return error

    def _located(self, kind: type[RunError], message: str) -> RunError:
        return kind(message, hop=0, channel=self.plan.every_hop[0].channel, chunk=0)

    def _await_credit(self, execution: LaneExecution) -> None:
        """Wait for the receiver, in a thread of the lanes, and hand the transfer to the scheduler."""
        runtime, error = self.runtime, cast("BaseException | None", None)
        while error is None and not self.lane.wait(execution.turn):
            if execution.stopped:
                error = Cancelled("cancelled before it began")
            elif self.peer in runtime.gone:
                error = lost_rank(self.peer, runtime.gone[self.peer])
            elif self.lane.receiver_has_closed:
                error = RankError(f"rank {self.peer} has closed the prepared transfer", rank=self.peer)
            elif runtime.is_closed():
                error = EngineClosed("the engine is closed")
        if error is None and not self.lane.parts:
            execution.event.end(self._carry_out(execution.turn))
            return
        if error is None:
            try:
                self._admit(execution)
            except Exception as raised:  # noqa: BLE001  # the event carries it
                error = raised
        if error is not None:
            self.lane.end(execution.turn, error)
            execution.event.end(error)

    def _admit(self, execution: LaneExecution) -> None:
        try:
            self.lane.begin(execution.turn)
        except Cancelled as error:
            self.lane.end(execution.turn, error)
            execution.event.end(error)
            return
        self.runtime.admit(execution, self._work)

    def over(self, execution: Execution) -> None:
        """No byte of a transfer moves any more."""
        assert isinstance(execution, LaneExecution)
        error = execution.cancelled or execution.error
        self.lane.end(execution.turn, error)
        execution.event.end(error)
        self.runtime.ended(execution)

    def _end(self) -> None:
        event = self._latest
        if event is not None and not event.done:
            event.cancel()
            event.error()
        self.lane.close()


class _Sent(BaseEndpoint):
    """The destination as the sender of a lane sees it: it has nothing to flush, to publish or to read."""

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def read(self, offset: int, nbytes: int) -> bytes:  # noqa: ARG002  # the protocol's signature
        raise RunError("the destination is on another rank")


class LaneExecution(RankExecution):
    """A transfer over a lane on the rank of the source: its requests are the parts of the lane."""

    def __init__(self, transfer: SendingTransfer, turn: int, number: int, work: Work, prepared: PreparedPlan) -> None:
        runtime = transfer.runtime
        event = Event(transfer.plan, partial(self._cancelled, runtime, number), None, runtime.call_back)
        ends, memories, channels = (None, None), prepared.memories, prepared.channels
        own = transfer.plan, work, event, ends, memories, channels, None, transfer.over, False, prepared
        super().__init__(runtime.rank, runtime.devices, number, *own)
        self.turn, self._lane = turn, transfer.lane
        self.cancelled: Cancelled | None = None
        """Set once it was cancelled, by this rank or by the receiver: the scheduler only knows that a request has failed."""
        self.is_asynchronous = [False]
        self.is_mine, self.is_small = False, (False,)
        self.submitted = time.perf_counter()

    def _cancelled(self, runtime: LaneRuntime, number: int) -> None:
        self.stopped = True
        runtime.cancel(number)

    def _open(self) -> None:
        self.admitted = time.perf_counter()
        self.destination = _Sent(self.plan.bytes)

    def move(self, issue: Issue) -> None:
        try:
            self.check()
            self._lane.check(self.turn)
            self._lane.move(issue.chunk)
        except Cancelled as error:
            self.cancelled = error
            raise
        except Exception as error:  # noqa: BLE001  # it is raised, typed
            raise self.placed(error, issue)  # noqa: B904  # it has its cause already

    def finished(self, issue: Issue) -> None:
        with self._lock:
            self.chunks_done += 1
            self.requests[0] += 1
        self.event.moved(self._lane.parts[issue.chunk].nbytes)
