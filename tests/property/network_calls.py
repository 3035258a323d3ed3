"""A right call of every public constructor and method of networks, for tests that make it wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from wrong_values import Call, call

from isoviz import machines
from isoviz.machines import (
    DataVortex,
    DimensionOrder,
    FatTree,
    ListedLinks,
    Mesh,
    Neighbours,
    Port,
    Shortest,
    Switch,
    ThroughTheSwitch,
    Torus,
    UpAndDown,
)

_NUMBERS = itertools.count()
PAMI = machines.Transport(machines.ChannelKind("TwoSided"), machines.Constant(1e9), "pami")
RING = machines.Network("ring", Torus((4,)), (Port("node0.sys", "0"), Port("node1.sys", "1")), (PAMI,), 2e9)
NODES = (machines.Memory("node0.sys", "SYS", 0), machines.Memory("node1.sys", "SYS", 1))
JOINED = machines.Machine("joined", NODES, (), networks=(RING,))

LINK = RING.topology.links_from(0)[0]
TREE = FatTree((4, 4), (1, 2))
VORTEX = DataVortex(heights=4, angles=2, inputs=1)
TOPOLOGIES: tuple[Any, ...] = (Torus((4, 2)), Mesh((4, 2)), TREE, Switch(), ListedLinks((("a", "b", 2), ("a", "c"))), VORTEX)
RULES = (DimensionOrder(), Shortest(), Neighbours(), UpAndDown(), ThroughTheSwitch())
IN_RULES = {UpAndDown: (TREE, (0, 3)), ThroughTheSwitch: (VORTEX, (0, 0))}
"""The topology and two routers of a rule that does not go through every topology."""
OF_TOPOLOGIES = ("router_name", "router", "links_from", "link", "has_link", "checked")
OF_GRIDS = ("coordinates", "at", "step", "distance", "wraps")
OF_RULES = ("route", "check", "checked")


def _of_topology(topology: Any, name: str, _it: Any) -> Call:
    """A method that every topology has."""
    if isinstance(topology, Switch) and name == "link":
        topology = TOPOLOGIES[0]  # a switch has no links to ask for
    first = next(topology.links(), None)
    name_of_link = "none" if first is None else first.name
    right = {"router": topology.router_name(0), "link": name_of_link, "has_link": name_of_link}
    return call(getattr(topology, name), right.get(name, 0))


def _of_grid(grid: Any, name: str, _it: Any) -> Call:
    arguments: dict[str, tuple[Any, ...]] = {"at": ((1, 1),), "step": (1, 0, -1), "distance": (0, 3, 0)}
    return call(getattr(grid, name), *arguments.get(name, (1,)))


def _of_rule(rule: Any, name: str, _it: Any) -> Call:
    topology, ends = IN_RULES.get(type(rule), (TOPOLOGIES[0], (0, 3)))
    return call(getattr(rule, name), topology, *(() if name == "check" else ends))


def _new(base: type) -> Any:
    """A new kind of topology or routing rule."""
    return type("Made", (base,), {"kind": f"kind-{next(_NUMBERS)}"})


NETWORKS: dict[str, Callable[[Any], Call]] = {
    **{f"{type(each).__name__}.{name}": partial(_of_topology, each, name) for each in TOPOLOGIES for name in OF_TOPOLOGIES},
    **{f"{type(each).__name__}.{name}": partial(_of_grid, each, name) for each in TOPOLOGIES[:2] for name in OF_GRIDS},
    **{f"{type(rule).__name__}.{name}": partial(_of_rule, rule, name) for rule in RULES for name in OF_RULES},
    **{f"DimensionOrder.{name}": partial(_of_rule, RULES[0], name) for name in ("flexibility", "order", "zone_of")},
    "FatTree.level": lambda _it: call(TREE.level, 5),
    "FatTree.height": lambda _it: call(TREE.height, 0, 5),
    "FatTree.climb": lambda _it: call(TREE.climb, 0, 5, (0, 1)),
    "Torus": lambda _it: call(Torus, (4, 2), open="B"),
    "Mesh": lambda _it: call(Mesh, (4, 2)),
    "FatTree": lambda _it: call(FatTree, (4, 4), (1, 2)),
    "Switch": lambda _it: call(Switch),
    "DataVortex": lambda _it: call(DataVortex, heights=4, angles=2, inputs=1, share=0.5),
    "ListedLinks": lambda _it: call(ListedLinks, (("a", "b", 2), ("a", "c")), one_way=False),
    "DimensionOrder": lambda _it: call(DimensionOrder, 1, seed=3, message_bytes=1 << 20),
    "Shortest": lambda _it: call(Shortest),
    "Neighbours": lambda _it: call(Neighbours),
    "UpAndDown": lambda _it: call(UpAndDown),
    "ThroughTheSwitch": lambda _it: call(ThroughTheSwitch),
    "Port": lambda _it: call(Port, "node0.sys", "0", inject=1e9, receive=1e9),
    "Transport": lambda _it: call(
        machines.Transport,
        "TwoSided",
        machines.Constant(1e9),
        name="pami",
        setup=1e-6,
        costs=(machines.OneTimeCost("pin", 1e-6),),
        request_seconds=1e-6,
        max_in_flight=2,
        provenance="assumed",
    ),
    "Network": lambda _it: call(
        machines.Network,
        "ring",
        RING.topology,
        RING.ports,
        RING.transports,
        2e9,
        overhead=1.25,
        routing=DimensionOrder(),
        dead_links=("0+A",),
        dead_routers=("3",),
        provenance="assumed",
    ),
    "Network.has_port": lambda _it: call(RING.has_port, "node0.sys"),
    "Network.port": lambda _it: call(RING.port, "node0.sys"),
    "Network.router_of": lambda _it: call(RING.router_of, "node0.sys"),
    "Network.resource": lambda _it: call(RING.resource, "ring:0+A"),
    "Network.route": lambda _it: call(RING.route, "node0.sys", "node1.sys"),
    "Network.dimension_order": lambda _it: call(RING.dimension_order, "node0.sys", "node1.sys"),
    "Network.resources_between": lambda _it: call(RING.resources_between, "node0.sys", "node1.sys"),
    "Network.channel_ends": lambda _it: call(RING.channel_ends, "node0.sys->node1.sys ring/pami"),
    "Network.owns": lambda _it: call(RING.owns, "ring:0+A"),
    "Network.works": lambda _it: call(RING.works, LINK),
    "Network.capacity": lambda _it: call(RING.capacity, LINK),
    "Network.resource_name": lambda _it: call(RING.resource_name, LINK),
    "Network.route_between": lambda _it: call(RING.route_between, 0, 2),
    "Network.channels_between": lambda _it: call(RING.channels_between, *NODES),
    "Transport.channel": lambda _it: call(PAMI.channel, "a->b", "a", "b", (("bus", 1.0),)),
    "Machine (network)": lambda _it: call(machines.Machine, "joined", NODES, (), networks=(RING,)),
    "Machine.find_channel": lambda _it: call(JOINED.find_channel, "node0.sys->node1.sys ring/pami"),
    "Machine.channel (network)": lambda _it: call(JOINED.channel, "node0.sys->node1.sys ring/pami"),
    "Machine.between (network)": lambda _it: call(JOINED.between, "node0.sys", "node1.sys"),
    "Machine.around": lambda _it: call(JOINED.around, "node0.sys", "node1.sys"),
    "preset (bgq)": lambda _it: call(machines.preset, "bgq", nodes=32, zone="2"),
    "machine_from_json (network)": lambda _it: call(machines.machine_from_json, machines.machine_to_json(JOINED)),
    "register_topology": lambda _it: call(machines.register_topology, _new(machines.Topology)),
    "register_routing": lambda _it: call(machines.register_routing, _new(machines.Routing)),
}
