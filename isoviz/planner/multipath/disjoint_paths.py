"""Link-disjoint paths by maximum flow (Bui et al., Improving Sparse Data Movement Performance, algorithm 1).

Ford-Fulkerson with a breadth-first search finds the largest flow from some nodes to others. A logical source before the sources,
and a logical sink behind the destinations, have links without a limit. The flow is then taken apart into paths, which are given
to the sources in turn, the shortest first. So the paths always carry the whole flow; the paper searches for them anew, and may
miss some.

The links of a node are followed in the order in which the graph has them. A network gives them in reverse order of its routing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Node = TypeVar("Node", bound=Hashable)
Link = TypeVar("Link", bound=Hashable)

Graph = Mapping[Node, Sequence[tuple[Link, Node]]]
"""For every node, the links that leave it, each with the node it leads to. A link has one name in the whole graph."""

ROUNDING = 1e-9
"""A link with less than this share of its capacity left is full: rates are sums of rounded numbers."""


class FlowPath(NamedTuple):
    """A path as its links, and the part of the flow that it carries, in the unit of the capacities."""

    links: tuple[Hashable, ...]
    amount: float


def maximum_flow(
    graph: Graph[Node, Link], capacity: Mapping[Link, float], sources: Sequence[Node], destinations: Sequence[Node]
) -> dict[Link, float]:
    """The flow on every link that carries some, where as much as possible flows from the sources to the destinations.

    Sources and destinations have no node in common.
    """
    incoming: dict[Node, list[tuple[Link, Node]]] = {}
    for tail, links in graph.items():
        for link, head in links:
            incoming.setdefault(head, []).append((link, tail))
    flow: dict[Link, float] = {}
    ends = frozenset(destinations)
    while True:
        steps = _augmenting(graph, incoming, capacity, flow, sources, ends)
        if not steps:
            return {link: amount for link, amount in flow.items() if amount > ROUNDING * capacity[link]}
        amount = min(capacity[link] - flow.get(link, 0.0) if forwards else flow[link] for link, forwards in steps)
        for link, forwards in steps:
            flow[link] = flow.get(link, 0.0) + (amount if forwards else -amount)


def _augmenting(
    graph: Graph[Node, Link],
    incoming: Graph[Node, Link],
    capacity: Mapping[Link, float],
    flow: Mapping[Link, float],
    sources: Sequence[Node],
    ends: frozenset[Node],
) -> list[tuple[Link, bool]]:
    """The links of a shortest path in the residual graph, each with whether it is followed forwards; empty if there is none."""
    before: dict[Node, tuple[Node, Link, bool] | None] = dict.fromkeys(sources)
    queue = deque(before)
    while queue:
        node = queue.popleft()
        if node in ends:
            return _followed_back(before, node)
        for link, head in graph.get(node, ()):
            if head not in before and capacity[link] - flow.get(link, 0.0) > ROUNDING * capacity[link]:
                before[head] = node, link, True
                queue.append(head)
        for link, tail in incoming.get(node, ()):
            if tail not in before and flow.get(link, 0.0) > ROUNDING * capacity[link]:
                before[tail] = node, link, False
                queue.append(tail)
    return []


def _followed_back(before: Mapping[Node, tuple[Node, Link, bool] | None], node: Node) -> list[tuple[Link, bool]]:
    steps = []
    while (step := before[node]) is not None:
        node, link, forwards = step
        steps.append((link, forwards))
    return steps[::-1]


def shortest_links(
    graph: Graph[Node, Link], left: Mapping[Link, float], source: Node, destinations: frozenset[Node]
) -> tuple[Link, ...] | None:
    """The links of a path with the fewest links from a source to a destination, over links that have something left."""
    before: dict[Node, tuple[Node, Link, bool] | None] = {source: None}
    queue = deque(before)
    while queue:
        node = queue.popleft()
        if node in destinations:
            return tuple([link for link, _ in _followed_back(before, node)])
        for link, head in graph.get(node, ()):
            if head not in before and left.get(link, 0.0) > 0:
                before[head] = node, link, True
                queue.append(head)
    return None


def disjoint_paths(
    graph: Graph[Node, Link],
    capacity: Mapping[Link, float],
    demands: Sequence[tuple[Node, Sequence[Node]]],
) -> list[list[FlowPath]]:
    """Paths for every demand: a source, and the destinations of which each of its paths leads to one.

    No link carries more than its capacity over all paths of all demands. With links of capacity 1 the paths are disjoint. Where
    every source may send to every destination, the paths together carry the maximum flow. Where sources have destinations of
    their own, each gets a shortest path over what is left, in turn, until nobody gets one (algorithm 1). This may be less than
    the flow of one source and one destination for all.

    Raises:
        ValueError: a source is among its destinations.
    """
    for source, destinations in demands:
        if source in destinations:
            raise ValueError(f"{source!r} is a source and its own destination")
    every = [frozenset(destinations) for _, destinations in demands]
    sources = list(dict.fromkeys(source for source, _ in demands))
    left: dict[Link, float] = dict(capacity)
    if len(set(every)) == 1 and len(sources) == len(demands) and every[0].isdisjoint(sources):
        left = maximum_flow(graph, capacity, sources, list(dict.fromkeys(demands[0][1])))
    found: list[list[FlowPath]] = [[] for _ in demands]
    going = list(range(len(demands)))
    while going:
        for number in list(going):
            links = shortest_links(graph, left, demands[number][0], every[number])
            if links is None:
                going.remove(number)
                continue
            amount = min(left[link] for link in links)
            for link in links:
                rest = left[link] - amount
                left[link] = rest if rest > ROUNDING * capacity[link] else 0.0
            found[number].append(FlowPath(links, amount))
    return found
