"""The devices of an engine: the memories and channels of a machine that exist on this computer.

The modules of `isoviz.backends.kinds` map each kind to a real memory or channel. A package outside isoviz can add its own kinds:

    devices = ThisComputer(memories={kind: make_memory}, channels={other_kind: make_channel})
    engine = isoviz.Engine(machine, devices=devices)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from isoviz import checks
from isoviz.backends.cuda.gpus import Gpus
from isoviz.backends.disk.shared_pages import SHARED
from isoviz.backends.host.host_memory import HostMemory, Memcpy
from isoviz.backends.kinds import halves
from isoviz.backends.verify import BUDGET, BaseDevices
from isoviz.checks import expect
from isoviz.machines import ChannelKind, MemoryKind
from isoviz.runtime.protocols import Bound, RealChannel, RealMemory

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory

MemoryFactory = Callable[["Memory"], RealMemory | None]
"""Make the real memory of a memory in the description.

Returns None if this computer has no such memory. Raises TransferError if the device that the memory is bound to is missing.
"""
ChannelFactory = Callable[["Channel", Bound, Bound], RealChannel | None]
"""Make the real channel between two memories; None if it cannot connect them."""


class ThisComputer(BaseDevices):
    """Host memory, files and GPUs of this process, as node 0 of any machine, and devices of further kinds.

    `directory` holds the files without a path and overrides the machine description. None selects the directory that each disk is
    bound to, else the working directory. `verify_budget` limits the memory of a comparison, in bytes. `shared_pages` limits the
    pages that a file being written keeps in memory, in bytes (`isoviz.backends.disk.file_access.NewFile`).

    `memories` and `channels` are factories for further kinds, or replace the factories of this computer. They are called for
    every node of the machine.

    `gpus` replaces the GPUs of this computer, for tests. Memories of a GPU exist where CuPy finds one.

    Emulated memories of every kind but disks lie in host memory; emulated disks are files. A channel between an emulated memory
    in host memory and host memory is a memory copy. Reports state the emulation.
    """

    def __init__(
        self,
        directory: str | Path | None = None,
        verify_budget: int = BUDGET,
        shared_pages: int = SHARED,
        *,
        memories: Mapping[MemoryKind, MemoryFactory] | None = None,
        channels: Mapping[ChannelKind, ChannelFactory] | None = None,
        gpus: Gpus | None = None,
    ) -> None:
        super().__init__(checks.count("devices", "verify_budget", verify_budget, low=1))
        if directory is not None:
            expect("devices, directory", directory, (str, Path), "the path of a directory or None")
        checks.count("devices", "shared_pages", shared_pages)
        for kind, factories in ((MemoryKind, memories), (ChannelKind, channels)):
            if factories is not None:
                expect("devices", factories, Mapping, f"a factory for each {kind.__name__}, or None")
            for name, factory in (factories or {}).items():
                expect("devices", name, kind, f"a factory for each {kind.__name__}")
                checks.expect_call(
                    f"devices, factory of {name}", factory, "a function that makes a device or returns None", may_be_class=True
                )
        self.node = 0
        self.gpus = gpus or Gpus()
        self.directory = directory
        self.shared_pages = shared_pages
        self._memories: dict[MemoryKind, MemoryFactory] = {
            **{kind: partial(make, self) for kind, make in halves.MEMORIES.read().items()},
            **(memories or {}),
        }
        self._channels: dict[ChannelKind, ChannelFactory] = {
            **{kind: partial(make, self) for kind, make in halves.CHANNELS.read().items()},
            **(channels or {}),
        }

    def memory(self, memory: Memory) -> RealMemory | None:
        if memory.emulated and memory.holds_buffers:
            return HostMemory(memory.name, stands_in=memory.kind is not MemoryKind.SYS or memory.node != 0)
        factory = self._memories.get(memory.kind)
        return None if factory is None else factory(memory)

    def channel(self, channel: Channel, source: Bound, destination: Bound) -> RealChannel | None:
        if (source.memory.emulated or destination.memory.emulated) and halves.are(HostMemory, source, HostMemory, destination):
            return Memcpy()
        factory = self._channels.get(channel.kind)
        return None if factory is None else factory(channel, source, destination)

    def absence(self, memory: Memory) -> str:
        return "" if memory.emulated else self.gpus.absence(memory)

    def folder(self, memory: Memory) -> str | Path | None:
        """The directory of a disk for files without a path; None for the working directory."""
        return self.directory if self.directory is not None else cast("str | None", memory.device)
