"""Dispatchers: the worker threads of a channel, which carry out the requests that the scheduler issues to it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from isoviz.runtime.engine.interrupts import defer_interrupts

_LOG = logging.getLogger("isoviz")

Job = Callable[[], None]


class Dispatcher:
    """The worker threads of one channel, at most `threads` of them.

    Each job starts one more thread until `threads` are running. `close` ends them; a job after `close` starts new ones.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self._count = threads
        self._lent = self._ending = 0
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._leaving: list[threading.Thread] = []
        self._lock = threading.Lock()

    @defer_interrupts()  # a thread that it starts and does not note would take the end mark of another one
    def put(self, job: Job) -> None:
        """Queue a job. Jobs begin in the order of the calls.

        Raises:
            RuntimeError: no thread is running and the system allows no new one.
        """
        with self._lock:
            if self._ending:
                before, self._threads = len(self._threads), [thread for thread in self._threads if thread.is_alive()]
                self._ending -= before - len(self._threads)
            number = len(self._threads) - self._ending
            if number < self._count + self._lent:
                thread = threading.Thread(target=_work, args=(self._queue,), name=f"isoviz {self.name} {number}", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system allows no more threads: the running ones do the job
                    if not number:
                        raise
                    self._count, self._lent = number, 0
                else:
                    self._threads.append(thread)
            self._queue.put(job)

    @contextmanager
    def lend(self) -> Iterator[None]:
        """Allow one more thread while the block runs.

        A thread of this channel enters the block to work for another channel. A new job of this channel then does not wait for
        it.
        """
        with self._lock:
            self._lent += 1
        try:
            yield
        finally:
            with self._lock:
                self._lent = max(0, self._lent - 1)
                if len(self._threads) - self._ending > self._count + self._lent:  # one thread more than allowed
                    self._ending += 1
                    self._queue.put(None)

    @property
    def has_jobs(self) -> bool:
        """Whether jobs wait for a thread."""
        return not self._queue.empty()

    def close(self, wait: bool = True) -> None:
        """End the threads after they have done the queued jobs. With `wait`, return when they have ended."""
        with defer_interrupts(), self._lock:
            if not self._threads and not self._leaving:
                return
            for _ in self._threads:
                self._queue.put(None)
            # Threads that start later get a new queue, so that they do not take the end marks of these threads.
            self._queue, self._ending = SimpleQueue(), 0
            leaving = [thread for thread in (*self._leaving, *self._threads) if thread.is_alive()]
            self._leaving, self._threads = leaving, []
        if wait:
            for thread in leaving:
                if thread is not threading.current_thread():
                    thread.join()


def _work(queue: SimpleQueue[Job | None]) -> None:
    while True:
        job = queue.get()
        if job is None:
            return
        try:
            job()
        except BaseException:  # noqa: BLE001  # an error of one job must not end the thread
            _LOG.exception("a job of a channel raised")
        del job
