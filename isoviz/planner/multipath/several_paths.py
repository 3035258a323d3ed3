"""Plans of several paths for transfers that begin together.

Paths that may carry bytes come from the maximum flow, and from the prices of links (`machine_links.steady_paths`). Over a network
they also come from a search for few stops (`direct_paths`). The shares of the bytes are searched for
(`share_search`), beginning with one path for each transfer.

The time of one transfer is that of its plan, whose paths take turns on shared links (`Plan.seconds`). Several transfers count as
streams that divide shared links fairly (`planner.time.together`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from isoviz.errors import NoPathError
from isoviz.layouts import Box
from isoviz.machines.networks import DimensionOrder, Grid, Link
from isoviz.planner.multipath.disjoint_paths import FlowGraph, balanced_paths, disjoint_paths
from isoviz.planner.multipath.machine_links import Demand, MachineLinks, Steady, steady_paths
from isoviz.planner.multipath.path_choice import MULTIPATH, allowed, plan_over
from isoviz.planner.multipath.share_search import Shared, ShareSearch, are_steady, seconds_of, to_memory
from isoviz.planner.multipath.split import cut_dims, split_bytes, stream_of
from isoviz.planner.multipath.tuning import EVEN_LOSS, MOST_PATHS, MOST_PROXIES, PLAN_GAIN
from isoviz.planner.plan import Plan
from isoviz.planner.planning_work import WorkDone, work_of
from isoviz.planner.problem import Problem, limits_too_small
from isoviz.planner.shares import share_of
from isoviz.planner.time.path_time import rate_of

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.machines.networks import Network, Route
    from isoviz.planner.multipath.machine_links import Path
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.planning_work import Work
    from isoviz.planner.transfer import Transfer


# Paths over a network: link-disjoint routes through the memories of other nodes (Bui et al., sections 4.3 and 4.4).
#
# A message takes the default route, so a path over other links stops in the memories of nodes on the way: its proxies.
# The paths are those of the maximum flow over the links. The links of a router are followed in reverse order of the
# routing, so that the dimensions that a message takes last come first. A path is then cut into the fewest legs that
# the default route takes by itself: under dimension order there is a proxy only where it turns to a dimension of
# higher priority. A single transfer is offered further paths, over one proxy each as far as they are disjoint
# (`direct_paths`): a stop costs a latency and a part of the overlap.
#
# The own links of ports are left out of the flow: the program that splits the bytes counts them. So several paths may
# lead to one I/O node, whose own link all of them share.


class Stops(NamedTuple):
    """The stops of a path: the memories at its ends, and by number the routers with its proxies."""

    source: str
    routers: tuple[int, ...]
    destination: str


class NetworkPaths(NamedTuple):
    """The paths of every demand, and the part of the machine that they lead through, with its channels listed.

    `direct` holds the paths of the only demand with the fewest stops; it is empty where there are several demands.
    """

    machine: Machine
    paths: list[list[Path]]
    direct: list[Path]


def network_paths(
    machine: Machine, demands: Sequence[Demand], sizes: Sequence[float], chunk: float, more: Sequence[Path]
) -> NetworkPaths | None:
    """The paths of transfers of some bytes over a network on which all their ends are; `more` are further paths of the machine.

    None where there is no such network, or where a router of it has no memory that could be a proxy, as in a fat tree.
    """
    outer = dict.fromkeys(name for source, destinations in demands for name in (source, *destinations))
    for network in machine.networks:
        proxies = _proxies(machine, network)
        if all(map(network.has_port, outer)) and len(proxies) == network.topology.router_count:
            spread = len(demands[0].destinations) > 1 and len({frozenset(each.destinations) for each in demands}) == 1
            routes = spread_paths(network, demands, sizes) if spread else proxy_paths(network, demands)
            if len(demands) == 1 and not spread:
                routes.append(direct_paths(network, demands[0]))
            joined = [[_channels(machine, proxies, stops, chunk) for stops in found] for found in routes]
            paths = [[path for path in found if path is not None] for found in joined]
            part = _part(machine, outer, [*more, *(path for found in paths for path in found)])
            return NetworkPaths(part, paths[: len(demands)], [path for found in paths[len(demands) :] for path in found])
    return None


def _proxies(machine: Machine, network: Network) -> dict[int, list[str]]:
    """For every router that has some, its memories that hold buffers."""
    found = {
        router: [name for name in names if machine.memory(name).holds_buffers] for router, names in network.memories_at.items()
    }
    return {router: names for router, names in found.items() if names}


def proxy_paths(network: Network, demands: Sequence[Demand]) -> list[list[Stops]]:
    """For every demand, its paths; no two paths have a link between routers in common.

    Paths with more than `MOST_PROXIES` proxies are left out. A demand whose source hangs on the router of a destination has one
    path, the one over that router.
    """
    router_of = network.router_of
    sources = [router_of(source) for source, _ in demands]
    ends: list[dict[int, str]] = [{router_of(name): name for name in reversed(names)} for _, names in demands]
    found: list[list[Stops]] = [
        [Stops(source, (), at[here])] if here in at else [] for (source, _), here, at in zip(demands, sources, ends, strict=True)
    ]
    going = [number for number, paths in enumerate(found) if not paths]
    if not going:
        return found
    graph = _flow_graph(network, _order(network, sources[going[0]], next(iter(ends[going[0]]))))
    first = [network.route(demands[number].source, demands[number].destinations[0]) for number in going]
    flow = disjoint_paths(graph, [(sources[number], ends[number].keys()) for number in going], first, MOST_PATHS)
    for number, paths in zip(going, flow, strict=True):
        for links, _ in paths:
            routers = _stops(network, links)
            if len(routers) <= MOST_PROXIES:
                found[number].append(Stops(demands[number].source, routers, ends[number][links[-1].destination]))
    return found


def direct_paths(network: Network, demand: Demand) -> list[Stops]:
    """Paths of a demand with few stops: the default route, then those over one router, then those of a flow over what is left.

    No two of them have a link between routers in common. There may be fewer than the flow has over all links (`proxy_paths`).
    """
    source, end = demand.source, demand.destinations[0]
    here, there = network.router_of(source), network.router_of(end)
    if here == there:
        return []
    ways: list[tuple[Route, tuple[int, ...]]] = []
    for router in range(network.topology.router_count):
        before, after = network.route_between(here, router), network.route_between(router, there)
        if before is not None and after is not None and here != router:
            ways.append(((*before, *after), () if router == there else (router,)))
    taken: set[Link] = set()
    found: list[Stops] = []
    for links, routers in sorted(ways, key=lambda way: (len(way[1]), len(way[0]), way[1])):
        if taken.isdisjoint(links) and len(set(links)) == len(links) and len(found) < MOST_PATHS:
            taken.update(links)
            found.append(Stops(source, routers, end))
    graph = _flow_graph(network, _order(network, here, there)).without(taken)
    for links, _ in disjoint_paths(graph, [(here, [there])], most=MOST_PATHS - len(found))[0]:
        routers = _stops(network, links)
        if len(routers) <= MOST_PROXIES:
            found.append(Stops(source, routers, end))
    return found


def spread_paths(network: Network, demands: Sequence[Demand], sizes: Sequence[float]) -> list[list[Stops]]:
    """For every demand, its paths to any of the destinations, which are the same for all demands (`balanced_paths`).

    Paths of different demands may share a link, but no link has to carry more than it can. Paths with more than `MOST_PROXIES`
    proxies are left out.
    """
    names = demands[0].destinations
    sources = [network.router_of(demand.source) for demand in demands]
    graph = _flow_graph(network, _order(network, sources[0], network.router_of(names[0]))).with_ends(
        {name: (network.router_of(name), _receives(network, name)) for name in names}
    )
    flow = balanced_paths(graph, sources, names, sizes, MOST_PATHS)
    left: dict[Link | str, float] = dict(zip(graph.links, graph.capacity, strict=True))
    for links, amount in itertools.chain(*flow):
        _add(left, links, -amount)
    found: list[list[Stops]] = []
    for demand, paths in zip(demands, flow, strict=True):
        ways = []
        for links, amount in paths:
            end, route = str(links[-1]), tuple([link for link in links if isinstance(link, Link)])
            _add(left, route, amount)
            default = network.route(demand.source, end)
            # What the default route can carry as well needs no proxies.
            if default is not None and all(left.get(link, 0.0) >= amount for link in default):
                route = default
            _add(left, route, -amount)
            ways.append(Stops(demand.source, _stops(network, route), end))
        found.append([stops for stops in dict.fromkeys(ways) if len(stops.routers) <= MOST_PROXIES])
    return found


def _add(left: dict[Link | str, float], links: Sequence[Link | str], amount: float) -> None:
    for link in links:
        left[link] += amount


def _receives(network: Network, memory: str) -> float:
    """The bytes of data per second that enter a memory at most."""
    own = network.port(memory).receive
    into = math.fsum(map(network.capacity, network.topology.links_from(network.router_of(memory))))
    return into if own is None else own / network.overhead


def _order(network: Network, source: int, destination: int) -> tuple[int, ...]:
    """The dimensions in the order in which a message takes them; empty where the routing does not go by dimensions."""
    rule, grid = network.routing, network.topology
    if isinstance(rule, DimensionOrder) and isinstance(grid, Grid):
        return rule.order(grid, source, destination)
    return ()


@lru_cache(maxsize=4)
def _flow_graph(network: Network, order: tuple[int, ...]) -> FlowGraph[int, Link]:
    """The links that work, by router, in reverse order of the routing of a message.

    Of several links between two routers only that of the default route counts: no message takes another one.
    """
    graph: dict[int, list[tuple[Link, int]]] = {}
    capacity: dict[Link, float] = {}
    grid = network.topology
    rank = {grid.dimensions[dimension]: -at for at, dimension in enumerate(order)} if isinstance(grid, Grid) and order else {}
    for router in range(grid.router_count):
        links = grid.links_from(router)
        heads = Counter(link.destination for link in links)
        usable = [link for link in links if network.works(link) and (heads[link.destination] == 1 or _is_route(network, link))]
        if rank:
            usable.sort(key=lambda link: rank[link.name[-1]])
        graph[router] = [(link, link.destination) for link in usable]
        capacity.update((link, network.capacity(link)) for link in usable)
    return FlowGraph(graph, capacity)


def _is_route(network: Network, link: Link) -> bool:
    return network.route_between(link.source, link.destination) == (link,)


def _stops(network: Network, links: Route) -> tuple[int, ...]:
    """The routers at which a path is divided into the fewest legs. Each leg is the default route between its ends."""
    if not links:
        return ()
    routers = [links[0].source, *(link.destination for link in links)]
    found, at = [], 0
    while at < len(links):
        end = len(links)
        while end > at + 1 and network.route_between(routers[at], routers[end]) != links[at:end]:
            end -= 1
        found.append(routers[end])
        at = end
    return tuple(found[:-1])


def _channels(machine: Machine, proxies: Mapping[int, Sequence[str]], stops: Stops, chunk: float) -> Path | None:
    """The fastest channels between the stops of a path; at each router, over the first memory that the memory before it reaches.

    None where no transport joins the memories of two stops, such as two ports of one node.
    """
    ways: dict[str, Path] = {stops.source: ()}
    for names in (*(proxies[router] for router in stops.routers), (stops.destination,)):
        reached: dict[str, Path] = {}
        for there in names:
            for here, path in ways.items():
                channel = max(machine.between(here, there), key=lambda each: rate_of(each, chunk, chunk), default=None)
                if channel is not None:
                    reached[there] = (*path, channel)
                    break
        ways = reached
    return next(iter(ways.values()), None)


def _part(machine: Machine, outer: Collection[str], paths: Sequence[Path]) -> Machine:
    """The machine with the channels of some paths, the memories on them, and the listed channels of these."""
    channels = {channel.name: channel for path in paths for channel in path}
    names = dict.fromkeys([*outer, *(end for channel in channels.values() for end in (channel.source, channel.destination))])
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


def links_of(problems: Sequence[Problem], destinations: Sequence[str], more: Sequence[Path]) -> MachineLinks:
    """The links of the machine for the chunks of some transfers; `more` are paths that they include.

    Parts of every transfer may go to any of `destinations`, or to its own destination where there are none.
    """
    chunk = float(min(min(problem.nbytes, problem.slot_limit) for problem in problems))
    ends = [(each.transfer.source.memory, each.transfer.destination.memory) for each in problems]
    demands = [Demand(here, tuple(dict.fromkeys((there, *destinations)))) for here, there in ends]
    machine, starts = problems[0].machine, problems[0].reuse
    found = network_paths(machine, demands, [float(problem.nbytes) for problem in problems], chunk, more)
    if found is not None:
        return MachineLinks(found.machine, chunk, demands, found.paths, found.direct, starts)
    names = dict.fromkeys(itertools.chain(*ends, destinations))
    return MachineLinks(machine.around(*names), chunk, demands, starts=starts)


def path_of(plan: Plan, problem: Problem) -> Path:
    """The channels of the path of a plan, without self-loops."""
    channels = (problem.machine.channel(hop.channel) for hop in plan.hops)
    return tuple(channel for channel in channels if not channel.is_self_loop)


def several_paths(
    problems: Sequence[Problem], single: Sequence[Plan], destinations: Sequence[str] = (), work: Work | None = None
) -> Shared:
    """The best plans found for some transfers on one machine, beginning with the plans `single` of one path each.

    The source and the destination of each transfer are two memories. Parts of every transfer may go to any of `destinations`, or
    to its own destination where there are none. `work` bounds the search and counts its steps; by default it is what the options
    allow for each of the transfers.
    """
    work = work or work_of(problems[0].options, len(problems))
    digest = problems[0].machine.digest
    more = [path_of(plan, problem) for plan, problem in zip(single, problems, strict=True)]
    links = links_of(problems, destinations, more)
    problems = [Problem(problem.transfer, links.machine, problem.options, work) for problem in problems]
    single = [_with_few_stops(links, *each) for each in zip(range(len(problems)), problems, single, strict=True)]
    # The machine of the search knows links of its own; a plan is for the machine that was given.
    single = [plan if plan.machine_digest == digest else replace(plan, machine_digest=digest) for plan in single]
    more = [path_of(plan, problem) for plan, problem in zip(single, problems, strict=True)]
    steady = steady_paths(links, [float(problem.nbytes) for problem in problems], more, work)
    sets = [
        [
            allowed(found, problem.options, path, is_alone=len(problems) == 1)
            for found, problem, path in zip(paths, problems, more, strict=True)
        ]
        for paths in (steady.paths, [list(links.direct)])[: 1 + bool(links.direct)]
    ]
    one = _one_path_each(problems, single, steady)
    if all(ways == [[path] for path in more] for ways in sets):
        return one
    best = one
    searched: list[set[frozenset[Path]]] = []
    for ways in _with_fewer_stops(sets):
        if set(map(frozenset, ways)) in searched:
            continue
        if len(searched) >= len(sets) and all(len(paths) > 1 and are_steady(paths) for paths in best.paths):
            break  # the program knows nearly what each path is worth
        searched.append(set(map(frozenset, ways)))
        found = _searched(problems, links, ways, one, work)
        if not searched[1:] or found.seconds < best.seconds:
            best = found._replace(stopped=best.stopped or found.stopped)
        if found.stopped:
            return best._replace(stopped=True)
    return best


def _with_fewer_stops(sets: Sequence[Sequence[Sequence[Path]]]) -> Iterator[Sequence[Sequence[Path]]]:
    """Sets of paths, and those of their paths that have fewer stops.

    These leave other links free and other shares, which the search over all paths may miss.
    """
    yield from sets
    for ways in sets:
        for most in sorted({len(path) for paths in ways for path in paths}, reverse=True)[1:]:
            yield [[path for path in paths if len(path) <= most] or paths for paths in ways]


def _with_few_stops(links: MachineLinks, number: int, problem: Problem, single: Plan) -> Plan:
    """The best plan over one path that the options allow, where that of `full` stops in too many memories.

    Raises:
        NoPathError: every path does.
        LimitError: on none of the others do the smallest chunks fit the limits.
    """
    most = problem.options.proxies
    if most is None or len(path_of(single, problem)) <= most + 1:
        return single
    demand = links.demands[number]._replace(destinations=(problem.transfer.destination.memory,))
    known = [path for path in links.disjoint[number] if len(path) <= most + 1 and path[-1].destination in demand.destinations]
    paths = list(dict.fromkeys((*links.short(demand, problem.nbytes, most + 1), *known)))
    if not paths:
        raise NoPathError(
            f"machine {single.machine_name}: every path from {demand.source} to {demand.destinations[0]} stops in more than"
            f" {most} memories on the way; allow more proxies"
        )
    made = [path for path in (plan_over(problem, path) for path in paths) if path is not None]
    if not made:
        raise limits_too_small(problem, [tuple(channel.destination for channel in path[:-1]) for path in paths])
    best = min(made, key=lambda path: (path.mean, len(path.hops)))
    return plan_of(problem, [best])


def with_even_chunks(problem: Problem, single: Plan) -> Plan:
    """The plan of one path, or a faster one over that path where its last chunk is short and costs a whole request."""
    path = single.only
    if path.chunk_count == 1 or path.mean <= path.objective * (1 + EVEN_LOSS):
        return single
    problem = Problem(problem.transfer, problem.machine, problem.options, work_of(problem.options))
    made = plan_over(problem, path_of(single, problem))
    if made is None or made.mean >= path.mean:
        return single
    gap = None if single.gap is None else max(0.0, made.objective * (1 + single.gap) / path.objective - 1)
    return replace(single, paths=(made,), gap=gap)


def _searched(
    problems: Sequence[Problem], links: MachineLinks, ways: Sequence[Sequence[Path]], one: Shared, work: Work
) -> Shared:
    best, steady = one, one.steady
    dims = [cut_dims(problem.transfer) for problem in problems]
    # Paths that take turns on a channel wait for each other, which the program does not count. Transfers may have to.
    variants = (True, False) if len(problems) == 1 and links.known is None else (False,)
    for turn in range(max(map(len, dims)) if links.known is None else 1):
        cuts = [
            names[min(turn, len(names) - 1)] if names else each.transfer.space.dims[0]
            for names, each in zip(dims, problems, strict=True)
        ]
        search = ShareSearch(problems, links, ways, cuts, best, work)
        try:
            for disjoint in variants:
                search.run(disjoint=disjoint)
            gains = steady.gains or search.best.seconds < one.seconds * (1 - PLAN_GAIN)
            if len(problems) == 1 and gains:
                search.shift()
        except WorkDone:
            search.best = search.best._replace(stopped=True)
        best = search.best
        if all(len(paths) == 1 for paths in best.paths):  # what the others would take says why
            best = best._replace(streams=tuple(stream for stream in search.streams if stream is not None))
        if best.stopped:
            break
    return best


def _one_path_each(problems: Sequence[Problem], single: Sequence[Plan], steady: Steady) -> Shared:
    paths = tuple((plan.only,) for plan in single)
    streams = tuple(stream_of(number, plan.only) for number, plan in enumerate(single))
    split = split_bytes(streams, [problem.nbytes for problem in problems])
    return Shared(tuple(single), paths, seconds_of(problems, paths), streams, split, steady)


def plan_of(problem: Problem, paths: Sequence[PathPlan], notes: tuple[str, ...] = (), transfer: Transfer | None = None) -> Plan:
    """The plan of some paths of a transfer, or of another one on the same machine."""
    machine, transfer = problem.machine, transfer or problem.transfer
    emulated = machine.emulated(name for path in paths for name in path.memories)
    return Plan(transfer, machine.name, machine.digest, MULTIPATH, tuple(paths), notes, emulated=emulated)


def plans_of(problem: Problem, paths: Sequence[PathPlan], notes: tuple[str, ...] = ()) -> list[Plan]:
    """The plans of some paths of a transfer: one for each memory that they lead to, of the part that goes there."""
    by_memory: dict[str, list[PathPlan]] = {}
    for path in paths:
        by_memory.setdefault(path.transfer.destination.memory, []).append(path)
    if len(by_memory) == 1:
        (memory,) = by_memory
        return [plan_of(problem, paths, notes, to_memory(problem.transfer, memory))]
    found = []
    for memory, mine in by_memory.items():
        moved = to_memory(problem.transfer, memory)
        boxes = [share for path in mine if isinstance(share := share_of(moved, path), Box)]
        lows, highs = zip(*[(box.lo, box.hi) for box in boxes], strict=True)
        part = moved.part(Box(tuple(map(min, zip(*lows, strict=True))), tuple(map(max, zip(*highs, strict=True)))))
        found.append((min(lows), plan_of(problem, mine, notes, part)))
    return [plan for _, plan in sorted(found, key=lambda each: each[0])]
