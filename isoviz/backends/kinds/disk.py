"""Files, and the channels between files and memory of the host or of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.direct_storage import DirectStorage
from isoviz.backends.disk.disk_memory import DiskMemory, DiskRead, DiskWrite
from isoviz.backends.host.host_memory import HostMemory
from isoviz.backends.kinds.halves import Computer, are, carries, holds
from isoviz.machines import ChannelKind, MemoryKind

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory
    from isoviz.runtime.protocols import Bound, RealChannel, RealMemory


@holds(MemoryKind.DSK)
def _files(computer: Computer, memory: Memory) -> RealMemory | None:
    return DiskMemory(memory.name, computer.folder(memory), computer.shared_pages) if memory.node == computer.node else None


@carries(ChannelKind.DISK_READ, ChannelKind.DIRECT_READ)
def _read(_: Computer, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
    if channel.kind is ChannelKind.DIRECT_READ and are(DiskMemory, source, DeviceMemory, destination):
        return DirectStorage(channel.name, to_device=True)
    return DiskRead() if are(DiskMemory, source, HostMemory, destination) else None  # also into an emulated GPU


@carries(ChannelKind.DISK_WRITE, ChannelKind.DIRECT_WRITE)
def _write(_: Computer, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
    if channel.kind is ChannelKind.DIRECT_WRITE and are(DeviceMemory, source, DiskMemory, destination):
        return DirectStorage(channel.name, to_device=False)
    return DiskWrite() if are(HostMemory, source, DiskMemory, destination) else None  # also from an emulated GPU
