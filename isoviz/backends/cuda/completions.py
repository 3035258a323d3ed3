"""The ends of queued work: one thread per device asks the events of all requests in flight.

A request in flight needs no thread. The thread ends after a short time without requests.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

_LOG = logging.getLogger("isoviz")

_LINGER = 0.5
"""Seconds that the thread waits for a further request before it ends."""
_SHORTEST, _LONGEST = 20e-6, 200e-6
"""Seconds between two questions: a request of 8 MiB takes 150 µs or more, and two are in flight."""

Ended = Callable[[BaseException | None], None]
"""Called with the error of the work, or None."""


class _Watched(NamedTuple):
    event: int
    ended: Ended


class Completions:
    """Calls a function when the work has ended that an event stands for, or has failed.

    `is_over` asks the driver. `name` is that of the thread.
    """

    def __init__(self, is_over: Callable[[int], bool], name: str) -> None:
        self._is_over = is_over
        self._name = name
        self._watched: list[_Watched] = []
        self._resting = 0
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def watch(self, event: int, ended: Ended) -> None:
        """Call `ended` once, in the thread of this object, when the work of `event` is over.

        Raises:
            RuntimeError: the system allows no thread.
        """
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                thread.start()
                self._thread = thread
            self._watched.append(_Watched(event, ended))
            self._changed.notify_all()

    def rest(self) -> None:
        """End the thread and wait for it, unless something is watched. A later `watch` starts another one."""
        with self._changed:
            thread = self._thread
            if thread is None or thread is threading.current_thread() or self._watched:
                return
            self._resting += 1
            self._changed.notify_all()
        thread.join()
        with self._changed:
            self._resting -= 1

    def _work(self) -> None:
        pause = _SHORTEST
        while True:
            with self._changed:
                if not self._watched and not self._resting:
                    self._changed.wait_for(lambda: self._watched or self._resting, _LINGER)
                if not self._watched:
                    self._thread = None
                    return
                watched = list(self._watched)
            over = [(each, error) for each in watched for ended, error in (self._ask(each.event),) if ended]
            if not over:
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST)
                continue
            pause = _SHORTEST
            with self._changed:
                for each, _ in over:
                    self._watched.remove(each)
            for each, error in over:
                try:
                    each.ended(error)
                except BaseException:  # noqa: BLE001  # an error of one request must not end the thread
                    _LOG.exception("the end of a GPU request raised")

    def _ask(self, event: int) -> tuple[bool, BaseException | None]:
        try:
            return self._is_over(event), None
        except BaseException as error:  # noqa: BLE001  # the request reports it
            return True, error
