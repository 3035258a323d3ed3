"""Where the ranks of an engine meet: through pages of shared memory on one host, by messages between hosts.

A redistribution moves bytes between two meetings. On one host it takes a few milliseconds or less, so a meeting has to take
microseconds.
"""

from __future__ import annotations

import contextlib
import pickle
import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.mpi.lanes.page import IS_STRICT, fence
from isoviz.backends.mpi.thread.bells import give_way
from isoviz.backends.pages import PAGE
from isoviz.errors import Cancelled, IsovizError, RankError
from isoviz.runtime.engine.interrupts import defer_interrupts, handle_waiting_signal
from isoviz.runtime.ranks.mailbox import lost_rank

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Store
    from isoviz.runtime.ranks.handles import StoreHandle
    from isoviz.runtime.ranks.rank_engine import RankEngine

WINDOWS = "reg"
"""The short name of the memory whose stores the ranks of a host can map."""
ROOM = 4 * PAGE - 8
"""The most bytes of a value that goes through shared memory."""
_VALUES = PAGE
"""Where the two rooms for values begin: one for even turns, one for odd ones, each with the size of its value in front."""
_TURN, _LEFT, _OUT = 0, 1, 2
"""The words of a rank: its latest turn; who was interrupted, so that it comes to no further one, as 1 + rank, else 0; the turn in
which it has left a call: nothing of that call moves there any more."""
_WORDS = 8 * 3
_INTERRUPTED = "interrupted"
"""What a rank tells by messages that was interrupted."""
_EAGER = 50e-6
"""Seconds of waiting before the processor is left to others for a while."""
_SHORTEST, _LONGEST, _SHARE = 50e-6, 1e-3, 1 / 16
"""A nap in seconds, and its share of the time waited so far: a long wait costs little processor time, and ends not much later."""
_LOOK = 1e-2
"""Seconds between two looks whether a rank is lost."""


