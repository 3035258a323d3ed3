"""How a memory or a channel of this computer that a machine describes becomes a real one, by its kind.

`@holds(KIND)` marks the function that makes memories of a kind, and `@carries(KIND)` the one that makes channels. They are in the
modules of this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from isoviz.backends.cuda.gpus import Gpus
from isoviz.found_modules import FoundTable
from isoviz.machines import ChannelKind, MemoryKind
from isoviz.runtime.protocols import Bound, RealChannel, RealMemory

if TYPE_CHECKING:
    from isoviz.machines import Channel, Memory


class Computer(Protocol):
    """What a device half may ask of the devices of this computer (`isoviz.backends.devices.ThisComputer`)."""

    node: int
    """The node of the machine that it is."""
    gpus: Gpus
    shared_pages: int

    def folder(self, memory: Memory) -> str | Path | None:
        """The directory of a disk for files without a path; None for the working directory."""


MakeMemory = Callable[[Computer, "Memory"], RealMemory | None]
"""Make the real memory of a memory in the description, as `isoviz.backends.devices.MemoryFactory` does."""
MakeChannel = Callable[[Computer, "Channel", Bound, Bound], RealChannel | None]
"""Make the real channel between two memories, as `isoviz.backends.devices.ChannelFactory` does."""

MEMORIES: FoundTable[MemoryKind, MakeMemory] = FoundTable("isoviz.backends.kinds")
CHANNELS: FoundTable[ChannelKind, MakeChannel] = FoundTable("isoviz.backends.kinds")
holds, carries = MEMORIES.marking, CHANNELS.marking


def are(here: type, source: Bound, there: type, destination: Bound) -> bool:
    """Whether the real memories at the two ends of a channel are of these classes."""
    return isinstance(source.real, here) and isinstance(destination.real, there)
