"""Every figure the presets of clusters are made of, with where it comes from. Nothing else in the presets is a number.

*From the paper*: Jia et al., Isometry (ICS '18), tables 4 and 5, figure 5d, section 4.3. Table 5 is in MB/s of 10⁶ bytes.

*Assumed*: what the paper does not give. The values are of the order published for the hardware of its table 4 (Xeon 5680, Tesla
C2070 on PCIe 2.0 ×16, QDR InfiniBand, a SATA solid-state disk). Those of the GPU channels are also such that at 3 GB/s the
example of section 4.3 satisfies every constraint and little more: GPURead into ZCM needs runs of at least 31.9 KiB (the paper's
|F| × x_in = 32 KiB), GPUWrite out of REG at least 15.8 KiB (its |F| × y_in = 16 KiB).
"""

from __future__ import annotations

from dataclasses import dataclass

from isoviz.machines.channel import ChannelKind
from isoviz.machines.memory import MemoryKind

MB = 1e6
GIB = 1024**3
HOST = (MemoryKind.REG, MemoryKind.SYS, MemoryKind.ZCM)

# --- from the paper ------------------------------------------------------------------------------------------------------------

TABLE_5: dict[tuple[MemoryKind, MemoryKind, ChannelKind], float] = {
    **{(a, b, ChannelKind.MEMCPY): 7740 * MB for a in HOST for b in HOST},
    (MemoryKind.ZCM, MemoryKind.FBM, ChannelKind.GPU_WRITE): 5941 * MB,
    (MemoryKind.REG, MemoryKind.FBM, ChannelKind.GPU_WRITE): 5139 * MB,
    (MemoryKind.SYS, MemoryKind.FBM, ChannelKind.GPU_WRITE): 5139 * MB,
    (MemoryKind.FBM, MemoryKind.ZCM, ChannelKind.GPU_READ): 6418 * MB,
    (MemoryKind.FBM, MemoryKind.REG, ChannelKind.GPU_READ): 4502 * MB,
    (MemoryKind.FBM, MemoryKind.SYS, ChannelKind.GPU_READ): 4502 * MB,
    (MemoryKind.FBM, MemoryKind.FBM, ChannelKind.GPU_COPY): 55366 * MB,
    **{(a, MemoryKind.DSK, ChannelKind.DISK_WRITE): 270 * MB for a in HOST},
    **{(MemoryKind.DSK, b, ChannelKind.DISK_READ): 280 * MB for b in HOST},
    **{(MemoryKind.REG, b, ChannelKind.REMOTE_MEMCPY): 3180 * MB for b in HOST},
    **{(a, b, ChannelKind.REMOTE_MEMCPY): 2701 * MB for a in (MemoryKind.ZCM, MemoryKind.SYS) for b in HOST},
}
"""Peak bandwidths in bytes per second, by kinds of source, destination and channel."""

SAPLING_DRAM = 48 * GIB
"""Bytes per node (table 4)."""

SECTION_4_3_NETWORK = 3000 * MB
"""Bytes per second: the network bandwidth of the example in section 4.3."""

# --- assumed -------------------------------------------------------------------------------------------------------------------

GPU_PEER_BANDWIDTH = 4500 * MB
"""Bytes per second between two GPUs of a node over PCIe; table 5 has only the copy within one GPU."""

REGISTERED = 4 * GIB
"""Bytes of each node's DRAM set aside as REG, and as much as ZCM; SYS is the rest."""
GPU_MEMORY = 6 * GIB
"""Bytes of a Tesla C2070."""
DISK_SPACE = None
"""Bytes of the disk; unknown."""


@dataclass(frozen=True)
class Assumed:
    """What is assumed about one kind of channel.

    `latency`: seconds each run costs beside its bytes; None: none that shows (Memcpy, figure 5d). `pipelined`: whether the
    channel keeps so many requests in flight that the latency only bounds how many runs start per second. `setup`: seconds once
    per transfer. `alignment`: bytes. `in_flight`: requests at a time.
    """

    latency: float | None
    setup: float
    pipelined: bool = False
    alignment: int = 1
    in_flight: int = 1


ASSUMED: dict[ChannelKind, Assumed] = {
    # Figure 5d: consistent whatever the request size.
    ChannelKind.MEMCPY: Assumed(latency=None, setup=0.0),
    # Rows of a cudaMemcpy2D, device to host and host to device.
    ChannelKind.GPU_READ: Assumed(latency=5.8e-6, setup=10e-6, in_flight=2),
    ChannelKind.GPU_WRITE: Assumed(latency=2.25e-6, setup=10e-6, in_flight=2),
    # Rows of a cudaMemcpy2D within the device: narrow rows leave most of its bandwidth unused.
    ChannelKind.GPU_COPY: Assumed(latency=10e-9, setup=10e-6, in_flight=2),
    # A request to a SATA solid-state disk; blocks of a file system.
    ChannelKind.DISK_READ: Assumed(latency=100e-6, setup=100e-6, alignment=4096),
    ChannelKind.DISK_WRITE: Assumed(latency=60e-6, setup=100e-6, alignment=4096),
    # A work request on QDR InfiniBand, several in flight.
    ChannelKind.REMOTE_MEMCPY: Assumed(latency=1.5e-6, setup=5e-6, pipelined=True, in_flight=8),
}
