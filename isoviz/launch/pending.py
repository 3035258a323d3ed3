"""A command that ranks carry out: what they have answered so far, and the wait for the rest."""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from isoviz.errors import Cancelled, RankError, in_words, line
from isoviz.launch.wire import Message

_LOG = logging.getLogger("isoviz")


@dataclass(frozen=True)
class Failure:
    """What a command raised on a rank: the error (None: it cannot be made here), the error in words, and the traceback there."""

    rank: int
    pid: int
    error: BaseException | None
    words: str
    traceback: str

    @classmethod
    def of(cls, rank: int, pid: int, answer: Message) -> Failure:
        """What a rank has answered.

        Raises:
            Exception: it is not such an answer.
        """
        pickled, words, where = answer.value()
        try:
            error = None if pickled is None else pickle.loads(pickled)  # noqa: S301  # from a peer that knows the job's secret
        except Exception as unmade:  # noqa: BLE001  # making an error again can raise anything
            _LOG.debug("an error of rank %d cannot be made here: %s", rank, in_words(unmade), exc_info=True)
            error = None
        return cls(rank, pid, error if isinstance(error, BaseException) else None, words, where)

    @property
    def is_second_hand(self) -> bool:
        """Whether it follows from a failure elsewhere: the rank was cancelled, or its error names another rank."""
        is_of_another = isinstance(self.error, RankError) and self.error.rank not in (None, self.rank)
        return is_of_another or isinstance(self.error, Cancelled)

    def as_error(self) -> RankError:
        """One error that names the rank. Its cause is the rank's own error; the traceback of the rank is a note on it."""
        if isinstance(self.error, MemoryError):
            said = f"rank {self.rank} (pid {self.pid}) ran out of memory: {self.words}"
        else:
            said = f"rank {self.rank} (pid {self.pid}) raised {self.words}"
        found = RankError(line(said), rank=self.rank, pid=self.pid)
        found.__cause__ = self.error
        found.add_note(f"On rank {self.rank}:\n{self.traceback}")
        return found


def first_failure(failures: Sequence[Failure]) -> RankError:
    """The error of the first rank that failed, which counts the others. What followed from these failures is left out."""
    causes = [failure for failure in failures if not failure.is_second_hand] or failures
    error = causes[0].as_error()
    others = [str(failure.rank) for failure in causes[1:]]
    if others:
        error.add_note(f"It failed on {'rank' if len(others) == 1 else 'ranks'} {', '.join(others)} as well.")
    return error


class Pending:
    """One command under way on some ranks. `tell` gets what the ranks tell about it, as (rank, value)."""

    def __init__(self, number: int, ranks: Sequence[int], tell: Callable[[int, Any], None] | None = None) -> None:
        self.number = number
        self.ranks = tuple(ranks)
        self._tell = tell
        self._answers: dict[int, Message] = {}
        self._has_failed = False
        self._lost: BaseException | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()

    @property
    def done(self) -> bool:
        """Whether all ranks have answered, or cannot any more."""
        return self._over.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; False after `timeout` seconds."""
        return self._over.wait(timeout)

    def values(self, pids: Sequence[int]) -> tuple[dict[int, Any], list[Failure]]:
        """What the ranks returned, by rank, and what they raised instead. Call it once the command is done.

        Raises:
            RankLost, RanksClosed: the ranks ended before.
        """
        if self._lost is not None:
            raise self._lost
        values, failures = {}, []
        for rank in self.ranks:
            answer = self._answers[rank]
            try:
                if answer.kind == "failed":
                    failures.append(Failure.of(rank, pids[rank], answer))
                else:
                    values[rank] = answer.value()
            except Exception as error:  # noqa: BLE001  # the rank's value can raise anything when it is made again
                words = f"a value that cannot be read here: {in_words(error)}"
                failures.append(Failure(rank, pids[rank], error, words, ""))
        return values, failures

    # ---- for the client's threads

    def answered(self, rank: int, message: Message) -> bool:
        """Keep the answer of a rank. Returns whether it is the first failure, and other ranks have not answered yet."""
        with self._lock:
            if rank in self.ranks:
                self._answers[rank] = message
            is_first = message.kind == "failed" and not self._has_failed
            self._has_failed |= is_first
            if len(self._answers) == len(self.ranks):
                self._over.set()
            return is_first and not self.done

    def forward(self, rank: int, message: Message) -> None:
        """Pass on what a rank tells while it works."""
        if self._tell is not None and not self.done:
            try:
                self._tell(rank, message.value())
            except Exception:  # noqa: BLE001  # the caller's code: its errors are logged
                _LOG.exception("a function that ranks tell something raised")

    def lose(self, error: BaseException) -> None:
        """End it with an error: the ranks that have not answered never will."""
        with self._lock:
            if not self._over.is_set():
                self._lost = error
                self._over.set()
