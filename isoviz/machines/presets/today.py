"""What the presets of machines of today have in common: how their channels behave, and how fast kernels change layouts.

A kernel of a GPU or of a processor that changes a layout moves a tile at a time and touches both ends in long runs, however short
the runs are that the layouts share. Its rate depends on the size of an element instead. Copies of short runs without their
neighbours, as of a halo, are slower: a GPU moves whole sectors of 32 bytes, a processor spends an instruction or two on each run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from isoviz.machines.channel import Channel
from isoviz.machines.kinds import ChannelKind
from isoviz.machines.throughput import LatencyBandwidth, Sampled, ThroughputFunction

GB = 1e9
PROVENANCE = "links, memories and sizes published; what copies get of them measured by others, modelled or assumed"
"""Where the figures of these machines come from, in short."""
Uses = tuple[tuple[str, float], ...]

GPU_KERNEL_SHARES: Mapping[int, float] = {1: 0.5, 2: 0.6, 4: 0.75, 8: 0.85, 16: 0.9, 32: 0.95, 128: 1.0}
"""The rate of a layout change within a GPU, as a share of a copy within it, by the bytes that move together.

At 4 bytes a tiled transpose reaches 0.97 on an H100 (88 % of its memory's bandwidth, yencal.github.io/gpu-matrix-transpose-
optimization). Structs of three fields of 4 bytes are modelled at 0.66, from the instructions that isoviz's kernels issue; 0.75
lies between. The other shares are modelled in the same way (1 byte 0.48, 2 bytes 0.6), those above 8 bytes assumed.
"""
LINK_KERNEL_SHARES: Mapping[int, float] = {1: 0.7, 4: 0.85, 16: 0.9, 128: 0.95}
"""The same for kernels that read or write host memory over a link, as a share of what copy engines get; assumed.

Tiles touch it in long runs, and the link, not the kernel, is the limit. Parts of packets remain at the edges, and the packets of
kernels are shorter: at most 128 bytes instead of 256 (NVIDIA/nccl-tests, issue 149).
"""
HOST_KERNEL_SHARES: Mapping[int, float] = {1: 0.6, 2: 0.65, 4: 0.75, 8: 0.85, 16: 0.9, 64: 1.0}
"""The rate of a layout change by a processor, as a share of a copy.

