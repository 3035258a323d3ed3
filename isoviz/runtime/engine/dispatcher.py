"""The threads of a channel: they carry out the requests that the scheduler hands to it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue

_LOG = logging.getLogger("isoviz")

Job = Callable[[], None]


class Dispatcher:
    """Up to so many threads for one channel, each started with a job and ended by `close`; more jobs start them again."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self._count = threads
        self._lent = self._ending = 0
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._leaving: list[threading.Thread] = []
        self._lock = threading.Lock()

    def put(self, job: Job) -> None:
        """Have a job done: in the order of the calls, as far as there is one thread."""
        with self._lock:
            if self._ending:
                before, self._threads = len(self._threads), [thread for thread in self._threads if thread.is_alive()]
                self._ending -= before - len(self._threads)
            number = len(self._threads) - self._ending
            if number < self._count + self._lent:
                thread = threading.Thread(target=_work, args=(self._queue,), name=f"isoviz {self.name} {number}", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system allows no more: those that there are do it
                    if not number:
                        raise
                    self._count, self._lent = number, 0
                else:
                    self._threads.append(thread)
            self._queue.put(job)

    @contextmanager
    def lend(self) -> Iterator[None]:
        """For a thread of this channel that works for another channel: a job that comes meanwhile gets one more thread."""
        with self._lock:
            self._lent += 1
        try:
            yield
        finally:
            with self._lock:
                self._lent = max(0, self._lent - 1)
                if len(self._threads) - self._ending > self._count + self._lent:  # there is one more than are needed
                    self._ending += 1
                    self._queue.put(None)

    @property
    def has_jobs(self) -> bool:
        """Whether jobs wait for a thread."""
        return not self._queue.empty()

    def close(self, wait: bool = True) -> None:
        """End the threads once they have done what they were given."""
        with self._lock:
            for _ in self._threads:
                self._queue.put(None)
            # Threads that start later have a queue of their own: nobody takes what ends another one.
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
        except BaseException:  # noqa: BLE001  # whatever it is, the next job has its thread
            _LOG.exception("a job of a channel raised")
        del job
