"""Messages that arrive: short ones at once, long ones without blocking the MPI thread, in order for each sender."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

SHORT = 2048
"""Bytes up to which both MPI libraries send a message as a whole, so that receiving it waits for nobody."""
_AT_ONCE = 32
"""The most messages that are taken before the MPI thread does something else."""


class Arrivals:
    """The messages of one communicator. `took` gets the sender, the tag and the bytes of each.

    A long message needs its sender's help. The sender may be stopped, so the message is received by a request. Later messages
    of the same sender wait for it.
    """

    def __init__(
        self, mpi: Any, comm: Any, took: Callable[[int, int, bytes], None], track: Callable[[Any, Any, object, int], None]
    ) -> None:
        self._mpi, self._comm = mpi, comm
        self._took, self._track = took, track
        self._status = mpi.Status()
        self._waiting: dict[int, deque[list[Any]]] = {}

    def look(self) -> bool:
        """Take the messages that are there. Returns whether there were any."""
        mpi, status = self._mpi, self._status
        for count in range(_AT_ONCE):
            found = self._comm.Improbe(mpi.ANY_SOURCE, mpi.ANY_TAG, status)
            if found is None:
                return count > 0
            sender, tag, nbytes = status.Get_source(), status.Get_tag(), status.Get_count(mpi.BYTE)
            data = bytearray(nbytes)
            if nbytes <= SHORT and sender not in self._waiting:
                found.Recv([data, mpi.BYTE])
                self._took(sender, tag, bytes(data))
                continue
            entry: list[Any] = [tag, data, False]
            self._waiting.setdefault(sender, deque()).append(entry)
            self._track(found.Irecv([data, mpi.BYTE]), self._ended(sender, entry), data, sender)
        return True

    def _ended(self, sender: int, entry: list[Any]) -> Callable[[BaseException | None], None]:
        def ended(error: BaseException | None) -> None:
            if error is not None:  # the sender is lost
                self._waiting.pop(sender, None)
                return
            entry[2] = True
            queue = self._waiting.get(sender)
            while queue and queue[0][2]:
                tag, data, _ = queue.popleft()
                self._took(sender, tag, bytes(data))
            if not queue:
                self._waiting.pop(sender, None)

        return ended
