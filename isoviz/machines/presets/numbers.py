"""All figures of the cluster presets, with their origin. The code of the presets contains no other figures.

*From the paper*: Jia et al., Isometry (ICS '18), tables 4 and 5, figure 5d, section 4.3. Table 5 is in MB/s of 10⁶ bytes.

*Published*: upper bounds stated by the manufacturers of the hardware. A copy within a GPU reads and writes its memory, so its
bandwidth is half of the memory bandwidth.

*Assumed*: all other figures. The values for Sapling have the order of magnitude published for the hardware of table 4 (Xeon 5680,
Tesla C2070 on PCIe 2.0 ×16, QDR InfiniBand, a SATA solid-state disk). The latencies of its GPU channels are such that the example
of section 4.3 just satisfies every constraint at 3 GB/s: GPURead into ZCM needs runs of at least 31.9 KiB (in the paper
|F| × x_in = 32 KiB), and GPUWrite out of REG needs runs of at least 15.8 KiB (in the paper |F| × y_in = 16 KiB).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from isoviz.machines.kinds import ChannelKind, MemoryKind

MB = 1e6
GIB = 1024**3
HOST = (MemoryKind.REG, MemoryKind.SYS, MemoryKind.ZCM)

Bandwidths = Mapping[tuple[MemoryKind, MemoryKind, ChannelKind], float]
"""Peak bandwidths in bytes per second, by kinds of source, destination and channel."""


def figure_from(value: Any, origin: str) -> Any:
    """A field of a dataclass that is a figure, with its origin (`origin_of`)."""
    return field(default=value, metadata={"origin": origin})


def origin_of(figures: Any, name: str) -> str:
    """Where a figure of a dataclass is from. It begins with "from the paper", "fitted" or "assumed"."""
    return next(str(each.metadata["origin"]) for each in fields(figures) if each.name == name)


def origins_text(figures: Any, names: Iterable[str]) -> str:
    """Where some figures of a dataclass are from, in few words: "from the paper: put; assumed: copy"."""
    found: dict[str, dict[str, None]] = {"from the paper": {}, "fitted": {}, "assumed": {}}
    for name in names:
        words = next(words for words in found if origin_of(figures, name).startswith(words))
        found[words][name.replace("_", " ")] = None
    return "; ".join(f"{words}: {', '.join(each)}" for words, each in found.items() if each)


@dataclass(frozen=True)
class Assumed:
    """The assumed behaviour of one kind of channel.

    - `latency`: the overhead of a run in seconds; None for a negligible one (Memcpy, figure 5d).
    - `setup`: seconds once per transfer.
    - `pipelined`: whether the channel keeps enough requests in flight to hide the latency. Then the latency is the time between
      the starts of two runs.
    - `alignment`: the alignment of requests in bytes.
    - `in_flight`: the largest number of requests in flight.
    """

    latency: float | None
    setup: float
    pipelined: bool = False
    alignment: int = 1
    in_flight: int = 1


@dataclass(frozen=True)
class NodeFigures:
    """The figures of the nodes of a cluster. All nodes are equal: SYS, REG, ZCM, GPUs and a disk.

    Sizes are in bytes, None if unknown; bandwidths are in bytes per second.

    - `bandwidths`: peak bandwidths by kinds. If they have no RemoteMemcpy, the nodes have no REG.
    - `peer`: the bandwidth between two GPUs of a node.
    - `origin`: the origin of the bandwidth, by kind of channel.
    - `behaviour`: the assumed behaviour, by kind of channel.
    - `dram`: the size of the host memory.
    - `registered`: the size of REG, and also of ZCM. SYS is the rest of `dram`.
    - `gpu_memory`, `disk_space`: the sizes of a GPU's memory and of the disk.
    - `peer_origin`: the origin of the bandwidth between GPUs.
    """

    bandwidths: Bandwidths
    peer: float
    origin: Mapping[ChannelKind, str]
    behaviour: Mapping[ChannelKind, Assumed]
    dram: int
    registered: int
    gpu_memory: int
    disk_space: int | None
    peer_origin: str = "assumed"


def table(
    *,
    memcpy: float,
    gpu_write: tuple[float, float],
    gpu_read: tuple[float, float],
    gpu_copy: float,
    disk_write: float,
    disk_read: float,
    network: tuple[float, float] | None,
) -> Bandwidths:
    """Peak bandwidths in bytes per second, from figures in MB/s in the form of table 5.

    `gpu_write` and `gpu_read` are pairs (with ZCM, with REG or SYS). `network` is a pair (from REG, from ZCM or SYS), None for
    no network.
    """
    host = HOST if network is not None else (MemoryKind.SYS, MemoryKind.ZCM)
    fbm, dsk = MemoryKind.FBM, MemoryKind.DSK
    result: dict[tuple[MemoryKind, MemoryKind, ChannelKind], float] = {(fbm, fbm, ChannelKind.GPU_COPY): gpu_copy * MB}
    for a in host:
        plain = a is not MemoryKind.ZCM
        result[a, fbm, ChannelKind.GPU_WRITE] = gpu_write[plain] * MB
        result[fbm, a, ChannelKind.GPU_READ] = gpu_read[plain] * MB
        result[a, dsk, ChannelKind.DISK_WRITE] = disk_write * MB
        result[dsk, a, ChannelKind.DISK_READ] = disk_read * MB
        for b in host:
            result[a, b, ChannelKind.MEMCPY] = memcpy * MB
            if network is not None:
                result[a, b, ChannelKind.REMOTE_MEMCPY] = network[a is not MemoryKind.REG] * MB
    return result


# --- Sapling: from the paper ---------------------------------------------------------------------------------------------------

TABLE_5 = table(
    memcpy=7740,
    gpu_write=(5941, 5139),
    gpu_read=(6418, 4502),
    gpu_copy=55366,
    disk_write=270,
    disk_read=280,
    network=(3180, 2701),
)

SAPLING_DRAM = 48 * GIB
"""Bytes per node (table 4)."""

SECTION_4_3_NETWORK = 3000 * MB
"""Bytes per second: the network bandwidth of the example in section 4.3."""

# --- Sapling: assumed ----------------------------------------------------------------------------------------------------------

GPU_PEER_BANDWIDTH = 4500 * MB
"""Bytes per second between two GPUs of a node over PCIe. Table 5 has only copies within one GPU."""

REGISTERED = 4 * GIB
"""Bytes of each node's DRAM reserved for REG, and again for ZCM. SYS is the rest."""
GPU_MEMORY = 6 * GIB
"""Bytes of a Tesla C2070."""
DISK_SPACE = None
"""Bytes of the disk; unknown."""

