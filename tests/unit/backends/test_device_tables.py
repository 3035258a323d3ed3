"""Which real memory and channel stands behind a described one: tables of kinds, both ends, the device that is meant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isoviz import Engine, FieldSpace, IndexSpace, Transfer, plan
from isoviz.backends.devices import ThisComputer
from isoviz.backends.disk.disk_memory import DiskMemory, DiskRead, DiskWrite
from isoviz.backends.host import host_memory
from isoviz.backends.host.host_memory import HostMemory, Memcpy
from isoviz.backends.pages import page_aligned
from isoviz.errors import TransferError
from isoviz.machines import Channel, ChannelKind, Constant, Machine, Memory, MemoryKind
from isoviz.runtime.engine.open_devices import OpenedDevices
from isoviz.runtime.protocols import Bound, Holds
from isoviz.this_computer import NumaNode

SYS, DSK, GPU = Memory("node0.sys", MemoryKind.SYS), Memory("node0.dsk", MemoryKind.DSK), Memory("node0.fbm0", MemoryKind.FBM)
EMULATED = Memory("node0.fbm1", MemoryKind.FBM, emulated=True)
FIELDS = FieldSpace(re="f4", im="f4")


def channel(kind: ChannelKind, source: str, destination: str) -> Channel:
    return Channel("", kind, source, destination, Constant(1e9))


def between(devices: ThisComputer, kind: ChannelKind, source: Memory, destination: Memory) -> Any:
    ends = [Bound(memory, devices.memory(memory)) for memory in (source, destination)]
    return devices.channel(channel(kind, source.name, destination.name), *ends)


def test_a_channel_is_what_its_ends_make_it() -> None:
    """No memory of what was asked for before: a new object answers alike."""
    for kind, source, destination, expected in (
        (ChannelKind.MEMCPY, SYS, SYS, Memcpy),
        (ChannelKind.DISK_READ, DSK, SYS, DiskRead),
        (ChannelKind.DISK_WRITE, SYS, DSK, DiskWrite),
        (ChannelKind.GPU_WRITE, SYS, EMULATED, Memcpy),
        (ChannelKind.GPU_COPY, EMULATED, EMULATED, Memcpy),
        (ChannelKind.GPU_READ, EMULATED, SYS, Memcpy),
    ):
        assert type(between(ThisComputer(), kind, source, destination)) is expected
    assert between(ThisComputer(), ChannelKind.GPU_COPY, SYS, SYS) is None, "a missing device is not mistaken for a copy"
    assert between(ThisComputer(), ChannelKind.DISK_READ, SYS, SYS) is None


def test_tables_take_further_kinds_and_replace_those_that_are_there() -> None:
    class Mine(HostMemory):
        pass

    class Link(Memcpy):
        pass

    asked: list[tuple[str, ...]] = []

    def link(described: Channel, source: Bound, destination: Bound) -> Link | None:
        asked.append((described.name, source.memory.name, destination.memory.name))
        return Link() if isinstance(source.real, Mine) or isinstance(destination.real, Mine) else None

    devices = ThisComputer(
        memories={MemoryKind.FBM: lambda memory: Mine(memory.name) if memory.device in (None, 0) else None},
        channels={ChannelKind.GPU_WRITE: link, ChannelKind.MEMCPY: link},
    )
    assert type(devices.memory(GPU)) is Mine and type(devices.memory(SYS)) is HostMemory
    assert devices.memory(Memory("node1.fbm0", MemoryKind.FBM, node=1)) is not None, "a factory is asked for every node"
    assert devices.memory(Memory("node0.fbm7", MemoryKind.FBM, device=7)) is None
    assert type(between(devices, ChannelKind.GPU_WRITE, SYS, GPU)) is Link
    assert between(devices, ChannelKind.MEMCPY, SYS, SYS) is None, "this one wants a memory of its own"
    assert between(devices, ChannelKind.GPU_READ, GPU, SYS) is None
    assert asked[0] == ("node0.sys->node0.fbm0", "node0.sys", "node0.fbm0")
    assert type(ThisComputer().memory(SYS)) is HostMemory and ThisComputer().memory(GPU) is None, "tables are not shared"


def test_a_memory_that_is_not_here_is_named_with_its_device() -> None:
    gpu = Memory("node0.fbm0", MemoryKind.FBM, device=3)
    machine = Machine("m", (SYS, gpu), (channel(ChannelKind.GPU_WRITE, SYS.name, gpu.name),))
    made = plan(Transfer.whole(IndexSpace(x=8), FIELDS, SYS.name, "<F, x>", gpu.name, "<F, x>"), machine)
    with pytest.raises(
        TransferError, match=r"memory node0\.fbm0: this computer has no such device \(FBM, device 3\);.* node0\.sys"
    ):
        Engine(machine).run(made)
    with pytest.raises(TransferError, match=r"channel node0\.sys->node0\.fbm0: this computer has no device that is a GPUWrite"):
        Engine(machine, ThisComputer(memories={MemoryKind.FBM: lambda memory: HostMemory(memory.name)})).run(made)


# ---- NUMA nodes


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A computer of two NUMA nodes, as far as it says; the nodes that were asked for pages."""
    asked: list[int] = []
    prefer = host_memory.prefer

    def noted(array: Any, node: int) -> str | None:
        asked.append(node)
        prefer(array, 0)  # this one is there
        return None

    monkeypatch.setattr(host_memory, "numa_nodes", lambda: (NumaNode(0, None, (0,)), NumaNode(2, None, (1,))))
    monkeypatch.setattr(host_memory, "prefer", noted)
    return asked


