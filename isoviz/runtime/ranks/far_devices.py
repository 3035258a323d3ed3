"""Stand-ins for the devices of other ranks: an engine of one rank describes them, but never touches them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from isoviz.errors import InternalError
from isoviz.file_rights import UNKNOWN
from isoviz.runtime.device_bases import BaseChannel, BaseEndpoint, BaseMemory, BaseSlot
from isoviz.runtime.engine.dispatcher import Dispatcher
from isoviz.runtime.engine.open_devices import OpenedDevices

if TYPE_CHECKING:
    from isoviz.machines import Machine, Memory
    from isoviz.runtime.protocols import Devices, RealChannel, RealMemory


class FarStore(BaseEndpoint, BaseSlot):
    """An end or a slot on another rank, before that rank provides it."""

    def __init__(self, memory: str, nbytes: int = 0) -> None:
        self._memory = memory
        self.nbytes = nbytes

    def read(self, offset: int, nbytes: int) -> NoReturn:  # noqa: ARG002  # the protocol's signature
        raise InternalError(f"{self._memory} is on another rank")

    def clear(self) -> None:
        """Do nothing: the rank that has the slot clears it."""


class FarMemory(BaseMemory):
    """A memory of another rank. Who may read the files of a file system is unknown until that rank says so: perhaps nobody."""

    def __init__(self, name: str, is_file_system: bool) -> None:
        super().__init__(name)
        self._sources = (UNKNOWN,) if is_file_system else ()

    def source(self, instance: Any, given: Any | None) -> FarStore:  # noqa: ARG002  # the protocol's signature
        found = FarStore(self.name)
        found.sources = self._sources
        return found

    def destination(self, instance: Any, given: Any | None, partial: bool) -> FarStore:  # noqa: ARG002  # the protocol's
        return FarStore(self.name)

    def slot(self, nbytes: int) -> FarStore:
        return FarStore(self.name, nbytes)


class FarChannel(BaseChannel):
    """A channel that another rank carries out."""

    def move(self, *_: Any) -> NoReturn:
        raise InternalError("a hop of another rank was issued here")


class RankOpenedDevices(OpenedDevices):
    """The opened devices of rank `rank`, with stand-ins for those of all other ranks.

    A rank has the memories of the node with its number, and the channels that read them.
    """

    def __init__(self, machine: Machine, devices: Devices, rank: int) -> None:
        super().__init__(machine, devices)
        self.rank = rank

    def is_here(self, memory: str) -> bool:
        """Whether this rank has a memory."""
        return self.machine.memory(memory).node == self.rank

    @property
    def _described_here(self) -> Iterable[Memory]:
        return (memory for memory in self.machine.memories if memory.node == self.rank)

    def _memory(self, name: str) -> RealMemory:
        if self.is_here(name):
            return super()._memory(name)
        found = self._memories.get(name)
        if found is None:
            found = self._memories[name] = FarMemory(name, self.machine.memory(name).is_file_system)
        return found

    def _channel(self, name: str) -> tuple[RealChannel, Dispatcher]:
        if self.is_here(self.machine.channel(name).source):
            return super()._channel(name)
        with self._lock:
            found = self._channels.get(name)
            if found is None:
                found = self._channels[name] = FarChannel(), Dispatcher(name, 1)
            return found