class Meeting:
    """Where the ranks of an engine wait for each other, and tell each other small values.

    All ranks make it together, and call its methods together. Every rank has pages that the others map: the number of its latest
    turn, and what it tells in that turn. It writes over a value two turns later. All ranks have come to the turn between by then,
    so each has read the value. If a rank cannot map all pages, all ranks use messages.

    What needs all ranks goes in a `with`. A rank that leaves it by Ctrl-C keeps no other rank waiting: what they have not all
    come to is cancelled.
    """

    def __init__(self, engine: RankEngine) -> None:
        self._engine = engine
        self._turn = 0
        self.is_over = False
        """Whether this rank was interrupted, or has raised that another one was: another meeting has to be made."""
        self._left = 0
        """1 + the rank that was interrupted, this one or another; 0 where none was."""
        self._pages: dict[int, memoryview] = {}
        self._flags: dict[int, memoryview] = {}
        self._close: Callable[[], None] | None = None
        store = None
        with contextlib.suppress(IsovizError):  # no room
            store = self._own()
        handles = engine.gather(None if store is None else self._exported(store))
        can_map = self._map(store, cast("list[StoreHandle | None]", handles))
        self._is_shared = all(engine.gather(can_map))

    def _own(self) -> HostStore | None:
        """The pages of this rank, in memory that the ranks of its host can map. They are not used for anything else later."""
        engine = self._engine
        for memory in engine.machine.memories:
            if memory.node == engine.rank and memory.short_name == WINDOWS:
                real = engine.devices.memory(memory)
                store = None if real is None else real.slot(_VALUES + 2 * (8 + ROOM))
                if isinstance(store, HostStore):
                    store.place(0)
                    store.array[:_WORDS] = np.zeros(_WORDS, np.uint8)
                    return store
        return None

    def _exported(self, store: HostStore) -> StoreHandle:
        handle = self._engine.devices.export(store)
        self._close = partial(self._engine.devices.withdraw, handle)
        return handle

    def _map(self, own: HostStore | None, handles: Sequence[StoreHandle | None]) -> bool:
        """Map the pages of all ranks, and return whether that worked."""
        for rank, each in enumerate(handles):
            with contextlib.suppress(IsovizError):
                reached: Store | None = own
                if rank != self._engine.rank:
                    reached = None if each is None else self._engine.devices.reach(each)
                if isinstance(reached, HostStore):
                    self._pages[rank] = memoryview(cast("Any", reached.array))
                    self._flags[rank] = self._pages[rank][:_WORDS].cast("q")
        return len(self._flags) == len(handles)

    def wait(self) -> None:
        """Wait until all ranks have come here. What they wrote to shared memory before can be read afterwards.

        Raises:
            RankLost: a rank no longer answers. Cancelled: a rank was interrupted. RankError: a rank has come to another call.
        """
        self.gather("wait", None)

    def gather(self, what: str, value: object, *, interruptible: bool = True) -> list[Any]:
        """The values of all ranks, on all ranks, as `RankEngine.gather` gives them. It is a `wait`, too.

        `what` is the name of what they tell: it finds ranks that have come to another call. It is not `interruptible` where the
        ranks that have not come yet may use the arrays of this one.

        Raises:
            RankLost: a rank no longer answers. Cancelled: a rank was interrupted. RankError: a rank has come to another call.
        """
        for rank, reason in self._engine.gone.items():
            raise lost_rank(rank, reason)
        if self.is_over:
            raise RankError("a rank was interrupted before: the redistribution has to be prepared anew")
        calls = cast("list[tuple[str, Any]]", self._exchanged((what, value), interruptible))
        for rank, (other, _) in enumerate(calls):
            if other == _INTERRUPTED:
                raise self._interrupted(rank)
            if other != what:
                mine = self._engine.rank
                raise RankError(f"redistribution: rank {rank} has come to {other!r}, rank {mine} to {what!r}", rank=rank)
        return [each for _, each in calls]

    @defer_interrupts()
    def _exchanged(self, value: object, interruptible: bool) -> list[Any]:
        if not self._is_shared:
            return self._engine.gather(value, interruptible=interruptible)
        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        size = len(packed)
        at = _VALUES + (self._turn & 1) * (8 + ROOM)
        mine = self._pages[self._engine.rank]
        _SIZE.pack_into(mine, at, size)
        if size <= ROOM:
            mine[at + 8 : at + 8 + size] = packed
        self._meet(interruptible)
        sizes = [(page, _SIZE.unpack_from(page, at)[0]) for _, page in sorted(self._pages.items())]
        if any(size > ROOM for _, size in sizes):
            return self._engine.gather(value, interruptible=interruptible)
        found = [page[at + 8 : at + 8 + size] for page, size in sizes]
        return [value if each == packed else pickle.loads(each) for each in found]  # noqa: S301  # our own

    def __enter__(self) -> None:
        pass

    @defer_interrupts()
    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """This rank leaves a call, or what it has prepared. After Ctrl-C it comes to no further meeting.

        When this returns, no other rank uses its arrays.
        """
        is_interrupted = kind is not None and not issubclass(kind, Exception) and not self.is_over
        if is_interrupted:
            self._end_by(self._engine.rank)
        if not self._is_shared:
            if is_interrupted:
                self._engine.leave((_INTERRUPTED, None))
        elif self._flags:
            mine = self._flags[self._engine.rank]
            mine[_LEFT], mine[_OUT] = self._left, self._turn
            if is_interrupted:
                fence()
                for rank, flag in self._flags.items():
                    self._await_leaving(rank, flag)

    def _await_leaving(self, rank: int, flag: memoryview) -> None:
        """Wait until a rank does nothing any more that it began after the latest turn of this rank.

        If it has yet to come to that turn, it will find that this rank has left.
        """
        began = time.perf_counter()
        while flag[_TURN] == self._turn and flag[_OUT] < self._turn and rank not in self._engine.gone:
            time.sleep(_nap(time.perf_counter() - began))

    def _end_by(self, rank: int) -> None:
        self.is_over, self._left = True, 1 + rank

    def _interrupted(self, rank: int) -> Cancelled:
        self._end_by(rank)
        return Cancelled(f"the redistribution was cancelled: rank {rank} was interrupted")

    def close(self) -> None:
        """End it on this rank. The others may still read what this rank has told last."""
        self.is_over = True
        self._pages.clear()
        self._flags.clear()
        close, self._close = self._close, None
        if close is not None:
            close()

    def _meet(self, interruptible: bool) -> None:
        self._turn += 1
        if not IS_STRICT:
            fence()
        self._flags[self._engine.rank][_TURN] = self._turn
        for flag in self._flags.values():
            if flag[_TURN] < self._turn:
                self._await(flag, interruptible)
        fence()
        self._require_all(interruptible)

    def _require_all(self, interruptible: bool) -> None:
        """Require that no rank has left: in this turn, or, where nobody leaves before its end, in an earlier one."""
        for flag in self._flags.values():
            if flag[_LEFT] and (interruptible or flag[_TURN] < self._turn):
                raise self._interrupted(flag[_LEFT] - 1)

    def _await(self, flag: memoryview, interruptible: bool) -> None:
        began = looked = time.perf_counter()
        while flag[_TURN] < self._turn:
            self._require_all(interruptible)
            if interruptible:
                handle_waiting_signal()
            now = time.perf_counter()
            if now - began < _EAGER:
                give_way()
                continue
            time.sleep(_nap(now - began))
            if now - looked > _LOOK:
                looked = now
                for lost, reason in self._engine.gone.items():
                    raise lost_rank(lost, reason)


def _nap(waited: float) -> float:
    """The seconds of the next nap of a wait."""
    return min(_LONGEST, max(_SHORTEST, _SHARE * waited))


_SIZE = struct.Struct("=q")
