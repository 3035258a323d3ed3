"""What a rank does for others: it writes, reads and clears its exported stores, and changes their words atomically.

Bytes that are contiguous in the store are received into it, and sent from it. Others go through a piece of registered memory, and
a worker thread scatters or gathers them: the MPI thread never copies much. A write is answered when its bytes are in place.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.cuda.device_memory import DeviceStore
from isoviz.backends.host.atomics import atomics
from isoviz.backends.host.copying import copy_all
from isoviz.backends.host.host_memory import HostStore, JoinedStore
from isoviz.backends.mpi.channels.cutting import copies_of, is_run, reach
from isoviz.backends.mpi.channels.datatypes import datatype
from isoviz.backends.mpi.channels.runs import RunReceiver
from isoviz.backends.mpi.piece_pool import PIECE
from isoviz.errors import RunError
from isoviz.layouts import StridedCopy

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.backends.mpi.exchange import Exchange, Serve
    from isoviz.backends.mpi.gpu_memory import MessageBuffers
    from isoviz.backends.mpi.piece_pool import PiecePool
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.protocols import Store

INLINE = 4096
"""Bytes up to which data are sent inside their request or answer."""
_FEW = 16
"""Up to this many contiguous parts of an inline write are copied by the MPI thread."""
WORKERS = 2


def _nothing() -> None:
    """Nobody waits."""


class Server:
    """Carries out the requests of other ranks to the stores in `exported`.

    `pool` gives pieces for what has to be scattered. `buffers` gives what the runs of a message are received into.
    """

    def __init__(self, exchange: Exchange, exported: dict[int, Store], pool: PiecePool, buffers: MessageBuffers) -> None:
        self._exchange = exchange
        self._buffers = buffers
        self._thread = exchange.thread
        self._exported = exported
        self._pool = pool
        self._workers = ThreadPoolExecutor(WORKERS, "isoviz scatter")
        self._jobs: dict[int, set[Future[None]]] = {}
        """What worker threads do for each rank."""
        self._clearing: dict[int, deque[tuple[Serve, int, int, tuple[Any, ...]]]] = {}
        """The stores that a worker thread clears, with the requests that wait for it."""
        ordered = {
            "inline": self._inline,
            "piece": self._piece,
            "runs": self._runs,
            "typed": self._typed,
            "read": self._read,
            "change": self._change,
            "fence": self._fence,
            "clear": self._clear,
        }
        exchange.serve |= {name: partial(self._in_order, serve) for name, serve in ordered.items()}

    def close(self) -> None:
        """End the worker threads."""
        self._workers.shutdown()

    def finish(self, sender: int) -> None:
        """Wait for the end of what was begun for a rank that is lost: afterwards nothing writes for it here."""
        wait(self._jobs.pop(sender, set()))

    def _begin(self, sender: int, job: Callable[[], None]) -> None:
        """Do something for a rank in a worker thread."""
        jobs = self._jobs.setdefault(sender, set())
        jobs -= {each for each in jobs if each.done()}
        jobs.add(self._workers.submit(job))

    def _in_order(self, serve: Serve, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        """Carry out a request to the store `arguments[0]`, after those that came before it."""
        waiting = self._clearing.get(arguments[0])
        if waiting is None:
            serve(sender, number, arguments)
        else:
            waiting.append((serve, sender, number, arguments))

    def _store(self, key: int) -> Store:
        store = self._exported.get(key)
        if store is None:
            raise RunError(f"store {key} was withdrawn")
        return store

    def _target(self, key: int, copies: list[StridedCopy]) -> HostStore:
        """The host store of a key. It holds all bytes that the copies write."""
        store = self._reached(key, copies, "write")
        if not isinstance(store, HostStore):
            raise RunError(f"store {key} is no host memory: other ranks cannot write to it")
        return store

    def _reached(self, key: int, copies: list[StridedCopy], what: str) -> Store:
        """The store of a key. It holds all bytes that are the destination of the copies."""
        store = self._store(key)
        for low, high in [reach([copy]) for copy in copies] if isinstance(store, JoinedStore) else [reach(copies)]:
            inside = store.holds(low, high) if isinstance(store, HostStore) else low >= 0 and high <= store.nbytes
            if not inside:
                raise RunError(f"a {what} reaches from byte {low} to byte {high} of store {key}, which has {store.nbytes} bytes")
        return store

    def _later(self, sender: int, number: int, work: Any) -> None:
        """Do work in a worker thread and answer with its result."""

        def job() -> None:
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  # the other rank reports it
                result = error
            self._exchange.answer(sender, number, result)

        self._begin(sender, job)

    def _inline(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        key, parts, payload = arguments
        copies = copies_of(parts)
        store = self._target(key, copies)
        array = store.array
        data = np.frombuffer(payload, np.uint8)
        if len(copies) <= _FEW and all(is_run(copy) for copy in copies):
            for at, to, run, _ in copies:
                array[to : to + run] = data[at : at + run]
            self._exchange.answer(sender, number)
        else:
            self._later(sender, number, lambda: copy_all(copies, data, array, _go_on))

    def _piece(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        key, tag, nbytes, parts = arguments
        copies = copies_of(parts)
        try:
            store = self._target(key, copies)
        except RunError as error:
            self._drain(sender, number, tag, nbytes, error)
            return
        array = store.array
        if len(copies) == 1 and is_run(copies[0]):
            at = copies[0].destination_offset
            self._thread.irecv(array[at : at + nbytes], sender, tag, partial(self._exchange.answer, sender, number))
            return

        def receive(room: Bytes) -> None:
            self._thread.irecv(room[:nbytes], sender, tag, partial(scatter, room))

        def scatter(room: Bytes, error: BaseException | None) -> None:
            if error is not None:
                self._pool.give(room)
                return

            def work() -> None:
                try:
                    copy_all(copies, room, array, _go_on, large=store.is_large)
                finally:
                    self._pool.give(room)

            self._later(sender, number, work)

        self._pool.take(receive)

    def _runs(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        key, tag, parts = arguments
        copies = copies_of(parts)
        refused: RunError | None = None
        try:
            array = self._buffers.of(self._reached(key, copies, "write"))
        except RunError as error:
            refused = RunError(str(error))  # without the traceback, which refers to this frame
            array = np.empty(reach(copies)[1], np.uint8)  # The runs arrive all the same.

        def ended(error: BaseException | None) -> None:
            self._exchange.answer(sender, number, refused or error)

        RunReceiver(self._thread, copies, array, sender, tag, ended).fill()

    def _typed(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        key, tag, nbytes, parts = arguments
        copies = copies_of(parts)
        try:
            array = self._target(key, copies).array
        except RunError as error:
            self._drain(sender, number, tag, nbytes, error)
            return
        kind = datatype(self._thread.mpi, copies, "destination")
        self._thread.irecv_typed(array, kind, sender, tag, partial(self._exchange.answer, sender, number))

    def _drain(self, sender: int, number: int, tag: int, nbytes: int, error: RunError) -> None:
        """Receive bytes that have no place, because their sender cannot take them back, and answer with the error."""
        room = np.empty(nbytes, np.uint8)
        self._thread.irecv(room, sender, tag, lambda _: self._exchange.answer(sender, number, error))

    def _read(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        """Answer with the bytes of copies from a store into a message: with themselves if they are few, else with their tag."""
        key, parts = arguments
        copies = copies_of(parts)
        store = self._reached(key, [copy.reversed() for copy in copies], "read")
        nbytes = sum([copy.nbytes for copy in copies])
        if len(copies) == 1 and is_run(copies[0]):
            offset = copies[0].source_offset
            if isinstance(store, HostStore):
                self._send(sender, number, store.read(offset, nbytes))
            else:
                self._read_later(sender, number, lambda: np.frombuffer(store.read(offset, nbytes), np.uint8))
            return
        array = self._target(key, []).array

        def gather(room: Bytes) -> Bytes:
            copy_all(copies, array, room, _go_on)
            return room[:nbytes]

        if nbytes > PIECE:
            raise RunError(f"a read of {nbytes} scattered bytes; expected {PIECE} at most")
        self._pool.take(lambda room: self._read_later(sender, number, lambda: gather(room), lambda: self._pool.give(room)))

    def _read_later(self, sender: int, number: int, read: Callable[[], Bytes], done: Callable[[], None] = _nothing) -> None:
        """Answer with bytes that a worker thread reads; `done` is called when they are sent."""

        def work() -> None:
            try:
                data = read()
            except BaseException as error:  # noqa: BLE001  # the other rank reports it
                self._exchange.answer(sender, number, error)
                done()
            else:
                self._thread.post_quietly(lambda: self._send(sender, number, data, done))

        self._workers.submit(work)

    def _send(self, sender: int, number: int, data: Bytes, done: Callable[[], None] = _nothing) -> None:
        if data.nbytes <= INLINE:
            self._exchange.answer(sender, number, data.tobytes())
            done()
            return
        tag = self._exchange.tag()
        self._exchange.answer(sender, number, tag)
        self._thread.isend(data, sender, tag, lambda _: done())

    def _change(self, sender: int, number: int, arguments: tuple[Any, ...]) -> None:
        """Change a word by an instruction of the processor, as the ranks of this host may do it themselves."""
        key, offset, size, name, values = arguments
        array = self._target(key, [StridedCopy(0, offset, size)]).array
        self._exchange.answer(sender, number, atomics().operation(name, size)(int(array.ctypes.data) + offset, *values))

    def _fence(self, sender: int, number: int, _arguments: tuple[Any, ...]) -> None:
        """Answer when earlier requests to the store no longer change it by themselves."""
        self._exchange.answer(sender, number)

    def _clear(self, sender: int, _number: int, arguments: tuple[Any, ...]) -> None:
        """Clear a store. This has no answer; requests that come later wait."""
        key = arguments[0]
        store = self._exported.get(key)
        if not isinstance(store, HostStore | DeviceStore):  # later requests to it fail
            return
        self._clearing[key] = deque()

        def job() -> None:
            try:
                store.clear()
            finally:
                self._thread.post_quietly(partial(self._cleared, key))

        self._begin(sender, job)

    def _cleared(self, key: int) -> None:
        waiting = self._clearing.pop(key)
        while waiting:
            serve, sender, number, arguments = waiting.popleft()
            if self._exchange.transport.is_given_up(sender):
                continue
            try:
                self._in_order(serve, sender, number, arguments)
            except Exception as error:  # noqa: BLE001  # the other rank waits for an answer
                self._exchange.answer(sender, number, error)


def _go_on() -> None:
    """Check nothing: what another rank sends is not cancelled here."""