ASSUMED: dict[ChannelKind, Assumed] = {
    # Figure 5d: the rate does not depend on the request size.
    ChannelKind.MEMCPY: Assumed(latency=None, setup=0.0),
    # Rows of a cudaMemcpy2D, device to host and host to device.
    ChannelKind.GPU_READ: Assumed(latency=5.8e-6, setup=10e-6, in_flight=2),
    ChannelKind.GPU_WRITE: Assumed(latency=2.25e-6, setup=10e-6, in_flight=2),
    # Rows of a cudaMemcpy2D within the device: narrow rows use little of its bandwidth.
    ChannelKind.GPU_COPY: Assumed(latency=10e-9, setup=10e-6, in_flight=2),
    # A request to a SATA solid-state disk; blocks of a file system.
    ChannelKind.DISK_READ: Assumed(latency=100e-6, setup=100e-6, alignment=4096),
    ChannelKind.DISK_WRITE: Assumed(latency=60e-6, setup=100e-6, alignment=4096),
    # A work request on QDR InfiniBand, several in flight.
    ChannelKind.REMOTE_MEMCPY: Assumed(latency=1.5e-6, setup=5e-6, pipelined=True, in_flight=8),
}

SAPLING = NodeFigures(
    TABLE_5,
    GPU_PEER_BANDWIDTH,
    dict.fromkeys(ASSUMED, "bandwidth from the paper (Isometry, table 5)"),
    ASSUMED,
    SAPLING_DRAM,
    REGISTERED,
    GPU_MEMORY,
    DISK_SPACE,
)

