"""The memories and channels of Isometry's tables 1 and 2 on this computer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.direct_storage import DirectStorage
from isoviz.backends.disk.disk_memory import DiskMemory, DiskRead, DiskWrite
from isoviz.backends.host.host_memory import HostMemory, Memcpy, node_of
from isoviz.backends.kinds.halves import Computer, are, carries, holds
from isoviz.machines import ChannelKind, MemoryKind, channel_kinds

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory
    from isoviz.runtime.protocols import Bound, RealChannel, RealMemory


@holds(MemoryKind.SYS)
def _main_memory(computer: Computer, memory: Memory) -> RealMemory | None:
    if memory.node != computer.node:
        return None
    return HostMemory(memory.name, numa=node_of(memory.name, cast("int | None", memory.device)))


@carries(ChannelKind.MEMCPY)
def _memory_copy(_: Computer, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:  # noqa: ARG001
    return Memcpy() if are(HostMemory, source, HostMemory, destination) else None


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


@holds(MemoryKind.FBM)
def _device_memory(computer: Computer, memory: Memory) -> RealMemory | None:
    return computer.gpus.device_memory(memory)


@holds(MemoryKind.ZCM)
def _pinned_memory(computer: Computer, memory: Memory) -> RealMemory | None:
    return computer.gpus.pinned_memory(memory)


@carries(*(kind for kind in channel_kinds() if kind.is_of_gpu))
def _of_gpu(computer: Computer, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
    return computer.gpus.channel(channel, source, destination)
