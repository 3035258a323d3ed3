"""The undominated routes of a machine: its simple paths without those that another path dominates for every transfer.

A route is a sequence of channels with the number of the hop that converts (None: nothing to convert).

1. The cost of a route depends on its hops by role. The layouts bound the runs of the first hop, the
   converting hop and the last hop. All other hops move whole chunks, so their order does not matter. The memories of the buffers
   bound a slot.
2. So route P dominates route Q for every transfer under these conditions: the hops of P can be paired with hops of Q of the same
   role, each hop of P is at least as fast for every run, costs no more set-up and uses no more of any shared resource, and the
   intermediate memories of P are among those of Q.
3. The same holds for beginnings of routes, as long as the memories that P has visited are among those that Q has visited: every
   completion of Q then completes P.
4. With one slot between two hops, neighbouring hops take turns. Then hops are paired in their order, and only routes of equal
   length are compared.

Interchangeable nodes (those of a uniform cluster) form one class. Besides the nodes of the two ends, two nodes of each class
stand for all. So the search does not depend on the size of a cluster, and one search serves all pairs of nodes of two classes.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from isoviz.planner.paths.route_search import MOST_MACHINES, RELAYS_PER_CLASS, CostClasses, RouteQuery, RouteSearch
from isoviz.planner.time.path_time import Pace

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from isoviz.machines import Channel, Machine
    from isoviz.planner.paths.route_search import CostClasses


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
        joined = dict.fromkeys(look for other, look in out[node].items() if into[node].get(other) == look)
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


@dataclass(frozen=True)
class Route:
    """Channels from a source to a destination, and the number of the hop that converts (None: none does)."""

    channels: tuple[Channel, ...]
    converting: int | None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of its channels; they decide between routes that are equally fast."""
        return tuple(channel.name for channel in self.channels)

    @cached_property
    def pace(self) -> Pace:
        """The properties of its channels that do not depend on what moves."""
        return Pace(self.channels)

    def slowest(self, chunk: float) -> float:
        """Seconds that a full chunk takes in the slowest hop, without the converting one; 0 where there is no other hop."""
        known = self.__dict__.get("_slowest")
        if known is None or known[0] != chunk:  # large transfers share one chunk size, that of a full slot
            pace = self.pace
            hops = [pace.hop_seconds(i, chunk, math.inf) for i in range(len(pace.functions)) if i != self.converting]
            known = self.__dict__["_slowest"] = chunk, max(hops, default=0.0)
        seconds: float = known[1]
        return seconds

    @cached_property
    def has_memcpy(self) -> bool:
        """Whether one of its channels is a copy within host memory, as Memcpy is."""
        return any(channel.kind.is_host_copy for channel in self.channels)

    @cached_property
    def steps(self) -> tuple[tuple[int, str, str, str, str], ...]:
        """The facts of a plan's hops that come from its channels: number, name, kind, source and destination."""
        return tuple((i, each.name, str(each.kind), each.source, each.destination) for i, each in enumerate(self.channels))

    @cached_property
    def inside(self) -> tuple[str, ...]:
        """The memories of its intermediate buffers, in order."""
        return tuple(channel.destination for channel in self.channels[:-1])


class Routes:
    """The routes of one machine, found once for every query."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.cost_classes = CostClasses(machine)
        self._found: dict[RouteQuery, tuple[tuple[Route, ...] | None, int]] = {}

    def between(self, query: RouteQuery) -> tuple[Route, ...] | None:
        """The undominated routes, fewest hops first, then by names; empty where there is no path, None where they are too many to
        list."""
        return self._listed(query)[0]

    def left_out(self, query: RouteQuery) -> int:
        """The number of dominated paths and beginnings of paths."""
        return self._listed(query)[1]

    def _listed(self, query: RouteQuery) -> tuple[tuple[Route, ...] | None, int]:
        if query not in self._found:
            there = self._representatives(query)
            if there:
                names = {name: self._renamed(name, there) for name in (query.source, query.destination)}
                routes, dominated = self._listed(query._replace(source=names[query.source], destination=names[query.destination]))
                self._found[query] = self._led_back(routes, {new: old for old, new in there.items()}), dominated
            else:
                search = RouteSearch(self.machine, self.cost_classes, self.nodes(query.source, query.destination), query)
                labels = search.found()
                found = None if labels is None else tuple(Route(label.channels, label.converting) for label in labels)
                self._found[query] = found, search.dominated
        return self._found[query]

    def _representatives(self, query: RouteQuery) -> dict[int, int]:
        """The nodes of a query, ends first, and the nodes that stand for them; empty where they stand for themselves.

        The first nodes of every class of interchangeable nodes stand for all, so that one search serves all pairs of nodes. Of
        routes of equal cost, the one stays that is first by the names of these nodes.
        """
        nodes = self.nodes(query.source, query.destination)
        if nodes is None:
            return {}
        ends = dict.fromkeys(self.machine.memory(name).node for name in (query.source, query.destination))
        found: dict[int, int] = {}
        for alike in self._classes:
            ours = [node for node in ends if node in alike]
            ours += [node for node in alike if node in nodes and node not in ends]
            found.update(zip(ours, alike, strict=False))
        found = {node: found[node] for node in (*ends, *(node for node in found if node not in ends))}
        return {} if all(node == other for node, other in found.items()) else found

    def _renamed(self, name: str, nodes: Mapping[int, int]) -> str:
        """The memory of the same short name on the node that `nodes` gives for that of a memory."""
        memory = self.machine.memory(name)
        return self._by_short_name[nodes[memory.node], memory.short_name]

    @cached_property
    def _by_short_name(self) -> dict[tuple[int, str], str]:
        return {(memory.node, memory.short_name): memory.name for memory in self.machine.memories}

    def _led_back(self, routes: tuple[Route, ...] | None, nodes: Mapping[int, int]) -> tuple[Route, ...] | None:
        """The routes with other nodes, over channels of equal cost."""
        if routes is None:
            return None
        found = []
        for route in routes:
            channels = [self._equal_channel(channel, nodes) for channel in route.channels]
            found.append(Route(tuple(channels), route.converting))
        return tuple(sorted(found, key=lambda route: (len(route.channels), route.names)))

    def _equal_channel(self, channel: Channel, nodes: Mapping[int, int]) -> Channel:
        cost = self.cost_classes.of(channel)
        parallel = self.machine.between(self._renamed(channel.source, nodes), self._renamed(channel.destination, nodes))
        return min((each for each in parallel if self.cost_classes.of(each) == cost), key=lambda each: each.name)

    def nodes(self, source: str, destination: str) -> frozenset[int] | None:
        """The nodes that a path may pass through; None: all."""
        ends = {self.machine.memory(name).node for name in (source, destination)}
        if len(self._classes) == len(self.machine.nodes):
            return None
        relays = [[node for node in alike if node not in ends][:RELAYS_PER_CLASS] for alike in self._classes]
        return frozenset(ends.union(*relays))

    @cached_property
    def _classes(self) -> tuple[tuple[int, ...], ...]:
        return node_classes(self.machine, self.cost_classes)


_ROUTES: OrderedDict[str, Routes] = OrderedDict()


def routes_of(machine: Machine) -> Routes:
    """The routes of a machine, cached for the machines used last."""
    found = _ROUTES.get(machine.digest)
    if found is None:
        found = _ROUTES[machine.digest] = Routes(machine)
        while len(_ROUTES) > MOST_MACHINES:
            _ROUTES.popitem(last=False)
    return found


def forget_routes() -> None:
    """Drop the cached routes of all machines."""
    _ROUTES.clear()
