"""Writes to a store of another rank: what the channels between ranks are made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.host.copying import copy_all
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.channels.cutting import Piece, piece, plain, reach
from isoviz.backends.mpi.serving import INLINE
from isoviz.backends.mpi.stores import MappedStore, RemoteStore
from isoviz.errors import LayoutError, RunError

if TYPE_CHECKING:
    from isoviz.backends.mpi.exchange import Exchange
    from isoviz.backends.mpi.thread.mpi_requests import Ended
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Check, Done, Store
    from isoviz.runtime.ranks.handles import StoreHandle

MOST_INLINE = 256
"""The most copies of an inline write: their list is to be shorter than the data."""


def bytes_of(store: Store) -> Bytes:
    """The bytes of a store in host memory.

    Raises:
        RunError: the store is elsewhere.
    """
    if not isinstance(store, HostStore):
        raise RunError(f"{type(store).__name__}: channels between ranks move bytes of host memory only")
    return store.array


def handle_of(store: Store) -> StoreHandle:
    """The handle of a store of another rank.

    Raises:
        RunError: it is not a store of another rank.
    """
    if not isinstance(store, RemoteStore | MappedStore):
        raise RunError(f"{type(store).__name__}: channels between ranks write to stores that `reach` gave")
    return store.handle


def is_small(copies: Sequence[StridedCopy]) -> bool:
    """Whether the bytes are sent inside the message."""
    return len(copies) <= MOST_INLINE and sum([copy.nbytes for copy in copies]) <= INLINE


def write_inline(
    exchange: Exchange, copies: Sequence[StridedCopy], source: Bytes, handle: StoreHandle, check: Check, done: Done
) -> None:
    """Write a few bytes. `done` is called when they are in place."""
    if not copies:  # a chunk may hold nothing but padding
        done(0)
        return
    made = piece(copies)
    if made.source is not None:
        payload = source[made.source : made.source + made.nbytes].tobytes()
    else:
        room = np.empty(made.nbytes, np.uint8)
        copy_all(made.pack, source, room, check)
        payload = room.tobytes()
    exchange.request(
        handle.rank,
        "inline",
        handle.key,
        _parts(made),
        payload,
        answer=lambda result: done(result if isinstance(result, BaseException) else 1),
    )


def write_piece(
    exchange: Exchange, made: Piece, data: Bytes, handle: StoreHandle, sent: Ended | None, answer: Callable[[object], None]
) -> None:
    """Write the packed bytes of a piece. `sent` is called when `data` may change, `answer` when the bytes are in place."""
    tag = exchange.tag()
    exchange.request(handle.rank, "piece", handle.key, tag, made.nbytes, _parts(made), answer=answer)
    exchange.thread.isend(data, handle.rank, tag, sent)


def _parts(made: Piece) -> list[tuple[object, ...]]:
    """Where the bytes of a piece belong, as plain tuples. A contiguous destination is one run."""
    if made.destination is not None:
        return [(0, made.destination, made.nbytes, ())]
    return list(plain(made.unpack))


def require_inside(copies: Sequence[StridedCopy], handle: StoreHandle) -> None:
    """Require that the copies stay within the store of the other rank, before anything is sent.

    Raises:
        LayoutError: they do not.
    """
    low, high = reach(copies)
    if low < 0 or high > handle.nbytes:
        raise LayoutError(f"copies write from byte {low} to byte {high} of a store of {handle.nbytes} bytes")


class Outstanding:
    """The parts of one request of a channel that have not ended. When all have, `done` gets their number or an error."""

    def __init__(self, done: Done) -> None:
        self._done = done
        self._lock = threading.Lock()
        self._left = 1  # the request itself, until `all_begun`
        self.count = 0
        self.error: BaseException | None = None

    def begin(self, *, counts: bool = True) -> None:
        """Note a part that begins. With `counts` it is a request of the device."""
        with self._lock:
            self._left += 1
            self.count += counts

    def ended(self, result: object = None) -> None:
        """Note a part that has ended; an exception is its error."""
        with self._lock:
            self._left -= 1
            if isinstance(result, BaseException) and self.error is None:
                self.error = result
            over = not self._left
        if over:
            self._done(self.count if self.error is None else self.error)

    def all_begun(self, error: BaseException | None = None) -> None:
        """Note that no further parts begin, perhaps because of an error."""
        self.ended(error)
