"""Networks as the canvas gets them: their routers, links and ports in a few numbers, and the links that the plan uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from isoviz.machines.networks import DataVortex
from isoviz.machines.networks.vortex_shares import input_angles
from isoviz.widgets.consequences.derive import LAYOUTS
from isoviz.widgets.panes.pane import pane
from isoviz.widgets.remembered import Remembered
from isoviz.widgets.state import State

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.machines.networks import Network, Places, Topology
    from isoviz.planner import Plan
    from isoviz.vortex import Switch

MOST_LINKS = 20_000
"""Links of a network that are listed for the drawing; of more, only those that the plan uses are drawn."""


MOST_OTHERS = 64
"""Memories without a port are drawn where there are no more than this number."""


class ShownPorts(TypedDict):
    """Ports at routers one after the other, from `router` on, of memories whose names differ in a number only.

    The k-th is called `before`, `number` + k, `after`. A memory without a number in its name has null, and its name in `before`.
    """

    router: int
    count: int
    before: str
    number: int | None
    after: str


class ShownAxis(TypedDict):
    """A coordinate of the routers (`isoviz.machines.networks.Axis`)."""

    name: str
    size: int
    wraps: bool


class ShownPanel(TypedDict):
    """The corner of one of the panels, and its title."""

    x: float
    y: float
    title: str


class ShownNetwork(TypedDict):
    """A network. Routers are counted from 0, as the topology counts them.

    `shape`, `sizes`, `apart`, `axes`, `panels`, `alike`, `points` and `reading` say how it is drawn
    (`isoviz.machines.networks.Places`). `names` are those of the routers; empty where they have coordinates. `links` are those in
    panels, once for both directions, with their widths: those of the first panel where all are alike, none where they are too
    many. `points` and `links` are runs: [count, first…, step…] stands for so many rows of numbers. `rate` is what a link of
    width 1 carries, in bytes of data per second, and `whole` what the switch of a Data Vortex carries in all (null of others).
    `deadLinks` has pairs of routers.
    """

    name: str
    kind: str
    words: str
    shape: str
    sizes: list[int]
    apart: float
    axes: list[ShownAxis]
    panels: list[ShownPanel]
    alike: bool
    points: list[list[float]]
    reading: str
    routers: int
    names: list[str]
    links: list[list[float]]
    rate: float
    whole: float | None
    routing: str
    ports: list[ShownPorts]
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
    """The networks of the machine, its memories without a port where there are few, and the links that the plan uses."""

    networks: list[ShownNetwork]
    others: list[str]
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
    networks, others = networks_of(machine)
    return {"networks": networks, "others": others, "legs": legs}


class SwitchPart(TypedDict):
    """A switch: heights, angles, and the angles at which packets enter and leave."""

    heights: int
    angles: int
    inputs: list[int]
    outputs: list[int]


@pane("switch", "the switch of a Data Vortex", {"switch": LAYOUTS | {"machine", "memories"}})
def switch_part(state: State) -> SwitchPart | None:
    """The switch that a view was given, or else that of the machine; None where that is too large."""
    shown = state.given_switch or vortex_of(state.derived.machine)
    return None if shown is None or is_too_large(shown) else _switch(shown)


def is_too_large(switch: Switch | DataVortex) -> bool:
    """Whether the browser cannot simulate a switch: the number of a packet and its height share 31 bits there."""
    return (switch.cylinders + 1) * switch.heights**2 * switch.angles >= 1 << 31


def vortex_of(machine: Machine | None) -> DataVortex | None:
    """The first Data Vortex among the networks of a machine; None where it has none."""
    topologies = [] if machine is None else [network.topology for network in machine.networks]
    return next((each for each in topologies if isinstance(each, DataVortex)), None)


@lru_cache(maxsize=8)
def _switch(shown: Switch | DataVortex) -> SwitchPart:
    inputs, outputs = (
        (input_angles(shown.angles, shown.inputs),) * 2 if isinstance(shown, DataVortex) else (shown.inputs, shown.outputs)
    )
    return {"heights": shown.heights, "angles": shown.angles, "inputs": [*inputs], "outputs": [*outputs]}


@lru_cache(maxsize=8)
def networks_of(machine: Machine) -> tuple[list[ShownNetwork], list[str]]:
    """The networks of a machine, and its memories without a port; none of these where there are many."""
    ported = {port.memory for network in machine.networks for port in network.ports}
    others = [memory.name for memory in machine.memories if memory.name not in ported]
    return [_network(network) for network in machine.networks], others if len(others) <= MOST_OTHERS else []


def _network(network: Network) -> ShownNetwork:
    from isoviz.machines.networks.places import places_of

    topology = network.topology
    places = places_of(topology)
    named = not places.axes and topology.router_count <= MOST_LINKS
    return {
        "name": network.name,
        "kind": topology.kind,
        "words": str(topology),
        "shape": places.shape,
        "sizes": list(places.sizes),
        "apart": places.apart,
        "axes": [{"name": axis.name, "size": axis.size, "wraps": axis.wraps} for axis in places.axes],
        "panels": [{"x": panel.x, "y": panel.y, "title": panel.title} for panel in places.panels],
        "alike": places.alike,
        "points": _runs([(round(x, 2), round(y, 2)) for x, y in places.points]),
        "reading": f"{topology}: {places.reading}" if places.reading else "",
        "routers": topology.router_count,
        "names": [topology.router_name(router) for router in range(topology.router_count)] if named else [],
        "links": _runs(links_in_panels(topology, places)),
        "rate": network.link_rate / network.overhead,
        "whole": network.capacity(next(iter(topology.links()))) if isinstance(topology, DataVortex) else None,
        "routing": str(network.routing),
        "ports": _port_runs([(network.router_of(port.memory), port.memory) for port in network.ports]),
        "deadLinks": [[link.source, link.destination] for link in map(topology.link, network.dead_links)],
        "deadRouters": [topology.router(name) for name in network.dead_routers],
    }


def links_in_panels(topology: Topology, places: Places) -> list[tuple[int, int, float]]:
    """The links within panels, once for both directions: both ends and the width. None where they are too many.

    Where panels are alike, they are those of the first one.
    """
    found: dict[tuple[int, int], float] = {}
    for router in range(len(places.points) if places.alike else places.count):
        for link in topology.links_from(router):
            if not places.is_across(link.source, link.destination):
                ends = min(link.source, link.destination), max(link.source, link.destination)
                found[ends] = max(found.get(ends, 0.0), link.width)
        if len(found) > MOST_LINKS:
            return []
    # In this order links that are alike follow each other.
    return sorted([(*ends, width) for ends, width in found.items()], key=lambda link: (link[2], link[1] - link[0], link[0]))


def _runs(rows: Sequence[tuple[float, ...]]) -> list[list[float]]:
    """Rows of numbers as runs in which every number grows by its step: [count, first row…, steps…]."""
    if not rows:
        return []
    table, last = np.array(rows), len(rows) - 1
    steps = np.diff(table, axis=0)
    turns = np.flatnonzero((steps[1:] != steps[:-1]).any(axis=1)) + 1
    runs, first = [], 0
    for turn in (*turns.tolist(), last):
        if turn > first or turn == first == last:
            step = steps[first] if turn > first else np.zeros_like(table[first])
            runs.append([turn - first + 1, *[int(each) if each == int(each) else each for each in (*table[first], *step)]])
            first = turn + 1
    return runs


def _port_runs(ports: list[tuple[int, str]]) -> list[ShownPorts]:
    """Routers and memories as runs in which the router and a number in the name go on by one."""
    runs: list[ShownPorts] = []
    for router, memory in ports:
        match = re.search(r"\d+", memory)
        number = None if match is None or (match[0] != "0" and match[0].startswith("0")) else int(match[0])
        last = runs[-1] if runs else None
        if (
            last is not None
            and last["number"] is not None
            and router == last["router"] + last["count"]
            and memory == f"{last['before']}{last['number'] + last['count']}{last['after']}"
        ):
            last["count"] += 1
        elif match is None or number is None:
            runs.append({"router": router, "count": 1, "before": memory, "number": None, "after": ""})
        else:
            before, after = memory[: match.start()], memory[match.end() :]
            runs.append({"router": router, "count": 1, "before": before, "number": number, "after": after})
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
