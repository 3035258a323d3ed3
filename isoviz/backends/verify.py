"""Verification of a transfer: both ends are compared, by other means than the copy that moved the data.

Both are read as NumPy arrays of the same box (`isoviz.backends.boxes`), tile by tile within a memory budget. Bytes are compared
as integers, so NaNs and negative zeros must match exactly.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from isoviz.backends.boxes import Boxes, Ranges
from isoviz.errors import VerificationError
from isoviz.layouts import Linearization
from isoviz.layouts.given_arrays import Array
from isoviz.layouts.modes import Mode
from isoviz.planner import ListedTransfer
from isoviz.planner.bundled.bundle import Bundle
from isoviz.runtime.device_bases import BaseStore

if TYPE_CHECKING:
    from isoviz.layouts.layout import IntArray
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Plan, Transfer
    from isoviz.runtime.protocols import Bound, Check, Endpoint, RealChannel, RealMemory, Store


K = TypeVar("K")

BUDGET = 64 << 20
_BLOCK = 1 << 16  # bytes of both ends that are compared together: they stay in a cache, whatever their strides


class MemberStore(BaseStore):
    """Some bytes of a store, as a store."""

    def __init__(self, store: Store, first: int, nbytes: int) -> None:
        self._store, self._first, self.nbytes = store, first, nbytes
        self.reads_in_place = store.reads_in_place

    def read(self, offset: int, nbytes: int) -> Any:
        return self._store.read(self._first + offset, nbytes)


def verify(
    transfer: Transfer,
    source: Store,
    destination: Store,
    budget: int = BUDGET,
    check: Callable[[], None] | None = None,
    told: Callable[[int], None] | None = None,
) -> None:
    """Compare the data of a transfer bit for bit. `budget` limits the memory used, in bytes; `check` is called for
    every field of a tile and every MiB that is read, and may raise to stop. `told` takes the bytes of the transfer that were
    found equal so far.

    Raises:
        VerificationError: names the first index and field that differ.
        RunError: a store cannot be read.
    """
    if isinstance(transfer, Bundle):
        _verify_members(transfer, source, destination, budget, check, told)
        return
    equal, ends = 0, _ends(transfer, source, destination, budget, check)
    for tile in _tiles(transfer, [boxes.lin for boxes, _ in ends], budget):
        for field in transfer.field_names:
            if check is not None:
                check()
            a, b = (boxes.read(_moved(tile, at), field) for boxes, at in ends)
            if not _are_equal(a, b):
                raise _difference(transfer, tile, field, a, b)
            equal += a.nbytes
            if told is not None:
                told(equal)
        for boxes, _ in ends:
            boxes.forget()


def repeated(transfer: Transfer, source: Store, destination: Store, budget: int = BUDGET) -> Callable[[Callable[[], None]], None]:
    """`verify` of two stores that stay as they are but for their bytes, for calls again and again, each with its `check`."""
    whole = partial(verify, transfer, source, destination, budget)
    pairs = _views(transfer, source, destination, budget)
    if pairs is None:
        return whole

    def compare(check: Callable[[], None]) -> None:
        check()
        if any((a != b).any() for a, b in pairs):
            whole(check)  # it says what differs

    return compare


def _views(transfer: Transfer, source: Store, destination: Store, budget: int) -> list[tuple[Array, Array]] | None:
    """The bytes that have to be equal, as views of both stores; None if they are read otherwise, or in several tiles."""
    if isinstance(transfer, Bundle | ListedTransfer) or not source.reads_in_place or not destination.reads_in_place:
        return None
    ends = _ends(transfer, source, destination, budget, None)
    first, *others = _tiles(transfer, [boxes.lin for boxes, _ in ends], budget)
    if others:
        return None
    found = []
    for field in transfer.field_names:
        a, b = (boxes.read(_moved(first, at), field) for boxes, at in ends)
        if not all(np.may_share_memory(view, store.read(0, store.nbytes)) for view, store in ((a, source), (b, destination))):
            return None  # digits of a dimension that lie apart are joined in a copy
        found += [(a[block], b[block]) for block in _blocks(a, b)]
    return found


def _ends(
    transfer: Transfer, source: Store, destination: Store, budget: int, check: Callable[[], None] | None
) -> list[tuple[Boxes | ListedBoxes, dict[str, int]]]:
    """What reads both ends, each with the first coordinates of the transfer there."""
    ends: list[tuple[Boxes | ListedBoxes, dict[str, int]]] = []
    origins = transfer.source_origin, transfer.destination_origin
    lists = (transfer.entries, transfer.to) if isinstance(transfer, ListedTransfer) else (None, None)
    for store, instance, origin, found in zip((source, destination), transfer.as_they_lie, origins, lists, strict=True):
        start = dict(zip(instance.space.dims, origin, strict=True))
        whole = Boxes(store, instance.linearization, transfer.space.dims, check)
        if isinstance(transfer, ListedTransfer) and found is not None:
            ends.append((ListedBoxes(whole, transfer.dim, found.indices, budget), start))
        else:
            ends.append((whole, start))
    return ends


def _verify_members(
    bundle: Bundle,
    source: Store,
    destination: Store,
    budget: int,
    check: Callable[[], None] | None,
    told: Callable[[int], None] | None,
) -> None:
    """Compare the data of all members of a bundle; see `verify`. The error names the member."""
    for number, each in enumerate(bundle.placed):
        ends = zip((source, destination), each.starts, each.transfer.as_they_lie, strict=True)
        here, there = [MemberStore(store, first, instance.linearization.nbytes) for store, first, instance in ends]
        more = None if told is None else partial(_told, told, each.first)
        try:
            verify(each.transfer, here, there, budget, check, more)
        except VerificationError as error:
            raise VerificationError(f"bundle, transfer {number}: {error}") from None


def _told(told: Callable[[int], None], before: int, nbytes: int) -> None:
    told(before + nbytes)


class ListedBoxes:
    """Boxes of the entries that a list names along a dimension: entry `indices[k]` of an instance has coordinate k."""

    def __init__(self, boxes: Boxes, dim: str, indices: IntArray, budget: int) -> None:
        self.lin, self._boxes, self._dim, self._indices = boxes.lin, boxes, dim, indices
        # A box of a store that is read in place is a view; of other stores, what lies between the entries is read too.
        each = boxes.lin.nbytes // boxes.lin.space[dim]
        self._most = boxes.lin.space[dim] if boxes.in_place else max(1, budget // max(1, each))

    def read(self, ranges: Ranges, field: str) -> Array:
        """The elements of a box."""
        axis = self._boxes.dims.index(self._dim)
        wanted = self._indices[slice(*ranges[self._dim])]
        order = np.argsort(wanted, kind="stable")
        ordered, pieces, first = wanted[order], [], 0
        while first < len(ordered):
            low = int(ordered[first])
            end = int(np.searchsorted(ordered, low + self._most))
            piece = self._boxes.read({**ranges, self._dim: (low, int(ordered[end - 1]) + 1)}, field)
            pieces.append(np.take(piece, ordered[first:end] - low, axis))
            first = end
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return np.take(pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis), places, axis)

    def forget(self) -> None:
        """As `Boxes.forget`."""
        self._boxes.forget()


def _moved(tile: Ranges, by: dict[str, int]) -> Ranges:
    return {dim: (lo + by[dim], hi + by[dim]) for dim, (lo, hi) in tile.items()}


def _difference(transfer: Transfer, tile: Ranges, field: str, a: Array, b: Array) -> VerificationError:
    wrong = np.argwhere((a != b).any(axis=-1))
    index = {dim: int(i) + tile[dim][0] for dim, i in zip(transfer.space.dims, wrong[0], strict=True)}
    at = tuple(int(i) for i in wrong[0])
    return VerificationError(
        f"verification failed: field {field!r} at {', '.join(f'{dim}={i}' for dim, i in index.items()) or 'its only index'}"
        f" is {b[at].tobytes().hex()}, the source has {a[at].tobytes().hex()} (bytes in hexadecimal)"
    )


def _are_equal(a: Array, b: Array) -> bool:
    """Whether two arrays are equal. They are compared in blocks."""
    return not any((a[block] != b[block]).any() for block in _blocks(a, b))


def _blocks(a: Array, b: Array) -> Iterator[tuple[slice, ...]]:
    """Blocks of two arrays that are long in the memory order of both."""
    orders = [[(axis, a.shape[axis]) for axis in np.argsort(x.strides, kind="stable").tolist()] for x in (a, b)]
    lengths = _long_in(orders, max(1, _BLOCK // a.itemsize))
    steps = [range(0, size, lengths[axis]) for axis, size in enumerate(a.shape)]
    for corner in itertools.product(*steps):
        yield tuple([slice(at, at + lengths[axis]) for axis, at in enumerate(corner)])


def _tiles(transfer: Transfer, orders: Sequence[Linearization], budget: int) -> Iterator[Ranges]:
    """Tiles that fit the budget and are long in both storage orders, one after the other."""
    sizes = transfer.space.as_dict()
    # Two copies of the data, each with up to as many bytes between them, and a joined one of a field.
    entries = budget // (6 * max(lin.fields.nbytes for lin in orders))
    parts = [[part for part in lin.parts if isinstance(part, Mode)] for lin in orders]
    tile = _long_in(
        [[(part.dim, min(part.step * part.extent, sizes[part.dim])) for part in each] for each in parts], max(1, entries)
    )
    starts = [range(0, size, tile[dim]) for dim, size in sizes.items()]
    for corner in itertools.product(*starts):
        yield {dim: (at, min(at + tile[dim], sizes[dim])) for dim, at in zip(sizes, corner, strict=True)}


def _long_in(orders: Sequence[Sequence[tuple[K, int]]], most: int) -> dict[K, int]:
    """Lengths of a box of at most `most` elements. Each order doubles in turn the length that is the fastest in it and may grow.

    An order is a sequence of names, fastest first, with the lengths that they may have.
    """
    whole: dict[K, int] = {}
    for order in orders:
        for name, longest in order:
            whole[name] = max(longest, whole.get(name, 1))
    if math.prod(whole.values()) <= most:  # nothing stops a length from growing
        return whole
    length = dict.fromkeys(whole, 1)
    turns = itertools.cycle(orders)
    volume, idle = 1, 0
    while idle < len(orders):
        idle += 1
        for name, longest in next(turns):
            if length[name] >= longest:
                continue
            longer = min(2 * length[name], longest)
            if volume // length[name] * longer <= most:
                volume = volume // length[name] * longer
                length[name] = longer
                idle = 0
            break
    return length


# The base class of devices. It verifies transfers by reading both ends; derived classes provide the memories and
# channels.


class BaseDevices(ABC):
    """Devices (`isoviz.runtime.protocols.Devices`) that verify any stores.

    `verify_budget` limits the memory of a comparison, in bytes.
    """

    def __init__(self, verify_budget: int = BUDGET) -> None:
        self.verify_budget = verify_budget

    @abstractmethod
    def memory(self, memory: Memory) -> RealMemory | None: ...

    @abstractmethod
    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None: ...

    def absence(self, memory: Memory) -> str:  # noqa: ARG002  # a default
        """Nothing to add."""
        return ""

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        """Read both ends with `Store.read` and compare them."""
        verify(plan.transfer, source, destination, self.verify_budget, check)
