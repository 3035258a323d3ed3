"""Memories: the places data can be in, each with performance of its own (Isometry, section 3.1 and table 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isoviz import checks
from isoviz.machines.kinds import DeviceForm, MemoryKind

_DEVICES: Mapping[DeviceForm, Callable[[str, str, object], str | int]] = {
    "number": checks.whole,
    "directory": checks.directory,
    "text": checks.text,
}


@dataclass(frozen=True)
class Memory:
    """One memory of a machine.

    `name` is unique in the machine, conventionally `node<number>.<kind>` (`node0.sys`, `node1.fbm0`); `node` the number of the
    computer it belongs to. `capacity` is in bytes, None where unknown or beyond concern. `slot_limit` is the largest slot of an
    intermediate buffer here, in bytes; None leaves it to the machine's limits (Isometry's TH). `label` is a remark for people.
    `emulated` memories stand in for hardware that is not there; whatever shows them says so.

    `device` is what the memory is bound to in reality, None where nobody said. Its kind says which form it has: of a file system
    (DSK) a directory on it, else a number from 0 on: a GPU's (FBM, ZCM), a rank's (REG), a NUMA node's (SYS). Backends go by it.
    Planner, simulator and digest do not: the same hardware elsewhere is planned for alike.

    Raises:
        MachineError: a field of the wrong type or out of range.
    """

    name: str
    kind: MemoryKind
    node: int = 0
    capacity: int | None = None
    slot_limit: int | None = None
    label: str = ""
    emulated: bool = False
    device: str | int | None = None

    def __post_init__(self) -> None:
        name = checks.text("memory", "name", self.name, spaces=False)
        owner = f"memory {name!r}"
        if "->" in name:
            raise checks.FieldError(owner, "name", "expected a name without '->', which joins the ends of a channel")
        object.__setattr__(self, "kind", MemoryKind.of(owner, "kind", self.kind))
        object.__setattr__(self, "node", checks.whole(owner, "node", self.node, high=2**31 - 1))
        for field in ("capacity", "slot_limit"):
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, checks.whole(owner, field, value, low=1))
        checks.text(owner, "label", self.label, empty=True)
        checks.flag(owner, "emulated", self.emulated)
        if self.device is not None:
            object.__setattr__(self, "device", _DEVICES[self.kind.device](owner, "device", self.device))

    @property
    def short_name(self) -> str:
        """The name within its node: `fbm0` for `node1.fbm0` on node 1."""
        return self.name.removeprefix(f"node{self.node}.")

    @property
    def is_file_system(self) -> bool:
        """Whether it holds files."""
        return self.kind.is_file_system

    @property
    def directory(self) -> str | None:
        """The directory it is bound to; None where it is bound to none."""
        return str(self.device) if self.device is not None and self.kind.device == "directory" else None

    @property
    def holds_buffers(self) -> bool:
        """Whether a transfer may have intermediate buffers here; planners and engines both ask this."""
        return self.kind.holds_buffers