def copies(memory: Memory) -> tuple[Machine, Any]:
    machine = Machine("m", (memory,), (channel(ChannelKind.MEMCPY, memory.name, memory.name),))
    return machine, plan(Transfer.whole(IndexSpace(x=1 << 16), FIELDS, memory.name, "<F, x>", memory.name, "<x, F>"), machine)


def test_host_memory_is_bound_to_its_numa_node(two_nodes: list[int]) -> None:
    machine, made = copies(Memory("node0.sys1", MemoryKind.SYS, device=2))
    report = Engine(machine).run(made)
    assert report.verified and set(two_nodes) == {2} and len(two_nodes) >= 3, "once to see whether it can be done, and both ends"
    assert not [note for note in report.notes if "NUMA" in note]
    given = np.zeros(made.bytes, "u1")
    report = Engine(machine).run(made, given)
    assert "node0.sys1: the source array stays where its pages are; NUMA node 2 was not asked for" in report.notes
    two_nodes.clear()
    assert Engine(*copies(Memory("node0.sys", MemoryKind.SYS))[:1]).run(copies(SYS)[1]).verified
    assert two_nodes == [], "no node is asked for where none is named"


def test_a_numa_node_that_is_not_here_is_refused(two_nodes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    machine, made = copies(Memory("node0.sys1", MemoryKind.SYS, device=1))
    words = r"memory node0\.sys1: is bound to NUMA node 1, which is not on this computer; it has 0, 2"
    with pytest.raises(TransferError, match=words):
        Engine(machine).run(made)
    with pytest.raises(
        TransferError, match="copy: this computer has no memory of machine 'm' that holds an object of the caller, here ndarray"
    ):
        Engine(machine).copy(np.zeros(8), "<F, x>", np.zeros(8), "<F, x>")
    monkeypatch.setattr(host_memory, "numa_nodes", tuple)  # a computer that does not say
    with pytest.raises(TransferError, match=r"it has 0$"):
        Engine(machine).run(made)
    assert host_memory.node_of("m", 0) is None and host_memory.node_of("m", None) is None


def test_what_is_not_bound_is_said(two_nodes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "prefer", lambda array, node: "Operation not permitted")
    machine, made = copies(Memory("node0.sys", MemoryKind.SYS, device=2))
    assert "node0.sys: its pages are not bound to NUMA node 2: Operation not permitted" in Engine(machine).run(made).notes


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="the system call is Linux's")
def test_the_system_takes_the_first_node_and_refuses_one_that_cannot_be() -> None:
    array = page_aligned(1 << 16)
    said = host_memory.prefer(array, 0)
    array[:] = 1
    if said is None:  # else a sandbox forbids it
        assert host_memory.prefer(page_aligned(4096), 1000) is not None
    assert host_memory.prefer(page_aligned(0), 0) is None


# ---- what a caller hands to copy


def opened(*memories: Memory, directory: Path | None = None) -> OpenedDevices:
    return OpenedDevices(Machine("m", memories, ()), ThisComputer(directory))


def test_arrays_are_in_host_memory_and_not_in_what_stands_in_for_a_gpu() -> None:
    devices = opened(EMULATED, Memory("node1.sys", MemoryKind.SYS, node=1, emulated=True), SYS, DSK)
    array = np.zeros(8, FIELDS.dtype)
    found = devices.describe(array, "<F, x>", None)
    assert found.memory == "node0.sys" and found is devices.describe(np.ones(8, FIELDS.dtype), "<F, x>", None)
    assert devices.describe("out.npy", "<x, F>", found).memory == "node0.dsk"
    with pytest.raises(TransferError, match="copy: expected a NumPy array or the path of a file, not list"):
        devices.describe([1], "<F, x>", None)
    with pytest.raises(TransferError, match="copy: expected a NumPy array, not str"):
        opened(SYS).describe("out.npy", "<F, x>", found)


def test_a_file_is_on_the_disk_of_its_file_system_else_on_the_first(tmp_path: Path) -> None:
    memory = DiskMemory("d", tmp_path)
    assert memory.holds(tmp_path / "a") is Holds.YES and memory.holds(str(tmp_path / "a")) is Holds.YES
    assert memory.holds("/proc/a") is Holds.PERHAPS and memory.holds(tmp_path / "no" / "a") is Holds.PERHAPS
    assert memory.holds(np.zeros(2)) is Holds.NO and memory.holds(7) is Holds.NO
    disks = [Memory(f"node0.d{k}", MemoryKind.DSK, device=str(place)) for k, place in enumerate(("/proc", tmp_path))]
    like = opened(SYS).describe(np.zeros(8, "f4"), "<F, x>", None)
    assert opened(*disks).describe(tmp_path / "a.npy", "<F, x>", like).memory == "node0.d1"
    assert opened(*disks).describe(tmp_path / "no" / "a.npy", "<F, x>", like).memory == "node0.d0"
