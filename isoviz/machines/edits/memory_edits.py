"""Edits of memories: add, change, delete, place, emulate."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from isoviz import checks
from isoviz.errors import MachineError, show
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.edits.channel_edits import channel_name, free_name, memory_name, on_node, refitted, refuse_taken
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine, some
from isoviz.machines.memory import Memory
from isoviz.machines.networks import Network

# Edits of networks: add, change, delete, and dead parts.


def with_network(machine: Machine, network: Network) -> Machine:
    """The machine with one more network.

    Raises:
        MachineError: another network has the name, or a port is that of no memory.
    """
    return replace(machine, networks=(*machine.networks, network))


def without_network(machine: Machine, name: str) -> Machine:
    """The machine without a network.

    Raises:
        MachineError: there is no such network.
    """
    _network(machine, name)
    return replace(machine, networks=tuple(each for each in machine.networks if each.name != name))


def changed_network(machine: Machine, name: str, /, **changes: Any) -> Machine:
    """The machine with fields of one network changed.

    Raises:
        MachineError: there is no such network, or a value is wrong.
    """
    after = replace(_network(machine, name), **changes)
    return replace(machine, networks=tuple(after if each.name == name else each for each in machine.networks))


def with_dead_parts(machine: Machine, name: str, links: Iterable[str] = (), routers: Iterable[str] = ()) -> Machine:
    """The machine in which further links and routers of a network carry nothing.

    Raises:
        MachineError: there is no such network, link or router.
    """
    network = _network(machine, name)
    dead = {"dead_links": (*network.dead_links, *links), "dead_routers": (*network.dead_routers, *routers)}
    return changed_network(machine, name, **dead)


def with_ports(network: Network, names: Mapping[str, str | None]) -> Network:
    """The network with memories of its ports renamed, or without the ports of those whose new name is None."""
    if not any(network.has_port(name) for name in names):
        return network
    ports = []
    for port in network.ports:
        memory = names.get(port.memory, port.memory)
        if memory is not None:
            ports.append(port if memory == port.memory else replace(port, memory=memory))
    return replace(network, ports=tuple(ports))


def _network(machine: Machine, name: str) -> Network:
    found = next((each for each in machine.networks if each.name == name), None)
    if found is None:
        known = some(each.name for each in machine.networks) or "none"
        raise MachineError(f"machine {machine.name!r} has no network {show(name)}; it has {known}")
    return found


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
        MachineError: there is no such memory, or a place is not a pair of numbers.
    """
    return replace(machine, positions={**machine.positions, **places})


def unplaced(machine: Machine) -> Machine:
    """The machine without positions: a drawing of it places its memories."""
    return replace(machine, positions={})


# Edits of whole nodes, and of the resources that channels share.

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
