"""The messages of a rank: those of other ranks of its host come through rings, all others through MPI."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from mmap import mmap
from typing import TYPE_CHECKING, Any

from isoviz.backends.mpi.tags import CONTROL
from isoviz.backends.mpi.thread.bells import Bell, SharedBell, give_way
from isoviz.backends.mpi.thread.rings import SameHostRings
from isoviz.runtime.engine.interrupts import signal_waits

if TYPE_CHECKING:
    from isoviz.backends.mpi.thread.mpi_requests import Requests


POLLED = 200e-6
"""Seconds without a message after which a thread that waits sleeps."""
SHORT = 2048
"""Bytes up to which both MPI libraries send a message as a whole, so that receiving it waits for nobody."""
_AT_ONCE = 32
"""The most messages that are taken before the MPI thread does something else."""


class Arrivals:
    """The messages of one communicator, in order for each sender. `took` gets the sender, the tag and the bytes of each.

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


class Inbox:
    """Takes the messages of a rank, one thread at a time. `took` gets the sender, the tag and the bytes of each."""

    def __init__(self, mpi: Any, comm: Any, requests: Requests, took: Callable[[int, int, bytes], None]) -> None:
        self._took = took
        self._from_mpi = Arrivals(mpi, comm, self._arrived, requests.track)
        self._same_host: SameHostRings | None = None
        self._taking = threading.Lock()
        """Held by the thread that takes messages. Nobody waits for it: that thread may wait for the MPI thread."""
        self._has_missed = False
        """Whether the MPI thread has not looked because another thread did."""

    def share(
        self, bell: SharedBell, bells: Mapping[int, Bell], inbound: Mapping[int, mmap], outbound: Mapping[int, mmap]
    ) -> None:
        """Use rings from and to some ranks of this host; see `SameHostRings`."""
        self._same_host = SameHostRings(bell, bells, inbound, outbound, self._took, CONTROL)

    def send(self, rank: int, tag: int, data: bytes) -> bytes | None:
        """Send a message, in any thread, if a ring has room for it. Returns what has to be sent through MPI, if anything."""
        same_host = self._same_host
        return data if same_host is None or rank not in same_host else same_host.send(rank, tag, data)

    def take(self) -> bool:
        """Take the messages that are there, in the MPI thread, unless another thread takes some. Whether there were any.

        Raises:
            mpi4py.MPI.Exception: MPI cannot look.
        """
        if not self._taking.acquire(blocking=False):
            self._has_missed = True  # before a second try: the other thread looks at it afterwards
            if not self._taking.acquire(blocking=False):
                return False
        self._has_missed = False
        try:
            is_same_host = self._same_host is not None and self._same_host.look(everything=True)
            return self._from_mpi.look() or is_same_host
        finally:
            self._taking.release()

    def poll(self, is_over: Callable[[], bool]) -> None:
        """Take messages of ranks of this host, in this thread, until something is over.

        It ends before that after some time without messages, and when a signal came.
        """
        same_host = self._same_host
        if same_host is None or is_over():
            return
        with same_host.polling():
            last = time.perf_counter()
            while not is_over() and not signal_waits():
                if self._take_same_host(same_host):
                    last = time.perf_counter()
                elif time.perf_counter() - last > POLLED:
                    return
                else:
                    give_way()

    def _take_same_host(self, same_host: SameHostRings) -> bool:
        if not same_host.has_messages or not self._taking.acquire(blocking=False):
            return False
        try:
            return same_host.look(everything=False)
        finally:
            self._taking.release()
            if self._has_missed:
                same_host.wake()

    @property
    def is_polled(self) -> bool:
        """Whether a thread besides the MPI thread looks for messages."""
        return self._same_host is not None and self._same_host.are_polled

    def _arrived(self, sender: int, tag: int, data: bytes) -> None:
        """A message has come through MPI."""
        same_host = self._same_host
        if same_host is not None and sender in same_host:
            same_host.arrived(sender, tag, data)
        else:
            self._took(sender, tag, data)

    def close(self) -> None:
        """Let go of the rings."""
        if self._same_host is not None:
            self._same_host.close()
