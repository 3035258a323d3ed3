"""Edits of memories: add, change, delete, place, emulate."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from isoviz.errors import MachineError
from isoviz.machines.channel import Channel
from isoviz.machines.edits.channel_edits import refitted
from isoviz.machines.edits.names import free_name, memory_name, on_node, refuse_taken
from isoviz.machines.edits.network_edits import with_ports
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory


def new_machine(name: str = "drawn") -> Machine:
    """A machine to begin with: one main memory, for a machine has at least one memory."""
    return Machine(name, (Memory("node0.sys", MemoryKind.SYS),), provenance="drawn by hand")


def with_memory(
    machine: Machine,
    kind: str,
    node: int,
    place: tuple[float, float] | None = None,
    *,
    within: tuple[str, ...] = (),
    emulated: bool = False,
) -> tuple[Machine, str]:
    """The machine with one more memory, which lies in the boxes `within`, and the memory's name.

    Raises:
        MachineError: there is no such kind, or the node, the place or the boxes cannot be.
    """
    made = MemoryKind.of("memory", "kind", kind)
    memory = Memory(memory_name(machine, made, node), made, node, emulated=emulated, within=within)
    positions = machine.positions if place is None else {**machine.positions, memory.name: place}
    return replace(machine, memories=(*machine.memories, memory), positions=positions), memory.name


def changed_memory(machine: Machine, name: str, /, **changes: Any) -> tuple[Machine, str]:
    """The machine with fields of one memory changed, and the memory's name then.

    Channels follow a new name, and take another kind where the kind or the node of the memory asks for it. A memory that is named
    after its node is renamed with it.

    Raises:
        MachineError: there is no such memory, a value is wrong, or no kind of channel fits any more.
    """
    before = machine.memory(name)
    if "name" not in changes and (there := on_node(name, before.node, changes.get("node", before.node))) != name:
        changes["name"] = free_name(there, {memory.name for memory in machine.memories})
    after = replace(before, **changes)
    return _with_other(machine, before, after), after.name


def _with_other(machine: Machine, before: Memory, after: Memory) -> Machine:
    """The machine with another memory in the place of one, in its channels, positions and ports, too."""
    old, new = before.name, after.name
    if new != old:
        refuse_taken("memory", new, [memory.name for memory in machine.memories])
    by_name = {memory.name: memory for memory in machine.memories} | {old: after}
    is_elsewhere = after.kind is not before.kind or after.node != before.node
    taken = {channel.name for channel in machine.channels}
    channels = []
    for channel in machine.channels:
        if old in (channel.source, channel.destination):
            if is_elsewhere:
                channel = refitted(machine, channel, by_name)
            source, destination = (new if end == old else end for end in (channel.source, channel.destination))
            name = _after_ends(channel, source, destination, taken)
            channel = replace(channel, name=name, source=source, destination=destination)
            taken.add(name)
        channels.append(channel)
    return replace(
        machine,
        memories=tuple(by_name[memory.name] for memory in machine.memories),
        channels=tuple(channels),
        positions={new if name == old else name: place for name, place in machine.positions.items()},
        networks=tuple(with_ports(network, {old: new}) for network in machine.networks),
    )


def _after_ends(channel: Channel, source: str, destination: str, taken: set[str]) -> str:
    """The name of a channel whose ends have new names: only one that is made of their names changes."""
    stem = f"{channel.source}->{channel.destination}"
    rest = channel.name.removeprefix(stem)
    if channel.name.startswith(stem) and (not rest or re.search(r"\d$", rest)):
        return free_name(f"{source}->{destination}{rest}", taken - {channel.name}, " ")
    return channel.name


def without_memories(machine: Machine, names: Collection[str]) -> Machine:
    """The machine without some memories, and without their channels and ports.

    Raises:
        MachineError: there is no such memory, or none would be left.
    """
    for name in names:
        machine.memory(name)
    left = tuple(memory for memory in machine.memories if memory.name not in names)
    if not left:
        raise MachineError("A machine has at least one memory: add another one before you delete the last.")
    return replace(
        machine,
        memories=left,
        channels=tuple(each for each in machine.channels if each.source not in names and each.destination not in names),
        positions={name: place for name, place in machine.positions.items() if name not in names},
        networks=tuple(with_ports(network, dict.fromkeys(names)) for network in machine.networks),
    )


def emulating(machine: Machine, names: Collection[str], emulated: bool = True) -> Machine:
    """The machine in which main memory stands in for these memories, or no longer does.

    Raises:
        MachineError: there is no such memory.
    """
    for name in names:
        machine.memory(name)
    memories = (replace(each, emulated=emulated) if each.name in names else each for each in machine.memories)
    return replace(machine, memories=tuple(memories))


def placed(machine: Machine, places: Mapping[str, tuple[float, float]]) -> Machine:
    """The machine with memories at these places of its drawing.

    Raises:
        MachineError: there is no such memory, or a place is no pair of numbers.
    """
    return replace(machine, positions={**machine.positions, **places})


def unplaced(machine: Machine) -> Machine:
    """The machine without positions: a drawing of it places its memories."""
    return replace(machine, positions={})
