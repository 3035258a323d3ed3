"""The preset of two DGX H100 nodes. Its figures are in `numbers_dgx`."""

from __future__ import annotations

from collections.abc import Iterator

from isoviz import checks
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.kinds import MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.presets import numbers_dgx as figures
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.presets.today import PROVENANCE, Uses


def dgx_h100_pair(gpus: int = figures.GPUS) -> Machine:
    """Two DGX H100 nodes: NVLink between the GPUs of a node, and one 400 Gb/s NIC per GPU between the nodes.

    Every node has `node<k>.fbm0` to `.fbm7`, `.reg0` to `.reg7`, `.sys0`, `.sys1`, `.zcm0`, `.zcm1` and `.dsk`. GPU k and NIC k
    are a pair: they share one PCIe link of socket k // 4. `reg<k>` is memory of this socket that is registered with NIC k. The
    network connects NICs of the same number (rails); data of another GPU reaches the NIC over NVLink. Host memories copy within
    their socket. Copies between sockets are from SYS to SYS.

    NIC k reads and writes `reg<k>` (RemoteMemcpy) and the memory of GPU k (GPUDirectRemote: GPUDirect RDMA), which needs no copy
    in host memory. GPUs read and write pinned memory with copy engines (GPURead, GPUWrite) and with kernels, which change the
    layout on the way (ZeroCopyRead, ZeroCopyWrite). Files reach GPUs through host memory or directly (GPUDirectRead,
    GPUDirectWrite).

    Shared resources are NICs, PCIe links (`up` is towards the host), NVLink ports of GPUs, the memory of each GPU, the memory bus
    of each socket, and the drives. Capacities are per direction, except those of memories and drives, which are for both
    directions together. `gpus` is the number of pairs per node.

    Boxes: a socket has its host memory and a PCIe switch for each pair. The GPU, with its NVLink port, and the NIC lie in the
    switch.

    Raises:
        MachineError: `gpus` is not a whole number from 1 to 8.
    """
    pairs = checks.whole("preset 'dgx-h100-pair'", "gpus", gpus, low=1, high=figures.GPUS)
    nodes = ("node0", "node1")
    return Machine(
        "dgx-h100-pair",
        tuple(memory for number in range(len(nodes)) for memory in _memories(number, pairs)),
        tuple(channel for node in nodes for channel in (*_within(node, pairs), *_to_other(node, nodes, pairs))),
        tuple(resource for number in range(len(nodes)) for resource in _resources(number, pairs)),
        provenance=PROVENANCE,
    )


def _socket(pair: int) -> int:
    return pair // figures.GPUS_PER_SOCKET


def _memories(number: int, pairs: int) -> Iterator[Memory]:
    def memory(suffix: str, kind: MemoryKind, capacity: int, label: str = "", within: tuple[str, ...] = ()) -> Memory:
        return Memory(f"node{number}.{suffix}", kind, number, capacity, label=label, within=within)

    for pair in range(pairs):
        yield memory(f"fbm{pair}", MemoryKind.FBM, figures.GPU_MEMORY, within=(*_switch(pair), f"GPU {pair}"))
    for pair in range(pairs):
        label = f"GPU and NIC {pair}"
        yield memory(f"reg{pair}", MemoryKind.REG, figures.REGISTERED, label, within=_host(_socket(pair)))
    for socket in range(figures.SOCKETS):
        registered = figures.REGISTERED * sum(_socket(pair) == socket for pair in range(pairs))
        size = figures.DRAM // figures.SOCKETS - figures.PINNED_DRAM - registered
        yield memory(f"sys{socket}", MemoryKind.SYS, size, f"socket {socket}", within=_host(socket))
    for socket in range(figures.SOCKETS):
        yield memory(f"zcm{socket}", MemoryKind.ZCM, figures.PINNED_DRAM, f"socket {socket}", within=_host(socket))
    yield memory("dsk", MemoryKind.DSK, figures.DISK_SPACE)


def _host(socket: int) -> tuple[str, ...]:
    """The box of the host memory of a socket."""
    return f"socket {socket}", "DRAM"


def _switch(pair: int) -> tuple[str, ...]:
    """The box of the PCIe link that a GPU and its NIC share."""
    return f"socket {_socket(pair)}", f"PCIe switch {pair}"


def _resources(number: int, pairs: int) -> Iterator[Resource]:
    def resource(name: str, capacity: float, origin: str, within: tuple[str, ...] = ()) -> Resource:
        return Resource(f"node{number}.{name}", capacity, figures.ORIGIN[origin], node=number, within=within)

    for name, capacity, ways, box in (
        ("nvlink", figures.NVLINK, (".out", ".in"), "GPU"),
        ("pcie", figures.PCIE, (".up", ".down"), ""),
        ("nic", figures.NIC, (".out", ".in"), "NIC"),
        ("hbm", figures.HBM, ("",), "GPU"),
    ):
        for pair in range(pairs):
            within = (*_switch(pair), f"{box} {pair}") if box else _switch(pair)
            for way in ways:
                yield resource(f"{name}{pair}{way}", capacity, name, within)
    for socket in range(figures.SOCKETS):
        yield resource(f"bus{socket}", figures.HOST_BUS, "bus", _host(socket))
    yield resource("drives", figures.DRIVES, "drives")


