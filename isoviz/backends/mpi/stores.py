"""Stores that other ranks reach, and stores of other ranks."""

from __future__ import annotations

import itertools
import os
import threading
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.host.host_memory import Addresses, HostStore, JoinedStore
from isoviz.backends.mpi.windows import PeerWindows, Segment, Windows
from isoviz.errors import RunError
from isoviz.runtime.device_bases import BaseEndpoint, BaseSlot
from isoviz.runtime.ranks.handles import StoreHandle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.thread.mpi_requests import Ended
    from isoviz.backends.pages import Bytes
    from isoviz.runtime.protocols import Store


class MappedStore(HostStore):
    """A store of another rank of this host, mapped: its bytes are host memory of this rank."""

    def __init__(self, array: Bytes, handle: StoreHandle) -> None:
        super().__init__(array, handle.nbytes)
        self.handle = handle

    def place(self, shift: int) -> None:
        """Do nothing: its owner has placed it."""


class MappedPieces(MappedStore):
    """The arrays at the end of a bundle on another rank of this host, mapped window by window: at other places than there."""

    def __init__(self, arrays: Sequence[Bytes], handle: StoreHandle) -> None:
        addresses = Addresses(arrays)
        room = np.asarray(addresses)
        super().__init__(room, handle._replace(nbytes=len(room)))
        self.starts = tuple(addresses.starts)


class RemoteStore(BaseEndpoint, BaseSlot):
    """A store of another rank that is reached by messages."""

    def __init__(self, handle: StoreHandle, exchange: Exchange) -> None:
        self.handle = handle
        self.nbytes = handle.nbytes
        self.alignment = handle.alignment
        self.base = handle.base
        self._exchange = exchange
        self.was_cleared = False
        """Whether its rank may still be clearing it. Writes by messages wait for that."""

    @property
    def identity(self) -> object:
        """Its rank and its number there."""
        return "rank", self.handle.rank, self.handle.key

    def read(self, offset: int, nbytes: int) -> Bytes:
        """A copy of the bytes.

        Raises:
            RunError: its rank is lost, or cannot read them.
        """
        into = np.empty(nbytes, np.uint8)
        errors: list[BaseException | None] = []
        over = threading.Event()

        def ended(error: BaseException | None) -> None:
            errors.append(error)
            over.set()

        read_parts(self._exchange, self.handle, [(offset, 0, nbytes, ())], into, ended)
        over.wait()
        if errors[0] is not None:
            raise errors[0]
        return into

    def clear(self) -> None:
        """Let its rank fill it with zeros, and return at once: an engine may hold locks that answers need.

        Later writes and reads of this rank come after it. If the store cannot be cleared, they fail, too.
        """
        self.was_cleared = True
        self._exchange.tell(self.handle.rank, "clear", self.handle.key)


def read_parts(exchange: Exchange, handle: StoreHandle, parts: object, into: Bytes, ended: Ended) -> None:
    """Read what copies take from a store of another rank, as plain tuples: a run, or up to 1 MiB. `ended` is called once."""

    def answered(result: object) -> None:
        if isinstance(result, BaseException):
            ended(result)
        elif isinstance(result, bytes):
            into[:] = np.frombuffer(result, np.uint8)
            ended(None)
        else:
            exchange.thread.irecv(into, handle.rank, result, ended)  # type: ignore[arg-type]  # the tag of its bytes

    exchange.request(handle.rank, "read", handle.key, parts, answer=answered)


class Stores:
    """The exported stores of this rank, and the way to those of others.

    `hosts` names the host of each rank. With `mapped` false no store is mapped, even on one host.
    """

    def __init__(self, exchange: Exchange, windows: Windows, peers: PeerWindows, *, mapped: bool) -> None:
        self.exported: dict[int, Store] = {}
        self._exchange = exchange
        self._windows, self._peers = windows, peers
        self._rank = exchange.thread.rank
        self._mapped = mapped
        self._keys = itertools.count(1)

    def shares_host(self, rank: int) -> bool:
        """Whether stores of another rank can be mapped here."""
        hosts = self._exchange.transport.hosts
        return self._mapped and hosts[rank] == hosts[self._rank]

    def export(self, store: Store) -> StoreHandle:
        """Make a store reachable. A slot has to be placed before, because its handle says where its first byte is."""
        window: tuple[object, ...] | None = None
        pieces: tuple[tuple[tuple[object, ...], int], ...] = ()
        process = address = 0
        if isinstance(store, HostStore):
            process, address = os.getpid(), int(store.array.ctypes.data)
            place = self._windows.place(store.array)
            if place is not None:
                window = (*place[0], place[1])
            elif isinstance(store, JoinedStore):
                pieces = self._pieces(store)
        key = next(self._keys)
        self.exported[key] = store
        return StoreHandle(self._rank, key, store.nbytes, window, store.alignment, store.base, process, address, pieces)

    def _pieces(self, store: JoinedStore) -> tuple[tuple[tuple[object, ...], int], ...]:
        """Where each array lies; empty if one of them lies in no window."""
        found = []
        for array in store.arrays:
            place = self._windows.place(array)
            if place is None:
                return ()
            found.append(((*place[0], place[1]), len(array)))
        return tuple(found)

    def exported_segments(self) -> set[int]:
        """The inodes of the segments in which exported stores lie."""
        stores = [store for store in list(self.exported.values()) if isinstance(store, HostStore)]
        arrays = [array for store in stores for array in (store.arrays if isinstance(store, JoinedStore) else (store.array,))]
        places = [self._windows.place(array) for array in arrays]
        return {place[0].inode for place in places if place is not None}

    def withdraw(self, handle: StoreHandle) -> None:
        """End what `export` began. Twice does no harm."""
        self.exported.pop(handle.key, None)

    def reach(self, handle: StoreHandle) -> Store:
        """The store behind a handle.

        Raises:
            RunError: it is a store of this rank that was withdrawn, or it cannot be mapped although it should.
        """
        if handle.rank == self._rank:
            store = self.exported.get(handle.key)
            if store is None:
                raise RunError(f"store {handle.key} was withdrawn")
            return store
        if not self.shares_host(handle.rank):
            return RemoteStore(handle, self._exchange)
        if handle.window is not None:
            return MappedStore(self._array(handle.window, handle.nbytes), handle)
        if handle.pieces:
            return MappedPieces([self._array(*piece) for piece in handle.pieces], handle)
        return RemoteStore(handle, self._exchange)

    def _array(self, window: tuple[object, ...], nbytes: int) -> Bytes:
        segment, offset = _place_of(window)
        return self._peers.array(segment)[offset : offset + nbytes]


def window_of(handle: StoreHandle) -> tuple[Segment, int]:
    """The segment and the offset of a store in a window."""
    assert handle.window is not None
    return _place_of(handle.window)


def _place_of(window: tuple[object, ...]) -> tuple[Segment, int]:
    process, descriptor, inode, nbytes, offset = window
    return Segment(int(process), int(descriptor), int(inode), int(nbytes)), int(offset)  # type: ignore[call-overload]
