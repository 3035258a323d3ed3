"""Channels from a memory of this rank to a memory of another rank."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from isoviz.backends.host.copying import copy_all
from isoviz.backends.host.host_memory import HostStore, Memcpy
from isoviz.backends.mpi.channels.cutting import pieces, plain
from isoviz.backends.mpi.channels.datatypes import datatype
from isoviz.backends.mpi.channels.runs import LONGEST, RunSender
from isoviz.backends.mpi.channels.writing import (
    Outstanding,
    bytes_of,
    handle_of,
    is_small,
    require_inside,
    write_inline,
    write_piece,
)
from isoviz.backends.mpi.pool import PIECE, PiecePool
from isoviz.errors import EngineClosed, RunError
from isoviz.runtime.device_bases import AsynchronousChannel

if TYPE_CHECKING:
    from isoviz.backends.mpi.channels.cutting import Piece
    from isoviz.backends.mpi.exchange import Answer, Exchange
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Done, Store
    from isoviz.runtime.ranks.handles import StoreHandle

LONG = 64 << 10
"""Bytes of a run from which a message of its own is faster than packing."""
IN_FLIGHT = 4
"""Pieces that one request of `Packed` has in flight: packed, on their way, and scattered."""
_TICK = 0.05
"""Seconds between two checks for cancellation."""


class WindowCopy(Memcpy):
    """The copy kernels write straight into a window of another rank of this host."""

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        if not isinstance(destination, HostStore):
            raise RunError("the destination lies in no window that this rank can map")
        return super().move(copies, source, destination, check)


class TwoSided(AsynchronousChannel):
    """Every contiguous run is a message (Isend, Irecv) straight between the two memories. A few KiB ride with one message."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        check()
        array, handle = bytes_of(source), handle_of(destination)
        require_inside(copies, handle)
        if is_small(copies):
            write_inline(self._exchange, copies, array, handle, check, done)
            return
        exchange, thread = self._exchange, self._exchange.thread
        outstanding = Outstanding(done)
        tag = exchange.tag()
        outstanding.begin()
        exchange.request(handle.rank, "runs", handle.key, tag, plain(copies), answer=outstanding.ended)
        outstanding.begin(counts=False)
        try:
            thread.post(lambda: RunSender(thread, copies, array, handle.rank, tag, outstanding.ended).fill())
        except EngineClosed as error:
            outstanding.ended(error)
        outstanding.all_begun()


class Derived(AsynchronousChannel):
    """MPI datatypes describe both ends, and MPI packs and unpacks. For comparison with the copy kernels."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        check()
        array, handle = bytes_of(source), handle_of(destination)
        require_inside(copies, handle)
        outstanding = Outstanding(done)
        for made in pieces(copies, LONGEST):
            outstanding.begin()
            outstanding.begin(counts=False)
            tag = self._exchange.tag()
            self._exchange.request(
                handle.rank, "typed", handle.key, tag, made.nbytes, plain(made.copies), answer=outstanding.ended
            )
            try:
                self._exchange.thread.post(partial(self._send, made, array, handle.rank, tag, outstanding))
            except EngineClosed as error:
                outstanding.ended(error)
        outstanding.all_begun()

    def _send(self, made: Piece, array: Bytes, rank: int, tag: int, outstanding: Outstanding) -> None:
        thread = self._exchange.thread
        thread.isend_typed(array, datatype(thread.mpi, made.copies, "source"), rank, tag, outstanding.ended)


class Packed(Memcpy):
    """The copy kernels pack pieces of 1 MiB into registered memory; the receiver scatters them while others are on their way.

    A piece that is contiguous in the source is sent as it lies, and one that is contiguous in the destination is received there.
    """

    at_once = False

    def __init__(self, exchange: Exchange, pool: PiecePool) -> None:
        self._exchange = exchange
        self._pool = pool

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        check()
        array, handle = bytes_of(source), handle_of(destination)
        require_inside(copies, handle)
        results: list[int | BaseException] = []
        over = threading.Event()

        def done(result: int | BaseException) -> None:
            results.append(result)
            over.set()

        if is_small(copies):
            write_inline(self._exchange, copies, array, handle, check, done)
        else:
            self._send(copies, array, handle, check, Outstanding(done))
        over.wait()
        if isinstance(results[0], BaseException):
            raise results[0]
        return results[0]

    def _send(
        self, copies: Sequence[StridedCopy], array: Bytes, handle: StoreHandle, check: Check, outstanding: Outstanding
    ) -> None:
        """Pack and send piece by piece, and note all of them in `outstanding`."""
        flight = threading.Semaphore(IN_FLIGHT)

        def answered(result: object) -> None:
            flight.release()
            outstanding.ended(result)

        error: BaseException | None = None
        try:
            for made in pieces(copies, PIECE):
                check()
                while not flight.acquire(timeout=_TICK):
                    check()
                if outstanding.error is not None:
                    break
                self._send_piece(made, array, handle, check, outstanding, answered)
        except BaseException as raised:  # noqa: BLE001  # `outstanding` carries it when the pieces on their way have arrived
            error = raised
        outstanding.all_begun(error)

    def _send_piece(
        self,
        made: Piece,
        array: Bytes,
        handle: StoreHandle,
        check: Check,
        outstanding: Outstanding,
        answered: Answer,
    ) -> None:
        room: Bytes | None = None
        if made.source is not None:
            data = array[made.source : made.source + made.nbytes]
        else:
            room = self._pool.wait(check)
            try:
                copy_all(made.pack, array, room, check)
            except BaseException:
                self._pool.give(room)
                raise
            data = room[: made.nbytes]

        def sent(error: BaseException | None) -> None:
            if room is not None:
                self._pool.give(room)
            outstanding.ended(error)

        outstanding.begin()
        outstanding.begin(counts=False)
        write_piece(self._exchange, made, data, handle, sent, answered)


class RemoteMemcpy(Memcpy):
    """The fastest way to a store: the copy kernels if it is mapped, messages for long runs, else packed pieces."""

    at_once = False

    def __init__(self, exchange: Exchange, pool: PiecePool) -> None:
        self._long = TwoSided(exchange)
        self._short = Packed(exchange, pool)

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        if isinstance(destination, HostStore):
            return super().move(copies, source, destination, check)
        if all(copy.run >= LONG for copy in copies):
            return self._long.move(copies, source, destination, check)
        return self._short.move(copies, source, destination, check)
