"""The Isometry paper: what its evaluation is about, what is assumed where it is silent, and its clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Machine, Sampled, ThroughputFunction, preset
from isoviz.reproduce import Evaluation, assumed
from isoviz.units import format_bytes

KIB, MIB = 1 << 10, 1 << 20


def _factor(value: float) -> str:
    return f"× {value:g}"


@dataclass(frozen=True)
class Assumptions:
    """Values that are assumed. None of them was chosen by its results."""

    instances: int = 64
    """Of a microbenchmark: the paper's number (section 6.1). Fewer only for a quick look."""
    nodes: int = 16
    """Of the applications in the table of assumptions, of Circuit too: 64 nodes would take long."""
    threads: int = assumed(4, "DMA threads of Realm on every node", "assumed; section 6.2 has one and several")
    worker: str = assumed(
        "source",
        "whose DMA threads do a hop",
        "assumed: those of the node it starts from",
        lambda worker: f"the {worker}'s",
        ("launcher", "the launcher's, for all hops"),
    )
    temporaries: str = assumed(
        "sys", "memory of Realm's temporary instances", "section 6.5: REG may be too small", str.upper, ("reg", "REG")
    )
    low_priority: int = assumed(32, "transfers of low priority (figure 8)", "assumed")
    launches: int = assumed(64, "launches of the one of high priority (figure 8)", "assumed; the mean is taken")
    entries: int = assumed(1 << 22, "entries of an instance (figure 8)", "assumed as in section 6.1", "{:,}".format)
    request_bytes: int = assumed(1 << 20, "bytes of a request of Isometry's", "assumed", format_bytes)
    mpi_block: int = assumed(256 * KIB, "block of MVAPICH2-GPU's pipeline", "assumed: its default", format_bytes)
    mpi_slots: int = assumed(8, "blocks in each buffer of that pipeline", "assumed")
    conversion: str = assumed(
        "memcpy",
        "where Realm converts on the way to a GPU",
        "assumed: the way that is faster",
        lambda way: "in SYS" if way == "memcpy" else "in GPUWrite",
        ("gpu", "in GPUWrite, row by row"),
    )
    page_rank_gpus: int = assumed(1, "PageRank: GPUs per node", "assumed: as many paths as in table 6", alternative=(4, "all 4"))
    page_rank_bytes: int = assumed(
        32 * MIB, "PageRank: vertex values of a partition", "assumed; table 6: large transfers, so more than 16 MiB", format_bytes
    )
    page_rank_compute: float = assumed(
        13.4e-3,
        "PageRank: compute time of an iteration",
        "assumed: 2²⁸ edges of 12 bytes at the 240 GB/s published for one GPU of a K80",
        lambda seconds: f"{1e3 * seconds:.1f} ms",
    )
    vgg_batch: int = assumed(64, "VGG-16: images per node and iteration", "assumed")
    vgg_rate: float = assumed(
        1.4e12,
        "VGG-16: floating-point operations per second of a GPU",
        "assumed: half of what is published",
        lambda rate: f"{rate / 1e12:.1f} · 10¹²",
    )
    circuit_bytes: int = assumed(
        32 * MIB, "Circuit: largest transfer between master and GPU", "assumed; table 6: varying sizes", format_bytes
    )
    circuit_ratio: int = assumed(16, "Circuit: size of a transfer by that of the next of three", "assumed")
    circuit_share: float = assumed(
        0.36,
        "Circuit: communication in Realm's run on 64 nodes",
        "section 6.5; the compute time is set by it",
        lambda share: f"{100 * share:.0f} %",
    )
    latency: float = assumed(1.0, "latencies and set-up times of all channels", "presets: assumed", _factor)
    gpu_link: float = assumed(1.0, "GPURead, GPUWrite on xstream and moonlight", "presets: assumed", _factor)
    memcpy: float = assumed(1.0, "Memcpy on xstream and moonlight", "presets: assumed", _factor)


EVALUATION = Evaluation(
    title="Isometry's evaluation again, in simulation",
    part="Isometry (ICS '18), section 6",
    citation="Jia et al., Isometry: A Path-Based Distributed Data Transfer System, ICS '18, section 6.",
    given=Assumptions(),
    quick=Assumptions(instances=4, nodes=4, low_priority=8, launches=16),
    remark="All figures but planning times are simulated.",
    facts=lambda given: {"instances": f"{given.instances}"},
    models="""
Isometry: isoviz plans every transfer and its scheduler carries it out in virtual time, on presets that were fixed beforehand.
Bandwidths of Sapling are those of table 5; XStream's and Moonlight's are published or assumed.

Realm: every transfer is a series of single hops along a shortest path, through temporary instances of its whole size. Each node
has DMA threads; one takes the copy of the highest priority that waits and does it whole. Threads on one channel share it.

MVAPICH2-GPU: blocks go through a pipeline of GPURead, network and GPUWrite; entries that are not contiguous are packed by strided
copies, row by row.

Applications: in an iteration all transfers are launched together, then every node computes. Channels are one of a kind per node,
or per GPU, so the transfers of a node share its network card. Sizes, where the paper gives none, are assumed.
""",
)


@lru_cache(maxsize=64)
def machine(
    name: str, nodes: int = 2, gpus: int = 1, latency: float = 1.0, gpu_link: float = 1.0, memcpy: float = 1.0
) -> Machine:
    """A preset with its assumed figures scaled."""
    plain = preset(name, nodes=nodes, gpus=gpus)
    if latency == gpu_link == memcpy == 1.0:
        return plain
    by_kind = {ChannelKind.GPU_READ: gpu_link, ChannelKind.GPU_WRITE: gpu_link, ChannelKind.MEMCPY: memcpy}
    return replace(plain, channels=tuple(_scaled(channel, latency, by_kind.get(channel.kind, 1.0)) for channel in plain.channels))


def sapling(given: Assumptions) -> Machine:
    """The cluster of sections 6.1 to 6.4. Its bandwidths are the paper's: only its latencies are assumed."""
    return machine("sapling", latency=given.latency)


def cluster(name: str, given: Assumptions, nodes: int = 2, gpus: int = 1) -> Machine:
    """A cluster of section 6.5."""
    return machine(name, nodes, gpus, given.latency, given.gpu_link, given.memcpy)


def _scaled(channel: Channel, latency: float, bandwidth: float) -> Channel:
    return replace(channel, throughput=_function(channel.throughput, latency, bandwidth), setup=channel.setup * latency)


def _function(function: ThroughputFunction, latency: float, bandwidth: float) -> ThroughputFunction:
    if isinstance(function, LatencyBandwidth):
        return LatencyBandwidth(function.latency * latency, function.bandwidth * bandwidth)
    if isinstance(function, Constant):
        return Constant(function.bandwidth * bandwidth)
    (run, rate) = function.samples[0]  # one start of a run every `gap` seconds
    return Sampled.with_gap(run / rate * latency, rate * bandwidth)
