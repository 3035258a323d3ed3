"""The event that `copy` returns: it triggers when the transfer has ended (Isometry, section 2)."""

from __future__ import annotations

import concurrent.futures
import logging
import threading
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.errors import Cancelled, EmptyArrayError
from isoviz.forks import Home

if TYPE_CHECKING:
    from isoviz.planner import Plan

_LOG = logging.getLogger("isoviz")


class Event:
    """A submitted transfer: waitable, awaitable and cancellable. It carries the error if the transfer failed.

    Any thread may use it. In a forked child, the outcome of a transfer that ended before
    the fork is known. For any other transfer, asking, waiting and cancelling raise ForkedError, because the child would never
    learn of the end.
    """

    route = "scheduler"
    """How it is carried out.

    - `scheduler`: by threads that ask a scheduler after each request.
    - `inline`: by the thread that submits it.
    - `lane`: by a compiled loop that has its channels for itself. Between ranks, through memory that both ranks of a host map.
    - `eager`: between ranks, inside a message.
    """

    def __init__(
        self,
        plan: Plan | None,
        cancel: Callable[[], None] | None = None,
        arrived: Callable[[], None] | None = None,
        later: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self.home = Home("this transfer")
        self._plan = plan
        self._request_cancel = cancel
        self._arrived = arrived
        self._later = later
        self._ended = False
        self._waited: threading.Event | None = None
        """Set at the end; made by the first thread that waits."""
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Event], object]] = []
        self._lock = threading.Lock()
        self._bytes_done = 0

    @classmethod
    def of_nothing(cls) -> Event:
        """The event of a copy between empty arrays, which has ended."""
        found = cls(None)
        found.end()
        return found

    # ---- asking

    @property
    def plan(self) -> Plan:
        """The plan that is carried out.

        Raises:
            EmptyArrayError: nothing moves between empty arrays.
        """
        if self._plan is None:
            raise EmptyArrayError("event: nothing moves between empty arrays, so there is no plan")
        return self._plan

    @property
    def done(self) -> bool:
        """Whether the transfer has ended, with or without an error."""
        if not self._ended:
            self.home.require()
        return self._ended

    @property
    def bytes_done(self) -> int:
        """Bytes that have arrived."""
        return self._plan.bytes if self._plan is not None and self.done and self._error is None else self._bytes_done

    @property
    def progress(self) -> float:
        """The fraction of the bytes that has arrived, 0 to 1."""
        return self.bytes_done / self._plan.bytes if self._plan is not None and self._plan.bytes else 1.0

    def error(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end of the transfer and return its error; None if it succeeded.

        Raises:
            TimeoutError: the transfer has not ended after `timeout` seconds. InputError: `timeout` is no number.
        """
        timeout = checks.timeout(timeout)
        if not self.done and not self._over().wait(timeout):
            raise TimeoutError(f"the transfer has not ended after {timeout:g} s")
        return self._error

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the transfer has ended. Ctrl-C interrupts the waiting, not the transfer.

        Raises:
            TimeoutError: the transfer has not ended after `timeout` seconds.
            RunError: it failed.
            Cancelled: it was cancelled.
        """
        error = self.error(timeout)
        if error is not None:
            raise error

    def __await__(self) -> Generator[Any, None, None]:
        import asyncio

        future: concurrent.futures.Future[None] = concurrent.futures.Future()

        def over(event: Event) -> None:
            if future.set_running_or_notify_cancel():
                if event._error is None:
                    future.set_result(None)
                else:
                    future.set_exception(event._error)

        self.add_done_callback(over)
        return asyncio.wrap_future(future).__await__()

    # ---- acting

    def cancel(self) -> None:
        """Ask the transfer to stop between two requests; it then ends with `Cancelled`. No effect after its end."""
        request = None if self.done else self._request_cancel
        if request is not None:
            request()

    def add_done_callback(self, callback: Callable[[Event], object]) -> None:
        """Call a function with this event when the transfer has ended; at once, in this thread, if it has ended already.

        Otherwise the callback runs in a thread that runs only callbacks. So it may wait for other transfers, submit transfers or
        close the engine. An exception that it raises is logged and has no other effect.

        Raises:
            InputError: `callback` cannot be called.
        """
        checks.expect_call("add_done_callback", callback, "a function of the event", may_be_class=True)
        if not self.done:
            with self._lock:
                if not self._ended:
                    self._callbacks.append(callback)
                    return
        self._call(callback)

    def _over(self) -> threading.Event:
        with self._lock:
            if self._waited is None:
                self._waited = threading.Event()
                if self._ended:
                    self._waited.set()
            return self._waited

    def _call(self, callback: Callable[[Event], object]) -> None:
        try:
            callback(self)
        except Exception:  # noqa: BLE001  # the callback is the caller's code: its errors are logged
            _LOG.exception("a callback of a transfer raised")

    # ---- for the engine

    def moved(self, nbytes: int) -> None:
        """Count `nbytes` more bytes as arrived."""
        self._bytes_done += nbytes
        arrived = self._arrived
        if arrived is not None:
            arrived()

    def end(self, error: BaseException | None = None) -> None:
        """End the event. Callbacks run through `later`, or in this thread if there is no `later`."""
        with self._lock:
            if self._ended:
                return
            self._error = error
            later = self._later
            self._request_cancel = self._arrived = self._later = None
            callbacks, self._callbacks = self._callbacks, []
            self._ended = True
            if self._waited is not None:
                self._waited.set()
        for callback in callbacks:
            if later is None:
                self._call(callback)
            else:
                later(partial(self._call, callback))

    def __repr__(self) -> str:
        if not self.home.is_here and not self._ended:
            return f"<Event {self._what}: of another process>"
        state = "under way" if not self.done else "done" if self._error is None else type(self._error).__name__
        if isinstance(self._error, Cancelled):
            state = "cancelled"
        return f"<Event {self._what}: {state}, {100 * self.progress:.0f} %>"

    @property
    def _what(self) -> str:
        return "of empty arrays" if self._plan is None else str(self._plan.transfer)
