"""Presets with several ways between two memories: GPUs that NVLink joins as a mesh, and nodes with two NICs.

NVIDIA publishes the topology of the DGX-1 with V100 GPUs (`nvidia-smi topo -m` prints it) and the rate of a lane of NVLink 2.
"""

from __future__ import annotations

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.channel import Channel, Resource
from isoviz.machines.kinds import ChannelKind, MemoryKind
from isoviz.machines.machine import Machine
from isoviz.machines.memory import Memory
from isoviz.machines.networks import ListedLinks, Network, Port, Switch, Transport
from isoviz.machines.networks.routing import Neighbours
from isoviz.machines.presets.numbers import GIB
from isoviz.machines.presets.registry import PresetInfo, PresetOption, register_preset
from isoviz.machines.throughput import LatencyBandwidth

GB = 1e9
GPUS = 8
LANES = (
    (0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2), (2, 6, 1),
    (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2),
)  # fmt: skip
"""The lanes of NVLink between two GPUs of a DGX-1; published. Each GPU has six."""
NVLINK = 25 * GB
"""A lane in each direction; published."""
NVLINK_SHARE = 0.96
"""The part of a lane that a copy gets; assumed, as 24 of 25 GB/s are measured in practice."""
PCIE = 12.5 * GB
"""Between host memory and the switch of two GPUs, in each direction: PCIe 3.0 ×16; assumed, as measured in practice."""
GPU_MEMORY = 800 * GB
"""Within a GPU: HBM2 of 900 GB/s, published; a copy reads and writes; assumed."""
LAUNCH = 5e-6
"""A copy of a GPU begins; assumed."""
REQUEST = 2e-6
"""Between two copies that a GPU has queued; assumed."""
NIC = 25 * GB
"""A NIC in each direction: 200 Gb/s, HDR InfiniBand; published."""
NIC_SHARE = 0.97
"""The part of it that is data; assumed."""
NIC_LATENCY = 2e-6
"""Until a message has begun; assumed."""
HOST_COPY = 60 * GB
"""Between pageable and registered memory, by a few threads; assumed."""
_ASSUMED = "assumed"


def v100_mesh() -> Machine:
    """A node of eight V100 GPUs, a DGX-1: NVLink as a mesh in which each GPU reaches four others, and PCIe to host memory.

    NVLink does not forward: two GPUs without a link between them reach each other through a third one, or through the host.
    """
    gpus = [f"node0.fbm{gpu}" for gpu in range(GPUS)]
    host = "node0.zcm"
    boxes = [f"PCIe switch {pair}" for pair in range(GPUS // 2)]
    memories = [Memory(host, MemoryKind.ZCM)]
    memories += [Memory(name, MemoryKind.FBM, capacity=16 * GIB, within=(boxes[gpu // 2],)) for gpu, name in enumerate(gpus)]
    switches = [
        Resource(f"pcie{pair} {way}", PCIE, _ASSUMED, node=0, within=(box,))
        for pair, box in enumerate(boxes)
        for way in ("up", "down")
    ]
    channels = []
    copy = LatencyBandwidth(1e-9 / 8, PCIE)
    for gpu, name in enumerate(gpus):
        for kind, ends, way in (
            (ChannelKind.GPU_READ, (name, host), "up"),
            (ChannelKind.GPU_WRITE, (host, name), "down"),
        ):
            uses = ((f"pcie{gpu // 2} {way}", 1.0),)
            channels.append(_gpu_channel(kind, *ends, copy, uses))
        channels.append(_gpu_channel(ChannelKind.GPU_COPY, name, name, LatencyBandwidth(1e-9 / 32, GPU_MEMORY / 2)))
    lanes = tuple((f"gpu{here}", f"gpu{there}", lanes) for here, there, lanes in LANES)
    nvlink = Network(
        "nvlink",
        ListedLinks(lanes),
        tuple([Port(name, f"gpu{gpu}") for gpu, name in enumerate(gpus)]),
        (
            Transport(
                ChannelKind.GPU_COPY,
                LatencyBandwidth(1e-9 / 16, 2 * NVLINK * NVLINK_SHARE),
                setup=LAUNCH,
                request_seconds=REQUEST,
                provenance="two lanes of NVLink 2, 25 GB/s each, published; 96 % of them for copies and overheads assumed",
            ),
        ),
        link_rate=NVLINK,
        overhead=1 / NVLINK_SHARE,
        routing=Neighbours(),
        provenance="lanes of a DGX-1 with V100 GPUs, and 25 GB/s a lane, published",
    )
    return Machine(
        "v100-mesh", tuple(memories), tuple(channels), tuple(switches),
        provenance="topology and NVLink published; PCIe, copies and overheads assumed", networks=(nvlink,),
    )  # fmt: skip


def _gpu_channel(
    kind: ChannelKind, source: str, destination: str, rate: LatencyBandwidth, uses: tuple[tuple[str, float], ...] = ()
) -> Channel:
    return Channel(
        "", kind, source, destination, rate, setup=LAUNCH, resources=uses, provenance=_ASSUMED, request_seconds=REQUEST
    )


def two_nics(nodes: int = 2) -> Machine:
    """Nodes with two NICs each, on two switches that share nothing: rails.

    Both NICs of a node read and write the same registered memory.

    Raises:
        MachineError: `nodes` is not a whole number from 2 to 16.
    """
    if type(nodes) is not int or not 2 <= nodes <= 16:
        raise MachineError(f"preset 'two-nics', nodes: expected 2 to 16, got {checks.show(nodes)}")
    memories, channels = [], []
    copy = LatencyBandwidth(0.25e-9, HOST_COPY)
    for node in range(nodes):
        pageable, registered = f"node{node}.sys", f"node{node}.reg"
        memories += [Memory(pageable, MemoryKind.SYS, node), Memory(registered, MemoryKind.REG, node)]
        channels += [
            Channel("", ChannelKind.MEMCPY, *ends, copy, provenance=_ASSUMED, request_seconds=1e-6)
            for ends in ((pageable, registered), (registered, pageable), (pageable, pageable))
        ]
    rails = tuple(
        Network(
            f"rail{rail}",
            Switch(),
            tuple([Port(f"node{node}.reg", "switch", inject=NIC, receive=NIC) for node in range(nodes)]),
            (
                Transport(
                    ChannelKind.REMOTE_MEMCPY,
                    LatencyBandwidth(NIC_LATENCY / 1000, NIC * NIC_SHARE),
                    setup=NIC_LATENCY,
                    request_seconds=REQUEST,
                    provenance="200 Gb/s a NIC published; 97 % of it for data, latency and overheads assumed",
                ),
            ),
            link_rate=NIC,
            overhead=1 / NIC_SHARE,
            provenance="200 Gb/s a NIC published; two rails assumed",
        )
        for rail in range(2)
    )
    return Machine("two-nics", tuple(memories), tuple(channels), provenance="NICs published, the rest assumed", networks=rails)


register_preset(
    PresetInfo(
        "v100-mesh",
        "a node of 8 V100 GPUs: a mesh of NVLink, PCIe to the host; links published, overheads assumed",
        {},
        v100_mesh,
    )
)
register_preset(
    PresetInfo(
        "two-nics",
        "nodes with two NICs of 200 Gb/s on two switches; figures published or assumed",
        {"nodes": PresetOption(2, "how many nodes, 2 to 16")},
        two_nics,
    )
)
