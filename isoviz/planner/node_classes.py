"""Nodes of a machine that can be exchanged for each other, such as those of a uniform cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner.grades import Grades


def node_classes(machine: Machine, grades: Grades) -> tuple[tuple[int, ...], ...]:
    """Nodes by what they look like from inside and from every other node; those of a class can be exchanged."""
    memories: dict[int, list[object]] = {node: [] for node in machine.nodes}
    for memory in machine.memories:
        memories[memory.node].append((memory.short_name, memory.kind, memory.capacity, memory.slot_limit))
    inside: dict[int, set[object]] = {node: set() for node in machine.nodes}
    across: dict[tuple[int, int], set[object]] = {}
    short = {memory.name: (memory.node, memory.short_name) for memory in machine.memories}
    for channel in machine.channels:
        (here, a), (there, b) = short[channel.source], short[channel.destination]
        what = (a, b, grades.of(channel))
        if here == there:
            inside[here].add(what)
        else:
            across.setdefault((here, there), set()).add(what)
    numbers: dict[object, int] = {}
    looks = {pair: numbers.setdefault(frozenset(found), len(numbers)) for pair, found in across.items()}
    own = {node: numbers.setdefault((tuple(memories[node]), frozenset(inside[node])), len(numbers)) for node in machine.nodes}
    classes: list[list[int]] = []
    for node in machine.nodes:
        for alike in classes:
            if _exchangeable(machine, alike[0], node, own, looks):
                alike.append(node)
                break
        else:
            classes.append([node])
    return tuple(tuple(alike) for alike in classes)


def _exchangeable(machine: Machine, a: int, b: int, own: dict[int, int], looks: dict[tuple[int, int], int]) -> bool:
    if own[a] != own[b] or looks.get((a, b)) != looks.get((b, a)):
        return False
    others = (node for node in machine.nodes if node not in (a, b))
    return all(looks.get((a, node)) == looks.get((b, node)) and looks.get((node, a)) == looks.get((node, b)) for node in others)
