"""What this computer has of a machine: the devices an engine is given.

Two tables say which real memory or channel stands behind each kind. A package outside isoviz adds its own kinds to them:

    devices = ThisComputer(memories={kind: make_memory}, channels={other_kind: make_channel})
    engine = isoviz.Engine(machine, devices=devices)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from isoviz.backends.base_devices import BaseDevices
from isoviz.backends.disk.disk_memory import DiskMemory, DiskRead, DiskWrite
from isoviz.backends.disk.shared_pages import SHARED
from isoviz.backends.host.host_memory import HostMemory, Memcpy
from isoviz.backends.host.numa import node_of
from isoviz.backends.verify import BUDGET
from isoviz.machines import ChannelKind, MemoryKind
from isoviz.runtime.protocols import Bound, RealChannel, RealMemory

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory

MemoryFactory = Callable[["Memory"], RealMemory | None]
"""Makes the real memory behind a described one: None where this computer has none such, TransferError where it lacks the device
that the memory is bound to."""
ChannelFactory = Callable[["Channel", Bound, Bound], RealChannel | None]
"""Makes the real channel between two memories; None where it does not join these."""


class ThisComputer(BaseDevices):
    """Host memory and files of this process, as node 0 of any machine, and the devices of further kinds that are handed in.

    `directory` is where files without a path are kept, whatever the machine says (None: in the directory that each disk is bound
    to, else in the working directory), `verify_budget` the bytes of memory that a comparison may use, `shared_pages` those that
    a file being written may keep (`isoviz.backends.disk.file_access.NewFile`).

    `memories` and `channels` say how memories and channels of a kind are made, in addition to those of this computer or in their
    place. Their factories are asked for every node of the machine.

    Memories marked as emulated are held in host memory, whatever their kind (files: on the disk). A channel that has such an end
    and host memory at the other one is a copy there. Reports say so.
    """

    def __init__(
        self,
        directory: str | Path | None = None,
        verify_budget: int = BUDGET,
        shared_pages: int = SHARED,
        *,
        memories: Mapping[MemoryKind, MemoryFactory] | None = None,
        channels: Mapping[ChannelKind, ChannelFactory] | None = None,
    ) -> None:
        super().__init__(verify_budget)
        self.directory = directory
        self.shared_pages = shared_pages
        self._memories: dict[MemoryKind, MemoryFactory] = {
            MemoryKind.SYS: self._host,
            MemoryKind.DSK: self._disk,
            **(memories or {}),
        }
        self._channels: dict[ChannelKind, ChannelFactory] = {**_CHANNELS, **(channels or {})}

    def memory(self, memory: Memory) -> RealMemory | None:
        if memory.emulated and memory.holds_buffers:
            return HostMemory(memory.name, stands_in=memory.kind is not MemoryKind.SYS or memory.node != 0)
        factory = self._memories.get(memory.kind)
        return None if factory is None else factory(memory)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        if (source.memory.emulated or destination.memory.emulated) and _are(HostMemory, source, HostMemory, destination):
            return Memcpy()
        factory = self._channels.get(channel.kind)
        return None if factory is None else factory(channel, source, destination)

    def folder(self, memory: Memory) -> str | Path | None:
        """Where a disk keeps files without a path; None for the working directory."""
        return self.directory if self.directory is not None else cast("str | None", memory.device)

    def _host(self, memory: Memory) -> RealMemory | None:
        if memory.node != 0:
            return None
        return HostMemory(memory.name, numa=node_of(memory.name, cast("int | None", memory.device)))

    def _disk(self, memory: Memory) -> RealMemory | None:
        if memory.node != 0:
            return None
        return DiskMemory(memory.name, self.folder(memory), self.shared_pages)


def _are(here: type, source: Bound, there: type, destination: Bound) -> bool:
    return isinstance(source.real, here) and isinstance(destination.real, there)


def _disk_read(channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:  # noqa: ARG001  # a factory's
    return DiskRead() if _are(DiskMemory, source, HostMemory, destination) else None


def _disk_write(channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:  # noqa: ARG001  # a factory's
    return DiskWrite() if _are(HostMemory, source, DiskMemory, destination) else None


def _memcpy(channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:  # noqa: ARG001  # a factory's
    return Memcpy() if _are(HostMemory, source, HostMemory, destination) else None


_CHANNELS: Mapping[ChannelKind, ChannelFactory] = {
    ChannelKind.DISK_READ: _disk_read,
    ChannelKind.DISK_WRITE: _disk_write,
    ChannelKind.MEMCPY: _memcpy,
}
