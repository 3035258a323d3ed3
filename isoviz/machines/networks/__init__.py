"""Networks of a machine: topologies, routing rules and link rates that join any two of their ports.

`Network` says what a planner needs of one. Topologies and routing rules are kinds in a registry (`register_topology`,
`register_routing`), as memories and channels are.
"""

from isoviz.machines.networks.grids import Grid, Mesh, Torus
from isoviz.machines.networks.listed import ListedLinks, Switch
from isoviz.machines.networks.network import Network, Port, Transport
from isoviz.machines.networks.places import Axis, Panel, Places
from isoviz.machines.networks.routing import (
    DimensionOrder,
    Neighbours,
    Route,
    Routing,
    Shortest,
    Works,
    register_routing,
    routings,
)
from isoviz.machines.networks.topology import Link, Topology, register_topology, topologies
from isoviz.machines.networks.trees import FatTree, UpAndDown
from isoviz.machines.networks.vortex import DataVortex, ThroughTheSwitch

__all__ = [
    "Axis",
    "DataVortex",
    "DimensionOrder",
    "FatTree",
    "Grid",
    "Link",
    "ListedLinks",
    "Mesh",
    "Neighbours",
    "Network",
    "Panel",
    "Places",
    "Port",
    "Route",
    "Routing",
    "Shortest",
    "Switch",
    "ThroughTheSwitch",
    "Topology",
    "Torus",
    "Transport",
    "UpAndDown",
    "Works",
    "register_routing",
    "register_topology",
    "routings",
    "topologies",
]
