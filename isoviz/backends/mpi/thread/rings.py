"""Messages between the ranks of a host, through memory that both map.

Each ordered pair of ranks has a ring of bytes with one writer and one reader. The thread that sends a message writes it into the
ring of the receiver. A message that finds no room there goes through MPI. Messages are numbered, so that they are delivered in
the order in which they were sent.

On the receiver, a thread that waits for a message of the engine looks into the rings itself (`polling`), which saves waking the
MPI thread, and then the thread that waits. All other messages are for the MPI thread.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import struct
import threading
from collections.abc import Callable, Iterator, Mapping

from isoviz.backends.mpi.lanes.page import IS_STRICT, fence
from isoviz.backends.mpi.thread.bells import Bell, SharedBell
from isoviz.backends.pages import PAGE

ROOM = 16 * PAGE
"""Bytes of a ring, its head included."""
_READ, _WRITTEN, _DATA = 0, 8, 128
"""The words of a ring that count the bytes that were read and written so far, and where its data begins."""
_CAPACITY = ROOM - _DATA
_HEAD = struct.Struct("QII")
"""The number of a message, its bytes, and its tag."""
_NUMBER = struct.Struct("Q")


class Ring:
    """A ring, as its writer or as its reader has it. Only one thread at a time may use either end."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._bytes = memoryview(memory)
        self._words = self._bytes[:_DATA].cast("Q")
        self._data = self._bytes[_DATA:]
        self._at = 0
        """The bytes that this end has read or written."""

    def write(self, number: int, tag: int, data: bytes) -> bool:
        """Write a message; False if there is no room."""
        size = _HEAD.size + -(-len(data) // 8) * 8
        if self._at + size - self._words[_READ] > _CAPACITY:
            return False
        self._put(self._at, _HEAD.pack(number, len(data), tag))
        self._put(self._at + _HEAD.size, data)
        self._at += size
        if not IS_STRICT:
            fence()
        self._words[_WRITTEN] = self._at
        fence()
        return True

    @property
    def is_empty(self) -> bool:
        """Whether there is no message."""
        return bool(self._words[_WRITTEN] == self._at)

    def next_tag(self) -> int:
        """The tag of the next message."""
        if not IS_STRICT:
            fence()
        return int(_HEAD.unpack(self._get(self._at, _HEAD.size))[2])

    def read(self) -> tuple[int, int, bytes]:
        """The next message: its number, its tag and its bytes."""
        if not IS_STRICT:
            fence()
        number, size, tag = _HEAD.unpack(self._get(self._at, _HEAD.size))
        data = self._get(self._at + _HEAD.size, size)
        self._at += _HEAD.size + -(-size // 8) * 8
        self._words[_READ] = self._at
        return number, tag, data

    def close(self) -> None:
        """Let go of the memory."""
        for view in (self._words, self._data, self._bytes):
            view.release()

    def _put(self, at: int, data: bytes) -> None:
        first = at % _CAPACITY
        rest = first + len(data) - _CAPACITY
        if rest <= 0:
            self._data[first : first + len(data)] = data
        else:
            self._data[first:] = data[:-rest]
            self._data[:rest] = data[-rest:]

    def _get(self, at: int, size: int) -> bytes:
        first = at % _CAPACITY
        rest = first + size - _CAPACITY
        if rest <= 0:
            return bytes(self._data[first : first + size])
        return bytes(self._data[first:]) + bytes(self._data[:rest])


class _Sender:
    """How this rank sends to another one of its host."""

    def __init__(self, ring: Ring, bell: Bell) -> None:
        self.ring, self.bell = ring, bell
        self.numbers = itertools.count()
        self.writing = threading.Lock()


class _Receiver:
    """What this rank has got from another one of its host."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.expected = 0
        self.early: dict[int, tuple[int, bytes]] = {}
        """Messages that came through MPI before earlier ones were read from the ring, or the other way round."""


class SameHostRings:
    """The messages between this rank and the others of its host.

    - `bell`: the bell of this rank. `bells`: those of the other ranks.
    - `inbound`, `outbound`: the rings from and to the other ranks.
    - `take`: takes the sender, the tag and the bytes of a message. One thread at a time calls it.
    - `anywhere`: the tag of the messages that any thread may take.
    """

    def __init__(
        self,
        bell: SharedBell,
        bells: Mapping[int, Bell],
        inbound: Mapping[int, mmap.mmap],
        outbound: Mapping[int, mmap.mmap],
        take: Callable[[int, int, bytes], None],
        anywhere: int,
    ) -> None:
        self._bell, self._take, self._anywhere = bell, take, anywhere
        self._senders = {rank: _Sender(Ring(memory), bells[rank]) for rank, memory in outbound.items()}
        self._receivers = {rank: _Receiver(Ring(memory)) for rank, memory in inbound.items()}
        self._process = os.getpid()
        self._pollers = 0
        self._counting = threading.Lock()

    def __contains__(self, rank: int) -> bool:
        return rank in self._senders

    def send(self, rank: int, tag: int, data: bytes) -> bytes | None:
        """Send a message to a rank of this host, in any thread. Returns what has to go through MPI instead, if anything."""
        sender = self._senders[rank]
        number = next(sender.numbers)
        if os.getpid() == self._process and sender.writing.acquire(blocking=False):
            try:
                if sender.ring.write(number, tag, data):
                    sender.bell.ring_for_message()
                    return None
            finally:
                sender.writing.release()
        return _NUMBER.pack(number) + data

    def arrived(self, rank: int, tag: int, data: bytes) -> None:
        """Take a message that came through MPI. The caller is the only one that takes."""
        receiver = self._receivers[rank]
        number = _NUMBER.unpack_from(data)[0]
        receiver.early[number] = tag, data[_NUMBER.size :]
        self._deliver(rank, receiver, everything=True)

    def look(self, *, everything: bool) -> bool:
        """Take the messages that are there. The caller is the only one that takes. Whether there were any.

        Without `everything`, take messages of the engine only: the MPI thread is woken for the others.
        """
        found = False
        for rank, receiver in self._receivers.items():
            ring = receiver.ring
            if receiver.early:
                found |= self._deliver(rank, receiver, everything=everything)
            while not ring.is_empty:
                if not everything and ring.next_tag() != self._anywhere:
                    self._bell.ring()
                    break
                number, tag, data = ring.read()
                found = True
                if number == receiver.expected:
                    receiver.expected += 1
                    self._take(rank, tag, data)
                else:
                    receiver.early[number] = tag, data
                if receiver.early:
                    self._deliver(rank, receiver, everything=everything)
        return found

    def _deliver(self, rank: int, receiver: _Receiver, *, everything: bool) -> bool:
        """Take early messages whose turn has come. Whether there were any."""
        found = False
        while (message := receiver.early.get(receiver.expected)) is not None:
            if not everything and message[0] != self._anywhere:
                self._bell.ring()
                break
            del receiver.early[receiver.expected]
            receiver.expected += 1
            found = True
            self._take(rank, *message)
        return found

    def wake(self) -> None:
        """Wake the MPI thread of this rank."""
        self._bell.ring()

    @property
    def has_messages(self) -> bool:
        """Whether a message waits."""
        return any(not receiver.ring.is_empty for receiver in self._receivers.values())

    @property
    def are_polled(self) -> bool:
        """Whether a thread looks for messages."""
        return self._pollers > 0

    @contextlib.contextmanager
    def polling(self) -> Iterator[None]:
        """In the block, this thread looks for messages: other ranks do not wake the MPI thread."""
        with self._counting:
            self._pollers += 1
            self._bell.is_polled = True
        try:
            yield
        finally:
            with self._counting:
                self._pollers -= 1
                if not self._pollers:
                    self._bell.is_polled = False
            fence()
            if not self._pollers and self.has_messages:  # its sender has perhaps not rung
                self._bell.ring()

    def close(self) -> None:
        """Let go of the memory."""
        for sender in self._senders.values():
            with sender.writing:
                sender.ring.close()
        for receiver in self._receivers.values():
            receiver.ring.close()
        self._senders, self._receivers = {}, {}
