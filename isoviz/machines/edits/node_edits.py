"""Edits of whole nodes, and of the resources that channels share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isoviz import checks
from isoviz.errors import MachineError, show
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.edits.memory_edits import with_memory, without_memories
from isoviz.machines.edits.names import channel_name, free_name, on_node, refuse_taken
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory

MOST_COPIES = 256
"""The most copies of a node at a time."""
MOST_CHANNELS = 50_000
"""Channels beyond which a machine gets no more copies: copies that are all joined to each other take seconds from there on."""


def with_node(machine: Machine, place: tuple[float, float] | None = None) -> tuple[Machine, str]:
    """The machine with one more node, which has a main memory, and the name of that memory."""
    return with_memory(machine, MemoryKind.SYS, machine.nodes[-1] + 1, place)


def without_node(machine: Machine, node: int) -> Machine:
    """The machine without a node: without its memories, their channels, and the resources that only they used.

    Raises:
        MachineError: there is no such node, or it is the only one.
    """
    names = {memory.name for memory in _members(machine, node)}
    after = without_memories(machine, names)
    before_used = {resource for channel in machine.channels for resource, _ in channel.resources}
    used = {resource for channel in after.channels for resource, _ in channel.resources}
    kept = tuple(each for each in after.resources if each.name in used or each.name not in before_used)
    return replace(after, resources=kept)


def with_copies(machine: Machine, node: int, times: int) -> Machine:
    """The machine with copies of a node, numbered after its last node.

    A copy has the memories of the node, the channels between them and the resources of its own. It is joined to the other nodes
    as the node is. Where the node is joined to nodes like itself, its copies are joined to it and to each other in the same way.

    Raises:
        MachineError: there is no such node, the number of copies cannot be, or there would be too many channels.
    """
    times = checks.whole("copies of a node", "number", times, low=1, high=MOST_COPIES)
    members = _members(machine, node)
    first = machine.nodes[-1] + 1
    copies = range(first, first + times)
    builder = _Copier(machine, node, members)
    for number in copies:
        builder.add_node(number)
    builder.join(copies)
    return replace(
        machine, memories=tuple(builder.memories), channels=tuple(builder.channels), resources=tuple(builder.resources)
    )


class _Copier:
    """The growing parts of a machine while copies of one of its nodes are added."""

    def __init__(self, machine: Machine, node: int, members: tuple[Memory, ...]) -> None:
        self.machine, self.node, self.members = machine, node, members
        self.memories = list(machine.memories)
        self.channels = list(machine.channels)
        self.resources = list(machine.resources)
        self.names = {memory.name for memory in members}
        self._taken = {memory.name for memory in machine.memories}
        self._channels = {channel.name for channel in machine.channels}
        self._copy: dict[int, dict[str, str]] = {node: {memory.name: memory.name for memory in members}}
        self._resource: dict[int, dict[str, str]] = {node: {}}
        users: dict[str, list[Channel]] = {}
        for channel in machine.channels:
            for name, _ in channel.resources:
                users.setdefault(name, []).append(channel)
        self.own = [
            each
            for each in machine.resources
            if each.name.startswith(f"node{node}.")
            or (each.name in users and all({use.source, use.destination} <= self.names for use in users[each.name]))
        ]

    def add_node(self, number: int) -> None:
        """The memories, the resources and the inner channels of one copy."""
        names: dict[str, str] = {}
        for memory in self.members:
            names[memory.name] = free_name(self._numbered(memory.name, number), self._taken)
            self._taken.add(names[memory.name])
            self.memories.append(replace(memory, name=names[memory.name], node=number))
        self._copy[number] = names
        taken = {each.name for each in self.resources}
        self._resource[number] = {}
        for resource in self.own:
            name = free_name(self._numbered(resource.name, number), taken)
            taken.add(name)
            self._resource[number][resource.name] = name
            self.resources.append(replace(resource, name=name, node=None if resource.node is None else number))
        for channel in self.machine.channels:
            if channel.source in self.names and channel.destination in self.names:
                self._append(channel, names[channel.source], names[channel.destination], self._resource[number])

    def join(self, copies: range) -> None:
        """The channels between the copies, the node and the other nodes."""
        alike: set[tuple[str, str, str]] = set()
        for channel in self.machine.channels:
            leaves, arrives = channel.source in self.names, channel.destination in self.names
            if leaves == arrives:
                continue
            for number in copies:
                names, own = self._copy[number], self._resource[number]
                source, destination = (
                    names.get(channel.source, channel.source),
                    names.get(channel.destination, channel.destination),
                )
                self._append(channel, source, destination, own)
            other = self.machine.memory(channel.destination if leaves else channel.source)
            twin = next((each for each in self.members if (each.short_name, each.kind) == (other.short_name, other.kind)), None)
            if twin is None:
                continue
            start, end = (channel.source, twin.name) if leaves else (twin.name, channel.destination)
            # One channel of a kind between two nodes alike is the pattern for all pairs.
            stem = (start, end, channel.name.removeprefix(f"{channel.source}->{channel.destination}"))
            if stem in alike:
                continue
            alike.add(stem)
            for one in (self.node, *copies):
                for two in (self.node, *copies):
                    if one != two:
                        uses = self._between(channel, other.node, leaves, one, two)
                        self._append(channel, self._copy[one][start], self._copy[two][end], uses)

    def _between(self, channel: Channel, elsewhere: int, leaves: bool, one: int, two: int) -> dict[str, str]:
        """The resources of a channel from copy `one` to copy `two`, by those of the channel that is its pattern."""
        known = {each.name for each in self.resources}
        found = {}
        for name, _ in channel.resources:
            mine, theirs = (one, two) if leaves else (two, one)
            own = on_node(name, self.node, mine) if name.startswith(f"node{self.node}.") else on_node(name, elsewhere, theirs)
            found[name] = own if own in known else self._resource[mine].get(name, name)
        return found

    def _numbered(self, name: str, number: int) -> str:
        moved = on_node(name, self.node, number)
        return moved if moved != name else f"node{number}.{name}"

    def _append(self, channel: Channel, source: str, destination: str, uses: dict[str, str]) -> None:
        if len(self.channels) >= MOST_CHANNELS:
            raise MachineError(f"copies of node {self.node}: more than {MOST_CHANNELS:,} channels; choose fewer copies")
        stem = f"{channel.source}->{channel.destination}"
        if channel.name.startswith(stem):
            name = free_name(f"{source}->{destination}{channel.name.removeprefix(stem)}", self._channels, " ")
        else:
            name = channel_name(source, destination, self._channels)
        self._channels.add(name)
        resources = tuple((uses.get(resource, resource), weight) for resource, weight in channel.resources)
        self.channels.append(replace(channel, name=name, source=source, destination=destination, resources=resources))


def with_resource(machine: Machine, capacity: float = 10e9) -> tuple[Machine, str]:
    """The machine with one more shared resource of this capacity, in bytes per second, and the resource's name."""
    name = free_name("bus", {each.name for each in machine.resources})
    return replace(machine, resources=(*machine.resources, Resource(name, capacity, "set by hand"))), name


