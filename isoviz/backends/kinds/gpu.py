"""The memories of GPUs, and the channels that a GPU carries out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz.backends.cuda.gpus import CHANNELS
from isoviz.backends.kinds.halves import Computer, carries, holds
from isoviz.machines import MemoryKind

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory
    from isoviz.runtime.protocols import Bound, RealChannel, RealMemory


@holds(MemoryKind.FBM)
def _device_memory(computer: Computer, memory: Memory) -> RealMemory | None:
    return computer.gpus.device_memory(memory)


@holds(MemoryKind.ZCM)
def _pinned_memory(computer: Computer, memory: Memory) -> RealMemory | None:
    return computer.gpus.pinned_memory(memory)


@carries(*CHANNELS)
def _of_gpu(computer: Computer, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
    return computer.gpus.channel(channel, source, destination)
