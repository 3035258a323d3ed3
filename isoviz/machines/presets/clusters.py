"""The clusters of the Isometry paper, built from the figures in `numbers`."""

from __future__ import annotations

from collections.abc import Mapping

from isoviz.machines import checks
from isoviz.machines.channel import Channel, ChannelKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory, MemoryKind
from isoviz.machines.presets import numbers
from isoviz.machines.throughput import Constant, LatencyBandwidth, Sampled, ThroughputFunction

MOST_NODES = 128
MOST_GPUS = 16

Bandwidths = Mapping[tuple[MemoryKind, MemoryKind, ChannelKind], float]


def sapling(nodes: int = 2, gpus: int = 1) -> Machine:
    """The Sapling cluster of the Isometry paper: bandwidths from its table 5, latencies assumed.

    Every node has `node<k>.sys`, `.reg`, `.zcm`, `.fbm0` (one per GPU) and `.dsk`. The cluster itself has 4 nodes of 2 GPUs.

    Raises:
        MachineError: no whole number of 1 to 128 nodes, or of 0 to 16 GPUs.
    """
    nodes = checks.whole("preset 'sapling'", "nodes", nodes, low=1, high=MOST_NODES)
    gpus = checks.whole("preset 'sapling'", "gpus", gpus, low=0, high=MOST_GPUS)
    memories = [memory for node in range(nodes) for memory in _memories(node, gpus)]
    return Machine(
        "sapling",
        tuple(memories),
        tuple(_channels(memories, numbers.TABLE_5, "bandwidth from the paper (Isometry, table 5)")),
        provenance="Isometry, tables 4 and 5: bandwidths and DRAM from the paper; latencies and other capacities assumed",
    )


def two_node() -> Machine:
    """The two nodes of Isometry's figure 4, with the network of 3 GB/s of its section 4.3.

    Each node has `.fbm0`, `.zcm`, `.reg`, `.sys` and `.dsk`; all but the disk have a self-loop. Within a node the bandwidths are
    those of table 5; the assumed latencies let the example of section 4.3 (|F| = 16, blocks of 2K × 1K, slots of 32 MiB)
    satisfy every constraint at 3 GB/s.
    """
    memories = [memory for node in range(2) for memory in _memories(node, gpus=1)]
    bandwidths = {
        ends: min(bandwidth, numbers.SECTION_4_3_NETWORK) if ends[2] is ChannelKind.REMOTE_MEMCPY else bandwidth
        for ends, bandwidth in numbers.TABLE_5.items()
    }
    return Machine(
        "two-node",
        tuple(memories),
        tuple(_channels(memories, bandwidths, "bandwidth from the paper (Isometry, table 5 and section 4.3)")),
        provenance="Isometry, figure 4 and section 4.3: bandwidths from the paper; latencies and capacities assumed",
    )


def _memories(node: int, gpus: int) -> list[Memory]:
    def memory(suffix: str, kind: MemoryKind, capacity: int | None) -> Memory:
        return Memory(f"node{node}.{suffix}", kind, node, capacity)

    return [
        memory("sys", MemoryKind.SYS, numbers.SAPLING_DRAM - 2 * numbers.REGISTERED),
        memory("reg", MemoryKind.REG, numbers.REGISTERED),
        memory("zcm", MemoryKind.ZCM, numbers.REGISTERED),
        *(memory(f"fbm{k}", MemoryKind.FBM, numbers.GPU_MEMORY) for k in range(gpus)),
        memory("dsk", MemoryKind.DSK, numbers.DISK_SPACE),
    ]


def _channels(memories: list[Memory], bandwidths: Bandwidths, source_of_bandwidth: str) -> list[Channel]:
    """A channel for every pair of memories that the table of bandwidths joins."""
    by_ends = {(a, b, kind.crosses_nodes): (kind, rate) for (a, b, kind), rate in bandwidths.items()}
    functions: dict[tuple[ChannelKind, float], ThroughputFunction] = {}
    result = []
    for source in memories:
        for destination in memories:
            found = by_ends.get((source.kind, destination.kind, source.node != destination.node))
            if found is None:
                continue
            kind, bandwidth = found
            provenance = f"{source_of_bandwidth}, latency assumed"
            if kind is ChannelKind.MEMCPY:
                provenance = f"{source_of_bandwidth}, flat as in figure 5d"
            elif kind is ChannelKind.GPU_COPY and source is not destination:
                bandwidth, provenance = numbers.GPU_PEER_BANDWIDTH, "assumed"
            assumed = numbers.ASSUMED[kind]
            function = functions.setdefault((kind, bandwidth), _throughput(bandwidth, assumed))
            result.append(
                Channel(
                    "",
                    kind,
                    source.name,
                    destination.name,
                    function,
                    setup=assumed.setup,
                    alignment=assumed.alignment,
                    max_in_flight=assumed.in_flight,
                    provenance=provenance,
                )
            )
    return result


def _throughput(bandwidth: float, assumed: numbers.Assumed) -> ThroughputFunction:
    if assumed.latency is None:
        return Constant(bandwidth)
    if assumed.pipelined:
        return Sampled.with_gap(assumed.latency, bandwidth)
    return LatencyBandwidth(assumed.latency, bandwidth)
