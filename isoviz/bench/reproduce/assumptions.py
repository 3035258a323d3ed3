"""Assumptions where the paper is silent and a simulation needs a value, in one place, so that each can be halved and doubled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from isoviz.machines import Channel, ChannelKind, Constant, LatencyBandwidth, Machine, Sampled, ThroughputFunction, preset
from isoviz.units import format_bytes

KIB, MIB = 1 << 10, 1 << 20


@dataclass(frozen=True)
class Assumptions:
    """Values that are assumed. None of them was chosen by its results."""

    instances: int = 64
    """Of a microbenchmark: the paper's number (section 6.1). Fewer only for a quick look."""
    threads: int = 4
    """DMA threads of Realm on every node: section 6.2 has one and several, without a number."""
    worker: str = "source"
    """Whose threads do Realm's copies: those of the node a copy starts from ("source"), or for all hops those of the node the
    transfer starts from ("launcher")."""
    temporaries: str = "sys"
    """Where Realm's temporary instances are: their size precludes registered memory (section 6.5)."""
    low_priority: int = 32
    """Transfers of low priority under way when one of high priority comes (section 6.2 says: a number of them)."""
    launches: int = 64
    """Times at which it comes, evenly spread; the mean is reported, with Isometry of every eighth."""
    entries: int = 1 << 22
    """Of each instance in section 6.2; as in section 6.1."""
    request_bytes: int = 1 << 20
    """Of Isometry's requests."""
    mpi_block: int = 256 * KIB
    """Bytes that MVAPICH2-GPU sends as one through its pipeline."""
    mpi_slots: int = 8
    """Blocks that fit into each buffer of that pipeline."""
    conversion: str = "memcpy"
    """How Realm converts a layout on the way to a GPU: by a Memcpy of its own before ("memcpy"), or row by row in GPUWrite
    ("gpu")."""
    page_rank_gpus: int = 1
    """GPUs of a node that take part: with 1, a node has the 16 paths of table 6."""
    page_rank_bytes: int = 32 * MIB
    """Vertex values of one partition: table 6 has large transfers only, so more than 16 MiB each."""
    page_rank_compute: float = 13.4e-3
    """Seconds an iteration computes: 2²⁸ edges of 12 bytes at the K80's 240 GB/s."""
    vgg_batch: int = 64
    """Images that a node trains on at a time."""
    vgg_rate: float = 1.4e12
    """Floating-point operations per second of one GPU of a K80: half of the 2.8 · 10¹² published."""
    circuit_bytes: int = 32 * MIB
    """The largest of the three transfers between the master and a GPU."""
    circuit_ratio: int = 16
    """How many times as large each of them is as the next one."""
    circuit_share: float = 0.36
    """Communication in Realm's run on 64 nodes: the paper's figure (section 6.5). The compute time follows from it."""
    latency: float = 1.0
    """Factor on all latencies and set-up times of the presets, which are assumed."""
    gpu_link: float = 1.0
    """Factor on GPURead and GPUWrite of `xstream` and `moonlight`, whose bandwidths are assumed."""
    memcpy: float = 1.0
    """Factor on Memcpy of `xstream` and `moonlight`, whose bandwidth is assumed."""


class Described(NamedTuple):
    """An assumption for people: its name, its value, and the source of the value."""

    name: str
    what: str
    value: str
    origin: str


def described(found: Assumptions) -> tuple[Described, ...]:
    """All assumptions in words."""
    return (
        Described(
            "threads", "DMA threads of Realm on every node", str(found.threads), "assumed; section 6.2 has one and several"
        ),
        Described("worker", "whose DMA threads do a hop", f"the {found.worker}'s", "assumed: those of the node it starts from"),
        Described(
            "temporaries", "memory of Realm's temporary instances", found.temporaries.upper(), "section 6.5: REG may be too small"
        ),
        Described("low_priority", "transfers of low priority (figure 8)", str(found.low_priority), "assumed"),
        Described(
            "launches", "launches of the one of high priority (figure 8)", str(found.launches), "assumed; the mean is taken"
        ),
        Described("entries", "entries of an instance (figure 8)", f"{found.entries:,}", "assumed as in section 6.1"),
        Described("request_bytes", "bytes of a request of Isometry's", format_bytes(found.request_bytes), "assumed"),
        Described("mpi_block", "block of MVAPICH2-GPU's pipeline", format_bytes(found.mpi_block), "assumed: its default"),
        Described("mpi_slots", "blocks in each buffer of that pipeline", str(found.mpi_slots), "assumed"),
        Described(
            "conversion",
            "where Realm converts on the way to a GPU",
            "in SYS" if found.conversion == "memcpy" else "in GPUWrite",
            "assumed: the way that is faster",
        ),
        Described("page_rank_gpus", "PageRank: GPUs per node", str(found.page_rank_gpus), "assumed: as many paths as in table 6"),
        Described(
            "page_rank_bytes",
            "PageRank: vertex values of a partition",
            format_bytes(found.page_rank_bytes),
            "assumed; table 6: large transfers, so more than 16 MiB",
        ),
        Described(
            "page_rank_compute",
            "PageRank: compute time of an iteration",
            f"{1e3 * found.page_rank_compute:.1f} ms",
            "assumed: 2²⁸ edges of 12 bytes at the 240 GB/s published for one GPU of a K80",
        ),
        Described("vgg_batch", "VGG-16: images per node and iteration", str(found.vgg_batch), "assumed"),
        Described(
            "vgg_rate",
            "VGG-16: floating-point operations per second of a GPU",
            f"{found.vgg_rate / 1e12:.1f} · 10¹²",
            "assumed: half of what is published",
        ),
        Described(
            "circuit_bytes",
            "Circuit: largest transfer between master and GPU",
            format_bytes(found.circuit_bytes),
            "assumed; table 6: varying sizes",
        ),
        Described(
            "circuit_ratio", "Circuit: size of a transfer by that of the next of three", str(found.circuit_ratio), "assumed"
        ),
        Described(
            "circuit_share",
            "Circuit: communication in Realm's run on 64 nodes",
            f"{100 * found.circuit_share:.0f} %",
            "section 6.5; the compute time is set by it",
        ),
        Described("latency", "latencies and set-up times of all channels", f"× {found.latency:g}", "presets: assumed"),
        Described("gpu_link", "GPURead, GPUWrite on xstream and moonlight", f"× {found.gpu_link:g}", "presets: assumed"),
        Described("memcpy", "Memcpy on xstream and moonlight", f"× {found.memcpy:g}", "presets: assumed"),
    )


@lru_cache(maxsize=64)
def machine(
    name: str, nodes: int = 2, gpus: int = 1, latency: float = 1.0, gpu_link: float = 1.0, memcpy: float = 1.0
) -> Machine:
    """A preset with its assumed figures scaled."""
    found = preset(name, nodes=nodes, gpus=gpus)
    if latency == gpu_link == memcpy == 1.0:
        return found
    by_kind = {ChannelKind.GPU_READ: gpu_link, ChannelKind.GPU_WRITE: gpu_link, ChannelKind.MEMCPY: memcpy}
    return replace(found, channels=tuple(_scaled(channel, latency, by_kind.get(channel.kind, 1.0)) for channel in found.channels))


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
