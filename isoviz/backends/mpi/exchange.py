"""Requests of a rank to the stores of other ranks, and their answers."""

from __future__ import annotations

import contextlib
import itertools
import pickle
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from isoviz.backends.mpi.tags import STORES
from isoviz.errors import EngineClosed, RunError

if TYPE_CHECKING:
    from isoviz.backends.mpi.mpi_transport import MpiTransport
    from isoviz.backends.mpi.thread.mpi_thread import MpiThread

Answer = Callable[[object], None]
"""Called in the MPI thread with the answer of the other rank, or with an exception."""
Serve = Callable[[int, int, tuple[Any, ...]], None]
"""Carries out a request: the sender, the number of the request, its arguments."""

ANSWER, FAILED = "answer", "failed"
_TAGS = 1 << 20


class Exchange:
    """Requests with answers. `serve` maps the name of a request to the function that carries it out in the MPI thread."""

    def __init__(self, thread: MpiThread, transport: MpiTransport) -> None:
        self.thread = thread
        self.transport = transport
        self.serve: dict[str, Serve] = {}
        self._numbers = itertools.count()
        self._pending: dict[int, tuple[int, Answer]] = {}
        tags = min(thread.call(lambda: thread.tags), _TAGS)
        self._tags = itertools.cycle(range(1, tags))
        self._closed = False
        transport.when_lost(self._lost)

    def tag(self) -> int:
        """The next tag for the bytes that belong to a request or an answer of this rank."""
        return next(self._tags)

    def request(self, rank: int, name: str, *arguments: Any, answer: Answer, ahead: bool = False) -> None:
        """Send a request and return at once. `answer` is called exactly once. `ahead` as in `MpiThread.message`."""
        number = next(self._numbers)
        data = pickle.dumps((name, number, arguments), pickle.HIGHEST_PROTOCOL)
        self._pending[number] = rank, answer
        try:
            self.thread.message(rank, STORES, data, ahead=ahead)
        except EngineClosed as error:
            self._settle(number, error)
        if self._closed or rank in self.transport.lost:  # perhaps after the pending requests were ended
            self._settle(number, RunError(f"rank {rank} is lost: {self.transport.lost.get(rank, 'this rank is closed')}"))

    def tell(self, rank: int, name: str, *arguments: Any, ahead: bool = False) -> None:
        """Send a request that has no answer. A lost rank gets nothing. `ahead` as in `MpiThread.message`."""
        if rank not in self.transport.lost:
            self.thread.message(rank, STORES, pickle.dumps((name, 0, arguments), pickle.HIGHEST_PROTOCOL), ahead=ahead)

    def ask(self, rank: int, name: str, *arguments: Any) -> Any:
        """Send a request and wait for its answer. Not to be called in the MPI thread.

        Raises:
            RunError: the other rank could not do it, or is lost.
        """
        assert not self.thread.is_here
        results: list[object] = []
        over = threading.Event()

        def answer(result: object) -> None:
            results.append(result)
            over.set()

        self.request(rank, name, *arguments, answer=answer)
        over.wait()
        if isinstance(results[0], BaseException):
            raise results[0]
        return results[0]

    def answer(self, rank: int, number: int, result: object = None) -> None:
        """Answer a request of another rank. An exception arrives there as a RunError."""
        if isinstance(result, BaseException):
            body: tuple[str, int, object] = FAILED, number, f"rank {self.thread.rank}: {result}"
        else:
            body = ANSWER, number, result
        if rank not in self.transport.lost:
            with contextlib.suppress(EngineClosed):
                self.thread.message(rank, STORES, pickle.dumps(body, pickle.HIGHEST_PROTOCOL), ahead=True)

    def take(self, sender: int, _tag: int, data: bytes) -> None:
        """Take a message: a request or an answer. Those of a rank that is given up have no effect."""
        if self.transport.is_given_up(sender):
            return
        self.transport.hear(sender)
        name, number, body = pickle.loads(data)  # noqa: S301  # the ranks of a job trust each other
        if name == ANSWER:
            self._settle(number, body)
        elif name == FAILED:
            self._settle(number, RunError(body))
        else:
            try:
                self.serve[name](sender, number, body)
            except Exception as error:  # noqa: BLE001  # the other rank waits for an answer
                self.answer(sender, number, error)

    def close(self) -> None:
        """End all requests with an error."""
        self._closed = True
        for number in list(self._pending):
            self._settle(number, RunError("this rank is closed"))

    def _settle(self, number: int, result: object) -> None:
        found = self._pending.pop(number, None)
        if found is not None:
            found[1](result)

    def _lost(self, rank: int, reason: str) -> None:
        for number, (other, _) in list(self._pending.items()):
            if other == rank:
                self._settle(number, RunError(f"rank {rank} is lost: {reason}"))
