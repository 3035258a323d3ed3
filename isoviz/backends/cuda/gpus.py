"""The GPUs of this computer: the memories of kinds FBM and ZCM, and the channels between them and host memory."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from isoviz.backends.cuda.cupy_driver import loaded
from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.cuda.gpu import Gpu
from isoviz.backends.cuda.gpu_channels import GpuChannel
from isoviz.backends.cuda.layout_kernels import DefaultMaker
from isoviz.backends.cuda.pinned_memory import PinnedMemory
from isoviz.backends.host.host_memory import HostMemory
from isoviz.errors import DeviceError, TransferError
from isoviz.machines import ChannelKind, MemoryKind

if TYPE_CHECKING:
    from isoviz.backends.cuda.cuda_driver import CudaDriver
    from isoviz.backends.cuda.layout_kernels import KernelMaker
    from isoviz.machines import Channel, Memory
    from isoviz.runtime.protocols import Bound, RealChannel, RealMemory

_KINDS = (MemoryKind.FBM, MemoryKind.ZCM)
_ZERO_COPY = (ChannelKind.ZERO_COPY_READ, ChannelKind.ZERO_COPY_WRITE)
CHANNELS = (ChannelKind.GPU_READ, ChannelKind.GPU_WRITE, ChannelKind.GPU_COPY, *_ZERO_COPY)
"""The kinds of channels that `Gpus.channel` makes."""


class Gpus:
    """The GPUs of one `ThisComputer`. Nothing is imported and no driver is asked before a memory of a GPU is wanted.

    `driver` and `maker` replace the driver and the kernels of this computer, for tests.
    """

    def __init__(self, driver: CudaDriver | None = None, maker: KernelMaker | None = None) -> None:
        self._given, self._maker = driver, maker
        self._gpus: dict[int, Gpu] = {}
        self._lock = threading.Lock()

    def absence(self, memory: Memory) -> str:
        """Why this computer has no GPU for a memory, as the end of a sentence; empty for memories of other kinds."""
        return self.reason() if memory.kind in _KINDS and memory.node == 0 else ""

    def driver(self) -> CudaDriver | None:
        """The driver; None if this computer has no GPU that can be used. The first call may import CuPy."""
        return self._given or loaded().driver

    def reason(self) -> str:
        """Why there is no driver, as the end of a sentence; empty if there is one."""
        return "" if self._given is not None else loaded().reason

    def device_memory(self, memory: Memory) -> RealMemory | None:
        """FBM. See `isoviz.backends.devices.MemoryFactory`."""
        gpu = self._gpu_of(memory)
        return None if gpu is None else DeviceMemory(memory.name, gpu)

    def pinned_memory(self, memory: Memory) -> RealMemory | None:
        """ZCM. See `isoviz.backends.devices.MemoryFactory`."""
        gpu = self._gpu_of(memory)
        return None if gpu is None else PinnedMemory(memory.name, gpu)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        """A channel of a GPU. See `isoviz.backends.devices.ChannelFactory`."""
        here, there = source.real, destination.real
        zero_copy = channel.kind in _ZERO_COPY
        if isinstance(here, DeviceMemory) and isinstance(there, DeviceMemory):
            return GpuChannel(here.gpu, channel.name, None if here.gpu is there.gpu else there.gpu)
        if isinstance(here, DeviceMemory) and isinstance(there, HostMemory):
            return GpuChannel(here.gpu, channel.name, zero_copy=zero_copy)
        if isinstance(here, HostMemory) and isinstance(there, DeviceMemory):
            return GpuChannel(there.gpu, channel.name, zero_copy=zero_copy)
        return None

    def _gpu_of(self, memory: Memory) -> Gpu | None:
        """The GPU that a memory is bound to; None if this computer has no GPU at all.

        Raises:
            TransferError: it has GPUs, but not this one.
        """
        if memory.node != 0:
            return None
        driver = self.driver()
        if driver is None:
            return None
        number = number_of(memory)
        with self._lock:
            gpu = self._gpus.get(number)
            if gpu is None:
                try:
                    count = driver.device_count()
                    if number >= count:
                        have = "GPU 0" if count == 1 else f"GPUs 0 to {count - 1}"
                        raise TransferError(f"memory {memory.name}: is bound to GPU {number}; this computer has {have}")
                    gpu = self._gpus[number] = Gpu(driver, number, self._maker or DefaultMaker())
                except DeviceError as error:
                    raise TransferError(f"memory {memory.name}: the GPUs of this computer cannot be used: {error}") from error
            return gpu


def number_of(memory: Memory) -> int:
    """The number of the GPU of a memory: that of its device, else (FBM) the number at the end of its name, else 0."""
    if isinstance(memory.device, int):
        return memory.device
    found = re.search(r"\d+$", memory.short_name) if memory.kind is MemoryKind.FBM else None
    return int(found.group()) if found else 0
