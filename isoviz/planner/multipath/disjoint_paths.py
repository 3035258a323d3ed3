"""Link-disjoint paths by maximum flow (Bui et al., algorithm 1).

A breadth-first search finds how far every node is from the destinations over links with capacity left. The shortest paths are
filled. This is repeated until no path is left (Dinic's form of Ford-Fulkerson). A logical source before the sources, and a
logical sink behind the destinations, have links without a limit. The flow is then taken apart into paths, which are given to the
sources in turn, the shortest first. So they carry the whole flow; the paper searches for paths anew, and may miss some.

The links of a node are followed in the order in which the graph has them. A network gives them in reverse order of its routing.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

Node = TypeVar("Node", bound=Hashable)
Link = TypeVar("Link", bound=Hashable)
End = TypeVar("End", bound=Hashable)

ROUNDING = 1e-9
"""A link with less than this share of the largest capacity left is full: rates are sums of rounded numbers."""

LATER = (1.0, 1.05, 1.2, 1.5, 2.0, 3.0, 5.0)
"""The times in which all bytes should arrive, as multiples of a lower bound, one after the other."""
LITTLE = 0.01
"""A path is left out where it would carry less than this share of its source's bytes."""


class FlowPath(NamedTuple, Generic[Link]):
    """A path as its links, and the part of the flow that it carries, in the unit of the capacities."""

    links: tuple[Link, ...]
    amount: float


class FlowGraph(Generic[Node, Link]):
    """Nodes and directed links with their capacities, by number: link k has `capacity[k]`.

    `graph` holds, for every node, the links that leave it, each with the node it leads to. A link has one name in the graph.
    """

    def __init__(self, graph: Mapping[Node, Sequence[tuple[Link, Node]]], capacity: Mapping[Link, float]) -> None:
        self.number: dict[Node, int] = {node: number for number, node in enumerate(graph)}
        for links in graph.values():
            for _, head in links:
                self.number.setdefault(head, len(self.number))
        self.links: list[Link] = []
        self.leaving: list[list[tuple[int, int]]] = [[] for _ in self.number]
        """By node: the links that leave it, each with the node it leads to."""
        self.arcs: list[list[tuple[int, int]]] = [[] for _ in self.number]
        """By node: the arcs of the residual graph. Arc 2k follows link k, arc 2k + 1 takes back what flows over it."""
        for tail, links in graph.items():
            here = self.number[tail]
            for link, head in links:
                self.leaving[here].append((len(self.links), self.number[head]))
                self.links.append(link)
        self.capacity = [capacity[link] for link in self.links]
        self.full = ROUNDING * max(self.capacity, default=0.0)
        """A link with less than this left is full."""
        for here, ways in enumerate(self.leaving):
            self.arcs[here] += [(2 * at, there) for at, there in ways]
        for here, ways in enumerate(self.leaving):
            for at, there in ways:
                self.arcs[there].append((2 * at + 1, here))
        self.link_number = {link: number for number, link in enumerate(self.links)}

    def without(self, links: Collection[Link]) -> FlowGraph[Node, Link]:
        """The graph in which some links carry nothing."""
        found = copy.copy(self)
        found.capacity = [0.0 if link in links else each for link, each in zip(self.links, self.capacity, strict=True)]
        return found

    def with_ends(self, ends: Mapping[End, tuple[Node, float]]) -> FlowGraph[Node | End, Link | End]:
        """The graph with further nodes: each hangs on a node by a link of its own, which has its name, with this capacity."""
        found: FlowGraph[Node | End, Link | End] = FlowGraph({}, {})
        for known, number in self.number.items():
            found.number[known] = number
        found.links, found.capacity, found.full = [*self.links], [*self.capacity], self.full
        found.leaving, found.arcs = [*self.leaving], [*self.arcs]
        for end, (node, capacity) in ends.items():
            here, link, there = self.number[node], len(found.links), len(found.leaving)
            found.number[end] = there
            found.links.append(end)
            found.capacity.append(capacity)
            found.leaving[here] = [*found.leaving[here], (link, there)]
            found.arcs[here] = [*found.arcs[here], (2 * link, there)]
            found.leaving.append([])
            found.arcs.append([(2 * link + 1, here)])
        return found


