"""What this computer has of a machine: the devices an engine is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isoviz.backends.disk.disk_memory import DiskMemory, DiskRead, DiskWrite
from isoviz.backends.disk.shared_pages import SHARED
from isoviz.backends.formats.describing import describe
from isoviz.backends.host.host_memory import HostMemory, Memcpy
from isoviz.backends.verify import BUDGET, verify
from isoviz.machines import ChannelKind, MemoryKind

if TYPE_CHECKING:
    from isoviz.layouts import Layout
    from isoviz.machines import Channel, Machine, Memory
    from isoviz.planner import Instance, Plan
    from isoviz.runtime.protocols import Check, Endpoint, RealChannel, RealMemory


class ThisComputer:
    """Host memory and files of this process, as node 0 of any machine. Memories marked as emulated are held in host memory, and
    channels of every kind that lead to and from them are copies there; reports say so.

    `directory` is where files without a path are kept, whatever the machine says (None: in the directory that each disk is bound
    to, else in the working directory), `verify_budget` the bytes of memory that a comparison may use, `shared_pages` those that
    a file being written may keep (`isoviz.backends.disk.file_access.NewFile`). Meets `isoviz.runtime.protocols.Devices`.
    """

    def __init__(self, directory: str | Path | None = None, verify_budget: int = BUDGET, shared_pages: int = SHARED) -> None:
        self.directory = directory
        self.verify_budget = verify_budget
        self.shared_pages = shared_pages
        self._emulated: set[str] = set()
        """Memories that were asked for and are not really here."""

    def memory(self, memory: Memory) -> RealMemory | None:
        if memory.emulated and memory.kind is not MemoryKind.DSK:
            self._emulated.add(memory.name)
            return HostMemory(memory.name)
        if memory.node != 0:
            return None
        if memory.kind is MemoryKind.SYS:
            return HostMemory(memory.name)
        if memory.kind is MemoryKind.DSK:
            return DiskMemory(memory.name, self.folder(memory), self.shared_pages)
        return None

    def folder(self, memory: Memory) -> str | Path | None:
        """Where a disk keeps files without a path; None for the working directory."""
        return self.directory if self.directory is not None else cast("str | None", memory.device)

    def channel(self, channel: Channel) -> RealChannel | None:
        if channel.kind is ChannelKind.DISK_READ:
            return DiskRead()
        if channel.kind is ChannelKind.DISK_WRITE:
            return DiskWrite()
        if channel.kind is ChannelKind.MEMCPY or not self._emulated.isdisjoint((channel.source, channel.destination)):
            return Memcpy()
        return None  # a device that is not here must not be mistaken for a copy

    def describe(self, machine: Machine, given: Any, layout: Layout | str, like: Instance | None) -> Instance:
        return describe(machine, given, layout, like)

    def verify(self, plan: Plan, source: Endpoint, destination: Endpoint, check: Check) -> None:
        verify(plan.transfer, source, destination, self.verify_budget, check)
