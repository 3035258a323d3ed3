"""Who gets buffers when: all of a transfer's at once, in one order for all memories (Isometry, section 3.6).

A transfer that nobody serves yet keeps its place: whoever comes later, or has a lower priority, and wants bytes of a memory that
it waits for, waits behind it, even where his own few bytes would fit. So large transfers are not starved by small ones, and since
nobody waits while holding some, somebody always ends.
"""

from __future__ import annotations

import itertools
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoviz.runtime.scheduling.pool import TransferState

_Place = tuple[int, int, "TransferState"]
"""(−priority, number of its arrival, the transfer)."""


class Waiting:
    """The transfers that wait for buffers, and those that hold some. `capacity` bounds the bytes of each memory; a memory that is
    not named has no bound."""

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self.capacity = dict(capacity)
        self.held_bytes = 0
        self._free = dict(capacity)
        self._queues: dict[tuple[str, ...], list[_Place]] = {}
        self._needs: dict[TransferState, dict[str, int]] = {}  # of bounded memories
        self._bytes: dict[TransferState, int] = {}  # of all memories
        self._waits: set[TransferState] = set()
        self._holders: dict[str, set[TransferState]] = {name: set() for name in capacity}
        self._lent: dict[str, int | None] = {}
        self._arrivals = itertools.count()

    def __len__(self) -> int:
        return len(self._waits)

    def add(self, transfer: TransferState, needs: Mapping[str, int]) -> None:
        """A transfer wants so many bytes of each memory."""
        bounded = {memory: nbytes for memory, nbytes in sorted(needs.items()) if memory in self.capacity and nbytes}
        self._needs[transfer] = bounded
        self._bytes[transfer] = sum(needs.values())
        self._waits.add(transfer)
        queue = self._queues.setdefault(tuple(bounded), [])
        heappush(queue, (-transfer.work.priority, next(self._arrivals), transfer))

    def withdraw(self, transfer: TransferState) -> None:
        """A transfer no longer waits."""
        self._waits.discard(transfer)
        del self._needs[transfer], self._bytes[transfer]

    def served(self) -> Iterator[TransferState]:
        """The transfers that have their buffers from now on."""
        passed: set[str] = set()
        heads = [(head, memories) for memories in list(self._queues) if (head := self._head(memories)) is not None]
        heapify(heads)
        while heads:
            (_, _, transfer), memories = heappop(heads)
            needs = self._needs[transfer]
            if passed.isdisjoint(memories) and all(nbytes <= self._free[memory] for memory, nbytes in needs.items()):
                heappop(self._queues[memories])
                self._waits.discard(transfer)
                for memory, nbytes in needs.items():
                    self._free[memory] -= nbytes
                    self._holders[memory].add(transfer)
                self.held_bytes += self._bytes[transfer]
                following = self._head(memories)
                if following is not None:
                    heappush(heads, (following, memories))
                yield transfer
            else:
                passed.update(memories)

    def give_back(self, transfer: TransferState) -> None:
        """A transfer needs its buffers no more."""
        for memory, nbytes in self._needs.pop(transfer).items():
            self._free[memory] += nbytes
            self._holders[memory].discard(transfer)
        self.held_bytes -= self._bytes.pop(transfer)

    # ---- lent priorities

    def priority_of(self, transfer: TransferState) -> int:
        """The priority of a transfer that holds buffers: its own, or the highest that waits for one of its memories."""
        lent = [self._lent.get(memory) for memory in self._needs[transfer]]
        return max([transfer.work.priority, *(priority for priority in lent if priority is not None)])

    def revalued(self) -> list[TransferState]:
        """The holders of memories for which another priority waits than when this was last asked."""
        if not self._waits and not self._lent:
            return []
        now: dict[str, int | None] = {}
        for memories in list(self._queues):
            head = self._head(memories)
            if head is not None:
                for memory in memories:
                    known = now.get(memory)
                    now[memory] = -head[0] if known is None else max(known, -head[0])
        changed = [memory for memory in {*now, *self._lent} if now.get(memory) != self._lent.get(memory)]
        self._lent = now
        found = set().union(*(self._holders[memory] for memory in changed))
        return sorted(found, key=lambda transfer: transfer.number)

    def _head(self, memories: tuple[str, ...]) -> _Place | None:
        """Who is next among those who want bytes of just these memories."""
        queue = self._queues[memories]
        while queue and queue[0][2] not in self._waits:
            heappop(queue)
        if not queue:
            del self._queues[memories]
            return None
        return queue[0]