def changed_resource(machine: Machine, name: str, /, **changes: Any) -> Machine:
    """The machine with fields of one resource changed; channels follow a new name.

    Raises:
        MachineError: there is no such resource, a value is wrong, or another resource has the name.
    """
    before = machine.resource(name)
    after = replace(before, **changes)
    if after.name != name:
        refuse_taken("resource", after.name, {each.name for each in machine.resources})
    if (after.capacity, after.held) != (before.capacity, before.held):
        after = replace(after, provenance="set by hand")
    resources = tuple(after if each.name == name else each for each in machine.resources)
    channels = tuple(
        replace(each, resources=tuple((after.name if used == name else used, weight) for used, weight in each.resources))
        if any(used == name for used, _ in each.resources)
        else each
        for each in machine.channels
    )
    return replace(machine, resources=resources, channels=channels)


def without_resource(machine: Machine, name: str) -> Machine:
    """The machine without a shared resource: no channel uses it any more.

    Raises:
        MachineError: there is no such resource.
    """
    machine.resource(name)
    channels = tuple(
        replace(each, resources=tuple(use for use in each.resources if use[0] != name))
        if any(used == name for used, _ in each.resources)
        else each
        for each in machine.channels
    )
    return replace(machine, resources=tuple(each for each in machine.resources if each.name != name), channels=channels)


def _members(machine: Machine, node: int) -> tuple[Memory, ...]:
    members = tuple(memory for memory in machine.memories if memory.node == node)
    if not members:
        raise MachineError(f"node {show(node)}: the machine has the nodes {', '.join(map(str, machine.nodes))}")
    return members
