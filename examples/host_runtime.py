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

from isoviz import FieldSpace, IndexSpace, Instance, Layout, Machine
from isoviz.layouts import StridedCopy
from isoviz.layouts.numpy_copy import apply
from isoviz.machines import Channel, ChannelKind, LatencyBandwidth, Memory, MemoryKind
from isoviz.planner import Plan
from isoviz.runtime import Engine


@dataclass
class Region:
    """A collection of data of this runtime: where it is, what it holds, its bytes."""

    memory: str
    space: IndexSpace
    fields: FieldSpace
    data: np.ndarray[Any, Any]


class Bytes:
    """A region, or a buffer that the engine asked for, as a store: meets `Endpoint` and `Slot`."""

    alignment = 1
    base = 0
    durable = False
    notes: tuple[str, ...] = ()

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

    def flush(self) -> None:
        """Nothing to wait for."""

    def publish(self) -> None:
        """A region is visible as it is."""

    def close(self) -> None:
        self.pool.give_back(self.borrowed)
        self.borrowed = 0


class Pool:
    """A memory of this runtime. It knows how many bytes of buffers the engine holds: meets `RealMemory`."""

    def __init__(self) -> None:
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

    def source(self, instance: Instance, given: Region) -> Bytes:  # noqa: ARG002  # the region says it all
        return Bytes(self, given.data)

    def destination(self, instance: Instance, given: Region, partial: bool) -> Bytes:  # noqa: ARG002
        return Bytes(self, given.data)


class Link:
    """A channel of this runtime: meets `RealChannel`."""

    at_once = False

    def __init__(self) -> None:
        self.requests = self.bytes = 0

    def move(self, copies: Sequence[StridedCopy], source: Bytes, destination: Bytes, check: Callable[[], None]) -> int:
        check()
        apply(copies, source.data, destination.data)
        self.requests += 1
        self.bytes += sum(copy.nbytes for copy in copies)
        return 1


class Host:
    """What the engine is handed: meets `Devices`."""

    def __init__(self, machine: Machine) -> None:
        self.pools = {memory.name: Pool() for memory in machine.memories}
        self.links = {channel.name: Link() for channel in machine.channels}

    def memory(self, memory: Memory) -> Pool:
        return self.pools[memory.name]

    def channel(self, channel: Channel) -> Link:
        return self.links[channel.name]

    def describe(self, machine: Machine, given: Region, layout: Layout | str, like: Instance | None) -> Instance:  # noqa: ARG002
        return Instance(given.memory, given.space, given.fields, Layout(layout))

    def verify(self, plan: Plan, source: Bytes, destination: Bytes, check: Callable[[], None]) -> None:
        """`Engine.copy` does not ask for it; `Engine.run` would."""


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
