"""Channel Packed: the copy kernels pack pieces, MPI carries them, and the receiver scatters them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.backends.host.copying import copy_all
from isoviz.backends.host.host_memory import Memcpy
from isoviz.backends.mpi.channels.carrying import RankParts, carries
from isoviz.backends.mpi.channels.cutting import pieces
from isoviz.backends.mpi.channels.writing import (
    Outstanding,
    bytes_of,
    handle_of,
    is_small,
    require_inside,
    write_inline,
    write_piece,
)
from isoviz.backends.mpi.piece_pool import PIECE, PiecePool
from isoviz.machines import ChannelKind

if TYPE_CHECKING:
    from isoviz.backends.mpi.channels.cutting import Piece
    from isoviz.backends.mpi.exchange import Answer, Exchange
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Store
    from isoviz.runtime.ranks.handles import StoreHandle

IN_FLIGHT = 4
"""Pieces that one request has in flight: packed, on their way, and scattered."""
_TICK = 0.05
"""Seconds between two checks for cancellation."""


class Packed(Memcpy):
    """The copy kernels pack pieces of 1 MiB into registered memory; the receiver scatters them while others are on their way.

    A piece that is contiguous in the source is sent as it lies, and one that is contiguous in the destination is received there.
    """

    at_once = False
    names_places = True

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
                self.send_piece(made, array, handle, check, outstanding, answered)
        except BaseException as raised:  # noqa: BLE001  # `outstanding` carries it when the pieces on their way have arrived
            error = raised
        outstanding.all_begun(error)

    def send_piece(
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


@carries(ChannelKind.PACKED)
def _packed(rank: RankParts, *_: object) -> Packed:
    return Packed(rank.exchange, rank.pool)
