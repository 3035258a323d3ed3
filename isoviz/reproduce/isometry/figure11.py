"""Figure 11: transfers between GPUs of two nodes, beside MVAPICH2-GPU (section 6.4).

In the model of MVAPICH2-GPU, blocks go through a pipeline of GPURead, network and GPUWrite; what is not contiguous is packed
first. The pipeline has a buffer of host memory that is registered with both GPU and network on each side. Packing is done in one
of two ways, both strided copies of 2 dimensions (`cudaMemcpy2D`), block by block, as the first stage of the pipeline:
- within the GPU, into a contiguous buffer from which the pipeline goes on;
- on the way out of the GPU: GPURead takes the strided rows itself.
A vector datatype of MPI takes one field out of the structures, so rows have the length of a field.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isoviz.document import times
from isoviz.reproduce import Bars, Claim, Columns, Depends, Group, Row, bars_of, experiment
from isoviz.reproduce.isometry.assumptions import Assumptions, sapling
from isoviz.reproduce.isometry.microbenchmarks import AOS, FIELDS, SOA, Pair, instance, isometry_throughput, planned
from isoviz.reproduce.plots import OURS, THEIRS
from isoviz.runtime import Simulator
from isoviz.scheduling.work import Ring, Work

if TYPE_CHECKING:
    from isoviz.machines import Machine

GPUS = Pair("node0.fbm0", "node1.fbm0")
WAYS = ("none", "on the GPU", "on the way")
"""The ways to pack."""


def _cases(found: Any) -> list[Row]:
    return [
        {"case": case, "detail": detail, "ours": found[ours], "mpi": found[mpi], "ratio": found[ours] / found[mpi]}
        for case, detail, ours, mpi in (
            ("no conversion", "", "isometry", "mpi"),
            ("AOS to SOA", "packs within the GPU", "isometry_converting", "mpi_packing"),
            ("AOS to SOA", "packs on the way out", "isometry_converting", "mpi_packing_on_the_way"),
        )
    ]


def _group(row: Row) -> Group:
    return Group(row["case"], row["detail"], bars_of(row, {"ours": OURS, "mpi": THEIRS}, "rate"), times(row["ratio"]))


@experiment(
    "figure 11",
    "beside an MPI that packs",
    section="6.4",
    claims=(
        Claim("FBM → FBM*: Isometry against MVAPICH2-GPU", "the same", 1.0, lambda found: _cases(found)[0]["ratio"], "times"),
        Claim(
            "FBM → FBM*, AOS to SOA: Isometry against MVAPICH2-GPU, which packs within the GPU",
            *("about 4 ×", 4.0, lambda found: _cases(found)[1]["ratio"], "times"),
        ).because(
            lambda found: (
                "what a row of one field costs a strided copy decides it, and that is the preset's assumed latency of GPUCopy:"
                " the table of assumptions has half and twice of it. Were rows picked out on the way to the host, it would be"
                f" {times(_cases(found)[2]['ratio'])}."
            )
        ),
    ),
    shows=(
        Bars(
            ((OURS, "Isometry"), (THEIRS, "MVAPICH2-GPU")),
            lambda found: map(_group, _cases(found)),
            "ratio",
            "FBM → FBM*, beside an MPI",
        ),
        Columns(
            (
                ("", lambda row: ", ".join(filter(None, (row["case"], row["detail"])))),
                ("Isometry", "ours", "rate"),
                ("MVAPICH2-GPU", "mpi", "rate"),
                ("ratio", "ratio", "times"),
            ),
            _cases,
            "FBM → FBM*",
        ),
    ),
    depends=(
        Depends(
            "figure 11: AOS to SOA, speedup", "times", lambda found: _cases(found)[1]["ratio"], "mpi_block mpi_slots latency"
        ),
    ),
)
def figure11(given: Assumptions) -> dict[str, float]:
    """Bytes per second between the GPUs of two nodes: without and with a conversion, which the MPI packs within the GPU, or in
    GPURead."""
    machine = sapling(given)
    plain, converting = (isometry_throughput(machine, planned(machine, GPUS, "full", layout), given) for layout in (AOS, SOA))
    mpi, packing, on_the_way = (mpi_throughput(machine, GPUS, given, way) for way in WAYS)
    return {
        "isometry": plain,
        "mpi": mpi,
        "isometry_converting": converting,
        "mpi_packing": packing,
        "mpi_packing_on_the_way": on_the_way,
    }


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
