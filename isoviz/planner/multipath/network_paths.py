"""Paths over a network: link-disjoint routes through the memories of other nodes (Bui et al., sections 4.3 and 4.4).

A message takes the default route, so a path over other links stops in the memories of nodes on the way: its proxies. The paths
are those of the maximum flow over the links. The links of a router are followed in reverse order of the routing, so that the
dimensions that a message takes last come first. A path is then cut into the fewest legs that the default route takes by itself:
under dimension order there is a proxy only where it turns to a dimension of higher priority.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from isoviz.machines.networks import DimensionOrder, Grid
from isoviz.planner.multipath.disjoint_paths import disjoint_paths
from isoviz.planner.multipath.tuning import MOST_PROXIES
from isoviz.planner.time.run_rates import rate_of

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine
    from isoviz.machines.networks import Link, Network
    from isoviz.planner.multipath.machine_links import Ends, Path


class NetworkPaths(NamedTuple):
    """The paths of every pair of ends, and the part of the machine that they lead through, with its channels listed."""

    machine: Machine
    paths: list[list[Path]]


def network_paths(machine: Machine, ends: Sequence[Ends], chunk: float, more: Sequence[Path]) -> NetworkPaths | None:
    """The paths of transfers over a network on which all their ends are; `more` are further paths of the machine.

    None where there is no such network, or where a router of it has no memory that could be a proxy, as in a fat tree.
    """
    outer = [name for pair in ends for name in pair]
    for network in machine.networks:
        proxies = _proxies(machine, network)
        if all(map(network.has_port, outer)) and len(proxies) == network.topology.router_count:
            paths = [
                [_channels(machine, (here, *inner, there), chunk) for inner in each]
                for (here, there), each in zip(ends, proxy_paths(network, ends, proxies), strict=True)
            ]
            return NetworkPaths(_part(machine, [*more, *(path for found in paths for path in found)]), paths)
    return None


def _proxies(machine: Machine, network: Network) -> dict[int, str]:
    """For every router, the first of its memories that holds buffers."""
    found: dict[int, str] = {}
    for router, names in network.memories_at.items():
        name = next((name for name in names if machine.memory(name).holds_buffers), None)
        if name is not None:
            found[router] = name
    return found


def proxy_paths(network: Network, ends: Sequence[Ends], proxies: dict[int, str]) -> list[list[tuple[str, ...]]]:
    """For every pair of ends, the proxies of each of its paths, in order; no two paths have a link in common.

    Paths with more than `MOST_PROXIES` proxies are left out.
    """
    routers = [(network.router_of(here), network.router_of(there)) for here, there in ends]
    graph = _graph(network, *routers[0])
    capacity = {link: network.capacity(link) for links in graph.values() for link, _ in links}
    found = disjoint_paths(graph, capacity, [(here, (there,)) for here, there in routers])
    stops = [[_stops(network, path.links) for path in paths] for paths in found]  # type: ignore[arg-type]  # links are links here
    return [[tuple([proxies[stop] for stop in each]) for each in paths if len(each) <= MOST_PROXIES] for paths in stops]


def _graph(network: Network, source: int, destination: int) -> dict[int, list[tuple[Link, int]]]:
    """The links that work, by router, in reverse order of the routing of a message.

    Of several links between two routers only that of the default route counts: no message takes another one.
    """
    pairs = Counter((link.source, link.destination) for link in network.topology.links())
    graph: dict[int, list[tuple[Link, int]]] = {}
    for link in network.live_links():
        tail, head = link.source, link.destination
        if pairs[tail, head] == 1 or network.route_between(tail, head) == (link,):
            graph.setdefault(tail, []).append((link, head))
    rule, grid = network.routing, network.topology
    if isinstance(rule, DimensionOrder) and isinstance(grid, Grid):
        letters = [grid.dimensions[dimension] for dimension in rule.order(grid, source, destination)]
        for leaving in graph.values():
            leaving.sort(key=lambda each: -letters.index(each[0].name[-1]))
    return graph


def _stops(network: Network, links: Sequence[Link]) -> tuple[int, ...]:
    """The routers between the fewest legs of a path, each of which is the default route between its ends."""
    routers = [links[0].source, *(link.destination for link in links)]
    found, at = [], 0
    while at < len(links):
        end = len(links)
        while end > at + 1 and network.route_between(routers[at], routers[end]) != tuple(links[at:end]):
            end -= 1
        found.append(routers[end])
        at = end
    return tuple(found[:-1])


def _channels(machine: Machine, stops: Sequence[str], chunk: float) -> Path:
    """The fastest channels between the stops of a path."""
    found: list[Channel] = []
    for here, there in itertools.pairwise(stops):
        found.append(max(machine.between(here, there), key=lambda channel: rate_of(channel, chunk, chunk)))
    return tuple(found)


def _part(machine: Machine, paths: Sequence[Path]) -> Machine:
    """The machine with the channels of some paths, the memories on them, and the listed channels of these."""
    channels = {channel.name: channel for path in paths for channel in path}
    names = {end: None for channel in channels.values() for end in (channel.source, channel.destination)}
    channels |= {each.name: each for name in names for each in machine.outgoing(name) if each.destination in names}
    resources = dict.fromkeys(name for channel in channels.values() for name, _ in channel.resources)
    return replace(
        machine,
        memories=tuple(machine.memory(name) for name in names),
        channels=tuple(channels.values()),
        resources=tuple(machine.resource(name) for name in resources),
        positions={},
        networks=(),
    )
