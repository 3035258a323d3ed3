"""The client's half of a job: it accepts the workers, sends commands, and watches that every rank lives.

Threads: one reads each connection; one watches. Only the watching thread decides that ranks are lost. It then ends all processes
of the job, and after that everything that waits ends with one error.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isoviz.errors import ForkedError, LaunchError, RankError, RankLost, RanksClosed, RunError, in_words, line
from isoviz.forks import Home
from isoviz.launch.hello import Hello, refusal
from isoviz.launch.losses import Evidence, aborted_in, loss
from isoviz.launch.pending import Failure, Pending
from isoviz.launch.reception import Listener, Reception
from isoviz.launch.wire import ConnectionLost, Message, NotUnderstood, Wire
from isoviz.launch.worker.rank_worker import End

_LOG = logging.getLogger(__name__)
_LOOK = 0.25
_LATE = 1.0
_EVIDENCE = 5.0  # What tells how a rank ended is a process, too, and waits for a processor on a busy computer.
_ENDING = 3.0


@dataclass(frozen=True)
class Watching:
    """How often a rank gives a sign of life, and after how much silence it is lost, in seconds."""

    heartbeat: float = 0.5
    silence: float = 6.0


@dataclass
class _Link:
    hello: Hello
    wire: Wire
    heard: float
    known: dict[str, Any] | None = None


class Client:
    """Accepts `size` workers at `listener` and talks to them.

    `end` ends all processes of the job, after waiting some seconds for their own end; it may be called twice. `after` tells in
    errors what became of the ranks, and how to get new ones. `output` returns the last lines of the job's output.
    """

    def __init__(
        self,
        size: int,
        *,
        listener: Listener,
        watching: Watching,
        end: Callable[[float], None],
        output: Callable[[], list[str]],
        after: str,
    ) -> None:
        self.size = size
        self.secret = secrets.token_bytes(32)
        self._watching, self._end, self._output, self._after = watching, end, output, after
        self._home = Home("this group of ranks")
        self._me = Hello.of_this_process(-1, size)
        self._links: list[_Link | None] = [None] * size
        self._pending: dict[int, Pending] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._order = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._error: RunError | None = None
        self._closing = False
        self._reception = Reception(listener, size, self.secret, self._me, watching.heartbeat, self._refusal, self._serve)
        self.address = listener.address
        self._watcher = threading.Thread(target=self._watch, name="isoviz ranks: watches", daemon=True)
        self._watcher.start()

    # ---- starting

    def wait_until_ready(self, timeout: float) -> None:
        """Wait until every rank has started MPI.

        Raises:
            LaunchError: they did not in time, or ended, or are of another version.
        """
        last = time.monotonic() + timeout
        with self._changed:
            while self._error is None and not self.is_ready:
                left = last - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, 1.0))  # A wait without end could not be interrupted everywhere.
            ready = self.is_ready
        if self._error is None and ready:
            self._check_world()
            return
        if self._error is None:
            missing = [rank for rank, link in enumerate(self._links) if link is None or link.known is None]
            self._fail(LaunchError(f"{len(missing)} of {self.size} ranks did not start in {timeout:g} s{self._said()}"))
        assert self._error is not None
        raise self._error

    @property
    def is_ready(self) -> bool:
        """Whether every rank has started MPI."""
        return all(link is not None and link.known is not None for link in self._links)

    @property
    def error(self) -> RunError | None:
        """Why the ranks are lost, or that they are closed, or belong to another process; None while they can be used."""
        try:
            self._home.require()
        except ForkedError as error:
            return error
        return self._error

    @property
    def hellos(self) -> list[Hello]:
        """What each rank said of itself."""
        return [link.hello for link in self._links if link is not None]

    @property
    def mpi(self) -> str:
        """The MPI library of the ranks, with its version."""
        link = self._links[0]
        return str(link.known["mpi"]) if link is not None and link.known is not None else "MPI"

    def _check_world(self) -> None:
        for rank, link in enumerate(self._links):
            assert link is not None and link.known is not None
            if (link.known["rank"], link.known["size"]) != (rank, self.size):
                problem = (
                    f"rank {rank} of {self.size} is rank {link.known['rank']} of {link.known['size']} for mpi4py ({self.mpi});"
                    " expected mpiexec and mpi4py of one MPI"
                )
                self._fail(LaunchError(problem))
                raise LaunchError(problem)

    # ---- commands

    def send(
        self,
        kind: str,
        value: object = None,
        ranks: Sequence[int] | None = None,
        tell: Callable[[int, Any], None] | None = None,
        own: Mapping[int, object] | None = None,
    ) -> Pending:
        """Send a command with a value to ranks (None: all). Commands reach all ranks in one order.

        `own` has other values for single ranks.

        Raises:
            RankLost, RanksClosed: the ranks have ended.
            RankError: a value cannot be pickled.
            ForkedError: this is a forked child.
        """
        self._home.require()
        chosen = range(self.size) if ranks is None else ranks
        number = next(self._numbers)
        try:
            message = Message.of(number, kind, value)
            others = {rank: Message.of(number, kind, other) for rank, other in (own or {}).items()}
        except Exception as error:
            raise RankError(f"the command cannot be sent to the ranks: {in_words(error)}") from error
        pending = Pending(number, chosen, tell)
        with self._order:
            with self._lock:
                if self._error is not None:
                    raise self._error
                self._pending[number] = pending
            for rank in chosen:
                self._put(rank, others.get(rank, message))
        return pending

    def cancel(self, pending: Pending) -> None:
        """Ask the ranks to stop a command. No effect in a forked child."""
        for rank in pending.ranks:
            self._put(rank, Message(pending.number, "cancel"))

    def results(self, pending: Pending, cancel: threading.Event | None = None) -> tuple[dict[int, Any], list[Failure]]:
        """Wait for a command; Ctrl-C and a set `cancel` cancel it. See `Pending.values`."""
        asked = False
        try:
            while not pending.wait(1.0 if cancel is None or asked else _LOOK):
                self._home.require()
                if cancel is not None and cancel.is_set() and not asked:
                    asked = True
                    self.cancel(pending)
        except BaseException:
            self.cancel(pending)
            raise
        finally:
            with self._lock:
                self._pending.pop(pending.number, None)
        return pending.values([hello.pid for hello in self.hellos])

    def require_here(self) -> None:
        """Require that this process made this client.

        Raises:
            ForkedError: this is a forked child of it.
        """
        self._home.require()

    @property
    def is_busy(self) -> bool:
        """Whether commands are under way."""
        with self._lock:
            return any(not pending.done for pending in self._pending.values())

    # ---- ending

    def close(self, patience: float) -> None:
        """Have the workers end MPI together and end; `patience` is the time for commands under way, in seconds.

        No effect in a forked child: the ranks belong to its parent.
        """
        if not self._home.is_here:
            return
        with self._lock:
            if self._closing:
                return
            self._closing = True
            error, under_way = self._error, list(self._pending.values())
            if error is None:
                self._error = RanksClosed("the ranks are closed; isoviz.ranks starts new ones")
        asked = False
        if error is None and self.is_ready:
            last = time.monotonic() + patience
            for pending in under_way:
                if not pending.done:
                    self.cancel(pending)
            asked = all(pending.wait(max(0.0, last - time.monotonic())) for pending in under_way)
            if asked:
                for rank in range(self.size):
                    self._put(rank, Message(0, "close"))
        self._finish(_ENDING if asked else 0.0)

    def drop(self) -> None:
        """End everything at once, without waiting for commands. No effect in a forked child."""
        if self._home.is_here:
            with self._lock:
                self._closing = True
                self._error = self._error or RanksClosed("the ranks are closed; isoviz.ranks starts new ones")
            self._finish(0.0)

    def _finish(self, patience: float) -> None:
        self._end(patience)
        for pending in list(self._pending.values()):
            pending.lose(self._error or RanksClosed("the ranks are closed"))
        self._events.put(("stop",))
        self._disconnect()
        for thread in (*self._reception.threads, self._watcher):
            if thread is not threading.current_thread():
                thread.join(_ENDING)

    def _fail(self, error: RunError) -> None:
        """The ranks are lost: end what is left of them, then everything that waits."""
        with self._changed:
            if self._error is not None:
                return
            self._error = error
        self._end(0.0)
        self._disconnect()
        with self._changed:
            under_way = list(self._pending.values())
            self._changed.notify_all()
        for pending in under_way:
            pending.lose(error)

    # ---- what others tell (any thread)

    def line(self, text: str) -> None:
        """A line of output of the job."""
        self._events.put(("line", text))

    def ended(self, status: int | None) -> None:
        """The job has ended; see `Job`."""
        self._events.put(("ended", status))

    # ---- threads

    def _refusal(self, hello: Hello) -> str | None:
        """Why a worker cannot be one of the ranks, in words."""
        problem = refusal(hello, self._me)
        if problem is None and hello.size != self.size:
            return f"a worker on {hello.host} is one of {hello.size} ranks; expected {self.size}"
        if problem is None and not 0 <= hello.rank < self.size:
            return f"a worker on {hello.host} says that it is rank {hello.rank}; expected 0 to {self.size - 1}"
        return problem

    def _serve(self, hello: Hello, wire: Wire, problem: str | None) -> None:
        """Take a worker that has introduced itself, and read what it sends until its end."""
        if problem is not None:
            self._events.put(("refused", problem))
            return
        link = _Link(hello, wire, time.monotonic())
        with self._lock:
            if self._links[hello.rank] is not None:  # There is this rank already.
                return
            self._links[hello.rank] = link
            complete = None not in self._links
        if complete:
            self._reception.stop()
        self._read(hello.rank, link)

    def _read(self, rank: int, link: _Link) -> None:
        try:
            while True:
                message = link.wire.receive()
                link.heard = time.monotonic()
                if message.number:
                    self._answer(rank, message)
                elif message.kind == "ready":
                    with self._changed:
                        link.known = _known(message.value())
                        link.heard = time.monotonic()
                        self._changed.notify_all()
                elif message.kind == "bye":
                    self._events.put(("bye", rank, str(message.value())))
                elif message.kind == "failed":
                    self._events.put(("failed", rank, Failure.of(rank, link.hello.pid, message).words))
        except NotUnderstood as error:
            self._events.put(("bye", rank, f"was given up: {error}"))
        except ConnectionLost as error:
            _LOG.debug("rank %d: %s", rank, error)
            self._events.put(("closed", rank))
        except BaseException as error:  # noqa: BLE001  # such as too little memory for a result
            _LOG.exception("what rank %d sent cannot be received", rank)
            self._events.put(("bye", rank, f"sent what cannot be received here ({in_words(error)})"))

    def _answer(self, rank: int, message: Message) -> None:
        pending = self._pending.get(message.number)
        if pending is None:
            return
        if message.kind == "told":
            pending.forward(rank, message)
        elif pending.answered(rank, message):
            # In a thread of its own: what is being sent to another rank must not keep this rank's signs of life from being read.
            threading.Thread(target=self._cancel_others, args=(pending,), name="isoviz ranks: cancels", daemon=True).start()

    def _cancel_others(self, pending: Pending) -> None:
        """A rank has failed: the others may wait for it."""
        with self._order:  # They get the command before its cancel.
            self.cancel(pending)

    def _watch(self) -> None:
        found = Evidence()
        enough = None
        looked = time.monotonic()
        while True:
            with contextlib.suppress(queue.Empty):
                event = self._events.get(timeout=_LOOK if enough is None else 0.02)
                if event[0] == "stop":
                    return
                self._note(found, event)
            now = time.monotonic()
            if now - looked > _LATE:  # This process itself was stopped, or had no processor: nobody else is to blame.
                for link in self._links:
                    if link is not None:
                        link.heard = now
            looked = now
            if self._closing or self._error is not None:
                continue
            self._listen_for_silence(found, now)
            if found.is_trouble and enough is None:
                enough = now + _EVIDENCE
            if enough is not None and (found.is_enough or now > enough):
                self._fail(self._loss(found))

    def _note(self, found: Evidence, event: tuple[Any, ...]) -> None:
        kind = event[0]
        if kind == "line":
            end = End.told_in(event[1])
            if end is not None:
                found.ends.append(end)
            elif (rank := aborted_in(event[1])) is not None:
                found.said.append((rank, "called MPI_Abort"))
        elif kind == "ended":
            found.status = event[1]
            found.unguarded = event[1] is None
        elif kind == "closed":
            found.closed.append(event[1])
        elif kind == "bye":
            found.said.append((event[1], event[2]))
        elif kind == "failed":  # MPI did not start.
            self._fail(LaunchError(f"rank {event[1]} did not start: {event[2]}"))
        elif kind == "refused":
            self._fail(LaunchError(event[1]))

    def _listen_for_silence(self, found: Evidence, now: float) -> None:
        for rank, link in enumerate(self._links):
            if link is not None:  # MPI keeps Python's lock while it starts.
                limit = self._watching.silence if link.known is not None else math.inf
                found.note_silence(rank, link.hello, now - link.heard, limit)

    def _loss(self, found: Evidence) -> RunError:
        if None not in self._links:
            return loss(found, self.hellos, self._output(), self._after)
        if found.status is not None:
            return LaunchError(f"mpiexec ended with status {found.status} before the ranks had started{self._said()}")
        error: RankLost = loss(found, [], self._output(), self._after)
        return LaunchError(f"the ranks did not start: {error}")

    def _said(self) -> str:
        words = " / ".join(text.strip() for text in self._output() if sum(map(str.isalpha, text)) > 3)
        return f"; it said: {line(words, 200)}" if words else ""

    def _disconnect(self) -> None:
        self._reception.stop()
        for link in self._links:
            if link is not None:
                link.wire.close()

    def _put(self, rank: int, message: Message) -> None:
        """Send to a rank. If its connection has ended, the watching thread finds out why. A forked child sends nothing."""
        link = self._links[rank]
        if link is not None and self._home.is_here:
            try:
                link.wire.send(message)
            except ConnectionLost as error:
                _LOG.debug("%r could not be sent to rank %d: %s", message.kind, rank, error)


def _known(value: Any) -> dict[str, Any]:
    """What a worker knows once MPI has started: its rank, the number of ranks, and the name of the library.

    Raises:
        NotUnderstood: it is something else.
    """
    kinds = {"rank": int, "size": int, "mpi": str}
    if not isinstance(value, dict) or any(type(value.get(name)) is not kind for name, kind in kinds.items()):
        raise NotUnderstood("it does not say which rank it is for MPI")
    return value
