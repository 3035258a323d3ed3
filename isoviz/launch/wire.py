"""Messages between a client (a notebook, a script) and the workers of its ranks: one connection for each rank.

Both ends prove that they know the job's secret before either reads anything else (`greeting`). Then each end first sends one JSON
object, which every version of isoviz can read. Everything after it is a `Message`. The connection is not encrypted.

On a network, a message has a tag that only the two ends can make: it depends on the secret, on what both ends have said so far,
on the direction, on the number of the message, and on all of the message but the bytes of its buffers. So a relay can neither add
a message, nor change, leave out or repeat one. It could change numbers in large arrays, which tags would make slower. The Unix
socket of a job needs no tags: no other user can reach it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import pickle
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Any

from isoviz.errors import RunError

PROTOCOL = 3
"""The version of these messages."""
CLIENT, WORKER = b"client", b"worker"
"""The two ends."""

_LARGEST_TEXT = 1 << 20
_MOST_BUFFERS = 1 << 16
_PIECE = 64 << 20
_HEAD = struct.Struct("!Q8sQI")
"""The number of the command, the kind, the bytes of the body, and the number of buffers, whose sizes follow."""
_NUMBER = struct.Struct("!Q")
_TAG = 32


class ConnectionLost(RunError):  # noqa: N818  what happened, not a mistake
    """The other end has closed the connection, or it is not the one that was expected."""


class NotUnderstood(ConnectionLost):
    """The other end is not the one that was expected, or it sent something that it never sends."""


@dataclass(frozen=True)
class Message:
    """One message: the `number` of the command that it belongs to, its `kind`, and a body that stays pickled until it is needed.

    A reader can therefore pass on a body that it cannot unpickle itself, and an error in the body is an error of its command.
    """

    number: int
    kind: str
    body: bytes = b""
    buffers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, number: int, kind: str, value: object = None) -> Message:
        """A message with a pickled value. The bytes of arrays in it are not copied here.

        Raises:
            Exception: the value cannot be pickled; pickle raises errors of many types.
        """
        found: list[pickle.PickleBuffer] = []
        body = pickle.dumps(value, 5, buffer_callback=found.append)
        return cls(number, kind, body, tuple(buffer.raw() for buffer in found))

    def value(self) -> Any:
        """The value. Arrays in it own the memory that they were received in.

        Raises:
            Exception: the value cannot be unpickled here.
        """
        return pickle.loads(self.body, buffers=self.buffers)  # noqa: S301  # its tag is made by a peer that knows the secret


class Wire:
    """One end of a connection, `CLIENT` or `WORKER`. One thread receives; any thread sends.

    `session` is a key that only the two ends know. Each end sends a JSON object, the worker first, and then calls `begin`.
    """

    def __init__(self, connection: socket.socket, session: bytes, end: bytes) -> None:
        self._socket = connection
        self._end = end
        self._said = hmac.new(session, digestmod="sha256")
        self._sending = threading.Lock()
        self._last: float | None = None
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    # ---- first objects

    def send_json(self, value: object) -> None:
        """Send the first object: JSON, so that any version can read it.

        Raises:
            ConnectionLost: the connection has ended.
        """
        data = json.dumps(value).encode()
        self._said.update(data)
        put(self._socket, struct.pack("!I", len(data)) + data, self._last)

    def receive_json(self) -> Any:
        """Wait for the first object of the other end.

        Raises:
            ConnectionLost: the connection has ended. NotUnderstood: the object is not JSON.
        """
        (size,) = struct.unpack("!I", self._exactly(4))
        if size > _LARGEST_TEXT:
            raise NotUnderstood("the other end sent something that is no greeting")
        data = bytes(self._exactly(size))
        self._said.update(data)
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise NotUnderstood("the other end sent something that is no greeting") from None

    def begin(self) -> None:
        """Both ends have sent their first object: from now on there are messages, as many as there are, without a time limit."""
        is_ours = self._socket.family == socket.AF_UNIX
        of_client, of_worker = (
            _Tags(None if is_ours else hmac.digest(self._said.digest(), end, "sha256")) for end in (CLIENT, WORKER)
        )
        self._mine, self._theirs = (of_client, of_worker) if self._end == CLIENT else (of_worker, of_client)
        self.limit(None)

    # ---- messages

    def send(self, message: Message) -> None:
        """Send a message; wait until the system has taken it.

        Raises:
            ConnectionLost: the connection has ended.
        """
        buffers, body = message.buffers, message.body
        head = _HEAD.pack(message.number, message.kind.encode(), len(body), len(buffers))
        if buffers:
            head += struct.pack(f"!{len(buffers)}Q", *[memoryview(buffer).nbytes for buffer in buffers])
        try:
            with self._sending:
                tag = self._mine.next(head, body)
                parts = (head + body + tag,) if len(body) < _LARGEST_TEXT else (head, body, tag)
                for part in (*parts, *buffers):
                    self._socket.sendall(part)
        except (OSError, ValueError) as error:
            raise ConnectionLost(f"the connection has ended ({error})") from None

    def receive(self) -> Message:
        """Wait for the next message.

        Raises:
            ConnectionLost: the connection has ended. NotUnderstood: the other end did not send this message, or not as it is.
        """
        head = self._exactly(_HEAD.size)
        number, kind, nbytes, count = _HEAD.unpack(head)
        if count > _MOST_BUFFERS or nbytes > _MOST_BYTES:
            raise NotUnderstood("the other end sent something that is no message")
        if count:
            head += self._exactly(8 * count)
        sizes = struct.unpack_from(f"!{count}Q", head, _HEAD.size)
        if sum(sizes) > _MOST_BYTES:
            raise NotUnderstood("the other end sent a message that is larger than the memory of this computer")
        rest = self._exactly(nbytes + self._theirs.nbytes)
        tag = rest[nbytes:]
        body = bytes(memoryview(rest)[:nbytes])
        if not hmac.compare_digest(tag, self._theirs.next(head, body)):
            raise NotUnderstood("a message arrived that the other end did not send, or not as it is")
        try:
            name = kind.rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise NotUnderstood("the other end sent something that is no message") from None
        return Message(number, name, body, tuple([self._exactly(size) for size in sizes]))

    def limit(self, last: float | None) -> None:
        """The moment of `time.monotonic` at which sending and receiving is given up; None: it is not."""
        self._last = last
        self._socket.settimeout(None)

    def close(self) -> None:
        """End the connection. A thread that receives gets ConnectionLost. Safe to call twice, from any thread."""
        with contextlib.suppress(OSError):  # it has ended already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytearray:
        return exactly(self._socket, size, self._last)


class _Tags:
    """The tags of the messages in one direction, in their order; empty ones without a key."""

    def __init__(self, key: bytes | None) -> None:
        self.nbytes = 0 if key is None else _TAG
        self._keyed = hashlib.blake2b(key=key or b"", digest_size=_TAG)  # For short messages, HMAC takes twice as long.
        self._number = 0

    def next(self, head: bytes | bytearray, body: bytes) -> bytes:
        """The tag of the next message."""
        if not self.nbytes:
            return b""
        found = self._keyed.copy()
        found.update(_NUMBER.pack(self._number) + head)
        found.update(body)
        self._number += 1
        return found.digest()


def exactly(connection: socket.socket, size: int, last: float | None) -> bytearray:
    """The next `size` bytes. Room is made as they arrive: their number may be anything that a stranger has sent.

    Raises:
        ConnectionLost: the connection has ended, or they were not all there at the moment `last`.
    """
    room = bytearray(min(size, _PIECE))
    view, done = memoryview(room), 0
    while done < size:
        if done == len(room):
            view.release()
            room += bytes(min(done, size - done))
            view = memoryview(room)
        try:
            if last is not None:
                connection.settimeout(max(1e-3, last - time.monotonic()))
            count = connection.recv_into(view[done:])
        except (OSError, ValueError) as error:
            raise ConnectionLost(f"the connection has ended ({error})") from None
        if count == 0:
            raise ConnectionLost("the other end has closed the connection")
        done += count
    return room


def put(connection: socket.socket, data: bytes, last: float | None) -> None:
    """Send bytes.

    Raises:
        ConnectionLost: the connection has ended, or they were not all taken at the moment `last`.
    """
    try:
        if last is not None:
            connection.settimeout(max(1e-3, last - time.monotonic()))
        connection.sendall(data)
    except (OSError, ValueError) as error:
        raise ConnectionLost(f"the connection has ended ({error})") from None


def _memory() -> int:
    """The bytes of this computer's memory: no message is larger."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # another system than Linux
        return 1 << 40


_MOST_BYTES = _memory()
