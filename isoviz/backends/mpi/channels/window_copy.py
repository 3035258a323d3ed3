"""Channels Window and RemoteMemcpy: the copy kernels across ranks, and the fastest way between two ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.backends.host.host_memory import HostStore, Memcpy
from isoviz.backends.mpi.channels.carrying import RankParts, carries
from isoviz.backends.mpi.channels.packed import Packed
from isoviz.backends.mpi.channels.two_sided import TwoSided
from isoviz.errors import RunError
from isoviz.machines import ChannelKind

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.gpu_memory import MessageBuffers
    from isoviz.backends.mpi.piece_pool import PiecePool
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Store

LONG = 64 << 10
"""Bytes of a run from which a message of its own is faster than packing."""


class WindowCopy(Memcpy):
    """The copy kernels write straight into a window of another rank of this host."""

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        if not isinstance(destination, HostStore):
            raise RunError("the destination lies in no window that this rank can map")
        return super().move(copies, source, destination, check)


class RemoteMemcpy(Memcpy):
    """The fastest way to a store: the copy kernels if it is mapped, messages for long runs, else packed pieces."""

    at_once = False

    def __init__(self, exchange: Exchange, pool: PiecePool, buffers: MessageBuffers) -> None:
        self._long = TwoSided(exchange, buffers)
        self._short = Packed(exchange, pool)

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        if isinstance(destination, HostStore):
            return super().move(copies, source, destination, check)
        if all(copy.run >= LONG for copy in copies):
            return self._long.move(copies, source, destination, check)
        return self._short.move(copies, source, destination, check)


@carries(ChannelKind.WINDOW)
def _window(rank: RankParts, peer: int, *_: object) -> WindowCopy | None:
    return WindowCopy() if rank.stores.shares_host(peer) else None


@carries(ChannelKind.REMOTE_MEMCPY)
def _remote_memcpy(rank: RankParts, *_: object) -> RemoteMemcpy:
    return RemoteMemcpy(rank.exchange, rank.pool, rank.buffers)
