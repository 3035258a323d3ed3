"""The brief probe of this computer in the background: once at a time for a directory, with progress, and cancellable."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from isoviz.errors import Cancelled, IsovizError
from isoviz.forks import Lock, in_child
from isoviz.measure import local_machine

if TYPE_CHECKING:
    from isoviz.machines.machine import Machine

_LOG = logging.getLogger("isoviz")

_under_way: dict[Path, Measuring] = {}
_lock = Lock()
in_child(_under_way.clear)  # the threads stayed in the parent


class Measuring:
    """A measurement under way, in a thread of its own, and its end: the machine `found`, or `error` that says why there is none.

    What was found is kept for later (`isoviz.measure.kept_measurements`).
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.found: Machine | None = None
        self.error = ""
        self._step = "memory, 0 %"
        self.is_cancelled = False
        self._over = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="isoviz-measuring", daemon=True)
        self._thread.start()

    def steps(self) -> Iterator[str]:
        """What is being measured, with the share that is done, as often as it changes; ends with the measurement.

        Any number of threads may follow a measurement.
        """
        told = None
        while True:
            with self._change:
                while not self._over and told == self._step:
                    self._change.wait()
                if self._over:
                    return
                told = self._step
            yield told

    def cancel(self) -> None:
        """End it after the sample in hand."""
        self.is_cancelled = True

    def _tell(self, what: str, share: float) -> None:
        if self.is_cancelled:
            raise Cancelled("measuring was cancelled")
        step = f"{what}, {share:.0%}".replace("%", " %")
        if step != self._step:
            with self._change:
                self._step = step
                self._change.notify_all()

    def _work(self) -> None:
        try:
            self.found = local_machine.measured_machine(self.directory, self._tell)
        except IsovizError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - those who wait have to hear of it
            _LOG.exception("measuring %s failed", self.directory)
            self.error = f"{type(error).__name__}: {error}"
        with _lock:
            if _under_way.get(self.directory) is self:
                del _under_way[self.directory]
        with self._change:
            self._over = True
            self._change.notify_all()


def measuring(directory: Path) -> Measuring:
    """The measurement of a directory and of the memory that is under way, or a new one."""
    with _lock:
        found = _under_way.get(directory)
        if found is None or found.is_cancelled:
            found = _under_way[directory] = Measuring(directory)
        return found


def cancel_all() -> bool:
    """Cancel every measurement under way; whether there was one."""
    with _lock:
        found = list(_under_way.values())
    for each in found:
        each.cancel()
    return bool(found)
