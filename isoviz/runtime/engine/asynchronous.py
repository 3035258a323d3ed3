"""Requests of asynchronous channels: the channel's dispatcher starts them; a call of `done`, from any thread, ends them.

The thread that calls `done` belongs to the device, so `done` only notes the end of the request and queues a job. The dispatcher
does the rest, because the scheduler's next instructions may open files or allocate buffers. So `done` returns at once, may be
called within `start`, and may be called while the device holds locks.
"""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from isoviz.errors import RunError

if TYPE_CHECKING:
    from isoviz.runtime.engine.execution import Execution
    from isoviz.runtime.scheduling.work import Issue

_LOG = logging.getLogger("isoviz")

Settled = Callable[["Execution", "Issue", float, float, BaseException | None], None]
"""Called in the dispatcher's thread when a request has ended, with its start and end (`time.perf_counter`) and its error."""


class _Completion:
    """The `done` callback of one request. The first call counts; later calls are logged and ignored."""

    def __init__(self, execution: Execution, issue: Issue, settled: Settled) -> None:
        self._execution, self._issue, self._settled = execution, issue, settled
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
        job = partial(self._settled, execution, issue, self._began, ended, error)
        try:
            execution.dispatchers[issue.hop].put(job)
        except RuntimeError:  # the system allows no new thread: this thread does the job
            job()


def _count(result: object) -> int | None:
    """A number of requests, also as NumPy counts; None if it is none."""
    try:
        count = -1 if isinstance(result, bool) else operator.index(result)  # type: ignore[arg-type]
    except TypeError:
        return None
    return count if count >= 0 else None


def start_request(execution: Execution, issue: Issue, settled: Settled) -> None:
    """Start a request. Whether it succeeds or fails, `settled` is called once in a thread of its channel's dispatcher."""
    completion = _Completion(execution, issue, settled)
    try:
        execution.start(issue, completion)
    except BaseException as error:  # noqa: BLE001  # any error ends this transfer only
        completion(error)
