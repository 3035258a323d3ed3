"""The events of submitted transfers over lanes; see `isoviz.runtime.ranks.lanes.lane_submits`."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from isoviz import checks
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.interrupts import defer_interrupts
from isoviz.runtime.ranks.lanes.lane_sending import SendingEvent, SendingTransfer
from isoviz.runtime.ranks.lanes.lane_transfers import ReceivingEvent, ReceivingTransfer, has_to_stop

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.ranks.lanes.lane_transfers import LaneRuntime
    from isoviz.runtime.ranks.mailbox import Mailbox

PATIENCE = 0.25
"""Seconds that a rank waits for the other one to come to a transfer, before it carries it out by messages: these find out why."""


class LaneRequest(NamedTuple):
    """What the caller has submitted, to carry it out otherwise. `ends` is cleared at the end.

    `submit` does that where it is another way than for other transfers.
    """

    plan: Plan
    ends: list[Any]
    priority: int | None
    submit: Submit | None = None


class Submit(Protocol):
    """Carries out a transfer by messages, with a number and an event that it has already."""

    def __call__(self, request: LaneRequest, number: int, event: Event) -> object: ...


class Submits(Protocol):
    """What these events use of the lanes of their rank (`LaneSubmits`)."""

    runtime: LaneRuntime
    mailbox: Mailbox

    def elsewhere(self, event: SubmittedSending | SubmittedReceiving) -> None:
        """Carry out a transfer by messages that has not begun on its lane."""

    def begun(self, number: int) -> None:
        """A transfer has begun on its lane, or has ended."""

    def ended(self, event: SubmittedSending | SubmittedReceiving) -> None:
        """A transfer has ended."""


class SubmittedSending(SendingEvent):
    """The event of a transfer that this rank submits over a lane as its sender; see `LaneSubmits`."""

    route = "lane"

    def __init__(
        self, submits: Submits, transfer: SendingTransfer, moving: threading.Lock, number: int, request: LaneRequest
    ) -> None:
        super().__init__(transfer, number + 1)
        self.number, self.request, self._submits, self._moving = number, request, submits, moving
        self._plan = request.plan
        if request.priority is not None:
            self.priority = request.priority
        self._until = time.monotonic() + PATIENCE
        self._is_refused = self._is_elsewhere = False

    @property
    def is_stopped(self) -> bool:
        """Whether it has to stop."""
        return self._is_stopped

    def start(self) -> None:
        """Carry it out in this thread if it is small and has its credit, else in another thread."""
        if self.transfer.is_small and self.transfer.lane.has_credit(self.turn):
            self.carry_out()
        else:
            self.transfer.runtime.later(self.carry_out)

    def error(self, timeout: float | None = None) -> BaseException | None:
        if self._ended:
            return self._error
        timeout = checks.timeout(timeout)
        until = None if timeout is None else time.monotonic() + timeout
        if not self._is_elsewhere:
            self.home.require()
            if not self._carrier.locked():
                self.carry_out(until)
        if self._is_elsewhere:
            self._submits.mailbox.poll_for(self, until)
        return Event.error(self, None if until is None else max(0.0, until - time.monotonic()))

    def refused(self) -> None:
        """The other rank carries it out otherwise, unless it has begun. This takes no lock."""
        self._is_refused = True
        self.transfer.lane.stir()

    def _begin(self, until: float | None) -> bool | None:
        transfer, submits = self.transfer, self._submits
        runtime, lane = transfer.runtime, transfer.lane
        while True:
            has_credit = lane.wait(self.turn)
            if has_credit:
                self._moving.acquire()
                if lane.begin_credited(self.turn):
                    self._is_begun = True
                    submits.begun(self.number)
                    return True
                self._moving.release()
            is_over = self._is_refused or self._is_stopped or lane.was_withdrawn(self.turn) or lane.receiver_has_closed
            if is_over or transfer.peer in runtime.gone or runtime.driver.is_closed or time.monotonic() > self._until:
                self._is_elsewhere, self.route = True, "scheduler"
                submits.elsewhere(self)
                return None
            if has_to_stop(until):
                return False
            if has_credit:  # of a later transfer: the message about this one is on its way
                time.sleep(1e-4)

    def _finish(self, error: BaseException | None) -> None:
        try:
            super()._finish(error)
        finally:
            self._moving.release()

    def _ask(self) -> None:
        self._is_stopped = True
        if self._is_elsewhere:
            self._submits.runtime.driver.cancel(self.number)
        else:
            super()._ask()
            self.transfer.lane.stir()

    def end(self, error: BaseException | None = None) -> None:
        super().end(error)
        self._submits.ended(self)


class SubmittedReceiving(ReceivingEvent):
    """The event of a transfer that this rank submits over a lane as its receiver; see `LaneSubmits`."""

    route = "lane"

    def __init__(self, submits: Submits, transfer: ReceivingTransfer, number: int, request: LaneRequest) -> None:
        super().__init__(transfer, number + 1)
        self.number, self.request, self._submits = number, request, submits
        self._plan = request.plan
        self._until = time.monotonic() + PATIENCE
        self.is_stopped = self._is_elsewhere = False
        self._deciding = threading.Lock()

    @property
    def bytes_done(self) -> int:
        return Event.bytes_done.fget(self) if self._is_elsewhere else super().bytes_done  # type: ignore[attr-defined]

    def error(self, timeout: float | None = None) -> BaseException | None:
        timeout = checks.timeout(timeout)
        until = None if timeout is None else time.monotonic() + timeout
        if not self._is_elsewhere:
            found = super().error(timeout)
            if not self._is_elsewhere:
                return found
        if not self._ended:
            self._submits.mailbox.poll_for(self, until)
        return Event.error(self, None if until is None else max(0.0, until - time.monotonic()))

    def refused(self) -> None:
        """The other rank carries it out otherwise, unless it has begun. This takes no lock that a caller may hold."""
        self._submits.runtime.later(self._fall_back_later)

    def _fall_back_later(self) -> None:
        self.fall_back()

    @defer_interrupts()
    def fall_back(self) -> bool:
        """Carry it out by messages, unless the sender has begun it. Whether it is carried out by messages."""
        with self._deciding:
            if self._ended or self._is_elsewhere or not self._lane.withdraw(self._turn):
                return self._is_elsewhere
            self._is_elsewhere, self.route = True, "scheduler"
        self._submits.elsewhere(self)
        self._lane.stir()
        return True

    @defer_interrupts()
    def _go_elsewhere(self) -> None:
        """The sender has left the transfer alone: carry it out by messages."""
        with self._deciding:
            was_elsewhere, self._is_elsewhere, self.route = self._is_elsewhere, True, "scheduler"
        if not was_elsewhere:
            self._submits.elsewhere(self)

    def _look(self) -> bool:
        if self._ended or self._is_elsewhere:
            return True
        lane = self._lane
        if lane.is_over(self._turn):
            if lane.was_left_alone:
                self._go_elsewhere()
                return True
        elif (lane.sender_has_closed or time.monotonic() > self._until) and self.fall_back():
            return True
        return super()._look()

    def _ask(self) -> None:
        self.is_stopped = True
        if self.fall_back():
            self._submits.runtime.driver.cancel(self.number)
        else:
            self._lane.cancel(self._turn)

    def end(self, error: BaseException | None = None) -> None:
        super().end(error)
        self._submits.begun(self.number)
        self._submits.ended(self)
