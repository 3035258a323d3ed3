"""How two ends prove to each other that they know the job's secret, before either reads anything else.

The worker knocks: it sends a number that it uses only once, with a proof that it knows the secret. So the client knows at once
which connections come from its workers, and drops none of these, however many strangers connect. The proof of the connection
itself then depends on such numbers of both ends, so that nobody can repeat what was said on another connection.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import socket
import time
from collections.abc import Iterator

from isoviz.errors import LaunchError, in_words, show
from isoviz.launch.wire import CLIENT, WORKER, ConnectionLost, NotUnderstood, Wire, exactly, put

_MAGIC = b"isoviz ranks\n"
_NONCE = 32
_PROOF = 32
_PAUSE = 0.1
_EXPECTED = "expected one that waits; ranks on other computers and in containers need `address` of isoviz.ranks"


class Greeting:
    """The client's half, on a connection that somebody has opened. No method waits.

    `is_known` tells whether the other end has knocked as one does that knows the secret, with the number `nonce`.

    Raises:
        ConnectionLost: the connection has ended already.
    """

    def __init__(self, connection: socket.socket, secret: bytes) -> None:
        self.connection = connection
        self.is_known = False
        self._secret = secret
        self._mine = os.urandom(_NONCE)
        self._heard = bytearray()
        with _lost_in_words():
            connection.setblocking(False)
            connection.send(_MAGIC + self._mine)  # a new connection has room for it

    @property
    def nonce(self) -> bytes:
        """The other end's number."""
        return bytes(self._heard[:_NONCE])

    def hear(self) -> Wire | None:
        """Take what has arrived. Returns the connection once the proof is complete, and None before.

        Raises:
            ConnectionLost: the connection has ended. NotUnderstood: the other end does not know the secret.
        """
        with _lost_in_words():
            try:
                part = self.connection.recv(_NONCE + 2 * _PROOF - len(self._heard))
            except BlockingIOError:
                return None
        if not part:
            raise ConnectionLost("the other end has closed the connection")
        self._heard += part
        if not self.is_known and len(self._heard) >= _NONCE + _PROOF:
            _require(self._heard[_NONCE : _NONCE + _PROOF], _knock(self._secret, self.nonce))
            self.is_known = True
        if len(self._heard) < _NONCE + 2 * _PROOF:
            return None
        both = self._mine + self.nonce
        _require(self._heard[_NONCE + _PROOF :], _proof(self._secret, WORKER, both))
        with _lost_in_words():
            self.connection.send(_proof(self._secret, CLIENT, both))
        return Wire(self.connection, _proof(self._secret, b"session", both), CLIENT)


def reach(address: str, secret: bytes, seconds: float) -> Wire:
    """Connect to a client at an address (see `Listener`), and prove each other.

    A connection that ends meanwhile is tried again for as long as there is time: a client to whom many strangers connect drops
    connections before it has read the first word of them.

    Raises:
        NotUnderstood: the other end is not a client of isoviz, or does not know the secret.
        ConnectionLost: each connection ended. LaunchError: there is nobody at this address.
    """
    last = time.monotonic() + seconds
    while True:
        try:
            return answer(_connected(address, last), secret, last)
        except NotUnderstood:
            raise
        except (ConnectionLost, BlockingIOError):  # the latter: too many connect at once to a socket of this computer
            if time.monotonic() > last:
                raise
        except (OSError, ValueError) as error:  # the latter: it is no address
            raise LaunchError(f"no client of isoviz is at {show(address)} ({in_words(error)}); {_EXPECTED}") from error
        time.sleep(_PAUSE * os.urandom(1)[0] / 255)  # Ranks that come together do not come again together.


def answer(connection: socket.socket, secret: bytes, last: float) -> Wire:
    """The worker's half of the proof, until the moment `last`. A connection that fails is closed.

    Raises:
        ConnectionLost: the connection has ended. NotUnderstood: the other end is not an isoviz client, or does not know the
            secret.
    """
    try:
        mine = os.urandom(_NONCE)
        put(connection, mine + _knock(secret, mine), last)
        if exactly(connection, len(_MAGIC), last) != _MAGIC:
            raise NotUnderstood("the other end is no client of isoviz")
        both = bytes(exactly(connection, _NONCE, last)) + mine
        put(connection, _proof(secret, WORKER, both), last)
        _require(exactly(connection, _PROOF, last), _proof(secret, CLIENT, both))
        wire = Wire(connection, _proof(secret, b"session", both), WORKER)
        wire.limit(last)
        return wire
    except BaseException:
        connection.close()
        raise


def _connected(address: str, last: float) -> socket.socket:
    seconds = max(1e-3, last - time.monotonic())
    if not address.startswith("/"):
        host, _, port = address.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=seconds)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _lost_in_words() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConnectionLost(f"the connection has ended ({error})") from None


def _require(told: bytes | bytearray, expected: bytes) -> None:
    if not hmac.compare_digest(told, expected):
        raise NotUnderstood("the other end does not know the secret of this job, or is of an older version of isoviz")


def _knock(secret: bytes, nonce: bytes) -> bytes:
    return _proof(secret, b"knock", nonce)


def _proof(secret: bytes, what: bytes, nonces: bytes) -> bytes:
    return hmac.digest(secret, b"|".join((_MAGIC, what, nonces)), "sha256")
