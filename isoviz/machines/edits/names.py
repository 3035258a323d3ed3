"""Names of the parts of an edited machine, and what follows from a new name."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from isoviz.errors import MachineError, show
from isoviz.machines.channel import Channel
from isoviz.machines.edits.network_edits import with_ports
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory

_NUMBER = re.compile(r"^(.*?)( ?)(\d+)$")


def free_name(wanted: str, taken: Collection[str], blank: str = "") -> str:
    """`wanted`, or with the first number from 2 on that makes it free; `blank` stands before the number."""
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted}{blank}{number}" in taken:
        number += 1
    return f"{wanted}{blank}{number}"


def memory_name(machine: Machine | None, kind: MemoryKind, node: int) -> str:
    """A free name for a memory by the convention: `node1.sys`; GPU memories are counted from 0 (`node1.fbm0`)."""
    taken = {memory.name for memory in machine.memories} if machine is not None else set()
    stem = f"node{node}.{kind.name.lower()}"
    if kind is not MemoryKind.FBM:
        return free_name(stem, taken)
    number = 0
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"


def channel_name(source: str, destination: str, taken: Collection[str]) -> str:
    """A free name for a channel: `node0.sys->node0.zcm`, parallel ones `node0.sys->node0.zcm 2`."""
    return free_name(f"{source}->{destination}", taken, " ")


def on_node(name: str, old: int, new: int) -> str:
    """The name of a memory or a resource on another node, where it follows the convention: `node0.sys` → `node2.sys`."""
    prefix = f"node{old}."
    return f"node{new}.{name.removeprefix(prefix)}" if name.startswith(prefix) else name


def renamed_memory(machine: Machine, old: str, new: str) -> Machine:
    """The machine with a memory renamed, in its channels and positions too. Channels that are named after their ends follow.

    Raises:
        MachineError: there is no such memory, or another one has the name.
    """
    machine.memory(old)
    if new == old:
        return machine
    if any(memory.name == new for memory in machine.memories):
        raise MachineError(f"memory {show(new)}: another memory has this name already")
    memories = tuple(replace(memory, name=new) if memory.name == old else memory for memory in machine.memories)
    taken = {channel.name for channel in machine.channels}
    channels = []
    for channel in machine.channels:
        if old not in (channel.source, channel.destination):
            channels.append(channel)
            continue
        source, destination = (new if end == old else end for end in (channel.source, channel.destination))
        after = replace(channel, name=_after_ends(channel, source, destination, taken), source=source, destination=destination)
        taken.add(after.name)
        channels.append(after)
    positions = {new if name == old else name: place for name, place in machine.positions.items()}
    networks = tuple(with_ports(network, {old: new}) for network in machine.networks)
    return replace(machine, memories=memories, channels=tuple(channels), positions=positions, networks=networks)


def _after_ends(channel: Channel, source: str, destination: str, taken: set[str]) -> str:
    """The name of a channel whose ends have new names: only one that is made of their names changes."""
    stem = f"{channel.source}->{channel.destination}"
    rest = channel.name.removeprefix(stem)
    if channel.name.startswith(stem) and (not rest or _NUMBER.match(rest)):
        return free_name(f"{source}->{destination}{rest}", taken - {channel.name}, " ")
    return channel.name


def refuse_taken(what: str, name: str, taken: Collection[str]) -> None:
    """Raise a MachineError where the name is taken."""
    if name in taken:
        raise MachineError(f"{what} {show(name)}: another {what} has this name already")


def where(memory: Memory) -> str:
    """A memory in words, for errors: "GPU memory (node0.fbm0)"."""
    return f"{memory.kind.words} ({memory.name})"
