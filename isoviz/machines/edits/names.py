"""Names of the parts of an edited machine."""

from __future__ import annotations

from collections.abc import Collection

from isoviz.errors import MachineError, show
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory


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


def refuse_taken(what: str, name: str, taken: Collection[str]) -> None:
    """Raise a MachineError where the name is taken."""
    if name in taken:
        raise MachineError(f"{what} {show(name)}: another {what} has this name already")


def where(memory: Memory) -> str:
    """A memory in words, for errors: "GPU memory (node0.fbm0)"."""
    return f"{memory.kind.words} ({memory.name})"
