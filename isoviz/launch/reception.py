"""Where workers connect to a client: a worker that proves that it knows the secret is greeted, and all others are dropped."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import selectors
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from isoviz.errors import LaunchError, in_words, show
from isoviz.launch import guardian
from isoviz.launch.greeting import Greeting
from isoviz.launch.hello import Hello
from isoviz.launch.wire import ConnectionLost, Message, NotUnderstood, Wire

_LOG = logging.getLogger(__name__)
HERE = "127.0.0.1"
_NAME = "client"
_LONGEST_PATH = 100
"""Bytes that the path of a Unix socket may have, about, on all systems."""
_BACKLOG = 4096
_STRANGERS = 128
_GREETING = 10.0
_LATE = 1.0
_PAUSE = 0.02


@dataclass(frozen=True)
class Listener:
    """A socket for the workers of a client. `address` tells a worker where it is: a path or `host:port`.

    A path is that of a Unix socket in a folder that only this user can enter. With `lock`, the folder belongs to this listener.
    """

    socket: socket.socket
    address: str
    lock: int | None = None

    @classmethod
    def on_network(cls, host: str) -> Listener:
        """A listener that other computers reach, if `host` is an address that they reach.

        Raises:
            LaunchError: `host` is not an address of this computer.
        """
        try:
            found = socket.create_server((host, 0), backlog=_BACKLOG)
        except (OSError, UnicodeError) as error:  # the latter: no name of a computer is like this
            raise LaunchError(
                f"ranks: nothing can be reached at the address {show(host)} ({in_words(error)}); expected an address or a name of"
                " this computer that the ranks reach"
            ) from error
        return cls(found, f"{host}:{found.getsockname()[1]}")

    @classmethod
    def of_guardian(cls, folders: Sequence[str]) -> Listener:
        """A listener for ranks of this computer in a folder of a job, where the guardian binds it once it has made the folder.

        Raises:
            LaunchError: this computer has no room for it.
        """
        path = f"{min(folders, key=len)}/{_NAME}"
        if len(os.fsencode(path)) > _LONGEST_PATH:
            return cls.on_network(HERE)
        try:
            return cls(socket.socket(socket.AF_UNIX), path)
        except OSError as error:
            raise LaunchError(f"ranks: no socket can be made ({in_words(error)})") from error

    @classmethod
    def in_own_folder(cls) -> Listener:
        """A listener for ranks of this computer that are not this process's own.

        Raises:
            LaunchError: this computer has no room for it.
        """
        folder = guardian.new_folders(tempfile.gettempdir())[-1]
        guardian.remove_left(str(Path(folder).parent))
        found = cls.of_guardian([folder])
        if not found.is_local:
            return found
        lock = -1
        try:
            lock = guardian.make_locked(str(Path(found.address).parent))
            guardian.listen(found.socket.fileno(), found.address)
        except OSError as error:
            cls(found.socket, found.address, lock).close()
            raise LaunchError(
                f"ranks: {error.filename or found.address}: {error.strerror}; expected a folder for a socket"
            ) from error
        return cls(found.socket, found.address, lock)

    @property
    def is_local(self) -> bool:
        """Whether it is a Unix socket, which only this computer and this user can reach."""
        return self.socket.family == socket.AF_UNIX

    def stop(self) -> None:
        """Let nobody connect any more. A thread that waits for connections wakes up."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket and remove its folder."""
        self.socket.close()
        if self.lock is not None:
            guardian.remove([str(Path(self.address).parent)], set())
            with contextlib.suppress(OSError):
                os.close(self.lock)


