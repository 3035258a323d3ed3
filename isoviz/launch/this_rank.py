"""What a function that runs on a rank can ask about its rank, `this_rank()`, and how threads of its process take turns."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.launch.rank_station import Station

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World

SWITCH = 500e-6
"""Seconds after which another Python thread gives way, where `switch_often` was called."""


@dataclass(frozen=True)
class ThisRank:
    """The rank that a function of `Ranks.call` runs on.

    - `rank`, `size`: its number, and the number of ranks.
    - `cancel`: set when the caller no longer wants the result. A function that takes long looks at it from time to time.
    - `tell`: sends an object to the `tell` function of the caller.
    - `station`: what the rank keeps between calls.
    """

    rank: int
    size: int
    cancel: threading.Event = field(compare=False)
    tell: Callable[[object], None] = field(compare=False)
    station: Station = field(compare=False)

    @property
    def world(self) -> World:
        """The rank's place in the world of ranks: its MPI thread, its transport and its devices. It stays for later calls.

        All ranks have to ask together for the first time. An engine that earlier runs have left is closed, so that the caller
        can make one of its own, and close it again.
        """
        world = self.station.world()
        self.station.release()
        return world


class _Current(threading.local):
    rank: ThisRank | None = None


_current = _Current()


def this_rank() -> ThisRank:
    """The rank that the calling function runs on.

    Raises:
        InputError: the function was not called by `Ranks.call`, or this is another thread than the one it was called in.
    """
    if _current.rank is None:
        raise InputError("this_rank(): expected to be called by a function of Ranks.call, in the thread that it was called in")
    return _current.rank


def current_rank() -> ThisRank | None:
    """The same; None where `this_rank` raises."""
    return _current.rank


def set_this_rank(rank: ThisRank | None) -> None:
    """Set what `this_rank` answers in this thread."""
    _current.rank = rank


def switch_often() -> None:
    """Let the threads of this process take turns more often, because every MPI call waits once for the interpreter.

    It concerns all threads, so only processes call it that isoviz has started for itself. In the program of a user,
    `sys.setswitchinterval` is the user's own.
    """
    sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
