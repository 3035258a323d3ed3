"""Main memory, and copies within the memory of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from isoviz.backends.host.host_memory import HostMemory, Memcpy
from isoviz.backends.host.numa import node_of
from isoviz.backends.kinds.halves import Computer, are, carries, holds
from isoviz.machines import ChannelKind, MemoryKind

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
