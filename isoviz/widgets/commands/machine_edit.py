"""Edits of the machine, as the browser sends them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isoviz.schema import Named


@dataclass(frozen=True)
class NewMachine:
    """Begin a machine with one main memory."""

    do: Literal["new"]


@dataclass(frozen=True)
class NameMachine:
    """Give the machine a name."""

    do: Literal["name-machine"]
    value: str


@dataclass(frozen=True)
class AddMemory:
    """Add a memory of a kind on a node, in the boxes `within` (outermost first), at a place of the drawing or (null) wherever
    there is room. `positions` are those of the other memories, which stay where they are: [x, y] by name.
    """

    do: Literal["add-memory"]
    memory_kind: str
    node: int
    within: list[str]
    place: list[float] | None
    positions: Named[list[float]]


@dataclass(frozen=True)
class SetMemory:
    """Enter a text of a memory. `within` takes the boxes around it: "socket 0 / GPU 1"."""

    do: Literal["set-memory"]
    memory: str
    field: Literal["name", "kind", "node", "capacity", "slot-limit", "device", "label", "within"]
    value: str


@dataclass(frozen=True)
class Emulate:
    """Let main memory stand in for memories, or no longer; without names, for all that this computer lacks."""

    do: Literal["emulate"]
    memories: list[str]
    on: bool


@dataclass(frozen=True)
class Place:
    """Place memories, [x, y] by name. `goesOn` says that it belongs to the step before, as with a key that is held."""

    do: Literal["place"]
    positions: Named[list[float]]
    goes_on: bool


@dataclass(frozen=True)
class Arrange:
    """Forget the positions of all memories, or add a node."""

    do: Literal["arrange", "add-node"]


@dataclass(frozen=True)
class Delete:
    """Delete memories with their channels, channels, and resources, by name."""

    do: Literal["delete"]
    memories: list[str]
    channels: list[str]
    resources: list[str]


@dataclass(frozen=True)
class EditNode:
    """Copy a node a number of times (as typed), or delete it."""

    do: Literal["copy-node", "delete-node"]
    node: int
    value: str


@dataclass(frozen=True)
class Connect:
    """Join two memories by a channel of a kind, or ("") of the first kind that fits."""

    do: Literal["connect"]
    source: str
    destination: str
    channel_kind: str


@dataclass(frozen=True)
class SetChannel:
    """Enter a text of a channel."""

    do: Literal["set-channel"]
    channel: str
    field: Literal["name", "kind", "bandwidth", "latency", "setup", "conversion-setup", "in-flight"]
    value: str


@dataclass(frozen=True)
class SetUse:
    """Let a channel use a resource with a weight (as typed), or (null) not at all."""

    do: Literal["set-use"]
    channel: str
    resource: str
    weight: str | None


@dataclass(frozen=True)
class AddResource:
    """Add a shared resource, which the channel of that name uses at once; "" for none."""

    do: Literal["add-resource"]
    channel: str


@dataclass(frozen=True)
class SetResource:
    """Enter a text of a shared resource. `held` takes "yes" or "no", `node` a number or "", `within` boxes as a memory does."""

    do: Literal["set-resource"]
    resource: str
    field: Literal["name", "capacity", "held", "node", "within"]
    value: str


@dataclass(frozen=True)
class SetPoint:
    """Move a point of a channel's throughput function, counted from 0: run in bytes, rate in bytes per second."""

    do: Literal["set-point"]
    channel: str
    point: int
    run: float
    rate: float


@dataclass(frozen=True)
class AddPoint:
    """Add a point to a channel's throughput function, at a rate or (null) on the function as it is."""

    do: Literal["add-point"]
    channel: str
    run: float
    rate: float | None


@dataclass(frozen=True)
class RemovePoint:
    """Remove a point of a channel's throughput function."""

    do: Literal["remove-point"]
    channel: str
    point: int


MachineEdit = (
    NewMachine | NameMachine | AddMemory | SetMemory | Emulate | Place | Arrange | Delete | EditNode | Connect | SetChannel
    | SetUse | AddResource | SetResource | SetPoint | AddPoint | RemovePoint
)  # fmt: skip
"""An edit of the machine. A preset or a measured machine becomes a drawn one."""
