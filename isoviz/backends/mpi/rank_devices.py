"""The devices of a rank: the memories of its node, and the channels from them, also to memories of other ranks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isoviz.backends.devices import ThisComputer
from isoviz.backends.generate import fill
from isoviz.backends.host.host_memory import LARGE, HostMemory, HostStore, node_of
from isoviz.backends.mpi.channels.carrying import CHANNELS, RankParts
from isoviz.backends.mpi.lanes.lanes import Lanes
from isoviz.backends.pages import PAGE
from isoviz.backends.verify import BUDGET
from isoviz.errors import ArrayError, TransferError
from isoviz.layouts.given_arrays import host_array, is_host_array
from isoviz.machines import MemoryKind
from isoviz.runtime.protocols import Holds

if TYPE_CHECKING:
    from isoviz.backends.cuda.gpus import Gpus
    from isoviz.backends.mpi.windows import Windows
    from isoviz.backends.pages import Bytes
    from isoviz.machines import Channel, Memory
    from isoviz.planner import Instance
    from isoviz.runtime.protocols import Bound, RealChannel, RealMemory, Store
    from isoviz.runtime.ranks.handles import StoreHandle


class RegMemory(HostMemory):
    """Host memory whose ends and slots lie in segments of `windows`. It holds the arrays that lie in them, too.

    The rooms of closed ends and slots are kept for later ones, up to `kept` bytes: their peers have mapped them already.
    """

    takes = "a NumPy array in memory that isoviz has allocated for the ranks of this host"

    lends_views = True

    def __init__(self, name: str, windows: Windows, kept: int = 256 << 20) -> None:
        super().__init__(name, kept)
        self._windows = windows

    def source(self, instance: Instance, given: Any | None) -> HostStore:
        if given is not None:
            return self._given(super().source(instance, given), "source")
        store = self._end(instance, ("the source holds generated data",))
        fill(store.array, 0)
        return store

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> HostStore:
        if given is not None:
            return self._given(super().destination(instance, given, partial), "destination")
        store = self._end(instance, ())
        if partial:
            store.clear()
        return store

    def holds(self, given: Any) -> Holds:
        return Holds.YES if is_in(self._windows, given) else Holds.NO

    def lies_apart(self, given: Any) -> bool:
        """Whether an array of the caller lies outside of the windows: the other ranks do not reach it."""
        return self.holds(given) is Holds.NO

    def _end(self, instance: Instance, notes: tuple[str, ...]) -> HostStore:
        store = self.slot(instance.linearization.nbytes)
        store.notes = notes
        store.is_large = store.nbytes >= LARGE
        return store

    def _given(self, store: HostStore, end: str) -> HostStore:
        if store.nbytes and self._windows.place(store.array) is None:
            raise TransferError(
                f"{end} array for {self.name}: the other ranks do not reach it; leave it out, so that isoviz allocates it, or"
                f" take the memory {self.name.replace('.reg', '.sys')}"
            )
        return store

    def _fresh(self, nbytes: int) -> Bytes:
        return self._windows.array(-(-nbytes // PAGE) * PAGE)


class PageableMemory(HostMemory):
    """SYS of a rank: host memory of this process outside of its windows."""

    def __init__(self, name: str, windows: Windows, numa: int | None = None) -> None:
        super().__init__(name, numa=numa)
        self._windows = windows

    def holds(self, given: Any) -> Holds:
        return Holds.NO if is_in(self._windows, given) else super().holds(given)


def is_in(windows: Windows, given: Any) -> bool:
    """Whether an array lies in a window, with all of its bytes."""
    if not is_host_array(given):
        return False
    try:
        low, high = np.lib.array_utils.byte_bounds(host_array(given, "array"))
    except ArrayError:
        return False  # the memory that is asked for it says what is wrong
    return high > low and windows.place_of(low, high - low) is not None


class MpiRankDevices(ThisComputer):
    """The devices of the rank that has these parts. It owns the memories of the node with its number.

    `memory` gives None for memories of other nodes. `channel` gives the channels of this node, and the channels to other nodes:
    their destination is a store that `reach` gave, so that the real memory of the destination is not needed. `gpus` are those of
    this rank. `directory` holds the files of this rank without a path; None selects the directory that its disk is bound to, else
    the working directory.
    """

    def __init__(self, parts: RankParts, gpus: Gpus, *, directory: str | Path | None = None, verify_budget: int = BUDGET) -> None:
        memories = {MemoryKind.SYS: self._pageable, MemoryKind.REG: self._registered}
        super().__init__(directory, verify_budget, memories=memories, gpus=gpus)
        self.rank = self.node = parts.exchange.thread.rank
        self.lanes = Lanes(parts.stores, parts.windows, parts.refusals, verify_budget)
        self._parts = parts
        self._crossing = CHANNELS.read()

    def memory(self, memory: Memory) -> RealMemory | None:
        return super().memory(memory) if memory.node == self.rank else None

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        if source.memory.node != self.rank:
            return None
        if destination.memory.node == self.rank:
            return super().channel(channel, source, destination)
        ends = source.memory, destination.memory
        of_gpu = any(memory.kind is MemoryKind.FBM and not memory.emulated for memory in ends)
        make = self._crossing.get(channel.kind)
        return None if make is None else make(self._parts, destination.memory.node, channel, of_gpu)

    def absence(self, memory: Memory) -> str:
        reason = super().absence(memory)
        return f"rank {self.rank}: {reason}" if reason else ""

    def export(self, store: Store) -> StoreHandle:
        """Make a store of this rank reachable for other ranks. A slot has to be placed before."""
        return self._parts.stores.export(store)

    def withdraw(self, handle: StoreHandle) -> None:
        """End what `export` began."""
        self._parts.stores.withdraw(handle)

    def reach(self, handle: StoreHandle) -> Store:
        """The store of another rank behind a handle, mapped if it lies in a window of this host.

        Raises:
            RunError: it cannot be mapped although it lies in a window of this host.
        """
        return self._parts.stores.reach(handle)

    def _pageable(self, memory: Memory) -> RealMemory:
        return PageableMemory(memory.name, self._parts.windows, node_of(memory.name, cast("int | None", memory.device)))

    def _registered(self, memory: Memory) -> RealMemory:
        return RegMemory(memory.name, self._parts.windows)