class _Flow:
    """A flow that grows: what every arc can still take."""

    def __init__(self, graph: FlowGraph[Node, Link], capacity: Sequence[float]) -> None:
        self.arcs, self.full = graph.arcs, graph.full
        self.capacity = capacity
        self.left = [0.0] * (2 * len(capacity))
        self.left[::2] = capacity

    def grow(self, supply: dict[int, float], ends: frozenset[int]) -> bool:
        """Add what the sources in `supply` can still send, and lower their supply by it; whether it was anything."""
        grown = False
        while True:
            sources = [node for node, amount in supply.items() if amount > self.full]
            distance = self._distances(sources, ends)
            if all(distance[source] < 0 for source in sources):
                return grown
            nexts = [0] * len(self.arcs)
            for source in sources:
                while distance[source] >= 0 and supply[source] > self.full:
                    path = self._path(distance, nexts, source)
                    if not path:
                        break
                    amount = min(supply[source], min([self.left[arc] for arc in path]))
                    for arc in path:
                        self.left[arc] -= amount
                        self.left[arc ^ 1] += amount
                    supply[source] -= amount
                    grown = True

    def _distances(self, sources: Sequence[int], ends: frozenset[int]) -> list[int]:
        """By node: the arcs to the nearest of `ends`, at least for all sources that reach one; -1 for others."""
        distance = [-1] * len(self.arcs)
        frontier, depth, waiting = sorted(ends), 0, set(sources)
        for node in frontier:
            distance[node] = 0
        left, full, arcs = self.left, self.full, self.arcs
        while frontier and waiting:
            depth += 1
            reached = []
            for node in frontier:
                for arc, other in arcs[node]:
                    if distance[other] < 0 and left[arc ^ 1] > full:
                        distance[other] = depth
                        reached.append(other)
            waiting.difference_update(reached)
            frontier = reached
        return distance

    def _path(self, distance: list[int], nexts: list[int], source: int) -> list[int]:
        """The arcs of a path that comes nearer with each arc. `nexts` keeps what was tried in vain."""
        left, full, arcs = self.left, self.full, self.arcs
        path: list[int] = []
        nodes = [source]
        while nodes:
            node = nodes[-1]
            if not distance[node]:
                return path
            mine, at, nearer = arcs[node], nexts[node], distance[node] - 1
            while at < len(mine) and not (distance[mine[at][1]] == nearer and left[mine[at][0]] > full):
                at += 1
            nexts[node] = at
            if at < len(mine):
                path.append(mine[at][0])
                nodes.append(mine[at][1])
                continue
            nodes.pop()
            if path:
                path.pop()
                nexts[nodes[-1]] += 1
        return path


def maximum_flow(
    graph: FlowGraph[Node, Link], capacity: Sequence[float], sources: Sequence[int], ends: frozenset[int]
) -> list[float]:
    """By link, its part of the largest flow from some nodes to others within these capacities; nodes are numbers.

    Where there are several sources, each may send one link's worth before any of them sends a second one, and so on.
    """
    flow = _Flow(graph, capacity)
    if len(sources) == 1:
        flow.grow({sources[0]: math.inf}, ends)
    else:
        supply = dict.fromkeys(sources, 0.0)
        step = max(graph.capacity, default=0.0)
        while True:
            for source in sources:
                supply[source] += step
            if not flow.grow(supply, ends):
                break
    return flow.left[1::2]


