"""Channels TwoSided and Derived: MPI messages straight between two memories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from isoviz.backends.mpi.channels.carrying import RankParts, carries
from isoviz.backends.mpi.channels.cutting import pieces, plain
from isoviz.backends.mpi.channels.datatypes import datatype
from isoviz.backends.mpi.channels.runs import LONGEST, RunSender
from isoviz.backends.mpi.channels.writing import Outstanding, bytes_of, handle_of, is_small, require_inside, write_inline
from isoviz.errors import EngineClosed, RunError, TransferError
from isoviz.machines import Channel, ChannelKind
from isoviz.runtime.device_bases import AsynchronousChannel

if TYPE_CHECKING:
    from isoviz.backends.mpi.channels.cutting import Piece
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.gpu_memory import MessageBuffers
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Done, Store
    from isoviz.runtime.ranks.handles import StoreHandle


class TwoSided(AsynchronousChannel):
    """Every contiguous run is a message (Isend, Irecv) straight between the two memories.

    A few KiB are sent inside one message, unless `of_gpu`: then one of the memories belongs to a GPU, and MPI gets its addresses.
    """

    takes_lists = True
    names_places = True

    def __init__(self, exchange: Exchange, buffers: MessageBuffers, *, of_gpu: bool = False) -> None:
        self._exchange = exchange
        self._buffers = buffers
        self._of_gpu = of_gpu

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        check()
        handle = handle_of(destination)
        require_inside(copies, handle)
        if not copies:  # a chunk may hold nothing but padding
            done(0)
            return
        if not self._of_gpu and is_small(copies):
            write_inline(self._exchange, copies, bytes_of(source), handle, check, done)
            return
        outstanding = Outstanding(done)
        outstanding.begin()
        outstanding.begin(counts=False)
        send = partial(self._send, copies, source, handle, outstanding)
        try:
            self._exchange.thread.post(send)
        except EngineClosed as error:
            outstanding.ended(error)
            outstanding.ended(error)
        outstanding.all_begun()

    def _send(self, copies: Sequence[StridedCopy], source: Store, handle: StoreHandle, outstanding: Outstanding) -> None:
        """Announce and send the runs, in the MPI thread. Nothing is announced if they cannot be sent."""
        exchange, thread = self._exchange, self._exchange.thread
        try:
            array = self._buffers.of(source)
        except RunError as error:
            outstanding.ended(error)
            outstanding.ended(error)
            return
        tag = exchange.tag()
        exchange.request(handle.rank, "runs", handle.key, tag, plain(copies), answer=outstanding.ended, ahead=True)
        RunSender(thread, copies, array, handle.rank, tag, outstanding.ended).fill()


class Derived(AsynchronousChannel):
    """MPI datatypes describe both ends, and MPI packs and unpacks. For comparison with the copy kernels."""

    takes_lists = True
    names_places = True

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


@carries(ChannelKind.TWO_SIDED, ChannelKind.DIRECT_REMOTE)
def _two_sided(rank: RankParts, _: int, channel: Channel, of_gpu: bool) -> TwoSided:
    if of_gpu and rank.buffers.refusal:
        raise TransferError(
            f"channel {channel.name}: {rank.buffers.refusal}; expected a path through registered memory (REG) of both ranks"
        )
    return TwoSided(rank.exchange, rank.buffers, of_gpu=of_gpu)


@carries(ChannelKind.DERIVED)
def _derived(rank: RankParts, *_: object) -> Derived:
    return Derived(rank.exchange)


@carries(ChannelKind.UMR)
def _keyed(_rank: RankParts, _peer: int, channel: Channel, _of_gpu: bool) -> NoReturn:
    raise TransferError(
        f"channel {channel.name}: isoviz plans and simulates network cards with keys (UMR), but drives none; expected"
        " a path that packs, or a channel of the kind Derived, where MPI gathers and scatters"
    )
