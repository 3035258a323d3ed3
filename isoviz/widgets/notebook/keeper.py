"""The settings of a session, kept for the cell that shows it as long as it lives."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref

from isoviz.forks import Home
from isoviz.widgets.chosen.kept_sessions import CellPlace, keep
from isoviz.widgets.chosen.settings import Settings
from isoviz.widgets.session import Session
from isoviz.widgets.worker import Publisher

_LOG = logging.getLogger("isoviz")

SECONDS = 1.0
"""At least this long between two writes."""

_open: weakref.WeakSet[Keeper] = weakref.WeakSet()
"""Keepers that are at work."""


@atexit.register
def _keep_all() -> None:
    """Keep what changed within the last second, when the kernel ends or restarts."""
    for keeper in list(_open):
        keeper.close(0.2)


class Keeper:
    """Keeps the settings of a session for a place after every settled change, in a thread of its own, and once more at `close`.

    `start` are the settings that the code asked for. `problem` says why the last ones could not be kept, "" where they were.
    """

    def __init__(self, session: Session, place: CellPlace, start: Settings) -> None:
        self.place = place
        self.problem = ""
        self._session = session
        self._start = start
        self._home = Home("this explorer")
        self._written: Settings = session.settings
        self._writing = threading.Lock()
        self._publisher = Publisher(self._write, "isoviz-keeper", quick=SECONDS, slow=SECONDS)
        self._unlisten = session.listen(self._changed)
        _open.add(self)

    def flush(self) -> None:
        """Write the present settings."""
        if self._home.is_here:
            self._write()

    def close(self, timeout: float = 5.0) -> None:
        """Write the present settings, and no later ones."""
        if self not in _open:
            return
        _open.discard(self)
        self._unlisten()
        self._publisher.close(timeout)
        self.flush()

    def _changed(self, finished: bool) -> None:
        """In the thread of the session: must be quick."""
        if finished and self._session.settings is not self._written:
            self._publisher.touch(True)

    def _write(self) -> None:
        with self._writing:
            settings = self._session.settings
            if settings == self._written:
                return
            try:
                self.problem = keep(self.place, self._start, settings)
            except Exception as error:  # noqa: BLE001 - what is not kept must not end the explorer
                _LOG.exception("the settings of an explorer could not be kept")
                self.problem = f"{type(error).__name__}: {error}"
            self._written = settings


def flush_all(place: CellPlace) -> None:
    """Keep now what sessions of a place hold: another one is about to take it over."""
    for keeper in list(_open):
        if keeper.place == place:
            keeper.flush()
