"""Channel ProcessWrite: the system writes into pageable memory of another rank of the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.backends.host.copying import copy_all
from isoviz.backends.mpi.channels.carrying import RankParts, carries
from isoviz.backends.mpi.channels.cutting import filled, pieces
from isoviz.backends.mpi.channels.packed import Packed
from isoviz.backends.mpi.channels.writing import bytes_of, handle_of, require_inside
from isoviz.backends.mpi.other_process import WRITE, AccessRefusedError, accesses, runs_at
from isoviz.backends.mpi.piece_pool import PIECE, PiecePool
from isoviz.backends.mpi.stores import RemoteStore
from isoviz.layouts.copies import ListedCopy, run_begins
from isoviz.layouts.recurring import split_together
from isoviz.machines import ChannelKind

if TYPE_CHECKING:
    from isoviz.backends.mpi.channels.cutting import Piece
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Store
    from isoviz.runtime.ranks.handles import StoreHandle


LEAST_RUN = 2048
"""Bytes of a run in the other process, on average. The system needs half a microsecond for each run. To send a piece and
to scatter it there takes as long as that for runs of about this length."""


class ProcessWrite(Packed):
    """The copy kernels pack pieces of 1 MiB, and `process_vm_writev` writes each of them to its runs in the other process.

    A piece that is contiguous in the source is written from where it lies, and the rank of the destination does nothing. Pieces
    with short runs at the destination are sent as `Packed` sends them. So is everything where the system refuses: `refusals` has
    the reasons by rank.
    """

    def __init__(self, exchange: Exchange, pool: PiecePool, refusals: dict[int, str]) -> None:
        super().__init__(exchange, pool)
        self._refusals = refusals
        self._reason = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes about how the bytes were moved."""
        refused = (f"ProcessWrite: the bytes were sent by MPI, because {self._reason}",) if self._reason else ()
        return (*super().notes, *refused)

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        check()
        array, handle = bytes_of(source), handle_of(destination)
        require_inside(copies, handle)
        if handle.rank not in self._refusals:
            if isinstance(destination, RemoteStore) and destination.was_cleared:
                self._exchange.ask(handle.rank, "fence", handle.key)
            try:
                count, short = self._write_long(copies, array, handle, check)
            except AccessRefusedError as error:
                self._refusals[handle.rank] = str(error)
            else:
                return count + (super().move(short, source, destination, check) if short else 0)
        self._reason = self._refusals[handle.rank]
        return super().move(copies, source, destination, check)

    def _write_long(
        self, copies: Sequence[StridedCopy], array: Bytes, handle: StoreHandle, check: Check
    ) -> tuple[int, list[StridedCopy]]:
        """Write the pieces with long runs; returns the number of calls, and the copies of the other pieces."""
        count, short = 0, []
        parts = split_together(copies, max(1, -(-sum([copy.nbytes for copy in copies]) // PIECE)), 1)
        for made in (each for part in parts for each in pieces(part, PIECE)):
            check()
            each = made if made.destination is not None else filled(made.copies) or made
            if each.destination is None and each.nbytes < LEAST_RUN * _run_count(each.unpack):
                short += each.copies
            else:
                count += self._write(each, array, handle, check)
        return count, short

    def _write(self, made: Piece, array: Bytes, handle: StoreHandle, check: Check) -> int:
        """Write a piece; returns the number of calls."""
        runs = runs_at(made.destination, made.unpack, False, handle)
        if made.source is not None:
            calls = accesses(WRITE, handle, int(array.ctypes.data) + made.source, runs)
            for call in calls:
                call()
            return len(calls)
        room = self._pool.wait(check)
        try:
            copy_all(made.pack, array, room, check)
            calls = accesses(WRITE, handle, int(room.ctypes.data), runs)
            for call in calls:
                call()
        finally:
            self._pool.give(room)
        return len(calls)


def _run_count(copies: Sequence[StridedCopy]) -> int:
    """The number of contiguous runs that copies write."""
    count = 0
    for copy in copies:
        run = copy.run
        for extent, _, there in sorted(copy.loops, key=lambda loop: loop[2]):
            if there != run:
                break
            run *= extent
        if isinstance(copy, ListedCopy) and copy.nbytes == run * copy.entries:
            count += len(run_begins(copy.destination_places, copy.destination_places, run))
        else:
            count += copy.nbytes // run
    return count


@carries(ChannelKind.PROCESS_WRITE)
def _process_write(rank: RankParts, peer: int, *_: object) -> ProcessWrite | None:
    return ProcessWrite(rank.exchange, rank.pool, rank.refusals) if rank.stores.shares_host(peer) else None
