"""What limits a plan of one path or several, in words: full links, and why more paths would save nothing."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.planner.multipath.disjoint_paths import FlowGraph, maximum_flow
from isoviz.planner.multipath.machine_links import Demand, MachineLinks, steady_paths
from isoviz.planner.multipath.split import cut_dims
from isoviz.planner.multipath.tuning import AUTO_GAIN, FURTHER_STEPS, LINK_STEPS, PLAN_GAIN, STEADY_STEPS
from isoviz.planner.time.together import uses_of
from isoviz.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoviz.machines import Channel, Machine
    from isoviz.machines.networks import Network
    from isoviz.planner.multipath.share_search import Shared
    from isoviz.planner.multipath.split import Split, Stream
    from isoviz.planner.path_plan import PathPlan
    from isoviz.planner.plan import Plan
    from isoviz.planner.planning_work import Work
    from isoviz.planner.problem import Problem


# Whether several paths may be worth planning: bounds on their rate that are worked out once for a machine and two
# memories.


def may_pay(problem: Problem, seconds: float, work: Work) -> bool:
    """Whether several paths may save enough of `seconds`, the time of one path, for the steps of planning them.

    First the capacities of links bound their rate, then the program for the steady state, which counts shared resources. Both are
    known for a machine in use, so their steps decide but are not counted.
    """
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    if (
        here == there
        or not (problem.machine.networks or problem.machine.resources)
        or not work.may_continue(seconds * (1 - AUTO_GAIN), FURTHER_STEPS)
    ):
        return False
    network = next((each for each in problem.machine.networks if each.has_port(here) and each.has_port(there)), None)
    links = len(problem.part.channels) if network is None else network.topology.router_count
    if not work.may_continue(seconds, LINK_STEPS * links):
        return False
    if network is not None:
        return _pays(problem, seconds, through_ports(network, here, there), work, FURTHER_STEPS + LINK_STEPS * links)
    machine = problem.part
    if not _pays(problem, seconds, _largest_flow(machine, here, there), work, STEADY_STEPS):
        return False
    return _pays(problem, seconds, _steady_rate(machine, here, there, problem.slot_limit), work, 2 * FURTHER_STEPS)


def are_links_named(plan: Plan, machine: Machine) -> bool:
    """Whether every channel of a plan names the links that it shares with others, or belongs to a network.

    Else nothing says that two paths do not share one, as on the machines of the Isometry paper: two ways through one NIC.
    """
    channels = [machine.channel(hop.channel) for hop in plan.every_hop]
    return all(
        channel.is_self_loop or any(not machine.resource(name).held for name, weight in channel.resources if weight)
        for channel in channels
    )


def _pays(problem: Problem, seconds: float, rate: float, work: Work, steps: float) -> bool:
    """Whether some steps pay, where several paths move at most `rate` bytes per second."""
    saved = seconds - problem.nbytes / rate if rate else 0.0
    return saved > AUTO_GAIN * seconds and work.may_continue(saved, steps)


def through_ports(network: Network, here: str, there: str) -> float:
    """A bound on the bytes per second between two ports of a network: what their links and those of their routers carry."""
    source, destination = network.router_of(here), network.router_of(there)
    around = [network.topology.links_from(router) for router in (source, destination)]
    bounds = [math.fsum(network.capacity(link) for link in links if network.works(link)) for links in around]
    bounds += [rate / network.overhead for rate in (network.port(here).inject, network.port(there).receive) if rate is not None]
    return min(bounds)


def _capacity(machine: Machine, channel: Channel) -> float:
    resources = ((machine.resource(name), weight) for name, weight in channel.resources if weight)
    return min([channel.peak, *(each.capacity / weight for each, weight in resources if not each.held)])


@lru_cache(maxsize=256)
def _largest_flow(machine: Machine, here: str, there: str) -> float:
    """A bound on the bytes per second over all paths from one memory to another: a maximum flow, with every link alone.

    Channels between two memories over the same resources are protocols of one link.
    """
    best: dict[tuple[str, str, frozenset[str]], float] = {}
    for channel in machine.channels:
        ends = channel.source, channel.destination
        stops = all(name in (here, there) or machine.memory(name).holds_buffers for name in ends)
        if channel.is_self_loop or not stops:
            continue
        key = *ends, frozenset(name for name, weight in channel.resources if weight)
        best[key] = max(best.get(key, 0.0), _capacity(machine, channel))
    links: dict[str, list[tuple[tuple[str, str, frozenset[str]], str]]] = {here: [], there: []}
    for key in best:
        links.setdefault(key[0], []).append((key, key[1]))
    graph = FlowGraph(links, best)
    source, sink = graph.number[here], graph.number[there]
    flow = maximum_flow(graph, graph.capacity, [source], frozenset([sink]))
    return math.fsum(flow[link] for link, _ in graph.leaving[source])


@lru_cache(maxsize=256)
def _steady_rate(machine: Machine, here: str, there: str, chunk: int) -> float:
    """The bytes per second over all paths from one memory to another in the steady state, for chunks of `chunk` bytes."""
    links = MachineLinks(machine, float(chunk), [Demand(here, (there,))])
    if not links.disjoint[0]:
        return 0.0
    return chunk / steady_paths(links, [float(chunk)], links.disjoint[0][:1]).split.seconds


FULL = 0.9
"""A link is full if it is busy for this share of the time: the rest is filling a pipeline, or taking turns."""
SMALL_PRICE = 1e-3
"""A link whose capacity is worth less than this share of T is left out."""


def full_links(split: Split) -> list[tuple[str, float]]:
    """The links without slack with their prices, the dearest first."""
    return sorted(
        ((name, price) for name, price in split.prices.items() if price > SMALL_PRICE), key=lambda each: (-each[1], each[0])
    )


def link_text(machine: Machine, link: str) -> str:
    """A link by its name and its capacity: `node0.nic0.out (50 GB/s)`."""
    kind, _, name = link.partition(" ")
    if kind == "channel":
        return f"{name} ({format_rate(machine.channel(name).peak)})"
    resource = machine.resource(name)
    return name if resource.held else f"{name} ({format_rate(resource.capacity)})"


def links_text(machine: Machine, links: Sequence[tuple[str, float]], most: int = 4) -> str:
    """Some links in words."""
    names = [link_text(machine, link) for link, _ in links[:most]]
    return ", ".join(names) + (f" and {len(links) - most} more" if len(links) > most else "")


def why_one_path(problem: Problem, found: Shared) -> str:
    """Why a transfer takes one path, where several were looked for."""
    if problem.options.paths == 1:
        return "one path: the options allow no more"
    machine, nbytes = problem.machine, problem.nbytes
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    full = links_text(machine, full_links(found.steady.split))
    if len(found.steady.split.shares) == 1:
        return f"one path: every path from {here} to {there} passes {full}, which one path fills"
    if not found.steady.gains:
        return f"one path: one path already fills {full}; others pass it too, or are slower and end later"
    if not cut_dims(problem.transfer):
        return "one path: there is one entry, which cannot be divided"
    streams = found.streams
    if len(streams) > 1 and found.split.paths == 1:
        best = min(streams, key=lambda each: each.seconds(nbytes))
        half = min((each.seconds(nbytes / 2) for each in streams if each is not best), default=0.0)
        return (
            f"one path: {format_bytes(nbytes)} arrive after {format_seconds(found.seconds)}, and another path takes"
            f" {format_seconds(half)} for half of them; {_threshold(streams, best)}"
        )
    return (
        "one path: in parts the transfer takes at least as long, since parts have buffers, chunks and requests of their own, or"
        " no room within the limits"
    )


def _threshold(streams: Sequence[Stream], best: Stream) -> str:
    """The size from which two paths are faster."""
    if best.seconds_per_byte <= 0:
        return "the time of the first one hardly grows with the bytes"
    from_bytes = min((each.seconds(0) - best.seconds(0)) / best.seconds_per_byte for each in streams if each is not best)
    return f"two paths are faster from about {format_bytes(round(max(from_bytes, 1.0)))} on"


def busy_links(paths: Sequence[PathPlan], seconds: float, least: float = FULL) -> dict[str, float]:
    """The links that are busy for at least a share of the seconds that some paths take, with their shares of the time."""
    busy: dict[str, float] = {}
    for path in paths:
        for name, cost in uses_of(path).items():
            busy[name] = busy.get(name, 0.0) + cost * path.bytes
    moving = seconds - max(path.mean_setup for path in paths)
    return {name: each / moving for name, each in busy.items() if each >= least * moving}


def why_several(machine: Machine, single: float, found: Shared) -> str:
    """What several paths gain over one path that takes `single` seconds, and what limits them."""
    count = sum(map(len, found.paths))
    busy = busy_links([path for paths in found.paths for path in paths], found.seconds, 0.0)
    ranked = sorted(busy.items(), key=lambda each: (-each[1], each[0]))
    full = [each for each in ranked if each[1] >= FULL]
    more = f"; full: {links_text(machine, full)}"
    if not full:
        link, share = ranked[0]
        more = f"; busiest: {link_text(machine, link)}, {share:.0%} of the time"
    return f"{count} paths in {format_seconds(found.seconds)}, one path takes {format_seconds(single)}{more}"


def gap_of(problems: Sequence[Problem], found: Shared) -> float | None:
    """The largest share by which the plan of a transfer that is alone can lie above the optimum; None where nothing is proved.

    In the steady state, with whole chunks and without set-up, no split over the links of a machine is faster. Over a network the
    rates at its ports bound it.
    """
    problem, *others = problems
    ends = problem.transfer.source.memory, problem.transfer.destination.memory
    if others or any(path.transfer.destination.memory != ends[1] for path in found.paths[0]):
        return None
    networks = [each for each in problem.machine.networks if all(map(each.has_port, ends))]
    lower = problem.nbytes / through_ports(networks[0], *ends) if networks else found.steady.split.seconds
    return max(0.0, found.seconds / lower - 1) if lower else None


def pays(single: float, found: Shared, gain: float = PLAN_GAIN) -> bool:
    """Whether several paths, or other ones for some transfers, save more than a share of the time of one path each."""
    return (len(found.paths) > 1 or len(found.paths[0]) > 1) and found.seconds < single * (1 - gain)
