"""Threads of the explorer: one that owns the state, one that computes, one that publishes.

The thread in which Jupyter delivers a message differs between kernels and even between two clicks, so callbacks only put a
message into a queue. All threads are daemons and stop when closed; none of them polls. A forked child does not have them: there
everything but `close` raises ForkedError.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from isoviz.forks import Home

Message = TypeVar("Message")
Request = TypeVar("Request")
Result = TypeVar("Result")

_WHAT = "this explorer"
"""What the threads belong to, as users know it."""


class Worker(Generic[Message]):
    """One thread that owns a state: it takes what waits in the queue, all at once, and hands it to `handle`.

    `handle` gets at least one message and must be quick; what is long belongs into a `Calculator` or a thread of its own.
    `failed` is told of an exception that `handle` let through, and the thread lives on.
    """

    def __init__(self, handle: Callable[[list[Message]], None], failed: Callable[[Exception], None], name: str) -> None:
        self._home = Home(_WHAT)
        self._handle = handle
        self._failed = failed
        self._waiting: deque[Message] = deque()
        self._change = threading.Condition()
        self._closed = False
        self._working = False
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        """Queue a message; from any thread. Ignored after `close`."""
        self._home.require()
        with self._change:
            if not self._closed:
                self._waiting.append(message)
                self._change.notify_all()

    @property
    def idle(self) -> bool:
        """Whether every message put so far has been handled."""
        self._home.require()
        with self._change:
            return not self._waiting and not self._working

    @property
    def is_here(self) -> bool:
        """Whether the caller is in the thread of this worker."""
        return threading.current_thread() is self._thread

    def close(self, timeout: float = 5.0) -> None:
        """Stop after the present message, and wait for the end of the thread unless this is the thread."""
        if not self._home.is_here:
            return
        with self._change:
            self._closed = True
            self._waiting.clear()
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _loop(self) -> None:
        while True:
            with self._change:
                self._working = False
                while not self._waiting and not self._closed:
                    self._change.wait()
                if self._closed:
                    return
                messages = list(self._waiting)
                self._waiting.clear()
                self._working = True
            try:
                self._handle(messages)
            except Exception as error:  # noqa: BLE001 - shown in the pane: nothing may pass silently, nothing may end the thread
                self._failed(error)


class Calculator(Generic[Request, Result]):
    """Computes in the background; the newest request wins.

    `compute(request)` yields better and better results. A newer request ends an older one at its next result; where that
    takes longer than `patience` seconds, a second thread starts on the newer request and the older result is thrown away.
    `deliver(number, result, final)` is called for results of the newest request only, and once more with `final` at its end,
    where `result` is the last one; an exception of `compute` is delivered as a final result.
    """

    def __init__(
        self,
        compute: Callable[[Request], Iterator[Result]],
        deliver: Callable[[int, Result | Exception, bool], None],
        name: str,
        patience: float = 0.3,
        overtaking: int = 2,
    ) -> None:
        self._home = Home(_WHAT)
        self._compute = compute
        self._deliver = deliver
        self._name = name
        self._patience = patience
        self._overtaking = overtaking
        self._lock = threading.Lock()
        self._newest = 0
        self._pending: tuple[int, Request] | None = None
        self._running = 0
        self._closed = False
        self._impatient: threading.Timer | None = None

    def request(self, number: int, request: Request) -> None:
        """Compute this; `number` increases from request to request."""
        self._home.require()
        with self._lock:
            if self._closed:
                return
            self._newest = number
            self._pending = (number, request)
            self._wait_no_longer()
            if self._running:
                self._impatient = threading.Timer(self._patience, self._overtake, (number,))
                self._impatient.daemon = True
                self._impatient.start()
            else:
                self._start()

    def close(self) -> None:
        """Take no further input. The present computation ends at its next result, which is dropped."""
        if not self._home.is_here:
            return
        with self._lock:
            self._closed = True
            self._pending = None
            self._newest += 1
            self._wait_no_longer()

    def _wait_no_longer(self) -> None:
        """End the timer of the request before; called with the lock held."""
        if self._impatient is not None:
            self._impatient.cancel()
            self._impatient = None

    def _overtake(self, number: int) -> None:
        with self._lock:
            waits = self._pending is not None and self._pending[0] == number
            if waits and not self._closed and self._running <= self._overtaking:
                self._start()

    def _start(self) -> None:
        """Called with the lock held."""
        self._running += 1
        threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._pending is None:
                    self._running -= 1
                    return
                number, request = self._pending
                self._pending = None
            self._one(number, request)

    def _one(self, number: int, request: Request) -> None:
        result: Result | Exception | None = None
        try:
            for result in self._compute(request):
                if number != self._newest:
                    return
                self._deliver(number, result, False)
        except Exception as error:  # noqa: BLE001 - delivered: an exception here is a defect, and the pane shows it
            result = error
        if number == self._newest and result is not None:
            self._deliver(number, result, True)


class Publisher:
    """Calls `publish` after changes: at once (`quick` seconds apart) for finished ones, else `slow` seconds apart.

    A change that is followed by better ones within `slow` seconds is so published once, finished.
    """

    def __init__(self, publish: Callable[[], None], name: str, quick: float = 0.03, slow: float = 0.1) -> None:
        self._home = Home(_WHAT)
        self._publish = publish
        self._quick = quick
        self._slow = slow
        self._change = threading.Condition()
        self._urgent = False
        self._since: float | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        self._thread.start()

    def touch(self, urgent: bool) -> None:
        """Something changed; `urgent` where it is finished and should be seen now. From any thread."""
        self._home.require()
        with self._change:
            self._urgent = self._urgent or urgent
            if self._since is None:
                self._since = time.monotonic()
            self._change.notify_all()

    def close(self, timeout: float = 5.0) -> None:
        """Stop; waits for the thread unless called from it."""
        if not self._home.is_here:
            return
        with self._change:
            self._closed = True
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _loop(self) -> None:
        last = -self._slow
        while True:
            with self._change:
                while not self._closed:
                    due = self._due(last)
                    now = time.monotonic()
                    if due is not None and due <= now:
                        break
                    self._change.wait(None if due is None else due - now)
                if self._closed:
                    return
                self._urgent = False
                self._since = None
            last = time.monotonic()
            self._publish()

    def _due(self, last: float) -> float | None:
        if self._since is None:
            return None
        return last + self._quick if self._urgent else max(last, self._since) + self._slow
