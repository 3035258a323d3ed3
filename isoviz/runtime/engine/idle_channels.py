"""Transfers on idle channels, past the scheduler: their caller carries them out, or queues all of their requests.

Meanwhile the channel is lent to the transfer, and the scheduler issues no request to it. An engine that records does everything
through its scheduler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from isoviz.errors import EngineClosed
from isoviz.runtime.engine.event import Event
from isoviz.runtime.engine.interrupts import defer_interrupts

if TYPE_CHECKING:
    from isoviz.planner import Plan
    from isoviz.runtime.engine.dispatcher import Dispatcher
    from isoviz.runtime.engine.driver import Driver
    from isoviz.runtime.engine.prepared_transfer import OpenEnds
    from isoviz.scheduling.pool import ChannelState


class IdleChannels:
    """Lends the idle channels of a driver to transfers."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def at_once(self, plan: Plan, channel: ChannelState, carry_out: Callable[[], BaseException | None]) -> Event | None:
        """The event of a small transfer that this thread has carried out; None if its channel is not idle."""
        event = Event(plan)
        event.route = "inline"
        return event if self.borrow(channel, event, lambda: event.end(carry_out())) else None

    def borrow(self, channel: ChannelState, borrower: object, carry_out: Callable[[], object]) -> bool:
        """Carry something out in this thread on a channel that is idle; False if it is not idle.

        The engine is not locked while the devices are called. An engine that records does everything through its scheduler.
        """
        driver = self._driver
        driver.home.require()
        if driver.recorded is not None:
            return False
        try:
            with driver.lock:
                if driver.is_closed:
                    raise EngineClosed("the engine is closed")
                if not channel.is_idle:
                    return False
                channel.borrower = borrower
            carry_out()
            return True
        finally:
            # Python handles signals at calls only. So no exception of a signal comes before the channel is given back.
            if channel.borrower is borrower:
                channel.borrower = None
                if channel.top is not None or driver.is_closed:  # somebody waits for the channel
                    try:
                        driver.resume(channel)
                    except BaseException:  # a signal came before `resume` deferred it
                        driver.resume(channel)
                        raise

    @defer_interrupts()
    def queue(self, plan: Plan, channel: ChannelState, ends: OpenEnds) -> Event | None:
        """The event of a prepared transfer whose requests this thread has queued; None if its channel is not idle.

        The channel is lent to the transfer until its end.
        """
        driver = self._driver
        driver.home.require()
        if driver.recorded is not None:
            return None
        event = Event(plan, later=driver.callbacks.put)
        with driver.lock:
            if driver.is_closed:
                raise EngineClosed("the engine is closed")
            if not channel.is_idle:
                return None
            channel.borrower = event
        error: BaseException | None = None
        try:
            dispatcher = driver.real.dispatcher(channel.name)
            error = ends.begin()
            if error is None:
                try:
                    dispatcher.put(partial(self._await_queued, event, channel, ends, dispatcher))
                    return event
                except Exception:  # noqa: BLE001  # the system allows no thread: this one waits
                    error = ends.end()
        except BaseException as raised:  # noqa: BLE001  # the event carries it
            error = raised
        self._return(channel, event, error)
        return event

    def _await_queued(self, event: Event, channel: ChannelState, ends: OpenEnds, dispatcher: Dispatcher) -> None:
        """Wait for the end of a prepared transfer, in a thread of its channel. Another thread may start requests meanwhile."""
        with dispatcher.lend():
            error = ends.end()
        self._return(channel, event, error)

    def _return(self, channel: ChannelState, event: Event, error: BaseException | None) -> None:
        """End a prepared transfer, and give its channel back."""
        driver = self._driver
        channel.borrower = None
        event.end(error)
        if channel.top is not None or driver.is_closed:  # somebody waits for the channel
            driver.resume(channel)
        driver.stop_threads()
