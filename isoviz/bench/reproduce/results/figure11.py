"""Figure 11: transfers between GPUs of two nodes, beside MVAPICH2-GPU (section 6.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoviz.bench.reproduce.assumptions import sapling
from isoviz.bench.reproduce.driving import isometry_throughput, planned
from isoviz.bench.reproduce.findings import Finding, times
from isoviz.bench.reproduce.packing_mpi import mpi_throughput
from isoviz.bench.reproduce.patterns import AOS, SOA, Pair

if TYPE_CHECKING:
    from isoviz.bench.reproduce.assumptions import Assumptions

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


def findings(found: Comparison) -> tuple[Finding, ...]:
    """Beside the paper."""
    return (
        Finding(
            "6.4, figure 11",
            "FBM → FBM*: Isometry against MVAPICH2-GPU",
            "the same",
            1.0,
            1.0,
            found.isometry / found.mpi,
            "times",
        ),
        Finding(
            "6.4, figure 11",
            "FBM → FBM*, AOS to SOA: Isometry against MVAPICH2-GPU, which packs within the GPU",
            "about 4 ×",
            4.0,
            4.0,
            found.speedup,
            "times",
            "what a row of one field costs a strided copy decides it, and that is the preset's assumed latency of GPUCopy: the"
            " table of assumptions has half and twice of it. Were rows picked out on the way to the host, it would be"
            f" {times(found.isometry_converting / found.mpi_packing_on_the_way)}.",
        ),
    )
