"""The figures of the preset `dgx-h100-pair`, with their origin, as in `numbers`.

*Published*: NVIDIA's data sheets and user guide of the DGX H100 and the H100 SXM5, Intel's data sheet of the Xeon Platinum 8480C,
and the line rates of PCI Express 5.0 and NDR InfiniBand. These are upper bounds of the hardware. *Measured*: by others, on such a
machine, as named. *Assumed*: the rest. `today` has how kernels, copy engines and NICs behave.
"""

from __future__ import annotations

from isoviz.machines.kinds import ChannelKind
from isoviz.machines.presets.numbers import GIB
from isoviz.machines.presets.today import GB, copy_engine, drive, gpu_copy, host_copy, network, peer_copy, zero_copy

GPUS = 8
"""Per node; published."""
SOCKETS = 2
"""Per node; published. GPUs 0 to 3 and their NICs belong to socket 0, the others to socket 1."""
GPUS_PER_SOCKET = GPUS // SOCKETS

# --- shared resources, bytes per second ----------------------------------------------------------------------------------------

NIC = 50 * GB
"""Per direction and NIC: ConnectX-7, 400 Gb/s; published."""
PCIE = 63 * GB
"""Per direction and link: PCIe 5.0 ×16, 32 GT/s on 16 lanes, a data share of 128/130; published."""
NVLINK = 450 * GB
"""Per direction and GPU: NVLink 4 with 18 links, 900 GB/s for both directions; published. The NVSwitches sustain this rate for
all GPUs."""
HOST_BUS = 307.2 * GB
"""Per socket, reading and writing together: 8 channels of DDR5-4800; published."""
HBM = 0.9 * 3350 * GB
"""Per GPU, reading and writing together: HBM3 of 3.35 TB/s, published. Nine tenths of it are reached: 4.3 of 4.8 TB/s were
measured for a copy within an H200, whose processor is the same."""
DRIVES = 40 * GB
"""Per node: eight NVMe drives as one file system, reading; assumed."""

# --- bandwidths of single channels, bytes per second ---------------------------------------------------------------------------

GPU_COPY = HBM / 2
"""Within a GPU: a copy reads and writes."""
GPU_PEER = 376 * GB
"""Between two GPUs of a node; measured: p2pBandwidthLatencyTest on an HGX H100 (NVIDIA/nccl, issue 1264)."""
RDMA = 49 * GB
"""Between registered memories or GPUs of the two nodes; measured by NVIDIA between GPU and NIC of a DGX H100 (MLPerf inference
3.1, start_from_device/dgx-h100.md)."""
PINNED = 55 * GB
"""GPURead and GPUWrite with REG or ZCM; measured: 55.6 over PCIe 5.0 ×16 (NVIDIA's blog about nvbandwidth)."""
PAGEABLE = 20 * GB
"""GPURead and GPUWrite with SYS. Assumed: staged by the driver."""
MEMCPY = 40 * GB
"""Within a socket. Assumed: a few threads, not all cores."""
MEMCPY_ACROSS = 30 * GB
"""From one socket to the other. Assumed."""
DISK_WRITE = 25 * GB
"""Assumed: eight NVMe drives as one file system, as for reads."""

ORIGIN = {
    "nic": "published: ConnectX-7, 400 Gb/s each way",
    "pcie": "published: PCIe 5.0 ×16, 63 GB/s each way; assumed: one such link for each pair of GPU and NIC",
    "nvlink": "published: NVLink 4, 450 GB/s each way per GPU",
    "bus": "published: 8 channels of DDR5-4800 per socket",
    "hbm": "published: 3.35 TB/s of HBM3; nine tenths reached, measured on an H200",
    "drives": "assumed: eight NVMe drives",
}
_PINNED = "bandwidth measured over PCIe 5.0 ×16 (NVIDIA, nvbandwidth)"
_PAGEABLE = "bandwidth assumed (staged by the driver)"
_DRIVES = "bandwidth assumed (eight NVMe drives)"
_DIRECT = "bandwidth assumed (eight NVMe drives, GPUDirect Storage)"
_READS, _WRITES = 2.5e-6, 0.6e-6
"""Seconds between two requests to the drives with 32 in flight: 80 µs and 20 µs for one; assumed."""
CHANNELS = {
    "memcpy": host_copy(MEMCPY, "bandwidth assumed (a few threads)"),
    "memcpy across": host_copy(MEMCPY_ACROSS, "bandwidth assumed (a few threads, between sockets)"),
    "pinned read": copy_engine(ChannelKind.GPU_READ, PINNED, _PINNED),
    "pinned write": copy_engine(ChannelKind.GPU_WRITE, PINNED, _PINNED),
    "kernel read": zero_copy(ChannelKind.ZERO_COPY_READ, PINNED, _PINNED),
    "kernel write": zero_copy(ChannelKind.ZERO_COPY_WRITE, PINNED, _PINNED),
    "pageable read": copy_engine(ChannelKind.GPU_READ, PAGEABLE, _PAGEABLE),
    "pageable write": copy_engine(ChannelKind.GPU_WRITE, PAGEABLE, _PAGEABLE),
    "copy": gpu_copy(GPU_COPY, "bandwidth: half of 3.35 TB/s published for HBM3, of which nine tenths are reached"),
    "peer": peer_copy(GPU_PEER, GPU_COPY, "bandwidth measured (p2pBandwidthLatencyTest; published for NVLink 4: 450 GB/s)"),
    "remote": network(ChannelKind.REMOTE_MEMCPY, RDMA, "bandwidth assumed as measured between NIC and GPU"),
    "direct remote": network(ChannelKind.DIRECT_REMOTE, RDMA, "bandwidth measured by NVIDIA between NIC and GPU (MLPerf 3.1)"),
    "disk read": drive(ChannelKind.DISK_READ, DRIVES, _READS, 80e-6, _DRIVES),
    "disk write": drive(ChannelKind.DISK_WRITE, DISK_WRITE, _WRITES, 80e-6, _DRIVES),
    "direct read": drive(ChannelKind.DIRECT_READ, DRIVES, _READS, 80e-6, _DIRECT),
    "direct write": drive(ChannelKind.DIRECT_WRITE, DISK_WRITE, _WRITES, 80e-6, _DIRECT),
}
"""The channels by their role."""

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
