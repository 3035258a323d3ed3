"""Nodes of a machine that are interchangeable, such as those of a uniform cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from isoviz.machines import Machine
    from isoviz.planner.paths.dominance import CostClasses


def node_classes(machine: Machine, cost_classes: CostClasses) -> tuple[tuple[int, ...], ...]:
    """The classes of interchangeable nodes: nodes that look the same from inside and from every other node."""
    memories: dict[int, list[object]] = {node: [] for node in machine.nodes}
    for memory in machine.memories:
        memories[memory.node].append((memory.short_name, memory.kind, memory.capacity, memory.slot_limit))
    inside: dict[int, set[object]] = {node: set() for node in machine.nodes}
    across: dict[tuple[int, int], set[object]] = {}
    short = {memory.name: (memory.node, memory.short_name) for memory in machine.memories}
    for channel in machine.channels:
        (here, a), (there, b) = short[channel.source], short[channel.destination]
        what = (a, b, cost_classes.of(channel))
        if here == there:
            inside[here].add(what)
        else:
            across.setdefault((here, there), set()).add(what)
    numbers: dict[object, int] = {}
    looks = {pair: numbers.setdefault(frozenset(found), len(numbers)) for pair, found in across.items()}
    own = {node: numbers.setdefault((tuple(memories[node]), frozenset(inside[node])), len(numbers)) for node in machine.nodes}
    out: dict[int, dict[int, int]] = {node: {} for node in machine.nodes}
    into: dict[int, dict[int, int]] = {node: {} for node in machine.nodes}
    for (here, there), look in looks.items():
        out[here][there] = into[there][here] = look
    # Two nodes are interchangeable if they see the same in every other node. Nodes that are joined see each other too: then each
    # node is also given the look of the other one as its own, which makes their views equal. So a dictionary of views finds the
    # classes without comparing pairs.
    class_of: dict[int, list[int]] = {}
    by_view: dict[Hashable, int] = {}
    for node in machine.nodes:
        joined = {look for other, look in out[node].items() if into[node].get(other) == look}
        views: list[Hashable] = [(own[node], frozenset(out[node].items()), frozenset(into[node].items()))]
        for look in joined:
            mine = {node: look}
            views.append((own[node], look, frozenset((out[node] | mine).items()), frozenset((into[node] | mine).items())))
        first = min((by_view[view] for view in views if view in by_view), default=node)
        class_of[node] = class_of.get(first, [])
        class_of[node].append(node)
        for view in views:
            by_view.setdefault(view, node)
    return tuple(tuple(alike) for node, alike in class_of.items() if alike[0] == node)
