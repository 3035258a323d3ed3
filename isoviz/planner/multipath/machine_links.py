"""The channels of a machine as links of a graph, and the paths over them that several paths may take.

A memory that holds buffers can relay data. A channel has as capacity the rate of whole chunks, or what its shared resources leave
it, if that is less. Channels between the same two memories over the same resources are protocols of one link, so only the fastest
counts.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from isoviz.planner.multipath.disjoint_paths import FlowGraph, disjoint_paths
from isoviz.planner.multipath.split import Split, Stream, split_bytes
from isoviz.planner.multipath.tuning import FEW_LINKS, LINK_STEPS, MOST_PATHS, MOST_PRICED, MOST_QUICK, PLAN_GAIN, SURE_GAIN
from isoviz.planner.planning_work import Work
from isoviz.planner.problem import machine_in_mean
from isoviz.planner.time.path_time import rate_of

if TYPE_CHECKING:
    import networkx

    from isoviz.machines import Channel, Machine

Path = tuple["Channel", ...]


class Demand(NamedTuple):
    """The memories between which a transfer moves: each part of it may go to any of the destinations.

    The first destination is that of the transfer.
    """

    source: str
    destinations: tuple[str, ...]


class MachineLinks:
    """The links of a machine for chunks of `chunk` bytes, between memories that hold buffers and the ends of transfers.

    `known` holds the link-disjoint paths of every demand, where a network has determined them, and `direct` others of the only
    demand, with fewer stops (`network_paths`). `starts` is how often the transfers start.
    """

    def __init__(
        self,
        machine: Machine,
        chunk: float,
        demands: Sequence[Demand],
        known: list[list[Path]] | None = None,
        direct: Sequence[Path] = (),
        starts: int = 1,
    ) -> None:
        self._in_mean = machine_in_mean(machine, starts)
        self.machine, self.chunk, self.known, self.direct = machine, chunk, known, direct
        self.demands = tuple(demands)
        outer = {name for source, destinations in demands for name in (source, *destinations)}
        self._resources = {resource.name: resource for resource in machine.resources}
        self._stops = dict.fromkeys(each.name for each in machine.memories if each.holds_buffers or each.name in outer)
        self.uses: dict[str, dict[str, float]] = {}
        """For every link, by its channel: the seconds of each channel and resource that a byte costs."""
        self.graph: dict[str, list[tuple[Channel, str]]] = {}
        for name in self._stops:
            self.graph[name] = [(channel, channel.destination) for channel in self._leaving(name)]

    def begin(self, path: Path) -> float:
        """The least seconds of a path before its bytes count."""
        if self._in_mean is not self.machine:
            path = tuple([self._in_mean.channel(channel.name) for channel in path])
        return sum(channel.least_setup + channel.request_seconds for channel in path)

    def _leaving(self, memory: str) -> list[Channel]:
        best: dict[tuple[str, frozenset[str]], Channel] = {}
        for channel in self.machine.outgoing(memory):
            if channel.is_self_loop or channel.destination not in self._stops:
                continue
            rate = rate_of(channel, self.chunk, self.chunk)
            if not rate:
                continue
            costs = {f"resource {name}": self._resources[name].cost(weight, rate) for name, weight in channel.resources if weight}
            self.uses[channel.name] = {f"channel {channel.name}": 1 / rate, **costs}
            key = channel.destination, frozenset(costs)
            if key not in best or self.seconds(channel) < self.seconds(best[key]):
                best[key] = channel
        return list(best.values())

    @property
    def steps(self) -> float:
        """Steps of a search among the links (`planner.planning_work`)."""
        return LINK_STEPS * len(self.uses)

    @property
    def has_few(self) -> bool:
        """Whether there are so few links that paths can be tried one by one."""
        return self.known is None and len(self.uses) <= FEW_LINKS

    def seconds(self, channel: Channel) -> float:
        """Seconds per byte of a channel with all its resources for itself."""
        return max(self.uses[channel.name].values())

    def stream(self, demand: int, path: Path) -> Stream:
        """The stream of a path in the steady state."""
        uses: dict[str, float] = {}
        for channel in path:
            for name, cost in self.uses[channel.name].items():
                uses[name] = uses.get(name, 0.0) + cost
        return Stream(demand, 0.0, 0.0, max(uses.values()), uses)

    @cached_property
    def disjoint(self) -> list[list[Path]]:
        """For every demand, the paths of the maximum flow, shortest first (`disjoint_paths`)."""
        if self.known is not None:
            return self.known
        capacity = {channel: 1 / self.seconds(channel) for links in self.graph.values() for channel, _ in links}
        found = disjoint_paths(FlowGraph(self.graph, capacity), self.demands)
        return [[path.links for path in paths] for paths in found]

    @cached_property
    def _view(self) -> networkx.MultiDiGraph[str]:
        import networkx

        view: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
        for tail, links in self.graph.items():
            for channel, head in links:
                view.add_edge(tail, head, channel.name, channel=channel)
        return view

    def quick(self, demand: Demand, nbytes: float) -> list[Path]:
        """The paths that begin soonest, for a part of a transfer of `nbytes` bytes, on a machine with few links.

        A path that carries nothing in the steady state may be the best one for a small message.
        """
        import networkx

        if not self.has_few:
            return []
        view: networkx.DiGraph[str | tuple[str]] = networkx.DiGraph()  # channels are nodes as well: some are parallel
        for tail, links in self.graph.items():
            for channel, head in links:
                start = self.begin((channel,)) + nbytes / MOST_QUICK * self.seconds(channel)
                view.add_edge(tail, (channel.name,), seconds=start)
                view.add_edge((channel.name,), head, seconds=0.0)
        found: list[Path] = []
        for there in demand.destinations:
            if there not in view or not networkx.has_path(view, demand.source, there):
                continue
            nodes = itertools.islice(networkx.shortest_simple_paths(view, demand.source, there, weight="seconds"), MOST_QUICK)
            found += [tuple([self.machine.channel(node[0]) for node in path if isinstance(node, tuple)]) for path in nodes]
        return found

    def short(self, demand: Demand, nbytes: float, hops: int) -> list[Path]:
        """Good paths of at most some hops to the destination of a demand.

        For every number of hops, one is through soonest with all bytes as one chunk, and one has the fastest slowest hop.
        """
        found: list[Path] = []
        for combine in (operator.add, max):
            ways: dict[str, tuple[float, Path]] = {demand.source: (0.0, ())}
            for _ in range(min(hops, len(self.graph))):
                further: dict[str, tuple[float, Path]] = {}
                for here, (so_far, path) in ways.items():
                    for channel, there in self.graph[here] if here not in demand.destinations else ():
                        seconds = self.begin((channel,)) + nbytes * self.seconds(channel)
                        total = combine(so_far, seconds)
                        if there != demand.source and (there not in further or total < further[there][0]):
                            further[there] = total, (*path, channel)
                ways = further
                found += [ways[name][1] for name in demand.destinations if name in ways]
        return [path for path in dict.fromkeys(found) if len({channel.destination for channel in path}) == len(path)]

    def cheapest(self, demand: Demand, prices: Mapping[str, float], per_hop: float) -> tuple[Path, float]:
        """The path with the lowest price per byte: Σ price × seconds over its links, and `per_hop` for each hop."""
        import networkx

        def price(channel: Channel) -> float:
            return per_hop + sum(prices.get(name, 0.0) * cost for name, cost in self.uses[channel.name].items())

        def weight(_tail: str, _head: str, edges: Mapping[str, Mapping[str, Channel]]) -> float:
            return min(price(edge["channel"]) for edge in edges.values())

        if len(demand.destinations) == 1:
            names = networkx.dijkstra_path(self._view, demand.source, demand.destinations[0], weight=weight)
        else:
            seconds, ways = networkx.single_source_dijkstra(self._view, demand.source, weight=weight)
            names = ways[min(demand.destinations, key=lambda name: seconds.get(name, math.inf))]
        path = []
        for tail, head in itertools.pairwise(names):
            path.append(
                min((edge["channel"] for edge in self._view[tail][head].values()), key=lambda each: (price(each), each.name))
            )
        return tuple(path), sum(price(channel) - per_hop for channel in path)


class Steady(NamedTuple):
    """The paths that each transfer may take, and the split of bytes in the steady state, where every path is filled.

    `one_path` is the time of the best path of each transfer alone, in seconds: the longest of them.
    """

    paths: list[list[Path]]
    split: Split
    one_path: float

    @property
    def gains(self) -> bool:
        """Whether several paths are faster than one in the steady state."""
        return self.split.seconds < self.one_path * (1 - PLAN_GAIN)


def steady_paths(links: MachineLinks, demands: Sequence[float], more: Sequence[Path], work: Work | None = None) -> Steady:
    """The paths that some transfers may take, and the split of their bytes in the steady state.

    The program begins with the paths of the maximum flow, which counts no shared resources, and with a path of `more` for each
    transfer. Its prices then tell of a path that would shorten the time, until there is none (column generation). So no other
    path over these links can add anything. The paths of a network stay as they are, since they share no link. `work` counts the
    steps.
    """
    work = work or Work(math.inf)
    work.add(links.steps)
    quick = [links.quick(each, nbytes) for each, nbytes in zip(links.demands, demands, strict=True)]
    paths = [list(dict.fromkeys((*found, *other))) for found, other in zip(links.disjoint, quick, strict=True)]
    most = sum(map(len, paths)) + MOST_PRICED * len(paths)
    for number, path in enumerate(more):
        if not paths[number] or (path not in paths[number] and links.known is None):
            paths[number].insert(0, path)
    while True:
        listed = [(number, path) for number, found in enumerate(paths) for path in found]
        streams = [links.stream(number, path) for number, path in listed]
        split = split_bytes(streams, demands, work=work)
        if links.known is not None or len(listed) > most or work.is_done or not _added(links, paths, split):
            break
        work.add(links.steps)
    one = [
        nbytes * min(each.seconds_per_byte for each in streams if each.demand == number) for number, nbytes in enumerate(demands)
    ]
    ranked = sorted(zip(listed, split.shares, strict=True), key=lambda each: (each[1] == 0, len(each[0][1])))
    kept = [[path for (each, path), _ in ranked if each == number][:MOST_PATHS] for number in range(len(demands))]
    return Steady(kept, split, max(one))


def _added(links: MachineLinks, paths: Sequence[list[Path]], split: Split) -> bool:
    """Whether the prices of links have a further path for some transfer, which is added."""
    grown = False
    for number, demand in enumerate(links.demands):
        price = split.byte_prices[number]
        path, cost = links.cheapest(demand, split.prices, SURE_GAIN * price)
        if cost < price * (1 - SURE_GAIN) and path not in paths[number]:
            paths[number].append(path)
            grown = True
    return grown
