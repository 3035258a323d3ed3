"""The figures of the preset `workstation`, with their origin, as in `numbers_dgx`.

*Published*: AMD's data sheet of the Threadripper PRO 9000 WX, NVIDIA's of the RTX PRO 6000 Blackwell Workstation Edition,
Samsung's of the 9100 PRO, and the line rate of PCI Express 5.0. *Measured*: by others, as named. *Assumed*: the rest.
"""

from __future__ import annotations

from isoviz.machines.kinds import ChannelKind
from isoviz.machines.presets.numbers import GIB
from isoviz.machines.presets.today import GB, NodeOfToday, copy_engine, drive, gpu_copy, host_copy, peer_copy, zero_copy

GPUS = 4
"""The most that the board has slots of 16 lanes for; published: 128 lanes of PCIe 5.0."""

# --- bytes per second ----------------------------------------------------------------------------------------------------------

BUS = 409.6 * GB
"""Reading and writing together: 8 channels of DDR5-6400; published."""
LINK = 63 * GB
"""Per direction and GPU: PCIe 5.0 ×16, as in `numbers_dgx`; published."""
GDDR = 0.9 * 1792 * GB
"""Per GPU, reading and writing together: GDDR7 of 1.79 TB/s, published. Nine tenths reached: assumed, as on an H200."""
GPU_COPY = GDDR / 2
"""Within a GPU: a copy reads and writes."""
PINNED = 55 * GB
"""With pinned memory; measured: 55.6 over PCIe 5.0 ×16 (NVIDIA's blog about nvbandwidth)."""
PAGEABLE = 20 * GB
"""With pageable memory. Assumed: staged by the driver; a third of the rate of pinned memory was measured beside an RTX 5090 (9.6
and 32.4 GB/s, kekzl/imp, pull request 1409)."""
PEER = 50 * GB
"""Between two GPUs over PCIe: what UCX takes for this GPU (openucx/ucx, pull request 11865)."""
MEMCPY = 40 * GB
"""Assumed: a few threads, not all cores; one thread of a Zen 5 copies 18 to 24 GB/s."""
READ, WRITE = 14.8 * GB, 13.4 * GB
"""Of the drive, a 9100 PRO of 4 TB on PCIe 5.0 ×4; published."""

_PINNED = "bandwidth measured over PCIe 5.0 ×16 (NVIDIA, nvbandwidth)"
_PAGEABLE = "bandwidth assumed (staged by the driver)"
_DRIVE = "bandwidth published: Samsung 9100 PRO"
_DIRECT = "bandwidth published: Samsung 9100 PRO; for GPUDirect Storage assumed"
_GAP = 1.5e-6
"""Seconds between two requests to the drive with 32 in flight, 50 µs for one; assumed."""

WORKSTATION = NodeOfToday(
    channels={
        "memcpy": host_copy(MEMCPY, "bandwidth assumed (a few threads)"),
        "pinned read": copy_engine(ChannelKind.GPU_READ, PINNED, _PINNED),
        "pinned write": copy_engine(ChannelKind.GPU_WRITE, PINNED, _PINNED),
        "kernel read": zero_copy(ChannelKind.ZERO_COPY_READ, PINNED, _PINNED),
        "kernel write": zero_copy(ChannelKind.ZERO_COPY_WRITE, PINNED, _PINNED),
        "pageable read": copy_engine(ChannelKind.GPU_READ, PAGEABLE, _PAGEABLE),
        "pageable write": copy_engine(ChannelKind.GPU_WRITE, PAGEABLE, _PAGEABLE),
        "copy": gpu_copy(GPU_COPY, "bandwidth: half of 1.79 TB/s published for GDDR7, nine tenths of it assumed"),
        "peer": peer_copy(PEER, GPU_COPY, "bandwidth assumed by UCX (pull request 11865) over PCIe 5.0 ×16"),
        "disk read": drive(ChannelKind.DISK_READ, READ, _GAP, 50e-6, _DRIVE),
        "disk write": drive(ChannelKind.DISK_WRITE, WRITE, _GAP, 50e-6, _DRIVE),
        "direct read": drive(ChannelKind.DIRECT_READ, READ, _GAP, 50e-6, _DIRECT),
        "direct write": drive(ChannelKind.DIRECT_WRITE, WRITE, _GAP, 50e-6, _DIRECT),
    },
    resources={
        "bus": (BUS, "published: 8 channels of DDR5-6400"),
        "gpu": (GDDR, "published: 1.79 TB/s of GDDR7; nine tenths reached, assumed"),
        "link": (LINK, "published: PCIe 5.0 ×16, 63 GB/s each way"),
        "drive": (READ, _DRIVE),
    },
    dram=512 * GIB,  # assumed; the processor takes up to 2 TB
    pinned=32 * GIB,  # assumed
    gpu_memory=96 * 10**9,  # published
    disk_space=4 * 10**12,  # published
)
