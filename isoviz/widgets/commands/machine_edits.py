"""Edits of the machine, as the browser sends them: functions of a machine, and the state after an edit.

What was typed is read here. The edits themselves are in `isoviz.machines.edits`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args

from isoviz.errors import InputError, show
from isoviz.machines.edits import channel_edits, memory_edits
from isoviz.schema import Call, Named, call_type
from isoviz.units import parse_bytes, parse_rate, parse_seconds
from isoviz.widgets.chosen.machine_choice import DescribedMachine, drawn_machine
from isoviz.widgets.chosen.settings import Settings, TransferSettings
from isoviz.widgets.consequences.chosen_machine import machine_at_once, nearest_memory
from isoviz.widgets.consequences.where_it_runs import absent_memories
from isoviz.widgets.contract import Side
from isoviz.widgets.state import State
from isoviz.widgets.steps import changed

if TYPE_CHECKING:
    from isoviz.machines import Machine, Memory

Function = TypeVar("Function", bound=Callable[..., "Machine"])
T = TypeVar("T", bound=TransferSettings)


class OneEdit(Call):
    """An edit of the machine with what was typed. Called with a machine, it returns the edited one, or raises an InputError."""

    do: str


_DECLARED: list[type[OneEdit]] = []


def _edit(*names: str) -> Callable[[Function], Function]:
    """Declares an edit: a function of a machine."""

    def declared(function: Function) -> Function:
        _DECLARED.append(call_type(function, "do", names, OneEdit))
        return function

    return declared


# ---- the edits


@_edit("new")
def new_machine() -> Machine:
    """Begin a machine with one main memory."""
    return memory_edits.new_machine()


@_edit("name-machine")
def name_machine(machine: Machine, /, value: str) -> Machine:
    """Give the machine a name."""
    return replace(machine, name=value.strip())


@_edit("add-memory")
def add_memory(
    machine: Machine,
    /,
    memory_kind: str,
    node: int,
    within: list[str],
    place: list[float] | None,
    positions: Named[list[float]],
) -> Machine:
    """Add a memory of a kind on a node, in the boxes `within` (outermost first), at a place of the drawing or (null) wherever
    there is room. `positions` are those of the other memories, which stay where they are: [x, y] by name.
    """
    spot: Any = place  # the machine checks that it is a pair
    machine = memory_edits.placed(machine, _places(positions))
    return memory_edits.with_memory(machine, memory_kind, node, spot, within=tuple(within))[0]


@_edit("set-memory")
def set_memory(
    machine: Machine,
    /,
    memory: str,
    field: Literal["name", "kind", "node", "capacity", "slot-limit", "device", "label", "within"],
    value: str,
) -> Machine:
    """Enter a text of a memory. `within` takes the boxes around it: "socket 0 / GPU 1"."""
    before, text = machine.memory(memory), value.strip()
    changes: dict[str, Callable[[], dict[str, Any]]] = {
        "name": lambda: {"name": text},
        "kind": lambda: {"kind": text, "device": None},
        "node": lambda: {"node": _whole("node", text)},
        "capacity": lambda: {"capacity": parse_bytes(text) if text else None},
        "slot-limit": lambda: {"slot_limit": parse_bytes(text) if text else None},
        "device": lambda: {"device": _device(before, text)},
        "label": lambda: {"label": text},
        "within": lambda: {"within": _boxes(text)},
    }
    return memory_edits.changed_memory(machine, memory, **changes[field]())[0]


@_edit("emulate")
def emulate(machine: Machine, /, memories: list[str], on: bool) -> Machine:
    """Let main memory emulate memories, or no longer; without names, all memories that this computer lacks."""
    return memory_edits.emulating(machine, memories or absent_memories(machine), on)


@_edit("place")
def place(machine: Machine, /, positions: Named[list[float]], goes_on: bool) -> Machine:  # noqa: ARG001 - says which step it is
    """Place memories, [x, y] by name. `goesOn` says that it belongs to the step before, as with a key that is held."""
    return memory_edits.placed(machine, _places(positions))


@_edit("arrange", "add-node")
def arrange(machine: Machine, /, do: str) -> Machine:
    """Forget the positions of all memories, or add a node."""
    return memory_edits.unplaced(machine) if do == "arrange" else memory_edits.with_node(machine)[0]


@_edit("delete")
def delete(machine: Machine, /, memories: list[str], channels: list[str], resources: list[str]) -> Machine:
    """Delete memories with their channels, channels, and resources, by name."""
    for name in resources:
        machine = memory_edits.without_resource(machine, name)
    for name in channels:
        machine = channel_edits.without_channel(machine, name)
    return memory_edits.without_memories(machine, memories) if memories else machine


@_edit("copy-node", "delete-node")
def edit_node(machine: Machine, /, do: str, node: int, value: str) -> Machine:
    """Copy a node a number of times (as typed), or delete it."""
    if do == "delete-node":
        return memory_edits.without_node(machine, node)
    return memory_edits.with_copies(machine, node, _whole("number of copies", value.strip()))


@_edit("connect")
def connect(machine: Machine, /, source: str, destination: str, channel_kind: str) -> Machine:
    """Join two memories by a channel of a kind, or ("") of the first kind that fits."""
    return channel_edits.connected(machine, source, destination, channel_kind)[0]


@_edit("set-channel")
def set_channel(
    machine: Machine,
    /,
    channel: str,
    field: Literal["name", "kind", "bandwidth", "latency", "setup", "conversion-setup", "in-flight"],
    value: str,
) -> Machine:
    """Enter a text of a channel."""
    text = value.strip()
    if field == "bandwidth":
        return channel_edits.with_bandwidth(machine, channel, parse_rate(text))
    if field == "latency":
        return channel_edits.with_latency(machine, channel, parse_seconds(text))
    changes: dict[str, Callable[[], dict[str, Any]]] = {
        "name": lambda: {"name": text},
        "kind": lambda: {"kind": text},
        "setup": lambda: {"setup": parse_seconds(text) if text else 0.0},
        "conversion-setup": lambda: {"conversion_setup": parse_seconds(text) if text else 0.0},
        "in-flight": lambda: {"max_in_flight": _whole("requests in flight", text)},
    }
    return channel_edits.with_channel(machine, channel, **changes[field]())


@_edit("set-use")
def set_use(machine: Machine, /, channel: str, resource: str, weight: str | None) -> Machine:
    """Let a channel use a resource with a weight (as typed), or (null) not at all."""
    return channel_edits.sharing(machine, channel, resource, None if weight is None else _number("weight", weight.strip()))


@_edit("add-resource")
def add_resource(machine: Machine, /, channel: str) -> Machine:
    """Add a shared resource, which the channel of that name uses at once; "" for none."""
    if not channel:
        return memory_edits.with_resource(machine)[0]
    after, name = memory_edits.with_resource(machine, machine.channel(channel).peak)
    return channel_edits.sharing(after, channel, name, 1.0)


@_edit("set-resource")
def set_resource(
    machine: Machine, /, resource: str, field: Literal["name", "capacity", "held", "node", "within"], value: str
) -> Machine:
    """Enter a text of a shared resource. `held` takes "yes" or "no", `node` a number or "", `within` boxes as a memory does."""
    held, text = machine.resource(resource).held, value.strip()
    changes: dict[str, Callable[[], dict[str, Any]]] = {
        "name": lambda: {"name": text},
        "capacity": lambda: {"capacity": _number("capacity", text) if held else parse_rate(text)},
        "held": lambda: {"held": text == "yes"},
        "node": lambda: {"node": _whole("node", text)} if text else {"node": None, "within": ()},
        "within": lambda: {"within": _boxes(text)},
    }
    return memory_edits.changed_resource(machine, resource, **changes[field]())


@_edit("set-point")
def set_point(machine: Machine, /, channel: str, point: int, run: float, rate: float) -> Machine:
    """Move a point of a channel's throughput function, counted from 0: run in bytes, rate in bytes per second."""
    return channel_edits.with_point(machine, channel, point, run, rate)