# --- XStream: 2 × Tesla K80, FDR InfiniBand, 256 GB of DRAM, 1.4 PB on SAS disks (table 4) -----------------------------------

QDR_DATA_RATE = 4000
"""MB/s, published: a signalling rate of 40 Gb/s, with a data share of 8/10."""
FDR_DATA_RATE = 6818
"""MB/s, published: a signalling rate of 56.25 Gb/s, with a data share of 64/66."""

XSTREAM = NodeFigures(
    table(
        memcpy=9000,  # assumed: one thread of a Xeon E5-2680
        gpu_write=(10000, 6000),  # assumed: of the 15.75 GB/s published for PCIe 3.0 ×16
        gpu_read=(10500, 5500),  # assumed, likewise
        gpu_copy=120_000,  # published: 480 GB/s per K80, 240 per die; half of that
        disk_write=900,  # assumed: one node's part of a parallel file system
        disk_read=1100,  # assumed, likewise
        # Assumed: the shares of the link's data rate that table 5 finds on QDR (3180 and 2701 of 4000).
        network=(FDR_DATA_RATE * 3180 / QDR_DATA_RATE, FDR_DATA_RATE * 2701 / QDR_DATA_RATE),
    ),
    peer=9000 * MB,  # assumed: over PCIe
    origin={
        ChannelKind.MEMCPY: "bandwidth assumed",
        ChannelKind.GPU_READ: "bandwidth assumed (published: 15.75 GB/s for PCIe 3.0 ×16)",
        ChannelKind.GPU_WRITE: "bandwidth assumed (published: 15.75 GB/s for PCIe 3.0 ×16)",
        ChannelKind.GPU_COPY: "bandwidth published: 240 GB/s per GPU of a Tesla K80, halved since a copy reads and writes",
        ChannelKind.DISK_READ: "bandwidth assumed (one node on a parallel file system)",
        ChannelKind.DISK_WRITE: "bandwidth assumed (one node on a parallel file system)",
        ChannelKind.REMOTE_MEMCPY: "link rate published (FDR, 6.8 GB/s), share reached assumed as on QDR (Isometry, table 5)",
    },
    behaviour={
        **ASSUMED,
        ChannelKind.DISK_READ: Assumed(latency=1e-3, setup=1e-3, alignment=4096),
        ChannelKind.DISK_WRITE: Assumed(latency=1e-3, setup=1e-3, alignment=4096),
        ChannelKind.REMOTE_MEMCPY: Assumed(latency=1e-6, setup=5e-6, pipelined=True, in_flight=8),
    },
    dram=256 * GIB,  # from the paper
    registered=REGISTERED,
    gpu_memory=12 * GIB,  # published, per die
    disk_space=1400 * 10**12,  # from the paper: of all nodes together
)

# --- Moonlight: 2 × Tesla M2090, QDR InfiniBand, 32 GB of DRAM, 1.8 PB of Panasas (table 4) ----------------------------------

