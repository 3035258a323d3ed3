"""A device that isoviz does not know: a memory and channels of its own, planned and run like any other.

The device is an accelerator with memory of its own. A DMA engine moves bytes between it and the host: several requests are in
flight at a time, and they end in any order. The accelerator itself converts layouts. Here all of it is played by host memory and
a few threads; a real device would call its driver in `start`.

Three things make a device known:

1. kinds: names with properties, which machines and their files use;
2. classes: what a memory and a channel of these kinds do (`isoviz.runtime.device_bases`);
3. tables: which class stands behind which kind (`ThisComputer`).

Run it: python examples/own_device.py
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import isoviz
from isoviz.backends.devices import ThisComputer
from isoviz.backends.host.host_memory import HostStore
from isoviz.errors import RunError
from isoviz.layouts import StridedCopy
from isoviz.layouts.numpy_copy import apply
from isoviz.machines import (
    Channel,
    ChannelKind,
    LatencyBandwidth,
    Machine,
    Memory,
    MemoryKind,
    register_channel_kind,
    register_memory_kind,
)
from isoviz.runtime.device_bases import AsynchronousChannel, BaseChannel, BaseEndpoint, BaseMemory
from isoviz.runtime.protocols import Bound, Check, Done, Store

ACC = register_memory_kind("ACC", description="memory of an accelerator")
ACC_WRITE = register_channel_kind("ACCWrite", sources=["SYS"], destinations=[ACC], description="DMA to an accelerator")
ACC_READ = register_channel_kind("ACCRead", sources=[ACC], destinations=["SYS"], description="DMA from an accelerator")
ACC_COPY = register_channel_kind("ACCCopy", sources=[ACC], destinations=[ACC], description="a copy within an accelerator")


class DeviceBytes(BaseEndpoint):
    """Bytes on the accelerator: an end of a transfer, or a slot of a buffer."""

    def __init__(self, memory: DeviceMemory, nbytes: int) -> None:
        if nbytes > memory.free:
            raise RunError(f"{memory.name}: {nbytes} bytes do not fit into the {memory.free} that are free")
        self.memory, self.nbytes = memory, nbytes
        self.data = np.zeros(nbytes, np.uint8)
        memory.free -= nbytes

    def read(self, offset: int, nbytes: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return self.data[offset : offset + nbytes].copy()

    def clear(self) -> None:
        self.data[:] = 0

    def place(self, shift: int) -> None:
        """The DMA engine asks for no alignment."""

    def close(self) -> None:
        self.memory.free += self.nbytes
        self.nbytes = 0


class DeviceMemory(BaseMemory):
    """The memory of the accelerator. It is empty at first: transfers end in it, or pass through it."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory.name)
        self.free = memory.capacity or 1 << 30

    def slot(self, nbytes: int) -> DeviceBytes:
        return DeviceBytes(self, nbytes)

    def source(self, instance: isoviz.Instance, given: Any | None) -> DeviceBytes:
        found = DeviceBytes(self, instance.linearization.nbytes)
        found.data[:] = np.arange(found.nbytes) % 251  # what the accelerator would have computed
        return found

    def destination(self, instance: isoviz.Instance, given: Any | None, partial: bool) -> DeviceBytes:
        return DeviceBytes(self, instance.linearization.nbytes)


def bytes_of(store: Store) -> np.ndarray[Any, Any]:
    """The bytes of a store at either end of the DMA engine."""
    if isinstance(store, HostStore):
        return store.array
    assert isinstance(store, DeviceBytes)
    return store.data


class DMA(AsynchronousChannel):
    """The DMA engine: `start` hands a request to it and returns; the engine calls `done` when the bytes are there."""

    def __init__(self) -> None:
        self.queues = ThreadPoolExecutor(4)

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        self.queues.submit(self._carry_out, copies, source, destination, check, done)

    def _carry_out(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        try:
            check()
            apply(copies, bytes_of(source), bytes_of(destination))
        except BaseException as error:  # noqa: BLE001  # the engine gets it, and ends this transfer
            done(error)
        else:
            done(len(copies))


class Copy(BaseChannel):
    """A copy within the accelerator."""

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        check()
        apply(copies, bytes_of(source), bytes_of(destination))
        return len(copies)


def machine() -> Machine:
    """A host with an accelerator. DMA wants long runs; the accelerator copies short ones quickly."""
    memories = [Memory("node0.sys", MemoryKind.SYS), Memory("node0.acc", ACC, capacity=256 << 20)]
    dma = LatencyBandwidth(200e-9, 20e9)
    channels = [
        Channel("", ChannelKind.MEMCPY, "node0.sys", "node0.sys", LatencyBandwidth(2e-9, 8e9)),
        Channel("", ACC_WRITE, "node0.sys", "node0.acc", dma, max_in_flight=4),
        Channel("", ACC_READ, "node0.acc", "node0.sys", dma, max_in_flight=4),
        Channel("", ACC_COPY, "node0.acc", "node0.acc", LatencyBandwidth(0.1e-9, 400e9)),
    ]
    return Machine("host with an accelerator", memories, channels)


def devices() -> ThisComputer:
    """This computer and its accelerator."""

    def dma(channel: Channel, source: Bound, destination: Bound) -> DMA:
        return DMA()

    return ThisComputer(
        memories={ACC: DeviceMemory},
        channels={ACC_WRITE: dma, ACC_READ: dma, ACC_COPY: lambda channel, source, destination: Copy()},
    )


def main() -> None:
    """Send an array of structs to the accelerator as a struct of arrays, and another one back."""
    where = machine()
    space, fields = isoviz.IndexSpace(x=1024, y=1024), isoviz.FieldSpace(re="float32", im="float32")
    with isoviz.Engine(where, devices()) as engine:
        for source, destination in (("node0.sys", "node0.acc"), ("node0.acc", "node0.sys")):
            transfer = isoviz.Transfer.whole(space, fields, source, "<F, x, y>", destination, "<y, x, F>")
            report = engine.run(isoviz.plan(transfer, where, planner="full"))
            print(report)


if __name__ == "__main__":
    main()
