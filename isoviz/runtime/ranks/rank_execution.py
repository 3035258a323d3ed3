"""A running transfer on one rank: its own ends and buffers, and those of other ranks that its hops write."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.planner.bundled.bundle import Bundle
from isoviz.runtime.device_bases import BaseStore
from isoviz.runtime.engine.device_errors import tidied
from isoviz.runtime.engine.execution import Execution

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy
    from isoviz.planner import Instance, Transfer
    from isoviz.planner.bundled.bundle import BundleEnd
    from isoviz.runtime.protocols import Slot, Store
    from isoviz.runtime.ranks.handles import RankDevices, StoreHandle
    from isoviz.runtime.ranks.messages import Digest
    from isoviz.scheduling.work import Issue, Stimulus

BLOCK = 1 << 20
"""Bytes of a block."""
KEPT = 64
"""Blocks that are kept. Verification reads tile by tile, so that a block is used by few neighbouring tiles."""

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def _as_reached(lies: Instance | None, store: Store, end: Instance) -> Instance | None:
    """How an end of another rank lies in the store through which it is reached: the arrays of a bundle may be elsewhere there."""
    starts: tuple[int, ...] | None = getattr(store, "starts", None)
    if starts is None:
        return lies
    members = () if lies is None else cast("BundleEnd", lies).members
    return replace(cast("BundleEnd", end), starts=starts, members=members)


class FetchedStore(BaseStore):
    """A store that is read from another rank in blocks, the last of them kept. It is for one thread. `close` closes the store.

    `transfer` is what is read: of the source of a bundle no byte exists but those of its members.
    """

    def __init__(self, store: Store, transfer: Transfer) -> None:
        self._store = store
        self.nbytes = store.nbytes
        self._blocks: OrderedDict[tuple[int, int], Bytes] = OrderedDict()
        self._stretches = transfer.stretches(0) if isinstance(transfer, Bundle) else [(0, store.nbytes)]

    def read(self, offset: int, nbytes: int) -> Bytes:
        place = bisect_right(self._stretches, (offset, self.nbytes)) - 1
        inside = offset - self._stretches[place][0]
        first, last = inside // BLOCK, max(inside, inside + nbytes - 1) // BLOCK
        if first == last:
            at = inside - first * BLOCK
            return self._block(place, first)[at : at + nbytes]
        found = np.empty(nbytes, np.uint8)
        done = 0
        for number in range(first, last + 1):
            at = inside + done - number * BLOCK
            piece = self._block(place, number)[at : at + nbytes - done]
            found[done : done + piece.size] = piece
            done += piece.size
        return found

    def _block(self, place: int, number: int) -> Bytes:
        found = self._blocks.get((place, number))
        if found is None:
            first, end = self._stretches[place]
            begin = first + number * BLOCK
            read = self._store.read(begin, min(BLOCK, end - begin))
            found = self._blocks[place, number] = read if isinstance(read, np.ndarray) else np.frombuffer(read, np.uint8)
            if len(self._blocks) > KEPT:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end((place, number))
        return found

    def close(self) -> None:
        self._blocks.clear()
        self._store.close()


class RankExecution(Execution):
    """The part of a transfer that one rank carries out; see `Execution`.

    - `rank`: the rank.
    - `devices`: its devices, which export its stores and reach those of other ranks.
    """

    small_request = 256 << 10
    """Bytes. In a rank, another thread that works also holds up the one that calls MPI."""

    def __init__(self, rank: int, devices: RankDevices, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.rank = rank
        self._devices = devices
        self._far: dict[int, Sequence[Store]] = {}
        self._exported: dict[int, tuple[StoreHandle, ...]] = {}
        self._reached = ExitStack()
        self.is_offered = False
        """Whether the source was offered to the rank that verifies."""
        self.is_eager = self.is_durable = False
        """Whether its bytes are sent inside the message, and whether its destination is a file."""
        self.verdict: Stimulus | None = None
        """What the other rank of a direct transfer said while the stores here were being opened."""
        self.digest: Digest | None = None
        """What the ranks of the transfer have to agree on; None if it has one rank."""
        ranks = [rank for path in self.work.paths for rank in path.ranks]
        self.own_hops = [hop for hop, owner in enumerate(ranks) if owner == rank]
        self.sender = self.work.paths[0].ranks[0]
        receiver = self.work.paths[0].receiver
        self.receiver = self.work.paths[0].ranks[-1] if receiver is None else receiver
        self._last_own = set({self._hops[hop].number: hop for hop in self.own_hops}.values())
        """The last hop of each path that this rank carries out."""

    # ---- stores of this rank for others

    def exports(self, hop: int) -> tuple[StoreHandle, ...]:
        """The stores here that a hop of another rank writes: the slots of its ring, or the destination.

        They are exported at the first call; a later call returns nothing.
        """
        if hop in self._exported:
            return ()
        at = self._hops[hop]
        stores: Sequence[Store] = [self.destination] if at.is_last else self._rings[at.ring]
        found = self._exported[hop] = tuple([self._devices.export(store) for store in stores])
        stack = self.stack if at.is_last else self._slots
        for handle in found:
            stack.callback(partial(self._devices.withdraw, handle))
        return found

    def offered(self) -> StoreHandle:
        """The source, exported for the rank that verifies."""
        self.is_offered = True
        handle = self._devices.export(self.source)
        self.stack.callback(partial(self._devices.withdraw, handle))
        return handle

    # ---- stores of other ranks

    def provide(self, hop: int, handles: Sequence[StoreHandle], lies: Instance | None) -> None:
        """Another rank provides the stores that a hop here writes. `lies` is that of the destination on that rank.

        Only the last hop writes there. The arrays of a bundle lie in the store that it reaches as they do not on their own rank.
        """
        if hop not in self._far:
            if self.channels[hop].names_places:
                handles = [handle._replace(pieces=()) for handle in handles]
            stores = [self._devices.reach(handle) for handle in handles]
            for store in stores:
                self._reached.callback(store.close)
            if self._hops[hop].is_last:
                self.lie(destination=_as_reached(lies, stores[0], self.plan.transfer.destination))
            self._far[hop] = stores

    def far_source(self, handle: StoreHandle, lies: Instance | None) -> Store:
        """The source on the rank that offers it, and says how it lies, for verification."""
        store = self._devices.reach(handle)
        self.lie(_as_reached(lies, store, self.plan.transfer.source))
        found = store if store.reads_in_place else FetchedStore(store, self.lying.transfer)
        self._reached.callback(found.close)
        return found

    def _destination(self, hop: int, chunk: int) -> Store:
        far = self._far.get(hop)
        return super()._destination(hop, chunk) if far is None else far[chunk % len(far)]

    def _place(self, hop: int, number: int, copies: Sequence[StridedCopy]) -> None:
        """Place the slot that a hop writes a chunk to; a slot of another rank begins at its page boundary."""
        far = self._far.get(hop)
        if far is None:
            super()._place(hop, number, copies)
        elif self.prepared.cleared[self._hops[hop].ring]:
            slot: Slot = far[number % len(far)]  # type: ignore[assignment]  # a ring holds slots
            slot.clear()

    @property
    def known_hops(self) -> Sequence[int]:
        """The hops of this rank. A hop into a ring of another rank waits for its slots."""
        return [hop for hop in self.own_hops if self._hops[hop].is_last or hop + 1 in self.own_hops]

    # ---- end

    @property
    def is_scheduled(self) -> bool:
        return not self.is_eager

    @property
    def ends_at_once(self) -> bool:
        """Without files, and without memory to free but the caller's, nothing takes long."""
        ends = zip((self.sender, self.receiver), self.given, strict=True)
        is_given = all(given is not None for rank, given in ends if rank == self.rank)
        return self.is_eager or (not self.work.rings and not self.is_durable and is_given)

    def finished(self, issue: Issue) -> None:
        super().finished(issue)
        if issue.hop in self._last_own and not self._hops[issue.hop].is_last:
            with self._lock:
                key = self._hops[issue.hop].number, issue.chunk
                if (issue.hop, issue.chunk) not in self._left:
                    self._chunks.pop(key, None)
                    self._payloads.pop(key, None)

    def release(self) -> Exception | None:
        found = super().release()
        self._far.clear()
        return found

    def close(self) -> Exception | None:
        return tidied(self._reached.close) or super().close()
