"""An edit of the contract, carried out on a machine: what was typed is read, and the pure edit is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from isoviz.errors import InputError, show
from isoviz.machines.edits import channel_edits, function_edits, memory_edits, node_edits
from isoviz.units import parse_bytes, parse_rate, parse_seconds
from isoviz.widgets.consequences.where_it_runs import absent_memories

if TYPE_CHECKING:
    from isoviz.machines import Machine, Memory


class Edited(NamedTuple):
    """The machine after an edit. `renamed` has the old and the new name of a memory that was renamed."""

    machine: Machine
    renamed: tuple[str, str] | None = None


def edited_machine(machine: Machine, edit: Any) -> Edited:
    """The machine after an edit of the contract.

    Raises:
        InputError: what was typed cannot be read, or the edit cannot be (a MachineError).
    """
    return _EDITS[edit.do](machine, edit)


def _set_memory(machine: Machine, edit: Any) -> Edited:
    name, field, text = edit.memory, edit.field, edit.value.strip()
    memory = machine.memory(name)
    changes: dict[str, Callable[[], dict[str, Any]]] = {
        "name": lambda: {"name": text},
        "kind": lambda: {"kind": text, "device": None},
        "node": lambda: {"node": _whole("node", text)},
        "capacity": lambda: {"capacity": parse_bytes(text) if text else None},
        "slot-limit": lambda: {"slot_limit": parse_bytes(text) if text else None},
        "device": lambda: {"device": _device(memory, text)},
        "label": lambda: {"label": text},
        "within": lambda: {"within": _boxes(text)},
    }
    after, now = memory_edits.changed_memory(machine, name, **changes[field]())
    return Edited(after, (name, now) if now != name else None)


def _boxes(text: str) -> tuple[str, ...]:
    """The names of boxes in a text, outermost first, separated by slashes."""
    return tuple(name.strip() for name in text.split("/")) if text else ()


def _device(memory: Memory, text: str) -> str | int | None:
    if not text:
        return None
    return _whole("device", text) if memory.kind.device == "number" else text


def _set_channel(machine: Machine, edit: Any) -> Edited:
    name, field, text = edit.channel, edit.field, edit.value.strip()
    if field == "bandwidth":
        return Edited(function_edits.with_bandwidth(machine, name, parse_rate(text)))
    if field == "latency":
        return Edited(function_edits.with_latency(machine, name, parse_seconds(text)))
    changes: dict[str, Callable[[], dict[str, Any]]] = {
        "name": lambda: {"name": text},
        "kind": lambda: {"kind": text},
        "setup": lambda: {"setup": parse_seconds(text) if text else 0.0},
        "conversion-setup": lambda: {"conversion_setup": parse_seconds(text) if text else 0.0},
        "in-flight": lambda: {"max_in_flight": _whole("requests in flight", text)},
    }
    return Edited(channel_edits.with_channel(machine, name, **changes[field]()))


def _set_use(machine: Machine, edit: Any) -> Edited:
    weight = edit.weight
    value = None if weight is None else _number("weight", weight.strip())
    return Edited(channel_edits.sharing(machine, edit.channel, edit.resource, value))


def _add_resource(machine: Machine, edit: Any) -> Edited:
    channel = edit.channel
    after, name = (
        node_edits.with_resource(machine, machine.channel(channel).peak) if channel else node_edits.with_resource(machine)
    )
    return Edited(channel_edits.sharing(after, channel, name, 1.0) if channel else after)


def _set_resource(machine: Machine, edit: Any) -> Edited:
    name, field, text = edit.resource, edit.field, edit.value.strip()
    held = machine.resource(name).held
    changes: dict[str, Callable[[], dict[str, Any]]] = {
        "name": lambda: {"name": text},
        "capacity": lambda: {"capacity": _number("capacity", text) if held else parse_rate(text)},
        "held": lambda: {"held": text == "yes"},
        "node": lambda: {"node": _whole("node", text)} if text else {"node": None, "within": ()},
        "within": lambda: {"within": _boxes(text)},
    }
    return Edited(node_edits.changed_resource(machine, name, **changes[field]()))


def _delete(machine: Machine, edit: Any) -> Edited:
    for name in edit.resources:
        machine = node_edits.without_resource(machine, name)
    for name in edit.channels:
        machine = channel_edits.without_channel(machine, name)
    return Edited(memory_edits.without_memories(machine, edit.memories) if edit.memories else machine)


def _copy_node(machine: Machine, edit: Any) -> Edited:
    return Edited(node_edits.with_copies(machine, edit.node, _whole("number of copies", edit.value.strip())))


def _emulate(machine: Machine, edit: Any) -> Edited:
    return Edited(memory_edits.emulating(machine, edit.memories or absent_memories(machine), edit.on))


def _place(machine: Machine, edit: Any) -> Edited:
    return Edited(memory_edits.placed(machine, dict(edit.positions)))


def _add_memory(machine: Machine, edit: Any) -> Edited:
    machine = memory_edits.placed(machine, dict(edit.positions))
    within = tuple(edit.within)
    return Edited(memory_edits.with_memory(machine, edit.memory_kind, edit.node, edit.place, within=within)[0])


def _name_machine(machine: Machine, edit: Any) -> Edited:
    return Edited(replace(machine, name=edit.value.strip()))


_EDITS: dict[str, Callable[[Any, Any], Edited]] = {
    "new": lambda _machine, _edit: Edited(memory_edits.new_machine()),
    "name-machine": _name_machine,
    "add-memory": _add_memory,
    "set-memory": _set_memory,
    "emulate": _emulate,
    "place": _place,
    "arrange": lambda machine, _edit: Edited(memory_edits.unplaced(machine)),
    "add-node": lambda machine, _edit: Edited(node_edits.with_node(machine)[0]),
    "delete": _delete,
    "copy-node": _copy_node,
    "delete-node": lambda machine, edit: Edited(node_edits.without_node(machine, edit.node)),
    "connect": lambda machine, edit: Edited(
        channel_edits.connected(machine, edit.source, edit.destination, edit.channel_kind)[0]
    ),
    "set-channel": _set_channel,
    "set-use": _set_use,
    "add-resource": _add_resource,
    "set-resource": _set_resource,
    "set-point": lambda machine, edit: Edited(function_edits.with_point(machine, edit.channel, edit.point, edit.run, edit.rate)),
    "add-point": lambda machine, edit: Edited(function_edits.with_another_point(machine, edit.channel, edit.run, edit.rate)),
    "remove-point": lambda machine, edit: Edited(function_edits.without_point(machine, edit.channel, edit.point)),
}
"""Edits by name."""


def _whole(what: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InputError(f"{what} {show(text)}: expected a whole number such as 1")
    return int(text)


def _number(what: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what} {show(text)}: expected a number such as 1") from None
