"""Figure 11: transfers between GPUs of two nodes, beside MVAPICH2-GPU (section 6.4).

In the model of MVAPICH2-GPU, blocks go through a pipeline of GPURead, network and GPUWrite; what is not contiguous is packed
first. The pipeline has a buffer of host memory that is registered with both GPU and network on each side. Packing is done in one
of two ways, both strided copies of 2 dimensions (`cudaMemcpy2D`), block by block, as the first stage of the pipeline:
- within the GPU, into a contiguous buffer from which the pipeline goes on;
- on the way out of the GPU: GPURead takes the strided rows itself.
A vector datatype of MPI takes one field out of the structures, so rows have the length of a field.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from isoviz.reproduce.figure import OURS, THEIRS, Bar, Bars, Figure, Grid, Group, Section
from isoviz.reproduce.isometry.assumptions import sapling
from isoviz.reproduce.isometry.microbenchmarks import AOS, FIELDS, SOA, Pair, instance, isometry_throughput, planned
from isoviz.reproduce.statement import Statement, times
from isoviz.runtime import Simulator
from isoviz.runtime.scheduling.work import Ring, Work
from isoviz.units import format_rate

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.reproduce.isometry.assumptions import Assumptions

GPUS = Pair("node0.fbm0", "node1.fbm0")


@dataclass(frozen=True)
class Comparison:
    """Bytes per second between the GPUs of two nodes."""

    isometry: float
    mpi: float
    isometry_converting: float
    mpi_packing: float
    """Packs within the GPU."""
    mpi_packing_on_the_way: float
    """Packs in GPURead."""

    @property
    def speedup(self) -> float:
        """With a conversion, the MPI packing within the GPU."""
        return self.isometry_converting / self.mpi_packing


def figure11(given: Assumptions) -> Comparison:
    """With and without conversion."""
    machine = sapling(given)
    plain, converting = (isometry_throughput(machine, planned(machine, GPUS, "full", layout), given) for layout in (AOS, SOA))
    mpi = {way: mpi_throughput(machine, GPUS, given, way) for way in ("none", "on the GPU", "on the way")}
    return Comparison(plain, mpi["none"], converting, mpi["on the GPU"], mpi["on the way"])


def speedup(given: Assumptions) -> float:
    """Only the one with a conversion, the MPI packing within the GPU."""
    machine = sapling(given)
    ours = isometry_throughput(machine, planned(machine, GPUS, "full", SOA), given)
    return ours / mpi_throughput(machine, GPUS, given, "on the GPU")


def statements(rates: Comparison) -> tuple[Statement, ...]:
    """Beside the paper."""
    return (
        Statement(
            "6.4, figure 11",
            "FBM → FBM*: Isometry against MVAPICH2-GPU",
            "the same",
            1.0,
            1.0,
            rates.isometry / rates.mpi,
            "times",
        ),
        Statement(
            "6.4, figure 11",
            "FBM → FBM*, AOS to SOA: Isometry against MVAPICH2-GPU, which packs within the GPU",
            "about 4 ×",
            4.0,
            4.0,
            rates.speedup,
            "times",
            "what a row of one field costs a strided copy decides it, and that is the preset's assumed latency of GPUCopy: the"
            " table of assumptions has half and twice of it. Were rows picked out on the way to the host, it would be"
            f" {times(rates.isometry_converting / rates.mpi_packing_on_the_way)}.",
        ),
    )


WAYS = ("none", "on the GPU", "on the way")
"""The ways to pack."""


def mpi_throughput(machine: Machine, pair: Pair, given: Assumptions, packing: str) -> float:
    """Bytes per second of all instances at the same time, between GPUs on different nodes."""
    here, there = pair.source.partition(".")[0], pair.destination.partition(".")[0]
    buffers = (f"{here}.reg", f"{there}.reg")
    memories: tuple[str, ...] = (pair.source, *buffers, pair.destination)
    runs = [float(given.mpi_block)] * 3
    if packing == "on the GPU":
        memories, runs = (pair.source, *memories), [float(_row_bytes()), *runs]
    elif packing == "on the way":
        runs[0] = float(_row_bytes())
    channels = [machine.between(a, b)[0] for a, b in pairwise(memories)]
    seconds = [given.mpi_block / channel.rate(run) for channel, run in zip(channels, runs, strict=True)]
    nbytes = instance(pair).nbytes
    blocks = -(-nbytes // given.mpi_block)
    rings = tuple(Ring(memory, given.mpi_block, given.mpi_slots) for memory in memories[1:-1])
    work = Work.one_path(tuple(channel.name for channel in channels), blocks, rings)
    simulator = Simulator(machine)
    for _ in range(given.instances):
        setup = sum(channel.setup for channel in channels)
        simulator.submit_work(work, [(each, each) for each in seconds], nbytes, given.mpi_block, setup=setup)
    return simulator.run().throughput


def _row_bytes() -> int:
    """Bytes of the rows that a strided copy takes: one field of one entry."""
    return FIELDS.nbytes // len(FIELDS)


def section(rates: Comparison) -> Section:
    """Both, without and with a conversion."""
    cases = (
        ("no conversion", "", "no conversion", rates.isometry, rates.mpi),
        (
            "AOS to SOA",
            "packs within the GPU",
            "AOS to SOA, packs within the GPU",
            rates.isometry_converting,
            rates.mpi_packing,
        ),
        (
            "AOS to SOA",
            "packs on the way out",
            "AOS to SOA, packs on the way to the host",
            rates.isometry_converting,
            rates.mpi_packing_on_the_way,
        ),
    )
    groups = [
        Group(
            label,
            detail,
            (Bar(((OURS, ours),), format_rate(ours)), Bar(((THEIRS, mpi),), format_rate(mpi))),
            times(ours / mpi),
        )
        for label, detail, _, ours, mpi in cases
    ]
    bars = Bars(groups, ((OURS, "Isometry"), (THEIRS, "MVAPICH2-GPU")), title="FBM → FBM*, beside an MPI", right="ratio")
    grid = Grid(
        "Figure 11: FBM → FBM*, beside MVAPICH2-GPU",
        ("", "Isometry", "MVAPICH2-GPU", "ratio"),
        [(what, format_rate(ours), format_rate(mpi), times(ours / mpi)) for _, _, what, ours, mpi in cases],
    )
    return Section("Figure 11: beside an MPI that packs", (Figure("figure11", bars, (grid,)),))
