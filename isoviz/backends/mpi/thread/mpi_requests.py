"""The requests of MPI that have not ended, and the threads' wish to know when they have."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isoviz.errors import RunError

_LOG = logging.getLogger("isoviz")

Ended = Callable[[BaseException | None], None]
"""Called in the MPI thread when a request has ended, with its error if it failed."""


EVERY = -1
"""The rank of a request that all ranks take part in: it fails with the first one that is lost."""


@dataclass(frozen=True)
class ToReceive:
    """The buffer of a request that receives."""

    buffer: object


class Requests:
    """Outstanding requests, used in the MPI thread only. `ended` counts those that have ended."""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self._requests: list[Any] = []
        self._entries: list[tuple[Ended | None, object, int]] = []
        self._abandoned: list[tuple[Any, object]] = []
        self._gone: dict[int, BaseException] = {}
        self.ended = 0

    def __len__(self) -> int:
        return len(self._requests)

    def track(self, request: Any, done: Ended | None, keep: object, rank: int) -> None:
        """Call `done` when a request of `rank` has ended. `keep` lives until then."""
        if request.Test():
            self.ended += 1
            tell(done, None)
            return
        self._requests.append(request)
        self._entries.append((done, keep, rank))

    def meet(self, comm: Any, then: Ended) -> None:
        """Call `then` once all ranks have called this, or with an error if one of them is lost.

        A call of MPI that waits for all ranks is made after it. Until then the thread goes on with messages: another rank may
        need one that waits here before it can come.
        """
        if self.refused(EVERY, then):
            return
        try:
            request = comm.Ibarrier()
        except self._mpi.Exception as error:
            then(failed(error, EVERY))
            return
        self.track(request, then, None, EVERY)

    def refused(self, rank: int, done: Ended | None) -> bool:
        """Whether a rank is lost. If so, `done` gets that error."""
        error = next(iter(self._gone.values()), None) if rank == EVERY else self._gone.get(rank)
        if error is not None and done is not None:
            done(error)
        return error is not None

    def test(self) -> None:
        """Call `done` of the requests that have ended."""
        if not self._requests:
            return
        try:
            indices = self._mpi.Request.Testsome(self._requests)
        except self._mpi.Exception:
            self._test_each()
            return
        if not indices:
            return
        over = [self._entries[k] for k in indices]
        gone = set(indices)
        self._requests = [request for k, request in enumerate(self._requests) if k not in gone]
        self._entries = [entry for k, entry in enumerate(self._entries) if k not in gone]
        for done, _, _ in over:
            self.ended += 1
            tell(done, None)

    def _test_each(self) -> None:
        """Test the requests one by one, to find those that failed."""
        kept: list[tuple[Any, tuple[Ended | None, object, int]]] = []
        over: list[tuple[Ended | None, BaseException | None]] = []
        for request, entry in zip(self._requests, self._entries, strict=True):
            try:
                if request.Test():
                    over.append((entry[0], None))
                else:
                    kept.append((request, entry))
            except self._mpi.Exception as raised:
                over.append((entry[0], failed(raised, entry[2])))
        self._requests = [request for request, _ in kept]
        self._entries = [entry for _, entry in kept]
        for done, error in over:
            self.ended += 1
            tell(done, error)

    def drop(self, rank: int, error: BaseException) -> bool:
        """End all requests of a rank that no longer answers with an error, and refuse new ones. Receives are cancelled.

        Returns whether MPI may still write what that rank sends: a message that has begun to arrive cannot be cancelled.
        """
        self._gone[rank] = error
        both = list(zip(self._requests, self._entries, strict=True))
        gone = [each for each in both if each[1][2] in (rank, EVERY)]
        self._requests = [request for request, entry in both if entry[2] not in (rank, EVERY)]
        self._entries = [entry for _, entry in both if entry[2] not in (rank, EVERY)]
        may_write = False
        for request, (done, keep, _) in gone:
            if isinstance(keep, ToReceive):
                may_write |= not self._cancelled(request)
            self._abandoned.append((request, keep))  # MPI may still use the buffer
            self.ended += 1
            tell(done, error)
        return may_write

    def _cancelled(self, request: Any) -> bool:
        """Cancel a request that receives; whether MPI no longer writes to its buffer."""
        with contextlib.suppress(self._mpi.Exception):
            request.Cancel()
            return bool(request.Test())
        return False


def tell(done: Ended | None, error: BaseException | None) -> None:
    """Call `done`. An error of its own is logged: those of the other requests are called all the same."""
    if done is None:
        return
    try:
        done(error)
    except Exception:  # noqa: BLE001  # as said
        _LOG.exception("the end of a request of MPI could not be handled")


def failed(error: BaseException, rank: int) -> RunError:
    """An error of MPI, as a RunError."""
    return RunError(f"MPI failed between this rank and {'the others' if rank == EVERY else f'rank {rank}'}: {error}")
