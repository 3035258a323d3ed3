"""A worker: one rank that carries out the commands of a client.

One thread executes commands in their order, so that functions which call MPI together meet on all ranks. A second thread reads,
and answers at once what needs no waiting. A third sends a sign of life.
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

from isoviz.errors import RankError, RunError, in_words
from isoviz.launch.hello import Hello, refusal
from isoviz.launch.this_rank import Station, ThisRank, set_this_rank
from isoviz.launch.wire import ConnectionLost, Message, NotUnderstood, Wire

_LOG = logging.getLogger(__name__)
_MOST_TRACEBACK = 8000
_MOST_WORDS = 2000
"""Characters of a traceback, and of one entry of it: long words must not leave out where the error was raised."""
_IDLE = 0.3
"""Seconds without a command after which a rank gets ready for plans."""


class Refused(RunError):  # noqa: N818  what happened, not a mistake
    """Client and worker are of different versions."""


class Worker:
    """Serves one client until it closes the ranks or goes away. `ended` is called in the reading thread when it has gone away."""

    def __init__(self, wire: Wire, hello: Hello, ended: Callable[[], None]) -> None:
        self._wire, self._hello, self._ended = wire, hello, ended
        self._commands: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._cancels: dict[int, threading.Event] = {}
        self._closing = threading.Event()
        self._station = Station()
        self._asked_to_close = False
        self._is_ready = False
        self._busy: tuple[str, float] | None = None

    def introduce(self) -> None:
        """Tell the client who this is, and hear who it is and what it wants.

        Raises:
            Refused: the client is of another version.
            ConnectionLost: the connection has ended.
        """
        self._wire.send_json(self._hello.to_json())
        greeting = self._wire.receive_json()
        if not isinstance(greeting, dict):
            raise NotUnderstood("the other end sent something that is no greeting")
        reason = refusal(self._hello, Hello.from_json(greeting.get("hello"))) or greeting.get("refused")
        if reason is not None:
            raise Refused(str(reason))
        self._wire.begin()
        path, self._every = _welcomed(self._wire.receive())
        # Functions of the client's own modules are found here as they are found there.
        sys.path.extend(folder for folder in path if folder not in sys.path)
        for target, name in ((self._read, "reads"), (self._beat, "lives")):
            threading.Thread(target=self._guarded, args=(target,), name=f"isoviz worker: {name}", daemon=True).start()

    def serve(self, connect: Callable[[], dict[str, Any]]) -> None:
        """Connect with MPI, say so, and execute commands until the client closes the ranks.

        `connect` returns what is known then: `rank`, `size` and `mpi`, the name of the library.

        Raises:
            ConnectionLost: the client has gone away.
        """
        try:
            known = connect()
        except BaseException as error:
            self._wire.send(_failure(0, error))
            raise
        self._rank, self._size = known["rank"], known["size"]
        self._wire.send(Message.of(0, "ready", known))
        while (message := self._next()) is not None:
            self._execute(message)
        if self._asked_to_close:
            self._station.leave()  # All ranks do so together.
        else:
            self._station.release()

    def close(self) -> None:
        """End the connection."""
        self._closing.set()
        self._wire.close()

    # ---- executing

    def _next(self) -> Message | None:
        """The next command; None at the end. A rank that is idle at first gets ready for plans."""
        if not self._is_ready:
            with contextlib.suppress(queue.Empty):
                return self._commands.get(timeout=_IDLE)
            self._is_ready = True
            from isoviz.launch.worker.plan_runs import get_ready  # The planner is loaded now, not before a rank can answer.

            get_ready()
        return self._commands.get()

    def _execute(self, message: Message) -> None:
        cancel = self._cancels.get(message.number) or threading.Event()

        def tell(value: object) -> None:
            self._wire.send(Message.of(message.number, "told", value))

        try:
            function, arguments, keywords = _made(message)
            self._busy = (str(getattr(function, "__name__", "a function")), time.monotonic())
            set_this_rank(ThisRank(self._rank, self._size, cancel, tell, self._station))
            reply = Message.of(message.number, "done", function(*arguments, **keywords))
        except ConnectionLost:
            raise
        except BaseException as error:  # noqa: BLE001  # every error of a command is the client's
            reply = _failure(message.number, error)
        finally:
            set_this_rank(None)
            self._busy = None
            self._cancels.pop(message.number, None)
        self._wire.send(reply)

    # ---- the other threads

    def _guarded(self, target: Callable[[], None]) -> None:
        """Run a thread. Without it the client would wait for ever, so its end is the worker's end."""
        try:
            target()
        except ConnectionLost as error:
            _LOG.debug("the client has gone: %s", error)
        except BaseException as error:  # noqa: BLE001  # told, then the worker ends
            _LOG.exception("a thread of a rank failed, and the rank ends")
            with contextlib.suppress(ConnectionLost):
                self._wire.send(Message.of(0, "bye", f"ended after {in_words(error)}"))
        if not self._closing.is_set():
            self._closing.set()
            self._commands.put(None)
            self._ended()

    def _read(self) -> None:
        while True:
            message = self._wire.receive()
            if message.kind == "call":
                self._cancels[message.number] = threading.Event()
                self._commands.put(message)
            elif message.kind == "cancel":
                cancel = self._cancels.get(message.number)
                if cancel is not None:
                    cancel.set()
            elif message.kind == "ping":
                self._wire.send(Message.of(message.number, "done", None))
            elif message.kind == "state":
                self._wire.send(Message.of(message.number, "done", self._state()))
            elif message.kind == "close":
                self._asked_to_close = True
                self._closing.set()
                self._commands.put(None)
                return

    def _beat(self) -> None:
        while not self._closing.wait(self._every):
            self._wire.send(Message.of(0, "lives"))

    def _state(self) -> dict[str, Any]:
        busy = self._busy
        return {
            "doing": busy[0] if busy else None,
            "seconds": time.monotonic() - busy[1] if busy else 0.0,
            "waiting": max(0, len(self._cancels) - (busy is not None)),
            "threads": threading.active_count(),
        }


def _welcomed(message: Message) -> tuple[list[str], float]:
    """The folders of the client's modules, and the seconds between two signs of life.

    Raises:
        NotUnderstood: the client says something else.
    """
    match message.value() if message.kind == "welcome" else None:
        case (list() as path, int() | float() as seconds) if all(isinstance(each, str) for each in path) and seconds > 0:
            return path, seconds
    raise NotUnderstood("the client sent something that is no welcome")


def _made(message: Message) -> Any:
    """What a client sent.

    Raises:
        RankError: it cannot be made here.
    """
    try:
        return message.value()
    except Exception as error:
        raise RankError(
            f"what was sent cannot be made here ({in_words(error)}); expected functions and classes of modules, not of a notebook"
            " or a script"
        ) from error


def _failure(number: int, error: BaseException) -> Message:
    """The message that a command raised an error: its words, where it was raised, and the error itself if it can be pickled."""
    words = in_words(error)
    try:
        where = "".join(part[:_MOST_WORDS] for part in traceback.format_exception(error))[-_MOST_TRACEBACK:]
    except BaseException as unformatted:  # noqa: BLE001  # it asks the error for its words, too
        where = f"the traceback cannot be made ({in_words(unformatted)})"
    try:
        pickled: bytes | None = pickle.dumps(error)
    except Exception:  # noqa: BLE001  # pickle raises errors of many types
        _LOG.debug("an error cannot be sent to the client, its words can: %s", words, exc_info=True)
        pickled = None
    return Message.of(number, "failed", (pickled, words, where))
