"""Admission: it decides when a transfer gets its buffers.

A transfer gets all of its buffers at once, in one order for all memories (Isometry, section 3.6). A waiting transfer keeps its
place in every memory that it waits for. A transfer that comes later or has a lower priority, and needs bytes of one of these
memories, waits behind it, even if its own bytes would fit. So small transfers do not starve large ones. No transfer waits while
it holds buffers, so there is no deadlock.

One process can hold the admission for schedulers in several processes (`isoviz.scheduling.coordinator`), because the
admission knows transfers only by their numbers.
"""

from __future__ import annotations

import itertools
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_Place = tuple[int, int, int]
"""(−priority, number of its arrival, the transfer)."""


class Admission:
    """The transfers that wait for buffers or hold buffers.

    `capacity` bounds the bytes of each memory. A memory that is not named is unbounded.
    """

    def __init__(self, capacity: Mapping[str, int]) -> None:
        self.capacity = dict(capacity)
        self._free = dict(capacity)
        self._queues: dict[tuple[str, ...], list[_Place]] = {}
        self._needs: dict[int, dict[str, int]] = {}  # bytes, in bounded memories only
        self._priority: dict[int, int] = {}
        self._waits: dict[int, int] = {}  # by transfer: the number of its arrival
        self._holders: dict[str, set[int]] = {name: set() for name in capacity}
        self._lent: dict[str, int | None] = {}
        self._arrivals = itertools.count()

    def __len__(self) -> int:
        """The number of transfers that wait."""
        return len(self._waits)

    @property
    def is_idle(self) -> bool:
        """Whether no transfer waits or holds buffers."""
        return not self._needs

    @property
    def is_settled(self) -> bool:
        """Whether no transfer waits and none has a lent priority: `granted` and `revalued` yield nothing."""
        return not self._waits and not self._lent

    def free(self, memory: str) -> int | None:
        """Free bytes of a memory; None if it is unbounded."""
        return self._free.get(memory)

    def at_once(self, transfer: int, needs: Mapping[str, int], priority: int) -> bool:
        """Grant a transfer its buffers if all of them are in unbounded memories. Returns whether that is so.

        Such a transfer waits for no other one, and no other one waits for it.
        """
        if needs and any(nbytes and memory in self.capacity for memory, nbytes in needs.items()):
            return False
        self._needs[transfer], self._priority[transfer] = {}, priority
        return True

    def request(self, transfer: int, needs: Mapping[str, int], priority: int) -> None:
        """Request `needs` bytes of each memory for a transfer. `granted` yields the transfer when it has them."""
        bounded = {memory: nbytes for memory, nbytes in sorted(needs.items()) if memory in self.capacity and nbytes}
        arrival = next(self._arrivals)
        self._needs[transfer], self._priority[transfer], self._waits[transfer] = bounded, priority, arrival
        heappush(self._queues.setdefault(tuple(bounded), []), (-priority, arrival, transfer))

    def withdraw(self, transfer: int) -> None:
        """Remove a transfer that waits."""
        del self._waits[transfer], self._needs[transfer], self._priority[transfer]

    def release(self, transfer: int) -> None:
        """Free the buffers of a transfer."""
        for memory, nbytes in self._needs.pop(transfer).items():
            self._free[memory] += nbytes
            self._holders[memory].discard(transfer)
        del self._priority[transfer]

    def granted(self) -> Iterator[int]:
        """Grant buffers, and yield the transfers that have just got theirs."""
        passed: set[str] = set()
        heads = [(head, memories) for memories in list(self._queues) if (head := self._head(memories)) is not None]
        heapify(heads)
        while heads:
            (_, _, transfer), memories = heappop(heads)
            needs = self._needs[transfer]
            if passed.isdisjoint(memories) and all(nbytes <= self._free[memory] for memory, nbytes in needs.items()):
                heappop(self._queues[memories])
                del self._waits[transfer]
                for memory, nbytes in needs.items():
                    self._free[memory] -= nbytes
                    self._holders[memory].add(transfer)
                following = self._head(memories)
                if following is not None:
                    heappush(heads, (following, memories))
                yield transfer
            else:
                passed.update(memories)

    # ---- lent priorities

    def revalued(self) -> Iterator[tuple[int, int]]:
        """The transfers whose priority may have changed, each with its current priority.

        They hold buffers in memories where the highest waiting priority has changed since the last call. The priority of a holder
        is its own, or the highest that waits for one of its memories.
        """
        if not self._waits and not self._lent:
            return
        now: dict[str, int | None] = {}
        for memories in list(self._queues):
            head = self._head(memories)
            if head is not None:
                for memory in memories:
                    known = now.get(memory)
                    now[memory] = -head[0] if known is None else max(known, -head[0])
        changed = [memory for memory in (now | self._lent) if now.get(memory) != self._lent.get(memory)]
        self._lent = now
        found = set().union(*(self._holders[memory] for memory in changed))
        for transfer in sorted(found):
            lent = [priority for memory in self._needs[transfer] if (priority := now.get(memory)) is not None]
            yield transfer, max([self._priority[transfer], *lent])

    def _head(self, memories: tuple[str, ...]) -> _Place | None:
        """The next waiting transfer among those that need exactly these memories."""
        queue = self._queues[memories]
        while queue and self._waits.get(queue[0][2]) != queue[0][1]:
            heappop(queue)
        if not queue:
            del self._queues[memories]
            return None
        return queue[0]
