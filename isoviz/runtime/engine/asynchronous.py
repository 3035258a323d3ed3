"""Requests of asynchronous channels: they are started, and their ends are noted by threads that belong to the device.

The dispatcher of an asynchronous channel starts its requests, and a call of `done` from any thread ends them. That thread
belongs to the device. So `done` only notes the end, and the dispatcher does the rest. It settles all ends that it meets in one
go, and starts the requests that follow from them.
"""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from isoviz.errors import RunError

if TYPE_CHECKING:
    from isoviz.runtime.engine.dispatcher import Dispatcher
    from isoviz.runtime.engine.execution import Execution
    from isoviz.scheduling.work import Issue

_LOG = logging.getLogger("isoviz")

Request = tuple["Execution", "Issue"]
"""A request to carry out, and its transfer."""
Ended = tuple["Execution", "Issue", float, float, "BaseException | None"]
"""A request that has ended: its transfer, its start and end (`time.perf_counter`), and its error."""


class EndedRequests:
    """The requests of an asynchronous channel that have ended and are not settled yet. Any thread may use it.

    `settle` is called with them in the thread of the channel's dispatcher.
    """

    def __init__(self, dispatcher: Dispatcher, settle: Callable[[Dispatcher, Sequence[Ended]], None]) -> None:
        self._dispatcher, self._settle = dispatcher, settle
        self._waiting: deque[Ended] = deque()
        self._has_job = False

    def put(self, ended: Ended) -> None:
        """Add a request."""
        self._waiting.append(ended)
        if self._has_job:  # it takes this request along, because it looks for requests later
            return
        self._has_job = True
        try:
            self._dispatcher.put(self._work)
        except RuntimeError:  # the system allows no new thread: this thread does the job
            self._work()

    def _work(self) -> None:
        self._has_job = False
        ended: list[Ended] = []
        with suppress(IndexError):
            while True:
                ended.append(self._waiting.popleft())
        if ended:
            self._settle(self._dispatcher, ended)


class _Completion:
    """The `done` callback of one request. The first call counts; later calls are logged and ignored."""

    def __init__(self, execution: Execution, issue: Issue, ends: EndedRequests) -> None:
        self._execution, self._issue, self._ends = execution, issue, ends
        self._began = time.perf_counter()
        self._first = threading.Lock()

    def __call__(self, result: int | BaseException) -> None:
        ended = time.perf_counter()
        execution, issue = self._execution, self._issue
        name = execution.work.channels[issue.hop]
        if not self._first.acquire(blocking=False):
            _LOG.error("channel %s: called done twice for a request of chunk %d; ignored: %r", name, issue.chunk, result)
            return
        error: BaseException | None = None
        if isinstance(result, BaseException):
            error = execution.placed(result, issue)
        elif (count := _count(result)) is None:
            wrong = RunError(f"done({result!r}): expected the number of requests of the device, or an exception")
            error = execution.placed(wrong, issue)
        else:
            execution.count(issue.hop, count)
        self._ends.put((execution, issue, self._began, ended, error))


def _count(result: object) -> int | None:
    """A number of requests, also as NumPy counts; None if it is none."""
    try:
        count = -1 if isinstance(result, bool) else operator.index(result)  # type: ignore[arg-type]
    except TypeError:
        return None
    return count if count >= 0 else None


def start_request(execution: Execution, issue: Issue, ends: EndedRequests) -> None:
    """Start a request. Whether it succeeds or fails, it is put once among the `ends` of its channel."""
    completion = _Completion(execution, issue, ends)
    try:
        execution.start(issue, completion)
    except BaseException as error:  # noqa: BLE001  # any error ends this transfer only
        completion(error)
