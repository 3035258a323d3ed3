"""A runtime of its own that uses isoviz as its DMA engine (Isometry, sections 3 and 5.2).

What it has to offer is in `isoviz.runtime.protocols`: memories in which the engine may open both ends and get buffers, channels
that carry out strided copies, and a description of its data as instances. This one keeps "regions" in named pools of its own,
and counts what its channels do. Run it: python examples/host_runtime.py
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isoviz import Engine, FieldSpace, IndexSpace, Instance, Layout, Machine
from isoviz.backends.verify import BaseDevices
from isoviz.layouts import StridedCopy
from isoviz.layouts.numpy_copy import apply
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind
from isoviz.runtime.device_bases import BaseChannel, BaseEndpoint, BaseMemory
from isoviz.runtime.protocols import Bound, Holds


@dataclass
class Region:
    """A collection of data of this runtime: where it is, what it holds, its bytes."""

    memory: str
    space: IndexSpace
    fields: FieldSpace
    data: np.ndarray[Any, Any]


class Bytes(BaseEndpoint):
    """A region, or a buffer that the engine asked for, as a store: meets `Endpoint` and `Slot`."""

    def __init__(self, pool: Pool, data: np.ndarray[Any, Any], borrowed: int = 0) -> None:
        self.pool, self.data, self.borrowed = pool, data, borrowed
        self.nbytes = len(data)

    @property
    def identity(self) -> object:
        return id(self.data)

    def place(self, shift: int) -> None:
        """No device here asks for an alignment."""

    def clear(self) -> None:
        self.data[:] = 0

    def read(self, offset: int, nbytes: int) -> np.ndarray[Any, Any]:
        return self.data[offset : offset + nbytes]

    def close(self) -> None:
        self.pool.give_back(self.borrowed)
        self.borrowed = 0


class Pool(BaseMemory):
    """A memory of this runtime. It knows how many bytes of buffers the engine holds: meets `RealMemory`."""

    takes = "a region"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.lent = self.most = 0
        self._lock = threading.Lock()

    def slot(self, nbytes: int) -> Bytes:
        with self._lock:
            self.lent += nbytes
            self.most = max(self.most, self.lent)
        return Bytes(self, np.zeros(nbytes, np.uint8), nbytes)

    def give_back(self, nbytes: int) -> None:
        with self._lock:
            self.lent -= nbytes

    def holds(self, given: object) -> Holds:
        return Holds.YES if isinstance(given, Region) and given.memory == self.name else Holds.NO

    def describe(self, given: Region, layout: Layout | str, like: Instance | None) -> Instance:
        return Instance(given.memory, given.space, given.fields, Layout(layout))

    def source(self, instance: Instance, given: Region) -> Bytes:  # the region says it all
        return Bytes(self, given.data)

    def destination(self, instance: Instance, given: Region, partial: bool) -> Bytes:
        return Bytes(self, given.data)


class Link(BaseChannel):
    """A channel of this runtime: meets `RealChannel`."""

    def __init__(self) -> None:
        self.requests = self.bytes = 0

    def move(self, copies: Sequence[StridedCopy], source: Bytes, destination: Bytes, check: Callable[[], None]) -> int:
        check()
        apply(copies, source.data, destination.data)
        self.requests += 1
        self.bytes += sum(copy.nbytes for copy in copies)
        return 1


class Host(BaseDevices):
    """What the engine is handed: meets `Devices`. The base compares both ends of a run by reading them."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.pools = {memory.name: Pool(memory.name) for memory in machine.memories}
        self.links = {channel.name: Link() for channel in machine.channels}

    def memory(self, memory: Memory) -> Pool:
        return self.pools[memory.name]

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> Link:  # each has its link
        return self.links[channel.name]


def machine() -> Machine:
    """Two nodes of this runtime, each with a staging memory that the network reaches fastest."""
    memories = [Memory(f"node{node}.{kind}", MemoryKind(kind.upper()), node) for node in (0, 1) for kind in ("sys", "reg")]
    local, network = LatencyBandwidth(1e-9, 10e9), LatencyBandwidth(20e-6, 3e9)
    channels = [
        Channel("", ChannelKind.MEMCPY, f"node{node}.{a}", f"node{node}.{b}", local)
        for node in (0, 1)
        for a, b in (("sys", "reg"), ("reg", "sys"), ("reg", "reg"))
    ]
    channels.append(Channel("", ChannelKind.REMOTE_MEMCPY, "node0.reg", "node1.reg", network, max_in_flight=2))
    return Machine("two nodes of a host", memories, channels)


def main() -> None:
    """Copy an array of structs on one node to a struct of arrays on the other."""
    where = machine()
    host = Host(where)
    space, fields = IndexSpace(x=1 << 20), FieldSpace(re="float32", im="float32")
    here = Region("node0.sys", space, fields, np.random.default_rng(0).integers(0, 256, 8 << 20, dtype=np.uint8))
    there = Region("node1.sys", space, fields, np.zeros(8 << 20, np.uint8))
    with Engine(where, host) as engine:
        event = engine.copy(here, "<F, x>", there, "<x, F>", priority=1)
        event.wait()
        print(event)
        print(event.plan)
    arrays = here.data.view(fields.dtype)
    assert np.array_equal(there.data.view("f4").reshape(2, -1).view("u4"), np.stack([arrays["re"], arrays["im"]]).view("u4"))
    for name, link in host.links.items():
        if link.requests:
            print(f"{name}: {link.requests} requests, {link.bytes} bytes")
    for name, pool in host.pools.items():
        assert pool.lent == 0, "every buffer was given back"
        print(f"{name}: at most {pool.most} bytes of buffers")


if __name__ == "__main__":
    main()
