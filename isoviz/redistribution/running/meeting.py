"""Where ranks wait for each other: flags in shared memory on one host, messages between hosts.

A redistribution moves bytes between two meetings. On one host it takes a few milliseconds, so the meetings must not take one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.backends.host.host_memory import HostStore
from isoviz.backends.pages import PAGE
from isoviz.errors import IsovizError, RankLost

if TYPE_CHECKING:
    from isoviz.runtime.ranks.handles import StoreHandle
    from isoviz.runtime.ranks.rank_engine import RankEngine

WINDOWS = "reg"
"""The short name of the memory whose stores the ranks of a host can map."""
_EAGER = 50e-6
"""Seconds of waiting before the processor is left to others for a while."""
_NAP = 50e-6
_LOOK = 1e-2
"""Seconds between two looks whether a rank is lost."""


class Meeting:
    """All ranks of an engine make it together, and then call `wait` together. `close` ends it.

    `is_shared` says whether the ranks meet by flags in memory that all of them map.
    """

    def __init__(self, engine: RankEngine) -> None:
        self._engine = engine
        self._stack = ExitStack()
        self._turn = 0
        self._flags: dict[int, memoryview] = {}
        try:
            self._flags = self._mapped()
        except BaseException:
            self._stack.close()
            raise
        self.is_shared = bool(self._flags)

    def _mapped(self) -> dict[int, memoryview]:
        """The flags of all ranks; empty if some rank cannot map those of another one."""
        engine, store = self._engine, self._own()
        handle = None
        if store is not None:
            handle = engine.far.export(store)
            self._stack.callback(partial(engine.far.withdraw, handle))
        handles = cast("list[StoreHandle | None]", engine.gather(handle))
        found: dict[int, memoryview] = {}
        for rank, each in enumerate(handles):
            with contextlib.suppress(IsovizError):
                reached = store if rank == engine.rank else None if each is None else engine.far.reach(each)
                if reached is not None and reached is not store:
                    self._stack.callback(reached.close)
                if isinstance(reached, HostStore):
                    found[rank] = memoryview(cast("Any", reached.array[:8])).cast("q")
        return found if all(engine.gather(len(found) == len(handles))) else {}

    def _own(self) -> HostStore | None:
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
        if not self.is_shared:
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
            time.sleep(_NAP)
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
