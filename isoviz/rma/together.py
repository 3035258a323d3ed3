"""Calls that all ranks make together, and the heaps of a world by their numbers, which are the same on all ranks."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from isoviz.errors import Cancelled, EngineClosed, RankError
from isoviz.launch.this_rank import current_rank
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.backends.mpi.world import World


class Member(Protocol):
    """A heap, as its world sees it."""

    @property
    def is_over(self) -> bool: ...

    def end(self, error: Exception) -> None: ...

    def lose(self, rank: int, error: Exception) -> None: ...


class Left(NamedTuple):
    """What a rank tells that does not come: the heap that it has left, and the error that it left with."""

    number: int
    reason: str


class Together:
    """The calls that the ranks of a world make together, and its heaps."""

    def __init__(self, world: World) -> None:
        self._world = weakref.ref(world)
        self._meeting, self._lost = world.meeting, world.transport.lost
        self._heaps: weakref.WeakValueDictionary[int, Member] = weakref.WeakValueDictionary()
        self._count = 0
        world.when_closed.append(self._closed)
        world.transport.when_lost(self._lose)

    @property
    def next(self) -> int:
        """A number that no heap of this rank has. The greatest one of all ranks is the number of the next heap."""
        return self._count + 1

    def add(self, number: int, heap: Member) -> None:
        """Let a heap hear of lost ranks, also of those that are lost already, and of the end of the world."""
        self._count = number
        self._heaps[number] = heap
        for rank, reason in list(self._lost.items()):
            heap.lose(rank, lost_rank(rank, reason))

    def meet(self, value: Any, words: str) -> list[Any]:
        """Meet with all ranks, which call the same: `words` are compared. Returns the value of each.

        Raises:
            RankLost: a rank is lost. RankError: a rank calls something else, or has left a heap with an error. That heap has
            ended here then. Cancelled: the call of `isoviz.ranks` that this is a part of was cancelled.
        """
        while True:
            told = self._meeting.gather((value, words), _check)
            left = [(rank, each) for rank, each in enumerate(told) if isinstance(each, Left)]
            for rank, each in left:
                heap = self._heaps.get(each.number)
                if heap is not None and not heap.is_over:
                    error = RankError(f"rank {rank} left a heap with {each.reason}", rank=rank)
                    heap.end(error)
                    raise error
            if not left:
                break  # else: it left a heap that is over here, too; all ranks meet again
        for rank, (_, other) in enumerate(told):
            if other != words:
                raise RankError(f"the ranks do not call the same: {words} here, {other} on rank {rank}", rank=rank)
        return [each for each, _ in told]

    def leave(self, number: int, reason: str) -> None:
        """Tell the other ranks in place of the next meeting that this one has left a heap with an error."""
        self._meeting.leave(Left(number, reason))

    def forget(self, error: Exception) -> None:
        """End all heaps with an error."""
        for heap in self._alive():
            heap.end(error)

    def _alive(self) -> list[Member]:
        # The references are copied at once; other threads may make heaps meanwhile.
        return [heap for each in self._heaps.valuerefs() if (heap := each()) is not None]

    def _lose(self, rank: int, reason: str) -> None:
        for heap in self._alive():
            heap.lose(rank, lost_rank(rank, reason))

    def _closed(self) -> None:
        self.forget(EngineClosed("this rank has left the others, and its heaps have ended"))


def _check() -> None:
    here = current_rank()
    if here is not None and here.cancel.is_set():
        raise Cancelled("cancelled while it waited for other ranks")
