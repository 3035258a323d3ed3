"""REG: host memory in the windows of a rank. Ranks of the host map it, and MPI can put into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.backends.generate import fill
from isoviz.backends.host.host_memory import LARGE, HostMemory, HostStore
from isoviz.backends.pages import PAGE
from isoviz.errors import TransferError
from isoviz.runtime.protocols import Holds

if TYPE_CHECKING:
    from isoviz.backends.mpi.windows import Windows
    from isoviz.backends.pages import Bytes
    from isoviz.planner import Instance


class RegMemory(HostMemory):
    """Host memory whose ends and slots lie in segments of `windows`. It holds the arrays that lie in them, too.

    The rooms of closed ends and slots are kept for later ones, up to `kept` bytes: their peers have mapped them already.
    """

    takes = "a NumPy array in the windows of this rank (World.array)"

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
        return Holds.YES if isinstance(given, np.ndarray) and is_in(self._windows, given) else Holds.NO

    def _end(self, instance: Instance, notes: tuple[str, ...]) -> HostStore:
        store = self.slot(instance.linearization.nbytes)
        store.notes = notes
        store.is_large = store.nbytes >= LARGE
        return store

    def _given(self, store: HostStore, end: str) -> HostStore:
        if store.nbytes and self._windows.place(store.array) is None:
            raise TransferError(f"{end} array for {self.name}: lies in no window of this rank; make it with World.array(...)")
        return store

    def _fresh(self, nbytes: int) -> Bytes:
        return self._windows.array(-(-nbytes // PAGE) * PAGE)


class PageableMemory(HostMemory):
    """SYS of a rank: host memory of this process outside of its windows."""

    def __init__(self, name: str, windows: Windows, numa: int | None = None) -> None:
        super().__init__(name, numa=numa)
        self._windows = windows

    def holds(self, given: Any) -> Holds:
        return Holds.NO if isinstance(given, np.ndarray) and is_in(self._windows, given) else super().holds(given)


def is_in(windows: Windows, array: np.ndarray[Any, Any]) -> bool:
    """Whether an array lies in a window, with all of its bytes."""
    low, high = np.lib.array_utils.byte_bounds(array)
    if high <= low or (not array.flags.c_contiguous and not array.flags.f_contiguous):
        return False
    flat = array.reshape(-1, order="A").view(np.ndarray)
    return windows.place(flat.view(np.uint8)) is not None
