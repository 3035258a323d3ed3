"""Algorithm 1 on the torus: link-disjoint paths, and the proxies at which they stop (sections 4.3 and 4.4)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.machines.networks import DimensionOrder, Grid
from isoviz.planner.multipath.disjoint_paths import FlowGraph, disjoint_paths

if TYPE_CHECKING:
    from isoviz.machines.networks import Link, Network
    from isoviz.reproduce.bgq.messages import Stops

LinkGraph = dict[int, list[tuple["Link", int]]]
"""For every router, its links that messages take, each with the router that it leads to."""

ORDERS: dict[str, Callable[[int, int], float]] = {
    "routing": lambda rank, _: rank,
    "reverse": lambda rank, _: -rank,
    "any": lambda _, number: random.Random(number).random(),  # noqa: S311  # no secret
}
"""How the links of a router are sorted, by the rank of the dimension in the routing order and by the number of the link: as the
messages take them, in reverse (section 4.4), or in an order of no meaning, the same each time."""


@lru_cache(maxsize=8)
def link_graph(network: Network, order: str = "routing") -> LinkGraph:
    """The links of a torus by router. Of two links between the same routers, only that of the default route counts."""
    grid, rule = network.topology, network.routing
    assert isinstance(grid, Grid) and isinstance(rule, DimensionOrder)
    ranks = {grid.dimensions[dimension]: rank for rank, dimension in enumerate(rule.order(grid, 0, 1))}
    double = {letter for letter, size in zip(grid.dimensions, grid.sizes, strict=True) if size == 2}
    found: LinkGraph = {router: [] for router in range(grid.router_count)}
    links = [
        link
        for link in network.live_links()
        if link.name[-1] not in double or network.route_between(link.source, link.destination) == (link,)
    ]
    places = {link: ORDERS[order](ranks[link.name[-1]], number) for number, link in enumerate(links, 1)}
    for link in sorted(links, key=places.__getitem__):
        found[link.source].append((link, link.destination))
    return found


def stops_of(network: Network, links: Sequence[Link]) -> Stops:
    """The routers at which a path stops, its ends included: between two of them the default route takes these links.

    On the torus of `bgq` the number of a router is that of its node.
    """
    routers = [links[0].source, *(link.destination for link in links)]
    found, at = [routers[0]], 0
    while at < len(links):
        end = len(links)
        while end > at + 1 and network.route_between(routers[at], routers[end]) != tuple(links[at:end]):
            end -= 1
        found.append(routers[end])
        at = end
    return tuple(found)


def paths_between(network: Network, pairs: Sequence[tuple[int, int]], order: str = "routing") -> list[list[Stops]]:
    """For every pair of nodes, link-disjoint paths as their stops, those with the fewest proxies first."""
    graph = link_graph(network, order)
    capacity = {link: 1.0 for links in graph.values() for link, _ in links}
    found = disjoint_paths(FlowGraph(graph, capacity), [(here, (there,)) for here, there in pairs])
    return [sorted((stops_of(network, path.links) for path in paths), key=len) for paths in found]