def _within(node: str, pairs: int) -> Iterator[Channel]:
    """The channels of one node."""
    for pair in range(pairs):
        yield from _gpu(node, pair, pairs)
    for socket in range(figures.SOCKETS):
        bus = f"{node}.bus{socket}"
        host = [f"sys{socket}", f"zcm{socket}"]
        both: Uses = ((bus, 2.0),)
        for a in host:
            for b in host:
                yield _channel("memcpy", node, a, b, both)
        for pair in range(pairs):
            if _socket(pair) == socket:
                # No channels between registered memories: each can be reached from every GPU as fast as any other.
                registered = f"reg{pair}"
                yield _channel("memcpy", node, registered, registered, both)
                for other in host:
                    yield _channel("memcpy", node, registered, other, both)
                    yield _channel("memcpy", node, other, registered, both)
        for memory in host:
            yield from _files(node, "disk", memory, ((bus, 1.0),), ((bus, 1.0),))
    across: Uses = ((f"{node}.bus0", 1.0), (f"{node}.bus1", 1.0))
    for a, b in (("sys0", "sys1"), ("sys1", "sys0")):
        yield _channel("memcpy across", node, a, b, across)


def _gpu(node: str, pair: int, pairs: int) -> Iterator[Channel]:
    """The channels out of one GPU, and the channels into it from host memory and files."""
    gpu, socket = f"fbm{pair}", _socket(pair)
    hbm: Uses = ((f"{node}.hbm{pair}", 1.0),)
    yield _channel("copy", node, gpu, gpu, ((f"{node}.hbm{pair}", 2.0),))
    for other in range(pairs):
        if other != pair:
            links: Uses = ((f"{node}.nvlink{pair}.out", 1.0), (f"{node}.nvlink{other}.in", 1.0))
            yield _channel("peer", node, gpu, f"fbm{other}", (*links, *hbm, (f"{node}.hbm{other}", 1.0)))
    link = f"{node}.pcie{pair}"
    bus: Uses = ((f"{node}.bus{socket}", 1.0),)
    up, down = ((f"{link}.up", 1.0), *bus, *hbm), ((f"{link}.down", 1.0), *bus, *hbm)
    for memory, how in ((f"reg{pair}", "pinned"), (f"zcm{socket}", "pinned"), (f"sys{socket}", "pageable")):
        yield _channel(f"{how} read", node, gpu, memory, up)
        yield _channel(f"{how} write", node, memory, gpu, down)
    yield _channel("kernel read", node, gpu, f"zcm{socket}", up, beside=True)
    yield _channel("kernel write", node, f"zcm{socket}", gpu, down, beside=True)
    yield from _files(node, "direct", gpu, ((f"{link}.down", 1.0), *hbm), ((f"{link}.up", 1.0), *hbm))


def _files(node: str, how: str, memory: str, reading: Uses, writing: Uses) -> Iterator[Channel]:
    """The channels between files and a memory. Writing occupies the drives for longer."""
    drives, longer = f"{node}.drives", figures.DRIVES / figures.DISK_WRITE
    yield _channel(f"{how} read", node, "dsk", memory, ((drives, 1.0), *reading))
    yield _channel(f"{how} write", node, memory, "dsk", ((drives, longer), *writing))


def _to_other(node: str, nodes: tuple[str, ...], pairs: int) -> Iterator[Channel]:
    """The channels from one node to the other. NIC k reads memory of its node; NIC k of the other node writes to its own."""
    for other in nodes:
        for pair in range(pairs if other != node else 0):
            bus, hbm, pcie = f"bus{_socket(pair)}", f"hbm{pair}", f"pcie{pair}"
            # The NIC takes data of the host down its link, and data of the GPU up the link of the GPU; it gives the other way.
            taken = {"reg": (bus, f"{pcie}.down"), "fbm": (hbm, f"{pcie}.up")}
            given = {"reg": (bus, f"{pcie}.up"), "fbm": (hbm, f"{pcie}.down")}
            for here, before in taken.items():
                for there, after in given.items():
                    role = "remote" if here == there == "reg" else "direct remote"
                    names = [f"{node}.{name}" for name in (*before, f"nic{pair}.out")]
                    names += [f"{other}.{name}" for name in (f"nic{pair}.in", *after)]
                    uses = tuple((name, 1.0) for name in names)
                    yield _channel(role, node, f"{here}{pair}", f"{there}{pair}", uses, other=other)


def _channel(
    role: str, node: str, source: str, destination: str, uses: Uses, *, other: str | None = None, beside: bool = False
) -> Channel:
    return figures.CHANNELS[role].channel(f"{node}.{source}", f"{other or node}.{destination}", uses, beside=beside)


register_preset(
    PresetInfo(
        "dgx-h100-pair",
        "two nodes of 8 H100 GPUs: NVLink, GPUDirect, a NIC of 400 Gb/s per GPU; figures published, measured, assumed",
        {"gpus": PresetOption(8, "how many GPUs per node, each with its NIC; a DGX H100 has 8")},
        dgx_h100_pair,
    )
)