MOONLIGHT = NodeFigures(
    table(
        memcpy=8500,  # assumed: one thread of a Xeon E5-2670
        gpu_write=(5941, 5139),  # assumed as on Sapling (table 5): PCIe 2.0 ×16 as there
        gpu_read=(6418, 4502),  # assumed, likewise
        gpu_copy=88_500,  # published: 177 GB/s for the M2090; half of that
        disk_write=300,  # assumed: one client of Panasas
        disk_read=350,  # assumed, likewise
        network=(3180, 2701),  # assumed as on Sapling (table 5): QDR as there
    ),
    peer=GPU_PEER_BANDWIDTH,  # assumed
    origin={
        ChannelKind.MEMCPY: "bandwidth assumed",
        ChannelKind.GPU_READ: "bandwidth assumed as on Sapling, PCIe 2.0 too (Isometry, table 5)",
        ChannelKind.GPU_WRITE: "bandwidth assumed as on Sapling, PCIe 2.0 too (Isometry, table 5)",
        ChannelKind.GPU_COPY: "bandwidth published: 177 GB/s for a Tesla M2090, halved since a copy reads and writes",
        ChannelKind.DISK_READ: "bandwidth assumed (one client of Panasas)",
        ChannelKind.DISK_WRITE: "bandwidth assumed (one client of Panasas)",
        ChannelKind.REMOTE_MEMCPY: "bandwidth assumed as on Sapling, QDR too (Isometry, table 5)",
    },
    behaviour={
        **ASSUMED,
        ChannelKind.DISK_READ: Assumed(latency=2e-3, setup=2e-3, alignment=4096),
        ChannelKind.DISK_WRITE: Assumed(latency=2e-3, setup=2e-3, alignment=4096),
    },
    dram=32 * GIB,  # from the paper
    registered=REGISTERED,
    gpu_memory=6 * GIB,  # published
    disk_space=1800 * 10**12,  # from the paper: of all nodes together
)

# --- a laptop: assumed, all of it ----------------------------------------------------------------------------------------------

LAPTOP = NodeFigures(
    table(
        memcpy=15_000,  # one thread on two channels of DDR5
        gpu_write=(12_000, 6000),  # PCIe 4.0 ×8, whose link rate is 15.75 GB/s
        gpu_read=(12_500, 5500),
        gpu_copy=120_000,  # half of GDDR6 on 128 bits
        disk_write=2500,  # NVMe
        disk_read=3500,
        network=None,
    ),
    peer=0.0,  # there is one GPU
    origin=dict.fromkeys(ASSUMED, "bandwidth assumed"),
    behaviour={
        **ASSUMED,
        ChannelKind.GPU_READ: Assumed(latency=3e-6, setup=8e-6, in_flight=2),
        ChannelKind.GPU_WRITE: Assumed(latency=1.5e-6, setup=8e-6, in_flight=2),
        ChannelKind.GPU_COPY: Assumed(latency=3e-9, setup=5e-6, in_flight=2),
        ChannelKind.DISK_READ: Assumed(latency=60e-6, setup=60e-6, alignment=4096),
        ChannelKind.DISK_WRITE: Assumed(latency=20e-6, setup=60e-6, alignment=4096),
    },
    dram=16 * GIB,
    registered=2 * GIB,
    gpu_memory=8 * GIB,
    disk_space=10**12,
)

# --- the GPUs of MPI ranks: assumed, all of it ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class GpuRates:
    """Bandwidths of one GPU in bytes per second: with pinned and with pageable host memory, within it, and to another GPU."""

    pinned: float
    pageable: float
    copy: float
    peer: float


GPU_OF_A_RANK = GpuRates(pinned=24_000 * MB, pageable=8000 * MB, copy=600_000 * MB, peer=20_000 * MB)
"""A data-centre GPU on PCIe 4.0 ×16, whose link rate is 31.5 GB/s."""
GPU_OF_A_RANK_BEHAVIOUR: Mapping[ChannelKind, Assumed] = {
    # Kernels convert while they copy, so that a short run costs about as much as a sector of memory or a part of a PCIe packet.
    ChannelKind.GPU_READ: Assumed(latency=0.3e-9, setup=10e-6, in_flight=2),
    ChannelKind.GPU_WRITE: Assumed(latency=0.3e-9, setup=10e-6, in_flight=2),
    ChannelKind.GPU_COPY: Assumed(latency=0.01e-9, setup=5e-6, in_flight=2),
}
