"""The threads of a channel: they carry out the requests that the scheduler hands to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], None]


class Dispatcher:
    """So many threads for one channel, started with the first job and ended by `close`; another job starts them again."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self._count = threads
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def put(self, job: Job) -> None:
        """Have a job done: in the order of the calls, as far as there is one thread."""
        with self._lock:
            if not self._threads:
                for number in range(self._count):
                    name = f"isoviz {self.name} {number}"
                    self._threads.append(threading.Thread(target=_work, args=(self._queue,), name=name, daemon=True))
                for thread in self._threads:
                    thread.start()
            self._queue.put(job)

    def close(self, wait: bool = True) -> None:
        """End the threads once they have done what they were given."""
        with self._lock:
            threads, self._threads = self._threads, []
            for _ in threads:
                self._queue.put(None)
        if wait:
            for thread in threads:
                if thread is not threading.current_thread():
                    thread.join()


def _work(queue: SimpleQueue[Job | None]) -> None:
    while True:
        job = queue.get()
        if job is None:
            return
        job()
        del job
