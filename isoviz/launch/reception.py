"""Where workers connect to a client: who proves that they know the secret is greeted, and everyone else is dropped."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from isoviz.errors import LaunchError, in_words, show
from isoviz.launch.hello import Hello
from isoviz.launch.wire import ConnectionLost, Wire, greet

_LOG = logging.getLogger(__name__)
_GREETING = 10.0
_LATE = 1.0


class Reception:
    """Accepts connections at `host` until `stop`. Each gets a thread of its own.

    `refusal` says why a worker cannot be served, in words; the worker is told so. `serve` is called in the connection's thread
    with what the worker said of itself, the connection, and the refusal. The connection ends when it returns.

    Raises:
        LaunchError: `host` is no address of this computer.
    """

    def __init__(
        self,
        host: str,
        size: int,
        secret: bytes,
        me: Hello,
        heartbeat: float,
        refusal: Callable[[Hello], str | None],
        serve: Callable[[Hello, Wire, str | None], None],
    ) -> None:
        self._secret, self._me, self._heartbeat = secret, me, heartbeat
        self._refusal, self._serve = refusal, serve
        try:
            self._listener = socket.create_server((host, 0), backlog=min(size, 512))
        except (OSError, UnicodeError) as error:  # the latter: no name of a computer is like this
            raise LaunchError(
                f"ranks: nothing can be reached at the address {show(host)} ({in_words(error)}); expected an address or a name of"
                " this computer that the ranks reach"
            ) from error
        self._listener.settimeout(_LATE)  # Not every system wakes a thread that accepts when the socket is closed.
        self.port = int(self._listener.getsockname()[1])
        self.threads: list[threading.Thread] = []
        self._thread(self._accept, "accepts")

    def stop(self) -> None:
        """Accept no more connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def _thread(self, target: Callable[..., None], name: str, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name=f"isoviz ranks: {name}", daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # closed
                return
            self._thread(self._welcome, "reads", connection)

    def _welcome(self, connection: socket.socket) -> None:
        """Greet a worker and serve it. Anything else that connects is dropped."""
        try:
            connection.settimeout(_GREETING)
            wire = greet(connection, self._secret)
            wire.limit(_GREETING)
            hello = Hello.from_json(wire.receive_json())
            problem = self._refusal(hello)
            welcome = {
                "hello": self._me.to_json(),
                "refused": problem,
                "path": [folder or str(Path.cwd()) for folder in sys.path],
                "heartbeat": self._heartbeat,
            }
            wire.send_json(welcome)
            wire.limit(None)
        except ConnectionLost as error:
            _LOG.debug("a connection was dropped: %s", error)
            connection.close()
            return
        try:
            self._serve(hello, wire, problem)
        finally:
            wire.close()
