"""The part of a machine with networks that matters for paths between some of its memories.

A machine with networks has more channels than can be listed. Planners search among a few of them. A network joins any two of its
ports by one channel, so a path gains nothing from a stop at a third port, unless

- a dead part is in the way: then ports that both ends reach can relay;
- the ends are on different networks: then nodes on both of them are gateways;
- the network is small, and its hardware does not forward: then every port may relay.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nsmallest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoviz.machines.channel import Channel
    from isoviz.machines.memory import Memory
    from isoviz.machines.networks.network import Network

MOST_WHOLE = 16
"""A network of at most this number of ports counts as a whole."""
MOST_RELAYS = 4
"""The ports that may relay round a dead part."""
MOST_GATEWAYS = 8
"""The gateways between two networks; the nearest ones."""


class Surroundings:
    """The nodes of a machine by what joins them: its networks, and the groups of nodes that its listed channels join."""

    def __init__(self, memories: Mapping[str, Memory], channels: Iterable[Channel], networks: tuple[Network, ...]) -> None:
        self.memories = memories
        self.networks = networks
        self._ports: list[dict[int, list[str]]] = [{} for _ in networks]
        """By network: the memories with a port, by node."""
        self._groups: dict[int, list[int]] = {}
        """By node: the numbers of its networks, then that of its group of nodes joined by channels."""
        for number, network in enumerate(networks):
            for port in network.ports:
                self._ports[number].setdefault(memories[port.memory].node, []).append(port.memory)
            for node in self._ports[number]:
                self._groups.setdefault(node, []).append(number)
        self._joined = _components(channels, memories)
        for number, nodes in enumerate(self._joined, len(networks)):
            for node in nodes:
                self._groups.setdefault(node, []).append(number)

    def nodes(self, names: Iterable[str]) -> set[int]:
        """The nodes that matter for paths between these memories."""
        homes = list(dict.fromkeys(self.memories[name].node for name in names))
        found = set(homes)
        for home in homes:
            for group in self._groups.get(home, ()):
                if group >= len(self.networks) or len(self.networks[group].ports) <= MOST_WHOLE:
                    found.update(self._members(group))
        for here, there in itertools.permutations(homes, 2):
            found.update(self._between(here, there))
        return found

    def _members(self, group: int) -> Collection[int]:
        """The nodes of a network or of a group of nodes joined by channels."""
        return self._ports[group] if group < len(self.networks) else self._joined[group - len(self.networks)]

    def _between(self, here: int, there: int) -> Iterator[int]:
        """The nodes that a path from one node to another may have to go through."""
        chain = self._chain(here, there)
        if len(chain) == 1 and chain[0] < len(self.networks) and math.isinf(self._links(chain[0], here, there)):
            yield from self._relays(chain[0], here, there)
        for place, (before, after) in enumerate(itertools.pairwise(chain)):
            ways = []
            later = self._members(after)
            for node in (each for each in self._members(before) if each in later):
                links = self._links(before, here, node) if place == 0 else 0.0
                links += self._links(after, node, there) if place == len(chain) - 2 else 0.0
                if math.isfinite(links):
                    ways.append((links, node))
            yield from (node for _, node in nsmallest(MOST_GATEWAYS, ways))

    def _chain(self, here: int, there: int) -> list[int]:
        """The fewest networks, and groups of nodes joined by channels, that lead from one node to another; empty if none do."""
        wanted = self._groups.get(there, [])
        came: dict[int, int | None] = dict.fromkeys(self._groups.get(here, ()))
        frontier = list(came)
        while frontier:
            for group in frontier:
                if group in wanted:
                    chain = [group]
                    while (before := came[chain[-1]]) is not None:
                        chain.append(before)
                    return chain[::-1]
            reached: dict[int, int] = {}
            for group in frontier:
                for node in self._members(group):
                    for other in self._groups[node]:
                        if other not in came:
                            reached.setdefault(other, group)
            came.update(reached)
            frontier = list(reached)
        return []

    def _links(self, group: int, here: int, there: int) -> float:
        """The links of the shortest route from one node to another in a network; infinite where there is none."""
        if group >= len(self.networks) or here == there:
            return 0.0
        network, ports = self.networks[group], self._ports[group]
        pairs = itertools.product(ports.get(here, ()), ports.get(there, ()))
        return min((_length(network, *pair) for pair in pairs), default=math.inf)

    def _relays(self, group: int, here: int, there: int) -> Iterable[int]:
        """Nodes that can relay between two nodes of a network, where a dead part is in the way of the route."""
        ways = []
        for node, names in self._ports[group].items():
            if node not in (here, there) and any(self.memories[name].holds_buffers for name in names):
                links = self._links(group, here, node)
                if math.isfinite(links):  # most are not worth the second look
                    links += self._links(group, node, there)
                if math.isfinite(links):
                    ways.append((links, node))
        return [node for _, node in nsmallest(MOST_RELAYS, ways)] or self._steps(group, here, there)

    def _steps(self, group: int, here: int, there: int) -> list[int]:
        """The nodes of a path that goes from node to node over single links; empty if there is none."""
        network, ports = self.networks[group], self._ports[group]
        starts = [network.router_of(name) for name in ports[here]]
        goals = dict.fromkeys(network.router_of(name) for name in ports[there])
        came: dict[int, int | None] = dict.fromkeys(starts)
        frontier = list(came)
        while frontier and goals.keys().isdisjoint(came):
            reached: dict[int, int] = {}
            for router in frontier:
                for link in network.topology.links_from(router):
                    onward = link.destination
                    is_stop = onward in goals or onward in network.memories_at
                    if onward not in came and is_stop and network.route_between(router, onward) == (link,):
                        reached.setdefault(onward, router)
            came.update(reached)
            frontier = list(reached)
        routers = [router for router in goals if router in came][:1]
        while routers and (before := came[routers[-1]]) is not None:
            routers.append(before)
        return [self.memories[name].node for router in routers for name in network.memories_at.get(router, ())]


def _length(network: Network, source: str, destination: str) -> float:
    route = network.route(source, destination)
    return math.inf if route is None else float(len(route))


def _components(channels: Iterable[Channel], memories: Mapping[str, Memory]) -> list[dict[int, None]]:
    """The groups of nodes that channels join, directly or over others."""
    group_of: dict[int, dict[int, None]] = {}
    for channel in channels:
        if channel.kind.crosses_nodes:
            here, there = memories[channel.source].node, memories[channel.destination].node
            one, other = group_of.setdefault(here, {here: None}), group_of.setdefault(there, {there: None})
            if one is not other:
                one |= other
                group_of.update(dict.fromkeys(other, one))
    return list({id(group): group for group in group_of.values()}.values())
