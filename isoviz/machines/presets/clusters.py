"""Presets of the clusters in the Isometry paper. Their figures are in `numbers`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from isoviz import checks
from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.presets import numbers
from isoviz.machines.presets.numbers import Assumed, NodeFigures
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled, ThroughputFunction

MOST_NODES = 128
MOST_GPUS = 16


def sapling(nodes: int = 2, gpus: int = 1) -> Machine:
    """The Sapling cluster of the Isometry paper. Bandwidths are from its table 5; latencies are assumed.

    Every node has `node<k>.sys`, `.reg`, `.zcm`, `.dsk`, and `.fbm0`, `.fbm1`, … for its GPUs. The real cluster has 4 nodes with
    2 GPUs each.

    Raises:
        MachineError: `nodes` is not a whole number from 1 to 128, or `gpus` not one from 0 to 16.
    """
    return _cluster(
        "sapling",
        nodes,
        gpus,
        numbers.SAPLING,
        "Isometry, tables 4 and 5: bandwidths and DRAM from the paper; latencies and other capacities assumed",
    )


def xstream(nodes: int = 2, gpus: int = 4) -> Machine:
    """The XStream cluster of the Isometry paper (table 4): two Tesla K80 per node, with two GPUs each, and FDR InfiniBand.

    Memories are named as in `sapling`. The paper has the hardware but no bandwidths. Bandwidths of GPU memory and of the network
    link are published; all others are assumed. In the paper the cluster has 16 nodes with 4 GPUs each. `.dsk` is the node's view
    of one shared file system. The PCIe slot that the two GPUs of a K80 share is not modelled.

    Raises:
        MachineError: `nodes` is not a whole number from 1 to 128, or `gpus` not one from 0 to 16.
    """
    return _cluster(
        "xstream",
        nodes,
        gpus,
        numbers.XSTREAM,
        "Isometry, table 4: hardware from the paper; GPU copies and link rate published; other bandwidths and latencies assumed",
    )


def moonlight(nodes: int = 2, gpus: int = 2) -> Machine:
    """The Moonlight cluster of the Isometry paper (table 4): two Tesla M2090 per node and QDR InfiniBand.

    Memories are named as in `sapling`. The paper has the hardware but no bandwidths. The bandwidth of GPU copies is published.
    Network and PCIe are assumed to be equal to Sapling's; all other bandwidths are assumed. The real cluster has 308 nodes with 2
    GPUs each. `.dsk` is the node's view of one shared file system.

    Raises:
        MachineError: `nodes` is not a whole number from 1 to 128, or `gpus` not one from 0 to 16.
    """
    return _cluster(
        "moonlight",
        nodes,
        gpus,
        numbers.MOONLIGHT,
        "Isometry, table 4: hardware from the paper; GPU copies published; other bandwidths and latencies assumed",
    )


def two_node() -> Machine:
    """The two nodes of Isometry's figure 4, with the 3 GB/s network of section 4.3.

    Each node has `.fbm0`, `.zcm`, `.reg`, `.sys` and `.dsk`. All memories except the disk have a self-loop. Bandwidths within a
    node are those of table 5. The assumed latencies are such that the example of section 4.3 (|F| = 16, blocks of 2K × 1K, slots
    of 32 MiB) satisfies every constraint at 3 GB/s.
    """
    bandwidths = {
        ends: min(bandwidth, numbers.SECTION_4_3_NETWORK) if ends[2] is ChannelKind.REMOTE_MEMCPY else bandwidth
        for ends, bandwidth in numbers.TABLE_5.items()
    }
    origin = dict.fromkeys(numbers.ASSUMED, "bandwidth from the paper (Isometry, table 5 and section 4.3)")
    return _cluster(
        "two-node",
        2,
        1,
        replace(numbers.SAPLING, bandwidths=bandwidths, origin=origin),
        "Isometry, figure 4 and section 4.3: bandwidths from the paper; latencies and capacities assumed",
    )


def _cluster(name: str, nodes: int, gpus: int, figures: NodeFigures, provenance: str) -> Machine:
    nodes = checks.whole(f"preset {name!r}", "nodes", nodes, low=1, high=MOST_NODES)
    gpus = checks.whole(f"preset {name!r}", "gpus", gpus, low=0, high=MOST_GPUS)
    by_node = [node_memories(node, gpus, figures) for node in range(nodes)]
    memories = tuple(memory for members in by_node for memory in members)
    return Machine(name, memories, tuple(node_channels(by_node, figures)), provenance=provenance)


def node_memories(node: int, gpus: int, figures: NodeFigures) -> list[Memory]:
    """The memories of a node with `gpus` GPUs."""

    def memory(suffix: str, kind: MemoryKind, capacity: int | None) -> Memory:
        return Memory(f"node{node}.{suffix}", kind, node, capacity)

    networked = any(kind.crosses_nodes for _, _, kind in figures.bandwidths)
    registered = [memory("reg", MemoryKind.REG, figures.registered)] if networked else []
    return [
        memory("sys", MemoryKind.SYS, figures.dram - (1 + len(registered)) * figures.registered),
        *registered,
        memory("zcm", MemoryKind.ZCM, figures.registered),
        *(memory(f"fbm{k}", MemoryKind.FBM, figures.gpu_memory) for k in range(gpus)),
        memory("dsk", MemoryKind.DSK, figures.disk_space),
    ]


_Template = Callable[[str, str], Channel]


def node_channels(by_node: list[list[Memory]], figures: NodeFigures) -> list[Channel]:
    """A channel for every pair of memories whose kinds are in the table of bandwidths. All nodes have the same memories."""
    members = by_node[0]
    local = _templates(members, figures, crossing=False)
    remote = _templates(members, figures, crossing=True)
    names = [[memory.name for memory in each] for each in by_node]
    return [
        template(source, there[j])
        for here in names
        for i, source in enumerate(here)
        for there in names
        for j, template in (local if there is here else remote)[i]
    ]


def _templates(members: list[Memory], figures: NodeFigures, *, crossing: bool) -> list[list[tuple[int, _Template]]]:
    """For every memory of a node: the positions of the memories that a channel leads to, with templates of the channels.

    With `crossing` the destinations are on another node, otherwise on the same node.
    """
    by_ends = {(a, b): (kind, rate) for (a, b, kind), rate in figures.bandwidths.items() if kind.crosses_nodes == crossing}
    functions: dict[tuple[ChannelKind, float], ThroughputFunction] = {}
    result: list[list[tuple[int, _Template]]] = []
    for source in members:
        row: list[tuple[int, _Template]] = []
        for j, destination in enumerate(members):
            found = by_ends.get((source.kind, destination.kind))
            if found is None:
                continue
            kind, bandwidth = found
            origin = figures.origin[kind]
            provenance = "assumed" if origin == "bandwidth assumed" else f"{origin}, latency assumed"
            if kind is ChannelKind.MEMCPY:
                provenance = f"{origin}, flat as in Isometry's figure 5d"
            elif kind is ChannelKind.GPU_COPY and source is not destination:
                bandwidth, provenance = figures.peer, figures.peer_origin
            assumed = figures.behaviour[kind]
            if (kind, bandwidth) not in functions:
                functions[kind, bandwidth] = throughput(bandwidth, assumed)
            row.append((j, _template(kind, functions[kind, bandwidth], assumed, provenance)))
        result.append(row)
    return result


def _template(kind: ChannelKind, function: ThroughputFunction, assumed: Assumed, provenance: str) -> _Template:
    def make(source: str, destination: str) -> Channel:
        return Channel(
            "",
            kind,
            source,
            destination,
            function,
            setup=assumed.setup,
            alignment=assumed.alignment,
            max_in_flight=assumed.in_flight,
            provenance=provenance,
        )

    return make


def throughput(bandwidth: float, assumed: Assumed) -> ThroughputFunction:
    """The throughput function of a channel with this peak bandwidth, in bytes per second, and this assumed behaviour."""
    if assumed.latency is None:
        return Constant(bandwidth)
    if assumed.pipelined:
        return Sampled.with_gap(assumed.latency, bandwidth)
    return LatencyBandwidth(assumed.latency, bandwidth)


register_preset(
    PresetInfo(
        "sapling",
        "the cluster of the Isometry paper (tables 4 and 5); bandwidths from the paper, latencies assumed",
        {
            "nodes": PresetOption(2, "how many nodes; the paper's cluster has 4"),
            "gpus": PresetOption(1, "how many GPUs per node; the paper's cluster has 2"),
        },
        sapling,
    )
)
register_preset(
    PresetInfo(
        "two-node",
        "two nodes with a GPU and a disk each and a network of 3 GB/s (Isometry, figure 4 and section 4.3)",
        {},
        two_node,
    )
)
register_preset(
    PresetInfo(
        "xstream",
        "the XStream cluster (Isometry, table 4): K80 GPUs, FDR InfiniBand; bandwidths published or assumed",
        {
            "nodes": PresetOption(2, "how many nodes; the paper's cluster has 16"),
            "gpus": PresetOption(4, "how many GPUs per node; two K80 have 4"),
        },
        xstream,
    )
)
register_preset(
    PresetInfo(
        "moonlight",
        "the Moonlight cluster (Isometry, table 4): M2090 GPUs, QDR InfiniBand; bandwidths published or assumed",
        {
            "nodes": PresetOption(2, "how many nodes; the paper's cluster has 308"),
            "gpus": PresetOption(2, "how many GPUs per node; the paper's cluster has 2"),
        },
        moonlight,
    )
)
