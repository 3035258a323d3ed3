"""Messages between a client (a notebook, a script) and the workers of its ranks: one TCP connection for each rank.

Both ends prove that they know the job's secret before either reads anything else (`greet`, `answer`). Then each end first sends
one JSON object, which every version of isoviz can read. Everything after it is a `Message`. The connection is not encrypted.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import pickle
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from isoviz.errors import RunError

PROTOCOL = 2
"""The version of these messages."""

_MAGIC = b"isoviz ranks\n"
_NONCE = 32
_LARGEST_TEXT = 1 << 20
_MOST_BUFFERS = 1 << 16
_HEAD = struct.Struct("!Q8sQI")
"""The number of the command, the kind, the bytes of the body, and the number of buffers, whose sizes follow."""


class ConnectionLost(RunError):  # noqa: N818  what happened, not a mistake
    """The other end has closed the connection, or it is not the one that was expected."""


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
        return pickle.loads(self.body, buffers=self.buffers)  # noqa: S301  # from a peer that knows the job's secret


class Wire:
    """One end of a connection. One thread receives; any thread sends."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._sending = threading.Lock()
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def send(self, message: Message) -> None:
        """Send a message; wait until the system has taken it.

        Raises:
            ConnectionLost: the connection has ended.
        """
        buffers = message.buffers
        head = _HEAD.pack(message.number, message.kind.encode(), len(message.body), len(buffers))
        sizes = struct.pack(f"!{len(buffers)}Q", *[memoryview(buffer).nbytes for buffer in buffers])
        small = not buffers and len(message.body) < _LARGEST_TEXT
        try:
            with self._sending:
                if small:
                    self._socket.sendall(head + message.body)
                else:
                    for part in (head + sizes, message.body, *buffers):
                        self._socket.sendall(part)
        except (OSError, ValueError) as error:
            raise ConnectionLost(f"the connection has ended ({error})") from None

    def receive(self) -> Message:
        """Wait for the next message.

        Raises:
            ConnectionLost: the connection has ended.
        """
        number, kind, nbytes, count = _HEAD.unpack(self._exactly(_HEAD.size))
        if count > _MOST_BUFFERS:
            raise ConnectionLost("the other end sent something that is no message")
        sizes = struct.unpack(f"!{count}Q", self._exactly(8 * count))
        body = bytes(self._exactly(nbytes))
        return Message(number, kind.rstrip(b"\0").decode(), body, tuple([self._exactly(size) for size in sizes]))

    def send_json(self, value: object) -> None:
        """Send the first object: JSON, so that any version can read it."""
        data = json.dumps(value).encode()
        try:
            self._socket.sendall(struct.pack("!I", len(data)) + data)
        except OSError as error:
            raise ConnectionLost(f"the connection has ended ({error})") from None

    def receive_json(self) -> Any:
        """Wait for the first object of the other end.

        Raises:
            ConnectionLost: the connection has ended, or the object is no JSON.
        """
        (size,) = struct.unpack("!I", self._exactly(4))
        if size > _LARGEST_TEXT:
            raise ConnectionLost("the other end sent something that is no greeting")
        try:
            return json.loads(bytes(self._exactly(size)))
        except ValueError:
            raise ConnectionLost("the other end sent something that is no greeting") from None

    def limit(self, seconds: float | None) -> None:
        """The longest time that sending and receiving may wait; None: no limit."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        """End the connection. A thread that receives gets ConnectionLost. Safe to call twice, from any thread."""
        with contextlib.suppress(OSError):  # it has ended already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytearray:
        return _exactly(self._socket, size)


def _exactly(connection: socket.socket, size: int) -> bytearray:
    room = bytearray(size)
    view = memoryview(room)
    done = 0
    while done < size:
        try:
            count = connection.recv_into(view[done:])
        except OSError as error:
            raise ConnectionLost(f"the connection has ended ({error})") from None
        if count == 0:
            raise ConnectionLost("the other end has closed the connection")
        done += count
    return room


def greet(connection: socket.socket, secret: bytes) -> Wire:
    """The client's half of the proof, on a connection that a worker has opened. A connection that fails is closed.

    Raises:
        ConnectionLost: the other end does not know the secret.
    """
    with _closed_on_failure(connection):
        mine = os.urandom(_NONCE)
        _put(connection, _MAGIC + mine)
        theirs = _exactly(connection, _NONCE)
        _require_proof(connection, _proof(secret, b"worker", mine, theirs))
        _put(connection, _proof(secret, b"client", mine, theirs))
        return Wire(connection)


def answer(connection: socket.socket, secret: bytes) -> Wire:
    """The worker's half of the proof. A connection that fails is closed.

    Raises:
        ConnectionLost: the other end is no isoviz client, or does not know the secret.
    """
    with _closed_on_failure(connection):
        if bytes(_exactly(connection, len(_MAGIC))) != _MAGIC:
            raise ConnectionLost("the other end is no client of isoviz")
        theirs = _exactly(connection, _NONCE)
        mine = os.urandom(_NONCE)
        _put(connection, mine + _proof(secret, b"worker", theirs, mine))
        _require_proof(connection, _proof(secret, b"client", theirs, mine))
        return Wire(connection)


@contextlib.contextmanager
def _closed_on_failure(connection: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _require_proof(connection: socket.socket, expected: bytes) -> None:
    if not hmac.compare_digest(_exactly(connection, len(expected)), expected):
        raise ConnectionLost("the other end does not know the secret of this job")


def _put(connection: socket.socket, data: bytes) -> None:
    try:
        connection.sendall(data)
    except OSError as error:
        raise ConnectionLost(f"the connection has ended ({error})") from None


def _proof(secret: bytes, role: bytes, client: bytes | bytearray, worker: bytes | bytearray) -> bytes:
    return hmac.digest(secret, b"|".join((_MAGIC, role, bytes(client), bytes(worker))), "sha256")