Measured with isoviz's kernels: 0.77 in the geometric mean over transposes of two dimensions, 0.62 the least of them (bytes), 1.0
for blocks (benchmarks/layouts.md). Those above 4 bytes are assumed.
"""
SECTOR = 32
"""Bytes that a GPU reads or writes at once; published (NVIDIA, CUDA C++ Best Practices Guide)."""
HOST_RUN = 0.25e-9
"""Seconds that a short run costs a few threads of a processor; measured: about 1 ns for one thread (benchmarks/layouts.md)."""
ROW = 2.6e-9
"""Seconds that a row of cudaMemcpy2D costs over a link; measured: 2.6 ms for 2²⁰ rows of a byte (ROCm/rocm-systems, pull request
6910)."""
LINK_PACKET = 64
"""Bytes of overhead of a short piece that a kernel reads or writes over PCIe; assumed: a header, and a part of a packet."""
LAUNCH = 5e-6
"""Seconds until a kernel or a copy of a GPU has begun and its end is known; 4 to 6 µs measured for a launch
(susun-blog.com/blog/pegainfer-3-cuda-graph)."""


def shares(rate: float, by_run: Mapping[int, float], link: float = math.inf) -> Sampled:
    """The throughput function of these shares of a rate in bytes per second, with the rate of a link as the highest rate."""
    return Sampled(tuple((float(run), min(rate * share, link)) for run, share in by_run.items()))


def by_runs(bandwidth: float, overhead: float) -> LatencyBandwidth:
    """The rate of a channel where every run costs as much as `overhead` further bytes."""
    return LatencyBandwidth(overhead / bandwidth, bandwidth)


@dataclass(frozen=True)
class ChannelFigures:
    """The figures of the channels of one role.

    `origin` says where they come from. The others are those of `Channel`.
    """

    kind: ChannelKind
    origin: str
    throughput: ThroughputFunction
    layout_throughput: ThroughputFunction | None = None
    setup: float = 0.0
    request_seconds: float = 0.0
    alignment: int = 1
    in_flight: int | None = None

    def channel(self, source: str, destination: str, uses: Iterable[tuple[str, float]] = (), *, beside: bool = False) -> Channel:
        """A channel with these figures. One `beside` another between the same memories has its kind in its name."""
        return Channel(
            f"{source}->{destination} {self.kind}" if beside else "",
            self.kind,
            source,
            destination,
            self.throughput,
            setup=self.setup,
            alignment=self.alignment,
            resources=tuple(uses),
            max_in_flight=self.in_flight,  # type: ignore[arg-type]  # the channel takes that of its kind
            provenance=self.origin,
            request_seconds=self.request_seconds,
            layout_throughput=self.layout_throughput,
        )


QUEUED = 2e-6
"""Seconds between two requests that a GPU or a NIC has queued; assumed."""
HANDED_OVER = 1e-6
"""Seconds that handing a request to threads of a processor costs; assumed."""
READ_OR_WRITTEN = 5e-6
"""Seconds that a request to a file costs besides its bytes, with others in flight; assumed."""
_OVERHEADS = "overheads assumed"


def host_copy(bandwidth: float, origin: str) -> ChannelFigures:
    """A few threads of a processor."""
    return ChannelFigures(
        ChannelKind.MEMCPY,
        f"{origin}; layout changes as isoviz's kernels, short runs 1 ns for each thread (measured)",
        LatencyBandwidth(HOST_RUN, bandwidth),
        shares(bandwidth, HOST_KERNEL_SHARES),
        request_seconds=HANDED_OVER,
    )


def gpu_copy(bandwidth: float, origin: str) -> ChannelFigures:
    """Kernels within a GPU."""
    return ChannelFigures(
        ChannelKind.GPU_COPY,
        f"{origin}; layout changes by kernels modelled, {_OVERHEADS}",
        by_runs(bandwidth, SECTOR / 2),
        shares(bandwidth, GPU_KERNEL_SHARES),
        setup=LAUNCH,
        request_seconds=QUEUED,
    )


def peer_copy(link: float, copy: float, origin: str) -> ChannelFigures:
    """Copy engines and kernels of a GPU that read and write the memory of another one over a link."""
    return ChannelFigures(
        ChannelKind.GPU_COPY,
        f"{origin}; layout changes by kernels modelled, {_OVERHEADS}",
        by_runs(link, SECTOR / 2),
        shares(copy, GPU_KERNEL_SHARES, link),
        setup=LAUNCH,
        request_seconds=QUEUED,
    )


def copy_engine(kind: ChannelKind, bandwidth: float, origin: str) -> ChannelFigures:
    """Copy engines over a link, which move contiguous bytes and rows."""
    return ChannelFigures(
        kind,
        f"{origin}; 2.6 ns for each row (measured), {_OVERHEADS}",
        LatencyBandwidth(ROW, bandwidth),
        setup=LAUNCH,
        request_seconds=QUEUED,
    )


def zero_copy(kind: ChannelKind, link: float, origin: str, *, packet: int = LINK_PACKET) -> ChannelFigures:
    """Kernels that read or write pinned memory over a link, beside the copy engines. They change the layout on the way."""
    return ChannelFigures(
        kind,
        f"{origin}; layout changes by kernels and overheads assumed",
        by_runs(link * LINK_KERNEL_SHARES[128], packet),
        shares(link, LINK_KERNEL_SHARES),
        setup=LAUNCH,
        request_seconds=QUEUED,
    )


def network(kind: ChannelKind, bandwidth: float, origin: str) -> ChannelFigures:
    """Remote direct memory access: one work request for each run, many in flight."""
    return ChannelFigures(
        kind,
        f"{origin}; 10 ns for each run, {_OVERHEADS}",
        Sampled.with_gap(10e-9, bandwidth),
        setup=3e-6,
        request_seconds=QUEUED,
        in_flight=16,
    )


def drive(kind: ChannelKind, bandwidth: float, gap: float, setup: float, origin: str) -> ChannelFigures:
    """NVMe drives with 32 requests in flight: one starts every `gap` seconds."""
    return ChannelFigures(
        kind,
        f"{origin}, {_OVERHEADS}",
        Sampled.with_gap(gap, bandwidth),
        setup=setup,
        request_seconds=READ_OR_WRITTEN,
        alignment=4096,
        in_flight=32,
    )


@dataclass(frozen=True)
class NodeOfToday:
    """The figures of the nodes of a machine. All nodes are equal: SYS, ZCM, REG where there is a network, GPUs and a disk.

    - `channels`: the channels by their role. Roles that a machine lacks are left out.
    - `resources`: capacity in bytes per second and origin of "bus" (the host memory), "gpu" (the memory of a GPU), "link"
      (between a GPU and the host, each way), "nic" (each way) and "drive".
    - `dram`, `pinned`, `gpu_memory`, `disk_space`: sizes in bytes. `pinned` is the size of ZCM, and of REG; SYS is the rest of
      `dram`.
    """

    channels: Mapping[str, ChannelFigures]
    resources: Mapping[str, tuple[float, str]]
    dram: int
    pinned: int
    gpu_memory: int
    disk_space: int
