"""Memories: the places that hold data, each with its own performance (Isometry, section 3.1 and table 1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from isoviz import checks
from isoviz.machines.kinds import ChannelKind, DeviceForm, MemoryKind
from isoviz.machines.limits import SIZE
from isoviz.machines.positions import checked_boxes
from isoviz.schema import member

MOST_NODE = 2**31 - 1
"""The largest number of a node."""

_NODE = re.compile(r"node(0|[1-9][0-9]{0,9})\.")
"""How the name of a memory begins that names its node."""

_DEVICES: Mapping[DeviceForm, Callable[[str, str, object], str | int]] = {
    "number": checks.whole,
    "directory": checks.directory,
    "text": checks.text,
}


def emulated_text(names: Sequence[str]) -> str:
    """What plans, traces, reports and figures say about emulated memories; empty if there are none."""
    if not names:
        return ""
    return f"emulated: {', '.join(names)} (main memory stands in; the figures are not measured on the hardware)"


@dataclass(frozen=True)
class Memory:
    """One memory of a machine.

    - `name`: unique in the machine, by convention `node<number>.<kind>` (`node0.sys`, `node1.fbm0`).
    - `node`: the number of its computer. The default is the number in the name, or 0 if the name has none. A name that begins
      with `node1.` is refused on another node.
    - `capacity`: its size in bytes; None if it is unknown or unlimited for practical purposes.
    - `slot_limit`: the largest slot of an intermediate buffer in it, in bytes; None for the limit of the machine (Isometry's TH).
    - `label`: a remark for display.
    - `emulated`: whether it stands for hardware that is absent. Displays mark such memories.
    - `device`: the device that it is bound to; None if it is not bound.
    - `within`: the boxes of its node that it lies in, outermost first: `("socket 0", "PCIe switch 1", "GPU 1")`. Their number is
      free, since computers differ in their levels.

    The kind of the memory determines the form of `device` (`MemoryKind.device`). For a file system (DSK) it is a directory. For
    the other kinds of the paper it is a number from 0: of a GPU (FBM, ZCM), a rank (REG) or a NUMA node (SYS). Backends use it.
    Planner, simulator and digest ignore it, so that plans are the same for equal hardware with other device numbers. They ignore
    `within`, too: drawings use it.

    Raises:
        MachineError: a field has the wrong type or is out of range.
    """

    name: str
    kind: MemoryKind
    node: int = member(None)
    capacity: int | None = member(None, by_name=SIZE)
    slot_limit: int | None = member(None, brief=True, by_name=SIZE)
    label: str = member("", brief=True)
    emulated: bool = member(False, brief=True)
    device: str | int | None = member(None, brief=True)
    within: tuple[str, ...] = member((), brief=True)

    def __post_init__(self) -> None:
        name = checks.text("memory", "name", self.name, spaces=False)
        owner = f"memory {name!r}"
        if "->" in name:
            raise checks.FieldError(owner, "name", "expected a name without '->', which joins the ends of a channel")
        object.__setattr__(self, "kind", MemoryKind.of(owner, "kind", self.kind))
        object.__setattr__(self, "node", _node(owner, name, self.node))
        for field in ("capacity", "slot_limit"):
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, checks.whole(owner, field, value, low=1))
        checks.text(owner, "label", self.label, empty=True)
        checks.flag(owner, "emulated", self.emulated)
        if self.device is not None:
            object.__setattr__(self, "device", _DEVICES[self.kind.device](owner, "device", self.device))
        object.__setattr__(self, "within", checked_boxes(owner, self.within))

    @property
    def short_name(self) -> str:
        """The name without its node: `fbm0` for `node1.fbm0` on node 1."""
        return self.name.removeprefix(f"node{self.node}.")

    @property
    def is_file_system(self) -> bool:
        """Whether it holds files."""
        return self.kind.is_file_system

    @property
    def directory(self) -> str | None:
        """The directory that it is bound to; None if it is not bound to a directory."""
        return str(self.device) if self.device is not None and self.kind.device == "directory" else None

    @property
    def holds_buffers(self) -> bool:
        """Whether it may hold intermediate buffers of a transfer. Planners and engines use this."""
        return self.kind.holds_buffers


def _node(owner: str, name: str, given: object) -> int:
    """The number of a memory's node: `given`, or that of its name."""
    node = None if given is None else checks.whole(owner, "node", given, high=MOST_NODE)
    found = _NODE.match(name)
    named = node if found is None else int(found[1])
    if node is None:
        return checks.whole(owner, "name, the number of the node", named or 0, high=MOST_NODE)
    if node != named:
        raise checks.FieldError(owner, "node", f"{node} contradicts the name; expected {named}, or another name")
    return node


def may_join(kind: ChannelKind, source: Memory, destination: Memory) -> bool:
    """Whether a channel of a kind may lead from one memory to another: by their kinds and nodes (Isometry, table 2)."""
    return (
        source.kind in kind.sources
        and destination.kind in kind.destinations
        and kind.crosses_nodes == (source.node != destination.node)
    )
