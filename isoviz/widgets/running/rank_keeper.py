"""The MPI ranks of a session: started when a run needs them, kept for the next runs, watched, and ended with the session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from isoviz.errors import Cancelled, IsovizError, RanksClosed
from isoviz.widgets.state import RanksNow, sentence

if TYPE_CHECKING:
    from isoviz.launch.ranks import Ranks

_LOOK = 0.1
"""Seconds between two looks at ranks: a person sees soon enough that they were lost."""
_PATIENCE = 10.0
"""Seconds that ranks may take to end while a session is closed."""


@dataclass(frozen=True)
class RanksChanged:
    """The ranks of the session are in another state."""

    now: RanksNow


class _Group:
    """One start of ranks, and the thread that waits for it and then watches the ranks."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.over = threading.Event()
        """Set where they are to end."""
        self.decided = threading.Event()
        """Set once they have started, or it is clear that they do not."""
        self.ranks: Ranks | None = None
        self.problem: IsovizError | None = None
        self.now = RanksNow("starting", count)
        self.thread: threading.Thread | None = None


def _start(count: int) -> Ranks:
    from isoviz.launch.ranks import ranks

    return ranks(count)


class RankKeeper:
    """Has at most one group of ranks at a time, and posts `RanksChanged` whenever its state changes. Any thread may use it.

    `start(count)` starts ranks and waits until they are ready (`isoviz.ranks`).
    """

    def __init__(self, post: Callable[[Any], None], start: Callable[[int], Ranks] = _start) -> None:
        self._post = post
        self._start = start
        self._lock = threading.Lock()
        self._group: _Group | None = None
        self._closed = False

    def begin(self, count: int) -> None:
        """See to it that `count` ranks run or start; returns at once."""
        self._group_of(count)

    def running(self, count: int, cancel: threading.Event) -> Ranks:
        """A group of `count` running ranks. If no such group is running, new ranks are started, which may take seconds.

        Raises:
            Cancelled: `cancel` was set; the ranks start nevertheless, for the next run.
            IsovizError: they did not start.
        """
        group = self._group_of(count)
        while not group.decided.wait(_LOOK / 4):
            if cancel.is_set():
                raise Cancelled("cancelled before the ranks had started")
        if group.ranks is None:
            raise group.problem or RanksClosed("the ranks were ended before they had started")
        return group.ranks

    def end(self) -> None:
        """End the ranks; returns at once."""
        with self._lock:
            group = self._group
            if group is None or group.over.is_set() or not _is_usable(group):
                return
            group.over.set()
            self._tell(group, replace(group.now, phase="ending"))

    def close(self) -> None:
        """End the ranks, wait for their end, and start none any more."""
        with self._lock:
            self._closed = True
            group = self._group
            if group is None:
                return
            group.over.set()
        if group.thread is not None:
            group.thread.join(_PATIENCE)

    def _group_of(self, count: int) -> _Group:
        """The group of `count` ranks: the present one if it can be used, else a new one that starts."""
        with self._lock:
            last = self._group
            if self._closed:
                raise RanksClosed("the session was closed")
            if last is not None and last.count == count and not last.over.is_set() and _is_usable(last):
                return last
            if last is not None:
                last.over.set()
            group = self._group = _Group(count)
            group.thread = threading.Thread(target=self._keep, args=(group, last), name="isoviz-ranks-keeper", daemon=True)
            self._tell(group, group.now)
            group.thread.start()
            return group

    # ---- in the thread of a group

    def _keep(self, group: _Group, last: _Group | None) -> None:
        if last is not None and last.thread is not None:
            last.thread.join()
        now = group.now
        self._tell(group, now)
        ranks: Ranks | None = None
        try:
            ranks = self._start(group.count)
            now = replace(now, phase="running", library=ranks.mpi, pids=tuple(each.pid for each in ranks.processes))
            if not group.over.is_set():
                group.ranks = ranks
                self._tell(group, now)
            group.decided.set()
            while not group.over.wait(_LOOK) and ranks.is_alive:
                pass
            now = self._ended(ranks, now)
        except IsovizError as error:
            group.problem = error
            now = replace(now, phase="failed", problem=sentence(str(error)))
        except Exception as error:  # noqa: BLE001 - a defect: shown in the pane like a failure, with its kind
            group.problem = RanksClosed(f"{type(error).__name__}: {error}")
            now = replace(now, phase="failed", problem=str(group.problem))
            if ranks is not None:
                ranks.close()
        group.over.set()
        self._tell(group, now)
        group.decided.set()

    def _ended(self, ranks: Ranks, now: RanksNow) -> RanksNow:
        """End ranks that are lost, or are to end."""
        error = ranks.error
        ranks.close()
        if error is None:
            return replace(now, phase="ended")
        return replace(now, phase="lost", problem=sentence(lost_words(error)))

    def _tell(self, group: _Group, now: RanksNow) -> None:
        group.now = now
        self._post(RanksChanged(now))


def _is_usable(group: _Group) -> bool:
    """Whether ranks start, or run."""
    return not group.decided.is_set() or (group.ranks is not None and group.ranks.is_alive)


def lost_words(error: BaseException) -> str:
    """Why ranks were lost, without the Python that starts new ones: the pane has a button for that."""
    return str(error).partition("; isoviz.ranks(")[0]