@_edit("add-point")
def add_point(machine: Machine, /, channel: str, run: float, rate: float | None) -> Machine:
    """Add a point to a channel's throughput function, at a rate or (null) on the function as it is."""
    return channel_edits.with_another_point(machine, channel, run, rate)


@_edit("remove-point")
def remove_point(machine: Machine, /, channel: str, point: int) -> Machine:
    """Remove a point of a channel's throughput function."""
    return channel_edits.without_point(machine, channel, point)


if TYPE_CHECKING:
    MachineEdit = OneEdit
else:  # what is declared above
    MachineEdit = Union[tuple(_DECLARED)]  # noqa: UP007 - of all that there are
    """An edit of the machine. A preset or a measured machine becomes a drawn one."""


# ---- what was sent


def _places(positions: Named[list[float]]) -> dict[str, Any]:
    """Places by memory; the machine checks that they are pairs."""
    return dict(positions)


def _boxes(text: str) -> tuple[str, ...]:
    """The names of boxes in a text, outermost first, separated by slashes."""
    return tuple(name.strip() for name in text.split("/")) if text else ()


def _device(memory: Memory, text: str) -> str | int | None:
    if not text:
        return None
    return _whole("device", text) if memory.kind.device == "number" else text


def _whole(what: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InputError(f"{what} {show(text)}: expected a whole number such as 1")
    return int(text)


def _number(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what} {show(text)}: expected a number such as 1") from None


# ---- the state


def machine_edited(state: State, edit: MachineEdit) -> State:
    """The state after an edit of the machine: a drawn machine, with both ends of each transfer in step.

    Raises:
        InputError: the edit cannot be, or the machine is still being made.
    """
    before = machine_in_hand(state)
    after: Machine = edit(machine=before)
    if after == before:
        return replace(state, refused=None)
    renamed = {}
    if edit.do == "set-memory":
        pairs = zip(before.memories, after.memories, strict=True)
        renamed = {old.name: new.name for old, new in pairs if old.name != new.name}
    settings, moved = _with_ends(state.settings, before, after, renamed)
    machine = after if edit.do == "new" else drawn_machine(state.settings.machine, before, after)
    goes_on = edit.arguments.get("goes_on", False)  # a memory is moved by a key, press by press
    step = ("place", *dict(edit.arguments["positions"])) if goes_on else None
    edited = changed(state, replace(settings, machine=DescribedMachine(machine)), step=step)
    return replace(edited, notice=moved) if moved else edited


def machine_in_hand(state: State) -> Machine:
    """The machine that is chosen.

    Raises:
        InputError: it is not made yet.
    """
    choice = state.settings.machine
    if isinstance(choice, DescribedMachine):
        return choice.machine
    kept = state.derived.kept.get("machine")
    if kept is not None and kept.inputs == (choice, state.measurement) and kept.value is not None:
        return kept.value  # type: ignore[no-any-return]  # the value of that stage is a machine
    found = machine_at_once(choice)
    if found is None:
        raise InputError("The machine is still being made or measured: edit it once it is there.")
    return found


def _with_ends(settings: Settings, before: Machine, after: Machine, renamed: dict[str, str]) -> tuple[Settings, str]:
    """The settings with ends that are memories of the edited machine, in every transfer, and a notice on ends that changed."""
    one, moved = _one_with_ends(settings, before, after, renamed)
    others = [_one_with_ends(each, before, after, renamed) for each in settings.beside]
    changes = [*moved, *(f"{each.name}: {words}" for each, rest in others for words in rest)]
    one = replace(one, beside=tuple(each for each, _ in others))
    return one, f"The memory is gone: {', '.join(changes)}." if changes else ""


def _one_with_ends(settings: T, before: Machine, after: Machine, renamed: dict[str, str]) -> tuple[T, list[str]]:
    memory_names = {memory.name for memory in after.memories}
    had = {memory.name for memory in before.memories}
    moved = []
    for side in get_args(Side):
        end = settings.end(side)
        if end.memory in renamed:
            settings = settings.with_end(side, replace(end, memory=renamed[end.memory]))
        elif end.memory not in memory_names and end.memory in had:
            name = nearest_memory(end.memory, before, after)
            settings = settings.with_end(side, replace(end, memory=name))
            moved.append(f"the {side} is now {after.memory(name).kind.words} ({name})")
    return _with_path(settings, before, after), moved


def _with_path(settings: T, before: Machine, after: Machine) -> T:
    """Settings whose path by hand has the new names of channels that were renamed."""
    by_hand = settings.by_hand
    if by_hand is None or len(before.channels) != len(after.channels):
        return settings
    renamed = {old.name: new.name for old, new in zip(before.channels, after.channels, strict=True)}
    path = tuple(renamed.get(name, name) for name in by_hand.path)
    return settings if path == by_hand.path else replace(settings, by_hand=replace(by_hand, path=path))
