"""The part of the contract that is about the machine: edits by hand, and files (see `isoviz.widgets.contract`)."""

from __future__ import annotations

from typing import Literal, TypedDict


class NewMachine(TypedDict):
    """Begin a machine with one main memory."""

    do: Literal["new"]


class NameMachine(TypedDict):
    """Give the machine a name."""

    do: Literal["name-machine"]
    value: str


class AddMemory(TypedDict):
    """Add a memory of a kind on a node, at a place of the drawing or (null) wherever there is room. `positions` are those of the
    other memories, which stay where they are: [x, y] by name.
    """

    do: Literal["add-memory"]
    memoryKind: str
    node: int
    place: list[float] | None
    positions: dict[str, list[float]]


class SetMemory(TypedDict):
    """Enter a text of a memory."""

    do: Literal["set-memory"]
    memory: str
    field: Literal["name", "kind", "node", "capacity", "slot-limit", "device", "label"]
    value: str


class Emulate(TypedDict):
    """Let main memory stand in for memories, or no longer; without names, for all that this computer lacks."""

    do: Literal["emulate"]
    memories: list[str]
    on: bool


class Place(TypedDict):
    """Place memories, [x, y] by name. `goesOn` says that it belongs to the step before, as with a key that is held."""

    do: Literal["place"]
    positions: dict[str, list[float]]
    goesOn: bool


class Arrange(TypedDict):
    """Forget the positions of all memories, or add a node."""

    do: Literal["arrange", "add-node"]


class Delete(TypedDict):
    """Delete memories with their channels, channels, and resources, by name."""

    do: Literal["delete"]
    memories: list[str]
    channels: list[str]
    resources: list[str]


class EditNode(TypedDict):
    """Copy a node a number of times (as typed), or delete it."""

    do: Literal["copy-node", "delete-node"]
    node: int
    value: str


class Connect(TypedDict):
    """Join two memories by a channel of a kind, or ("") of the first kind that fits."""

    do: Literal["connect"]
    source: str
    destination: str
    channelKind: str


class SetChannel(TypedDict):
    """Enter a text of a channel."""

    do: Literal["set-channel"]
    channel: str
    field: Literal["name", "kind", "bandwidth", "latency", "setup", "conversion-setup", "in-flight"]
    value: str


class SetUse(TypedDict):
    """Let a channel use a resource with a weight (as typed), or (null) not at all."""

    do: Literal["set-use"]
    channel: str
    resource: str
    weight: str | None


class AddResource(TypedDict):
    """Add a shared resource, which the channel of that name uses at once; "" for none."""

    do: Literal["add-resource"]
    channel: str


class SetResource(TypedDict):
    """Enter a text of a shared resource; `held` takes "yes" or "no"."""

    do: Literal["set-resource"]
    resource: str
    field: Literal["name", "capacity", "held"]
    value: str


class SetPoint(TypedDict):
    """Move a point of a channel's throughput function, counted from 0: run in bytes, rate in bytes per second."""

    do: Literal["set-point"]
    channel: str
    point: int
    run: float
    rate: float


class AddPoint(TypedDict):
    """Add a point to a channel's throughput function, at a rate or (null) on the function as it is."""

    do: Literal["add-point"]
    channel: str
    run: float
    rate: float | None


class RemovePoint(TypedDict):
    """Remove a point of a channel's throughput function."""

    do: Literal["remove-point"]
    channel: str
    point: int


MachineEdit = (
    NewMachine | NameMachine | AddMemory | SetMemory | Emulate | Place | Arrange | Delete | EditNode | Connect | SetChannel
    | SetUse | AddResource | SetResource | SetPoint | AddPoint | RemovePoint
)  # fmt: skip
"""An edit of the machine. A preset or a measured machine becomes a drawn one."""


class EditMachine(TypedDict):
    """Edit the machine."""

    kind: Literal["edit-machine"]
    edit: MachineEdit


class DescribeMachine(TypedDict):
    """Choose the machine that this JSON object describes (the format of machine files)."""

    kind: Literal["describe-machine"]
    machine: dict[str, object]


class OpenMachine(TypedDict):
    """Choose the machine that the text of a machine file describes. `name` is the name of the file."""

    kind: Literal["open-machine"]
    name: str
    text: str
