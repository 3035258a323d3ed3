"""Channel Put: one-sided MPI into the windows of another rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isoviz.backends.mpi.channels.carrying import RankParts, carries
from isoviz.backends.mpi.channels.cutting import pieces
from isoviz.backends.mpi.channels.datatypes import datatype
from isoviz.backends.mpi.channels.runs import LONGEST
from isoviz.backends.mpi.channels.writing import bytes_of, handle_of, require_inside
from isoviz.backends.mpi.stores import RemoteStore
from isoviz.errors import RunError
from isoviz.machines import ChannelKind
from isoviz.runtime.device_bases import AsynchronousChannel
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.backends.mpi.put_window import PutWindow
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Done, Store


class Put(AsynchronousChannel):
    """MPI Put of all bytes, and a Flush: then they are in place. MPI converts by datatypes. For comparison.

    The Flush holds up the MPI thread. If the other rank is stopped meanwhile, this rank waits, too.
    """

    takes_lists = True
    names_places = True

    def __init__(self, window: PutWindow) -> None:
        self._window = window

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        check()
        array, handle = bytes_of(source), handle_of(destination)
        require_inside(copies, handle)

        def put(address: object) -> None:
            lost = self._window.exchange.transport.lost
            if handle.rank in lost:  # MPI may wait for it for ever
                address = lost_rank(handle.rank, lost[handle.rank])
            if isinstance(address, BaseException):
                done(address)
                return
            try:
                count = self._put(copies, array, handle.rank, int(address))  # type: ignore[call-overload]
            except Exception as error:  # noqa: BLE001  # the caller reports it
                done(RunError(f"MPI could not put into rank {handle.rank}: {error}"))
            else:
                done(count)

        if isinstance(destination, RemoteStore) and destination.was_cleared:  # MPI does not wait for the end of that
            exchange = self._window.exchange
            exchange.request(
                handle.rank,
                "fence",
                handle.key,
                answer=lambda result: put(result) if result is not None else self._window.with_address(handle, put),
            )
        else:
            self._window.with_address(handle, put)

    def _put(self, copies: Sequence[StridedCopy], array: Bytes, rank: int, address: int) -> int:
        thread, window = self._window.exchange.thread, self._window.window
        mpi = thread.mpi
        kinds: list[Any] = []
        count = 0
        self._window.exchange.tell(rank, "help", True, ahead=True)  # the Flush keeps this thread
        try:
            for made in pieces(copies, LONGEST):
                if made.source is not None and made.destination is not None:
                    part = array[made.source : made.source + made.nbytes]
                    window.Put([part, made.nbytes, mpi.BYTE], rank, (address + made.destination, made.nbytes, mpi.BYTE))
                else:
                    here, there = (datatype(mpi, made.copies, end) for end in ("source", "destination"))
                    kinds += [here, there]
                    window.Put([array, 1, here], rank, (address, 1, there))
                count += 1
            window.Flush(rank)
        finally:
            self._window.exchange.tell(rank, "help", False)
            for kind in kinds:
                kind.Free()
        return count


@carries(ChannelKind.PUT)
def _put(rank: RankParts, *_: object) -> Put | None:
    return None if rank.put is None else Put(rank.put)