class Reception:
    """Accepts connections at a listener until `stop`. Who has proven to know the secret gets a thread.

    All others share one thread, which waits for none of them. There are at most some hundred of them, each for some seconds. If
    more connect, one that has not knocked goes, whichever chance takes: neither the first nor the last comers can lock out a
    rank, which knocks at once, and comes again if it was not heard.

    `refusal` says why a worker cannot be served, in words; the worker is told so. `serve` is called in the connection's thread
    with what the worker said of itself, the connection, and the refusal. The connection ends when it returns.

    Raises:
        LaunchError: this computer has no room for it.
    """

    def __init__(
        self,
        listener: Listener,
        size: int,
        secret: bytes,
        me: Hello,
        heartbeat: float,
        refusal: Callable[[Hello], str | None],
        serve: Callable[[Hello, Wire, str | None], None],
    ) -> None:
        self._listener, self._secret, self._me, self._heartbeat = listener, secret, me, heartbeat
        self._refusal, self._serve = refusal, serve
        self._most = size + _STRANGERS
        self._greetings: dict[Greeting, float] = {}
        """Connections that have proven nothing yet, the oldest first, and the moments at which they are given up."""
        self._nonces: set[bytes] = set()
        self._stopped = threading.Event()
        listener.socket.setblocking(False)
        try:
            self._selector = selectors.DefaultSelector()
            self._selector.register(listener.socket, selectors.EVENT_READ)
        except OSError as error:
            listener.close()
            raise LaunchError(f"ranks: nobody can connect here ({in_words(error)})") from error
        self.threads: list[threading.Thread] = []
        self._thread(self._accept, "accepts")

    def stop(self) -> None:
        """Accept no more connections."""
        self._stopped.set()
        self._listener.stop()

    def _thread(self, target: Callable[..., None], name: str, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name=f"isoviz ranks: {name}", daemon=True)
        self.threads.append(thread)
        thread.start()

    # ---- connections that have proven nothing

    def _accept(self) -> None:
        try:
            while not self._stopped.is_set():
                # Not every system wakes a thread that waits for connections when there will be none.
                ready = [key.data for key, _ in self._selector.select(_LATE)]
                for greeting in filter(None, ready):  # before others come, for whom they might have to go
                    self._hear(greeting)
                if None in ready:
                    self._admit()
                now = time.monotonic()
                for greeting in [each for each, last in self._greetings.items() if last <= now]:
                    self._drop(greeting, "it took too long")
        finally:
            for greeting in list(self._greetings):
                self._drop(greeting, "nobody is awaited any more")
            self._selector.close()
            self._listener.close()

    def _admit(self) -> None:
        """Take the next connection. Whatever hinders it, the next one may come."""
        try:
            connection, _ = self._listener.socket.accept()
        except BlockingIOError:
            return
        except OSError as error:  # such as no descriptor left, or a connection that has ended already
            _LOG.debug("a connection could not be accepted: %s", error)
            if not self._make_room():
                self._stopped.wait(_PAUSE)
            return
        if len(self._greetings) >= self._most:
            self._make_room()
        try:
            greeting = Greeting(connection, self._secret)
            self._selector.register(connection, selectors.EVENT_READ, greeting)
        except (ConnectionLost, OSError) as error:
            _LOG.debug("a connection was dropped: %s", error)
            connection.close()
            return
        self._greetings[greeting] = time.monotonic() + _GREETING

    def _make_room(self) -> bool:
        """Drop a connection that has not knocked; False if there is none."""
        strangers = [greeting for greeting in self._greetings if not greeting.is_known]
        if strangers:
            self._drop(secrets.choice(strangers), "there are too many")
        return bool(strangers)

    def _hear(self, greeting: Greeting) -> None:
        was_known = greeting.is_known
        try:
            wire = greeting.hear()
            if greeting.is_known and not was_known:
                if greeting.nonce in self._nonces:
                    raise NotUnderstood("somebody repeats what a worker has said")
                self._nonces.add(greeting.nonce)
        except ConnectionLost as error:
            self._drop(greeting, str(error))
            return
        if wire is not None:
            self._selector.unregister(greeting.connection)
            wire.limit(self._greetings.pop(greeting))
            try:
                self._thread(self._welcome, "reads", wire)
            except RuntimeError as error:  # the system has no more threads
                _LOG.debug("a connection was dropped: %s", error)
                wire.close()

    def _drop(self, greeting: Greeting, why: str) -> None:
        _LOG.debug("a connection was dropped: %s", why)
        self._selector.unregister(greeting.connection)
        del self._greetings[greeting]
        greeting.connection.close()

    # ---- workers

    def _welcome(self, wire: Wire) -> None:
        """Greet a worker and serve it."""
        try:
            hello = Hello.from_json(wire.receive_json())
            problem = self._refusal(hello)
            wire.send_json({"hello": self._me.to_json(), "refused": problem})
            wire.begin()
            path = [folder or str(Path.cwd()) for folder in sys.path]
            wire.send(Message.of(0, "welcome", (path, self._heartbeat)))
            self._serve(hello, wire, problem)
        except ConnectionLost as error:
            _LOG.debug("a connection was dropped: %s", error)
        finally:
            wire.close()