def shortest_links(graph: FlowGraph[Node, Link], left: Sequence[float], source: int, ends: frozenset[int]) -> list[int]:
    """The links of a path with the fewest links from a source to one of `ends`, over links that have something left.

    Empty if there is none.
    """
    before: dict[int, tuple[int, int]] = {source: (-1, -1)}
    frontier = [source]
    while frontier:
        reached = []
        for node in frontier:
            for link, head in graph.leaving[node]:
                if left[link] > 0 and head not in before:
                    before[head] = node, link
                    if head in ends:
                        return _followed_back(before, head)
                    reached.append(head)
        frontier = reached
    return []


def _followed_back(before: Mapping[int, tuple[int, int]], node: int) -> list[int]:
    links = []
    node, link = before[node]
    while link >= 0:
        links.append(link)
        node, link = before[node]
    return links[::-1]


def disjoint_paths(
    graph: FlowGraph[Node, Link],
    demands: Sequence[tuple[Node, Collection[Node]]],
    first: Sequence[Sequence[Link] | None] = (),
    most: int = 1 << 30,
) -> list[list[FlowPath[Link]]]:
    """At most `most` paths for every demand: a source, and its destinations. Each path leads to one of them.

    No link carries more than its capacity over all paths of all demands. With links of capacity 1 the paths are disjoint. Where
    every source may send to every destination, the paths together carry the maximum flow. Where sources have destinations of
    their own, each gets a shortest path over what is left, in turn, until nobody gets one (algorithm 1). This may be less than
    the flow of one source and one destination for all.

    `first` holds for every demand the links of the path that it should have first, or None. It gets it where this takes nothing
    from the maximum flow and from others that come before it.

    Raises:
        ValueError: a source is among its destinations.
    """
    for source, destinations in demands:
        if source in destinations:
            raise ValueError(f"{source!r} is a source and its own destination")
    turns = _Turns(graph, demands, first)
    found: list[list[FlowPath[Link]]] = [[] for _ in demands]
    going = list(range(len(demands)))
    while going:
        for number in list(going):
            path = turns.next(number) if len(found[number]) < most else None
            if path is None:
                going.remove(number)
            else:
                found[number].append(path)
    return found


class _Turns(Generic[Node, Link]):
    """What is left of the links while paths are given to demands."""

    def __init__(
        self,
        graph: FlowGraph[Node, Link],
        demands: Sequence[tuple[Node, Collection[Node]]],
        first: Sequence[Sequence[Link] | None],
    ) -> None:
        number = graph.number
        self.graph = graph
        self.sources = [number.get(source, -1) for source, _ in demands]
        self.ends = [frozenset(number[node] for node in nodes if node in number) for _, nodes in demands]
        self.first: list[list[int] | None] = [None] * len(demands)
        for at, links in enumerate(first):
            known = [graph.link_number.get(link, -1) for link in links or ()]
            self.first[at] = known if known and -1 not in known else None
        self.left: list[float] = list(graph.capacity)
        shared = len(set(self.ends)) == 1 and len(set(self.sources)) == len(demands) and self.ends[0].isdisjoint(self.sources)
        if shared and -1 not in self.sources:
            self._keep_to_the_flow()

    def _keep_to_the_flow(self) -> None:
        """Leave only what the maximum flow uses, with the first path of a single demand if that is part of such a flow."""
        graph, ends, flow = self.graph, self.ends[0], None
        first = self.first[0] if len(self.sources) == 1 else None
        if first is not None:
            rest = list(graph.capacity)
            amount = self._take(rest, first)
            other = maximum_flow(graph, rest, self.sources, ends)
            for link in first:
                other[link] += amount
            if self._sent(other) < self._most() - graph.full:
                flow = maximum_flow(graph, graph.capacity, self.sources, ends)
            if flow is None or self._sent(other) >= self._sent(flow) - graph.full:
                self.left = [each if each > graph.full else 0.0 for each in other]
                return
        self.first = [None] * len(self.first)
        flow = flow or maximum_flow(graph, graph.capacity, self.sources, ends)
        self.left = [each if each > graph.full else 0.0 for each in flow]

    def _most(self) -> float:
        """A bound on the flow: what leaves the sources, or enters the destinations."""
        capacity, graph = self.graph.capacity, self.graph
        out = math.fsum(capacity[link] for source in self.sources for link, _ in graph.leaving[source])
        into = math.fsum(capacity[arc >> 1] for end in self.ends[0] for arc, _ in graph.arcs[end] if arc & 1)
        return min(out, into)

    def _sent(self, flow: Sequence[float]) -> float:
        return math.fsum(flow[link] for source in self.sources for link, _ in self.graph.leaving[source])

    def _take(self, left: list[float], links: Sequence[int]) -> float:
        amount = min([left[link] for link in links])
        for link in links:
            rest = left[link] - amount
            left[link] = rest if rest > self.graph.full else 0.0
        return amount

    def next(self, number: int) -> FlowPath[Link] | None:
        """The next path of a demand; None if none is left."""
        first, self.first[number] = self.first[number], None
        source, left = self.sources[number], self.left
        if first is not None and all(left[link] > 0 for link in first):
            links = first
        elif source < 0 or not any(left[link] > 0 for link, _ in self.graph.leaving[source]) or not self._has_way_in(number):
            return None
        else:
            links = shortest_links(self.graph, left, source, self.ends[number])
        if not links:
            return None
        amount = self._take(left, links)
        return FlowPath(tuple([self.graph.links[link] for link in links]), amount)

    def _has_way_in(self, number: int) -> bool:
        """Whether a link to a destination of a demand has anything left: where none has, no search is needed."""
        arcs = self.graph.arcs
        return any(arc & 1 and self.left[arc >> 1] > 0 for end in self.ends[number] for arc, _ in arcs[end])


