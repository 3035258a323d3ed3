"""ZCM: host memory that is pinned and mapped by the GPUs, so that their copy engines and kernels reach it.

It is host memory for all other channels: processors copy to and from it, and disks read and write it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.backends.generate import fill
from isoviz.backends.host.host_memory import LARGE, HostMemory, HostStore
from isoviz.backends.pages import PAGE
from isoviz.errors import DeviceMemoryError
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.backends.cuda.gpu import Gpu
    from isoviz.backends.pages import Bytes
    from isoviz.planner import Instance


class PinnedStore(HostStore):
    """Bytes of pinned host memory."""

    def __init__(
        self,
        array: Bytes,
        nbytes: int | None = None,
        notes: tuple[str, ...] = (),
        give_back: Callable[[Bytes], None] | None = None,
        lies: Instance | None = None,
    ) -> None:
        super().__init__(array, nbytes, notes, give_back, lies)
        self._first = int(array.ctypes.data)

    @property
    def pointer(self) -> int:
        """The address of the first byte, which is the same on all GPUs."""
        assert self._room is not None, "the store is closed"
        return self._first + self._shift


class PinnedMemory(HostMemory):
    """Pinned host memory from CuPy's pool, for one GPU.

    A caller may pass any host array as an end of a plan. One that is not pinned is staged through pinned buffers.
    """

    def __init__(self, name: str, gpu: Gpu) -> None:
        super().__init__(name, kept=0, stands_in=True)
        self.gpu = gpu

    def slot(self, nbytes: int) -> PinnedStore:
        return self._allocated(nbytes, -(-nbytes // PAGE) * PAGE + PAGE)

    def _allocated(self, nbytes: int, room: int) -> PinnedStore:
        with self.gpu.current():
            try:
                block = self.gpu.driver.allocate_pinned(room)
            except DeviceMemoryError as error:
                raise DeviceMemoryError(f"memory {self.name}: no room for {format_bytes(nbytes)} pinned ({error})") from error
        assert block.array is not None
        return PinnedStore(block.array, nbytes, give_back=lambda _: self.gpu.driver.free_pinned(block))

    def source(self, instance: Instance, given: Any | None) -> HostStore:
        if given is not None:
            return self._of_caller(super().source(instance, given), "source")
        store = self._end(instance, ("the source holds generated data",))
        try:
            fill(store.array, 0)
        except BaseException:
            store.close()
            raise
        return store

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> HostStore:
        if given is not None:
            return self._of_caller(super().destination(instance, given, partial), "destination")
        store = self._end(instance, ())
        store.clear()
        return store

    def _end(self, instance: Instance, notes: tuple[str, ...]) -> PinnedStore:
        nbytes = instance.linearization.nbytes
        store = self._allocated(nbytes, max(1, nbytes))  # it always begins at a page, unlike a slot
        store.notes = notes
        store.is_large = store.nbytes >= LARGE
        return store

    def _of_caller(self, store: HostStore, end: str) -> HostStore:
        array = store.array
        if not len(array):
            return store
        with self.gpu.current():
            if self.gpu.driver.place_of(array.ctypes.data, len(array)).is_pinned:
                return PinnedStore(array, notes=store.notes, lies=store.lies)
        store.notes = (*store.notes, f"{self.name}: the {end} array is not pinned, so it was staged through pinned buffers")
        return store
