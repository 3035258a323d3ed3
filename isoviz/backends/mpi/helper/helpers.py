"""The helper of this rank, and the way to those of other ranks of its host."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.helper.client import Client
from isoviz.backends.mpi.helper.serving_thread import ServingThread
from isoviz.backends.mpi.other_process import allow_tracing
from isoviz.backends.mpi.stores import MappedStore
from isoviz.backends.mpi.thread.bells import are_shared
from isoviz.backends.mpi.windows import Segment
from isoviz.errors import EngineClosed, InputError, RunError
from isoviz.forks import Home
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.stores import Stores
    from isoviz.backends.mpi.windows import PeerWindows, Windows
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.ranks.handles import StoreHandle

MODES = ("blocking", "polling")
"""How a helper waits for requests: it yields the processor for some time and sleeps then, or it never sleeps."""


class Helpers:
    """The helpers of the ranks of this host, each started at its first use, and ended by `close`.

    `refusals` has, for two ranks, the reason why the first one does not reach memory of the second one by its address.
    """

    def __init__(
        self, exchange: Exchange, stores: Stores, windows: Windows, peers: PeerWindows, refusals: Mapping[tuple[int, int], str]
    ) -> None:
        self._exchange, self._stores, self._windows, self._peers = exchange, stores, windows, peers
        self._refusals = refusals
        self._rank = exchange.thread.rank
        self._home = Home("this helper")
        self._mode = MODES[0]
        self._asking = threading.Lock()
        """To make clients."""
        self._starting = threading.Lock()
        """To start and to end the helper. Another rank may need it while this one asks that rank."""
        self._clients: dict[int, Client] = {}
        self._places: dict[tuple[int, Segment], int] = {}
        """Where helpers have mapped segments of this rank, by rank."""
        self._closed = False
        self._helper: ServingThread | None = None
        exchange.serve |= {"helper": self._serve, "helper map": self._map}

    @property
    def mode(self) -> str:
        """How the helper of this rank waits for requests: "blocking" or "polling". It may be changed at any time.

        Raises:
            InputError: there is no such mode.
        """
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode not in MODES:
            raise InputError(f"helpers: mode {mode!r}: expected one of {', '.join(MODES)}")
        self._mode = mode
        helper = self._helper
        if helper is not None:
            helper.polls(mode == "polling")

    @property
    def is_running(self) -> bool:
        """Whether the helper of this rank has been started and has not ended."""
        return self._helper is not None and self._helper.is_alive

    def client(self, rank: int) -> Client:
        """The client of the helper of a rank of this host; also of this rank itself. It starts that helper.

        Raises:
            RankLost: the rank is lost.
            RunError: there is no helper: the rank has another host, the system has no futexes, or Numba is missing there.
            ForkedError: this is a forked child.
        """
        self._home.require()
        found = self._clients.get(rank)
        if found is not None:
            return found
        if not 0 <= rank < self._exchange.thread.size:
            raise InputError(f"rank {rank}: expected 0 to {self._exchange.thread.size - 1}")
        if not are_shared():
            raise RunError("this system has no futexes, which helpers need")
        if rank != self._rank and not self._stores.shares_host(rank):
            raise RunError(f"rank {rank} shares no memory with rank {self._rank}: its helper serves ranks of its host")
        with self._asking:
            if rank not in self._clients:
                pages = self._pages(rank)
                self._clients[rank] = Client(rank, *pages, partial(self._check, rank), partial(self._place_of, rank))
        return self._clients[rank]

    def _pages(self, rank: int) -> tuple[Bytes, Bytes]:
        if rank == self._rank:
            with self._starting:
                return self._started().ring_of(rank)
        allow_tracing()
        try:
            handles: tuple[StoreHandle, StoreHandle] = self._exchange.ask(rank, "helper")
        except RunError:
            self._check(rank)
            raise
        control, ring = (self._stores.reach(handle) for handle in handles)
        assert isinstance(control, MappedStore) and isinstance(ring, MappedStore)
        return control.array, ring.array

    def _check(self, rank: int) -> None:
        """Check that a helper still serves.

        Raises:
            RankLost: its rank is lost.
            EngineClosed: this rank leaves the job.
            ForkedError: this is a forked child.
        """
        self._home.require()
        lost = self._exchange.transport.lost
        if rank in lost:
            raise lost_rank(rank, lost[rank])
        if self._closed:
            raise EngineClosed(f"the helper of rank {rank} serves no more: this rank leaves the job")

    # ---- memory of this rank, as helpers reach it

    def _place_of(self, rank: int, address: int, nbytes: int) -> tuple[int, int]:
        if rank == self._rank:
            return 0, address
        place = self._windows.place_of(address, nbytes)
        if place is None:
            if refusal := self._refusals.get((rank, self._rank)):
                raise RunError(f"rank {rank} does not reach memory of rank {self._rank}: {refusal}")
            return os.getpid(), address
        segment, offset = place
        at = self._places.get((rank, segment))
        if at is None:
            at = self._places[rank, segment] = self._exchange.ask(rank, "helper map", *segment)
        return 0, at + offset

    # ---- the helper of this rank

    def _serve(self, sender: int, number: int, _arguments: tuple[Any, ...]) -> None:
        """Start the helper, and answer with the pages for a client."""

        def pages() -> object:
            with self._starting:
                return tuple(map(self._handle, self._started().ring_of(sender)))

        self._answer_later(sender, number, pages)

    def _map(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        """Map a segment of a client, and answer with its address."""
        segment = Segment(*arguments)
        helper = self._helper
        assert helper is not None
        self._answer_later(sender, number, lambda: helper.keep(sender, segment, self._peers.array(segment)))

    def _answer_later(self, sender: int, number: int, work: Callable[[], object]) -> None:
        """Answer with the result of something that takes too long for the MPI thread."""

        def answer() -> None:
            try:
                result = work()
            except Exception as error:  # noqa: BLE001  # the other rank reports it
                result = error
            self._exchange.answer(sender, number, result)

        threading.Thread(target=answer, name="isoviz helper answers", daemon=True).start()

    def _handle(self, page: Bytes) -> StoreHandle:
        handle = self._stores.export(HostStore(page))
        self._stores.withdraw(handle)  # the client maps it; it asks for nothing by its number
        return handle

    def _started(self) -> ServingThread:
        """The helper of this rank. The caller holds the lock.

        Raises:
            RunError: it cannot be started.
        """
        if self._closed:
            raise EngineClosed(f"rank {self._rank} leaves the job")
        if self._helper is None:
            self._helper = ServingThread(self._windows, self._exchange.thread.size)
            self._helper.polls(self._mode == "polling")
        return self._helper

    # ---- ends

    def forget(self, segment: Segment) -> None:
        """Keep no place of a segment of this rank that has ended. This takes no lock."""
        for key in [key for key in list(self._places) if key[1] == segment]:
            self._places.pop(key, None)

    def let_go(self, sender: int, segment: Segment) -> None:
        """Unmap a segment of a client that has ended, once none of its requests is under way."""
        if self._helper is not None:
            self._helper.let_go(sender, segment)

    def drop(self, rank: int) -> None:
        """Do nothing more for a rank that is lost. Afterwards the helper neither reads nor writes for it."""
        if self._helper is not None:
            self._helper.drop(rank)

    def close(self) -> None:
        """End the helper of this rank. Requests that are under way are not carried out."""
        self._closed = True
        if not self._home.is_here:
            return
        with self._starting:
            if self._helper is not None:
                self._helper.close()
