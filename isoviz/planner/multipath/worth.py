"""Whether several paths may be worth planning: bounds on their rate that are worked out once for a machine and two memories."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from isoviz.planner.multipath.disjoint_paths import FlowGraph, maximum_flow
from isoviz.planner.multipath.machine_links import Demand, MachineLinks, steady_paths
from isoviz.planner.multipath.tuning import AUTO_GAIN, FURTHER_STEPS, LINK_STEPS, STEADY_STEPS

if TYPE_CHECKING:
    from isoviz.machines import Channel, Machine
    from isoviz.machines.networks import Network
    from isoviz.planner.plan import Plan
    from isoviz.planner.planning_work import Work
    from isoviz.planner.problem import Problem


def may_pay(problem: Problem, seconds: float, work: Work) -> bool:
    """Whether several paths may save enough of `seconds`, the time of one path, for the steps of planning them.

    First the capacities of links bound their rate, then the program for the steady state, which counts shared resources. Both are
    known for a machine in use, so their steps decide but are not counted.
    """
    here, there = problem.transfer.source.memory, problem.transfer.destination.memory
    if (
        here == there
        or not (problem.machine.networks or problem.machine.resources)
        or not work.pays(seconds * (1 - AUTO_GAIN), FURTHER_STEPS)
    ):
        return False
    network = next((each for each in problem.machine.networks if each.has_port(here) and each.has_port(there)), None)
    links = len(problem.part.channels) if network is None else network.topology.router_count
    if not work.pays(seconds, LINK_STEPS * links):
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
    return saved > AUTO_GAIN * seconds and work.pays(saved, steps)


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
