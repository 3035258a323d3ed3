"""Making the lanes of a rank: what its sender moves, in parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoviz.backends.host.copying import prepared_copies
from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.channels.cutting import by_source, filled, piece, pieces, reach
from isoviz.backends.mpi.lanes.lane_ends import LaneAddress, LanePart, ReceivingLane, SendingLane
from isoviz.backends.mpi.other_process import READ, WRITE, Runs, access_call, accesses, allow_tracing, check_reach, runs_at
from isoviz.backends.mpi.stores import MappedStore
from isoviz.backends.mpi.thread.bells import are_shared
from isoviz.backends.pages import PAGE
from isoviz.backends.verify import BUDGET, repeated, verify
from isoviz.errors import RunError
from isoviz.layouts.recurring import shifted, split_together
from isoviz.runtime.device_bases import BaseStore
from isoviz.runtime.ranks.rank_execution import FetchedStore
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from isoviz.backends.mpi.stores import Stores
    from isoviz.backends.mpi.windows import Windows
    from isoviz.backends.pages import Bytes
    from isoviz.layouts import StridedCopy
    from isoviz.planner import Plan
    from isoviz.runtime.protocols import Check, Store
    from isoviz.runtime.ranks.handles import StoreHandle

PART = 1 << 20
"""Bytes between two looks at more urgent transfers and at a cancel."""
MOST_COPIES = 4096
"""Copies of a transfer at most: their tables are kept with the lane."""
LEAST_RUN = 512
"""Bytes of a run in pageable memory of another process, on average. The system needs half a microsecond for each run, as long as
it needs for 3 KiB."""
LARGEST_SPAN = 4
"""Times the bytes of a part that are read at once, from its first byte to its last one, instead of short runs."""
LEAST_SHARED = 3
"""Parts of a transfer from which on both ranks move them."""
_LINE = 64


class Lanes:
    """Makes the lanes of this rank.

    `refusals` has the reason for each rank of this host whose memory this rank cannot write to by its address. `verify_budget`
    limits the memory of a comparison, in bytes.
    """

    def __init__(self, stores: Stores, windows: Windows, refusals: Mapping[int, str], verify_budget: int = BUDGET) -> None:
        self._verify_budget = verify_budget
        self._stores, self._windows, self._refusals = stores, windows, refusals

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
        handle = self._stores.export(store)
        if handle.pieces:
            self._stores.withdraw(handle)
            raise RunError("the arrays of the bundle lie in several windows")
        array = self._windows.array(PAGE)
        array[:] = 0
        page = self._stores.export(HostStore(array))
        self._stores.withdraw(page)  # the sender maps it; it asks for nothing by its number
        allow_tracing()
        return ReceivingLane(array, LaneAddress(page, handle), partial(self._stores.withdraw, handle))

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
        end = address.end
        far = self._stores.reach(end)
        parts = _parts_of(copies, is_mapped=isinstance(far, MappedStore))
        if isinstance(far, MappedStore):
            moves = _mapped(parts, source, far)
        else:
            if refusal := self._refusals.get(end.rank):
                raise RunError(refusal)
            check_reach(end.process, end.address)
            moves = _written(parts, source, end)
        handle = self._stores.export(source)
        allow_tracing()
        kept = source, far, page
        return SendingLane(page.array, moves, handle, kept, partial(self._stores.withdraw, handle))

    def share(self, lane: ReceivingLane, store: Store, address: StoreHandle, copies: Sequence[StridedCopy]) -> None:
        """Let the rank of the destination move parts as well, from the source behind an address, if there are several parts.

        Raises:
            RunError: it cannot reach them; the reason is in words.
        """
        assert isinstance(store, HostStore)
        parts = _parts_of(copies, is_mapped=lane.address.end.window is not None)
        if len(parts) < LEAST_SHARED:
            return
        far = self._stores.reach(address)
        if address.pieces:
            raise RunError("the arrays of the bundle lie in several windows")
        if isinstance(far, MappedStore):
            lane.share(_mapped(parts, far, store), far)
        else:
            check_reach(address.process, address.address)
            lane.share(_read(parts, store, address), far)

    def comparison(self, plan: Plan, address: StoreHandle, destination: HostStore) -> Callable[[Check], None]:
        """What compares a destination of this rank with the source behind an address, as both are when it is called.

        A small source in pageable memory is read into memory of this process. A larger one is read piece by piece.

        Raises:
            RunError: it cannot be mapped although it lies in a window of this host.
        """
        transfer, budget = plan.transfer, self._verify_budget
        far = self._stores.reach(address)
        if isinstance(far, MappedStore):
            return repeated(transfer, far, destination, budget)
        with suppress(RunError):  # it is asked for by messages
            check_reach(address.process, address.address)
            if address.nbytes <= PART:
                room = np.empty(address.nbytes, np.uint8)
                fetch = _reading(address, 0, room)
                fetch()
                return partial(_after, fetch, repeated(transfer, HostStore(room), destination, budget))
            far = _FarMemory(address)

        def compare(check: Check) -> None:
            verify(transfer, FetchedStore(far, transfer), destination, budget, check)

        return compare


class _FarMemory(BaseStore):
    """Memory of another process of this host, to read."""

    def __init__(self, handle: StoreHandle) -> None:
        self.nbytes, self._handle = handle.nbytes, handle

    def read(self, offset: int, nbytes: int) -> Bytes:
        found = np.empty(nbytes, np.uint8)
        _reading(self._handle, offset, found)()
        return found


def _reading(end: StoreHandle, offset: int, room: Bytes) -> Callable[[], None]:
    """The call that reads bytes of a store of another process into an array."""
    return access_call(READ, end.process, room.ctypes.data, len(room), np.array([[end.address + offset, len(room)]]))


def _after(first: Callable[[], None], compare: Callable[[Check], None], check: Check) -> None:
    first()
    compare(check)


def _parts_of(copies: Sequence[StridedCopy], *, is_mapped: bool) -> list[Sequence[StridedCopy]]:
    """The copies of each part. Both ranks cut them alike: it matters whether the destination is mapped."""
    nbytes = sum([copy.nbytes for copy in copies])
    parts = split_together(copies, max(1, -(-nbytes // PART)), _LINE if is_mapped else 1)
    if is_mapped:
        return [part for part in parts if part]
    return [each.copies for part in parts for each in pieces(part, 2 * PART)]  # parts of several fields are not alike


def _mapped(parts: Iterable[Sequence[StridedCopy]], source: HostStore, destination: HostStore) -> list[LanePart]:
    """The moves of parts between two stores that are mapped here."""
    return [
        LanePart(_size(part), prepared_copies(part, source.array, destination.array, large=source.is_large), len(part))
        for part in parts
    ]


def _written(parts: Iterable[Sequence[StridedCopy]], source: HostStore, end: StoreHandle) -> list[LanePart]:
    """The moves of parts into pageable memory of another process: what is not contiguous here is packed first."""
    room, found = _Room(), []
    for copies in parts:
        each = piece(copies)
        if each.destination is None:
            each = filled(copies) or each
        there = runs_at(each.destination, each.unpack, False, end)
        _require_long(there, each.nbytes, "destination is pageable and written")
        if each.source is not None:
            moves = accesses(WRITE, end, int(source.array.ctypes.data) + each.source, there)
        else:
            at, array = room.of(each.nbytes)
            moves = [*prepared_copies(each.pack, source.array, array), *accesses(WRITE, end, at, there)]
        found.append(LanePart(each.nbytes, tuple(moves) if each.source is not None else (partial(_in_turn, moves, room),)))
    return found


def _read(parts: Iterable[Sequence[StridedCopy]], destination: HostStore, end: StoreHandle) -> list[LanePart]:
    """The moves of parts out of pageable memory of another process: what is not contiguous here is unpacked afterwards.

    Short runs that lie close together are read with what lies between them, and picked out here.
    """
    room, found = _Room(), []
    for copies in parts:
        each = piece(by_source(copies))
        first, behind = _reach_of_source(copies)
        runs = runs_at(each.source, each.pack, True, end)
        is_span = _are_short(runs, each.nbytes, 2 * LEAST_RUN) and behind - first <= LARGEST_SPAN * each.nbytes
        if is_span:
            at, array = room.of(behind - first)
            picked = shifted(list(copies), -first, 0)
            there = np.array([[end.address + first, behind - first]])
            moves = [*accesses(READ, end, at, there), *prepared_copies(picked, array, destination.array)]
        else:
            _require_long(runs, each.nbytes, "source is pageable and read")
            if each.destination is not None:
                moves = accesses(READ, end, int(destination.array.ctypes.data) + each.destination, runs)
            else:
                at, array = room.of(each.nbytes)
                moves = [*accesses(READ, end, at, runs), *prepared_copies(each.unpack, array, destination.array)]
        is_direct = each.destination is not None and not is_span
        found.append(LanePart(each.nbytes, tuple(moves) if is_direct else (partial(_in_turn, moves, room),)))
    return found


def _reach_of_source(copies: Sequence[StridedCopy]) -> tuple[int, int]:
    """The first byte and the end of the bytes that copies read."""
    return reach([copy.reversed() for copy in copies])


class _Room:
    """Where the parts of a lane are packed. A channel may carry out several parts at a time: each holds `taken` meanwhile."""

    def __init__(self) -> None:
        self.taken = threading.Lock()
        self._array = np.empty(0, np.uint8)

    def of(self, nbytes: int) -> tuple[int, Bytes]:
        """The address of the room, and the room. It never moves: calls that are prepared keep its address."""
        if not len(self._array):
            self._array = np.empty(LARGEST_SPAN * PART + PAGE, np.uint8)
        assert nbytes <= len(self._array)
        return int(self._array.ctypes.data), self._array


def _in_turn(moves: Sequence[Callable[[], object]], room: _Room) -> None:
    """Carry out the moves of a part."""
    with room.taken:
        for move in moves:
            move()


def _are_short(runs: Runs, nbytes: int, least: int) -> bool:
    """Whether several runs of some bytes together are shorter than `least` on average."""
    return len(runs) > 1 and len(runs) * least > nbytes


def _require_long(runs: Runs, nbytes: int, where: str) -> None:
    if _are_short(runs, nbytes, LEAST_RUN):
        raise RunError(f"its {where} in runs of less than {format_bytes(LEAST_RUN)}")


def _size(copies: Sequence[StridedCopy]) -> int:
    return sum([copy.nbytes for copy in copies])
