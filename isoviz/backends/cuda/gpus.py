"""The GPUs of a process: the memories of kinds FBM and ZCM, and the channels between them and host memory."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, NamedTuple

from isoviz.backends.cuda.cupy_driver import loaded
from isoviz.backends.cuda.device_memory import DeviceMemory
from isoviz.backends.cuda.gpu import Gpu
from isoviz.backends.cuda.gpu_channels import GpuChannel, Locked, never_locked
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


class ProcessOnHost(NamedTuple):
    """The process whose GPUs are meant, and its place among the processes of its host.

    - `node`: the node of the machine that it is.
    - `name`: what errors call it.
    - `turn`, `of`: it is number `turn`, from 0, of `of` processes on its host. They divide the GPUs of the host among them in
      this order. If there are fewer GPUs than processes, some share one.
    """

    node: int = 0
    name: str = "this computer"
    turn: int = 0
    of: int = 1

    def gpu(self, position: int, count: int) -> int:
        """The number of the GPU at a position, from 0, among those of this process. The host has `count` GPUs."""
        return (self.turn * max(1, count // self.of) + position) % count


class Gpus:
    """The GPUs of one process. Nothing is imported and no driver is asked before a memory of a GPU is wanted.

    `driver` and `maker` replace the driver and the kernels of this computer, for tests. `locked` locks host memory in place for
    the channels.
    """

    def __init__(
        self,
        driver: CudaDriver | None = None,
        maker: KernelMaker | None = None,
        *,
        process: ProcessOnHost = ProcessOnHost(),  # noqa: B008  # a value that does not change
        locked: Locked = never_locked,
    ) -> None:
        self._given, self._maker = driver, maker
        self._process, self._locked = process, locked
        self._gpus: dict[int, Gpu] = {}
        self._count: int | None = None
        self._lock = threading.Lock()

    def absence(self, memory: Memory) -> str:
        """Why this computer has no GPU for a memory, as the end of a sentence; empty for memories of other kinds."""
        return self.reason() if memory.kind in _KINDS and memory.node == self._process.node else ""

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
            within = here.gpu is there.gpu
            return GpuChannel(here.gpu, channel.name, None if within else there.gpu, within=within)
        if isinstance(here, DeviceMemory) and isinstance(there, HostMemory):
            return GpuChannel(here.gpu, channel.name, zero_copy=zero_copy, locked=self._locked)
        if isinstance(here, HostMemory) and isinstance(there, DeviceMemory):
            return GpuChannel(there.gpu, channel.name, zero_copy=zero_copy, locked=self._locked)
        return None

    def _gpu_of(self, memory: Memory) -> Gpu | None:
        """The GPU that a memory is bound to; None if this computer has no GPU at all.

        Raises:
            TransferError: it has GPUs, but not this one.
        """
        if memory.node != self._process.node:
            return None
        driver = self.driver()
        if driver is None:
            return None
        with self._lock:
            try:
                number = self._number(memory, driver)
                gpu = self._gpus.get(number)
                if gpu is None:
                    gpu = self._gpus[number] = Gpu(driver, number, self._maker or DefaultMaker())
            except DeviceError as error:
                raise TransferError(f"memory {memory.name}: the GPUs of {self._process.name} cannot be used: {error}") from error
            return gpu

    def _number(self, memory: Memory, driver: CudaDriver) -> int:
        """The number of the GPU of a memory: its device, else the GPU of this process that its name counts.

        Raises:
            TransferError: there is no such GPU.
        """
        if self._count is None:
            self._count = driver.device_count()
        count = self._count
        bound = memory.device if isinstance(memory.device, int) else None
        position = position_of(memory) if bound is None else bound
        if position >= count:
            have = "no GPU" if not count else "GPU 0" if count == 1 else f"GPUs 0 to {count - 1}"
            raise TransferError(f"memory {memory.name}: is bound to GPU {position}; {self._process.name} has {have}")
        return self._process.gpu(position, count) if bound is None else bound


def position_of(memory: Memory) -> int:
    """The position of a memory's GPU among those of its process, by its name: 1 for `node0.fbm1`, 0 for a ZCM."""
    found = re.search(r"\d+$", memory.short_name) if memory.kind is MemoryKind.FBM else None
    return int(found.group()) if found else 0
