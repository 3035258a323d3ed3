"""Memory of GPUs and pinned memory that stay allocated while channels are timed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from isoviz.backends.cuda.device_memory import DeviceMemory, DeviceStore
from isoviz.backends.cuda.pinned_memory import PinnedMemory, PinnedStore
from isoviz.errors import InternalError
from isoviz.machines import MemoryKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoviz.backends.cuda.gpus import Gpus
    from isoviz.backends.host.host_memory import HostStore
    from isoviz.machines import Memory
    from isoviz.planner import Instance


class GpuRooms:
    """Two blocks of `room` bytes in each of some memories: `with GpuRooms(gpus, memories, room) as rooms`.

    One block holds what jobs read, the other one receives what they write. The kernels that jobs compile stay loaded.

    Raises:
        DeviceMemoryError: no room.
        DeviceError, TransferError: a GPU fails, or is absent.
    """

    def __init__(self, gpus: Gpus, memories: Iterable[Memory], room: int) -> None:
        self.gpus, self.room = gpus, room
        self._wanted = tuple(memories)
        self._stores: dict[str, tuple[Any, Any]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> GpuRooms:
        try:
            for memory in self._wanted:
                real = self.memory(memory)
                if real is None:
                    raise InternalError(f"probe: {memory.name} is no memory of a GPU here")
                real.gpu.join()
                self._stack.callback(real.gpu.leave)
                stores = []
                for _ in range(2):
                    store = real.slot(self.room)
                    self._stack.callback(store.close)
                    store.clear()
                    stores.append(store)
                self._stores[memory.name] = stores[0], stores[1]
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stores.clear()
        self._stack.close()

    def memory(self, memory: Memory) -> _DeviceParts | _PinnedParts | None:
        """The real memory, which takes parts of the blocks as ends of transfers; None for a memory of another kind."""
        if memory.kind is MemoryKind.FBM:
            found = self.gpus.device_memory(memory)
            return _DeviceParts(found.name, found.gpu) if isinstance(found, DeviceMemory) else None
        pinned = self.gpus.pinned_memory(memory) if memory.kind is MemoryKind.ZCM else None
        return _PinnedParts(pinned.name, pinned.gpu) if isinstance(pinned, PinnedMemory) else None

    @property
    def without_kernels(self) -> str:
        """Why a GPU converted layouts without kernels; empty if none did."""
        gpus = (self.gpus.device_memory(memory) for memory in self._wanted if memory.kind is MemoryKind.FBM)
        return next(
            (each.gpu.without_kernels for each in gpus if isinstance(each, DeviceMemory) and each.gpu.without_kernels), ""
        )

    def has(self, memory: str) -> bool:
        """Whether a memory has blocks."""
        return memory in self._stores

    def part(self, memory: str, end: int, at: int, nbytes: int) -> DeviceStore | PinnedStore:
        """`nbytes` bytes from offset `at` on, of what is read (`end` is 0) or written (1)."""
        store = self._stores[memory][end]
        if isinstance(store, DeviceStore):
            return DeviceStore(store.gpu, store.pointer + at, nbytes)
        return PinnedStore(store.array[at : at + nbytes])


class _DeviceParts(DeviceMemory):
    def source(self, instance: Instance, given: Any | None) -> DeviceStore:
        return given if isinstance(given, DeviceStore) else super().source(instance, given)

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> DeviceStore:
        return given if isinstance(given, DeviceStore) else super().destination(instance, given, partial)


class _PinnedParts(PinnedMemory):
    def source(self, instance: Instance, given: Any | None) -> HostStore:
        return given if isinstance(given, PinnedStore) else super().source(instance, given)

    def destination(self, instance: Instance, given: Any | None, partial: bool) -> HostStore:
        return given if isinstance(given, PinnedStore) else super().destination(instance, given, partial)
