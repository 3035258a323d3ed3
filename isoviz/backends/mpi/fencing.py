"""Fences: a lost rank of this host is ended before its transfers end here, so that it writes nothing afterwards.

A rank that was stopped in the middle of a copy has mapped memory of other ranks, and MPI has, too. If it continued later, it
would overwrite what they have put there meanwhile. No rank can take a map away from another process. So the process is killed,
and its end is waited for: only then no thread of it, no request of the system and no GPU writes for it any more.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import threading
from collections.abc import Callable

_LOG = logging.getLogger("isoviz")

PATIENCE = 60.0
"""Seconds that a killed process has to end. A large process needs seconds to give its memory back."""


class Fence:
    """Ends other ranks of this host. `processes` has a pidfd for each: it names that process also after the system has
    given its number to another one. It is closed with the fence.
    """

    def __init__(self, processes: dict[int, int]) -> None:
        self._processes = processes

    def end(self, rank: int, reason: str, then: Callable[[bool], None]) -> None:
        """Kill a rank that is lost for some reason. Call `then` in any thread: with True when its process has ended, or with
        False if it may go on.

        It goes on if it runs on another host, or if the system does not let this process end it.
        """
        descriptor = self._processes.pop(rank, None)
        if descriptor is None:
            then(False)
            return
        # In a thread, because the other ranks wait for signs of life of this one.
        threading.Thread(
            target=_end, args=(rank, reason, descriptor, then), name=f"isoviz end of rank {rank}", daemon=True
        ).start()

    def close(self) -> None:
        """Let go of the processes."""
        while self._processes:
            os.close(self._processes.popitem()[1])


def _end(rank: int, reason: str, descriptor: int, then: Callable[[bool], None]) -> None:
    try:
        if not has_ended(descriptor, 0):
            _LOG.warning("rank %d of this host is lost (%s): it is killed, so that it writes nothing any more", rank, reason)
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        is_over = has_ended(descriptor, PATIENCE)
    except OSError as error:
        _LOG.warning("rank %d is lost and cannot be killed: %s", rank, error.strerror)
        is_over = False
    finally:
        os.close(descriptor)
    then(is_over)


def process_of(pid: int) -> int | None:
    """A pidfd of a process; None where the system has or gives none."""
    with contextlib.suppress(AttributeError, OSError):  # older than Linux 5.3, or another system
        return os.pidfd_open(pid)
    return None


def has_ended(descriptor: int, seconds: float) -> bool:
    """Whether the process of a pidfd ends within some seconds."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(1000 * seconds))
