"""The figures of the preset `gh200`, with their origin, as in `numbers_dgx`.

*Published*: NVIDIA's data sheet of the GH200 Grace Hopper Superchip with 120 GB of LPDDR5X and 96 GB of HBM3, and the line rate
of NDR InfiniBand. *Measured*: by others, as named; "Schieffer" is G. Schieffer et al., Harnessing Integrated CPU-GPU System
Memory for HPC: a first look into Grace Hopper (ICPP 2024). The paper itself was not at hand: its
figures are those that others quote. *Assumed*: the rest.
"""

from __future__ import annotations

from isoviz.machines.kinds import ChannelKind
from isoviz.machines.presets.numbers import GIB
from isoviz.machines.presets.today import GB, NodeOfToday, copy_engine, drive, gpu_copy, host_copy, network, zero_copy

# --- bytes per second ----------------------------------------------------------------------------------------------------------

BUS = 410 * GB
"""Reading and writing together: LPDDR5X of 512 GB/s, published. STREAM reaches 410 GB/s at least (NVIDIA, Grace Performance
Tuning Guide)."""
C2C = 450 * GB
"""Per direction: NVLink-C2C, 900 GB/s for both directions; published."""
TO_GPU, FROM_GPU = 375 * GB, 297 * GB
"""Over NVLink-C2C; measured (Schieffer)."""
PAGEABLE = 0.95
"""The share that copies with pageable memory get: the GPU translates its addresses itself. Measured on a GH200: 0.95
(vortex-data/ vortex, pull request 7815)."""
HBM = 3400 * GB
"""Reading and writing together: HBM3 of 4 TB/s, published. STREAM reaches 3.4 TB/s (Schieffer)."""
GPU_COPY = HBM / 2
"""Within the GPU: a copy reads and writes."""
NIC = 50 * GB
"""Per direction: ConnectX-7, 400 Gb/s; published."""
RDMA = 49 * GB
"""Assumed as measured by NVIDIA between NIC and GPU of a DGX H100 (`numbers_dgx`)."""
MEMCPY = 40 * GB
"""Assumed: a few threads, not all cores."""
READ, WRITE = 6.8 * GB, 4 * GB
"""Assumed: one NVMe drive for servers, on PCIe 4.0 ×4."""

_C2C = "bandwidth measured over NVLink-C2C (Schieffer et al., 2024)"
_DRIVE = "bandwidth assumed (an NVMe drive on PCIe 4.0)"
_LINE = 32
"""Bytes of overhead of a short piece over NVLink-C2C; assumed: it moves parts of cache lines."""

GH200 = NodeOfToday(
    channels={
        "memcpy": host_copy(MEMCPY, "bandwidth assumed (a few threads)"),
        "pinned read": copy_engine(ChannelKind.GPU_READ, FROM_GPU, _C2C),
        "pinned write": copy_engine(ChannelKind.GPU_WRITE, TO_GPU, _C2C),
        "kernel read": zero_copy(ChannelKind.ZERO_COPY_READ, FROM_GPU, _C2C, packet=_LINE),
        "kernel write": zero_copy(ChannelKind.ZERO_COPY_WRITE, TO_GPU, _C2C, packet=_LINE),
        "pageable read": copy_engine(ChannelKind.GPU_READ, PAGEABLE * FROM_GPU, _C2C),
        "pageable write": copy_engine(ChannelKind.GPU_WRITE, PAGEABLE * TO_GPU, _C2C),
        "copy": gpu_copy(GPU_COPY, "bandwidth: half of 3.4 TB/s measured (Schieffer et al., 2024; published for HBM3: 4 TB/s)"),
        "remote": network(ChannelKind.REMOTE_MEMCPY, RDMA, "bandwidth assumed (published: ConnectX-7, 400 Gb/s each way)"),
        "direct remote": network(ChannelKind.DIRECT_REMOTE, RDMA, "bandwidth assumed as measured by NVIDIA on a DGX H100"),
        "disk read": drive(ChannelKind.DISK_READ, READ, 2.5e-6, 80e-6, _DRIVE),
        "disk write": drive(ChannelKind.DISK_WRITE, WRITE, 1e-6, 80e-6, _DRIVE),
    },
    resources={
        "bus": (BUS, "published: LPDDR5X, 512 GB/s; 410 reached (NVIDIA, STREAM)"),
        "gpu": (HBM, "measured: 3.4 of 4 TB/s published for HBM3 (Schieffer et al., 2024)"),
        "link": (C2C, "published: NVLink-C2C, 450 GB/s each way"),
        "nic": (NIC, "published: ConnectX-7, 400 Gb/s each way"),
        "drive": (READ, _DRIVE),
    },
    dram=120 * 10**9,  # published
    pinned=16 * GIB,  # assumed
    gpu_memory=96 * 10**9,  # published
    disk_space=3_840 * 10**9,  # assumed
)