def balanced_paths(
    graph: FlowGraph[Node, Link], sources: Sequence[Node], ends: Collection[Node], nbytes: Sequence[float], most: int
) -> list[list[FlowPath[Link]]]:
    """Paths for sources that may send to any of `ends`, so that all of `nbytes` arrive early; at most `most` for each source.

    A flow in which every source sends its bytes within some time, or as many as reach the ends, is taken apart into paths. The
    time is the least one that a bound allows, or somewhat more. No link carries more than its capacity.
    """
    starts = [graph.number[source] for source in sources]
    targets = dict.fromkeys(graph.number[node] for node in ends)
    total: dict[int, float] = {}
    for start, moved in zip(starts, nbytes, strict=True):
        total[start] = total.get(start, 0.0) + moved
    out = {start: math.fsum(graph.capacity[link] for link, _ in graph.leaving[start]) for start in total}
    into = math.fsum(graph.capacity[arc >> 1] for end in targets for arc, _ in graph.arcs[end] if arc & 1)
    if not into or not all(out.values()):
        return [[] for _ in sources]
    seconds = max(math.fsum(total.values()) / into, *(moved / out[start] for start, moved in total.items()))
    for factor in LATER:
        flow = _Flow(graph, graph.capacity)
        supply = {start: moved / (seconds * factor) for start, moved in total.items()}
        flow.grow(supply, frozenset(targets))
        if all(left <= LITTLE * total[start] / seconds for start, left in supply.items()):
            break
    left = [each if each > graph.full else 0.0 for each in flow.left[1::2]]
    found: list[list[FlowPath[Link]]] = [[] for _ in sources]
    for number, (start, moved) in enumerate(zip(starts, nbytes, strict=True)):
        wanted = moved / (seconds * factor)
        rest = wanted
        while rest > LITTLE * wanted and len(found[number]) < most:
            links = shortest_links(graph, left, start, frozenset(targets))
            if not links:
                break
            amount = min(rest, min([left[link] for link in links]))
            for link in links:
                left[link] = left[link] - amount if left[link] - amount > graph.full else 0.0
            rest -= amount
            if amount > LITTLE * wanted:
                found[number].append(FlowPath(tuple([graph.links[link] for link in links]), amount))
    return found
