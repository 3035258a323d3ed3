"""The preset of two DGX H100 nodes. Its figures are in `numbers_dgx`."""

from __future__ import annotations

from collections.abc import Iterator

from isoviz import checks
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.presets import numbers_dgx as figures
from isoviz.machines.presets.clusters import throughput

Uses = tuple[tuple[str, float], ...]


def dgx_h100_pair(gpus: int = figures.GPUS) -> Machine:
    """Two DGX H100 nodes: NVLink between the GPUs of a node, and one 400 Gb/s NIC per GPU between the nodes.

    Every node has `node<k>.fbm0` to `.fbm7`, `.reg0` to `.reg7`, `.sys0`, `.sys1`, `.zcm0`, `.zcm1` and `.dsk`. GPU k and NIC k
    are a pair: they share one PCIe link of socket k // 4. `reg<k>` is memory of this socket that is registered with NIC k. GPU k
    sends and receives through it. The network connects NICs of the same number (rails); data of another GPU reaches the NIC over
    NVLink. Host memories copy within their socket. Copies between sockets are from SYS to SYS.

    RemoteMemcpy connects host memories only (Isometry, table 2). Therefore GPUDirect RDMA, in which a NIC accesses GPU memory
    directly, is not modelled. A transfer from GPU to GPU between nodes has a hop into `reg<k>` and a hop out of it, which load
    the PCIe link and the memory bus of the socket. Predictions are for such transfers; transfers with GPUDirect RDMA are at
    least as fast.

    Shared resources are NICs, PCIe links (`up` is towards the host), NVLink ports of GPUs, and the memory bus of each socket.
    Capacities are per direction, except that of the memory bus, which is for both directions together. `gpus` is the number of
    pairs per node.

    Raises:
        MachineError: `gpus` is no whole number from 1 to 8.
    """
    pairs = checks.whole("preset 'dgx-h100-pair'", "gpus", gpus, low=1, high=figures.GPUS)
    nodes = ("node0", "node1")
    return Machine(
        "dgx-h100-pair",
        tuple(memory for number in range(len(nodes)) for memory in _memories(number, pairs)),
        tuple(channel for node in nodes for channel in (*_within(node, pairs), *_to_other(node, nodes, pairs))),
        tuple(resource for node in nodes for resource in _resources(node, pairs)),
        provenance="links, NICs, memory buses and sizes published; what copies get of them, latencies and disks assumed"
        "; GPUDirect RDMA not modelled: reg<k> stages between GPU k and NIC k",
    )


def _socket(pair: int) -> int:
    return pair // figures.GPUS_PER_SOCKET


def _memories(number: int, pairs: int) -> Iterator[Memory]:
    def memory(suffix: str, kind: MemoryKind, capacity: int, label: str = "") -> Memory:
        return Memory(f"node{number}.{suffix}", kind, number, capacity, label=label)

    for pair in range(pairs):
        yield memory(f"fbm{pair}", MemoryKind.FBM, figures.GPU_MEMORY)
    for pair in range(pairs):
        yield memory(f"reg{pair}", MemoryKind.REG, figures.REGISTERED, f"GPU and NIC {pair}")
    for socket in range(figures.SOCKETS):
        registered = figures.REGISTERED * sum(_socket(pair) == socket for pair in range(pairs))
        size = figures.DRAM // figures.SOCKETS - figures.PINNED_DRAM - registered
        yield memory(f"sys{socket}", MemoryKind.SYS, size, f"socket {socket}")
    for socket in range(figures.SOCKETS):
        yield memory(f"zcm{socket}", MemoryKind.ZCM, figures.PINNED_DRAM, f"socket {socket}")
    yield memory("dsk", MemoryKind.DSK, figures.DISK_SPACE)


def _resources(node: str, pairs: int) -> Iterator[Resource]:
    for name, capacity, origin, ways in (
        ("nvlink", figures.NVLINK, "nvlink", ("out", "in")),
        ("pcie", figures.PCIE, "pcie", ("up", "down")),
        ("nic", figures.NIC, "nic", ("out", "in")),
    ):
        for pair in range(pairs):
            for way in ways:
                yield Resource(f"{node}.{name}{pair}.{way}", capacity, figures.ORIGIN[origin])
    for socket in range(figures.SOCKETS):
        yield Resource(f"{node}.bus{socket}", figures.HOST_BUS, figures.ORIGIN["bus"])


