"""A model of MVAPICH2-GPU (Isometry, section 6.4): blocks go through a pipeline of GPURead, network and GPUWrite; what is not
contiguous is packed first.

The pipeline has a buffer of host memory that is registered with both GPU and network on each side. Packing is done in one of two
ways, both strided copies of 2 dimensions (`cudaMemcpy2D`), block by block, as the first stage of the pipeline:
- within the GPU, into a contiguous buffer from which the pipeline goes on;
- on the way out of the GPU: GPURead takes the strided rows itself.
A vector datatype of MPI takes one field out of the structures, so rows have the length of a field.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from isoviz.bench.reproduce.patterns import FIELDS, Pair, instance
from isoviz.runtime import Simulator
from isoviz.runtime.scheduling.work import Ring, Work

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions
    from isoviz.machines import Machine

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
