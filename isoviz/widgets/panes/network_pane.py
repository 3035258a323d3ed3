"""Networks as the canvas gets them: their routers, links and ports in a few numbers, and the links that the plan uses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.machines.networks import Network, Topology
    from isoviz.planner import Plan

Form = Literal["grid", "tree", "switch", "links"]

MOST_LINKS = 20_000
"""Links of a network that are listed for the drawing; of more, only those that the plan uses are drawn."""


class ShownNetwork(TypedDict):
    """A network. Routers are counted from 0, as the topology counts them; memories are counted as the menu of memories does.

    `form` says how it is drawn: a torus or mesh as a grid of `sizes` (`wraps` by dimension), a fat tree by the routers of each
    level (`sizes`, hosts first), a switch as one router, anything else by its links. `names` are those of the routers; empty for
    grids, where they follow from the coordinates. `links` has [router, router, width] once for both directions; grids have none,
    nor have networks with too many. `rate` is what a link of width 1 carries, in bytes of data per second. `ports` has runs
    [first router, first memory, count]: both go on by one. `deadLinks` has pairs of routers.
    """

    name: str
    kind: str
    words: str
    form: Form
    sizes: list[int]
    wraps: list[bool]
    routers: int
    names: list[str]
    links: list[list[float]]
    rate: float
    routing: str
    ports: list[list[int]]
    deadLinks: list[list[int]]
    deadRouters: list[int]


class ShownLink(TypedDict):
    """A link that a hop uses, from router to router. -1 stands for a memory at the end of the hop, whose own link it is.

    `capacity` is in bytes of data per second; `name` is that of the resource.
    """

    name: str
    source: int
    destination: int
    capacity: float


class ShownLeg(TypedDict):
    """The links of a hop over a network, in order. `hop` counts the hops of all paths, `network` the networks."""

    hop: int
    network: int
    links: list[ShownLink]


class NetworkPart(TypedDict):
    """The networks of the machine, and the links that the hops of the plan use."""

    networks: list[ShownNetwork]
    legs: list[ShownLeg]


_legs: Remembered[list[ShownLeg]] = Remembered()


@pane("network", "the networks of the machine")
def network_part(state: State) -> NetworkPart | None:
    """The networks of the machine; None where it has none."""
    derived = state.derived
    machine, plan, planned_on = derived.machine, derived.plan, derived.planned_on
    if machine is None or not machine.networks:
        return None
    legs: list[ShownLeg] = []
    if plan is not None and planned_on is not None and planned_on.networks:
        legs = _legs.of(lambda: legs_of(plan, planned_on), plan, planned_on)
    return {"networks": list(_networks(machine)), "legs": legs}


@lru_cache(maxsize=8)
def _networks(machine: Machine) -> tuple[ShownNetwork, ...]:
    numbers = {memory.name: number for number, memory in enumerate(machine.memories)}
    return tuple([_network(network, numbers) for network in machine.networks])


def _network(network: Network, numbers: dict[str, int]) -> ShownNetwork:
    topology = network.topology
    form, sizes, wraps = shape_of(topology)
    named = form != "grid" and topology.router_count <= MOST_LINKS
    return {
        "name": network.name,
        "kind": topology.kind,
        "words": str(topology),
        "form": form,
        "sizes": sizes,
        "wraps": wraps,
        "routers": topology.router_count,
        "names": [topology.router_name(router) for router in range(topology.router_count)] if named else [],
        "links": [] if form == "grid" else _links(topology),
        "rate": network.link_rate / network.overhead,
        "routing": str(network.routing),
        "ports": _runs([(network.router_of(port.memory), numbers[port.memory]) for port in network.ports]),
        "deadLinks": [[link.source, link.destination] for link in map(topology.link, network.dead_links)],
        "deadRouters": [topology.router(name) for name in network.dead_routers],
    }


def shape_of(topology: Topology) -> tuple[Form, list[int], list[bool]]:
    """How a topology is drawn, with the sizes and the dimensions that wrap around."""
    from isoviz.machines.networks import FatTree, Grid, Switch

    if isinstance(topology, Grid):
        return "grid", list(topology.sizes), [topology.wraps(dimension) for dimension in range(len(topology.sizes))]
    if isinstance(topology, FatTree):
        levels = [topology.level(router) for router in range(topology.router_count)]
        return "tree", [levels.count(level) for level in range(max(levels) + 1)], []
    return ("switch" if isinstance(topology, Switch) else "links"), [], []


def _links(topology: Topology) -> list[list[float]]:
    found: dict[tuple[int, int], float] = {}
    for link in topology.links():
        ends = min(link.source, link.destination), max(link.source, link.destination)
        found[ends] = max(found.get(ends, 0.0), link.width)
        if len(found) > MOST_LINKS:
            return []
    return [[*ends, width] for ends, width in found.items()]


def _runs(ports: list[tuple[int, int]]) -> list[list[int]]:
    """Pairs of numbers as runs in which both go on by one."""
    runs: list[list[int]] = []
    for router, memory in ports:
        if runs and (router, memory) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1][2] += 1
        else:
            runs.append([router, memory, 1])
    return runs


def legs_of(plan: Plan, machine: Machine) -> list[ShownLeg]:
    """The links of every hop of a plan that goes over a network."""
    legs: list[ShownLeg] = []
    for number, hop in enumerate(plan.every_hop):
        for place, network in enumerate(machine.networks):
            if network.channel_ends(hop.channel) is not None:
                legs.append({"hop": number, "network": place, "links": links_of(network, hop.source, hop.destination)})
                break
    return legs


def links_of(network: Network, source: str, destination: str) -> list[ShownLink]:
    """The links of a message between two memories, in order; none where there is no route."""
    route = network.route(source, destination)
    if route is None:
        return []
    first, last = network.port(source).inject, network.port(destination).receive
    here, there = network.router_of(source), network.router_of(destination)
    links: list[ShownLink] = [
        {
            "name": network.resource_name(link),
            "source": link.source,
            "destination": link.destination,
            "capacity": network.capacity(link),
        }
        for link in route
    ]
    if first is not None:
        own = f"{network.name}:{source}>"
        links.insert(0, {"name": own, "source": -1, "destination": here, "capacity": first / network.overhead})
    if last is not None:
        own = f"{network.name}:>{destination}"
        links.append({"name": own, "source": there, "destination": -1, "capacity": last / network.overhead})
    return links