def _within(node: str, pairs: int) -> Iterator[Channel]:
    """The channels of one node."""
    for pair in range(pairs):
        yield from _gpu(node, pair, pairs)
    for socket in range(figures.SOCKETS):
        bus = f"{node}.bus{socket}"
        host = [f"sys{socket}", f"zcm{socket}"]
        for a in host:
            for b in host:
                yield _memcpy(node, a, b, ((bus, 2.0),))
        for pair in range(pairs):
            if _socket(pair) == socket:
                # No channels between registered memories: each can be reached from every GPU as fast as any other.
                registered = f"reg{pair}"
                yield _memcpy(node, registered, registered, ((bus, 2.0),))
                for other in host:
                    yield _memcpy(node, registered, other, ((bus, 2.0),))
                    yield _memcpy(node, other, registered, ((bus, 2.0),))
        for memory in host:
            uses = ((bus, 1.0),)
            yield _channel(ChannelKind.DISK_READ, node, "dsk", memory, figures.DISK_READ, "disk", uses)
            yield _channel(ChannelKind.DISK_WRITE, node, memory, "dsk", figures.DISK_WRITE, "disk", uses)
    both = ((f"{node}.bus0", 1.0), (f"{node}.bus1", 1.0))
    for a, b in (("sys0", "sys1"), ("sys1", "sys0")):
        yield _channel(ChannelKind.MEMCPY, node, a, b, figures.MEMCPY_ACROSS, "memcpy", both)


def _gpu(node: str, pair: int, pairs: int) -> Iterator[Channel]:
    """The channels out of one GPU, and the channels into it from host memory."""
    gpu, socket = f"fbm{pair}", _socket(pair)
    yield _channel(ChannelKind.GPU_COPY, node, gpu, gpu, figures.GPU_COPY, "copy")
    for other in range(pairs):
        if other != pair:
            uses = ((f"{node}.nvlink{pair}.out", 1.0), (f"{node}.nvlink{other}.in", 1.0))
            yield _channel(ChannelKind.GPU_COPY, node, gpu, f"fbm{other}", figures.GPU_PEER, "peer", uses)
    for memory, bandwidth, origin in (
        (f"reg{pair}", figures.PINNED, "pinned"),
        (f"zcm{socket}", figures.PINNED, "pinned"),
        (f"sys{socket}", figures.PAGEABLE, "pageable"),
    ):
        link, bus = f"{node}.pcie{pair}", (f"{node}.bus{socket}", 1.0)
        yield _channel(ChannelKind.GPU_READ, node, gpu, memory, bandwidth, origin, ((f"{link}.up", 1.0), bus))
        yield _channel(ChannelKind.GPU_WRITE, node, memory, gpu, bandwidth, origin, ((f"{link}.down", 1.0), bus))


def _to_other(node: str, nodes: tuple[str, ...], pairs: int) -> Iterator[Channel]:
    """The channels from one node to the other. NIC k reads host memory of its node; NIC k of the other node writes to its own."""
    for other in nodes:
        for pair in range(pairs if other != node else 0):
            uses = tuple(
                (name, 1.0)
                for name in (
                    f"{node}.bus{_socket(pair)}",
                    f"{node}.pcie{pair}.down",
                    f"{node}.nic{pair}.out",
                    f"{other}.nic{pair}.in",
                    f"{other}.pcie{pair}.up",
                    f"{other}.bus{_socket(pair)}",
                )
            )
            registered = f"reg{pair}"
            yield _channel(ChannelKind.REMOTE_MEMCPY, node, registered, registered, figures.REMOTE, "remote", uses, other=other)


def _memcpy(node: str, source: str, destination: str, uses: Uses) -> Channel:
    return _channel(ChannelKind.MEMCPY, node, source, destination, figures.MEMCPY, "memcpy", uses)


def _channel(
    kind: ChannelKind,
    node: str,
    source: str,
    destination: str,
    bandwidth: float,
    origin: str,
    uses: Uses = (),
    *,
    other: str | None = None,
) -> Channel:
    behaviour = figures.BEHAVIOUR[kind]
    return Channel(
        "",
        kind,
        f"{node}.{source}",
        f"{other or node}.{destination}",
        throughput(bandwidth, behaviour),
        setup=behaviour.setup,
        alignment=behaviour.alignment,
        resources=uses,
        max_in_flight=behaviour.in_flight,
        provenance=figures.ORIGIN[origin],
    )
