"""Messages between two nodes in simulation: direct, through a proxy, and over several paths in equal parts (section 5).

A window of the paper is a chunk of isoviz. A proxy holds as many windows as there are, so that nothing waits for room. Paths are
those of algorithm 1 on the torus: link-disjoint, each with the proxies at which it stops (sections 4.3 and 4.4).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.layouts import Box, FieldSpace, IndexSpace
from isoviz.machines.networks import DimensionOrder, Grid
from isoviz.planner import Options, PathByHand, Transfer, plan_by_path, plan_of_paths
from isoviz.planner.multipath.disjoint_paths import FlowGraph, disjoint_paths
from isoviz.reproduce.bgq.assumptions import GIB, KIB, MIB
from isoviz.runtime import simulate

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.machines.networks import Link, Network
    from isoviz.planner import Plan

MESSAGES = tuple(KIB << power for power in range(18))
"""Sizes of messages: 1 KiB to 128 MiB."""
WINDOWS = tuple(512 << power for power in range(13))
"""Sizes of windows: 512 bytes to 2 MiB."""
QUICK = {"sizes": (4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, MIB, 2 * MIB, 4 * MIB, 32 * MIB)}
"""Fewer messages, for a quick run."""
_CLOSE = 1.01
"""A size at which something changes is looked for up to this factor."""
_BYTES = FieldSpace.of({"byte": "uint8"})
_ANY = Options(slot_limit=GIB)

Stops = tuple[int, ...]
"""The nodes of a path, from source to destination."""


def memory(node: int) -> str:
    """The memory of a node."""
    return f"node{node}.sys"


@lru_cache(maxsize=4096)
def message(here: int, there: int, nbytes: int) -> Transfer:
    """A message of some bytes between two nodes."""
    return Transfer.whole(IndexSpace(x=nbytes), _BYTES, memory(here), "<F, x>", memory(there), "<F, x>")


def channels(stops: Stops, transport: str) -> list[str]:
    """The names of the channels between the stops of a path."""
    return [f"{memory(here)}->{memory(there)} torus/{transport}" for here, there in itertools.pairwise(stops)]


def one_path(machine: Machine, stops: Stops, nbytes: int, transport: str, window: int | None = None) -> Plan:
    """The plan of a message over one path, in windows of `window` bytes; by default of the size with the least time."""
    return plan_by_path(message(stops[0], stops[-1], nbytes), machine, channels(stops, transport), chunk=window, options=_ANY)


def several_paths(machine: Machine, paths: Sequence[Stops], nbytes: int, transport: str = "pami") -> Plan:
    """The plan of a message over several paths in equal parts, each in windows of the size with the least time."""
    cuts = [nbytes * k // len(paths) for k in range(len(paths) + 1)]
    given = [
        PathByHand(Box((low,), (high,)), channels(stops, transport))
        for stops, (low, high) in zip(paths, itertools.pairwise(cuts), strict=True)
    ]
    return plan_of_paths(message(paths[0][0], paths[0][-1], nbytes), machine, given, options=_ANY)


def throughput(plans: Plan | Sequence[Plan], machine: Machine) -> float:
    """Bytes per second of some plans that begin together, in simulation, by the end of the last one."""
    every = plans if isinstance(plans, Sequence) else [plans]
    return sum(plan.bytes for plan in every) / simulate(every, machine).seconds


def crossing(gain: Callable[[int], float], sizes: Sequence[int]) -> int:
    """The size at which `gain` changes its sign for the first time, to a hundredth; the last size where it keeps it."""
    before = gain(sizes[0]) > 0
    for low, high in itertools.pairwise(sizes):
        if (gain(high) > 0) != before:
            while high > low * _CLOSE:
                middle = round((low * high) ** 0.5)
                low, high = (middle, high) if (gain(middle) > 0) == before else (low, middle)
            return high
    return sizes[-1]


# ---- paths


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
