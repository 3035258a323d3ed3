"""The preset of IBM Blue Gene/Q: the five-dimensional torus of Mira, its I/O nodes and file servers.

The paper is Bui et al., *Improving Sparse Data Movement Performance Using Multiple Paths on the Blue Gene/Q Supercomputer*.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.networks import DimensionOrder, Network, Port, Switch, Torus, Transport
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.throughput import Constant, LatencyBandwidth


class Figure(NamedTuple):
    """A figure of the machine: its value in bytes, seconds or bytes per second, and where it is from."""

    value: float
    origin: str


LINK = Figure(2e9, "from the paper (section 3): 2 GB/s raw, over each link in each direction")
USABLE = Figure(0.9, "from the paper (section 3): up to 90 % of it, 1.8 GB/s, for data")
MESSAGE = Figure(1.7e9, "from the paper (section 5.2): the most over a single route")
RECEPTION = Figure(
    12e9, "from the paper (section 5.2): the most that nine paths brought to a node; assumed to be what its one FIFO takes"
)
MPI_MESSAGE = Figure(
    20e-6,
    "derived from the paper (figure 4): with it, windows through a proxy gain nothing below 64 KB, and reach 74, 80, 85 % of a"
    " direct message of 1, 2, 4 MB, where the paper has 70, 80, 90 %",
)
PAMI_PUT = Figure(3.6e-6, "assumed: the larger part of 4.8 µs, which make windows of 128 KB best for 2 MB (figure 8)")
PAMI_IMMEDIATE = Figure(1.2e-6, "assumed: the rest of these 4.8 µs, for the control message to the other side (section 4.6)")
BRIDGE_LINK = Figure(2e9, "from the paper (section 3): the 11th link of a bridge node, to its I/O node")
NODE_MEMORY = Figure(16 * 2**30, "from the paper (section 3)")
COPY = Figure(14e9, "assumed: half of what a node's memory streams")
IB_LINK = Figure(4e9, "assumed: what QDR InfiniBand (section 3) carries of data")
IB_MESSAGE = Figure(3.2e9, "assumed")
IB_LATENCY = Figure(5e-6, "assumed")
SERVER_DISK = Figure(2.5e9, "assumed: the rate of the disks of a file server, without locking")
SERVER_DISK_LATENCY = Figure(1e-3, "assumed: what a request to the disks of a file server costs")

PSET = 128
"""The compute nodes that share I/O nodes (paper, section 3)."""
BRIDGES = 2
"""The bridge nodes of a pset, each with an I/O node of its own (paper, section 3)."""
IO_NODES_PER_SERVER = 8
"""Assumed: the paper has no number of file servers."""

SHAPES: dict[int, tuple[int, ...]] = {
    32: (2, 2, 2, 2, 2),
    64: (2, 2, 4, 2, 2),
    128: (2, 2, 4, 4, 2),
    256: (4, 2, 4, 4, 2),
    512: (4, 4, 4, 4, 2),
    1024: (4, 4, 4, 8, 2),
    2048: (4, 4, 4, 16, 2),
    4096: (4, 4, 8, 16, 2),
    8192: (4, 4, 16, 16, 2),
    49152: (8, 12, 16, 16, 2),
}
"""The partitions: the sizes of A, B, C, D and E by the number of nodes. The paper has the numbers, and that a node has nine
neighbours from 512 nodes on (section 5.2). The shapes are assumed, as is that dimensions of size 2 other than E do not wrap."""

ZONES = ("auto", "0", "1", "2", "3")


def bgq(nodes: int = 32, zone: int | str = "2") -> Machine:
    """A partition of Blue Gene/Q with its I/O nodes and file servers. Each figure is in this module, with its origin.

    Compute node k has `node<k>.sys`. A torus of five dimensions joins the nodes; nodes are numbered with E varying fastest. The
    two links in E lead to the same node, so a node has ten links and, from 512 nodes on, nine neighbours. The I/O nodes follow as
    further nodes: each is joined to its bridge node by a separate link. A switch joins them to the file servers, whose files are
    `node<k>.dsk`. `io_node` and `file_servers` give the numbers.

    A message goes by `mpi` (one put, with its synchronisation) or by `pami` (a put and an immediate send that tells the other
    side). They are two channels between each pair of nodes.

    `zone` is the routing zone of `DimensionOrder`, "auto" for the choice by flexibility and size.

    Raises:
        MachineError: there is no partition of this size, or no such zone. The message lists those that exist.
    """
    if type(nodes) is not int or nodes not in SHAPES:
        known = ", ".join(map(str, SHAPES))
        raise MachineError(f"preset 'bgq', nodes: no partition of {checks.show(nodes)} nodes; there are {known}")
    if str(zone) not in ZONES or isinstance(zone, bool):
        raise MachineError(f"preset 'bgq', zone: expected one of {', '.join(ZONES)}, got {checks.show(zone)}")
    computing = [f"node{node}.sys" for node in range(nodes)]
    bridges = bridge_nodes(nodes)
    io_nodes = range(nodes, nodes + len(bridges))
    servers = file_servers(nodes)
    memories = [Memory(name, MemoryKind.SYS, node, int(NODE_MEMORY.value)) for node, name in enumerate(computing)]
    memories += [Memory(f"node{node}.sys", MemoryKind.SYS, node, label="I/O node") for node in io_nodes]
    memories += [Memory(f"node{node}.sys", MemoryKind.SYS, node, label="file server") for node in servers]
    memories += [Memory(f"node{node}.dsk", MemoryKind.DSK, node, label="file server") for node in servers]
    copy = Constant(COPY.value)
    channels = [Channel("", ChannelKind.MEMCPY, name, name, copy, provenance=COPY.origin) for name in computing]
    disk = LatencyBandwidth(SERVER_DISK_LATENCY.value, SERVER_DISK.value)
    for node in servers:
        ends = f"node{node}.sys", f"node{node}.dsk"
        channels.append(Channel("", ChannelKind.DISK_WRITE, *ends, disk, alignment=4096, provenance=SERVER_DISK.origin))
        channels.append(Channel("", ChannelKind.DISK_READ, *ends[::-1], disk, alignment=4096, provenance=SERVER_DISK.origin))
    return Machine(
        "bgq",
        tuple(memories),
        tuple(channels),
        provenance="Bui et al., sections 3 to 5: rates from the paper; costs derived from its figures; the rest assumed",
        networks=(_torus(nodes, None if zone == "auto" else int(zone)), _switch([*io_nodes, *servers])),
    )


def bridge_nodes(nodes: int) -> list[int]:
    """The compute nodes that are bridge nodes too, in order. Assumed: each serves the nodes from it to the next one.

    A partition of less than a pset has one.
    """
    step = PSET // BRIDGES if nodes >= PSET else nodes
    return list(range(0, nodes, step))


def io_node(nodes: int, node: int) -> int:
    """The number of the I/O node that serves a compute node by default, in a partition of `nodes` nodes."""
    bridges = bridge_nodes(nodes)
    return nodes + node * len(bridges) // nodes


def file_servers(nodes: int) -> range:
    """The numbers of the file servers of a partition of `nodes` nodes."""
    first = nodes + len(bridge_nodes(nodes))
    return range(first, first + math.ceil((first - nodes) / IO_NODES_PER_SERVER))


def _torus(nodes: int, zone: int | None) -> Network:
    sizes = SHAPES[nodes]
    torus = Torus(sizes, open="".join(letter for letter, size in zip("ABCD", sizes, strict=False) if size == 2))
    names = [torus.router_name(router) for router in range(nodes)]
    reception = RECEPTION.value / USABLE.value
    ports = [Port(f"node{node}.sys", names[node], receive=reception) for node in range(nodes)]
    ports += [
        Port(f"node{number}.sys", names[bridge], inject=BRIDGE_LINK.value, receive=BRIDGE_LINK.value)
        for number, bridge in enumerate(bridge_nodes(nodes), nodes)
    ]
    pami = PAMI_PUT.value + PAMI_IMMEDIATE.value
    return Network(
        "torus",
        torus,
        tuple(ports),
        (
            Transport(
                ChannelKind.REMOTE_MEMCPY,
                LatencyBandwidth(MPI_MESSAGE.value, MESSAGE.value),
                "mpi",
                provenance=f"1.7 GB/s {MESSAGE.origin}; 20 µs a message derived from the paper (figure 4)",
            ),
            Transport(
                ChannelKind.REMOTE_MEMCPY,
                LatencyBandwidth(pami, MESSAGE.value),
                "pami",
                provenance=f"1.7 GB/s {MESSAGE.origin}; put 3.6 µs and immediate send 1.2 µs assumed (figure 8)",
            ),
        ),
        link_rate=LINK.value,
        overhead=1 / USABLE.value,
        routing=DimensionOrder(zone),
        provenance="links 2 GB/s raw, 90 % for data, from the paper (section 3); shape, bridges and reception as in the preset",
    )


def _switch(nodes: list[int]) -> Network:
    return Network(
        "infiniband",
        Switch(),
        tuple([Port(f"node{node}.sys", "switch", inject=IB_LINK.value, receive=IB_LINK.value) for node in nodes]),
        (
            Transport(
                ChannelKind.REMOTE_MEMCPY, LatencyBandwidth(IB_LATENCY.value, IB_MESSAGE.value), provenance=IB_MESSAGE.origin
            ),
        ),
        link_rate=IB_LINK.value,
        provenance="QDR InfiniBand from the paper (section 3); rates assumed",
    )


register_preset(
    PresetInfo(
        "bgq",
        "Blue Gene/Q (Bui et al.): 5-D torus, I/O nodes, file servers; rates from the paper, costs derived from its figures",
        {
            "nodes": PresetOption(32, f"how many compute nodes; {', '.join(map(str, SHAPES))}"),
            "zone": PresetOption("2", "the routing zone; auto chooses by flexibility and size", ZONES),
        },
        bgq,
    )
)
