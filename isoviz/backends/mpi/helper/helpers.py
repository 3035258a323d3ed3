"""The helper of this rank, and the way to those of other ranks of its host."""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.atomics import SIZES, atomics
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.host.kernels import kernel_cache
from isoviz.backends.mpi.helper.client import Client
from isoviz.backends.mpi.helper.ring import BELL, BUSY, CLOSED, DONE, POLLS, POSTED, RING, STOP
from isoviz.backends.mpi.lanes.page import fence
from isoviz.backends.mpi.other_process import allow_tracing
from isoviz.backends.mpi.stores import MappedStore
from isoviz.backends.mpi.thread.bells import FUTEX, WAKE, are_shared, give_way, library
from isoviz.backends.mpi.windows import Segment
from isoviz.backends.pages import PAGE
from isoviz.errors import EngineClosed, InputError, RunError
from isoviz.forks import Home, held_over_forks
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from types import ModuleType

    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.stores import Stores
    from isoviz.backends.mpi.windows import PeerWindows, Windows
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.ranks.handles import StoreHandle


# The thread that runs the compiled loop of a helper.

_Words = np.ndarray[Any, np.dtype[np.int64]]
_loading = threading.Lock()
held_over_forks(_loading)  # a forked child would wait for ever for modules that another thread was importing
_CALLS = ("process_vm_readv", "process_vm_writev", "syscall", "sched_yield")


class ServingThread:
    """The helper of this rank, for up to `ranks` clients, each known by its rank. It runs until `close`, at the latest until the
    interpreter ends. Other threads than the one that makes clients may call `drop` and `let_go`.

    Raises:
        RunError: there is no Numba, or no room in the windows.
    """

    def __init__(self, windows: Windows, ranks: int) -> None:
        loop = loaded_loop()
        self._windows = windows
        self._home = Home("this helper")
        self._control = _zeroed(windows.array(PAGE))
        self._words: Any = _words_of(self._control)
        self._rings: dict[int, Bytes] = {}
        self._table = np.zeros(ranks, np.int64)
        self._scratch = np.zeros((loop.ROOM + ranks * loop.KNOWN) // 8, np.int64)
        self._maps: dict[tuple[int, Segment], Bytes] = {}
        self._leaving: list[tuple[int, int, Bytes]] = []
        """Maps that go when a client has no request under way that is as old: its rank, the request, the map."""
        arguments = _arguments(self._control, self._table, self._scratch)
        self._thread = threading.Thread(target=loop.serve, args=arguments, name="isoviz helper", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def is_alive(self) -> bool:
        """Whether it serves."""
        return self._thread.is_alive()

    def polls(self, value: bool) -> None:
        """Let the loop look for requests without sleep, or let it sleep."""
        self._words[POLLS // 8] = value
        self._ring_bell()

    def ring_of(self, rank: int) -> tuple[Bytes, Bytes]:
        """The control page, and the ring of a client."""
        if rank not in self._rings:
            self._rings[rank] = _zeroed(self._windows.array(RING))
            fence()
            self._table[rank] = self._rings[rank].ctypes.data
        return self._control, self._rings[rank]

    def keep(self, rank: int, segment: Segment, array: Bytes) -> int:
        """Keep the map of a segment of a client, and tell its address."""
        self._maps[rank, segment] = array
        return int(array.ctypes.data)

    def let_go(self, rank: int, segment: Segment) -> None:
        """Let go of the map of a segment that has ended, as soon as the client has no request under way that is as old."""
        array = self._maps.pop((rank, segment), None)
        if array is not None:
            self._leaving.append((rank, _words_of(self._rings[rank])[POSTED // 8], array))
        self._leaving = [each for each in self._leaving if _words_of(self._rings[each[0]])[DONE // 8] < each[1]]

    def drop(self, rank: int) -> None:
        """Begin nothing more for a client, and wait for the end of what is begun, of at most a part of a copy."""
        ring = self._rings.get(rank)
        if ring is None:
            return
        words = _words_of(ring)
        words[CLOSED // 8] = 1
        fence()
        self._table[rank] = 0
        while words[BUSY // 8] and self.is_alive:
            give_way()
        for key in [key for key in list(self._maps) if key[0] == rank]:
            self._maps.pop(key, None)
        self._leaving = [each for each in self._leaving if each[0] != rank]

    def close(self) -> None:
        """End the loop after the part that it is at. A forked child has none."""
        atexit.unregister(self.close)
        if not self._home.is_here:
            return
        self._words[STOP // 8] = 1
        self._ring_bell()
        self._thread.join()
        self._maps.clear()
        self._leaving.clear()

    def _ring_bell(self) -> None:
        fence()
        self._words[BELL // 8] += 1
        library().syscall(FUTEX, ctypes.c_void_p(self._control.ctypes.data + BELL), WAKE, 1, None, None, 0)


def loaded_loop() -> ModuleType:
    """The module of the compiled loop, which is compiled once for each computer and version, in some seconds.

    Raises:
        RunError: Numba is missing.
    """
    with _loading:
        return _loop()


@cache
def _loop() -> ModuleType:
    try:
        from isoviz.backends.mpi.helper import loop
    except ImportError as error:
        raise RunError(f"the helper of a rank is compiled by Numba, which cannot be loaded: {error}") from None
    kernel_cache.made_ready(loop.APART, lambda: _call_once(loop))
    return loop


def _call_once(loop: ModuleType) -> None:
    """Compile or load the loop. With the control page of this call it returns at once."""
    control, table, scratch = np.zeros(PAGE, np.uint8), np.zeros(1, np.int64), np.zeros((loop.ROOM + loop.KNOWN) // 8, np.int64)
    _words_of(control)[STOP // 8] = 1
    loop.serve(*_arguments(control, table, scratch))


def _arguments(control: Bytes, table: _Words, scratch: _Words) -> tuple[int, ...]:
    return int(control.ctypes.data), int(table.ctypes.data), len(table), int(scratch.ctypes.data), int(_functions().ctypes.data)


@cache
def _functions() -> _Words:
    """The table of functions, which stays for as long as the process."""
    calls = [_address_of(name) for name in _CALLS]
    changes = [atomics().address_of(name, size) for name in ("fetch_and_add", "swap", "compare_and_swap") for size in SIZES]
    return np.array([*calls, FUTEX or 0, _address_of("__errno_location"), *changes], np.int64)


def _address_of(name: str) -> int:
    return ctypes.cast(getattr(library(), name), ctypes.c_void_p).value or 0


def _zeroed(array: Bytes) -> Bytes:
    array[:] = 0
    return array


def _words_of(array: Bytes) -> Any:
    return memoryview(array).cast("q")  # type: ignore[arg-type]  # an array of bytes has a buffer


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
        self._check(rank)
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
            helper, self._helper = self._helper, None
            if helper is not None:
                helper.close()
        self._clients.clear()  # and with them the memory of other ranks
