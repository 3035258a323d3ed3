"""The figures of the preset `dgx-h100-pair`, with their origin, as in `numbers`.

*Published*: NVIDIA's data sheets and user guide of the DGX H100 and the H100 SXM5, Intel's data sheet of the Xeon Platinum 8480C,
and the line rates of PCI Express 5.0 and NDR InfiniBand. These are upper bounds of the hardware. *Assumed*: the rates that
programs reach.
"""

from __future__ import annotations

from isoviz.machines.kinds import ChannelKind
from isoviz.machines.presets.numbers import GIB, Assumed

GB = 1e9

GPUS = 8
"""Per node; published."""
SOCKETS = 2
"""Per node; published. GPUs 0 to 3 and their NICs belong to socket 0, the others to socket 1."""
GPUS_PER_SOCKET = GPUS // SOCKETS

# --- published: shared resources, bytes per second -----------------------------------------------------------------------------

NIC = 50 * GB
"""Per direction and NIC: ConnectX-7, 400 Gb/s."""
PCIE = 63 * GB
"""Per direction and link: PCIe 5.0 ×16, 32 GT/s on 16 lanes, a data share of 128/130."""
NVLINK = 450 * GB
"""Per direction and GPU: NVLink 4 with 18 links, 900 GB/s for both directions. The NVSwitches sustain this rate for all GPUs."""
HOST_BUS = 307.2 * GB
"""Per socket, reading and writing together: 8 channels of DDR5-4800."""
HBM = 3350 * GB
"""Per GPU, reading and writing together: HBM3."""

# --- bandwidths of single channels, bytes per second ---------------------------------------------------------------------------

GPU_COPY = HBM / 2
"""Within a GPU. Published; half the memory bandwidth, since a copy reads and writes."""
GPU_PEER = NVLINK
"""Between two GPUs of a node. Published."""
REMOTE = NIC
"""Between registered memories of the two nodes. Published."""
PINNED = 55 * GB
"""GPURead and GPUWrite with REG or ZCM. Assumed: 87 % of the link."""
PAGEABLE = 20 * GB
"""GPURead and GPUWrite with SYS. Assumed: staged by the driver."""
MEMCPY = 40 * GB
"""Within a socket. Assumed: a few threads, not all cores."""
MEMCPY_ACROSS = 30 * GB
"""From one socket to the other. Assumed."""
DISK_READ = 40 * GB
"""Assumed: eight NVMe drives as one file system."""
DISK_WRITE = 25 * GB
"""Assumed: eight NVMe drives as one file system, as for reads."""

ORIGIN = {
    "memcpy": "bandwidth assumed (a few threads); Isometry's figure 5d for short runs",
    "pinned": "bandwidth assumed (87 % of the 63 GB/s published for PCIe 5.0 ×16), latency assumed",
    "pageable": "bandwidth assumed (staged by the driver), latency assumed",
    "copy": "bandwidth published: 3.35 TB/s of HBM3, halved since a copy reads and writes; latency assumed",
    "peer": "bandwidth published: NVLink 4, 450 GB/s each way per GPU; latency assumed",
    "remote": "bandwidth published: ConnectX-7, 400 Gb/s each way; latency assumed",
    "disk": "bandwidth assumed (eight NVMe drives), latency assumed",
    "nic": "published: ConnectX-7, 400 Gb/s each way",
    "pcie": "published: PCIe 5.0 ×16, 63 GB/s each way; assumed: one such link for each pair of GPU and NIC",
    "nvlink": "published: NVLink 4, 450 GB/s each way per GPU",
    "bus": "published: 8 channels of DDR5-4800 per socket",
}

# --- sizes in bytes ------------------------------------------------------------------------------------------------------------

DRAM = 2048 * GIB
"""Per node; published."""
PINNED_DRAM = 32 * GIB
"""ZCM of each socket; assumed. SYS is the socket's half of the DRAM without ZCM and REG."""
REGISTERED = 8 * GIB
"""REG of each NIC; assumed."""
GPU_MEMORY = 80 * 10**9
"""Published: 80 GB, taken as 80 × 10⁹ bytes. The GPU reports slightly more."""
DISK_SPACE = 8 * 3_840 * 10**9
"""Published: eight drives of 3.84 TB."""

# --- assumed: the overhead of runs and transfers --------------------------------------------------------------------------------

BEHAVIOUR = {
    ChannelKind.MEMCPY: Assumed(latency=None, setup=0.0),
    ChannelKind.GPU_READ: Assumed(latency=0.2e-6, setup=5e-6, in_flight=2),
    ChannelKind.GPU_WRITE: Assumed(latency=0.15e-6, setup=5e-6, in_flight=2),
    ChannelKind.GPU_COPY: Assumed(latency=0.5e-9, setup=4e-6, in_flight=2),
    ChannelKind.DISK_READ: Assumed(latency=80e-6, setup=80e-6, alignment=4096, in_flight=32),
    ChannelKind.DISK_WRITE: Assumed(latency=20e-6, setup=80e-6, alignment=4096, in_flight=32),
    ChannelKind.REMOTE_MEMCPY: Assumed(latency=10e-9, setup=3e-6, pipelined=True, in_flight=16),
}
