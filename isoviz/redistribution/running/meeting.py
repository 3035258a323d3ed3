"""Where ranks wait for each other: flags in shared memory on one host, messages between hosts.

A redistribution moves bytes between two meetings. On one host it takes a few milliseconds, so the meetings must not take one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.pages import PAGE
from isoviz.errors import IsovizError, RankLost

if TYPE_CHECKING:
    from isoviz.runtime.protocols import Store
    from isoviz.runtime.ranks.handles import StoreHandle
    from isoviz.runtime.ranks.rank_engine import RankEngine

WINDOWS = "reg"
"""The short name of the memory whose stores the ranks of a host can map."""
_EAGER = 50e-6
"""Seconds of waiting before the processor is left to others for a while."""
_SHORTEST, _LONGEST, _SHARE = 50e-6, 1e-3, 1 / 16
"""A nap in seconds, and its share of the time waited so far: a long wait costs little processor time, and ends not much later."""
_LOOK = 1e-2
"""Seconds between two looks whether a rank is lost."""


class Meeting:
    """Where the ranks of an engine wait for each other.

    All ranks make it: each hands `handle` to the others and their handles to `reach`, which says whether it can map all flags. If
    all can, `share(True)`, else `share(False)`. Then all call `wait` together. `close` ends it.
    """

    def __init__(self, engine: RankEngine) -> None:
        self._engine = engine
        self._stack = ExitStack()
        self._turn = 0
        self._flags: dict[int, memoryview] = {}
        self._is_shared = False
        self.handle: StoreHandle | None = None
        """The flag of this rank for the others; None if they cannot map it."""
        self._store = self._own()
        if self._store is not None:
            self.handle = engine.far.export(self._store)
            self._stack.callback(partial(engine.far.withdraw, self.handle))

    def reach(self, handles: Sequence[StoreHandle | None]) -> bool:
        """Map the flags of all ranks, and return whether that worked."""
        for rank, each in enumerate(handles):
            with contextlib.suppress(IsovizError):
                mine = rank == self._engine.rank
                reached: Store | None = self._store if mine else None if each is None else self._engine.far.reach(each)
                if reached is not None and not mine:
                    self._stack.callback(reached.close)
                if isinstance(reached, HostStore):
                    self._flags[rank] = memoryview(cast("Any", reached.array[:8])).cast("q")
        return len(self._flags) == len(handles)

    def share(self, all_can: bool) -> None:
        """Use the flags, or messages."""
        self._is_shared = all_can

    def _own(self) -> HostStore | None:
        """The flag of this rank, in memory that the ranks of its host can map."""
        engine = self._engine
        for memory in engine.machine.memories:
            if memory.node == engine.rank and memory.short_name == WINDOWS:
                real = engine.devices.memory(memory)
                store = None if real is None else real.slot(PAGE)
                if store is not None:
                    self._stack.callback(store.close)
                if isinstance(store, HostStore):
                    store.place(0)
                    store.array[:8] = np.zeros(8, np.uint8)
                    return store
        return None

    def wait(self) -> None:
        """Wait until all ranks have come here. What they wrote to shared memory before can be read afterwards.

        Raises:
            RankLost: a rank no longer answers.
        """
        if not self._is_shared:
            self._engine.barrier()
            return
        self._turn += 1
        self._flags[self._engine.rank][0] = self._turn
        for flag in self._flags.values():
            if flag[0] < self._turn:
                self._await(flag)

    def _await(self, flag: memoryview) -> None:
        began = looked = time.perf_counter()
        while flag[0] < self._turn:
            now = time.perf_counter()
            if now - began < _EAGER:
                _yield()
                continue
            time.sleep(min(_LONGEST, max(_SHORTEST, _SHARE * (now - began))))
            if now - looked > _LOOK:
                looked = now
                for lost, reason in self._engine.gone.items():
                    raise RankLost(f"rank {lost} no longer answers: {reason}", rank=lost)

    def close(self) -> None:
        """End it on this rank."""
        self._flags.clear()
        self._stack.close()


_yield: Callable[[], None] = getattr(os, "sched_yield", lambda: time.sleep(0))
"""Lets other threads run. macOS has no `sched_yield` in `os`."""
