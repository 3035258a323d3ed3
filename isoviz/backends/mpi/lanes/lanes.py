"""Making the lanes of a rank: what its sender moves, in parts."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.host.copying import prepared_copies
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.bells import are_shared
from isoviz.backends.mpi.channels.cutting import pieces
from isoviz.backends.mpi.lanes.lane_ends import LaneAddress, LanePart, ReceivingLane, SendingLane
from isoviz.backends.mpi.lanes.other_process import MOST_PIECES, allow_tracing, check_reach, write_call
from isoviz.backends.mpi.stores import MappedStore
from isoviz.backends.pages import PAGE
from isoviz.errors import RunError
from isoviz.layouts.recurring import split_together
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.mpi.fencing import Fence
    from isoviz.backends.mpi.stores import Stores
    from isoviz.backends.mpi.windows import Windows
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.runtime.protocols import Store

PART = 1 << 20
"""Bytes between two looks at more urgent transfers and at a cancel."""
MOST_COPIES = 4096
"""Copies of a transfer at most: their tables are kept with the lane."""
LEAST_RUN = 64
"""Bytes of a run in pageable memory of another process: the system needs some ten nanoseconds for each run."""
_LINE = 64


class Lanes:
    """Makes the lanes of this rank."""

    def __init__(self, stores: Stores, windows: Windows, fence: Fence) -> None:
        self._stores, self._windows, self._fence = stores, windows, fence

    def receiving(self, store: Store, sender: int) -> ReceivingLane:
        """The end of a lane that writes to a store of this rank.

        Raises:
            RunError: there can be no lane between these two; the reason is in words.
        """
        if not are_shared():
            raise RunError("this system has no futexes")
        if not self._stores.shares_host(sender):
            raise RunError(f"rank {sender} cannot map memory of this rank")
        if not isinstance(store, HostStore) or isinstance(store, MappedStore):
            raise RunError("the destination is not in host memory")
        array = self._windows.array(PAGE)
        array[:] = 0
        page = self._stores.export(HostStore(array))
        handle = self._stores.export(store)
        self._stores.withdraw(page)  # the sender maps it; it asks for nothing by its number
        allow_tracing()
        address = LaneAddress(page, handle, os.getpid(), int(store.array.ctypes.data))
        return ReceivingLane(array, address, partial(self._stores.withdraw, handle))

    def sending(self, address: LaneAddress, source: Store, copies: Sequence[StridedCopy]) -> SendingLane:
        """The end of a lane that carries out copies from a store of this rank to the store behind an address.

        Raises:
            RunError: there can be no lane between these two; the reason is in words.
        """
        if not isinstance(source, HostStore):
            raise RunError("the source is not in host memory")
        if len(copies) > MOST_COPIES:
            raise RunError(f"it is {len(copies)} copies; lanes are for at most {MOST_COPIES}")
        page = self._stores.reach(address.page)
        if not isinstance(page, MappedStore):
            raise RunError("the page of the lane cannot be mapped")
        far = self._stores.reach(address.store)
        if isinstance(far, MappedStore):
            parts = _mapped_parts(copies, source, far)
        else:
            if not self._fence.can_end(address.store.rank):
                raise RunError(f"rank {address.store.rank} cannot be ended if it is lost")
            check_reach(address.process, address.address)
            parts = _written_parts(copies, source, address)
        return SendingLane(page.array, parts, (source, far, page))


def _parts_of(copies: Sequence[StridedCopy], unit: int) -> list[list[StridedCopy]]:
    nbytes = sum([copy.nbytes for copy in copies])
    return [part for part in split_together(copies, max(1, -(-nbytes // PART)), unit) if part]


def _mapped_parts(copies: Sequence[StridedCopy], source: HostStore, far: HostStore) -> list[LanePart]:
    """Copies between two stores that are mapped here."""
    found = []
    for part in _parts_of(copies, _LINE):
        moves = prepared_copies(part, source.array, far.array, large=source.is_large)
        found.append(LanePart(sum([copy.nbytes for copy in part]), moves))
    return found


def _written_parts(copies: Sequence[StridedCopy], source: HostStore, address: LaneAddress) -> list[LanePart]:
    """Copies into pageable memory of another process: what is not contiguous here is packed first."""
    low = min((copy.destination_offset for copy in copies), default=0)
    if low < 0 or any(_end(copy) > address.store.nbytes for copy in copies):
        raise RunError("a copy reaches outside the destination")
    room, taken = np.empty(0, np.uint8), threading.Lock()  # a channel may carry out several parts at a time
    found = []
    for part in itertools.chain.from_iterable(pieces(each, PART) for each in _parts_of(copies, 1)):
        if part.destination is not None:
            there = np.array([[part.destination, part.nbytes]])
        elif sum([copy.nbytes // copy.run for copy in part.unpack]) * LEAST_RUN > part.nbytes:
            raise RunError(f"its destination is pageable and written in runs of less than {format_bytes(LEAST_RUN)}")
        else:
            there = _runs(part.unpack)
        moves: list[Callable[[], object]] = []
        if part.source is not None:
            here = int(source.array.ctypes.data) + part.source
        else:
            if len(room) < part.nbytes:
                room = np.empty(PART + PAGE, np.uint8)
            moves += prepared_copies(part.pack, source.array, room)
            here = int(room.ctypes.data)
        at = 0
        for first in range(0, len(there), MOST_PIECES):
            some = there[first : first + MOST_PIECES]
            nbytes = int(some[:, 1].sum())
            moves.append(write_call(address.process, here + at, nbytes, some + np.array([address.address, 0])))
            at += nbytes
        found.append(LanePart(part.nbytes, (partial(_in_turn, moves, room, taken),)))
    return found


def _in_turn(moves: Sequence[Callable[[], object]], _room: Bytes, taken: threading.Lock) -> None:
    """Pack a part into the room that all parts share, and write it."""
    with taken:
        for move in moves:
            move()


def _end(copy: StridedCopy) -> int:
    return copy.destination_offset + copy.run + sum((extent - 1) * there for extent, _, there in copy.loops)


def _runs(unpack: Sequence[StridedCopy]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The runs at the destination in the order of a message, each with its offset and its length."""
    found = []
    for _, destination, run, loops in unpack:
        offsets = np.zeros(1, np.int64)
        for extent, _, there in loops:
            offsets = (offsets[:, None] + np.arange(extent) * there).reshape(-1)
        found.append(np.stack([offsets + destination, np.full(len(offsets), run)], axis=1))
    return np.concatenate(found)
